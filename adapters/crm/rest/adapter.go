// Package rest connects to ticket systems that no other adapter supports. Its settings alone describe the
// requests that open, find and read a ticket, and how to read the responses. README.md in this folder is the
// guide to the settings. The folder examples has complete connections, which the tests run.
//
// An operation (account, vocabulary, check, create, get, by_key, find_contacts, open_tickets) is a list of
// steps, each of which is one request. jq expressions on one object build the requests and read the
// responses; see run. They are compiled when the settings are given, and can reach only that object. Each
// ends after a second, or earlier if it takes more than its share of memory; see limiter.
//
// It guarantees, whatever the settings are:
//   - A number from a caller is sent only if number_pattern matches all of it and it has only letters,
//     digits, "-", "_" and ".". So no number ends a text, begins a condition or leaves its path.
//   - A value in a path is part of one segment, a value in a query is one parameter, and bodies are values,
//     not texts.
//   - A field of a new ticket that no step sends or no expression reads back is refused before anything is
//     sent.
//   - A caller is told to correct a field only if the caller gave it.
//   - An error that a caller sees holds nothing of the ticket system's response.
//   - A ticket that was found counts only if its number is exactly the requested one, unless get.moves says that
//     another number is that of a ticket which was moved or merged.
//   - If a create fails after a request that may have opened the ticket, the fault is UnknownOutcome. If the
//     system recognises a repeated request (idempotency_header), a fault that a repeat may cure stays as it is.
//
// It does not follow the pages of a list.
package rest

import (
	"context"
	"net/url"
	"strings"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/crm"
	"frontdesk/core/fault"
)

// name is the adapter's name in the configuration.
const name = "rest"

type settings struct {
	BaseURL string            `setting:"base_url" kind:"url" required:"true" help:"Address below which all paths are, such as https://tickets.example.com/api/."`
	Headers map[string]string `setting:"headers" help:"Headers of every request, such as Accept. Secrets are credentials, not headers."`

	AuthHeader string   `setting:"auth_header" help:"With token: the header that carries it. The default is Authorization."`
	AuthPrefix string   `setting:"auth_prefix" help:"With token or OAuth: the text before the token, such as \"token \". The default is \"Bearer \", if auth_header is absent too."`
	TokenURL   string   `setting:"token_url" kind:"url" help:"With OAuth: the endpoint that issues access tokens, with client_id and client_secret. Its path may have {expressions} on .values."`
	AuthURL    string   `setting:"auth_url" kind:"url" help:"With OAuth: the page at which a person gives consent. Without it and without refresh_token, the client acts for itself. Its path may have {expressions} on .values."`
	ClientID   string   `setting:"client_id" help:"With OAuth: the client's id."`
	Scopes     []string `setting:"scopes" help:"With OAuth: the scopes to ask for, with {expressions} on .values and .base_url."`

	AppTokenHeader string            `setting:"app_token_header" help:"With app_token: the header that carries it."`
	Values         map[string]string `setting:"values" help:"Texts that expressions see as .values, such as a queue's name."`

	NumberPattern string `setting:"number_pattern" default:"[0-9]{1,30}" help:"Regular expression that a whole ticket number must match before it is sent."`
	NumberWidth   int    `setting:"number_width" help:"How many digits ticket numbers are padded to with zeros; 0 if they are not padded."`
	MaxConcurrent int    `setting:"max_concurrent" help:"How many concurrent requests the system allows; 0 if no limit is known."`
	SampleNumber  string `setting:"sample_number" help:"Number of a ticket that connection verify reads, to show the result of get."`
	SamplePhone   string `setting:"sample_phone" help:"Telephone number of a contact, such as +15135557611, that connection verify looks up, to show the result of find_contacts and open_tickets."`
	TimeLayout    string `setting:"time_layout" help:"How the system writes times, as a layout of Go's package time, if it uses none of the usual forms."`
	TimeZone      string `setting:"time_zone" default:"UTC" help:"IANA time zone of times without one."`

	IdempotencyHeader string `setting:"idempotency_header" help:"Header in which the system accepts a key, such as Idempotency-Key, so that a repeated create opens no second ticket."`

	Statuses     []string           `setting:"statuses" help:"Labels of the statuses that a new ticket may have, unless vocabulary requests them."`
	Priorities   []string           `setting:"priorities" help:"Labels of the priorities that a new ticket may have, unless vocabulary requests them."`
	Vocabulary   vocabularySettings `setting:"vocabulary" help:"How to request statuses and priorities, or which values stand for their labels."`
	Account      accountSettings    `setting:"account" required:"true" help:"How to find out whose account this is: steps, name, email."`
	Create       createSettings     `setting:"create" required:"true" help:"How to open a ticket: steps, and number or ticket."`
	Get          getSettings        `setting:"get" help:"How to read a ticket by its number: steps. Without it, tickets are only opened, and create needs ticket instead of number."`
	ByKey        keySettings        `setting:"by_key" help:"How to find the ticket that was opened with a key: steps, number."`
	FindContacts contactSettings    `setting:"find_contacts" help:"How to look up who calls, by a telephone number or an e-mail address: steps, contacts. Requires open_tickets."`
	OpenTickets  listSettings       `setting:"open_tickets" help:"How to list the open tickets of a contact: steps, tickets. Requires find_contacts."`
	Check        operation          `setting:"check" help:"What else connection verify checks: steps that find out whether tickets can be opened, without opening one."`
	Ticket       ticketSettings     `setting:"ticket" help:"How a ticket's fields come from the answers of get: expressions. It is required with get."`
	Faults       []ruleSettings     `setting:"faults" help:"Which fault an answer of any step means, where the status alone misleads."`

	Username     string `credential:"username" help:"With password: the account's user name (HTTP basic)."`
	Password     string `credential:"password" help:"The account's password."`
	Token        string `credential:"token" help:"A token or API key, in auth_header."`
	ClientSecret string `credential:"client_secret" help:"With OAuth: the client's secret."`
	AppToken     string `credential:"app_token" help:"A key of the application, in app_token_header, if the system wants one beside the account's credentials."`
	RefreshToken string `credential:"refresh_token" help:"With OAuth: a refresh token that you already have. With auth_url and connect-link, a person's consent gives one instead."`
}

