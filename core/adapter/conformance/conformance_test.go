package conformance_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"frontdesk/core/adapter/conformance"
	"frontdesk/core/fault"
)

func TestASecretIsFoundWhereverADriverKeepsIt(t *testing.T) {
	type nested struct{ m map[string]any }
	type driver struct {
		client *http.Client
		inner  *nested
		self   *driver
	}
	clean := &driver{
		client: &http.Client{Transport: keeper{"s3cret"}}, inner: &nested{m: map[string]any{"a": "b"}},
	}
	clean.self = clean
	if err := conformance.WantNoSecret(clean, []string{"s3cret"}); err != nil {
		t.Errorf("the client it was opened with was looked into: %v", err)
	}
	for name, held := range map[string]any{
		"text":  "Bearer s3cret",
		"bytes": []byte("s3cret"),
		"list":  []string{"", "s3cret"},
		"key":   map[string]int{"s3cret": 1},
		"array": [1]any{"s3cret"},
	} {
		dirty := &driver{inner: &nested{m: map[string]any{"field": held}}}
		if err := conformance.WantNoSecret(dirty, []string{"s3cret"}); err == nil {
			t.Errorf("a secret kept as %s was not found", name)
		} else if strings.Contains(err.Error(), "Bearer") {
			t.Errorf("the answer repeats the secret: %v", err)
		}
	}
}

type keeper struct{ secret string }

func (keeper) RoundTrip(*http.Request) (*http.Response, error) { return nil, errors.New("not used") }

func TestFaultsAreToldApart(t *testing.T) {
	missing := fault.New(fault.NotFound, fault.ReasonTicketNotFound, "There is none.")
	field := fault.InvalidField("owner_id", "is not known.")
	for _, c := range []struct {
		rule string
		err  error
		ok   bool
	}{
		{"code and reason as wanted", conformance.WantFault("get", missing, fault.NotFound,
			fault.ReasonTicketNotFound), true},
		{"any reason where none is wanted", conformance.WantFault("get", missing, fault.NotFound, ""), true},
		{"another reason", conformance.WantFault("get", missing, fault.NotFound, fault.ReasonEventNotFound), false},
		{"another code", conformance.WantFault("get", missing, fault.Conflict, ""), false},
		{"success", conformance.WantFault("get", nil, fault.NotFound, ""), false},
		{"no fault at all", conformance.WantFault("get", errors.New("404"), fault.NotFound, ""), false},
		{"the field named", conformance.WantInvalid("create", field, "owner_id"), true},
		{"another field named", conformance.WantInvalid("create", field, "account_id"), false},
		{"no field named", conformance.WantInvalid("create", missing, "owner_id"), false},
		{"the context's error", conformance.WantEnded("get", context.Canceled), true},
		{"the fault of a caller who left", conformance.WantEnded("get", fault.From(context.Canceled)), true},
		{"an answer despite the end", conformance.WantEnded("get", nil), false},
		{"another error than the end", conformance.WantEnded("get", missing), false},
	} {
		if got := c.err == nil; got != c.ok {
			t.Errorf("%s: %v", c.rule, c.err)
		}
	}
}

func TestCallsStartTogetherAndEveryErrorIsKept(t *testing.T) {
	reached := make(chan struct{})
	err := conformance.AtOnce(2, func(i int) error {
		if i == 0 {
			reached <- struct{}{} // returns only if the other call runs at the same time
			return errors.New("first")
		}
		<-reached
		return errors.New("second")
	})
	if err == nil || !strings.Contains(err.Error(), "first") || !strings.Contains(err.Error(), "second") {
		t.Errorf("got %v, want both errors", err)
	}
}

type account struct{ number int }

func TestTheReferencePassesAndAMutantIsCaught(t *testing.T) {
	even := conformance.Check[account]{Name: "the number is even", Do: func(_ context.Context, a account) error {
		if a.number%2 != 0 {
			return errors.New("odd")
		}
		return nil
	}}
	never := conformance.Check[account]{
		Name: "never bound", Bound: func(account) bool { return false },
		Do: func(context.Context, account) error { return errors.New("ran") },
	}
	open := func(*testing.T) account { return account{number: 2} }
	conformance.Run(t, []conformance.Check[account]{even, never}, open)
	conformance.Catch(t, []conformance.Check[account]{even}, []conformance.Mutant[account]{
		{Check: even.Name, Mutate: func(a account) account { a.number++; return a }},
	}, open)
}
