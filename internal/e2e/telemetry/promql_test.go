package telemetry_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
)

// window is the range of the queries in the docs.
const window = 5 * time.Minute

// evalTime is when the queries are evaluated: any time will do.
func evalTime() time.Time { return time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC) }

// evaluate runs a query over two scrapes that span the window but for its first
// millisecond, which is outside a range.
func evaluate(t *testing.T, query string, before, after scrape) promql.Vector {
	t.Helper()
	engine := promql.NewEngine(promql.EngineOpts{
		MaxSamples: 1e6, Timeout: time.Minute, LookbackDelta: window, Parser: parser.NewParser(parser.Options{}),
	})
	t.Cleanup(func() { _ = engine.Close() })
	at := evalTime()
	db := store{at.Add(time.Millisecond - window).UnixMilli(): before, at.UnixMilli(): after}
	q, err := engine.NewInstantQuery(t.Context(), db, nil, query, at)
	if err != nil {
		t.Fatalf("%v in\n%s", err, query)
	}
	defer q.Close()
	result := q.Exec(t.Context())
	vector, err := result.Vector()
	if err != nil {
		t.Fatalf("%v in\n%s", err, query)
	}
	if len(result.Warnings) > 0 {
		t.Errorf("the engine warns %v of\n%s", result.Warnings, query)
	}
	return vector
}

// byLabels are the values of a result by those of its labels, in the order of the labels'
// names: "payments", or "open search".
func byLabels(result promql.Vector) map[string]float64 {
	values := make(map[string]float64)
	for _, v := range result {
		var name []string
		v.Metric.Range(func(l labels.Label) { name = append(name, l.Value) })
		values[strings.Join(name, " ")] = v.F
	}
	return values
}

// store is what Prometheus would have stored of scrapes, by the time in milliseconds.
type store map[int64]scrape

func (s store) Querier(from, to int64) (storage.Querier, error) {
	return &storage.MockQuerier{
		SelectMockFunction: func(_ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
			return s.selected(from, to, matchers)
		},
	}, nil
}

func (s store) selected(from, to int64, matchers []*labels.Matcher) storage.SeriesSet {
	found := make(map[string]labels.Labels)
	points := make(map[string][]chunks.Sample)
	for _, at := range slices.Sorted(maps.Keys(s)) {
		if at < from || at > to {
			continue
		}
		for _, sm := range s[at].samples {
			if key := sm.labels.String(); matchAll(matchers, sm.labels) {
				found[key] = sm.labels
				points[key] = append(points[key], point{at, sm.value})
			}
		}
	}
	set := &seriesSet{}
	for _, key := range slices.Sorted(maps.Keys(found)) {
		set.series = append(set.series, storage.NewListSeries(found[key], points[key]))
	}
	return set
}

func matchAll(matchers []*labels.Matcher, l labels.Labels) bool {
	for _, m := range matchers {
		if !m.Matches(l.Get(m.Name)) {
			return false
		}
	}
	return true
}

type seriesSet struct {
	series []storage.Series
	at     int
}

func (s *seriesSet) Next() bool                      { s.at++; return s.at <= len(s.series) }
func (s *seriesSet) At() storage.Series              { return s.series[s.at-1] }
func (*seriesSet) Err() error                        { return nil }
func (*seriesSet) Warnings() annotations.Annotations { return nil }

// point is a sample in the form in which Prometheus reads one.
type point struct {
	at    int64
	value float64
}

func (p point) T() int64                    { return p.at }
func (point) ST() int64                     { return 0 }
func (p point) F() float64                  { return p.value }
func (point) H() *histogram.Histogram       { return nil }
func (point) FH() *histogram.FloatHistogram { return nil }
func (point) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (p point) Copy() chunks.Sample         { return p }

var _ storage.Queryable = store(nil)

// use is a metric that a query reads, with the labels by which it selects and groups.
type use struct {
	metric   string
	labels   []string
	matchers []*labels.Matcher
}

// uses finds all that a query reads.
func uses(t *testing.T, query string) []use {
	t.Helper()
	expr, err := parser.NewParser(parser.Options{}).ParseExpr(query)
	if err != nil {
		t.Fatalf("%v in\n%s", err, query)
	}
	var found []use
	parser.Inspect(expr, func(node parser.Node, path []parser.Node) error {
		selector, ok := node.(*parser.VectorSelector)
		if !ok {
			return nil
		}
		u := use{metric: selector.Name}
		for _, m := range selector.LabelMatchers {
			if m.Name != model.MetricNameLabel {
				u.labels = append(u.labels, m.Name)
				u.matchers = append(u.matchers, m)
			}
		}
		for _, outer := range path {
			if a, ok := outer.(*parser.AggregateExpr); ok {
				u.labels = append(u.labels, a.Grouping...)
			}
		}
		found = append(found, u)
		return nil
	})
	if len(found) == 0 {
		t.Errorf("no metric in %s", query)
	}
	return found
}
