package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"frontdesk/core/admin"
	"frontdesk/core/fault"
	"frontdesk/core/gateway"
	"frontdesk/core/webhook"
)

type webhookAdd struct {
	Tenant string   `help:"Send the events of this tenant. The default is those of all tenants." placeholder:"NAME"`
	URL    string   `name:"url" required:"" help:"Where to send events to, by https." placeholder:"URL"`
	Event  []string `help:"A type of event to send, such as connection.reconnect_required. Repeat for more; the default is all." placeholder:"E"`
}

// Help returns the text that is shown with the flags.
func (webhookAdd) Help() string {
	return "Events are sent by the scheme of Standard Webhooks: verify the signature with one of its libraries " +
		"and the secret that is printed. Types of events: " + strings.Join(webhook.Types(), ", ") + ".\n\n" +
		"An event is sent again until it is acknowledged with a status of 2xx, for a day. It may arrive twice, " +
		"with the same webhook-id. Events about one connection arrive in order. An answer of 410 disables the " +
		"webhook."
}

// Run creates the webhook. It prints only the secret on standard output.
func (c webhookAdd) Run(ctx context.Context, s *session) error {
	return s.with(ctx, func(g *gateway.Gateway) error {
		made, err := g.Admin().CreateWebhook(ctx, operator(), admin.Write{}, admin.NewWebhook{
			Tenant: c.Tenant, Spec: webhook.Spec{URL: c.URL, Types: c.Event},
		})
		if err != nil {
			return err
		}
		fmt.Fprintf(s.err, "Created webhook %s. Its signing secret is shown only once; keep it in a safe place.\n",
			made.Record.ID)
		_, err = fmt.Fprintln(s.out, made.Record.Secret)
		return err
	})
}

type webhookList struct {
	Tenant string `help:"List the webhooks of this tenant only." placeholder:"NAME"`
	JSON   bool   `help:"Print JSON."`
}

// Run lists the webhooks.
func (c webhookList) Run(ctx context.Context, s *session) error {
	return s.with(ctx, func(g *gateway.Gateway) error {
		all, err := webhooksOf(ctx, g, c.Tenant)
		if err != nil {
			return err
		}
		rows := make([][]string, 0, len(all))
		for _, w := range all {
			rows = append(rows, []string{
				w.ID, cmp.Or(w.Tenant, "-"), w.URL, cmp.Or(strings.Join(w.Events, ","), "all"),
				moment(valueOf(w.FormerUntil)), moment(valueOf(w.DisabledAt)),
			})
		}
		return s.list(c.JSON, all, []string{"ID", "TENANT", "URL", "EVENTS", "FORMER SECRET UNTIL", "DISABLED"},
			rows)
	})
}

// webhooksOf lists the webhooks of a tenant, or all.
func webhooksOf(ctx context.Context, g *gateway.Gateway, tenantName string) ([]admin.Webhook, error) {
	if tenantName == "" {
		all, err := g.Admin().ListAllWebhooks(ctx, operator())
		return all.Webhooks, err
	}
	all, err := g.Admin().ListWebhooks(ctx, operator(), tenantName)
	return all.Webhooks, err
}

type webhookRemove struct {
	ID string `arg:"" help:"The webhook's id, as \"webhook list\" shows it."`
}

// Run removes the webhook.
func (c webhookRemove) Run(ctx context.Context, s *session) error {
	return s.with(ctx, func(g *gateway.Gateway) error {
		n, err := g.Admin().FindWebhook(ctx, operator(), c.ID)
		if err != nil {
			return err
		}
		_, err = g.Admin().RemoveWebhook(ctx, operator(), n)
		return err
	})
}

type webhookRoll struct {
	ID      string        `arg:"" help:"The webhook's id, as \"webhook list\" shows it."`
	Overlap time.Duration `help:"How long deliveries are signed with the former secret as well, from 0 to 720h." default:"24h" placeholder:"24h"`
}

