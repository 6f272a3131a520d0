package settingspage

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/admin"
	"frontdesk/core/apikey"
	"frontdesk/core/fault"
	"frontdesk/core/timezone"
)

const (
	triesRoot = tenantRoot + "/try"
	tryRoot   = triesRoot + "/{operation}"
)

var tryRoutes = []route{
	{http.MethodGet, triesRoot, "settings-operations", (*Pages).operations},
	{http.MethodGet, tryRoot, "settings-try", (*Pages).try},
	{http.MethodPost, tryRoot, "settings-send", (*Pages).send},
}

// Operation is an operation of the interface that people can try.
type Operation struct {
	ID, Method, Path   string // the path in OpenAPI's form
	Group, Title, Text string
	Kind               adapter.Kind
	Scope              apikey.Scope
	Writes             bool
	Tool               bool   // agents call it as a tool
	Example            string // the body of a documented example; "": it takes none
}

// parameters returns the names in the path.
func (o Operation) parameters() []string {
	var names []string
	for _, found := range pathParameter.FindAllStringSubmatch(o.Path, -1) {
		names = append(names, found[1])
	}
	return names
}

var pathParameter = regexp.MustCompile(`\{(\w+)\}`)

// Attempt is a request of somebody who tries an operation.
type Attempt struct {
	Method, Path   string
	IdempotencyKey string // "": none is sent
	Body           string // "": none is sent
}

// Outcome is the response to an attempt.
type Outcome struct {
	Status int
	Header http.Header
	Body   []byte
}

// Trial sends requests for people who try operations. All fields are required.
type Trial struct {
	Operations []Operation
	// Send makes a request of the interface as its callers do: what it checks, limits, keeps and records, it
	// does here as well.
	Send func(context.Context, apikey.Caller, Attempt) (Outcome, error)
	Curl func(Attempt) string // the command that sends it
}

// find returns the first operation that meets a condition.
func (t Trial) find(is func(Operation) bool) (o Operation, found bool) {
	if at := slices.IndexFunc(t.Operations, is); at >= 0 {
		return t.Operations[at], true
	}
	return Operation{}, false
}

// operation returns the operation that the path names.
func (p *Pages) operation(v *visit) (Operation, error) {
	id := v.path("operation")
	o, found := p.opts.Trial.find(func(o Operation) bool { return o.ID == id })
	if !found {
		return o, fault.Newf(fault.NotFound, fault.ReasonNotFound, "There is no operation %q.", shorten(id))
	}
	return o, nil
}

// operations lists the operations by groups.
func (p *Pages) operations(v *visit) (reply, error) {
	if _, err := p.opts.Admin.GetTenant(v.ctx, v.caller, v.tenant); err != nil {
		return reply{}, err
	}
	type row struct {
		Operation
		URL string
	}
	type group struct {
		Name string
		Rows []row
	}
	view := struct {
		layout
		Groups []group
	}{layout: p.layout(v, "Try it for "+v.tenant,
		"Send what agents send, and see the answers. Sandboxes are used unless you choose otherwise.")}
	for _, o := range p.opts.Trial.Operations {
		if n := len(view.Groups); n == 0 || view.Groups[n-1].Name != o.Group {
			view.Groups = append(view.Groups, group{Name: o.Group})
		}
		last := &view.Groups[len(view.Groups)-1]
		last.Rows = append(last.Rows, row{o, p.root + tenantPath(v.tenant, "try", o.ID)})
	}
	return reply{page: "operations.html", view: view}, nil
}

// tryView is the page of an operation.
type tryView struct {
	layout
	Operation Operation
	Fields    []field
	Last      []field // after the body
	Body      *field  // nil: it takes none
	Rest      []fault.Field
	Add       string // the address where a sandbox is connected; "": there is one
	Answer    *answerView
}

func (p *Pages) try(v *visit) (reply, error) { return p.showTry(v, nil, nil) }

