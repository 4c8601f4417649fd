package cli

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/stoic-go/stoic/cmd/stoic/internal/labrun"
)

// progressAfter is how long a run must take to be worth a word.
const progressAfter = time.Second

// showProgress says on w how far the runs are, from the first second on. On a terminal
// it is one line that changes. The function that it returns ends that.
func showProgress(w io.Writer, p *labrun.Progress) (stop func()) {
	quit := make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() {
		start, end, every := "", "\n", 5*time.Second
		if isTerminal(w) {
			start, end, every = "\r", "\x1b[K", 200*time.Millisecond
		}
		shown := false
		timer := time.NewTimer(progressAfter)
		defer timer.Stop()
		for {
			select {
			case <-quit:
				if shown && start != "" {
					fmt.Fprint(w, "\r\x1b[K") //nolint:errcheck // progress only
				}
				return
			case <-timer.C:
				over, all := p.Runs()
				fmt.Fprintf(w, "%slab: %.0f %% done, %d of %d runs are over%s", start, 100*p.Share(), over, all, end) //nolint:errcheck // progress only
				shown = true
				timer.Reset(every)
			}
		}
	})
	return func() {
		close(quit)
		done.Wait()
	}
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
