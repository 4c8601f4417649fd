package telemetry_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/grafana/grafana-foundation-sdk/go/cog/plugins"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

// panel is what the tests read of a panel.
type panel struct {
	ID          int
	Type        string
	Title       string
	Description string
	GridPos     struct{ X, Y, W, H int }
	Datasource  datasource
	FieldConfig struct {
		Defaults struct{ Unit string }
	}
	Targets []target
}

type datasource struct{ Type, UID string }

type target struct {
	Datasource   datasource
	Expr         string
	LegendFormat string
	RefID        string
}

// atWindow is the query with the range that Grafana would choose.
func (t target) atWindow() string { return strings.ReplaceAll(t.Expr, "$__rate_interval", "5m") }

// panels reads docs/grafana.json.
func panels(t *testing.T) []panel {
	t.Helper()
	var d struct{ Panels []panel }
	if err := json.Unmarshal([]byte(read(t, dashboardFile)), &d); err != nil {
		t.Fatal(err)
	}
	return d.Panels
}

// TestDashboardIsOne reads it by Grafana's own schema: nothing unknown, nothing missing.
func TestDashboardIsOne(t *testing.T) {
	t.Parallel()
	plugins.RegisterDefaultPlugins()
	d := dashboard.NewDashboard()
	// Without a mistake it is an empty list of them, and not nil.
	if err := d.UnmarshalJSONStrict([]byte(read(t, dashboardFile))); err != nil && err.Error() != "" {
		t.Error(err)
	}
	if err := d.Validate(); err != nil {
		t.Error(err)
	}
	if d.SchemaVersion == 0 || d.Uid == nil || d.Id != nil {
		t.Errorf("got schema version %d, uid %v, id %v, want a version, a uid and no id", d.SchemaVersion, d.Uid, d.Id)
	}
	if v := d.Templating.List; len(v) == 0 || v[0].Name != "datasource" || v[0].Type != dashboard.VariableTypeDatasource ||
		v[0].Query == nil || v[0].Query.String == nil || *v[0].Query.String != "prometheus" {
		t.Errorf("the first variable does not choose a Prometheus data source")
	}
}

// TestDashboardAsksTheFiveQuestions compares the panels with the docs: titles, order and
// queries are the same.
func TestDashboardAsksTheFiveQuestions(t *testing.T) {
	t.Parallel()
	asked, shown := questions(t), panels(t)
	if len(asked) != 5 || len(shown) != 5 {
		t.Fatalf("got %d questions and %d panels, want 5", len(asked), len(shown))
	}
	for i, p := range shown {
		if p.Title != asked[i].title {
			t.Errorf("panel %d is %q, want %q", i, p.Title, asked[i].title)
		}
		for j, target := range p.Targets {
			if got, want := target.atWindow(), asked[i].queries[j]; got != want {
				t.Errorf("%s: query %s of the panel is\n%s\nand in the docs\n%s", p.Title, target.RefID, got, want)
			}
			if !strings.Contains(p.Description, "WithDetailedMetrics") && strings.Contains(beforeFence(asked[i].text), "WithDetailedMetrics") {
				t.Errorf("%s: the panel does not say that it needs WithDetailedMetrics", p.Title)
			}
		}
	}
}

func beforeFence(text string) string {
	before, _, _ := strings.Cut(text, "```")
	return before
}

func TestDashboardPanels(t *testing.T) {
	t.Parallel()
	source := datasource{"prometheus", "${datasource}"}
	ids := make(map[int]bool)
	taken := make(map[[2]int]string)
	for _, p := range panels(t) {
		if p.ID < 1 || ids[p.ID] {
			t.Errorf("%s: id %d is not its own", p.Title, p.ID)
		}
		ids[p.ID] = true
		if p.Type != "timeseries" && p.Type != "stat" {
			t.Errorf("%s: type %q", p.Title, p.Type)
		}
		if p.Description == "" || p.FieldConfig.Defaults.Unit == "" || p.Datasource != source {
			t.Errorf("%s: got description %q, unit %q, data source %v", p.Title, p.Description, p.FieldConfig.Defaults.Unit, p.Datasource)
		}
		if p.GridPos.W < 1 || p.GridPos.H < 1 || p.GridPos.X < 0 || p.GridPos.X+p.GridPos.W > 24 {
			t.Errorf("%s: at %+v, outside the 24 columns", p.Title, p.GridPos)
		}
		for x := range p.GridPos.W {
			for y := range p.GridPos.H {
				at := [2]int{p.GridPos.X + x, p.GridPos.Y + y}
				if other := taken[at]; other != "" {
					t.Fatalf("%s covers %s at %v", p.Title, other, at)
				}
				taken[at] = p.Title
			}
		}
		refs := make(map[string]bool)
		for _, target := range p.Targets {
			if target.RefID == "" || refs[target.RefID] || target.Datasource != source {
				t.Errorf("%s: query %q is of data source %v", p.Title, target.RefID, target.Datasource)
			}
			refs[target.RefID] = true
			if strings.Count(target.Expr, "rate(") != strings.Count(target.Expr, "[$__rate_interval]") {
				t.Errorf("%s: query %s has another range than $__rate_interval", p.Title, target.RefID)
			}
		}
	}
}

// TestDashboardLegends has each line of a panel by a name of its own.
func TestDashboardLegends(t *testing.T) {
	t.Parallel()
	before, after := scrapes(t)
	label := regexp.MustCompile(`{{(\w+)}}`)
	for _, p := range panels(t) {
		lines := make(map[string]bool)
		for _, target := range p.Targets {
			for _, v := range evaluate(t, target.atWindow(), before, after) {
				line := label.ReplaceAllStringFunc(target.LegendFormat, func(l string) string {
					value := v.Metric.Get(strings.Trim(l, "{}"))
					if value == "" {
						t.Errorf("%s: the result of query %s has no label %s", p.Title, target.RefID, l)
					}
					return value
				})
				if lines[line] {
					t.Errorf("%s: two lines are %q", p.Title, line)
				}
				lines[line] = true
			}
		}
		if len(lines) == 0 {
			t.Errorf("%s: nothing to see", p.Title)
		}
	}
}
