package retry

import (
	"context"
	"errors"
	"net"
	"os"
	"syscall"

	"github.com/stoic-go/stoic"
)

// Transient is a ready classifier for [If], for those who would rather retry too
// little: it accepts timeouts, connections that were reset (a broken pipe is one) or
// refused, DNS failures that are temporary, and errors with a method StatusCode() int
// that returns 429, 502, 503 or 504. It never accepts a rejection, also one that
// matches context.DeadlineExceeded because a wait would have been too long.
func Transient(err error) bool {
	if errors.Is(err, stoic.ErrRejected) {
		return false
	}
	if isTimeout(err) {
		return true
	}
	for _, errno := range []syscall.Errno{syscall.ECONNRESET, syscall.ECONNREFUSED, syscall.EPIPE} {
		if errors.Is(err, errno) {
			return true
		}
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok && (dns.IsTemporary || dns.IsTimeout) {
		return true
	}
	if status, ok := errors.AsType[interface {
		error
		StatusCode() int
	}](err); ok {
		switch status.StatusCode() {
		case 429, 502, 503, 504:
			return true
		}
	}
	return false
}

// isTimeout asks the outermost error that can tell, and then the chain: url.Error and
// net.OpError look no further than the error directly inside them.
func isTimeout(err error) bool {
	if timeout, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](err); ok && timeout.Timeout() {
		return true
	}
	for _, target := range []error{context.DeadlineExceeded, os.ErrDeadlineExceeded, syscall.ETIMEDOUT} {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}