// Run gives the webhook a new secret. It prints only the secret on standard output.
func (c webhookRoll) Run(ctx context.Context, s *session) error {
	return s.with(ctx, func(g *gateway.Gateway) error {
		n, err := g.Admin().FindWebhook(ctx, operator(), c.ID)
		if err != nil {
			return err
		}
		made, err := g.Admin().RollWebhook(ctx, operator(), admin.Write{},
			admin.RollWebhook{WebhookID: n, Overlap: &c.Overlap})
		if err != nil {
			return err
		}
		former := "nothing any more"
		if until := valueOf(made.Record.FormerUntil); !until.IsZero() {
			former = "as well until " + moment(until)
		}
		fmt.Fprintf(s.err, "The webhook %s has a new signing secret, shown only once. The former one signs %s.\n",
			c.ID, former)
		_, err = fmt.Fprintln(s.out, made.Record.Secret)
		return err
	})
}

type webhookTest struct {
	ID string `arg:"" help:"The webhook's id, as \"webhook list\" shows it."`
}

// Run sends a test, and fails unless it is acknowledged.
func (c webhookTest) Run(ctx context.Context, s *session) error {
	return s.with(ctx, func(g *gateway.Gateway) error {
		n, err := g.Admin().FindWebhook(ctx, operator(), c.ID)
		if err != nil {
			return err
		}
		done, err := g.Admin().TestWebhook(ctx, operator(), n)
		if err != nil {
			return err
		}
		if !done.OK {
			return fault.Newf(fault.Unavailable, done.Reason, "The receiver did not acknowledge the test (%s). Check "+
				"the address, its certificate, and what the receiver logs.", done.Reason)
		}
		_, err = fmt.Fprintf(s.out, "acknowledged with status %d\n", done.Status)
		return err
	})
}

type webhookDeliveries struct {
	Webhook string `help:"List those of this webhook only." placeholder:"ID"`
	Resend  string `help:"Send this delivery again, with the same webhook-id, in place of listing." placeholder:"ID"`
	JSON    bool   `help:"Print JSON."`
}

// Run lists deliveries, or sends one again.
func (c webhookDeliveries) Run(ctx context.Context, s *session) error {
	return s.with(ctx, func(g *gateway.Gateway) error {
		if c.Resend != "" {
			n, err := g.Admin().FindDelivery(ctx, operator(), c.Resend)
			if err != nil {
				return err
			}
			_, err = g.Admin().ResendDelivery(ctx, operator(), n)
			return err
		}
		all, err := c.find(ctx, g)
		if err != nil {
			return err
		}
		rows := make([][]string, 0, len(all))
		for _, d := range all {
			rows = append(rows, []string{
				d.ID, d.Webhook, cmp.Or(d.Tenant, "-"), d.Type, d.State, strconv.Itoa(d.Attempts), cmp.Or(d.Reason, "-"),
				moment(d.CreatedAt), moment(valueOf(d.EndedAt)),
			})
		}
		return s.list(c.JSON, all, []string{"ID", "WEBHOOK", "TENANT", "EVENT", "STATE", "ATTEMPTS", "REASON",
			"CREATED",
			"ENDED"}, rows)
	})
}

// deliveryRow is a delivery with its webhook.
type deliveryRow struct {
	Webhook string `json:"webhook"`
	admin.Delivery
}

// find returns the newest deliveries of each webhook that is asked for, the oldest of them first.
func (c webhookDeliveries) find(ctx context.Context, g *gateway.Gateway) ([]deliveryRow, error) {
	var asked []admin.WebhookID
	if c.Webhook != "" {
		n, err := g.Admin().FindWebhook(ctx, operator(), c.Webhook)
		if err != nil {
			return nil, err
		}
		asked = append(asked, n)
	} else {
		webhooks, err := webhooksOf(ctx, g, "")
		if err != nil {
			return nil, err
		}
		for _, w := range webhooks {
			asked = append(asked, admin.WebhookID{Tenant: w.Tenant, ID: w.ID})
		}
	}
	all := []deliveryRow{}
	for _, n := range asked {
		listed, err := g.Admin().ListDeliveries(ctx, operator(), n)
		if err != nil {
			return nil, err
		}
		for _, d := range listed.Deliveries {
			all = append(all, deliveryRow{n.ID, d})
		}
	}
	slices.SortStableFunc(all, func(a, b deliveryRow) int { return a.CreatedAt.Compare(b.CreatedAt) })
	return all, nil
}
