package tenant

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/consent/consenttest"
	"frontdesk/core/fault"
	"frontdesk/core/oauth"
	"frontdesk/core/oauth/oauthtest"
	"frontdesk/core/secret"
	"frontdesk/core/store/storetest"
)

const callbacks = "https://gw.example/oauth/callback/"

// consentHouse is a harness with a provider that customers consent to, and the tenant acme.
type consentHouse struct {
	*harness
	meet *consenttest.Provider
	acme Tenant
}

func buildConsent(t *testing.T, url string, change ...func(*Options)) *consentHouse {
	t.Helper()
	h := &consentHouse{meet: consenttest.Start(t, "meet", func(o *oauthtest.Options) { o.Redirects = []string{callbacks + "meet"} })}
	all := append([]func(*Options){func(o *Options) {
		dav := (&provider{}).calendar(adapter.Declaration{Name: "dav", Auth: adapter.Auth{Scheme: adapter.Basic, Username: "username", Password: "password", BaseURL: "url"}})
		registry, err := adapter.NewRegistry([]adapter.Adapter{h.meet.Adapter(), dav})
		if err != nil {
			t.Fatal(err)
		}
		o.Registry, o.Operators = registry, map[string]adapter.Operator{"meet": h.meet.Operator()}
	}}, change...)
	h.harness = build(t, url, all...)
	h.acme = h.tenant("acme")
	return h
}

func (h *consentHouse) link(change ...func(*NewLink)) string {
	h.t.Helper()
	n := NewLink{Connection: NewConnection{Name: "front-office", Kind: adapter.KindCalendar, Provider: "meet"}}
	for _, c := range change {
		c(&n)
	}
	token, _, err := h.NewConnectLink(h.t.Context(), "acme", n)
	if err != nil {
		h.t.Fatal(err)
	}
	return token
}

// answered begins a consent with the link and gives it at the provider.
func (h *consentHouse) answered(token, button string) ConsentAnswer {
	h.t.Helper()
	begun, err := h.BeginConsent(h.t.Context(), token, callbacks)
	if err != nil {
		h.t.Fatal(err)
	}
	ask, err := url.Parse(begun.URL)
	if err != nil {
		h.t.Fatal(err)
	}
	h.meet.Register(ask.Query().Get("redirect_uri"))
	back := h.meet.Decide(h.t, begun.URL, button)
	return ConsentAnswer{Callback: strings.TrimPrefix(back.Path, "/oauth/callback/"), Query: back.Query(), Browser: begun.Browser}
}

// connect goes the whole way.
func (h *consentHouse) connect(token string) Consented {
	h.t.Helper()
	done, err := h.FinishConsent(h.t.Context(), h.answered(token, "approve"))
	if err != nil {
		h.t.Fatal(err)
	}
	return done
}

func (h *consentHouse) connections() []Connection {
	h.t.Helper()
	all, err := h.Connections(h.t.Context(), "acme")
	if err != nil {
		h.t.Fatal(err)
	}
	return all
}

// works fails the test unless a call with an API key reaches the account.
func (h *consentHouse) works(email string) {
	h.t.Helper()
	key, _ := h.key("acme", NewKey{})
	open, err := h.Calendar(h.t.Context(), h.caller(key))
	if err != nil {
		h.t.Fatal(err)
	}
	account, err := open.Driver.Account(h.t.Context())
	if err != nil || account.Email != email {
		h.t.Errorf("the connection reaches %q, %v; want %s", account.Email, err, email)
	}
}