// fields of the form, besides those of the path.
const (
	fieldConnection  = "connection"
	fieldBody        = "body"
	fieldIdempotency = "idempotency_key"
	fieldConfirm     = "confirm"
)

// showTry shows the form of an operation, with an answer or with what is wrong.
func (p *Pages) showTry(v *visit, answer *answerView, wrong error) (reply, error) {
	o, err := p.operation(v)
	if err != nil {
		return reply{}, err
	}
	of, err := p.opts.Admin.GetTenant(v.ctx, v.caller, v.tenant)
	if err != nil {
		return reply{}, err
	}
	connection, sandboxes, real, err := p.accounts(v, o.Kind)
	if err != nil {
		return reply{}, err
	}
	asked, sent := v.r.URL.Query(), v.r.Method == http.MethodPost
	fields := []field{connection}
	for _, name := range o.parameters() {
		f := field{Name: name, Label: label(name), Type: "text", Required: true, Value: asked.Get(name)}
		if sent {
			f.Value = v.form(name)
		}
		fields = append(fields, f)
	}
	firsts := len(fields)
	if o.Example != "" {
		f := field{
			Name: fieldBody, Label: "Body", Type: "lines",
			Value: example(o.Example, asked, of.Settings.Timezone, p.opts.Now()),
			Help:  "The documented example, with times to come. Change what you like.",
		}
		if sent {
			f.Value = v.r.PostForm.Get(fieldBody)
		}
		fields = append(fields, f)
	}
	lasts := len(fields)
	if o.Writes {
		fields = append(fields, field{Name: fieldIdempotency, Label: "Idempotency key", Type: "text",
			Value: v.form(fieldIdempotency), Help: "Requests with the same key have one effect. It may be empty."})
		if real {
			fields = append(fields, field{Name: fieldConfirm, Label: "The tenant's name", Type: "text",
				Help: "Type " + v.tenant + " if the connection is a real account: the request has its effect there."})
		}
	}
	fields, rest := withFaults(fields, wrong)
	view := tryView{
		layout: p.layout(v, o.Title, o.Text,
			shell("request", "list", "--tenant", v.tenant, "--operation", o.ID)),
		Operation: o, Fields: fields[:firsts], Last: fields[lasts:], Rest: rest, Answer: answer,
	}
	if lasts > firsts {
		view.Body = &fields[firsts]
	}
	if sandboxes == 0 {
		view.Add = p.root + tenantPath(v.tenant, "add-connection", string(o.Kind), "sandbox")
	}
	return formPage("try.html", view, wrong), nil
}

// accounts returns the choice of a connection, how many sandboxes there are, and whether there is anything
// else.
func (p *Pages) accounts(v *visit, kind adapter.Kind) (f field, sandboxes int, real bool, err error) {
	f = field{Name: fieldConnection, Label: "Connection", Type: "choice", Value: v.form(fieldConnection),
		Choices: []choice{{"", "the sandbox, as for test keys"}}}
	all, err := p.opts.Admin.ListConnections(v.ctx, v.caller, v.tenant)
	if err != nil {
		return f, 0, false, err
	}
	providers, err := p.opts.Admin.ListProviders(v.ctx, v.caller)
	if err != nil {
		return f, 0, false, err
	}
	for _, c := range all.Connections {
		if c.Kind != string(kind) {
			continue
		}
		is := slices.ContainsFunc(providers.Providers, func(d admin.Provider) bool {
			return d.Kind == c.Kind && d.Name == c.Provider && d.Sandbox
		})
		what := " (a real account: " + c.Provider + ")"
		if is {
			sandboxes, what = sandboxes+1, " (sandbox)"
		}
		real = real || !is
		f.Choices = append(f.Choices, choice{c.Name, c.Name + what})
	}
	return f, sandboxes, real, nil
}

