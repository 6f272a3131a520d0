package link_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"frontdesk/core/adapter"
	"frontdesk/core/apikey"
	"frontdesk/core/apply"
	"frontdesk/core/connection"
	"frontdesk/core/consent/consenttest"
	"frontdesk/core/fault"
	"frontdesk/core/link"
	"frontdesk/core/oauth"
	"frontdesk/core/oauth/oauthtest"
	"frontdesk/core/secret"
	"frontdesk/core/store/storetest"
	"frontdesk/core/tenant"
	"frontdesk/core/tenant/tenanttest"
	"frontdesk/core/vault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(storetest.M{M: m}) }

const callbacks = "https://gw.example/oauth/callback/"

// consentHouse is a kit with a provider for consents, and the tenant acme.
type consentHouse struct {
	*tenanttest.Kit
	meet *consenttest.Provider
	acme tenant.Tenant
}

func buildConsent(t *testing.T, url string, change ...func(*tenanttest.Options)) *consentHouse {
	t.Helper()
	h := &consentHouse{meet: consenttest.Start(t, "meet", func(o *oauthtest.Options) {
		o.Redirects = []string{callbacks + "meet"}
	})}
	all := append([]func(*tenanttest.Options){func(o *tenanttest.Options) {
		o.Adapters = []adapter.Adapter{
			h.meet.Adapter(), h.meet.CRM("desk"), (&tenanttest.Provider{}).Calendar(tenanttest.Dav()),
		}
		o.Operators = map[string]adapter.Operator{"meet": h.meet.Operator(), "desk": h.meet.Operator()}
	}}, change...)
	h.Kit = tenanttest.Open(t, url, all...)
	h.acme = h.Tenant("acme")
	return h
}

func (h *consentHouse) link(change ...func(*link.Spec)) string {
	h.T.Helper()
	n := link.Spec{
		Connection: connection.Spec{Name: "front-office", Kind: adapter.KindCalendar, Provider: "meet"},
	}
	for _, c := range change {
		c(&n)
	}
	token, _, err := h.Links.Create(h.T.Context(), "acme", n)
	if err != nil {
		h.T.Fatal(err)
	}
	return token
}

// answered begins a consent with the link, presses a button at the provider, and returns its answer.
func (h *consentHouse) answered(token, button string) link.Answer {
	h.T.Helper()
	begun, err := h.Links.BeginConsent(h.T.Context(), token, callbacks)
	if err != nil {
		h.T.Fatal(err)
	}
	ask, err := url.Parse(begun.URL)
	if err != nil {
		h.T.Fatal(err)
	}
	h.meet.Register(ask.Query().Get("redirect_uri"))
	back := h.meet.Decide(h.T, begun.URL, button)
	return link.Answer{
		Callback: strings.TrimPrefix(back.Path, "/oauth/callback/"), Query: back.Query(), Browser: begun.Browser,
	}
}

// connect begins, gives and finishes a consent.
func (h *consentHouse) connect(token string) link.Consented {
	h.T.Helper()
	done, err := h.Links.FinishConsent(h.T.Context(), h.answered(token, "approve"))
	if err != nil {
		h.T.Fatal(err)
	}
	return done
}

func (h *consentHouse) connections() []connection.Connection {
	h.T.Helper()
	all, err := h.Connections.List(h.T.Context(), "acme")
	if err != nil {
		h.T.Fatal(err)
	}
	return all
}

// works fails the test unless a call with an API key reaches the account.
func (h *consentHouse) works(email string) {
	h.T.Helper()
	key, _ := h.Key("acme", apikey.Spec{})
	open, err := h.Calendar(h.Caller(key))
	if err != nil {
		h.T.Fatal(err)
	}
	account, err := open.Driver.Account(h.T.Context())
	if err != nil || account.Email != email {
		h.T.Errorf("the connection reaches %q, %v; want %s", account.Email, err, email)
	}
}

