package kms

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
)

// problem is why a call failed.
type problem int

const (
	unknown       problem = iota // the service says no, for a reason of its own
	noCredentials                // there are none, or the service does not accept them
	denied                       // they may not use the key
	noKey                        // the service knows no such key
	disabled                     // the key is there, and is not to be used
	foreign                      // the ciphertext is another key's, or was changed
	unreachable
	unavailable // the service is there, and cannot answer
)

// Error says why the key of a service could not be used, and what to do.
type Error struct {
	Key    string // its URI
	Says   string
	Advice string
}

func (e *Error) Error() string { return e.Key + ": " + e.Says + ". " + e.Advice }

// explain returns the error of a call.
func (k *Key) explain(ctx context.Context, err error) error {
	e := &Error{Key: k.uri}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		e.Says = "the key management service did not answer in time"
		e.Advice = "See whether this machine reaches it: the network, a proxy, and secrets.kms.url."
		return e
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	what, detail := k.problem(err)
	e.Says, e.Advice = k.words(what)
	if detail != "" {
		e.Says += " (" + detail + ")"
	}
	return e
}

func (k *Key) words(what problem) (says, advice string) {
	switch what {
	case noCredentials:
		return "there are no credentials that the key management service accepts", k.rights
	case denied:
		return "the credentials may not use the key", k.rights
	case noKey:
		return "the key management service knows no such key", "Correct the key's name in secrets.keyset or " +
			"secrets.kms.key. If it is right, see whether the credentials are those of its account."
	case disabled:
		return "the key is disabled or about to be deleted", "Enable it at the key management service."
	case foreign:
		return "the key set was not encrypted with this key, or it was changed", "Name the key that it was " +
			"encrypted with in secrets.keyset or secrets.kms.key, or restore the key set from a copy."
	case unreachable:
		return "the key management service cannot be reached",
			"See whether this machine reaches it: the network, a proxy, and secrets.kms.url."
	case unavailable:
		return "the key management service cannot answer now", "Try again. If it stays so, look at the service."
	}
	return "the key management service refuses", "Look the code up in the documents of the service."
}

// connecting recognizes the failures of connections. Its detail leaves out the URL.
func connecting(err error) (problem, string, bool) {
	if failed, ok := errors.AsType[*url.Error](err); ok {
		err = failed.Err
	}
	if failed, ok := errors.AsType[*net.OpError](err); ok {
		return unreachable, failed.Error(), true
	}
	if failed, ok := errors.AsType[*net.DNSError](err); ok {
		return unreachable, failed.Error(), true
	}
	return unknown, "", false
}

// unanswered recognizes the statuses by which any service says that it cannot answer now.
func unanswered(status int) bool {
	return status == http.StatusTooManyRequests || status >= http.StatusInternalServerError
}
