package retry_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/ratelimit"
	"github.com/stoic-go/stoic/retry"
)

func opError(op string, err error) error { return &net.OpError{Op: op, Net: "tcp", Err: err} }

func sysError(call string, errno syscall.Errno) error {
	return opError(call, os.NewSyscallError(call, errno))
}

func urlError(err error) error {
	return &url.Error{Op: "Get", URL: "http://api.example", Err: err}
}

func TestTransient(t *testing.T) {
	tests := []struct {
		name string
		err  error
		want bool
	}{
		{"nil", nil, false},
		{"plain", errBoom, false},
		{"canceled", context.Canceled, false},
		{"EOF", io.EOF, false},

		{"deadline", context.DeadlineExceeded, true},
		{"deadline, wrapped", fmt.Errorf("call: %w", context.DeadlineExceeded), true},
		{"deadline of I/O", os.ErrDeadlineExceeded, true},
		{"deadline in a url.Error", urlError(context.DeadlineExceeded), true},
		{"deadline deep in a url.Error", urlError(fmt.Errorf("x: %w", context.DeadlineExceeded)), true},
		{"timeout deep in an OpError", opError("read", fmt.Errorf("x: %w", os.ErrDeadlineExceeded)), true},
		{"joined", errors.Join(errBoom, context.DeadlineExceeded), true},
		{"after an error that is no timeout", errors.Join(sysError("read", syscall.EPERM), context.DeadlineExceeded), true},
		{"real read timeout", readTimeout(t), true},
		{"ETIMEDOUT", sysError("connect", syscall.ETIMEDOUT), true},

		{"real refused dial", refusedDial(t), true},
		{"real refused request", refusedRequest(t), true},
		{"real reset", reset(t), true},
		{"ECONNREFUSED", urlError(sysError("connect", syscall.ECONNREFUSED)), true},
		{"ECONNRESET", urlError(sysError("read", syscall.ECONNRESET)), true},
		{"EPIPE", sysError("write", syscall.EPIPE), true},
		{"bare errno", syscall.ECONNRESET, true},
		{"EACCES", sysError("connect", syscall.EACCES), false},
		{"ENETUNREACH", sysError("connect", syscall.ENETUNREACH), false},

		{"DNS, temporary", opError("dial", &net.DNSError{Err: "server misbehaving", IsTemporary: true}), true},
		{"DNS, timeout", &net.DNSError{Err: "i/o timeout", IsTimeout: true}, true},
		{"DNS, not found", opError("dial", &net.DNSError{Err: "no such host", IsNotFound: true}), false},

		{"400", statusError(400), false},
		{"404", statusError(404), false},
		{"408", statusError(408), false},
		{"429", statusError(429), true},
		{"500", statusError(500), false},
		{"501", statusError(501), false},
		{"502", statusError(502), true},
		{"503", statusError(503), true},
		{"504", statusError(504), true},
		{"505", statusError(505), false},
		{"503, wrapped", fmt.Errorf("pay: %w", statusError(503)), true},

		{"rejection", newGate(never).rejection, false},
		{"rejection with a deadline", &stoic.Rejection{Err: context.DeadlineExceeded}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			equal(t, "transient", retry.Transient(tt.err), tt.want)
		})
	}
}

// The limiter's rejection of a wait that the deadline does not allow matches
// context.DeadlineExceeded, and is no timeout of the dependency.
func TestTransientDoesNotRetryTheLimiter(t *testing.T) {
	var s sleeper
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	p := plain(t, retry.New(retry.If(retry.Transient), retry.Sleep(s.sleep)),
		ratelimit.New(ratelimit.Per(1, time.Hour), 1, ratelimit.Wait(2*time.Hour)))
	op := newOp(nil)
	identical(t, p.Do(ctx, op.run), nil)
	matches(t, p.Do(ctx, op.run), ratelimit.ErrLimited, context.DeadlineExceeded)
	equal(t, "calls", op.calls(), 1)
	equal(t, "sleeps", len(s.slept), 0)
}
