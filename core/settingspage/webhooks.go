package settingspage

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"frontdesk/core/admin"
	"frontdesk/core/fault"
	"frontdesk/core/webhook"
)

// webhookRoutes returns the pages about the webhooks of a tenant, and those about the operator's.
func webhookRoutes() []route {
	var all []route
	for _, root := range []string{tenantRoot + "/webhooks", Root + "/webhooks"} {
		one := root + "/{webhook}"
		all = append(all,
			route{http.MethodGet, root, "settings-webhooks", (*Pages).webhooks},
			route{http.MethodPost, root, "settings-create-webhook", (*Pages).createWebhook},
			route{http.MethodGet, one, "settings-webhook", (*Pages).webhook},
			route{http.MethodPost, one + "/test", "settings-test-webhook", (*Pages).testWebhook},
			route{http.MethodGet, one + "/roll", "settings-roll-webhook", (*Pages).askToRollWebhook},
			route{http.MethodPost, one + "/roll", "settings-roll-webhook", (*Pages).rollWebhook},
			route{http.MethodGet, one + "/remove", "settings-remove-webhook", (*Pages).askToRemoveWebhook},
			route{http.MethodPost, one + "/remove", "settings-remove-webhook", (*Pages).removeWebhook},
			route{http.MethodPost, one + "/deliveries/{delivery}/resend", "settings-resend-delivery", (*Pages).resend},
		)
	}
	return all
}

// webhooksPath returns the path of the webhooks' list, below the root.
func webhooksPath(v *visit) string {
	if v.tenant == "" {
		return "/webhooks"
	}
	return tenantPath(v.tenant, "webhooks")
}

// webhookPath returns the path of the page of a webhook, below the root.
func webhookPath(v *visit, id string) string { return webhooksPath(v) + "/" + url.PathEscape(id) }

// whose returns how the command line names the owner of the webhooks.
func whose(v *visit) []string {
	if v.tenant == "" {
		return nil
	}
	return []string{"--tenant", v.tenant}
}

func webhookID(v *visit) admin.WebhookID {
	return admin.WebhookID{Tenant: v.tenant, ID: v.path("webhook")}
}

// webhookRow is a webhook in a list.
type webhookRow struct {
	admin.Webhook
	Page   string // the address of its page
	Takes  string // the events, in words
	State  string
	Works  bool
	Former string // until when the former secret signs as well; "": there is none
}

func (p *Pages) webhookRow(v *visit, w admin.Webhook) webhookRow {
	row := webhookRow{
		Webhook: w, Page: p.root + webhookPath(v, w.ID), Takes: "all events", State: "takes events",
		Works: w.DisabledAt == nil, Former: momentOf(w.FormerUntil),
	}
	if len(w.Events) > 0 {
		row.Takes = strings.Join(w.Events, ", ")
	}
	if !row.Works {
		row.State = "its receiver wanted no more, " + moment(*w.DisabledAt)
	}
	return row
}

type webhooksView struct {
	layout
	Rows   []webhookRow
	URL    field
	Events []check
	Rest   []fault.Field
}

func (p *Pages) webhooks(v *visit) (reply, error) { return p.showWebhooks(v, nil) }

func (p *Pages) showWebhooks(v *visit, wrong error) (reply, error) {
	all, err := p.opts.Admin.ListWebhooks(v.ctx, v.caller, v.tenant)
	if err != nil {
		return reply{}, err
	}
	title, lead := "Webhooks", "What happens at any tenant is sent to these addresses."
	if v.tenant != "" {
		title, lead = "Webhooks of "+v.tenant, "What happens at its connections and numbers is sent to these addresses."
	}
	add := append([]string{"webhook", "add", "--url", "https://platform.example.com/hooks"}, whose(v)...)
	view := webhooksView{layout: p.layout(v, title, lead,
		shell(append([]string{"webhook", "list"}, whose(v)...)...), shell(add...))}
	for _, w := range all.Webhooks {
		view.Rows = append(view.Rows, p.webhookRow(v, w))
	}
	for _, name := range webhook.Types() {
		on := slices.Contains(v.r.PostForm["events"], name)
		view.Events = append(view.Events, check{"events", name, name, on})
	}
	fields, rest := withFaults([]field{{
		Name: "url", Label: "Address", Type: "text", Value: v.form("url"), Required: true,
		Help: "An https address that verifies the signature by the scheme of Standard Webhooks.",
	}}, wrong)
	view.URL, view.Rest = fields[0], rest
	return formPage("webhooks.html", view, wrong), nil
}

// secretView shows a secret, once.
type secretView struct {
	layout
	Label  string // what it is
	Secret string
	Means  []string
	Back   string
	Action string // the words of the link back
}

func (p *Pages) createWebhook(v *visit) (reply, error) {
	made, err := p.opts.Admin.CreateWebhook(v.ctx, v.caller, v.once(), admin.NewWebhook{
		Tenant: v.tenant, Spec: webhook.Spec{URL: v.form("url"), Types: v.r.PostForm["events"]},
	})
	if isInvalid(err) {
		return p.showWebhooks(v, err)
	}
	if err != nil {
		return reply{}, err
	}
	return p.showSigningSecret(v, "The new webhook", made.Record,
		"Send a test from the webhook's page once the receiver has the secret.")
}

func (p *Pages) showSigningSecret(
	v *visit, title string, w admin.CreatedWebhook, means ...string,
) (reply, error) {
	return reply{page: "secret.html", view: secretView{
		layout: p.layout(v, title, ""), Label: "Signing secret", Secret: w.Secret, Means: means,
		Back: p.root + webhookPath(v, w.ID), Action: "Go to the webhook",
	}}, nil
}

