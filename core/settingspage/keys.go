package settingspage

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	"frontdesk/core/admin"
	"frontdesk/core/apikey"
	"frontdesk/core/fault"
)

const (
	keysRoot = tenantRoot + "/keys"
	keyRoot  = keysRoot + "/{key}"
)

var keyRoutes = []route{
	{http.MethodGet, keysRoot, "settings-keys", (*Pages).keys},
	{http.MethodPost, keysRoot, "settings-create-key", (*Pages).createKey},
	{http.MethodGet, keyRoot + "/roll", "settings-roll-key", (*Pages).askToRoll},
	{http.MethodPost, keyRoot + "/roll", "settings-roll-key", (*Pages).rollKey},
	{http.MethodGet, keyRoot + "/revoke", "settings-revoke-key", (*Pages).askToRevoke},
	{http.MethodPost, keyRoot + "/revoke", "settings-revoke-key", (*Pages).revokeKey},
}

// keyRow is an API key in a list.
type keyRow struct {
	admin.Key
	keyState
}

func (p *Pages) keyRow(k admin.Key) keyRow {
	return keyRow{k, p.keyState(k.Label, k.LastUsedAt, k.EndsAt, k.RevokedAt)}
}

// keyState says whether a key works.
type keyState struct {
	State    string // in words
	Live     bool   // it works, and for longer than an overlap
	Works    bool
	LastUsed string
	use      string // what it is for, and when it was last used
}

func (s keyState) works() bool { return s.Works }

func (p *Pages) keyState(label string, used, ends, revoked *time.Time) keyState {
	s := keyState{LastUsed: lastUsed(used)}
	s.use = "It is for: " + cmp.Or(label, "no label says what") + ". It was last used: " + s.LastUsed + "."
	switch {
	case revoked != nil:
		s.State = "revoked " + moment(*revoked)
	case ends != nil && !p.opts.Now().Before(*ends):
		s.State = "ended " + moment(*ends)
	case ends != nil:
		s.State, s.Works = "ends "+moment(*ends), true
	default:
		s.State, s.Live, s.Works = "works", true, true
	}
	return s
}

func lastUsed(at *time.Time) string { return cmp.Or(momentOf(at), "never") }

type keysView struct {
	layout
	keyTables[keyRow]
	Label       field
	Scopes      []check
	Connections []check
	Test        bool
	Rest        []fault.Field
}

// check is a box to tick.
type check struct {
	Name, Value, Label string
	On                 bool
}

// scopeChecks returns the boxes of a form's scopes, which are all ticked at first.
func (v *visit) scopeChecks() (all []check) {
	for _, s := range apikey.Scopes() {
		on := v.r.PostForm == nil || slices.Contains(v.scopes(), s)
		all = append(all, check{"scopes", string(s), string(s), on})
	}
	return all
}

// scopes returns the scopes that are ticked in a form.
func (v *visit) scopes() (ticked []apikey.Scope) {
	for _, s := range v.r.PostForm["scopes"] {
		ticked = append(ticked, apikey.Scope(s))
	}
	return ticked
}

// keyTable is a table of keys.
type keyTable[R any] struct {
	Rows      []R
	MayChange bool
	At        string // the path of the keys
}

// keyTables are the keys that work, and those that do not any more.
type keyTables[R any] struct{ Keys, Over keyTable[R] }

// maxKeysOver is how many keys that do not work any more are shown, the newest first.
const maxKeysOver = 50

// tablesOf returns the tables of keys at a path, which are given with the newest last.
func tablesOf[K any, R interface{ works() bool }](v *visit, at string, keys []K, rowOf func(K) R) keyTables[R] {
	table := keyTable[R]{MayChange: v.mayChange(), At: at}
	tables := keyTables[R]{table, table}
	for _, k := range slices.Backward(keys) {
		switch row := rowOf(k); {
		case row.works():
			tables.Keys.Rows = append(tables.Keys.Rows, row)
		case len(tables.Over.Rows) < maxKeysOver:
			tables.Over.Rows = append(tables.Over.Rows, row)
		}
	}
	return tables
}

func (p *Pages) keys(v *visit) (reply, error) { return p.showKeys(v, nil) }

