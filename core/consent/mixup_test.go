package consent

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"frontdesk/core/adapter"
	"frontdesk/core/connection"
	"frontdesk/core/consent/consenttest"
	"frontdesk/core/link"
)

// mixup is a world in which a customer of the tenant acme gives consent at meet, and an attacker wants the
// answer to be taken for that of another authorization server (RFC 9700 section 4.4).
type mixup struct {
	*world
	own      *consenttest.Provider // acme's own authorization server
	evil     *httptest.Server      // the attacker's authorization server
	gone     atomic.Int32          // number of requests that reached evil
	attacker string                // a link to a connection at evil
}

func startMixup(t *testing.T) *mixup {
	m := &mixup{world: start(t)}
	m.own = consenttest.Start(t, "own")
	m.evil = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		m.gone.Add(1)
		http.Error(w, "thank you", http.StatusBadRequest)
	}))
	t.Cleanup(m.evil.Close)
	m.attacker = m.linkTo("evil", map[string]any{"server": m.evil.URL, "client_id": "client-of-evil"},
		"canary-evil")
	return m
}

// linkTo returns a link to a connection of acme that has its own OAuth client, and perhaps its own
// authorization server.
func (m *mixup) linkTo(name string, settings map[string]any, secret string) string {
	m.t.Helper()
	c := connection.Spec{
		Name: name, Kind: adapter.KindCalendar, Provider: "meet", Settings: settings,
		Credentials: map[string]string{"client_secret": secret},
	}
	if _, err := m.kit.Connections.Add(m.t.Context(), "acme", c); err != nil {
		m.t.Fatal(err)
	}
	return m.link(func(n *link.Spec) { n.Connection.Name = name })
}

func (m *mixup) ownLink() string {
	return m.linkTo("own", map[string]any{"server": m.own.URL, "client_id": "client-of-acme"}, "secret-of-acme")
}

// asked returns the query of the authorization request that a link's button leads to.
func (m *mixup) asked(token string) url.Values {
	m.t.Helper()
	to, err := url.Parse(m.begin(token))
	if err != nil {
		m.t.Fatal(err)
	}
	return to.Query()
}

// sentOn makes the customer give consent at meet, to the gateway's client, with a state that was created for
// another server.
func (m *mixup) sentOn(asked url.Values) *url.URL {
	m.t.Helper()
	asked.Set("client_id", consenttest.ClientID)
	asked.Set("redirect_uri", m.url+"/oauth/callback/meet")
	return m.meet.Decide(m.t, m.meet.URL+"/auth?"+asked.Encode(), "approve")
}

