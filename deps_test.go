package stoic_test

import (
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/stoic-go/stoic"

var policyPackages = []string{"retry", "budget", "breaker", "ratelimit", "deadline"}

// goList runs go list with a template that writes one line for each package.
func goList(t *testing.T, args ...string) []string {
	t.Helper()
	out, err := exec.Command("go", append([]string{"list"}, args...)...).Output()
	if err != nil {
		t.Fatalf("go list %v: %v", args, err)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

// The library needs two modules, and nothing that brings a server or a test framework
// into the programs that import it.
func TestDependenciesAreFewAndLight(t *testing.T) {
	modules := []string{module, "github.com/sony/gobreaker/v2", "golang.org/x/time"}
	packages := []string{".", "./hooks"}
	for _, p := range policyPackages {
		packages = append(packages, "./"+p)
	}
	args := append([]string{"-deps", "-f", "{{.ImportPath}} {{with .Module}}{{.Path}}{{end}}"}, packages...)
	found := 0
	for _, line := range goList(t, args...) {
		pkg, mod, _ := strings.Cut(line, " ")
		if mod != "" && !slices.Contains(modules, mod) {
			t.Errorf("%s of module %s is not a dependency that the library may have", pkg, mod)
		}
		if slices.Contains([]string{"net/http", "testing", "expvar", "os/exec", "plugin"}, pkg) {
			t.Errorf("%s is too heavy for the library", pkg)
		}
		if strings.HasPrefix(pkg, module) {
			found++
		}
	}
	if found < len(packages) {
		t.Errorf("go list found %d packages of the module, want at least %d", found, len(packages))
	}
}

// hooks <- stoic <- policy packages <- adapters.
func TestImportsPointOneWay(t *testing.T) {
	mayImport := map[string][]string{
		module + "/hooks":             {},
		module + "/internal/redact":   {},
		module:                        {"hooks"},
		module + "/internal/settings": {"", "hooks"},
	}
	for _, p := range policyPackages {
		mayImport[path.Join(module, p)] = []string{"", "hooks"}
	}
	seen := 0
	for _, line := range goList(t, "-f", `{{.ImportPath}} {{join .Imports " "}}`, "./...") {
		fields := strings.Fields(line)
		allowed, guarded := mayImport[fields[0]]
		if !guarded {
			continue
		}
		seen++
		for _, imported := range fields[1:] {
			name, own := strings.CutPrefix(imported, module)
			name = strings.TrimPrefix(name, "/")
			if own && !strings.HasPrefix(name, "internal/") && !slices.Contains(allowed, name) {
				t.Errorf("%s imports %s", fields[0], imported)
			}
		}
	}
	if seen != len(mayImport) {
		t.Errorf("%d of the %d guarded packages exist", seen, len(mayImport))
	}
}
