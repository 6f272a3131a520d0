package main

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"frontdesk/core/admin"
)

// A tenant is exported whole, by program and by command, without secrets and without anything of another one.
func TestATenantIsExported(t *testing.T) {
	t.Parallel()
	onBothStores(t, func(t *testing.T, store string) {
		d := newDeployment(t, store, "FRONTDESK_PAGES__RETURN_URLS=https://platform.example.com/")
		secrets := map[string][]string{}
		for _, name := range []string{"acme", "zebra"} {
			d.must("tenant", "create", name)
			for _, kind := range []string{"calendar", "crm", "telephony"} {
				d.must("connection", "add", "--tenant", name, "--kind", kind, "--provider", "sandbox", "--name", name+"-"+kind)
			}
			key := d.must("key", "create", "--tenant", name, "--label", name+"-agent")
			adminKey := d.must("admin", "key", "create", "--tenant", name, "--label", name+"-platform")
			hook := d.must("webhook", "add", "--tenant", name, "--url", "https://platform.example.com/"+name)
			secrets[name] = []string{key, adminKey, hook}
		}
		operator := d.must("admin", "key", "create")
		r := d.serve()
		for name, s := range secrets {
			agent := r.as(s[0])
			agent.do(http.StatusOK, http.MethodPost, "/v1/calendar/book-meeting",
				`{"title":"`+name+` consultation","start_time":"2030-03-04T10:00:00Z","end_time":"2030-03-04T10:30:00Z"}`)
			agent.do(http.StatusOK, http.MethodPost, "/v1/tickets/create-ticket",
				`{"subject":"`+name+` question","description":"Why?"}`)
			agent.do(http.StatusCreated, http.MethodPost, "/beta/phone-numbers", `{"area_code":"415","name":"`+name+` line"}`)
		}
		const path = adminTenants + "/acme/export"
		page := func(key string, after string) (export admin.Export) {
			t.Helper()
			got := r.as(key).do(http.StatusOK, http.MethodGet, path+"?limit=7&after="+url.QueryEscape(after), "")
			if err := json.Unmarshal(got.body, &export); err != nil {
				t.Fatal(err)
			}
			return export
		}
		following := page(secrets["acme"][1], "").Next
		var other admin.Export
		got := r.as(secrets["zebra"][1]).do(http.StatusOK, http.MethodGet, adminTenants+"/zebra/export?limit=7", "")
		if err := json.Unmarshal(got.body, &other); err != nil || other.Next == "" {
			t.Fatalf("%+v, %v", other, err)
		}
		for rule, c := range map[string]struct{ key, after string }{
			"the beginning, as it is in JSON":  {secrets["acme"][1], "e30"},
			"a position, as it is in JSON":     {secrets["acme"][1], "eyJ0IjoxfQ"},
			"no base64":                        {secrets["acme"][1], "!"},
			"a position of another tenant":     {secrets["acme"][1], other.Next},
			"a position that another key got":  {operator, following},
			"a position with another last bit": {secrets["acme"][1], following[:len(following)-2] + "AA"},
		} {
			a := r.as(c.key).do(http.StatusUnprocessableEntity, http.MethodGet, path+"?after="+url.QueryEscape(c.after), "")
			if !strings.Contains(string(a.body), `"location":"query.after"`) {
				t.Errorf("%s: %s", rule, a.body)
			}
		}
		var paged []admin.ExportRecord
		kinds := map[string]int{}
		for after := ""; ; {
			export := page(secrets["acme"][1], after)
			if export.Format != admin.ExportFormat || len(export.Records) > 7 {
				t.Fatalf("a page is %+v", export)
			}
			paged = append(paged, export.Records...)
			if after = export.Next; after == "" {
				break
			}
		}
		for _, record := range paged {
			kinds[record.Record]++
		}
		for _, want := range []string{"tenant", "connection", "key", "webhook", "number", "purchase", "ticket",
			"document", "call", "audit"} {
			if kinds[want] == 0 {
				t.Errorf("there is no %s among %v", want, kinds)
			}
		}
		r.stop()

		file := filepath.Join(t.TempDir(), "acme.jsonl")
		d.must("tenant", "export", "acme", "--output", file)
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text := string(raw)
		for _, want := range []string{"acme consultation", "acme question", "acme line", "acme-agent", "book-meeting",
			"https://platform.example.com/acme", `"record":"request"`} {
			if !strings.Contains(text, want) {
				t.Errorf("the export lacks %s", want)
			}
		}
		for _, secret := range append(secrets["acme"], "zebra", "whsec_", `"hash"`, `"mac"`) {
			if strings.Contains(text, secret) {
				t.Errorf("the export has %s", secret)
			}
		}
		if lines := strings.Count(text, "\n"); lines < len(paged) {
			t.Errorf("the command wrote %d records; by pages there are %d", lines, len(paged))
		}
		if out := d.must("tenant", "export", "acme", "--output", "-"); !strings.Contains(out, `"record":"request"`) {
			t.Errorf("to standard output the command writes %q", out)
		}
		for _, wrong := range [][]string{{"nobody"}, {"acme", "--output", file}} {
			if _, _, code := d.do("", append([]string{"tenant", "export"}, wrong...)...); code == exitOK {
				t.Errorf("tenant export %v succeeds", wrong)
			}
		}
		if rows := d.audit("--tenant", "acme", "--action", "export-tenant"); len(rows) != 4 {
			t.Errorf("the audit has %d exports", len(rows))
		}
	})
}
