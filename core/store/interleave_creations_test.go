package store_test

import (
	"context"
	"testing"
	"time"

	"frontdesk/core/store"
)

// creationBy returns the creation under a key of one actor.
func creationBy(key string, at time.Time) store.Creation {
	return store.Creation{
		Actor: "key:admin", Operation: "create", Key: key, RequestHash: []byte("hash"), CreatedAt: at,
	}
}

// recording returns the caller's context for storing a row of type R, which is recorded under the key.
func recording[R any](ctx context.Context, key string, at time.Time) context.Context {
	ctx = store.RecordCreation(ctx, creationBy(key, at), func(R, string) ([]byte, error) {
		return []byte("answer"), nil
	})
	return store.Creating(ctx, "", func(row R) (R, error) { return row, nil })
}

// populateCreations adds a creation of a tenant, and one of the operator.
func populateCreations(t *testing.T, s *store.Store) {
	t.Helper()
	must(t, s.CreateKey(recording[store.APIKey](t.Context(), "of acme", noon),
		store.APIKey{ID: "recorded", TenantID: "acme", Hash: []byte("recorded"), CreatedAt: noon}))
	must(t, s.CreateKey(recording[store.APIKey](t.Context(), "of the operator", noon.Add(time.Hour)),
		store.APIKey{ID: "the operator's", Hash: []byte("the operator's"), CreatedAt: noon}))
}

var creationOperations = []operation{
	{"CreateTenant: recorded", func(c caller) (any, error) {
		row := store.Tenant{ID: "of " + c.name, Name: "recorded " + c.name}
		return only(c.s.CreateTenant(recording[store.Tenant](c.ctx, "new", noon), row, c.audit()))
	}},
	{"CreateConnection: recorded", func(c caller) (any, error) {
		c.ctx = recording[store.Connection](c.ctx, "new", noon)
		return c.createConnection("acme", "new of "+c.name, "calendar", false)
	}},
	{"CreateConnectLink: recorded", func(c caller) (any, error) {
		ctx := recording[store.ConnectLink](c.ctx, "new", noon)
		return only(c.s.CreateConnectLink(ctx, linkRow("of "+c.name), c.audit()))
	}},
	{"CreateKey: recorded", func(c caller) (any, error) {
		key := store.APIKey{ID: "of " + c.name, TenantID: "acme", Hash: []byte("of " + c.name), CreatedAt: noon}
		return only(c.s.CreateKey(recording[store.APIKey](c.ctx, "new", noon), key, c.audit()))
	}},
	{"ReplaceKey: recorded", func(c caller) (any, error) {
		c.ctx = recording[store.APIKey](c.ctx, "new", noon)
		return c.replaceKey()
	}},
	{"CreateWebhook: recorded", func(c caller) (any, error) {
		ctx := recording[store.Webhook](c.ctx, "new", noon)
		return only(c.s.CreateWebhook(ctx, webhookRow("new of "+c.name, "acme"), 20, c.audit()))
	}},
	{"SealWebhook: recorded", func(c caller) (any, error) {
		ctx := recording[store.Webhook](c.ctx, "new", noon)
		return one(c.s.SealWebhook(ctx, webhookRow("hook", "acme"), []byte("by "+c.name), c.audit()))
	}},
	{"Creation", func(c caller) (any, error) {
		return two(c.s.Creation(c.ctx, "key:admin", "create", "of acme"))
	}},
	{"DropCreation", func(c caller) (any, error) {
		return only(c.s.DropCreation(c.ctx, creationBy("of acme", noon)))
	}},
	{"PurgeCreations", func(c caller) (any, error) {
		return one(c.s.PurgeCreations(c.ctx, noon.Add(time.Minute), 100))
	}},
}
