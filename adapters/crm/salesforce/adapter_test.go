package salesforce

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"slices"
	"strings"
	"testing"

	"frontdesk/core/adapter"
	"frontdesk/core/fault"
	"frontdesk/core/fault/faulttest"
)

const myDomain = "https://acme.my.salesforce.com"

func values(pairs ...string) adapter.Values {
	v := adapter.Values{Settings: map[string]any{}, Credentials: map[string]string{}}
	for _, pair := range pairs {
		name, value, _ := strings.Cut(pair, "=")
		if secret, is := strings.CutPrefix(name, "credential "); is {
			v.Credentials[secret] = value
		} else {
			v.Settings[name] = value
		}
	}
	return v
}

// pemOf returns a key in PEM.
func pemOf(t *testing.T, kind string, der []byte, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

func TestGrants(t *testing.T) {
	pair, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	signing := pemOf(t, "RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(pair), nil)
	consent := []string{"api", "refresh_token"}
	jwt := []string{
		"flow=jwt_bearer", "client_id=3MVG9", "username=bot@acme.example", "credential private_key=withheld",
	}
	for _, c := range []struct {
		rule     string
		given    []string
		login    string
		flow     adapter.Flow
		token    string
		client   string
		scopes   []string
		audience string
		tenant   bool
	}{
		{rule: "a person agrees at the login address", flow: adapter.Consent, token: production, scopes: consent},
		{rule: "a login address of the operator's", login: "https://test.salesforce.com/", flow: adapter.Consent,
			token: sandboxes, scopes: consent},
		{rule: "a My Domain address takes its place", given: []string{"base_url=" + myDomain + "/"},
			flow: adapter.Consent, token: myDomain, scopes: consent, tenant: true},
		{rule: "an app of one's own", given: []string{"client_id=3MVG9", "credential client_secret=withheld"},
			flow: adapter.Consent, token: production, client: "3MVG9", scopes: consent},
		{rule: "a key", given: jwt, flow: adapter.JWTBearer, token: production, audience: production},
		{rule: "a key at a My Domain address", given: append(slices.Clone(jwt), "base_url="+myDomain),
			flow: adapter.JWTBearer, token: myDomain, audience: production, tenant: true},
		{
			rule:  "a key at a sandbox's My Domain address",
			given: append(slices.Clone(jwt), "base_url=https://acme--test.sandbox.my.salesforce.com"),
			flow:  adapter.JWTBearer, token: "https://acme--test.sandbox.my.salesforce.com", audience: sandboxes,
			tenant: true,
		},
		{
			rule: "an app of one's own, anywhere",
			given: []string{
				"base_url=https://salesforce.example", "client_id=3MVG9", "credential client_secret=withheld",
			},
			flow: adapter.Consent, token: "https://salesforce.example", client: "3MVG9", scopes: consent,
			tenant: true,
		},
		{
			rule: "an app for itself",
			given: []string{
				"flow=client_credentials", "base_url=" + myDomain, "client_id=3MVG9", "credential client_secret=withheld",
			},
			flow: adapter.ClientCredentials, token: myDomain, client: "3MVG9", tenant: true,
		},
		{rule: "the gateway's app for itself, at an emulator", given: []string{"flow=client_credentials"},
			login: "http://127.0.0.1:9104", flow: adapter.ClientCredentials, token: "http://127.0.0.1:9104"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			a, err := Adapter().With(values(c.given...))
			if err != nil {
				t.Fatal(err)
			}
			if set := a.Auth.BaseURL == "base_url"; a.Auth.Scheme != adapter.OAuth2 || set != c.tenant {
				t.Errorf("authorised by %+v", a.Auth)
			}
			g, err := a.Auth.OAuth.Grant(values(c.given...), adapter.Addresses{"login_url": c.login})
			if err != nil {
				t.Fatal(err)
			}
			if g.Flow != c.flow || g.TokenURL != c.token+"/services/oauth2/token" || g.ClientID != c.client ||
				!slices.Equal(g.ScopeNames(), c.scopes) || g.TenantAddress != c.tenant {
				t.Errorf("the grant is %+v", g)
			}
			if consents := g.AuthURL == c.token+"/services/oauth2/authorize"; consents != (c.flow == adapter.Consent) {
				t.Errorf("consent is asked at %q", g.AuthURL)
			}
			if (g.Instance == nil) != c.tenant {
				t.Errorf("an address from the token answer: %t", g.Instance != nil)
			}
			if c.audience == "" {
				return
			}
			key, err := g.Assertion.Key(signing)
			if err != nil || key.Issuer != "3MVG9" || string(key.PEM) != signing ||
				g.Assertion.Audience != c.audience || g.Assertion.Subject != "bot@acme.example" {
				t.Errorf("the assertion is %+v of %+v, %v", g.Assertion, key, err)
			}
		})
	}
}

func TestSettingsThatDoNotFit(t *testing.T) {
	for _, c := range []struct {
		rule  string
		given []string
		want  []string
	}{
		{"a version is Salesforce's", []string{"api_version=62"}, []string{"settings.api_version"}},
		{"a version is not too old", []string{"api_version=v45.0"}, []string{"settings.api_version"}},
		{"a number's format is a regular expression", []string{"number_format=("},
			[]string{"settings.number_format"}},
		{"a number's format stands by itself", []string{"number_format=a)|(b"}, []string{"settings.number_format"}},
		{"a number's format is not large", []string{"number_format=(?:" + strings.Repeat("a", 990) + "){1000}"},
			[]string{"settings.number_format"}},
		{"a number's width is none below 0", []string{"number_width=-1"}, []string{"settings.number_width"}},
		{"a number's width has an end", []string{"number_width=31"}, []string{"settings.number_width"}},
		{"a field for keys is a custom one", []string{"external_id_field=Subject"},
			[]string{"settings.external_id_field"}},
		{"a field for keys is no path", []string{"external_id_field=a/../b__c"},
			[]string{"settings.external_id_field"}},
		{"an address is without a path", []string{"base_url=" + myDomain + "/services/data"},
			[]string{"settings.base_url"}},
		{"an address is not where everybody signs in", []string{"base_url=https://test.salesforce.com/"},
			[]string{"settings.base_url"}},
		{"comments are where they can be", []string{"comments=chatter"}, []string{"settings.comments"}},
		{"a key needs its app and user", []string{"flow=jwt_bearer"},
			[]string{"settings.client_id", "settings.username", "credentials.private_key"}},
		{"a user name is for a key", []string{"username=bot@acme.example"}, []string{"settings.flow"}},
		{"a refresh token is for consent",
			[]string{"flow=client_credentials", "base_url=" + myDomain, "credential refresh_token=x"},
			[]string{"credentials.refresh_token"}},
		{"the gateway's app tells its secret to Salesforce alone", []string{"base_url=https://salesforce.example"},
			[]string{"settings.base_url"}},
		{"the gateway's app does so over https", []string{"base_url=http://acme.my.salesforce.com"},
			[]string{"settings.base_url"}},
		{"an app for itself needs a My Domain address", []string{"flow=client_credentials"},
			[]string{"settings.base_url"}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			a, err := Adapter().With(values(c.given...))
			if err == nil {
				_, err = a.Auth.OAuth.Grant(values(c.given...), adapter.Addresses{})
			}
			f := fault.From(err)
			if f == nil || f.Code != fault.Invalid {
				t.Fatalf("got %v, want invalid", err)
			}
			got := faulttest.Paths(f)
			if !slices.Equal(got, c.want) {
				t.Errorf("named %q, want %q", got, c.want)
			}
		})
	}
}