// TestMixUp sends answers to callbacks other than that of the link's authorization server. Each is refused,
// nothing is stored, the state is used up, and no code is sent to another server.
func TestMixUp(t *testing.T) {
	replaced := func(u *url.URL, path string) string {
		c := *u
		c.Path, c.RawPath = path, ""
		return c.String()
	}
	for _, c := range []struct {
		rule string
		send func(m *mixup) (sent, right string)
	}{
		{"a server of a tenant's own sends the customer on to a shared one", func(m *mixup) (string, string) {
			asked := m.asked(m.attacker)
			right := asked.Get("redirect_uri")
			back := m.sentOn(asked)
			return back.String(), right + "?" + back.RawQuery
		}},
		{"the same without iss", func(m *mixup) (string, string) {
			asked := m.asked(m.attacker)
			right := asked.Get("redirect_uri")
			back := m.sentOn(asked)
			q := back.Query()
			q.Del("iss")
			return m.url + "/oauth/callback/meet?" + q.Encode(), right + "?" + q.Encode()
		}},
		{"the answer of a server of one's own at the shared address", func(m *mixup) (string, string) {
			back := m.own.Decide(m.t, m.begin(m.ownLink()), "approve")
			return replaced(back, "/oauth/callback/meet"), back.String()
		}},
		{"the answer of a server of one's own at that of another one", func(m *mixup) (string, string) {
			other, err := url.Parse(m.asked(m.attacker).Get("redirect_uri"))
			if err != nil {
				m.t.Fatal(err)
			}
			back := m.own.Decide(m.t, m.begin(m.ownLink()), "approve")
			return replaced(back, other.Path), back.String()
		}},
		{"the answer of a shared server at that of a tenant's own", func(m *mixup) (string, string) {
			other, err := url.Parse(m.asked(m.attacker).Get("redirect_uri"))
			if err != nil {
				m.t.Fatal(err)
			}
			back := m.back(m.link(), "approve")
			return replaced(back, other.Path), back.String()
		}},
		{"the answer of a shared server, something attached", func(m *mixup) (string, string) {
			back := m.back(m.link(), "approve")
			return replaced(back, "/oauth/callback/meet/x"), back.String()
		}},
		{"an address in capitals", func(m *mixup) (string, string) {
			back := m.own.Decide(m.t, m.begin(m.ownLink()), "approve")
			at := strings.LastIndexByte(back.Path, '/')
			return replaced(back, back.Path[:at]+strings.ToUpper(back.Path[at:])), back.String()
		}},
		{"an address cut off", func(m *mixup) (string, string) {
			back := m.own.Decide(m.t, m.begin(m.ownLink()), "approve")
			return replaced(back, back.Path[:len(back.Path)-1]), back.String()
		}},
		{"an address of another provider with the right end", func(m *mixup) (string, string) {
			back := m.own.Decide(m.t, m.begin(m.ownLink()), "approve")
			return replaced(back, strings.Replace(back.Path, "/meet/", "/dial/", 1)), back.String()
		}},
		{"the client has become one of the tenant's own meanwhile", func(m *mixup) (string, string) {
			m.connect(m.link())
			back := m.back(m.link(), "approve")
			m.change("front-office", map[string]any{"client_id": "client-of-acme", "server": m.evil.URL})
			return back.String(), back.String()
		}},
		{"the server has become another one meanwhile", func(m *mixup) (string, string) {
			back := m.own.Decide(m.t, m.begin(m.ownLink()), "approve")
			m.change("own", map[string]any{"client_id": "client-of-acme", "server": m.evil.URL})
			return back.String(), back.String()
		}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			m := startMixup(t)
			sent, right := c.send(m)
			before := m.stored()
			for _, address := range []string{sent, right} {
				got := m.send(http.MethodGet, address)
				if got.status != http.StatusBadRequest ||
					!strings.Contains(got.body, "This sign-in cannot be completed") {
					t.Errorf("%s answered %d\n%s", address, got.status, got.text())
				}
				wantPage(t, got)
			}
			if m.stored() != before {
				t.Errorf("stored\n%s\nbefore\n%s", m.stored(), before)
			}
			if n := m.gone.Load(); n != 0 {
				t.Errorf("the attacker's server was asked %d times", n)
			}
		})
	}
}

func (m *mixup) change(name string, settings map[string]any) {
	m.t.Helper()
	change := connection.Change{
		Settings: settings, Credentials: map[string]string{"client_secret": "secret-of-acme"},
	}
	if _, err := m.kit.Connections.Update(m.t.Context(), "acme", name, change); err != nil {
		m.t.Fatal(err)
	}
}

// A tenant's own client or server has its own callback, which stays the same. The gateway's client has the
// registered one.
func TestWhatIsATenantsOwnHasACallbackOfItsOwn(t *testing.T) {
	m := startMixup(t)
	shared := m.asked(m.link()).Get("redirect_uri")
	if shared != m.url+"/oauth/callback/meet" {
		t.Errorf("the gateway's client is sent back to %s", shared)
	}
	token := m.ownLink()
	own := m.asked(token).Get("redirect_uri")
	if !strings.HasPrefix(own, shared+"/") || own != m.asked(token).Get("redirect_uri") {
		t.Errorf("a server of the tenant's own sends back to %s, then to %s", own,
			m.asked(token).Get("redirect_uri"))
	}
	client := m.asked(m.linkTo("client", map[string]any{"client_id": "client-of-acme"}, "secret-of-acme")).
		Get("redirect_uri")
	evil := m.asked(m.attacker).Get("redirect_uri")
	for _, other := range []string{shared, own, evil} {
		if other == client || other != own && own == evil {
			t.Errorf("two share an address: %s %s %s %s", shared, own, evil, client)
		}
	}
	if l, err := m.kit.Links.Get(t.Context(), token); err != nil || m.url+"/oauth/callback/"+l.Callback != own {
		t.Errorf("the operator is told %q, %v; want the end of %s", l.Callback, err, own)
	}
	addresses, err := m.kit.Links.Callbacks(t.Context(), "acme")
	if err != nil || m.url+"/oauth/callback/"+addresses["own"] != own ||
		m.url+"/oauth/callback/"+addresses["client"] != client {
		t.Errorf("the operator is told %v, %v", addresses, err)
	}
	m.meet.Register(client)
	if got := m.send(http.MethodGet,
		m.meet.Decide(t, m.begin(m.link(func(n *link.Spec) { n.Connection.Name = "client" })), "approve").
			String()); got.status != http.StatusOK {
		t.Errorf("with a client of one's own: %d %s", got.status, got.text())
	}
}
