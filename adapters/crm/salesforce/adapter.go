// Package salesforce opens and reads cases of Salesforce Service Cloud through its REST API.
package salesforce

import (
	"cmp"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"frontdesk/core/adapter"
	"frontdesk/core/fault"
)

// name is the adapter's name in the configuration.
const name = "salesforce"

type settings struct {
	Flow            string `setting:"flow" choices:"consent,jwt_bearer,client_credentials" default:"consent" help:"How to authorise: consent of a person (connect-link), jwt_bearer with client_id, username and private_key, or client_credentials with client_id, client_secret and base_url."`
	BaseURL         string `setting:"base_url" kind:"url" help:"Your My Domain address, such as https://acme.my.salesforce.com or https://acme--test.sandbox.my.salesforce.com; it serves sign-in and the API. Without it, people sign in at login.salesforce.com, and Salesforce tells the address of the API."`
	Username        string `setting:"username" help:"With jwt_bearer: the Salesforce user to act as."`
	ClientID        string `setting:"client_id" help:"The consumer key of your own app at Salesforce. The default is the gateway's."`
	APIVersion      string `setting:"api_version" default:"v62.0" help:"Version of the REST API, v46.0 or later."`
	NumberFormat    string `setting:"number_format" default:"[0-9]{1,30}" help:"Regular expression for a whole case number, if the organisation has changed its display format."`
	NumberWidth     int    `setting:"number_width" default:"8" help:"How many digits case numbers are padded to with zeros; 0 if they are not padded."`
	ExternalIDField string `setting:"external_id_field" help:"API name of a text field of cases, such as Frontdesk_Key__c, with 64 characters or more and marked External ID and Unique. With it, no repeated call opens a second case."`
	Comments        string `setting:"comments" choices:"case_comments,emails,feed" default:"case_comments" help:"Where to look for the last public comment: published case comments, emails of the case, or posts in the case's feed that everybody with access to the case can see."`

	Fields adapter.TicketFields `setting:"fields" help:"Values for every new case, by the API name of a field, such as Region__c. Text may contain the call's {subject}, {description}, {status}, {priority}, {owner_id}, {account_id} and {contact_id}. Values of the call itself take precedence. The default for Origin is Phone, if that is an active value."`

	RefreshToken string `credential:"refresh_token" help:"A refresh token that you already have, of the same app. With connect-link, a person's consent gives one instead."`
	ClientSecret string `credential:"client_secret" help:"The consumer secret of client_id."`
	PrivateKey   string `credential:"private_key" help:"With jwt_bearer: the private key, in PEM, for the certificate that the app holds."`
}

// Adapter returns the adapter's declaration.
func Adapter() adapter.Adapter {
	return adapter.CRM(adapter.Declaration{
		Name:  name,
		Title: "Salesforce",
		Help: "Cases of Salesforce Service Cloud. A person connects by consent (connect-link), a company by " +
			"a certificate (jwt_bearer) or by its own app (client_credentials).",
		AuthOf: adapter.AuthBy(auth),
		Operator: &adapter.OperatorKeys{
			Help: "Salesforce. The OAuth client is an external client app with the callback URL " +
				"PUBLIC_URL/oauth/callback/salesforce.",
			ClientIDHelp:     "Consumer key of the external client app. Without it, tenants use their own app.",
			ClientSecretHelp: "Consumer secret of the app; env:VAR or file:PATH reads it from there.",
			Addresses: []adapter.Address{
				{
					Name: "login_url", Default: "https://login.salesforce.com",
					Help: "Server for consent and tokens; https://test.salesforce.com for sandboxes.",
				},
			},
		},
	}, open)
}

// auth returns the authentication. Requests go to base_url, or else to the address that came with the tokens.
func auth(s settings) (adapter.Auth, error) {
	a := adapter.Auth{Scheme: adapter.OAuth2, OAuth: &adapter.OAuth{Grant: adapter.GrantOf(grant)}}
	if s.BaseURL != "" {
		a.BaseURL = "base_url"
	}
	return a, nil
}

// The default addresses of the authorization server. They are also audiences of assertions ("OAuth 2.0 JWT
// Bearer Flow for Server-to-Server Integration", Salesforce Help).
const (
	production = "https://login.salesforce.com"
	sandboxes  = "https://test.salesforce.com"
)

// scopes are the scopes that the web server flow requests. The other flows have those that the organisation
// allows the app: the client credentials flow accepts no scope parameter.
var scopes = []adapter.Scope{
	{Name: "api", Words: "See and open cases, and see contacts, for you"},
	{Name: "refresh_token", Words: "Stay connected while you are away"},
}

