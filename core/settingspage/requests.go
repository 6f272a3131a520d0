package settingspage

import (
	"cmp"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"frontdesk/core/admin"
)

const requestsRoot = tenantRoot + "/requests"

var requestRoutes = []route{
	{http.MethodGet, requestsRoot, "settings-requests", (*Pages).requests},
	{http.MethodGet, requestsRoot + "/{request}", "settings-request", (*Pages).request},
}

// requestsShown is how many requests one page lists.
const requestsShown = 50

// requestFilters are the fields of the search, by the names of the admin interface.
var requestFilters = []struct{ name, label, example string }{
	{"operation", "Operation", "bookMeeting"},
	{"reason", "Reason", "SLOT_TAKEN"},
	{"connection", "Connection", "front-office"},
	{"key_id", "API key", "key_…"},
	{"request_id", "Request id", "X-Request-Id"},
	{"idempotency_key", "Idempotency key", "Idempotency-Key"},
}

// requestRow is a request in a list.
type requestRow struct {
	admin.Request
	URL     string
	Moment  string
	Took    string
	Outcome string // in words
	By      string // who made it, for people
}

// Bad reports whether the request failed.
func (r requestRow) Bad() bool { return r.Status >= http.StatusBadRequest }

// askers returns how people call the API keys and voice agents of a tenant, by their ids.
func (p *Pages) askers(v *visit) (map[string]string, error) {
	keys, err := p.opts.Admin.ListKeys(v.ctx, v.caller, v.tenant)
	if err != nil {
		return nil, err
	}
	names := map[string]string{}
	for _, k := range keys.Keys {
		names[k.ID] = strings.TrimSpace(k.Label + " " + k.Prefix + "…")
	}
	agents, err := p.opts.Admin.ListAgents(v.ctx, v.caller, v.tenant)
	for _, a := range agents.Agents {
		names[a.ID] = a.Name
	}
	return names, err
}

func (p *Pages) requestRow(tenantName string, r admin.Request, names map[string]string) requestRow {
	return requestRow{
		By:      cmp.Or(names[r.KeyID], r.KeyID), // who was deleted meanwhile, or a person who tries something
		Request: r, Moment: r.At.UTC().Format("2 Jan 15:04:05 UTC"), Took: duration(r.TookMs),
		URL:     p.root + tenantPath(tenantName, "requests", url.PathEscape(r.ID)),
		Outcome: cmp.Or(r.Reason, map[bool]string{true: "answered again", false: "done"}[r.Replayed]),
	}
}

// filter is a field of the search.
type filter struct{ Name, Label, Example, Value string }

// requestsBy returns the address of the tenant's requests with a value of one filter.
func (p *Pages) requestsBy(v *visit, filter, value string) string {
	return p.root + tenantPath(v.tenant, "requests") + "?" + url.Values{filter: {value}}.Encode()
}

// requests lists the newest requests of a tenant that match the search.
func (p *Pages) requests(v *visit) (reply, error) {
	asked := v.r.URL.Query()
	value := func(name string) string { return strings.TrimSpace(asked.Get(name)) }
	outcome := value("outcome")
	if outcome != admin.OutcomeOK && outcome != admin.OutcomeFailed {
		outcome = ""
	}
	found, err := p.opts.Admin.ListRequests(v.ctx, v.caller, admin.RequestQuery{
		Tenant: v.tenant, RequestID: value("request_id"), KeyID: value("key_id"), Connection: value("connection"),
		Operation: value("operation"), IdempotencyKey: value("idempotency_key"), Outcome: outcome,
		Reason: value("reason"), Before: value("before"), Limit: requestsShown,
	})
	if err != nil {
		return reply{}, err
	}
	names, err := p.askers(v)
	if err != nil {
		return reply{}, err
	}
	command := []string{"request", "list", "--tenant", v.tenant}
	view := struct {
		layout
		Filters []filter
		Outcome string
		Open    bool // whether the search has more than an outcome
		Rows    []requestRow
		Older   string // the address of older requests; "": there are none
		Newest  string // the address of the newest ones, from a page of older ones
	}{Outcome: outcome}
	flags := map[string]string{"key_id": "--key"}
	for _, f := range requestFilters {
		given := value(f.name)
		view.Filters = append(view.Filters, filter{f.name, f.label, f.example, given})
		if given != "" {
			view.Open = true
			flag := cmp.Or(flags[f.name], "--"+strings.ReplaceAll(f.name, "_", "-"))
			command = append(command, flag, given)
		}
	}
	if outcome == admin.OutcomeFailed {
		command = append(command, "--failed")
	}
	for _, r := range found.Requests {
		view.Rows = append(view.Rows, p.requestRow(v.tenant, r, names))
	}
	if found.Next != "" {
		view.Older = pageOf(asked, found.Next)
	}
	if value("before") != "" {
		view.Newest = pageOf(asked, "")
	}
	view.layout = p.layout(v, "Requests of "+v.tenant,
		"What the agents asked for lately, the newest first. Nothing of what they said is kept.", shell(command...))
	return reply{page: "requests.html", view: view}, nil
}