type operation struct {
	Steps []stepSettings `setting:"steps" required:"true" help:"The requests, in order."`
}

type getSettings struct {
	Steps []stepSettings `setting:"steps" required:"true" help:"The requests, in order."`
	Moves bool           `setting:"moves" help:"Whether the system answers to the number of a ticket that was moved or merged with the ticket as it is known now. Otherwise, a ticket with another number is not the one."`
}

type accountSettings struct {
	Steps []stepSettings `setting:"steps" required:"true" help:"The requests, in order. They must fail if the credentials are refused."`
	Name  string         `setting:"name" help:"Expression: the account's or organisation's name."`
	Email string         `setting:"email" help:"Expression: the account's address."`
}

type vocabularySettings struct {
	Steps      []stepSettings `setting:"steps" help:"The requests, in order; none if the expressions need no answer."`
	Statuses   string         `setting:"statuses" help:"Expression: a list of labels, or of {label, value} if the system uses a value in place of the label."`
	Priorities string         `setting:"priorities" help:"Expression: the same for the priorities."`
}

type createSettings struct {
	Steps  []stepSettings `setting:"steps" required:"true" help:"The requests, in order."`
	Number string         `setting:"number" help:"Expression: the new ticket's number, by which get reads it back."`
	Ticket ticketSettings `setting:"ticket" help:"Instead of number: how the ticket's fields come from the answers of create."`
	Shown  shownSettings  `setting:"shown" help:"How ticket shows the records that a new ticket names, if it shows a different id from the given one."`
}

type shownSettings struct {
	OwnerID   string `setting:"owner_id" help:"Expression: the owner's id as ticket shows it."`
	AccountID string `setting:"account_id" help:"Expression: the account's id as ticket shows it."`
	ContactID string `setting:"contact_id" help:"Expression: the contact's id as ticket shows it."`
}

type keySettings struct {
	Steps  []stepSettings `setting:"steps" required:"true" help:"The requests, in order."`
	Number string         `setting:"number" required:"true" help:"Expression: the number of the ticket with the key, or null if there is certainly none. It must fail on an answer that does not tell."`
	Lag    time.Duration  `setting:"lag" help:"How long the search may miss a new ticket, such as 5m. Until then, that it finds none says nothing."`
}

type contactSettings struct {
	Steps    []stepSettings `setting:"steps" required:"true" help:"The requests, in order."`
	Contacts string         `setting:"contacts" required:"true" help:"Expression: a list of {id, name, emails, phones, account_id, account_name}, with the id that a new ticket's contact_id has. Contacts that have another number or address are left out."`
	More     string         `setting:"more" help:"Expression: whether there are more contacts than the answers have."`
}