func grant(s settings, at adapter.Addresses) (adapter.Grant, error) {
	login := strings.TrimRight(cmp.Or(at["login_url"], production), "/")
	home := login
	g := adapter.Grant{Flow: adapter.Flow(s.Flow), ClientID: s.ClientID, Domains: domains}
	if s.BaseURL != "" {
		home, g.TenantAddress = strings.TrimRight(s.BaseURL, "/"), true
	} else {
		g.Instance = &adapter.Instance{
			Field: "instance_url", Check: func(address string) error { return ownAddress(address, login) },
		}
	}
	g.TokenURL = home + "/services/oauth2/token"
	switch g.Flow {
	case adapter.JWTBearer:
		g.ClientID = "" // it signs with its key, and has no secret
		g.Assertion = &adapter.Assertion{
			Credential: "private_key", Subject: s.Username, Audience: audience(home, login),
			Key: func(secret string) (adapter.SigningKey, error) {
				if !isPrivateKey(secret) {
					return adapter.SigningKey{}, fault.InvalidField("credentials.private_key",
						"must be an RSA private key in PEM, without a passphrase.")
				}
				return adapter.SigningKey{Issuer: s.ClientID, PEM: []byte(secret)}, nil
			},
		}
	case adapter.ClientCredentials:
		if home == production || home == sandboxes {
			return g, fault.InvalidField("settings.base_url",
				"is required with the flow client_credentials: Salesforce answers it at My Domain addresses only.")
		}
	default:
		g.AuthURL, g.Scopes = home+"/services/oauth2/authorize", scopes
	}
	return g, nil
}

// isPrivateKey reports whether a text holds a private key for RS256, in PKCS #1 or #8.
func isPrivateKey(text string) bool {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return false
	}
	if _, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
		return true
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	_, isRSA := key.(*rsa.PrivateKey)
	return err == nil && isRSA
}

// audience returns the audience of an assertion, which is the authorization server. For the My Domain of a
// sandbox it is the server of all sandboxes.
func audience(home, login string) string {
	if u, err := url.Parse(home); err == nil && strings.HasSuffix(u.Hostname(), ".sandbox.my.salesforce.com") {
		return sandboxes
	}
	return login
}

// domains are the domains under which Salesforce serves organisations ("My Domain URL Formats", Salesforce
// Help), including government cloud and China.
var domains = []string{"salesforce.com", "force.com", "salesforce.mil", "sfcrmproducts.cn"}

// ownAddress returns an error if an address for the API is not Salesforce's, since access tokens go there. An
// emulator that the operator has set as login_url may name itself.
func ownAddress(address, login string) error {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil {
		return fmt.Errorf("salesforce: the instance is no address")
	}
	if l, err := url.Parse(login); err == nil && l.Scheme == u.Scheme && l.Host == u.Host {
		return nil
	}
	for _, domain := range domains {
		if u.Scheme == "https" && u.Port() == "" && strings.HasSuffix(strings.ToLower(u.Hostname()), "."+domain) {
			return nil
		}
	}
	return fmt.Errorf("salesforce: the instance is none of Salesforce's addresses")
}

var (
	version       = regexp.MustCompile(`^v([0-9]{2,3})\.0$`)
	externalField = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]{0,76}__c$`)
)

// oldest is the first version that responds to an upsert with the id of a case that existed before ("Upsert
// Records", REST API Developer Guide). The response of earlier versions is empty.
const oldest = 46

// Validate checks the settings.
func (s settings) Validate() (faults []fault.Field) {
	add := func(path, message string) { faults = append(faults, fault.Field{Path: path, Message: message}) }
	if v := version.FindStringSubmatch(s.APIVersion); v == nil {
		add("settings.api_version", "must be as Salesforce writes versions, such as v62.0.")
	} else if n, _ := strconv.Atoi(v[1]); n < oldest {
		add("settings.api_version", fmt.Sprintf("must be v%d.0 or later.", oldest))
	}
	if _, err := adapter.ParsePattern(s.NumberFormat); err != nil {
		add("settings.number_format", "must be a regular expression (RE2) that is not large, such as [0-9]{1,30}.")
	}
	if s.NumberWidth < 0 || s.NumberWidth > 30 {
		add("settings.number_width", "must be from 0 to 30.")
	}
	if s.ExternalIDField != "" && !externalField.MatchString(s.ExternalIDField) {
		add("settings.external_id_field", "must be the API name of a custom field, such as Frontdesk_Key__c.")
	}
	faults = append(faults, s.Fields.Without(map[string]string{
		"Subject":         "is set by the call.",
		s.ExternalIDField: "is the connection's external_id_field, where the gateway keeps the call's key.",
	})...)
	if u, err := url.Parse(s.BaseURL); err != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" ||
		u.Fragment != "" {
		add("settings.base_url", "must be the My Domain address alone, such as https://acme.my.salesforce.com.")
	}
	if home := strings.TrimRight(s.BaseURL, "/"); home == production || home == sandboxes {
		add("settings.base_url", "must be the My Domain address: nobody's cases are at "+home+".")
	}
	if adapter.Flow(s.Flow) == adapter.JWTBearer {
		for _, field := range []struct{ path, value string }{
			{"settings.client_id", s.ClientID}, {"settings.username", s.Username},
			{"credentials.private_key", s.PrivateKey},
		} {
			if field.value == "" {
				add(field.path, "is required with the flow jwt_bearer.")
			}
		}
	} else if s.Username != "" || s.PrivateKey != "" {
		add("settings.flow", "must be jwt_bearer where there is a username or private_key.")
	}
	if adapter.Flow(s.Flow) != adapter.Consent && s.RefreshToken != "" {
		add("credentials.refresh_token", "is only for the flow consent.")
	}
	return faults
}
