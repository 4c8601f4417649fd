package otelhooks_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/stoic-go/stoic"

// goList runs go list at the root of the module and returns its lines.
func goList(t *testing.T, args ...string) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"list"}, args...)...)
	cmd.Dir = ".."
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list %v: %v", args, err)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

const openTelemetry = "go.opentelemetry.io/"

// Who does not import this package pays nothing for it: no other package of the library
// brings OpenTelemetry along.
func TestOnlyThisPackageNeedsOpenTelemetry(t *testing.T) {
	var others []string
	for _, pkg := range goList(t, "./...") {
		path, ok := strings.CutPrefix(pkg, module)
		if !ok {
			t.Errorf("%s is not in the module", pkg)
		}
		if !strings.HasPrefix(path, "/otelhooks") && !strings.HasPrefix(path, "/examples") {
			others = append(others, pkg)
		}
	}
	if len(others) < 10 || !slices.Contains(others, module) || !slices.Contains(others, module+"/retry") {
		t.Fatalf("go list found the packages %q only", others)
	}
	for _, pkg := range goList(t, append([]string{"-deps"}, others...)...) {
		if strings.HasPrefix(pkg, openTelemetry) {
			t.Errorf("the library without otelhooks needs %s", pkg)
		}
	}
}

// The package needs the API alone: the program chooses the SDK.
func TestThisPackageNeedsTheAPIOnly(t *testing.T) {
	found := 0
	for _, pkg := range goList(t, "-deps", "./otelhooks") {
		name, ours := strings.CutPrefix(pkg, openTelemetry+"otel")
		if !ours {
			continue
		}
		found++
		if strings.HasPrefix(name, "/sdk") || strings.HasPrefix(name, "/exporters") {
			t.Errorf("it needs %s", pkg)
		}
	}
	if found < 5 {
		t.Errorf("go list found %d packages of OpenTelemetry only", found)
	}
	imports := goList(t, "-f", `{{join .Imports "\n"}}`, "./otelhooks")
	for _, pkg := range imports {
		name, ours := strings.CutPrefix(pkg, openTelemetry)
		if !ours {
			continue
		}
		switch path, _, _ := strings.Cut(name, "/v1."); path {
		case "otel", "otel/attribute", "otel/codes", "otel/metric", "otel/metric/noop", "otel/semconv", "otel/trace", "otel/trace/noop":
		default:
			t.Errorf("it imports %s, which is not of the API", pkg)
		}
	}
}
