package table

import (
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"
)

// Machine says where, when and with what the numbers were measured.
type Machine struct {
	CPU        string
	Cores      int
	GOMAXPROCS int
	OS         string
	Go         string
	Date       string
	Modules    []Module // of the build
}

// Module is one in the version that was measured.
type Module struct{ Path, Version string }

// ThisMachine returns that of the process.
func ThisMachine() Machine {
	m := Machine{
		CPU:        cpu(),
		Cores:      runtime.NumCPU(),
		GOMAXPROCS: runtime.GOMAXPROCS(0),
		OS:         runtime.GOOS + "/" + runtime.GOARCH,
		Go:         runtime.Version(),
		Date:       time.Now().UTC().Format(time.DateOnly),
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dep := range info.Deps {
			version := dep.Version
			if dep.Replace != nil {
				version = "this repository"
			}
			m.Modules = append(m.Modules, Module{Path: dep.Path, Version: version})
		}
	}
	return m
}

// version returns that of a module, or "unknown".
func (m Machine) version(path string) string {
	for _, mod := range m.Modules {
		if mod.Path == path {
			return mod.Version
		}
	}
	return "unknown"
}

// cpu is the model that Linux knows.
func cpu() string {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown"
	}
	for line := range strings.Lines(string(info)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}
