package rest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/textproto"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/fault"
	"frontdesk/core/timezone"
)

// maxSteps is how many requests one operation may make.
const maxSteps = 10

// step is one compiled request.
type step struct {
	label   string // for people: "get.steps[1] (comments)"
	name    string
	method  string
	path    template
	query   map[string]template
	headers map[string]template
	body    expression
	form    bool
	text    bool // the response is not read as JSON
	when    expression
	expect  []int
	acts    bool // the request may change something
	subject bool // it sends the subject of a new ticket
	looksUp bool // the step looks up a ticket or contacts: not found means that there is none
	search  bool // it searches at a path that exists whether there is one or not
	rules   []rule
}

// rule assigns a fault to responses.
type rule struct {
	status         []int
	match          expression
	fault          string
	field, message string
	wait, names    expression
}

// mapping holds the expressions of a ticket's fields.
type mapping struct {
	id, number, subject, ownerID, accountID, contactID expression
	status, statusValue, priority, priorityValue       expression
	description, lastComment                           expression
	createdAt, updatedAt, closedAt, resolvedAt         expression
}

// compiled holds the compiled settings.
type compiled struct {
	settings settings
	parser   *parser // of these settings
	base     *url.URL
	number   *regexp.Regexp
	zone     *time.Location
	headers  map[string]template
	values   map[string]any // of the settings, as expressions see them

	tokenURL, authURL string

	account, vocabulary, create, get, byKey, check []step
	findContacts, openTickets                      []step

	accountName, accountEmail              expression
	statuses, priorities                   expression
	createNumber, keyNumber                expression
	contacts, moreContacts, tickets        expression
	createTicket, ticket                   mapping
	listed                                 mapping // of one of the listed tickets
	shownOwner, shownAccount, shownContact expression
	createOnly                             bool            // tickets cannot be read
	settable                               map[string]bool // the fields that a new ticket may be given
	stepNames                              []string        // of all operations
	readAll                                []string        // the settings that may read all of their input
	faults                                 []fault.Field   // what is wrong with the settings
}

// compile compiles the settings and records every fault in them. shared has expressions that are compiled.
func compile(s settings, shared map[string]parsed) *compiled {
	c := &compiled{settings: s, base: s.base(), parser: newParser(shared), stepNames: s.stepNames()}
	if c.base.RawQuery != "" || c.base.Fragment != "" {
		c.wrong("base_url", "must not have a query or fragment; each step has its own parameters.")
	}
	var err error
	switch c.number, err = adapter.WholePattern(s.NumberPattern); {
	case errors.Is(err, adapter.ErrPatternTooLarge):
		c.wrong("number_pattern", "is too large a regular expression.")
	case err != nil:
		c.wrong("number_pattern", "is not a regular expression: "+strings.TrimPrefix(err.Error(),
			"error parsing regexp: ")+".")
	}
	if c.zone, err = timezone.Load(s.TimeZone); err != nil || s.TimeZone == "Local" {
		c.wrong("time_zone", "must be an IANA time zone, such as Europe/Berlin.")
	}
	if s.NumberWidth < 0 {
		c.wrong("number_width", "must not be negative.")
	}
	if s.MaxConcurrent < 0 {
		c.wrong("max_concurrent", "must not be negative.")
	}
	if s.IdempotencyHeader != "" {
		c.header("idempotency_header", s.IdempotencyHeader)
	}
	if s.AuthHeader != "" && !token.MatchString(s.AuthHeader) {
		c.wrong("auth_header", "must be the name of a header.")
	}
	c.values = s.valuesAsInput()
	c.oauth(s)
	if s.AppTokenHeader != "" && !token.MatchString(s.AppTokenHeader) {
		c.wrong("app_token_header", "must be the name of a header.")
	}
	c.headers = c.templates("headers", s.Headers, c.header)
	rules := c.rules("faults", s.Faults)

	c.account = c.steps("account", s.Account.Steps, rules)
	c.accountName = c.expression("account.name", s.Account.Name)
	c.accountEmail = c.expression("account.email", s.Account.Email)
	c.words(s, rules)
	c.create = c.steps("create", s.Create.Steps, rules)
	c.createNumber = c.expression("create.number", s.Create.Number)
	c.createOnly = s.Get.Steps == nil && s.Create.Ticket != ticketSettings{}
	if !c.createOnly {
		c.get = c.steps("get", s.Get.Steps, rules)
		c.needTicket(s.Ticket)
	}
	c.byKey = c.steps("by_key", s.ByKey.Steps, rules)
	c.keyNumber = c.expression("by_key.number", s.ByKey.Number)
	c.callers(s, rules)
	c.check = c.steps("check", s.Check.Steps, rules)
	c.ticket = c.mapping("ticket", s.Ticket)
	c.createTicket = c.mapping("create.ticket", s.Create.Ticket)
	c.inputs(s)
	if c.createOnly && c.keyNumber.given() {
		c.wrong("get", "is required with by_key, which finds a ticket's number.")
	}
	if c.createNumber.given() == c.createTicket.number.given() {
		c.wrong("create", "must have either number, so that get reads the new ticket back, or ticket.")
	}
	if !slices.ContainsFunc(c.create, func(s step) bool { return s.acts }) {
		c.wrong("create.steps", "must have a step that opens the ticket: one whose method is not GET.")
	}
	c.shownOwner = c.expression("create.shown.owner_id", s.Create.Shown.OwnerID)
	c.shownAccount = c.expression("create.shown.account_id", s.Create.Shown.AccountID)
	c.shownContact = c.expression("create.shown.contact_id", s.Create.Shown.ContactID)
	c.fields(s.Create)
	return c
}

