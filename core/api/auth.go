package api

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"

	"frontdesk/core/apikey"
	"frontdesk/core/audit"
	"frontdesk/core/fault"
	"frontdesk/core/telemetry"
)

const headerAPIKey = "X-Api-Key"

var errNoKey = errors.New("no key was sent")

type identityKey struct{}

type identity struct {
	caller apikey.Caller
	actor  string
}

// As returns a context under which requests to the handler of [New] are a caller's, without a key. The actor
// is who makes them, as the audit names it. Only this process can make such requests: no header says so.
func As(ctx context.Context, caller apikey.Caller, actor string) context.Context {
	return context.WithValue(audit.By(ctx, ""), identityKey{}, identity{caller, actor})
}

// actorOf returns who makes a request, as the audit names it.
func actorOf(ctx context.Context, caller apikey.Caller) string {
	if known, is := ctx.Value(identityKey{}).(identity); is {
		return known.actor
	}
	return audit.Key(caller.KeyID)
}

// authenticate returns the caller of [As], or the one that X-Api-Key or a bearer token (RFC 6750 section 2.1)
// identifies. A request with two different keys is refused. Another Authorization scheme beside X-Api-Key is
// ignored: it may be meant for a proxy.
func (a *api) authenticate(ctx context.Context, h http.Header) (apikey.Caller, error) {
	if known, is := ctx.Value(identityKey{}).(identity); is {
		return known.caller, nil
	}
	key, err := keyOf(h)
	if err != nil {
		return apikey.Caller{}, err
	}
	return a.keys.Authenticate(ctx, key)
}

func keyOf(h http.Header) (string, error) {
	given, otherScheme := append([]string{}, h.Values(headerAPIKey)...), false
	for _, value := range h.Values("Authorization") {
		scheme, token, _ := strings.Cut(value, " ")
		if !strings.EqualFold(scheme, "Bearer") {
			otherScheme = true
			continue
		}
		given = append(given, strings.TrimSpace(token))
	}
	key := ""
	for _, each := range given {
		switch {
		case each == "":
		case key == "":
			key = each
		case key != each:
			return "", refused("The request carries two different API keys. Send one.")
		}
	}
	if key == "" && otherScheme {
		return "", refused("The Authorization header must be \"Bearer\" and the API key. Or send the key " +
			"in X-Api-Key.")
	}
	if key == "" {
		return "", refused("The API key is missing. Send it in the X-Api-Key header.").Because(errNoKey)
	}
	return key, nil
}

// tellFormer has the log tell whose key was sent that is no longer valid, in lines of its tenant's own, since no
// stranger has one to send.
func (x *exchange) tellFormer(err error) {
	if former, is := errors.AsType[*apikey.FormerKey](err); is {
		x.identity = []slog.Attr{telemetry.Tenant(former.Tenant), slog.String("key", former.ID)}
		x.whose, x.claimed = "former "+former.Tenant, true
	}
}

func refused(detail string) *fault.Error {
	return fault.New(fault.Unauthenticated, fault.ReasonInvalidAPIKey, detail)
}

// challenge returns the WWW-Authenticate header for a refused key (RFC 6750 section 3). It names no error if
// no key was sent. It returns "" if err is not fault.Unauthenticated, since only 401 responses have one.
func challenge(err error) string {
	switch {
	case !errors.Is(err, fault.Unauthenticated):
		return ""
	case errors.Is(err, errNoKey):
		return `Bearer realm="frontdesk"`
	}
	return `Bearer realm="frontdesk", error="invalid_token"`
}

// scopeChallenge returns the WWW-Authenticate header for a missing scope (RFC 6750 section 3.1).
func scopeChallenge(s apikey.Scope) string {
	return `Bearer realm="frontdesk", error="insufficient_scope", scope="` + string(s) + `"`
}