func TestAConsentMakesAConnectionThatWorks(t *testing.T) {
	tenanttest.OnEveryStore(t, func(t *testing.T, url string) {
		h := buildConsent(t, url)
		token := h.link(func(n *link.Spec) { n.Connection.Settings = map[string]any{"calendar_id": "Front desk"} })
		shown, err := h.Links.Get(t.Context(), token)
		if want := (link.Link{
			Tenant: "acme", Provider: "meet", Title: "Meet Calendar", Connection: "front-office", SignIn: h.meet.URL,
			Callback:  "meet",
			Allows:    []string{"See and change events in your calendars", "See the list of your calendars"},
			ExpiresAt: h.Clock.Now().Add(24 * time.Hour),
		}); err != nil || !reflect.DeepEqual(shown, want) {
			t.Errorf("shown %+v, %v\nwant %+v", shown, err, want)
		}
		done := h.connect(token)
		if done.Email != "desk@acme.example" || done.Calendar != "Front desk" || done.Token != token {
			t.Errorf("done %+v", done)
		}
		all := h.connections()
		if len(all) != 1 || all[0].Status != connection.StatusOK || all[0].Email != "desk@acme.example" ||
			!all[0].IsDefault || all[0].Settings["calendar_id"] != "Front desk" {
			t.Errorf("connections %+v", all)
		}
		if given, err := h.Sealer.OpenConnection(h.Row(all[0])); err != nil || len(given) != 0 {
			t.Errorf("among the given credentials are tokens, or %v", err)
		}
		h.works("desk@acme.example")
		h.meet.ExpireAccess()
		h.works("desk@acme.example")
	})
}

func TestAConsentIsNoChangeForApply(t *testing.T) {
	h := buildConsent(t, storetest.ReusedSQLite(t))
	want := apply.Desired{Tenants: []apply.Tenant{{Name: "acme", Connections: []connection.Spec{{
		Name: "front-office", Kind: adapter.KindCalendar, Provider: "meet",
		Settings:    map[string]any{"client_id": "client-of-acme"},
		Credentials: map[string]string{"client_secret": "secret-of-acme"},
	}}}}}
	if _, err := h.Applier.Apply(t.Context(), want, apply.Options{}); err != nil {
		t.Fatal(err)
	}
	before := h.Row(h.connections()[0])
	h.connect(h.link())
	h.works("desk@acme.example")
	changes, err := h.Applier.Apply(t.Context(), want, apply.Options{})
	if err != nil || len(changes) != 0 {
		t.Errorf("%v %v", changes, err)
	}
	if after := h.Row(h.connections()[0]); after.ID != before.ID ||
		!bytes.Equal(after.Credentials, before.Credentials) || after.Status != "ok" {
		t.Errorf("before %+v\nafter %+v", before, after)
	}
	h.works("desk@acme.example")
}

func TestAReconnectKeepsTheConnection(t *testing.T) {
	tenanttest.OnEveryStore(t, func(t *testing.T, url string) {
		h := buildConsent(t, url)
		h.connect(h.link(func(n *link.Spec) {
			n.Connection.Settings = map[string]any{"calendar_id": "Front desk"}
		}))
		was := h.connections()[0]
		h.Clock.Advance(time.Hour)
		h.meet.Revoke()
		if v, err := h.Connections.Verify(t.Context(), "acme", "front-office"); err != nil || v.OK {
			t.Fatalf("revoked: %+v, %v", v, err)
		}
		again := h.link(func(n *link.Spec) { n.Connection.Settings = map[string]any{"client_id": ""} })
		if shown, err := h.Links.Get(t.Context(), again); err != nil || !shown.Reconnects ||
			shown.Email != "desk@acme.example" {
			t.Errorf("shown %+v, %v", shown, err)
		}
		done := h.connect(again)
		is := h.connections()[0]
		if is.ID != was.ID || !is.CreatedAt.Equal(was.CreatedAt) || is.Status != connection.StatusOK ||
			is.Settings["calendar_id"] != "Front desk" || len(h.connections()) != 1 {
			t.Errorf("was %+v\nis %+v", was, is)
		}
		if !reflect.DeepEqual(done.Connection, is) {
			t.Errorf("answered %+v\nstored %+v", done.Connection, is)
		}
		h.works("desk@acme.example")
	})
}