func (c *compiled) wrong(path, message string) {
	c.faults = append(c.faults, fault.Field{Path: "settings." + path, Message: message})
}

// needTicket checks that the mapping of a ticket is there, which get needs.
func (c *compiled) needTicket(s ticketSettings) {
	if s == (ticketSettings{}) {
		c.wrong("ticket", "is required with get: how a ticket's fields come from its answers.")
	}
}

// valuesAsInput returns the setting values as expressions see it.
func (s settings) valuesAsInput() map[string]any {
	values := make(map[string]any, len(s.Values))
	for name, text := range s.Values {
		values[name] = text
	}
	return values
}

// oauth computes the addresses of OAuth and returns the scopes. The host of an address is written out, since
// the client's secret goes there: only its path may have expressions.
func (c *compiled) oauth(s settings) (scopes []string) {
	ctx := context.Background() // the expressions end by themselves
	input := map[string]any{"values": s.valuesAsInput(), "base_url": s.BaseURL}
	for _, address := range []struct {
		name, source string
		into         *string
	}{{"token_url", s.TokenURL, &c.tokenURL}, {"auth_url", s.AuthURL, &c.authURL}} {
		t := c.template(address.name, address.source)
		if !t.fixed() && strings.Count(t.parts[0].words, "/") < 3 {
			c.wrong(address.name, "must have its host written out; only its path may have expressions.")
			continue
		}
		var err error
		if *address.into, err = t.path(ctx, input); err != nil {
			c.wrong(address.name, "gives a value that cannot be part of a path.")
		}
	}
	for i, source := range s.Scopes {
		path := fmt.Sprintf("scopes[%d]", i)
		scope, _, err := c.template(path, source).text(ctx, input)
		if err != nil || scope == "" {
			c.wrong(path, "does not give a text.")
		}
		scopes = append(scopes, scope)
	}
	return scopes
}

// words compiles the settings of the vocabulary.
func (c *compiled) words(s settings, rules []rule) {
	c.vocabulary = c.steps("vocabulary", s.Vocabulary.Steps, rules)
	c.statuses = c.expression("vocabulary.statuses", s.Vocabulary.Statuses)
	c.priorities = c.expression("vocabulary.priorities", s.Vocabulary.Priorities)
	for _, list := range []struct {
		name   string
		labels []string
		asked  bool
	}{{"statuses", s.Statuses, c.statuses.given()}, {"priorities", s.Priorities, c.priorities.given()}} {
		if len(list.labels) > 0 && list.asked {
			c.wrong(list.name, "cannot be combined with vocabulary."+list.name+".")
		}
	}
	if len(c.vocabulary) > 0 && !c.statuses.given() && !c.priorities.given() {
		c.wrong("vocabulary", "has steps but uses none of their answers; give statuses or priorities.")
	}
}

