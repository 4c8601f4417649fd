package stoichttp

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// Permanent reports whether err, of an http.Client or a RoundTripper, comes back on
// every attempt: an unsupported scheme, an invalid URL or request, a certificate that is
// refused by either side, a server that speaks no TLS, too many redirects.
//
// A [Transport] asks it by itself. It is exported for a stack around http.Client.Do,
// which sees the redirects:
//
//	retry.If(func(err error) bool { return !stoichttp.Permanent(err) && !errors.Is(err, stoic.ErrRejected) })
func Permanent(err error) bool {
	switch e := err.(type) { //nolint:errorlint // the whole tree is walked here
	case nil:
		return false
	case *tls.CertificateVerificationError, tls.RecordHeaderError,
		x509.CertificateInvalidError, x509.HostnameError, x509.UnknownAuthorityError, x509.SystemRootsError,
		x509.ConstraintViolationError, x509.InsecureAlgorithmError, x509.UnhandledCriticalExtension,
		url.EscapeError, url.InvalidHostError, *net.AddrError:
		return true
	case *url.Error:
		return e.Op == "parse" || Permanent(e.Err)
	case *net.OpError:
		// What the other side says of our certificate is an alert, of a type that is not exported.
		return e.Op == "remote error" && e.Err != nil && strings.Contains(e.Err.Error(), "certificate") || Permanent(e.Err)
	case interface{ Unwrap() error }:
		return Permanent(e.Unwrap())
	case interface{ Unwrap() []error }:
		for _, branch := range e.Unwrap() {
			if Permanent(branch) {
				return true
			}
		}
		return false
	default:
		return errors.Is(err, http.ErrSchemeMismatch) || hasPermanentText(err.Error())
	}
}

// hasPermanentText knows the errors of net/http that have neither a type nor a value.
func hasPermanentText(text string) bool {
	for _, prefix := range []string{
		"unsupported protocol scheme ",
		"stopped after 10 redirects",
		"failed to parse Location header ",
		"http: no Host in request URL",
		"http: nil Request.URL",
		"http: nil Request.Header",
		"net/http: invalid method ",
		"net/http: invalid header ",
		"net/http: invalid trailer ",
	} {
		if strings.HasPrefix(text, prefix) {
			return true
		}
	}
	return false
}
