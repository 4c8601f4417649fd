package stoichttp

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

// body is that of a response. It ends the context of its attempt when it was read to the
// end, failed, or is closed.
type body struct {
	attempt *attempt
	rc      io.ReadCloser
	once    sync.Once
	err     error // of the first Close
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.rc.Read(p)
	if err == nil {
		return n, nil
	}
	//nolint:errorlint // a Reader returns EOF itself
	if err != io.EOF {
		err = b.explain(err)
	}
	b.attempt.end()
	return n, err
}

// explain says that it was the context, if that is so: not every base does.
func (b *body) explain(err error) error {
	if b.attempt.isEnded() {
		return err // closed while it was read
	}
	if done := b.attempt.Err(); done != nil && !errors.Is(err, done) {
		return fmt.Errorf("%w: %w", done, err)
	}
	return err
}

// Close closes the body of the base, once.
func (b *body) Close() error {
	b.once.Do(func() {
		defer b.attempt.end()
		b.err = b.rc.Close()
	})
	return b.err
}

// discard reads the rest of the response, so that its connection can be used again, and
// closes it. It reads no more than that many bytes and takes no longer than d: then
// the context ends, and with it the read.
func (a *attempt) discard(bytes int64, d time.Duration) {
	defer a.close()
	if d == 0 || a.resp.Body == http.NoBody || a.resp.ContentLength > bytes {
		return
	}
	timer := time.AfterFunc(d, func() {
		a.end()
		a.close() // for a body that does not know the context
	})
	defer timer.Stop()
	_, _ = io.Copy(io.Discard, io.LimitReader(a.resp.Body, bytes)) // what fails is closed as well
}

// writer is what the body of a 101 response can do.
type writer interface {
	io.ReadCloser
	io.Writer
}

// upgraded is the body of a 101 response: the connection, which belongs to the caller.
type upgraded struct {
	*body
	writer writer
}

func (u *upgraded) Write(p []byte) (int, error) { return u.writer.Write(p) }

// CloseWrite closes the sending half of the connection, if it has halves.
func (u *upgraded) CloseWrite() error {
	if half, ok := u.writer.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return fmt.Errorf("stoichttp: CloseWrite: %w", http.ErrNotSupported)
}