// send sends the request of the form, and shows the answer.
func (p *Pages) send(v *visit) (reply, error) {
	o, err := p.operation(v)
	if err != nil {
		return reply{}, err
	}
	as, err := p.opts.Admin.CallerByHand(v.ctx, v.caller, admin.ByHand{
		Tenant: v.tenant, Person: v.person.Name, Connection: v.form(fieldConnection),
	})
	if isInvalid(err) {
		return p.showTry(v, nil, err)
	}
	if err != nil {
		return reply{}, err
	}
	if o.Writes && !as.Test && v.form(fieldConfirm) != v.tenant {
		return p.showTry(v, nil, fault.InvalidField(fieldConfirm, "must be typed here: this is a real account."))
	}
	sent := Attempt{Method: o.Method, Path: o.Path, IdempotencyKey: v.form(fieldIdempotency)}
	for _, name := range o.parameters() {
		if v.form(name) == "" {
			return p.showTry(v, nil, fault.InvalidField(name, "is needed."))
		}
		sent.Path = strings.ReplaceAll(sent.Path, "{"+name+"}", url.PathEscape(v.form(name)))
	}
	if o.Example != "" {
		sent.Body = strings.ReplaceAll(v.r.PostForm.Get(fieldBody), "\r\n", "\n")
	}
	answer, err := p.attempt(v, as, o, sent)
	if err != nil {
		return reply{}, err
	}
	return p.showTry(v, answer, nil)
}

// answerView is a response as a page shows it.
type answerView struct {
	Asked   string // the request's line, such as "POST /v1/calendar/book-meeting"
	Status  int
	Good    bool
	Text    string // of the status
	Headers [][2]string
	Body    string
	Cut     bool // the body is longer
	Curl    string
	Story   string // the address of the request in the log; "": it is in none
	Next    []next
	Sandbox bool
}

// next is an operation that takes something of the answer.
type next struct{ Title, URL string }

// maxBodyShown keeps a page small, in which each quotation mark of a body takes five bytes.
const maxBodyShown = 16 << 10

// headersShown are the headers of a response that a caller acts on.
var headersShown = [...]string{
	"Content-Type", "X-Request-Id", "Idempotency-Replayed", "Location", "Retry-After", "Www-Authenticate",
	"Ratelimit", "Deprecation", "Sunset",
}

// attempt sends a request and returns what the page shows of it.
func (p *Pages) attempt(v *visit, as apikey.Caller, o Operation, sent Attempt) (*answerView, error) {
	out, err := p.opts.Trial.Send(v.ctx, as, sent)
	if err != nil {
		return nil, err
	}
	a := &answerView{
		Asked: sent.Method + " " + sent.Path, Status: out.Status, Good: out.Status < http.StatusBadRequest,
		Text: http.StatusText(out.Status), Curl: p.opts.Trial.Curl(sent), Sandbox: as.Test,
		Body: pretty(out.Body),
	}
	if len(a.Body) > maxBodyShown {
		a.Body, a.Cut = strings.ToValidUTF8(a.Body[:maxBodyShown], ""), true
	}
	for _, name := range headersShown {
		if value := out.Header.Get(name); value != "" {
			a.Headers = append(a.Headers, [2]string{name, value})
		}
	}
	if id := out.Header.Get("X-Request-Id"); id != "" {
		a.Story = p.requestsBy(v, "request_id", id)
	}
	if a.Good {
		a.Next = p.next(v.tenant, o, out.Body)
	}
	return a, nil
}

// pretty indents JSON, and leaves everything else as it is.
func pretty(body []byte) string {
	var text bytes.Buffer
	if json.Indent(&text, body, "", "  ") != nil {
		return string(body)
	}
	return strings.TrimSpace(text.String())
}

// next returns the operations of the same kind that take an id of the answer, such as cancel-meeting after a
// booking.
func (p *Pages) next(tenantName string, done Operation, body []byte) []next {
	var answer any
	if json.Unmarshal(body, &answer) != nil {
		return nil
	}
	var all []next
	for _, o := range p.opts.Trial.Operations {
		if o.Kind != done.Kind || o.ID == done.ID {
			continue
		}
		takes := o.parameters()
		for _, found := range exampleID.FindAllStringSubmatch(o.Example, -1) {
			takes = append(takes, found[1])
		}
		for _, name := range takes {
			if id, has := find(answer, name); has {
				at := p.root + tenantPath(tenantName, "try", o.ID)
				all = append(all, next{o.Title, at + "?" + url.Values{name: {id}}.Encode()})
			}
		}
	}
	return all
}

