package api

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"frontdesk/core/apikey"
	"frontdesk/core/fault"
)

const headerAPIKey = "X-Api-Key"

var errNoKey = errors.New("no key was sent")

// authenticate returns who calls, by X-Api-Key or by a bearer token (RFC 6750 section 2.1). Two different
// keys are refused rather than one of them believed. Another scheme beside X-Api-Key is somebody else's, a
// proxy's for example.
func (a *api) authenticate(ctx context.Context, h http.Header) (apikey.Caller, error) {
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

func refused(detail string) *fault.Error {
	return fault.New(fault.Unauthenticated, fault.ReasonInvalidAPIKey, detail)
}

// challenge returns the WWW-Authenticate of a refused key (RFC 6750 section 3): with no key there is no error
// to name. Only answers of 401 carry one.
func challenge(err error) string {
	switch {
	case !errors.Is(err, fault.Unauthenticated):
		return ""
	case errors.Is(err, errNoKey):
		return `Bearer realm="frontdesk"`
	}
	return `Bearer realm="frontdesk", error="invalid_token"`
}

// scopeChallenge names the scope that is missing (RFC 6750 section 3.1).
func scopeChallenge(s apikey.Scope) string {
	return `Bearer realm="frontdesk", error="insufficient_scope", scope="` + string(s) + `"`
}