// callers compiles the settings of looking up who calls.
func (c *compiled) callers(s settings, rules []rule) {
	c.findContacts = c.steps("find_contacts", s.FindContacts.Steps, rules)
	c.contacts = c.expression("find_contacts.contacts", s.FindContacts.Contacts)
	c.moreContacts = c.expression("find_contacts.more", s.FindContacts.More)
	c.openTickets = c.steps("open_tickets", s.OpenTickets.Steps, rules)
	c.tickets = c.expression("open_tickets.tickets", s.OpenTickets.Tickets)
	switch {
	case c.contacts.given() && !c.tickets.given():
		c.wrong("open_tickets", "is required with find_contacts.")
	case c.tickets.given() && !c.contacts.given():
		c.wrong("find_contacts", "is required with open_tickets.")
	}
	c.listed = c.mapping("open_tickets.tickets", ticketSettings{
		ID: ".id", Number: ".number", Subject: ".subject", Description: ".description", Status: ".status",
		Priority: ".priority", OwnerID: ".owner_id", AccountID: ".account_id", ContactID: ".contact_id",
		CreatedAt: ".created_at", UpdatedAt: ".updated_at", ClosedAt: ".closed_at", ResolvedAt: ".resolved_at",
		LastComment: ".last_comment",
	})
	c.listed.statusValue = c.expression("open_tickets.tickets", ".status_value")
	c.listed.priorityValue = c.expression("open_tickets.tickets", ".priority_value")
}

func (c *compiled) expression(path, source string) expression {
	if source == "" {
		return expression{}
	}
	e, problem := c.parser.parse(path, source)
	if problem != "" {
		c.wrong(path, problem)
	}
	c.reads(path, e.reads)
	return e
}

func (c *compiled) template(path, source string) template {
	t, problem := c.parser.template(path, source)
	if problem != "" {
		c.wrong(path, problem)
	}
	for _, p := range t.parts {
		c.reads(path, p.reads)
	}
	return t
}

func (c *compiled) templates(
	path string, sources map[string]string, check func(path, name string),
) map[string]template {
	made := make(map[string]template, len(sources))
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		at := path + "." + name
		check(at, name)
		made[name] = c.template(at, sources[name])
	}
	return made
}

// token matches the name of a header (RFC 9110 section 5.1).
var token = regexp.MustCompile("\\A[!#$%&'*+.^_`|~0-9A-Za-z-]+\\z")

// header checks the name of a header that the settings set.
func (c *compiled) header(path, name string) {
	credentials, _ := c.settings.header()
	switch canonical := textproto.CanonicalMIMEHeaderKey(name); {
	case !token.MatchString(name):
		c.wrong(path, "must be the name of a header.")
	case canonical == "Authorization", canonical == textproto.CanonicalMIMEHeaderKey(credentials),
		canonical == textproto.CanonicalMIMEHeaderKey(c.settings.AppTokenHeader):
		c.wrong(path, "is set from the credentials.")
	case slices.Contains([]string{"Host", "Connection", "Content-Length", "Content-Type", "Transfer-Encoding",
		"Upgrade"}, canonical):
		c.wrong(path, "is set by the gateway.")
	}
}

// stepName matches a name that expressions can write as .steps.NAME.
var stepName = regexp.MustCompile(`\A[A-Za-z_][A-Za-z0-9_]*\z`)

func (c *compiled) steps(operation string, list []stepSettings, rules []rule) []step {
	if len(list) > maxSteps {
		c.wrong(operation+".steps", fmt.Sprintf("must be at most %d.", maxSteps))
	}
	if len(list) == 0 && (operation == "account" || operation == "get") {
		c.wrong(operation+".steps", "must have a step.")
	}
	seen := map[string]bool{}
	made := make([]step, 0, len(list))
	for i, s := range list {
		path := fmt.Sprintf("%s.steps[%d]", operation, i)
		if !stepName.MatchString(s.Name) {
			c.wrong(path+".name", "must be letters, digits and underscores, not beginning with a digit.")
		} else if seen[s.Name] {
			c.wrong(path+".name", "is already the name of an earlier step.")
		}
		seen[s.Name] = true
		made = append(made, c.step(operation, path, s, rules))
	}
	return made
}

