package main

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"frontdesk/core/admin"
	"frontdesk/core/gateway"
)

type requestList struct {
	Tenant         string `required:"" help:"The tenant's name." placeholder:"NAME"`
	RequestID      string `help:"List only requests with this X-Request-Id." placeholder:"ID"`
	Key            string `help:"List only requests of the API key with this id." placeholder:"ID"`
	Connection     string `help:"List only requests that use this connection." placeholder:"NAME"`
	Operation      string `help:"List only requests for this operation, such as bookMeeting." placeholder:"O"`
	IdempotencyKey string `help:"List only requests with this Idempotency-Key." placeholder:"KEY"`
	Failed         bool   `help:"List only requests that failed."`
	Reason         string `help:"List only requests that failed for this reason, such as SLOT_TAKEN." placeholder:"R"`
	Limit          int    `help:"List at most this many, the newest." default:"50" placeholder:"50"`
	JSON           bool   `help:"Print JSON."`
}

// Run lists a tenant's newest requests, the newest first.
func (c requestList) Run(ctx context.Context, s *session) error {
	if c.Limit < 1 || c.Limit > admin.MaxRequestLimit {
		return usage("--limit must be from 1 to %d", admin.MaxRequestLimit)
	}
	query := admin.RequestQuery{
		Tenant: c.Tenant, RequestID: c.RequestID, KeyID: c.Key, Connection: c.Connection, Operation: c.Operation,
		IdempotencyKey: c.IdempotencyKey, Reason: c.Reason, Limit: c.Limit,
	}
	if c.Failed {
		query.Outcome = admin.OutcomeFailed
	}
	return s.with(ctx, func(g *gateway.Gateway) error {
		found, err := g.Admin().ListRequests(ctx, operator(), query)
		if err != nil {
			return err
		}
		rows := make([][]string, 0, len(found.Requests))
		for _, r := range found.Requests {
			rows = append(rows, []string{
				r.ID, moment(r.At), r.Operation, strconv.Itoa(r.Status), cmp.Or(r.Reason, "-"), took(r.TookMs), r.KeyID,
				r.RequestID,
			})
		}
		return s.list(c.JSON, found.Requests, []string{"ID", "AT", "OPERATION", "STATUS", "REASON", "TOOK", "KEY",
			"REQUEST"}, rows)
	})
}

type requestShow struct {
	Tenant string `required:"" help:"The tenant's name." placeholder:"NAME"`
	ID     string `arg:"" help:"The request's id, as \"request list\" shows it."`
	JSON   bool   `help:"Print JSON."`
}

// Run shows a request with each call of a provider that it made.
func (c requestShow) Run(ctx context.Context, s *session) error {
	return s.with(ctx, func(g *gateway.Gateway) error {
		r, err := g.Admin().GetRequest(ctx, operator(), admin.RequestName{Tenant: c.Tenant, ID: c.ID})
		if err != nil {
			return err
		}
		var rows [][]string
		for _, t := range r.Tries {
			rows = append(rows, []string{
				took(t.AfterMs), t.Provider, t.Operation, cmp.Or(t.Outcome, "runs on"), cmp.Or(t.Reason,
					"-"), took(t.TookMs),
				exchanges(t.Exchanges),
			})
		}
		if !c.JSON {
			fmt.Fprintf(s.out, "%s %s by %s: %d %s after %s\n", moment(r.At), r.Operation, r.KeyID, r.Status,
				cmp.Or(r.Reason, "ok"), took(r.TookMs))
		}
		return s.list(c.JSON, r, []string{"AFTER", "PROVIDER", "CALL", "OUTCOME", "REASON", "TOOK", "HTTP"}, rows)
	})
}

func took(ms float64) string { return strconv.FormatFloat(ms, 'f', 1, 64) + " ms" }

// exchanges describes HTTP requests, such as "GET 200, POST timeout".
func exchanges(all []admin.HTTPExchange) string {
	var each []string
	for _, e := range all {
		outcome := e.Failure
		if e.Status != 0 {
			outcome = strconv.Itoa(e.Status)
		}
		each = append(each, e.Method+" "+outcome)
	}
	return cmp.Or(strings.Join(each, ", "), "-")
}

type connectionHealth struct {
	Tenant string `required:"" help:"The tenant's name." placeholder:"NAME"`
	Name   string `arg:"" help:"The connection's name."`
	JSON   bool   `help:"Print JSON."`
}

// Run says whether a connection works, from the requests that used it.
func (c connectionHealth) Run(ctx context.Context, s *session) error {
	return s.with(ctx, func(g *gateway.Gateway) error {
		h, err := g.Admin().ConnectionHealth(ctx, operator(), admin.ConnectionName{Tenant: c.Tenant, Name: c.Name})
		if err != nil {
			return err
		}
		h.CircuitBreaker = "" // this process calls nobody
		if c.JSON {
			return s.list(true, h, nil, nil)
		}
		state := h.State
		if h.Since != nil {
			state += " since " + moment(*h.Since)
		}
		fmt.Fprintln(s.out, strings.TrimSpace(state+" "+h.Reason))
		fmt.Fprintln(s.out, h.Advice)
		fmt.Fprintf(s.out, "last success %s, last failure %s\n", moment(valueOf(h.LastSuccessAt)),
			moment(valueOf(h.LastFailureAt)))
		_, err = fmt.Fprintf(s.out, "in the last hour %d requests, %d failed, median %s, 95th percentile %s\n",
			h.LastHour.Requests, h.LastHour.Failed, took(h.LastHour.P50Ms), took(h.LastHour.P95Ms))
		return err
	})
}
