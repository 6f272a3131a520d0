package upstream

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"frontdesk/core/fault"
)

// renewing is a client whose token is the first of a list until it is renewed.
type renewing struct {
	tokens  []string
	renewed int
	fails   error
}

func (r *renewing) authorize(req *http.Request) error {
	req.Header.Set("Authorization", "Bearer "+r.tokens[r.renewed])
	return nil
}

func (r *renewing) renew(refused *http.Request) (bool, error) {
	if r.fails != nil || r.renewed == len(r.tokens)-1 {
		return false, r.fails
	}
	if refused.Header.Get("Authorization") != "Bearer "+r.tokens[r.renewed] {
		return false, errors.New("not told which token was refused")
	}
	r.renewed++
	return true, nil
}

// doorman accepts only the token "good", and counts the calls.
func doorman(t *testing.T, calls *atomic.Int32, bodies *[]string) string {
	return serve(t, func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		body, _ := io.ReadAll(r.Body)
		*bodies = append(*bodies, string(body))
		if r.Header.Get("Authorization") != "Bearer good" {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}).String()
}

func TestRefusedCredentialsAreRenewedOnce(t *testing.T) {
	broken := fault.New(fault.Disconnected, fault.ReasonReconnectRequired,
		"The account has to be connected again.")
	for _, rule := range []struct {
		name   string
		tokens []string
		fails  error
		body   io.Reader
		calls  int32
		status int
		code   fault.Code
	}{
		{name: "good ones are not renewed", tokens: []string{"good"}, calls: 1, status: 200},
		{name: "a request goes out again with new ones", tokens: []string{"old", "good"}, calls: 2, status: 200},
		{name: "its body does too", tokens: []string{"old", "good"}, body: strings.NewReader("text"),
			calls: 2, status: 200},
		{name: "a body that cannot be had again is not sent halfway", tokens: []string{"old", "good"},
			body: io.NopCloser(strings.NewReader("text")), calls: 1, status: 401},
		{name: "new ones that are refused too are the answer", tokens: []string{"old", "new", "good"},
			calls: 2, status: 401},
		{name: "there are none", tokens: []string{"old"}, calls: 1, status: 401},
		{name: "to renew them fails", tokens: []string{"old"}, fails: broken, calls: 1, code: fault.Disconnected},
	} {
		t.Run(rule.name, func(t *testing.T) {
			var calls atomic.Int32
			var bodies []string
			address := doorman(t, &calls, &bodies)
			credentials := &renewing{tokens: rule.tokens, fails: rule.fails}
			client := newPool(t, PoolOptions{}).Client(ClientOptions{
				Authorize: credentials.authorize, Renew: credentials.renew, Provider: "desk",
			})
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, rule.body)
			if err != nil {
				t.Fatal(err)
			}
			status, _, _, err := Do(client, req)
			if calls.Load() != rule.calls {
				t.Errorf("%d calls, want %d", calls.Load(), rule.calls)
			}
			if rule.code != "" {
				wantFault(t, err, rule.code, fault.ReasonReconnectRequired, true)
				return
			}
			if err != nil || status != rule.status {
				t.Errorf("answered %d, %v, want %d", status, err, rule.status)
			}
			for _, body := range bodies {
				if rule.body != nil && body != "text" {
					t.Errorf("sent %q", body)
				}
			}
		})
	}
}

// What a call lacks before it is sent is no failure of its provider.
func TestWhatACallNeedsFirstIsNotItsProvider(t *testing.T) {
	signIn := fault.New(fault.Unavailable, fault.ReasonProviderUnavailable, "The sign-in service is not available.")
	refuses := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
	gone := "http://" + closedPort(t)
	for _, rule := range []struct {
		name, address string
		client        ClientOptions
		want          bool
	}{
		{"no token", refuses.String(), ClientOptions{Authorize: func(*http.Request) error { return signIn }}, true},
		{"no new token", refuses.String(), ClientOptions{
			Renew: func(*http.Request) (bool, error) { return false, signIn },
		}, true},
		{"no turn", refuses.String(), ClientOptions{
			Pace: func(*http.Request) (func(), error) { return nil, signIn },
		}, true},
		{"nobody answers", gone, ClientOptions{}, false},
	} {
		t.Run(rule.name, func(t *testing.T) {
			_, _, _, err := Do(newPool(t, PoolOptions{}).Client(rule.client), request(t, http.MethodGet, rule.address, ""))
			if f := faultOf(t, err); f.Prerequisite != rule.want || !f.Unsent {
				t.Errorf("prerequisite %t, unsent %t: %v", f.Prerequisite, f.Unsent, f)
			}
		})
	}
}

func TestNoOtherSiteHasCredentialsRenewed(t *testing.T) {
	otherHost := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			t.Error("the credentials left their host")
		}
		w.WriteHeader(http.StatusUnauthorized)
	})
	credentials := &renewing{tokens: []string{"old", "good"}}
	client := newPool(t, PoolOptions{}).Client(ClientOptions{
		Authorize: credentials.authorize, Renew: credentials.renew,
		AuthorizeFor: parse(t, "https://api.example.com"), Provider: "desk",
	})
	status, _, _, err := Do(client, request(t, http.MethodGet, otherHost.String(), ""))
	if err != nil || status != http.StatusUnauthorized || credentials.renewed != 0 {
		t.Errorf("answered %d, %v, renewed %d times", status, err, credentials.renewed)
	}
}
