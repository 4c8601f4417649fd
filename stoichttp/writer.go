package stoichttp

import (
	"bufio"
	"io"
	"net"
	"net/http"
)

// responseWriter notes what a handler writes.
type responseWriter struct {
	http.ResponseWriter
	wrote bool // the headers are out, or the connection is the handler's
	code  int
}

// note is called with the status of what is about to be written.
func (w *responseWriter) note(code int) {
	informational := code < 200 && code != http.StatusSwitchingProtocols
	if !w.wrote && !informational {
		w.wrote, w.code = true, code
	}
}

func (w *responseWriter) WriteHeader(code int) {
	w.note(code)
	w.ResponseWriter.WriteHeader(code)
}

func (w *responseWriter) Write(p []byte) (int, error) {
	w.note(http.StatusOK)
	return w.ResponseWriter.Write(p)
}

// ReadFrom lets the server copy from a file without a buffer, where it can.
func (w *responseWriter) ReadFrom(r io.Reader) (int64, error) {
	w.note(http.StatusOK)
	return io.Copy(w.ResponseWriter, r)
}

// FlushError is Flush for http.ResponseController.
func (w *responseWriter) FlushError() error {
	err := http.NewResponseController(w.ResponseWriter).Flush()
	if err == nil {
		w.note(http.StatusOK)
	}
	return err
}

// Flush does nothing where the server cannot flush.
func (w *responseWriter) Flush() { _ = w.FlushError() }

// Hijack fails where the server cannot hand over the connection, as with HTTP/2.
func (w *responseWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffered, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err == nil {
		w.note(http.StatusSwitchingProtocols)
	}
	return conn, buffered, err
}

// Unwrap is for http.ResponseController.
func (w *responseWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