func (p *Pages) showKeys(v *visit, wrong error) (reply, error) {
	all, err := p.opts.Admin.ListKeys(v.ctx, v.caller, v.tenant)
	if err != nil {
		return reply{}, err
	}
	connections, err := p.opts.Admin.ListConnections(v.ctx, v.caller, v.tenant)
	if err != nil {
		return reply{}, err
	}
	view := keysView{
		layout: p.layout(v, "API keys of "+v.tenant, "With a key, a voice agent's backend calls the gateway.",
			shell("key", "list", "--tenant", v.tenant),
			shell("key", "create", "--tenant", v.tenant, "--label", "agent", "--scope", "calendar:write"),
			shell("key", "roll", "ID", "--overlap", "24h"), shell("key", "revoke", "ID")),
		keyTables: tablesOf(v, p.root+tenantPath(v.tenant, "keys"), all.Keys, p.keyRow),
		Scopes:    v.scopeChecks(), Test: v.form("test") != "",
	}
	for _, c := range connections.Connections {
		on := slices.Contains(v.r.PostForm["connections"], c.Name)
		view.Connections = append(view.Connections, check{"connections", c.Name, c.Name + " (" + c.Kind + ")", on})
	}
	fields, rest := withFaults([]field{{
		Name: "label", Label: "What the key is for", Type: "text", Value: v.form("label"),
		Help: "Such as the agent's name.",
	}}, wrong)
	view.Label, view.Rest = fields[0], rest
	if view.Steps, err = p.steps(v, v.tenant); err != nil {
		return reply{}, err
	}
	return formPage("keys.html", view, wrong), nil
}

type newKeyView struct {
	layout
	Secret string
	Key    keyRow
	Ends   string // when the key that it replaces ends; "": it replaces none
	Back   string
}

// createKey creates a key and shows it, once.
func (p *Pages) createKey(v *visit) (reply, error) {
	spec := apikey.Spec{
		Label: v.form("label"), Scopes: v.scopes(), Test: v.form("test") != "",
		Connections: v.r.PostForm["connections"],
	}
	if len(spec.Scopes) == 0 {
		return p.showKeys(v, fault.InvalidField("scopes", "must name at least one thing that the key may do."))
	}
	made, err := p.opts.Admin.CreateKey(v.ctx, v.caller, v.once(),
		admin.NewKey{Tenant: v.tenant, Spec: spec})
	if isInvalid(err) {
		return p.showKeys(v, err)
	}
	if err != nil {
		return reply{}, err
	}
	return p.showNewKey(v, made.Record, "")
}

func (p *Pages) showNewKey(v *visit, made admin.CreatedKey, ends string) (reply, error) {
	view := newKeyView{
		layout: p.layout(v, "The new API key", ""), Secret: made.Secret, Key: p.keyRow(made.Key), Ends: ends,
		Back: p.root + tenantPath(v.tenant, "keys"),
	}
	if steps, err := p.steps(v, v.tenant); err == nil { // the key is shown in any case: it is made
		view.Steps = withSecret(steps, made.Secret)
	}
	return reply{page: "new-key.html", view: view}, nil
}

// key returns the key that the path names.
func (p *Pages) key(v *visit) (keyRow, error) {
	all, err := p.opts.Admin.ListKeys(v.ctx, v.caller, v.tenant)
	if err != nil {
		return keyRow{}, err
	}
	id := v.path("key")
	k, err := pick(all.Keys, func(k admin.Key) bool { return k.ID == id }, apikey.NotFound(shorten(id)))
	return p.keyRow(k), err
}

func (p *Pages) askToRoll(v *visit) (reply, error) {
	k, err := p.key(v)
	if err != nil {
		return reply{}, err
	}
	return askForOverlap(rollPage{
		layout: p.layout(v, "Roll the key "+k.Prefix+"…",
			"A new key takes its place. Both work until the old one ends. "+k.use,
			shell("key", "roll", k.ID, "--overlap", "24h")),
		Label: "The old key ends", Action: "Create the new key", Back: p.root + tenantPath(v.tenant, "keys"),
	}), nil
}

func (p *Pages) rollKey(v *visit) (reply, error) {
	overlap, err := v.overlap()
	if err != nil {
		return reply{}, err
	}
	made, err := p.opts.Admin.RollKey(v.ctx, v.caller, v.once(), admin.RollKey{
		KeyID: admin.KeyID{Tenant: v.tenant, ID: v.path("key")}, Overlap: &overlap,
	})
	if err != nil {
		return reply{}, err
	}
	return p.showNewKey(v, made.Record, moment(made.Record.CreatedAt.Add(overlap)))
}

func (p *Pages) askToRevoke(v *visit) (reply, error) {
	k, err := p.key(v)
	if err != nil {
		return reply{}, err
	}
	return reply{page: "confirm.html", view: confirmView{
		layout: p.layout(v, "Revoke the key "+k.Prefix+"…?", "", shell("key", "revoke", k.ID)),
		Means:  []string{"It stops working within 5 seconds, and cannot be brought back.", k.use},
		Action: "Revoke the key", Back: p.root + tenantPath(v.tenant, "keys"),
	}}, nil
}

func (p *Pages) revokeKey(v *visit) (reply, error) {
	_, err := p.opts.Admin.RevokeKey(v.ctx, v.caller,
		admin.KeyID{Tenant: v.tenant, ID: v.path("key")})
	return p.done(v, err, "The key was revoked.", tenantPath(v.tenant, "keys"))
}