func TestAConsentMakesAConnectionThatWorks(t *testing.T) {
	onEveryStore(t, func(t *testing.T, url string) {
		h := buildConsent(t, url)
		token := h.link(func(n *NewLink) { n.Connection.Settings = map[string]any{"calendar_id": "Front desk"} })
		shown, err := h.ConnectLink(t.Context(), token)
		if want := (ConnectLink{
			Tenant: "acme", Provider: "meet", Title: "Meet Calendar", Connection: "front-office", SignIn: h.meet.URL, Callback: "meet",
			Allows: []string{"See and change events in your calendars", "See the list of your calendars"}, ExpiresAt: h.clock.now().Add(24 * time.Hour),
		}); err != nil || !reflect.DeepEqual(shown, want) {
			t.Errorf("shown %+v, %v\nwant %+v", shown, err, want)
		}
		done := h.connect(token)
		if done.Email != "desk@acme.example" || done.Calendar != "Front desk" || done.Token != token {
			t.Errorf("done %+v", done)
		}
		all := h.connections()
		if len(all) != 1 || all[0].Status != StatusOK || all[0].Email != "desk@acme.example" || !all[0].IsDefault || all[0].Settings["calendar_id"] != "Front desk" {
			t.Errorf("connections %+v", all)
		}
		if given, err := h.openConnection(h.row(all[0])); err != nil || len(given) != 0 {
			t.Errorf("among the given credentials are tokens, or %v", err)
		}
		h.works("desk@acme.example")
		h.meet.ExpireAccess()
		h.works("desk@acme.example")
	})
}

func TestAConsentIsNoChangeForApply(t *testing.T) {
	h := buildConsent(t, storetest.SQLite(t))
	want := Desired{Tenants: []DesiredTenant{{Name: "acme", Connections: []NewConnection{{
		Name: "front-office", Kind: adapter.KindCalendar, Provider: "meet", Settings: map[string]any{"client_id": "client-of-acme"},
		Credentials: map[string]string{"client_secret": "secret-of-acme"},
	}}}}}
	if _, err := h.Apply(t.Context(), want, ApplyOptions{}); err != nil {
		t.Fatal(err)
	}
	before := h.row(h.connections()[0])
	h.connect(h.link())
	h.works("desk@acme.example")
	changes, err := h.Apply(t.Context(), want, ApplyOptions{})
	if err != nil || len(changes) != 0 {
		t.Errorf("%v %v", changes, err)
	}
	if after := h.row(h.connections()[0]); after.ID != before.ID || !bytes.Equal(after.Credentials, before.Credentials) || after.Status != "ok" {
		t.Errorf("before %+v\nafter %+v", before, after)
	}
	h.works("desk@acme.example")
}

func TestAReconnectKeepsTheConnection(t *testing.T) {
	onEveryStore(t, func(t *testing.T, url string) {
		h := buildConsent(t, url)
		h.connect(h.link(func(n *NewLink) { n.Connection.Settings = map[string]any{"calendar_id": "Front desk"} }))
		was := h.connections()[0]
		h.clock.advance(time.Hour)
		h.meet.Revoke()
		if v, err := h.VerifyConnection(t.Context(), "acme", "front-office"); err != nil || v.OK {
			t.Fatalf("revoked: %+v, %v", v, err)
		}
		again := h.link(func(n *NewLink) { n.Connection.Settings = map[string]any{"client_id": ""} })
		if shown, err := h.ConnectLink(t.Context(), again); err != nil || !shown.Reconnects || shown.Email != "desk@acme.example" {
			t.Errorf("shown %+v, %v", shown, err)
		}
		done := h.connect(again)
		is := h.connections()[0]
		if is.ID != was.ID || !is.CreatedAt.Equal(was.CreatedAt) || is.Status != StatusOK || is.Settings["calendar_id"] != "Front desk" || len(h.connections()) != 1 {
			t.Errorf("was %+v\nis %+v", was, is)
		}
		if !reflect.DeepEqual(done.Connection, is) {
			t.Errorf("answered %+v\nstored %+v", done.Connection, is)
		}
		h.works("desk@acme.example")
	})
}