// lookUps are the operations that look something up.
var lookUps = []string{"get", "by_key", "find_contacts", "open_tickets"}

func (c *compiled) step(operation, path string, s stepSettings, rules []rule) step {
	made := step{
		label: fmt.Sprintf("%s (%s)", path, s.Name), name: s.Name, method: s.Method, form: s.Encoding == "form",
		text: s.Text, expect: s.Expect, path: c.template(path+".path", s.Path),
		query:   c.templates(path+".query", s.Query, func(string, string) {}),
		headers: c.templates(path+".headers", s.Headers, c.header), body: c.expression(path+".body", s.Body),
		when: c.expression(path+".when", s.When), acts: s.Method != http.MethodGet && !s.Reads,
		subject: namesSubject(s), looksUp: slices.Contains(lookUps, operation),
		rules: append(c.rules(path+".faults", s.Faults), rules...),
	}
	made.search = operation != "get" && made.looksUp && made.path.fixed()
	words := made.path.words()
	switch {
	case strings.ContainsAny(words, `?#\`) ||
		strings.ContainsFunc(words, func(r rune) bool { return r <= ' ' || r > '~' }):
		c.wrong(path+".path", "must be only a path; put parameters into query, and escape other characters.")
	case slices.ContainsFunc(strings.Split(words, "/"),
		func(segment string) bool { return segment == ".." || segment == "." }):
		c.wrong(path+".path", `must not have "." or ".." among its segments.`)
	default:
		if _, err := url.PathUnescape(words); err != nil {
			c.wrong(path+".path", `has a "%" that does not begin an escape; write "%25" for a percent sign.`)
		}
	}
	if made.method == http.MethodGet && made.body.given() {
		c.wrong(path+".body", "cannot be sent with GET.")
	}
	if made.acts && operation != "create" {
		c.wrong(path+".method", "may change something, which this operation must not do; set reads: true "+
			"if it only reads.")
	}
	for _, status := range s.Expect {
		if status < 200 || status > 599 {
			c.wrong(path+".expect", "must be statuses from 200 to 599.")
		}
	}
	return made
}

func (c *compiled) rules(path string, list []ruleSettings) []rule {
	made := make([]rule, 0, len(list))
	for i, s := range list {
		at := fmt.Sprintf("%s[%d]", path, i)
		if len(s.Status) == 0 && s.Match == "" {
			c.wrong(at, "must have a status or a match, or else it would apply to every answer.")
		}
		if s.Field != "" && s.Fault != "invalid" {
			c.wrong(at+".field", "is only for fault: invalid.")
		}
		if s.Names != "" && s.Fault != misconfigured {
			c.wrong(at+".names", "is only for fault: misconfigured.")
		}
		if s.Wait != "" && s.Fault != "rate_limited" && s.Fault != "unavailable" {
			c.wrong(at+".wait", "is only for fault: rate_limited or unavailable.")
		}
		made = append(made, rule{
			status: s.Status, match: c.expression(at+".match", s.Match), fault: s.Fault, field: s.Field,
			message: s.Message, wait: c.expression(at+".wait", s.Wait), names: c.expression(at+".names", s.Names),
		})
	}
	return made
}

func (c *compiled) mapping(path string, s ticketSettings) mapping {
	e := func(field, source string) expression { return c.expression(path+"."+field, source) }
	return mapping{
		id: e("id", s.ID), number: e("number", s.Number), subject: e("subject", s.Subject),
		description: e("description", s.Description), status: e("status", s.Status),
		statusValue: e("status_value", s.StatusValue), priority: e("priority", s.Priority),
		priorityValue: e("priority_value", s.PriorityValue), ownerID: e("owner_id", s.OwnerID),
		accountID: e("account_id", s.AccountID), contactID: e("contact_id", s.ContactID),
		createdAt: e("created_at", s.CreatedAt), updatedAt: e("updated_at", s.UpdatedAt),
		closedAt: e("closed_at", s.ClosedAt), resolvedAt: e("resolved_at", s.ResolvedAt),
		lastComment: e("last_comment", s.LastComment),
	}
}