func TestKeysThatSign(t *testing.T) {
	pair, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	eight, err8 := x509.MarshalPKCS8PrivateKey(pair)
	elliptic8, errE := x509.MarshalPKCS8PrivateKey(curve)
	public, errP := x509.MarshalPKIXPublicKey(&pair.PublicKey)
	for _, c := range []struct {
		rule, text string
		want       bool
	}{
		{"PKCS #1", pemOf(t, "RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(pair), nil), true},
		{"PKCS #8", pemOf(t, "PRIVATE KEY", eight, err8), true},
		{"another kind of key", pemOf(t, "PRIVATE KEY", elliptic8, errE), false},
		{"the public half", pemOf(t, "PUBLIC KEY", public, errP), false},
		{"no PEM", "withheld", false},
		{"nothing", "", false},
	} {
		g, err := grant(settings{
			Flow: "jwt_bearer", ClientID: "3MVG9", Username: "bot@acme.example", PrivateKey: "withheld",
			APIVersion: "v62.0", NumberFormat: ".",
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := g.Assertion.Key(c.text); (err == nil) != c.want {
			t.Errorf("%s: %v", c.rule, err)
		}
	}
}

func TestAccessTokensGoToSalesforceAlone(t *testing.T) {
	for address, want := range map[string]bool{
		"https://acme.my.salesforce.com":                 true,
		"https://ACME.my.Salesforce.com":                 true,
		"https://acme--test.sandbox.my.salesforce.com":   true,
		"https://na1.salesforce.com/":                    true,
		"https://acme.my.salesforce.mil":                 true,
		"https://acme.my.sfcrmproducts.cn":               true,
		"http://127.0.0.1:9104":                          true, // the login address itself
		"http://127.0.0.1:9105":                          false,
		"https://127.0.0.1:9104":                         false,
		"http://acme.my.salesforce.com":                  false,
		"https://acme.my.salesforce.com:8443":            false,
		"https://salesforce.com.evil.example":            false,
		"https://evilsalesforce.com":                     false,
		"https://evil.example/?.salesforce.com":          false,
		"https://evil.example#.salesforce.com":           false,
		"https://acme.my.salesforce.com@evil.example":    false,
		"https://user@acme.my.salesforce.com":            false,
		"https://evil.example\\.my.salesforce.com":       false,
		"//acme.my.salesforce.com":                       false,
		"":                                               false,
		"https://":                                       false,
		"javascript:alert(1)//acme.my.salesforce.com":    false,
		"https://[::1]:443":                              false,
		"https://acme.my.salesforce.com.":                false,
		"https://acme.my.salesforce.com%2eevil.example/": false,
	} {
		if err := ownAddress(address, "http://127.0.0.1:9104"); (err == nil) != want {
			t.Errorf("%q: %v", address, err)
		}
	}
}

func TestTheDeclarationHasHelp(t *testing.T) {
	a := Adapter()
	if a.Kind != adapter.KindCRM || a.Name != "salesforce" || len(a.Fields) != 13 {
		t.Errorf("declared %s %s with %d fields", a.Kind, a.Name, len(a.Fields))
	}
}

func TestQuotedTextIsOneLiteral(t *testing.T) {
	for text, want := range map[string]string{
		`00001001`: `'00001001'`, `'`: `'\''`, `\`: `'\\'`, `\'`: `'\\\''`,
		`' OR Id != '`: `'\' OR Id != \''`, "": `''`,
	} {
		if got := quote(text); got != want {
			t.Errorf("%q is quoted as %s, want %s", text, got, want)
		}
	}
}

func TestAReferenceIsLeftInAQuery(t *testing.T) {
	if got := escapedQuery("SELECT Id FROM Case WHERE Id = '" +
		reference + "'"); got != "SELECT+Id+FROM+Case+WHERE+Id+%3D+%27@{made.id}%27" {
		t.Error(got)
	}
}

func TestTimes(t *testing.T) {
	for text, want := range map[string]string{
		`"2026-05-01T07:25:37.000+0000"`: "2026-05-01T07:25:37Z",
		`"2026-05-01T07:25:37.250+0200"`: "2026-05-01T05:25:37.25Z",
		`"2026-05-01T07:25:37Z"`:         "2026-05-01T07:25:37Z", `null`: "", `""`: "",
		`"yesterday"`: "error", `7`: "error",
	} {
		var s stamp
		err := json.Unmarshal([]byte(text), &s)
		got := ""
		switch {
		case err != nil:
			got = "error"
		case !s.IsZero():
			got = s.Format("2006-01-02T15:04:05.999Z07:00")
		}
		if got != want {
			t.Errorf("%s is read as %q, want %q", text, got, want)
		}
	}
}
