package telemetry_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	prom "github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
	"go.opentelemetry.io/otel/exporters/prometheus"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/stoic-go/stoic/otelhooks"
)

// The formats in which Prometheus asks for metrics.
const (
	plainText   = "text/plain"
	openMetrics = "application/openmetrics-text; version=1.0.0"
)

// exporter is a hook with the Prometheus exporter behind it, served over HTTP.
type exporter struct {
	t      *testing.T
	hook   *otelhooks.Hook
	server *httptest.Server
}

func newExporter(t *testing.T, opts ...otelhooks.Option) *exporter {
	t.Helper()
	registry := prom.NewRegistry()
	reader, err := prometheus.New(prometheus.WithRegisterer(registry))
	if err != nil {
		t.Fatal(err)
	}
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
	hook, err := otelhooks.New(append(opts, otelhooks.WithMeterProvider(provider), otelhooks.WithTracerProvider(noop.NewTracerProvider()))...)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(promhttp.HandlerFor(registry, promhttp.HandlerOpts{EnableOpenMetrics: true, ErrorHandling: promhttp.HTTPErrorOnError}))
	t.Cleanup(server.Close)
	return &exporter{t: t, hook: hook, server: server}
}

// scrape is one answer of an exporter.
type scrape struct {
	families map[string]model.MetricType // by the name of the metric, without _bucket and the like
	samples  []sample
}

type sample struct {
	labels labels.Labels // with the name
	value  float64
}

// scrape asks like Prometheus does, and reads the answer with its parser.
func (e *exporter) scrape(format string) scrape {
	e.t.Helper()
	req, err := http.NewRequestWithContext(e.t.Context(), http.MethodGet, e.server.URL, http.NoBody)
	if err != nil {
		e.t.Fatal(err)
	}
	req.Header.Set("Accept", format)
	resp, err := e.server.Client().Do(req)
	if err != nil {
		e.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		e.t.Fatal(err)
	}
	media, _, _ := strings.Cut(format, ";")
	if got := resp.Header.Get("Content-Type"); resp.StatusCode != http.StatusOK || !strings.HasPrefix(got, media) {
		e.t.Fatalf("got %s, %s, want 200 and %s:\n%s", resp.Status, got, media, body)
	}
	s, err := parse(body, resp.Header.Get("Content-Type"))
	if err != nil {
		e.t.Fatalf("%v in\n%s", err, body)
	}
	return s
}

func parse(body []byte, contentType string) (scrape, error) {
	s := scrape{families: make(map[string]model.MetricType)}
	p, err := textparse.New(body, contentType, nil, textparse.ParserOptions{})
	if err != nil {
		return s, err
	}
	for {
		switch entry, err := p.Next(); {
		case errors.Is(err, io.EOF):
			return s, nil
		case err != nil:
			return s, err
		case entry == textparse.EntryType:
			name, kind := p.Type()
			s.families[string(name)] = kind
		case entry == textparse.EntrySeries:
			var l labels.Labels
			p.Labels(&l)
			_, _, value := p.Series()
			s.samples = append(s.samples, sample{labels: l, value: value})
		}
	}
}

// withPrometheus2 spells the bounds of buckets as Prometheus 2 stores them when it scrapes the
// text format: 1, not 1.0.
func (s scrape) withPrometheus2() scrape {
	old := scrape{families: s.families}
	for _, sm := range s.samples {
		b := labels.NewBuilder(sm.labels)
		if le := sm.labels.Get(labels.BucketLabel); le != "" {
			b.Set(labels.BucketLabel, strings.TrimSuffix(le, ".0"))
		}
		old.samples = append(old.samples, sample{labels: b.Labels(), value: sm.value})
	}
	return old
}

// withoutBound is what a histogram gives that has not this bound.
func (s scrape) withoutBound(le string) scrape {
	rest := scrape{families: s.families}
	for _, sm := range s.samples {
		if sm.labels.Get(labels.BucketLabel) != le {
			rest.samples = append(rest.samples, sm)
		}
	}
	return rest
}

// ofProcess adds the labels that Prometheus itself puts on what it scrapes.
func (s scrape) ofProcess(n int) scrape {
	of := scrape{families: s.families}
	for _, sm := range s.samples {
		b := labels.NewBuilder(sm.labels)
		b.Set("job", "shop").Set("instance", fmt.Sprintf("shop-%d:9464", n))
		of.samples = append(of.samples, sample{labels: b.Labels(), value: sm.value})
	}
	return of
}

// with puts two scrapes of the same moment together.
func (s scrape) with(other scrape) scrape {
	return scrape{families: s.families, samples: append(append([]sample(nil), s.samples...), other.samples...)}
}

// having returns the series of that name.
func (s scrape) having(name string) []labels.Labels {
	var found []labels.Labels
	for _, sm := range s.samples {
		if sm.labels.Get(model.MetricNameLabel) == name {
			found = append(found, sm.labels)
		}
	}
	return found
}
