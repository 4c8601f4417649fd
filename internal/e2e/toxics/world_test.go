// Package toxics_test runs HTTP clients with stacks against a real server behind
// toxiproxy, which does to real TCP connections what networks do.
package toxics_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/stoichttp"
)

const (
	calls   = 500
	workers = 8
	size    = 4 << 10 // of a response
)

// world is a server, a proxy before it, and a client whose attempts are counted.
type world struct {
	t      *testing.T
	server *httptest.Server
	proxy  *toxiproxy.Proxy
	base   *http.Transport
	client *http.Client

	goroutines int // before there was anything

	conns    connections  // of the server
	served   sync.Map     // how often the server saw a whole request, by its number
	attempts sync.Map     // how often the base was called, by the number of the request
	sent     atomic.Int64 // attempts in all
	bodies   atomic.Int64 // of responses that nobody has closed
}

// newWorld makes one whose client sends through the layers. At the end nothing of it may
// be left: no goroutine, no connection, no open body.
func newWorld(t *testing.T, layers ...stoic.Policy) *world {
	t.Helper()
	w := &world{t: t, goroutines: goroutines()}
	w.server = httptest.NewUnstartedServer(http.HandlerFunc(w.handle))
	w.server.Config.ConnState = w.conns.note
	w.server.Start()

	api := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(prometheus.NewRegistry()), zerolog.Nop())
	w.proxy = toxiproxy.NewProxy(api, t.Name(), "127.0.0.1:0", w.server.Listener.Addr().String())
	if err := w.proxy.Start(); err != nil {
		t.Fatal(err)
	}
	w.base = &http.Transport{MaxIdleConnsPerHost: workers}
	transport := stoichttp.NewTransport(counting{w}, stoic.MustNew("orders", layers...))
	if err := transport.Validate(); err != nil {
		t.Fatal(err)
	}
	w.client = &http.Client{Transport: transport}
	t.Cleanup(w.finish)
	return w
}

func (w *world) finish() {
	w.t.Helper()
	if n := w.bodies.Load(); n != 0 {
		w.t.Errorf("%d bodies were not closed", n)
	}
	w.proxy.Toxics.ResetToxics(context.Background())
	w.base.CloseIdleConnections()
	eventually(w.t, "the server has no connection", func() bool {
		w.base.CloseIdleConnections() // one may become idle a moment after its last byte was read
		return w.conns.open() == 0
	})
	w.proxy.Stop()
	w.server.Close()
	eventually(w.t, "all goroutines have ended", func() bool { return goroutines() <= w.goroutines })
}

// handle answers each request that came whole with size bytes.
func (w *world) handle(rw http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // cut off on its way
	}
	if r.Method == http.MethodPost && string(body) != payload(r.Header.Get("Number")) {
		w.t.Errorf("request %s came with %d bytes, and should have %d", r.Header.Get("Number"), len(body), size)
	}
	add(&w.served, r.Header.Get("Number"))
	_, _ = io.WriteString(rw, payload(r.Header.Get("Number"))) // an error is the client's to see
}

// payload is size bytes that belong to one request.
func payload(number string) string {
	return strings.Repeat(fmt.Sprintf("%16s", number), size/16)
}

// poison adds a toxic to all connections from now on, in the direction of the answer.
func (w *world) poison(kind string, toxicity float32, attributes string) {
	w.t.Helper()
	toxic := fmt.Sprintf(`{"name":%q,"type":%q,"stream":"downstream","toxicity":%g,"attributes":%s}`, kind, kind, toxicity, attributes)
	if _, err := w.proxy.Toxics.AddToxicJson(strings.NewReader(toxic)); err != nil {
		w.t.Fatal(err)
	}
}

// outcome is that of one call.
type outcome struct {
	number string
	err    error // of the call, or of reading the response
	took   time.Duration
}

// run makes calls with the method, workers at a time, and returns what came of them.
func (w *world) run(method string, header func(number string) http.Header) []outcome {
	w.t.Helper()
	outcomes := make([]outcome, calls)
	var next atomic.Int64
	var pool sync.WaitGroup
	for range workers {
		pool.Go(func() {
			for i := next.Add(1) - 1; i < calls; i = next.Add(1) - 1 {
				number := strconv.FormatInt(i, 10)
				start := time.Now()
				err := w.call(method, number, header(number))
				outcomes[i] = outcome{number, err, time.Since(start)}
			}
		})
	}
	pool.Wait()
	return outcomes
}

func (w *world) call(method, number string, header http.Header) error {
	var body io.Reader
	if method == http.MethodPost {
		body = strings.NewReader(payload(number))
	}
	req, err := http.NewRequest(method, "http://"+w.proxy.Listen, body)
	if err != nil {
		return err
	}
	req.Header = header
	req.Header.Set("Number", number)
	resp, err := w.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // read
	got, err := io.ReadAll(resp.Body)
	if err == nil && string(got) != payload(number) {
		w.t.Errorf("call %s: %d bytes that are not its answer, and no error", number, len(got))
	}
	return err
}

func noHeader(string) http.Header { return http.Header{} }

func failed(outcomes []outcome) (failures []outcome) {
	for _, o := range outcomes {
		if o.err != nil {
			failures = append(failures, o)
		}
	}
	return failures
}

// counting is the base of the stack: it counts attempts, and bodies that are open.
type counting struct{ w *world }

func (c counting) RoundTrip(req *http.Request) (*http.Response, error) {
	c.w.sent.Add(1)
	add(&c.w.attempts, req.Header.Get("Number"))
	resp, err := c.w.base.RoundTrip(req)
	if err == nil {
		c.w.bodies.Add(1)
		resp.Body = &countedBody{ReadCloser: resp.Body, open: &c.w.bodies}
	}
	return resp, err
}

type countedBody struct {
	io.ReadCloser
	open *atomic.Int64
	once sync.Once
}

func (b *countedBody) Close() error {
	b.once.Do(func() { b.open.Add(-1) })
	return b.ReadCloser.Close()
}

func add(m *sync.Map, key string) {
	n, _ := m.LoadOrStore(key, new(atomic.Int64))
	n.(*atomic.Int64).Add(1)
}

func count(m *sync.Map, key string) int64 {
	if n, ok := m.Load(key); ok {
		return n.(*atomic.Int64).Load()
	}
	return 0
}

// connections are those of a server that are not closed.
type connections struct{ m sync.Map }

func (c *connections) note(conn net.Conn, state http.ConnState) {
	if state == http.StateClosed || state == http.StateHijacked {
		c.m.Delete(conn)
		return
	}
	c.m.Store(conn, state)
}

func (c *connections) open() (n int) {
	c.m.Range(func(_, _ any) bool { n++; return true })
	return n
}

// eventually waits for a condition, and gives up when nobody can think that it is a matter
// of time.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(20 * time.Second); !holds(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("not so after 20 s: %s\n%s", what, stacks())
		}
	}
}

// goroutines counts those of the client, the server and the test. The proxy's own are not
// among them: it leaves some behind when a connection is reset while it copies.
func goroutines() (n int) {
	for _, stack := range strings.Split(stacks(), "\n\n") {
		if !strings.Contains(stack, "github.com/Shopify/toxiproxy") {
			n++
		}
	}
	return n
}

func stacks() string {
	for buf := make([]byte, 1<<20); ; buf = make([]byte, 2*len(buf)) {
		if n := runtime.Stack(buf, true); n < len(buf) {
			return string(buf[:n])
		}
	}
}