func TestAnotherAccountTakesAConnectionOverOnlyWhereTheLinkAllowsIt(t *testing.T) {
	h := buildConsent(t, storetest.SQLite(t))
	h.connect(h.link())
	before := h.row(h.connections()[0])

	token := h.link()
	h.meet.SignIn("other@acme.example")
	done, err := h.FinishConsent(t.Context(), h.answered(token, "approve"))
	wantFault(t, err, fault.Conflict, ReasonOtherAccount)
	if done.Email != "other@acme.example" || done.Link.Email != "desk@acme.example" || done.Token != token {
		t.Errorf("for the page %+v", done)
	}
	if after := h.row(h.connections()[0]); !reflect.DeepEqual(after, before) {
		t.Errorf("before %+v\nafter %+v", before, after)
	}
	h.works("desk@acme.example")
	h.connect(token) // the link is good still, for the right account

	h.meet.SignIn("other@acme.example")
	h.connect(h.link(func(n *NewLink) { n.OtherAccount = true }))
	if c := h.connections()[0]; c.Email != "other@acme.example" || c.ID != before.ID {
		t.Errorf("taken over: %+v", c)
	}
	h.works("other@acme.example")
}

func TestTheAccountExpectedIsHintedAtSignIn(t *testing.T) {
	h := buildConsent(t, storetest.SQLite(t))
	h.connect(h.link())
	for _, c := range []struct {
		other bool
		want  string
	}{{false, "desk@acme.example"}, {true, ""}} {
		begun, err := h.BeginConsent(t.Context(), h.link(func(n *NewLink) { n.OtherAccount = c.other }), callbacks)
		if err != nil {
			t.Fatal(err)
		}
		asked, err := url.Parse(begun.URL)
		if err != nil || asked.Query().Get("login_hint") != c.want {
			t.Errorf("login_hint %q, want %q", asked.Query().Get("login_hint"), c.want)
		}
	}
}

func TestLinksThatWouldLeadNowhereAreNotMade(t *testing.T) {
	h := buildConsent(t, storetest.SQLite(t))
	h.connection("acme", "old", adapter.KindCalendar, "dav")
	for _, c := range []struct {
		rule   string
		change func(*NewLink)
		code   fault.Code
		reason string
		says   []string
	}{
		{"an unknown provider", func(n *NewLink) { n.Connection.Provider = "outlook" }, fault.Invalid, fault.ReasonInvalidRequest, []string{"provider must be one of dav, meet"}},
		{"a provider with passwords", func(n *NewLink) { n.Connection.Provider = "dav" }, fault.Unsupported, ReasonNoConsent, []string{"credentials", "connection add"}},
		{"a name that is another provider's", func(n *NewLink) { n.Connection.Name = "old" }, fault.Conflict, ReasonNameTaken, []string{"old", "dav"}},
		{"a grant without a customer", func(n *NewLink) { n.Connection.Settings = map[string]any{"robot": "true"} }, fault.Unsupported, ReasonNoConsent, []string{"front-office", "client_credentials"}},
		{"a setting nobody knows", func(n *NewLink) { n.Connection.Settings = map[string]any{"colour": "red"} }, fault.Invalid, fault.ReasonInvalidRequest, []string{"settings.colour"}},
		{"a client without its secret", func(n *NewLink) { n.Connection.Settings = map[string]any{"client_id": "mine"} }, fault.Invalid, fault.ReasonInvalidRequest, []string{"credentials.client_secret"}},
		{"a name that is none", func(n *NewLink) { n.Connection.Name = "Front Office" }, fault.Invalid, fault.ReasonInvalidRequest, []string{"name"}},
		{"a life too short", func(n *NewLink) { n.Life = time.Second }, fault.Invalid, fault.ReasonInvalidRequest, []string{"expires"}},
		{"a life too long", func(n *NewLink) { n.Life = 31 * 24 * time.Hour }, fault.Invalid, fault.ReasonInvalidRequest, []string{"expires"}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			n := NewLink{Connection: NewConnection{Name: "front-office", Kind: adapter.KindCalendar, Provider: "meet"}}
			c.change(&n)
			_, _, err := h.NewConnectLink(t.Context(), "acme", n)
			f := wantFault(t, err, c.code, c.reason)
			text := f.Detail
			for _, field := range f.Fields {
				text += " " + field.Path + " " + field.Message
			}
			for _, says := range c.says {
				if !strings.Contains(text, says) {
					t.Errorf("%q does not say %q", text, says)
				}
			}
		})
	}
	_, _, err := h.NewConnectLink(t.Context(), "nobody", NewLink{})
	wantFault(t, err, fault.NotFound, ReasonTenantNotFound)
}

