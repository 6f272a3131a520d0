package upstream

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/url"
	"strings"
	"syscall"
	"time"

	"frontdesk/core/fault"
	"frontdesk/core/telemetry"
)

// ReasonAnswerTooLarge is the reason of the fault for a response beyond the bounds.
const ReasonAnswerTooLarge = "PROVIDER_ANSWER_TOO_LARGE"

// failure converts the error of an exchange into a fault. It checks the context before the error, since after
// the end of the context any network error may appear, or the fault of another request that has ended it.
func (t *transport) failure(ctx context.Context, u *url.URL, err error, sent bool) *fault.Error {
	f := t.classify(ctx, u, err, sent)
	f.Unsent = f.Unsent || !sent
	return f
}

func (t *transport) classify(ctx context.Context, u *url.URL, err error, sent bool) *fault.Error {
	var (
		known       *fault.Error
		unknownHost *net.DNSError
		notTLS      tls.RecordHeaderError
	)
	host, provider := t.hostFor(u), t.client.Provider
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fault.Newf(fault.Timeout, fault.ReasonDeadlineExceeded,
			"The provider %s did not answer in time.", provider).
			With("provider", provider).Because(redacted{err})
	case errors.Is(ctx.Err(), context.Canceled) && !errors.Is(context.Cause(ctx), errWouldRepeat):
		return fault.New(fault.Canceled, fault.ReasonCanceled,
			"The call was given up before the provider answered.").
			With("provider", provider).Because(redacted{err})
	case errors.As(err, &known):
		c := *known
		return &c
	case outOfFiles(err): // says nothing about the provider, and must not open its breaker
		f := fault.New(fault.Unavailable, fault.ReasonOverloaded,
			"The gateway has no room for another connection. Try again shortly.").Because(redacted{err})
		f.RetryAfter = time.Second
		return f
	case certificateFault(err) != "":
		return t.misconfigured("presents a certificate at %s that %s", host, certificateFault(err)).Because(redacted{err})
	case errors.As(err, &notTLS):
		return t.misconfigured("does not speak TLS at %s, though its address begins with https", host).
			Because(redacted{err})
	case errors.As(err, &unknownHost) && unknownHost.IsNotFound && host != u.Hostname():
		return t.unavailable(err, "A host that the provider %s names was not found. This may be a temporary "+
			"DNS failure.", provider)
	case errors.As(err, &unknownHost) && unknownHost.IsNotFound:
		return t.unavailable(err, "The host %s of the provider %s was not found. If the address is right, "+
			"this may be a temporary DNS failure.", host, provider)
	}
	if sent {
		return t.unavailable(err, "The connection to the provider %s was lost before there was an answer.",
			provider)
	}
	return t.unavailable(err, "The provider %s could not be reached at %s.", provider, host)
}

// hostFor returns the host to name in a fault. A host that a response named is not repeated, since a model
// may read the fault.
func (t *transport) hostFor(u *url.URL) string {
	if home := t.client.AuthorizeFor; home != nil &&
		canonicalHost(home.Hostname()) != canonicalHost(u.Hostname()) {
		return "another host"
	}
	return u.Hostname()
}

// outOfFiles reports whether this process, or its machine, may open no more files. Of what kept a host from being
// looked up, net keeps the text alone.
func outOfFiles(err error) bool {
	var lookUp *net.DNSError
	isLookUp := errors.As(err, &lookUp)
	for _, limit := range [...]syscall.Errno{syscall.EMFILE, syscall.ENFILE} {
		if errors.Is(err, limit) || isLookUp && strings.HasSuffix(lookUp.Err, limit.Error()) {
			return true
		}
	}
	return false
}

// certificateFault says what is wrong with a server's certificate, or returns "" if the error is about none.
func certificateFault(err error) string {
	var (
		verification *tls.CertificateVerificationError
		authority    x509.UnknownAuthorityError
		name         x509.HostnameError
		invalid      x509.CertificateInvalidError
	)
	switch {
	case errors.As(err, &authority):
		return "comes without its intermediates, or is by an authority that the gateway does not trust"
	case errors.As(err, &name):
		return "is for other names"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired: // or not begun
		return "has ended, or has not begun yet"
	case errors.As(err, &invalid), errors.As(err, &verification):
		return "cannot be verified"
	}
	return ""
}

func (t *transport) unavailable(err error, format string, args ...any) *fault.Error {
	return fault.Newf(fault.Unavailable, fault.ReasonProviderUnavailable, format, args...).
		With("provider", t.client.Provider).Because(redacted{err})
}

// misconfigured returns the fault for an error that no retry corrects: a person has to correct an address,
// here or at the provider.
func (t *transport) misconfigured(format string, args ...any) *fault.Error {
	f := fault.Newf(fault.Unsupported, fault.ReasonProviderMisconfigured,
		"The provider "+t.client.Provider+" "+format+".", args...)
	return f.With("provider", t.client.Provider)
}

// redacted is a cause whose text is redacted, since faults are printed with their causes.
type redacted struct{ error }

func (q redacted) Error() string { return telemetry.Redact(q.error.Error()) }
func (q redacted) Unwrap() error { return q.error }
