package settingspage_test

import (
	"bufio"
	"bytes"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"frontdesk/config"
	"frontdesk/core/page/browsertest"
)

// startCertified starts an OpenID provider of others (testdata/openid.mjs), and returns its issuer.
func startCertified(t *testing.T, redirectURI string) (issuer string) {
	t.Helper()
	node := exec.Command("node", "testdata/openid.mjs", browsertest.Package(t, "oidc-provider"), clientID,
		clientSecret,
		redirectURI)
	var said bytes.Buffer
	node.Stderr = &said
	stdin, err := node.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := node.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := node.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close() // which ends it
		_ = node.Wait()
		if t.Failed() {
			t.Logf("the provider said: %s", &said)
		}
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("the provider does not start: %v", err)
	}
	return strings.TrimSpace(line)
}

// People sign in at a certified OpenID provider, through its own forms, and get the role that a list or a
// claim gives them. Wrong settings are named, with what was received.
func TestSignInAtACertifiedProvider(t *testing.T) {
	t.Parallel()
	browsertest.Package(t, "oidc-provider")
	var right, given config.OIDC
	host := "127.0.0.1" // of the public URL
	w := start(t, sqlite(t), func(c *config.Config) {
		if right.Issuer == "" {
			right = config.OIDC{
				Issuer:   startCertified(t, c.Server.PublicURL+"/settings/oidc/callback"),
				ClientID: clientID, ClientSecret: clientSecret,
				Roles: []string{"pat@example.com=admin", "groups:support=viewer@acme", "mallory@example.com=admin"},
			}
			given = right
		}
		c.Server.PublicURL = strings.Replace(c.Server.PublicURL, "127.0.0.1", host, 1)
		c.SettingsPage.OIDC = given
	})
	w.tenant("acme")
	p := person{w, browsertest.Start(t)}
	provider := strings.TrimPrefix(right.Issuer, "http://")
	begin := func() {
		t.Helper()
		p.b.Call("Network.clearBrowserCookies", nil, nil) // of the gateway and of the provider
		p.b.Open(w.url + "/settings/sign-in")
		p.press("Sign in at " + provider)
	}
	signIn := func(name string) {
		t.Helper()
		begin()
		for field, value := range map[string]string{"login": name, "password": "any"} {
			p.b.Eval(fmt.Sprintf(`document.querySelector('[name=%s]').focus()`, field), nil)
			p.b.Type(value)
		}
		p.submit()
		p.submit() // that the client may know who it is
	}

	signIn("vera")
	p.wants("Overview")
	if got := p.text(".who"); got != "vera@example.com, viewer of the tenant acme" {
		t.Errorf("signed in as %q", got)
	}
	signIn("pat")
	p.wants("Overview")
	if got := p.text(".who"); got != "pat@example.com, admin of the whole gateway" {
		t.Errorf("signed in as %q", got)
	}
	p.b.Loading(func() { p.b.Eval(`document.querySelector('header button').click()`, nil) })
	p.wants("Sign in")
	p.b.Open(w.url + "/settings")
	p.wants("Sign in")
	p.press("Sign in at " + provider) // where the session goes on
	p.wants("Overview")

	// reopen opens the gateway anew, which forgets the attempts to sign in as well.
	reopen := func(change func(*config.OIDC)) {
		given = right
		change(&given)
		w.g.Close()
		w.open()
	}
	for name, tells := range map[string]string{
		"mallory": `"mallory@example.com" (sub "mallory"), and the address is not verified`,
		"lee":     `"lee@example.com" (sub "lee"), and the address is verified`,
	} {
		reopen(func(*config.OIDC) {})
		signIn(name)
		p.wants("This is not allowed")
		if got := p.text("main"); !strings.Contains(got, tells) || !strings.Contains(got,
			"settings_page.oidc.roles") {
			t.Errorf("%s: %s", name, got)
		}
	}

	begin()
	p.b.Loading(func() { p.b.Eval(`document.querySelector('a[href$="/abort"]').click()`, nil) })
	if got := p.text("main"); !strings.Contains(got, `answered "access_denied"`) {
		t.Errorf("declined: %s", got)
	}

	reopen(func(c *config.OIDC) { c.ClientSecret = "another" })
	signIn("pat")
	if got := p.text("main"); !strings.Contains(got, "settings_page.oidc.client_secret") ||
		!strings.Contains(got, `its token endpoint answered "invalid_client"`) {
		t.Errorf("another secret: %s", got)
	}
	reopen(func(c *config.OIDC) { c.Issuer += "/another" })
	begin()
	if got := p.text("main"); !strings.Contains(got, "settings_page.oidc.issuer") ||
		!strings.Contains(got, "404 Not Found") {
		t.Errorf("an issuer that is nowhere: %s", got)
	}
	reopen(func(c *config.OIDC) { c.Issuer = strings.Replace(c.Issuer, "127.0.0.1", "localhost", 1) })
	p.b.Open(w.url + "/settings/sign-in")
	p.press("Sign in at " + strings.Replace(provider, "127.0.0.1", "localhost", 1))
	if got := p.text("main"); !strings.Contains(got, "settings_page.oidc.issuer") ||
		!strings.Contains(got, right.Issuer) {
		t.Errorf("another issuer: %s", got)
	}

	// Of a client or a redirect URI that it does not know, the provider tells the person itself.
	reopen(func(c *config.OIDC) { c.ClientID = "another" })
	begin()
	if got := p.text("body"); !strings.Contains(got, "invalid_client") {
		t.Errorf("another client: %s", got)
	}
	host = "localhost"
	reopen(func(*config.OIDC) {})
	begin()
	if got := p.text("body"); !strings.Contains(got, "invalid_redirect_uri") {
		t.Errorf("another public URL: %s", got)
	}
}

// submit presses the button of the provider's page, and waits for the next page.
func (p person) submit() {
	p.t.Helper()
	p.b.Loading(func() { p.b.Eval(`document.querySelector('button').click()`, nil) })
}