// oneWebhook returns the webhook that the path names.
func (p *Pages) oneWebhook(v *visit) (webhookRow, error) {
	all, err := p.opts.Admin.ListWebhooks(v.ctx, v.caller, v.tenant)
	if err != nil {
		return webhookRow{}, err
	}
	w, err := pick(all.Webhooks, func(w admin.Webhook) bool { return w.ID == v.path("webhook") }, webhook.NotFound())
	return p.webhookRow(v, w), err
}

// deliveryRow is a delivery in a list.
type deliveryRow struct {
	admin.Delivery
	Created string
	Outcome string // in words
	Good    bool
	Bad     bool
	Resend  string // where the form to send it again leads
}

// deliveryStates are the words for the states of deliveries.
var deliveryStates = map[string]string{
	"waiting": "waits", "delivered": "acknowledged", "failed": "given up",
}

// webhook shows a webhook with its deliveries.
func (p *Pages) webhook(v *visit) (reply, error) {
	found, err := p.oneWebhook(v)
	if err != nil {
		return reply{}, err
	}
	all, err := p.opts.Admin.ListDeliveries(v.ctx, v.caller, webhookID(v))
	if err != nil {
		return reply{}, err
	}
	state := v.r.URL.Query().Get("state")
	if deliveryStates[state] == "" {
		state = ""
	}
	view := struct {
		layout
		Webhook webhookRow
		Rows    []deliveryRow
		State   string
		States  []choice
	}{
		layout: p.layout(v, "Webhook", "", shell("webhook", "test", found.ID), shell("webhook", "roll", found.ID),
			shell("webhook", "deliveries", "--webhook", found.ID), shell("webhook", "remove", found.ID)),
		Webhook: found, State: state,
		States: []choice{{"", "all"}, {"waiting", "that wait"}, {"delivered", "acknowledged"},
			{"failed", "given up"}},
	}
	for _, d := range slices.Backward(all.Deliveries) {
		if state != "" && d.State != state {
			continue
		}
		row := deliveryRow{
			Delivery: d, Created: moment(d.CreatedAt), Outcome: deliveryStates[d.State], Good: d.State == "delivered", Bad: d.State == "failed",
			Resend: found.Page + "/deliveries/" + url.PathEscape(d.ID) + "/resend",
		}
		if d.State == "waiting" && d.NextAt != nil {
			row.Outcome += " until " + moment(*d.NextAt)
		}
		view.Rows = append(view.Rows, row)
	}
	return reply{page: "webhook.html", view: view}, nil
}

func (p *Pages) testWebhook(v *visit) (reply, error) {
	done, err := p.opts.Admin.TestWebhook(v.ctx, v.caller, webhookID(v))
	if err != nil {
		return reply{}, err
	}
	n := good("The receiver acknowledged the test with " + strconv.Itoa(done.Status) + ".")
	if !done.OK {
		n = notice{
			Text: "The receiver did not acknowledge the test: " + done.Reason + ".",
			Advice: fmt.Sprintf("It has to answer with 200 to 299 within %.0f seconds. Check its address, and that it "+
				"verifies the signature.", webhook.AnswerWithin.Seconds()),
		}
	}
	p.notify(v, n)
	return see(webhookPath(v, v.path("webhook")))
}

func (p *Pages) askToRollWebhook(v *visit) (reply, error) {
	found, err := p.oneWebhook(v)
	if err != nil {
		return reply{}, err
	}
	return askForOverlap(rollPage{
		layout: p.layout(v, "Give the webhook a new secret",
			"Deliveries are signed with both secrets until the old one ends.", shell("webhook", "roll", found.ID)),
		Label: "The old secret ends", Action: "Create the new secret", Back: found.Page,
	}), nil
}

func (p *Pages) rollWebhook(v *visit) (reply, error) {
	overlap, err := v.overlap()
	if err != nil {
		return reply{}, err
	}
	made, err := p.opts.Admin.RollWebhook(v.ctx, v.caller, v.once(),
		admin.RollWebhook{WebhookID: webhookID(v), Overlap: &overlap})
	if err != nil {
		return reply{}, err
	}
	means := "The former secret signs no more."
	if made.Record.FormerUntil != nil {
		means = "The former secret signs as well until " + moment(*made.Record.FormerUntil) + "."
	}
	return p.showSigningSecret(v, "The new secret", made.Record, means)
}

func (p *Pages) askToRemoveWebhook(v *visit) (reply, error) {
	found, err := p.oneWebhook(v)
	if err != nil {
		return reply{}, err
	}
	return reply{page: "confirm.html", view: confirmView{
		layout: p.layout(v, "Remove the webhook?", "", shell("webhook", "remove", found.ID)),
		Means: []string{
			"Nothing more is sent to " + found.URL + ".", "Its deliveries are removed, those that wait among them.",
		},
		Action: "Remove the webhook", Back: found.Page,
	}}, nil
}

func (p *Pages) removeWebhook(v *visit) (reply, error) {
	_, err := p.opts.Admin.RemoveWebhook(v.ctx, v.caller, webhookID(v))
	return p.done(v, err, "The webhook was removed.", webhooksPath(v))
}

func (p *Pages) resend(v *visit) (reply, error) {
	sent, err := p.opts.Admin.ResendDelivery(v.ctx, v.caller,
		admin.DeliveryID{WebhookID: webhookID(v), Delivery: v.path("delivery")})
	return p.done(v, err, "The event "+sent.Type+" is sent again.", webhookPath(v, v.path("webhook")))
}