// exampleID matches a field of an example that names something that another operation made.
var exampleID = regexp.MustCompile(`"(\w+_(?:id|number))": "[^"]*"`)

// find returns the first text or number of that name in an answer.
func find(value any, name string) (string, bool) {
	switch v := value.(type) {
	case map[string]any:
		switch id := v[name].(type) {
		case string:
			return id, id != ""
		case float64:
			raw, err := json.Marshal(id)
			return string(raw), err == nil
		}
		for _, key := range []string{"event", "events", "ticket", "phone_numbers"} { // where answers have records
			if id, has := find(v[key], name); has {
				return id, true
			}
		}
	case []any:
		for _, each := range v {
			if id, has := find(each, name); has {
				return id, true
			}
		}
	}
	return "", false
}

// Times and time zones in examples.
var (
	exampleTime = regexp.MustCompile(`"\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}:\d{2}(?:Z|[+-]\d{2}:\d{2})?)?"`)
	exampleZone = regexp.MustCompile(`("time_?zone": )"([^"]*)"`)
)

// example makes a documented example valid for a tenant: its times are on the same days of the week and at
// the same hours, but the first comes within the next eight days, in the tenant's time zone. Ids of it that
// the page's address gives are set.
func example(text string, given url.Values, zoneName string, now time.Time) string {
	zone, err := timezone.Load(zoneName) // "" is UTC
	if err != nil {
		zone = time.UTC
	}
	weeks, first := 0, time.Time{}
	for _, quoted := range exampleTime.FindAllString(text, -1) {
		if t, _, ok := wallClock(quoted, zone); ok && (first.IsZero() || t.Before(first)) {
			first = t
		}
	}
	if !first.IsZero() {
		const week = 7 * 24 * time.Hour
		weeks = int(math.Ceil(float64(now.Add(24*time.Hour).Sub(first)) / float64(week)))
	}
	text = exampleTime.ReplaceAllStringFunc(text, func(quoted string) string {
		t, layout, ok := wallClock(quoted, zone)
		if !ok {
			return quoted
		}
		return `"` + t.AddDate(0, 0, 7*weeks).Format(layout) + `"`
	})
	text = exampleZone.ReplaceAllString(text, `${1}"`+zone.String()+`"`)
	return exampleID.ReplaceAllStringFunc(text, func(field string) string {
		name := exampleID.FindStringSubmatch(field)[1]
		if !given.Has(name) {
			return field
		}
		value, err := json.Marshal(given.Get(name))
		if err != nil {
			return field
		}
		return `"` + name + `": ` + string(value)
	})
}

// curl returns a command that makes the documented call of an operation, on days that are soon, or "" if there
// is no such operation.
func (p *Pages) curl(operation string) string {
	o, found := p.opts.Trial.find(func(o Operation) bool { return o.ID == operation })
	if !found {
		return ""
	}
	zone := ""
	if found := exampleZone.FindStringSubmatch(o.Example); found != nil {
		zone = found[2]
	}
	path := strings.NewReplacer("{", "", "}", "").Replace(o.Path) // braces are patterns to curl
	return p.opts.Trial.Curl(Attempt{
		Method: o.Method, Path: path, Body: example(o.Example, nil, zone, p.opts.Now()),
	})
}

// wallClock reads a time in an example as what a clock in the zone shows, and returns the layout to write it
// with.
func wallClock(quoted string, zone *time.Location) (t time.Time, layout string, ok bool) {
	text := strings.Trim(quoted, `"`)
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), 0, zone), layout, true
		}
	}
	return time.Time{}, "", false
}