type listSettings struct {
	Steps   []stepSettings `setting:"steps" required:"true" help:"The requests, in order."`
	Tickets string         `setting:"tickets" required:"true" help:"Expression: a list of objects with the members of ticket, such as {id, number, subject, status, updated_at}, without tickets that are resolved or closed."`
}

type ticketSettings struct {
	ID            string `setting:"id" required:"true" help:"Expression: the ticket's id."`
	Number        string `setting:"number" required:"true" help:"Expression: the number by which callers know the ticket."`
	Subject       string `setting:"subject" help:"Expression."`
	Description   string `setting:"description" help:"Expression: text, or {text, html: true}."`
	Status        string `setting:"status" help:"Expression: the status's label."`
	StatusValue   string `setting:"status_value" help:"Expression for the value that stands for the label in the vocabulary. If the vocabulary does not have it, status counts."`
	Priority      string `setting:"priority" help:"Expression: the priority's label."`
	PriorityValue string `setting:"priority_value" help:"Expression for the value that stands for the label in the vocabulary. If the vocabulary does not have it, priority counts."`
	OwnerID       string `setting:"owner_id" help:"Expression."`
	AccountID     string `setting:"account_id" help:"Expression."`
	ContactID     string `setting:"contact_id" help:"Expression."`
	CreatedAt     string `setting:"created_at" help:"Expression for a time."`
	UpdatedAt     string `setting:"updated_at" help:"Expression for a time."`
	ClosedAt      string `setting:"closed_at" help:"Expression for a time."`
	ResolvedAt    string `setting:"resolved_at" help:"Expression for a time."`
	LastComment   string `setting:"last_comment" help:"Expression for the most recent public comment: text, or {text, html: true}."`
}

type stepSettings struct {
	Name     string            `setting:"name" required:"true" help:"The step's name: letters, digits and underscores."`
	Method   string            `setting:"method" default:"GET" choices:"GET,POST,PUT,PATCH" help:"The method."`
	Path     string            `setting:"path" required:"true" help:"Path below base_url, with {expressions}."`
	Query    map[string]string `setting:"query" help:"Query parameters, with {expressions}."`
	Headers  map[string]string `setting:"headers" help:"Headers of this request, with {expressions}."`
	Body     string            `setting:"body" help:"Expression: the content to send."`
	Encoding string            `setting:"encoding" default:"json" choices:"json,form" help:"How body is sent."`
	When     string            `setting:"when" help:"Expression: the step is skipped if it is false or null."`
	Expect   []int             `setting:"expect" help:"Statuses with which the step succeeds. The default is any 2xx."`
	Text     bool              `setting:"text" help:"Whether to read the answer as text, whatever its type says."`
	Reads    bool              `setting:"reads" help:"Whether the request changes nothing although its method is not GET, such as a search by POST."`
	Faults   []ruleSettings    `setting:"faults" help:"Which fault an answer of this step means. These rules come before the rules for all steps."`
}

type ruleSettings struct {
	Status  []int  `setting:"status" help:"Statuses to which the rule applies. The default is any."`
	Match   string `setting:"match" help:"Expression on {status, headers, body} of the answer. The rule applies if it is neither false nor null."`
	Fault   string `setting:"fault" required:"true" choices:"not_found,invalid,misconfigured,forbidden,disconnected,rate_limited,unavailable,conflict" help:"What the answer means."`
	Field   string `setting:"field" choices:"subject,description,status,priority,owner_id,account_id,contact_id" help:"With invalid: the refused field of the new ticket. The rule applies only if the call gave this field."`
	Message string `setting:"message" help:"A sentence for the caller."`
	Wait    string `setting:"wait" help:"With rate_limited or unavailable: expression on the answer, for the seconds to wait if its Retry-After does not say."`
	Names   string `setting:"names" help:"With misconfigured: expression on the answer, for a list of names of what is missing or wrong. connection verify shows them if they are plain words."`
}

// Adapter returns the adapter's declaration.
func Adapter() adapter.Adapter { return adapterWith(func() map[string]parsed { return nil }) }