// pageOf returns the query of another page of the same search.
func pageOf(asked url.Values, before string) string {
	next := url.Values{"before": {before}}
	for name, values := range asked {
		if name != "before" && values[0] != "" {
			next.Set(name, values[0])
		}
	}
	if before == "" {
		next.Del("before")
	}
	return "?" + next.Encode()
}

// tryRow is a call of a provider for people.
type tryRow struct {
	admin.ProviderTry
	After, Took string
	HTTP        []string // its HTTP requests, such as "GET 200 in 71 ms"
}

// request tells what became of a request, and what it did at providers.
func (p *Pages) request(v *visit) (reply, error) {
	story, err := p.opts.Admin.GetRequest(v.ctx, v.caller, admin.RequestName{Tenant: v.tenant,
		ID: v.path("request")})
	if err != nil {
		return reply{}, err
	}
	names, err := p.askers(v)
	if err != nil {
		return reply{}, err
	}
	connections, err := p.opts.Admin.ListConnections(v.ctx, v.caller, v.tenant)
	if err != nil {
		return reply{}, err
	}
	view := struct {
		layout
		requestRow
		Came       string
		Tries      []tryRow
		MoreTries  int
		Connection item   // its page; without a name: it was removed
		Others     string // the address of the requests of whoever made this one
		Same       string // the address of the requests with the same idempotency key
		Curl       string // a command that calls the operation; "": it is not known any more
	}{
		layout: p.layout(v, "Request for "+story.Operation, "", shell("request", "show", "--tenant", v.tenant,
			story.ID)),
		Came: moment(story.At), requestRow: p.requestRow(v.tenant, story.Request, names), MoreTries: story.MoreTries,
		Others: p.requestsBy(v, "key_id", story.KeyID),
	}
	for _, c := range connections.Connections {
		if c.ID == story.ConnectionID {
			view.Connection = item{Name: c.Name, URL: p.root + tenantPath(v.tenant, "connections", c.Name)}
		}
	}
	view.Curl = p.curl(story.Operation)
	if story.IdempotencyKey != "" {
		view.Same = p.requestsBy(v, "idempotency_key", story.IdempotencyKey)
	}
	for _, t := range story.Tries {
		row := tryRow{ProviderTry: t, After: duration(t.AfterMs), Took: duration(t.TookMs)}
		if t.Outcome == "" {
			row.Outcome, row.Took = "went on after the answer", ""
		}
		for _, e := range t.Exchanges {
			result := e.Failure
			if e.Status != 0 {
				result = strconv.Itoa(e.Status)
			}
			row.HTTP = append(row.HTTP, e.Method+" "+result+" in "+duration(e.TookMs))
		}
		view.Tries = append(view.Tries, row)
	}
	return reply{page: "request.html", view: view}, nil
}

// duration writes milliseconds for people.
func duration(ms float64) string {
	switch {
	case ms < 10:
		return strconv.FormatFloat(ms, 'f', 1, 64) + " ms"
	case ms < 1000:
		return strconv.FormatFloat(ms, 'f', 0, 64) + " ms"
	}
	return strconv.FormatFloat(ms/1000, 'f', 1, 64) + " s"
}