func TestWithoutAnOAuthClientTheKeysAreNamed(t *testing.T) {
	for _, lacks := range []adapter.Operator{{}, {ClientID: "id"}} {
		h := buildConsent(t, storetest.SQLite(t), func(o *Options) {
			lacks.Addresses = o.Operators["meet"].Addresses
			o.Operators = map[string]adapter.Operator{"meet": lacks}
		})
		_, _, err := h.NewConnectLink(t.Context(), "acme", NewLink{Connection: NewConnection{Name: "cal", Kind: adapter.KindCalendar, Provider: "meet"}})
		f := wantFault(t, err, fault.Unsupported, fault.ReasonProviderMisconfigured)
		for _, key := range []string{"providers.meet.client_id", "providers.meet.client_secret", "setting client_id", "credential client_secret"} {
			if !strings.Contains(f.Detail, key) {
				t.Errorf("%q does not name %s", f.Detail, key)
			}
		}
	}
}

func TestALinkIsGoodUntilItEndsOrHasLedToAConnection(t *testing.T) {
	for _, c := range []struct {
		rule   string
		do     func(h *consentHouse, token string)
		reason string // "" it is good
	}{
		{"a new one", func(*consentHouse, string) {}, ""},
		{"one that was declined", func(h *consentHouse, token string) {
			_, err := h.FinishConsent(h.t.Context(), h.answered(token, "deny"))
			wantFault(h.t, err, fault.Forbidden, ReasonConsentDeclined)
		}, ""},
		{"just before its end", func(h *consentHouse, _ string) { h.clock.advance(24*time.Hour - time.Second) }, ""},
		{"at its end", func(h *consentHouse, _ string) { h.clock.advance(24 * time.Hour) }, ReasonLinkExpired},
		{"one that led to a connection", func(h *consentHouse, token string) { h.connect(token) }, ReasonLinkUsed},
		{"of a tenant that was deleted", func(h *consentHouse, _ string) { must(h.t, h.DeleteTenant(h.t.Context(), "acme")) }, ReasonLinkUnknown},
		{"for a name that another provider's connection has by now", func(h *consentHouse, _ string) {
			h.connection("acme", "front-office", adapter.KindCalendar, "dav")
		}, ReasonLinkObsolete},
		{"for a name that a connection of that provider has by now", func(h *consentHouse, _ string) {
			h.connect(h.link())
		}, ""},
	} {
		t.Run(c.rule, func(t *testing.T) {
			h := buildConsent(t, storetest.SQLite(t))
			token := h.link()
			c.do(h, token)
			_, err := h.ConnectLink(t.Context(), token)
			_, begin := h.BeginConsent(t.Context(), token, callbacks)
			for _, err := range []error{err, begin} {
				if c.reason != "" {
					wantFault(t, err, fault.NotFound, c.reason)
				} else if err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestALinkToAConnectionThatIsGoneIsOutOfDate(t *testing.T) {
	h := buildConsent(t, storetest.SQLite(t))
	h.connect(h.link())
	token := h.link()
	answer := h.answered(token, "approve")
	must(t, h.RemoveConnection(t.Context(), "acme", "front-office"))
	_, err := h.ConnectLink(t.Context(), token)
	wantFault(t, err, fault.NotFound, ReasonLinkObsolete)
	_, err = h.FinishConsent(t.Context(), answer)
	wantFault(t, err, fault.NotFound, ReasonLinkObsolete)
	if all := h.connections(); len(all) != 0 {
		t.Errorf("made anew: %+v", all)
	}
}

func TestAMistypedLinkCostsNoQuery(t *testing.T) {
	h := buildConsent(t, storetest.SQLite(t))
	token := h.link()
	must(t, h.store.Close())
	key := secret.NewToken(livePrefix)
	for _, wrong := range []string{"", "fdc_", token[:len(token)-1], token + "0", token[:10] + "~" + token[11:], strings.ToUpper(token), "fd" + token[2:10] + "!" + token[11:], key} {
		_, err := h.ConnectLink(t.Context(), wrong)
		wantFault(t, err, fault.NotFound, ReasonLinkUnknown)
	}
	_, err := h.ConnectLink(t.Context(), token)
	wantFault(t, err, fault.Unavailable, fault.ReasonStoreUnavailable)
}

func TestOfCallbacksAtOnceOneMakesTheConnection(t *testing.T) {
	onEveryStore(t, func(t *testing.T, url string) {
		h := buildConsent(t, url)
		token := h.link()
		answers := make([]ConsentAnswer, 6)
		for i := range answers {
			answers[i] = h.answered(token, "approve")
		}
		answers = append(answers, answers...) // and each of them twice
		results := make([]error, len(answers))
		var ready, done sync.WaitGroup
		start := make(chan struct{})
		for i := range answers {
			ready.Add(1)
			done.Go(func() {
				ready.Done()
				<-start
				_, results[i] = h.FinishConsent(context.Background(), answers[i])
			})
		}
		ready.Wait()
		close(start)
		done.Wait()
		won := 0
		for _, err := range results {
			if err == nil {
				won++
			} else if r := fault.From(err).Reason; !slices.Contains([]string{ReasonLinkUsed, ReasonLinkBusy, ReasonNotThisConsent}, r) {
				t.Errorf("refused with %v", err)
			}
		}
		if all := h.connections(); won != 1 || len(all) != 1 || all[0].Status != StatusOK {
			t.Errorf("%d won: %+v", won, all)
		}
		h.works("desk@acme.example")
	})
}

// crashing keeps tokens, or not, and then the process is no more.
type crashing struct {
	tokenStore
	keeps bool
}

var errCrash = errors.New("crashed")

func (c crashing) Keep(ctx context.Context, tenantID, connectionID, since string, t oauth.Tokens) error {
	if c.keeps {
		if err := c.tokenStore.Keep(ctx, tenantID, connectionID, since, t); err != nil {
			return err
		}
	}
	return errCrash
}

func TestACrashBetweenTheStepsLeavesNothingThatClaimsToWork(t *testing.T) {
	for _, c := range []struct {
		rule       string
		reconnects bool
		keeps      bool
	}{
		{"a new connection without tokens", false, false},
		{"a new connection with tokens, its link not used up", false, true},
		{"a reconnect to another account without tokens", true, false},
		{"a reconnect to another account with tokens", true, true},
	} {
		t.Run(c.rule, func(t *testing.T) {
			onEveryStore(t, func(t *testing.T, url string) {
				h := buildConsent(t, url)
				if c.reconnects {
					h.connect(h.link())
				}
				token := h.link(func(n *NewLink) { n.OtherAccount = true })
				h.consented = crashing{h.tokens, c.keeps}
				h.meet.SignIn("other@acme.example")
				if _, err := h.FinishConsent(t.Context(), h.answered(token, "approve")); !errors.Is(err, errCrash) {
					t.Fatal(err)
				}
				all := h.connections()
				if len(all) != 1 || all[0].Email != "other@acme.example" {
					t.Fatalf("left: %+v", all)
				}
				if c.keeps {
					h.works("other@acme.example") // what says that it works, does
				} else if all[0].Status != StatusReconnectRequired {
					t.Errorf("without tokens it claims to work: %+v", all[0])
				}
				h.consented = h.tokens
				h.meet.SignIn("other@acme.example")
				h.connect(token)
				h.works("other@acme.example")
				if again := h.connections(); len(again) != 1 || again[0].ID != all[0].ID {
					t.Errorf("after the second try: %+v", again)
				}
			})
		})
	}
}

func TestAClaimOfAProcessThatDiedEndsByItself(t *testing.T) {
	h := buildConsent(t, storetest.SQLite(t))
	token := h.link()
	hash, _ := secret.HashToken(token, linkPrefix)
	must(t, h.store.ClaimConnectLink(t.Context(), hash[:], []byte("the dead"), h.clock.now(), h.clock.now().Add(claimLife)))
	done, err := h.FinishConsent(t.Context(), h.answered(token, "approve"))
	wantFault(t, err, fault.Conflict, ReasonLinkBusy)
	if done.Token != token || len(h.connections()) != 0 {
		t.Errorf("%+v, connections %+v", done, h.connections())
	}
	h.clock.advance(claimLife)
	h.connect(token)
}

// Two links may lead to one connection. What is told of it must be the account that its tokens reach.
func TestConsentsOfOneConnectionDoNotMix(t *testing.T) {
	onEveryStore(t, func(t *testing.T, url string) {
		h := buildConsent(t, url)
		h.connect(h.link())
		anyAccount := func(n *NewLink) { n.OtherAccount = true }
		token := h.link(anyAccount)
		answer := h.answered(token, "approve")
		h.meet.SignIn("other@acme.example")
		rival := h.answered(h.link(anyAccount), "approve")
		h.consented = followed{h.tokens, func() {
			h.consented = h.tokens
			_, err := h.FinishConsent(t.Context(), rival)
			wantFault(t, err, fault.Conflict, ReasonLinkBusy)
		}}
		if _, err := h.FinishConsent(t.Context(), answer); err != nil {
			t.Fatal(err)
		}
		h.works(h.connections()[0].Email)
	})
}

// followed is a token store after which something else happens.
type followed struct {
	tokenStore
	then func()
}

func (f followed) Keep(ctx context.Context, tenantID, connectionID, since string, t oauth.Tokens) error {
	err := f.tokenStore.Keep(ctx, tenantID, connectionID, since, t)
	f.then()
	return err
}

func TestTheCustomerLeavingDoesNotEndTheStoring(t *testing.T) {
	h := buildConsent(t, storetest.SQLite(t))
	answer := h.answered(h.link(), "approve")
	ctx, leave := context.WithCancel(t.Context())
	h.consented = leaving{h.tokens, leave}
	if _, err := h.FinishConsent(ctx, answer); err != nil {
		t.Fatal(err)
	}
	h.works("desk@acme.example")
}

type leaving struct {
	tokenStore
	leave func()
}

func (l leaving) Keep(ctx context.Context, tenantID, connectionID, since string, t oauth.Tokens) error {
	l.leave()
	return l.tokenStore.Keep(ctx, tenantID, connectionID, since, t)
}

func TestNoSecretOfAConsentIsInALogLineOrError(t *testing.T) {
	log := &lockedBuffer{}
	h := buildConsent(t, storetest.SQLite(t), func(o *Options) {
		o.Log = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	token := h.link()
	answer := h.answered(token, "approve")
	restore := h.meet.Fail(400, `{"error":"invalid_grant","error_description":"The code `+answer.Query.Get("code")+` of `+consenttest.ClientSecret+` is unknown"}`)
	_, err := h.FinishConsent(t.Context(), answer)
	restore()
	wantFault(t, err, fault.Disconnected, fault.ReasonReconnectRequired)
	text := err.Error()
	h.connect(token)
	h.works("desk@acme.example")
	for _, secret := range append(h.meet.Secrets(), token, answer.Query.Get("state"), answer.Browser) {
		if strings.Contains(text, secret) || bytes.Contains(log.Bytes(), []byte(secret)) {
			t.Errorf("%s is in %s\n%s", secret, text, log.Bytes())
		}
	}
}