// The account may have been put in order at the provider since, such as that of a user who was suspended.
func TestVerifyAsksForTokensThatWereRefused(t *testing.T) {
	h := buildConsent(t, storetest.ReusedSQLite(t))
	h.connect(h.link())
	rows, err := h.Store.AllTokens(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	refused, err := h.Store.RefuseTokens(t.Context(), rows[0], rows[0].Version, h.connections()[0].Revision)
	if err != nil || !refused {
		t.Fatal(refused, err)
	}
	h.Clock.Advance(2 * time.Hour) // the access token has ended
	v, err := h.Connections.Verify(t.Context(), "acme", "front-office")
	if is := h.connections()[0].Status; err != nil || !v.OK || is != connection.StatusOK {
		t.Errorf("%+v, %v; the connection is %s", v, err, is)
	}
}

func TestAnotherAccountTakesAConnectionOverOnlyWhereTheLinkAllowsIt(t *testing.T) {
	h := buildConsent(t, storetest.ReusedSQLite(t))
	h.connect(h.link())
	before := h.Row(h.connections()[0])

	token := h.link()
	h.meet.SignIn("other@acme.example")
	done, err := h.Links.FinishConsent(t.Context(), h.answered(token, "approve"))
	tenanttest.WantFault(t, err, fault.Conflict, link.ReasonOtherAccount)
	if done.Email != "other@acme.example" || done.Link.Email != "desk@acme.example" || done.Token != token {
		t.Errorf("for the page %+v", done)
	}
	if after := h.Row(h.connections()[0]); !reflect.DeepEqual(after, before) {
		t.Errorf("before %+v\nafter %+v", before, after)
	}
	h.works("desk@acme.example")
	h.connect(token) // the link is still valid for the right account

	h.meet.SignIn("other@acme.example")
	h.connect(h.link(func(n *link.Spec) { n.OtherAccount = true }))
	if c := h.connections()[0]; c.Email != "other@acme.example" || c.ID != before.ID {
		t.Errorf("taken over: %+v", c)
	}
	h.works("other@acme.example")
}

// TestAnAccountWithoutAnAddressIsKnownByItsID connects a CRM whose user belongs to several organisations and
// chooses one when consenting, as at HubSpot and Salesforce.
func TestAnAccountWithoutAnAddressIsKnownByItsID(t *testing.T) {
	h := buildConsent(t, storetest.ReusedSQLite(t))
	desk := func(n *link.Spec) {
		n.Connection = connection.Spec{Name: "tickets", Kind: adapter.KindCRM, Provider: "desk"}
	}
	account := func() string {
		c := h.connections()[0]
		ref, err := h.Tokens.Account(t.Context(), c.TenantID, c.ID)
		if err != nil {
			t.Fatal(err)
		}
		return ref
	}
	refused := func(when string) {
		t.Helper()
		h.meet.SignIn("other@acme.example")
		before := h.Row(h.connections()[0])
		done, err := h.Links.FinishConsent(t.Context(), h.answered(h.link(desk), "approve"))
		tenanttest.WantFault(t, err, fault.Conflict, link.ReasonOtherAccount)
		if done.Name != "Company of other@acme.example" {
			t.Errorf("%s: for the page %+v", when, done)
		}
		if after := h.Row(h.connections()[0]); !reflect.DeepEqual(after, before) || account() != "desk@acme.example" {
			t.Errorf("%s: before %+v\nafter %+v of %q", when, before, after, account())
		}
		h.meet.SignIn("desk@acme.example")
	}
	h.connect(h.link(desk))
	refused("right after the consent")
	h.Clock.Advance(2 * time.Hour)
	c := h.connections()[0]
	if _, err := h.Tokens.Token(t.Context(), c.TenantID, c.ID); err != nil {
		t.Fatal(err)
	}
	refused("after a renewal")
	h.meet.Revoke()
	if v, err := h.Connections.Verify(t.Context(), "acme", "tickets"); err != nil || v.OK {
		t.Fatalf("revoked: %+v, %v", v, err)
	}
	refused("after the grant was revoked")
	h.connect(h.link(desk))
	h.meet.SignIn("other@acme.example")
	h.connect(h.link(desk, func(n *link.Spec) { n.OtherAccount = true }))
	if account() != "other@acme.example" {
		t.Errorf("the link allows another account, but it is %q", account())
	}
	// Whose account the credentials are for that somebody has entered instead, nobody knows.
	if _, err := h.Connections.Update(t.Context(), "acme", "tickets", connection.Change{
		Credentials: map[string]string{"refresh_token": "brought in"},
	}); err != nil {
		t.Fatal(err)
	}
	h.meet.SignIn("desk@acme.example")
	h.connect(h.link(desk))
}

func TestTheAccountExpectedIsHintedAtSignIn(t *testing.T) {
	h := buildConsent(t, storetest.ReusedSQLite(t))
	h.connect(h.link())
	for _, c := range []struct {
		other bool
		want  string
	}{{false, "desk@acme.example"}, {true, ""}} {
		begun, err := h.Links.BeginConsent(t.Context(),
			h.link(func(n *link.Spec) { n.OtherAccount = c.other }), callbacks)
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
	h := buildConsent(t, storetest.ReusedSQLite(t))
	h.Connection("acme", "old", adapter.KindCalendar, "dav")
	for _, c := range []struct {
		rule   string
		change func(*link.Spec)
		code   fault.Code
		reason string
		says   []string
	}{
		{"an unknown provider", func(n *link.Spec) { n.Connection.Provider = "outlook" }, fault.Invalid,
			fault.ReasonInvalidRequest, []string{"provider must be one of dav, meet"}},
		{"a provider with passwords", func(n *link.Spec) { n.Connection.Provider = "dav" }, fault.Unsupported,
			link.ReasonNoConsent, []string{"credentials", "connection add"}},
		{"a name that is another provider's", func(n *link.Spec) { n.Connection.Name = "old" }, fault.Conflict,
			tenant.ReasonNameTaken, []string{"old", "dav"}},
		{"a grant without a customer",
			func(n *link.Spec) { n.Connection.Settings = map[string]any{"robot": "true"} }, fault.Unsupported,
			link.ReasonNoConsent, []string{"front-office", "client_credentials"}},
		{"a setting nobody knows", func(n *link.Spec) { n.Connection.Settings = map[string]any{"colour": "red"} },
			fault.Invalid, fault.ReasonInvalidRequest, []string{"settings.colour"}},
		{"a client without its secret",
			func(n *link.Spec) { n.Connection.Settings = map[string]any{"client_id": "mine"} }, fault.Invalid,
			fault.ReasonInvalidRequest, []string{"credentials.client_secret"}},
		{"a name that is none", func(n *link.Spec) { n.Connection.Name = "Front Office" }, fault.Invalid,
			fault.ReasonInvalidRequest, []string{"name"}},
		{"a life too short", func(n *link.Spec) { n.Life = time.Second }, fault.Invalid, fault.ReasonInvalidRequest,
			[]string{"expires"}},
		{"a way back to a stranger", func(n *link.Spec) { n.ReturnURL = "https://evil.example/connections/" },
			fault.Invalid, fault.ReasonInvalidRequest, []string{"return_url", tenanttest.ReturnURL}},
		{"a life too long", func(n *link.Spec) { n.Life = 31 * 24 * time.Hour }, fault.Invalid,
			fault.ReasonInvalidRequest, []string{"expires"}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			n := link.Spec{
				Connection: connection.Spec{Name: "front-office", Kind: adapter.KindCalendar, Provider: "meet"},
			}
			c.change(&n)
			_, _, err := h.Links.Create(t.Context(), "acme", n)
			f := tenanttest.WantFault(t, err, c.code, c.reason)
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
	_, _, err := h.Links.Create(t.Context(), "nobody", link.Spec{})
	tenanttest.WantFault(t, err, fault.NotFound, tenant.ReasonNotFound)
}

func TestWithoutAnOAuthClientTheKeysAreNamed(t *testing.T) {
	for _, lacks := range []adapter.Operator{{}, {ClientID: "id"}} {
		h := buildConsent(t, storetest.ReusedSQLite(t), func(o *tenanttest.Options) {
			lacks.Addresses = o.Operators["meet"].Addresses
			o.Operators = map[string]adapter.Operator{"meet": lacks}
		})
		_, _, err := h.Links.Create(t.Context(), "acme", link.Spec{
			Connection: connection.Spec{Name: "cal", Kind: adapter.KindCalendar, Provider: "meet"},
		})
		f := tenanttest.WantFault(t, err, fault.Unsupported, fault.ReasonProviderMisconfigured)
		for _, key := range []string{
			"providers.meet.client_id", "providers.meet.client_secret", "setting client_id",
			"credential client_secret",
		} {
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
		reason string // "": the link is valid
	}{
		{"a new one", func(*consentHouse, string) {}, ""},
		{"one that was declined", func(h *consentHouse, token string) {
			_, err := h.Links.FinishConsent(h.T.Context(), h.answered(token, "deny"))
			tenanttest.WantFault(h.T, err, fault.Forbidden, link.ReasonConsentDeclined)
			h.wantNamed(err)
		}, ""},
		{"just before its end",
			func(h *consentHouse, _ string) { h.Clock.Advance(24*time.Hour - time.Second) }, ""},
		{"at its end", func(h *consentHouse, _ string) { h.Clock.Advance(24 * time.Hour) }, link.ReasonExpired},
		{"one that led to a connection", func(h *consentHouse, token string) { h.connect(token) }, link.ReasonUsed},
		{"of a tenant that was deleted",
			func(h *consentHouse, _ string) { tenanttest.Must(h.T, h.Tenants.Delete(h.T.Context(), "acme")) },
			link.ReasonUnknown},
		{"for a name that another provider's connection has by now", func(h *consentHouse, _ string) {
			h.Connection("acme", "front-office", adapter.KindCalendar, "dav")
		}, link.ReasonObsolete},
		{"for a name that a connection of that provider has by now", func(h *consentHouse, _ string) {
			h.connect(h.link())
		}, ""},
	} {
		t.Run(c.rule, func(t *testing.T) {
			h := buildConsent(t, storetest.ReusedSQLite(t))
			token := h.link()
			c.do(h, token)
			_, err := h.Links.Get(t.Context(), token)
			_, begin := h.Links.BeginConsent(t.Context(), token, callbacks)
			for _, err := range []error{err, begin} {
				if c.reason != "" {
					tenanttest.WantFault(t, err, fault.NotFound, c.reason)
					if c.reason != link.ReasonUnknown {
						h.wantNamed(err)
					}
				} else if err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// wantNamed wants the log, and only the log, to tell whose link an error is about: when a customer complains, the
// operator knows the customer.
func (h *consentHouse) wantNamed(err error) {
	h.T.Helper()
	f := fault.From(err)
	if id := h.acme.ID; !strings.Contains(f.Error(), id+", connection conn_") || strings.Contains(f.Detail, id) {
		h.T.Errorf("the log has %v", f)
	}
}

func TestALinkToAConnectionThatIsGoneIsOutOfDate(t *testing.T) {
	h := buildConsent(t, storetest.ReusedSQLite(t))
	h.connect(h.link())
	token := h.link()
	answer := h.answered(token, "approve")
	tenanttest.Must(t, h.Connections.Remove(t.Context(), "acme", "front-office"))
	_, err := h.Links.Get(t.Context(), token)
	tenanttest.WantFault(t, err, fault.NotFound, link.ReasonObsolete)
	_, err = h.Links.FinishConsent(t.Context(), answer)
	tenanttest.WantFault(t, err, fault.NotFound, link.ReasonObsolete)
	if all := h.connections(); len(all) != 0 {
		t.Errorf("made anew: %+v", all)
	}
}

func TestAMistypedLinkCostsNoQuery(t *testing.T) {
	h := buildConsent(t, storetest.ReusedSQLite(t))
	token := h.link()
	tenanttest.Must(t, h.Store.Close())
	key := secret.NewToken("fd_live_")
	for _, wrong := range []string{
		"", "fdc_", token[:len(token)-1], token + "0", token[:10] + "~" + token[11:], strings.ToUpper(token),
		"fd" + token[2:10] + "!" + token[11:], key,
	} {
		_, err := h.Links.Get(t.Context(), wrong)
		tenanttest.WantFault(t, err, fault.NotFound, link.ReasonUnknown)
	}
	_, err := h.Links.Get(t.Context(), token)
	tenanttest.WantFault(t, err, fault.Unavailable, fault.ReasonStoreUnavailable)
}

// crashing is a token store that crashes, after or instead of storing tokens.
type crashing struct {
	link.TokenStore
	keeps bool
}

var errCrash = errors.New("crashed")

func (c crashing) Keep(ctx context.Context, tenantID, connectionID, since string, t oauth.Tokens) error {
	if c.keeps {
		if err := c.TokenStore.Keep(ctx, tenantID, connectionID, since, t); err != nil {
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
			tenanttest.OnEveryStore(t, func(t *testing.T, url string) {
				h := buildConsent(t, url)
				if c.reconnects {
					h.connect(h.link())
				}
				token := h.link(func(n *link.Spec) { n.OtherAccount = true })
				h.Consented.TokenStore = crashing{h.Tokens, c.keeps}
				h.meet.SignIn("other@acme.example")
				if _, err := h.Links.FinishConsent(t.Context(), h.answered(token, "approve")); !errors.Is(err, errCrash) {
					t.Fatal(err)
				}
				all := h.connections()
				if len(all) != 1 || all[0].Email != "other@acme.example" {
					t.Fatalf("left: %+v", all)
				}
				if c.keeps {
					h.works("other@acme.example") // a connection that is reported as working works
				} else if all[0].Status != connection.StatusReconnectRequired {
					t.Errorf("without tokens it claims to work: %+v", all[0])
				}
				h.Consented.TokenStore = h.Tokens
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

func TestAReconnectLeavesAWorkingConnectionInUseUntilTheNewTokensAreThere(t *testing.T) {
	for _, c := range []struct {
		rule    string
		email   string
		setting string
		status  connection.Status
	}{
		{"to the same account", "desk@acme.example", "", connection.StatusOK},
		{"to the same account in other letters", "Desk@acme.example", "", connection.StatusOK},
		{"with another setting", "desk@acme.example", "Front desk", connection.StatusReconnectRequired},
		{"to another account", "other@acme.example", "", connection.StatusReconnectRequired},
	} {
		t.Run(c.rule, func(t *testing.T) {
			h := buildConsent(t, storetest.ReusedSQLite(t))
			h.connect(h.link())
			h.works("desk@acme.example")
			token := h.link(func(n *link.Spec) {
				n.OtherAccount = true
				if c.setting != "" {
					n.Connection.Settings = map[string]any{"calendar_id": c.setting}
				}
			})
			h.Consented.TokenStore = crashing{h.Tokens, false} // before the new tokens are stored
			h.meet.SignIn(c.email)
			_, err := h.Links.FinishConsent(t.Context(), h.answered(token, "approve"))
			if !errors.Is(err, errCrash) {
				t.Fatal(err)
			}
			if is := h.connections()[0]; is.Status != c.status || is.Email != c.email {
				t.Errorf("left: %+v", is)
			}
			if c.status == connection.StatusOK {
				h.works("desk@acme.example") // with the tokens of before
			}
			h.Consented.TokenStore = h.Tokens
			h.meet.SignIn(c.email)
			h.connect(token)
			h.works(c.email)
		})
	}
}

func TestAClaimOfAProcessThatDiedEndsByItself(t *testing.T) {
	h := buildConsent(t, storetest.ReusedSQLite(t))
	token := h.link()
	hash, _ := secret.HashToken(token, "fdc_")
	tenanttest.Must(t, h.Store.ClaimConnectLink(t.Context(), hash[:], []byte("the dead"), h.Clock.Now(),
		h.Clock.Now().Add(link.ClaimLife)))
	done, err := h.Links.FinishConsent(t.Context(), h.answered(token, "approve"))
	tenanttest.WantFault(t, err, fault.Conflict, link.ReasonBusy)
	if done.Token != token || len(h.connections()) != 0 {
		t.Errorf("%+v, connections %+v", done, h.connections())
	}
	h.Clock.Advance(link.ClaimLife)
	h.connect(token)
}

// Two links may lead to one connection. The account that is shown must be the one that its tokens reach.
func TestConsentsOfOneConnectionDoNotMix(t *testing.T) {
	tenanttest.OnEveryStore(t, func(t *testing.T, url string) {
		h := buildConsent(t, url)
		h.connect(h.link())
		anyAccount := func(n *link.Spec) { n.OtherAccount = true }
		token := h.link(anyAccount)
		answer := h.answered(token, "approve")
		h.meet.SignIn("other@acme.example")
		rival := h.answered(h.link(anyAccount), "approve")
		h.Consented.TokenStore = followed{h.Tokens, func() {
			h.Consented.TokenStore = h.Tokens
			_, err := h.Links.FinishConsent(t.Context(), rival)
			tenanttest.WantFault(t, err, fault.Conflict, link.ReasonBusy)
		}}
		if _, err := h.Links.FinishConsent(t.Context(), answer); err != nil {
			t.Fatal(err)
		}
		h.works(h.connections()[0].Email)
	})
}

// followed is a token store that calls then after storing tokens.
type followed struct {
	link.TokenStore
	then func()
}

func (f followed) Keep(ctx context.Context, tenantID, connectionID, since string, t oauth.Tokens) error {
	err := f.TokenStore.Keep(ctx, tenantID, connectionID, since, t)
	f.then()
	return err
}

func TestTheCustomerLeavingDoesNotEndTheStoring(t *testing.T) {
	h := buildConsent(t, storetest.ReusedSQLite(t))
	answer := h.answered(h.link(), "approve")
	ctx, leave := context.WithCancel(t.Context())
	h.Consented.TokenStore = leaving{h.Tokens, leave}
	if _, err := h.Links.FinishConsent(ctx, answer); err != nil {
		t.Fatal(err)
	}
	h.works("desk@acme.example")
}

type leaving struct {
	link.TokenStore
	leave func()
}

func (l leaving) Keep(ctx context.Context, tenantID, connectionID, since string, t oauth.Tokens) error {
	l.leave()
	return l.TokenStore.Keep(ctx, tenantID, connectionID, since, t)
}

func TestNoSecretOfAConsentIsInALogLineOrError(t *testing.T) {
	log := &tenanttest.Buffer{}
	h := buildConsent(t, storetest.ReusedSQLite(t), func(o *tenanttest.Options) {
		o.Log = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	token := h.link()
	answer := h.answered(token, "approve")
	restore := h.meet.Fail(400, `{"error":"invalid_grant","error_description":"The code `+
		answer.Query.Get("code")+` of `+consenttest.ClientSecret+` is unknown"}`)
	_, err := h.Links.FinishConsent(t.Context(), answer)
	restore()
	tenanttest.WantFault(t, err, fault.Disconnected, fault.ReasonReconnectRequired)
	text := err.Error()
	h.connect(token)
	h.works("desk@acme.example")
	for _, secret := range append(h.meet.Secrets(), token, answer.Query.Get("state"), answer.Browser) {
		if strings.Contains(text, secret) || bytes.Contains(log.Bytes(), []byte(secret)) {
			t.Errorf("%s is in %s\n%s", secret, text, log.Bytes())
		}
	}
}

func TestAConsentIsInTheAudit(t *testing.T) {
	tenanttest.OnEveryStore(t, func(t *testing.T, url string) {
		h := buildConsent(t, url, tenanttest.Audited)
		seen := map[string]bool{}
		h.NewAuditRows(seen)
		step := func(name string, do func() string, want ...string) {
			t.Helper()
			token := do()
			got, all := h.NewAuditRows(seen)
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("%s is recorded as\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			if strings.Contains(all, token) || strings.Contains(all, "desk@acme.example") ||
				strings.Contains(all, "Front desk") {
				t.Errorf("%s: the audit holds the link, the account or a setting: %s", name, all)
			}
			h.Clock.Advance(time.Millisecond)
		}
		var first, second string
		withCalendar := func(n *link.Spec) { n.Connection.Settings = map[string]any{"calendar_id": "Front desk"} }
		step("a link", func() string { first = h.link(withCalendar); return first },
			"gateway create-connect-link acme front-office [settings.calendar_id]")
		step("a customer who declines", func() string {
			if _, err := h.Links.FinishConsent(t.Context(), h.answered(first, "deny")); err == nil {
				t.Error("it is finished")
			}
			return first
		})
		step("a customer who agrees", func() string { h.connect(first); return first },
			"consent add-connection acme front-office [settings.calendar_id]",
			"consent connect-account acme front-office []")
		step("a link to reconnect", func() string { second = h.link(); return second },
			"gateway create-connect-link acme front-office []")
		step("a customer who reconnects", func() string { h.connect(second); return second },
			"consent update-connection acme front-office []", "consent connect-account acme front-office []")
	})
}

func TestKeySetThatCannotBeReadIsNoBadLink(t *testing.T) {
	h := buildConsent(t, storetest.ReusedSQLite(t))
	token := h.link()
	again := h.LoseKeySet()
	_, err := h.Links.Get(t.Context(), token)
	tenanttest.WantFault(t, err, fault.Unavailable, vault.ReasonUnreadable)
	if said := h.Logged.String(); !strings.Contains(said, "chmod 600") ||
		strings.Contains(said, "changed or inserted") {
		t.Errorf("the log does not tell the cause: %s", said)
	}
	again()
	_, err = h.Links.Get(t.Context(), token)
	tenanttest.Must(t, err)
}
