package retry

import (
	"errors"
	"net"
	"syscall"
)

// Transient is a ready classifier for [If], for those who would rather retry too
// little: it accepts timeouts, connections that were reset (a broken pipe is one) or refused, DNS failures
// that are temporary, and errors with a method StatusCode() int that returns 429,
// 502, 503 or 504.
func Transient(err error) bool {
	if timeout, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](err); ok && timeout.Timeout() {
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