// adapterWith returns the adapter with expressions that are compiled already.
func adapterWith(shared func() map[string]parsed) adapter.Adapter {
	return adapter.CRM(adapter.Declaration{
		Name:  name,
		Title: "Any ticket system by REST",
		Help: "A ticket system with an HTTP API in JSON, described only by the connection's settings: its " +
			"requests, and how to read their answers. Credentials are a username and password, a token, or " +
			"an OAuth client's secret. There are many settings: write them in a file for apply.",
		AuthOf: adapter.AuthBy(func(s settings) (adapter.Auth, error) { return authOf(s, shared()) }),
	}, func(_ context.Context, s settings, env adapter.Environment) (crm.Driver, error) {
		return open(s, shared(), env)
	})
}

// authOf chooses the authentication by the credentials that are set. It rejects settings that cannot be used,
// so that they are refused when they are given rather than when they are needed.
func authOf(s settings, shared map[string]parsed) (adapter.Auth, error) {
	c := compile(s, shared)
	faults := c.faults
	wrong := func(path, message string) { faults = append(faults, fault.Field{Path: path, Message: message}) }
	var auth adapter.Auth
	var ways []string
	if s.Username != "" || s.Password != "" {
		ways = append(ways, "username and password")
		auth = adapter.Auth{Scheme: adapter.Basic, Username: "username", Password: "password"}
		if s.Username == "" {
			wrong("credentials.username", "is required with password.")
		}
		if s.Password == "" {
			wrong("credentials.password", "is required with username.")
		}
	}
	if s.Token != "" {
		ways = append(ways, "token")
		header, prefix := s.header()
		auth = adapter.Auth{Scheme: adapter.Header, Password: "token", HeaderName: header, Prefix: prefix}
	} else if s.AuthHeader != "" || s.AuthPrefix != "" && !s.usesOAuth() {
		wrong("credentials.token", "is required with auth_header and auth_prefix.")
	}
	if s.usesOAuth() {
		ways = append(ways, "OAuth")
		auth = adapter.Auth{
			Scheme: adapter.OAuth2, OAuth: &adapter.OAuth{Grant: adapter.GrantOf(grant)}, Prefix: s.AuthPrefix,
		}
		if s.TokenURL == "" {
			wrong("settings.token_url", "is required with OAuth.")
		}
		if s.ClientID == "" {
			wrong("settings.client_id", "is required with OAuth.")
		}
	}
	if s.AppToken != "" {
		auth.Second, auth.SecondHeader = "app_token", s.AppTokenHeader
		if s.AppTokenHeader == "" {
			wrong("settings.app_token_header", "is required with app_token.")
		}
	}
	if len(ways) > 1 {
		wrong("credentials", "are more than one way to authorise: "+strings.Join(ways, ", ")+". Choose one.")
	}
	if len(faults) > 0 {
		return adapter.Auth{}, fault.InvalidFields(faults...)
	}
	auth.BaseURL = "base_url"
	return auth, nil
}

// usesOAuth reports whether anything of OAuth is set.
func (s settings) usesOAuth() bool {
	return s.TokenURL != "" || s.AuthURL != "" || s.ClientID != "" || s.ClientSecret != "" || s.RefreshToken != ""
}

// header returns the name of the header that carries a token, and the text before the token.
func (s settings) header() (name, prefix string) {
	switch {
	case s.AuthHeader == "" && s.AuthPrefix == "":
		return "Authorization", "Bearer "
	case s.AuthHeader == "":
		return "Authorization", s.AuthPrefix
	}
	return s.AuthHeader, s.AuthPrefix
}

func grant(s settings, _ adapter.Addresses) (adapter.Grant, error) {
	g := adapter.Grant{Flow: adapter.ClientCredentials, ClientID: s.ClientID, TenantAddress: true}
	c := &compiled{settings: s, parser: newParser(nil)}
	scopes := c.oauth(s)
	if len(c.faults) > 0 {
		return g, fault.InvalidFields(c.faults...)
	}
	for _, scope := range scopes {
		g.Scopes = append(g.Scopes, adapter.Scope{Name: scope})
	}
	g.TokenURL = c.tokenURL
	if s.AuthURL != "" || s.RefreshToken != "" {
		g.Flow, g.AuthURL = adapter.Consent, c.authURL
	}
	return g, nil
}

// base returns the address that all paths follow. The declaration has checked that it can be parsed.
func (s settings) base() *url.URL {
	u, err := url.Parse(s.BaseURL)
	if err != nil {
		return &url.URL{}
	}
	return u
}
