package cli_test

import (
	"context"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// seen is what a browser said about a page.
type seen struct {
	mu       sync.Mutex
	problems []string // on the console: errors, warnings, exceptions
	requests []string
}

func (s *seen) listen(event any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch e := event.(type) {
	case *log.EventEntryAdded:
		s.problems = append(s.problems, string(e.Entry.Level)+": "+e.Entry.Text)
	case *runtime.EventConsoleAPICalled:
		s.problems = append(s.problems, "console: "+string(e.Type))
	case *runtime.EventExceptionThrown:
		s.problems = append(s.problems, "exception: "+e.ExceptionDetails.Text)
	case *network.EventRequestWillBeSent:
		s.requests = append(s.requests, e.Request.URL)
	}
}

// chromium fails the test loudly where there is no browser: a page that nobody has looked
// at is not tested.
func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatal("this test needs Chromium: apt-get install -y chromium")
	return ""
}

// browse opens a page with the network off and returns what a script finds in it.
func browse[T any](t *testing.T, file, script string) (T, *seen) {
	t.Helper()
	path, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	opts := append(
		slices.Clone(chromedp.DefaultExecAllocatorOptions[:]),
		chromedp.ExecPath(chromium(t)),
		chromedp.NoSandbox, // CI runs as root
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND"),
		chromedp.Flag("disable-dev-shm-usage", true),
		chromedp.WindowSize(1200, 900),
	)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ctx, cancel = chromedp.NewExecAllocator(ctx, opts...)
	defer cancel()
	s := &seen{}
	ctx, cancel = chromedp.NewContext(ctx, chromedp.WithListener(s.listen))
	defer cancel()
	offline := &network.Conditions{Offline: true, DownloadThroughput: -1, UploadThroughput: -1}
	if err := chromedp.Do(
		ctx,
		call(log.Enable, cdp.Empty{}),
		call(runtime.Enable, cdp.Empty{}),
		call(network.Enable, network.EnableParams{}),
		chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
			_, err := cdp.Call(ctx, target, network.EmulateNetworkConditionsByRule,
				network.EmulateNetworkConditionsByRuleParams{MatchedNetworkConditions: []*network.Conditions{offline}})
			return err
		}),
		chromedp.Navigate("file://"+path),
	); err != nil {
		t.Fatal(err)
	}
	found, err := chromedp.Run(ctx, chromedp.Evaluate[T](script))
	if err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return found, s
}

func call[P any](c cdp.Command[P, cdp.Empty], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, c, params)
		return err
	})
}

// drawn is a chart as the browser has laid it out.
type drawn struct {
	ID            string
	Width, Height float64
	Title         string
	Lines         int      // of stacks, in the colours of the table
	Texts         []string // axes and legend
}

// page is what there is to know about the page.
type page struct {
	Title         string
	Charts        []drawn
	Rows          []string
	Width, Window float64
	StickOut      []string // texts beyond the edge of their chart
}

const look = `(() => {
	const keys = [...document.querySelectorAll("tbody .key")].map(k => getComputedStyle(k).backgroundColor);
	const texts = svg => [...svg.querySelectorAll("text")];
	return {
		Title: document.title,
		Charts: [...document.querySelectorAll("figure svg")].map(svg => {
			const box = svg.getBoundingClientRect();
			const strokes = [...svg.querySelectorAll("path")].map(p => getComputedStyle(p).stroke);
			return {
				ID: svg.closest("figure").id, Width: box.width, Height: box.height,
				Title: svg.querySelector("title").textContent,
				Lines: new Set(strokes.filter(s => keys.includes(s))).size,
				Texts: texts(svg).filter(t => t.getBoundingClientRect().width > 0).map(t => t.textContent),
			};
		}),
		Rows: [...document.querySelectorAll("tbody tr")].map(r => r.cells[0].textContent + " " + r.cells.length),
		Width: document.documentElement.scrollWidth, Window: window.innerWidth,
		StickOut: [...document.querySelectorAll("figure svg")].flatMap(svg => {
			const box = svg.getBoundingClientRect();
			return texts(svg).filter(t => {
				const b = t.getBoundingClientRect();
				return b.left < box.left - 1 || b.right > box.right + 1 || b.top < box.top - 1 || b.bottom > box.bottom + 1;
			}).map(t => t.textContent);
		}),
	};
})()`

// The page of a comparison, in a real browser without a network: every chart is there and
// has a line for each stack, nothing is fetched, the console is silent.
func TestPageInABrowser(t *testing.T) {
	inFolder(t)
	write(t, "small.yaml", small+boundsThatHold)
	if got := command(t, "lab", "compare", "small.yaml"); got.status != 0 {
		t.Fatalf("got %+v", got)
	}
	got, s := browse[page](t, "report.html", look)
	if len(s.problems) > 0 {
		t.Errorf("the console says %q", s.problems)
	}
	// data: is the empty icon.
	others := slices.DeleteFunc(s.requests, func(u string) bool {
		return strings.HasPrefix(u, "data:") || strings.HasPrefix(u, "file://") && strings.HasSuffix(u, "/report.html")
	})
	if len(others) > 0 || len(s.requests) == 0 {
		t.Errorf("the page asks for %q", others)
	}
	if got.Title != "small" {
		t.Errorf("got title %q", got.Title)
	}
	if want := []string{"bare 8", "careful 8", "bare 9", "careful 9"}; !slices.Equal(got.Rows, want) {
		t.Errorf("got rows %q, want %q", got.Rows, want)
	}
	var ids []string
	for _, c := range got.Charts {
		ids = append(ids, c.ID)
		if c.Width < 600 || c.Height < 150 || !strings.HasPrefix(c.Title, "small: ") || c.Lines != 2 {
			t.Errorf("got %+v, want a large chart with a title and two lines", c)
		}
		for _, want := range []string{"bare", "careful", "virtual time in s"} {
			if !slices.Contains(c.Texts, want) {
				t.Errorf("%s: no text %q in %q", c.ID, want, c.Texts)
			}
		}
	}
	if want := []string{"chart-load", "chart-success", "chart-latency", "chart-failed-latency"}; !slices.Equal(ids, want) {
		t.Errorf("got charts %q, want %q", ids, want)
	}
	if got.Width > got.Window {
		t.Errorf("the page is %v wide in a window of %v", got.Width, got.Window)
	}
	if len(got.StickOut) > 0 {
		t.Errorf("texts that stick out of their charts: %q", got.StickOut)
	}
}

// The listener of the test above does hear a page that misbehaves.
func TestBrowserHearsAConsoleError(t *testing.T) {
	inFolder(t)
	write(t, "bad.html", `<!doctype html><link rel="stylesheet" href="https://stoic.invalid/a.css"><script>console.error("x"); nothing()</script>`)
	_, s := browse[string](t, "bad.html", "document.title")
	for _, want := range []string{"console: error", "exception: ", "error: Failed to load resource"} {
		if !slices.ContainsFunc(s.problems, func(p string) bool { return strings.HasPrefix(p, want) }) {
			t.Errorf("no %q in %q", want, s.problems)
		}
	}
	if !slices.Contains(s.requests, "https://stoic.invalid/a.css") {
		t.Errorf("got requests %q", s.requests)
	}
}
