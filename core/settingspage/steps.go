package settingspage

import (
	"slices"
	"strings"

	"frontdesk/core/adapter"
	"frontdesk/core/admin"
)

// step is one of the steps from an empty gateway to a first meeting.
type step struct {
	Title string
	Done  bool
	Next  bool // it is the first that is not done
	Text  string
	Links []item
	Curl  string // the command that does it; "": a page does
}

// steps returns the steps that lead a newcomer. There are none when all are done, which is when the tenant's
// agents have called the gateway, nor for a viewer. An empty name stands for a tenant that does not exist
// yet.
func (p *Pages) steps(v *visit, tenantName string) ([]step, error) {
	if !v.mayChange() {
		return nil, nil
	}
	var calendar, key bool
	if tenantName != "" {
		asked, err := p.opts.Admin.ListRequests(v.ctx, v.caller, admin.RequestQuery{Tenant: tenantName, Limit: 1})
		if err != nil || len(asked.Requests) > 0 {
			return nil, err
		}
		connections, err := p.opts.Admin.ListConnections(v.ctx, v.caller, tenantName)
		if err != nil {
			return nil, err
		}
		for _, c := range connections.Connections {
			calendar = calendar || c.Kind == string(adapter.KindCalendar)
		}
		keys, err := p.opts.Admin.ListKeys(v.ctx, v.caller, tenantName)
		if err != nil {
			return nil, err
		}
		for _, k := range keys.Keys {
			key = key || p.keyRow(k).Works
		}
	}
	at := p.root + tenantPath(tenantName)
	all := []step{{
		Title: "Create a tenant", Done: tenantName != "",
		Text: "A tenant is a customer, with connections and API keys of its own. Name it below.",
	}, {
		Title: "Connect a calendar", Done: calendar,
		Text: "The sandbox is a calendar for trying, for which you need no account.",
		Links: []item{
			{Name: "Use the sandbox", URL: at + "/add-connection/calendar/sandbox"},
			{Name: "Connect a real one", URL: at + "/add-connection"},
		},
	}, {
		Title: "Create an API key", Done: key, Text: "With it, a voice agent's backend calls the gateway.",
		Links: []item{{Name: "Create a key", URL: at + "/keys"}},
	}, p.firstBooking(at)}
	next := slices.IndexFunc(all, func(s step) bool { return !s.Done })
	all[next].Next = true // the last step is never done: the steps vanish with it
	return all, nil
}

// yourKey stands for the API key in commands.
const yourKey = "YOUR_KEY"

// firstBooking returns the last step, for the tenant whose pages are at that path.
func (p *Pages) firstBooking(at string) step {
	return step{
		Title: "Book a first meeting",
		Text:  "Try it on a page, or paste this into a terminal with your key in the place of " + yourKey + ".",
		Links: []item{{Name: "Try it", URL: at + "/try/bookMeeting"}},
		Curl:  p.curl("bookMeeting"),
	}
}

// withSecret returns the steps with the secret of a key that was just created.
func withSecret(steps []step, secret string) []step {
	for i := range steps {
		if s := &steps[i]; s.Curl != "" {
			s.Text = "Try it on a page, or paste this into a terminal. It has the new key."
			s.Curl = strings.ReplaceAll(s.Curl, yourKey, secret)
		}
	}
	return steps
}
