package settingspage

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"frontdesk/core/fault"
	"frontdesk/core/page"
	"frontdesk/core/signin"
)

// layout is what all pages show around their content.
type layout struct {
	page.Words
	Title     string
	Brand     page.Brand
	Lead      string
	Root      string
	Person    *signin.Person // nil: nobody is signed in
	For       string         // what the person is signed in for: the gateway, or a tenant
	Nav       []section
	Notice    *notice
	MayChange bool
	Tenant    string   // the tenant that the page is about; "": none
	Commands  []string // that do the same as the page
	Steps     []step   // that lead a newcomer
}

// Once names the form of a page that creates something; see [visit.once].
func (layout) Once() string { return rand.Text() }

// section is a part of the navigation.
type section struct {
	Title string
	Items []item
}

type item struct {
	Name, URL string
	Current   bool
}

// notice tells what a change has led to.
type notice struct {
	Good    bool     `json:"good"`
	Text    string   `json:"text"`
	Advice  string   `json:"advice,omitempty"`
	Details []string `json:"details,omitempty"`
}

// good returns a notice of success.
func good(text string) notice { return notice{Good: true, Text: text} }

// layout returns the frame of a page, with the notice that the last page left.
func (p *Pages) layout(v *visit, title, lead string, commands ...string) layout {
	l := layout{
		Words: p.wordsFor(v).Words, Title: title, Brand: p.opts.Brand, Lead: lead, Root: p.root, Tenant: v.tenant,
		Commands: commands, MayChange: v.mayChange(),
	}
	if v.person == (signin.Person{}) {
		return l
	}
	l.Person, l.For, l.Nav = &v.person, "the whole gateway", p.navigation(v)
	if v.caller.Tenant.ID != "" {
		l.For = "the tenant " + v.caller.Tenant.Name
	}
	var n notice
	if text := p.opts.Sessions.Notice(v.ctx); text != "" && json.Unmarshal([]byte(text), &n) == nil {
		l.Notice = &n
	}
	return l
}

// notify leaves a notice for the next page.
func (p *Pages) notify(v *visit, n notice) {
	if text, err := json.Marshal(n); err == nil { // a notice is texts only
		p.opts.Sessions.Notify(v.ctx, string(text))
	}
}

// navigation returns the pages that the person can open. Pages about a tenant come below its name.
func (p *Pages) navigation(v *visit) []section {
	link := func(title, path string) item { // a path below the root
		return item{Name: title, URL: p.root + path, Current: v.r.URL.Path == Root+path}
	}
	all := []section{{Items: []item{link("Overview", "")}}}
	if name := cmp.Or(v.tenant, v.caller.Tenant.Name); name != "" {
		of := func(title string, parts ...string) item { return link(title, tenantPath(name, parts...)) }
		all = append(all, section{Title: name, Items: []item{
			of("Settings"), of("Connections", "connections"), of("Opening hours", "opening-hours"),
			of("API keys", "keys"), of("Phone numbers", "phone-numbers"), of("Your agent", "agent"),
			of("Try it", "try"), of("Requests", "requests"), of("Webhooks", "webhooks"), of("Audit", "audit"),
		}})
	}
	last := section{Items: []item{link("Admin keys", "/admin-keys"), link("Your session", "/session")}}
	if v.caller.Tenant.ID == "" {
		last.Items = append([]item{link("Audit of all", "/audit"), link("Webhooks of all", "/webhooks")},
			last.Items...)
	}
	return append(all, last)
}

// statuses are the HTTP statuses of faults.
var statuses = map[fault.Code]int{
	fault.Invalid: http.StatusUnprocessableEntity, fault.Forbidden: http.StatusForbidden,
	fault.NotFound: http.StatusNotFound, fault.Conflict: http.StatusConflict,
	fault.Exhausted: http.StatusConflict, fault.Unsupported: http.StatusUnprocessableEntity,
	fault.RateLimited: http.StatusTooManyRequests, fault.Unavailable: http.StatusServiceUnavailable,
	fault.Timeout: http.StatusGatewayTimeout, fault.Disconnected: http.StatusConflict,
}

// headings of the pages about failures.
var headings = map[fault.Code]string{
	fault.Forbidden: "This is not allowed", fault.NotFound: "There is nothing here",
	fault.Conflict: "This cannot be done now", fault.Invalid: "Something in the form is not right",
	fault.RateLimited: "Too many attempts", fault.Unavailable: "This does not work now",
}

// failure returns the page for a failure.
func (p *Pages) failure(v *visit, requestID string, err error) reply {
	f := fault.From(err)
	says := p.wordsFor(v).explain(f)
	view := struct {
		layout
		Says              explanation
		Reason, RequestID string
		Fields            []fault.Field
	}{Says: says, Reason: f.Reason, Fields: f.Fields, RequestID: requestID}
	view.layout = p.layout(v, says.Heading, "")
	if errors.Is(err, fault.NotFound) {
		view.layout.Tenant = ""
	}
	return reply{status: cmp.Or(statuses[f.Code], http.StatusInternalServerError), page: "failure.html", view: view}
}

// moment writes a time for people.
func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2 Jan 2006, 15:04 UTC")
}

// momentOf is moment for a time that may be absent.
func momentOf(t *time.Time) string {
	if t == nil {
		return ""
	}
	return moment(*t)
}

// shell writes words as a command line.
func shell(words ...string) string {
	for i, w := range words {
		if w == "" || strings.ContainsAny(w, " \t\"'\\$`;&|<>(){}[]*?!#~\r\n") {
			words[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return "frontdesk " + strings.Join(words, " ")
}
