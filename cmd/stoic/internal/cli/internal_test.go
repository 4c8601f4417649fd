package cli

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoic-go/stoic/cmd/stoic/internal/labfile"
	"github.com/stoic-go/stoic/cmd/stoic/internal/labrun"
	"github.com/stoic-go/stoic/cmd/stoic/internal/stackfile"
	"github.com/stoic-go/stoic/lab"
)

// shared is a buffer for two goroutines.
type shared struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *shared) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// The first word comes after exactly a second, the next ones every five.
func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b shared
		f := &labfile.File{Scenario: lab.Scenario{Duration: time.Minute}, Stacks: make([]*stackfile.Stack, 2), Seeds: []uint64{1, 2}}
		stop := showProgress(&b, labrun.New(f).Progress)
		const line = "lab: 0 % done, 0 of 4 runs are over\n"
		for _, tt := range []struct {
			after time.Duration
			lines int
		}{{999 * time.Millisecond, 0}, {time.Millisecond, 1}, {4999 * time.Millisecond, 1}, {time.Millisecond, 2}} {
			time.Sleep(tt.after)
			synctest.Wait()
			if got := b.String(); got != strings.Repeat(line, tt.lines) {
				t.Errorf("got %q, want %d lines", got, tt.lines)
			}
		}
		stop()
	})
}

// A page that cannot be written as a whole leaves the older one, and nothing else.
func TestWriteFileIsAllOrNothing(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("page.html", []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	errFull := errors.New("disk full")
	err := writeFile("page.html", func(w io.Writer) error {
		_, err := io.WriteString(w, "half")
		return errors.Join(err, errFull)
	})
	if !errors.Is(err, errFull) {
		t.Errorf("got %v", err)
	}
	data, err := os.ReadFile("page.html")
	if err != nil || string(data) != "old" {
		t.Errorf("got %q, %v", data, err)
	}
	entries, err := os.ReadDir(".")
	if err != nil || len(entries) != 1 {
		t.Errorf("got %v, %v", entries, err)
	}
}
