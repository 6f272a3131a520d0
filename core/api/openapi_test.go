package api

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/getkin/kin-openapi/openapi3"
)

func documents(t *testing.T, address string) (asYAML, asJSON []byte) {
	t.Helper()
	asYAML, asJSON, err := Document(Options{PublicURL: address, Version: "1.0.0"})
	if err != nil {
		t.Fatal(err)
	}
	return asYAML, asJSON
}

func TestTheDocumentIsWritten(t *testing.T) {
	asYAML, _ := documents(t, "http://127.0.0.1:8080")
	golden(t, "openapi.golden.yaml", asYAML)
}

func TestTheDocumentIsValidAndItsExamplesFitItsSchemas(t *testing.T) {
	asYAML, asJSON := documents(t, publicURL)
	for name, document := range map[string][]byte{"YAML": asYAML, "JSON": asJSON} {
		doc, err := openapi3.NewLoader().LoadFromData(document)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := doc.Validate(context.Background(), openapi3.EnableExamplesValidation()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTheDocumentIsServedAsItIsPrinted(t *testing.T) {
	g := startGateway(t)
	asYAML, asJSON := documents(t, publicURL)
	if a := g.send("GET", "/openapi.yaml", "", "X-Api-Key", ""); a.body != string(asYAML) ||
		a.header.Get("Content-Type") != "application/yaml" {
		t.Errorf("yaml: %q, %d bytes", a.header.Get("Content-Type"), len(a.body))
	}
	if a := g.send("GET", "/openapi.json", "", "X-Api-Key", ""); a.body != string(asJSON) ||
		a.header.Get("Content-Type") != "application/json" {
		t.Errorf("json: %q, %d bytes", a.header.Get("Content-Type"), len(a.body))
	}
}

func TestTheDocumentOfTheAdminInterfaceIsValidAndServed(t *testing.T) {
	asYAML, asJSON, err := AdminDocument(Options{PublicURL: publicURL, Version: "1.0.0"})
	if err != nil {
		t.Fatal(err)
	}
	doc, err := openapi3.NewLoader().LoadFromData(asJSON)
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(context.Background(), openapi3.EnableExamplesValidation()); err != nil {
		t.Error(err)
	}
	if got, want := len(operationsOf(doc)), len(adminOperations(nil)); got != want {
		t.Errorf("%d operations are described, want %d", got, want)
	}
	for _, op := range adminOperations(nil) {
		item := doc.Paths.Find(op.Path)
		if item == nil || item.GetOperation(op.Method) == nil {
			t.Fatalf("%s is not described", op.ID)
		}
		raw, err := json.Marshal(item.GetOperation(op.Method))
		if err != nil {
			t.Fatal(err)
		}
		for _, reason := range op.reasons() {
			if !strings.Contains(string(raw), `"`+reason+`"`) {
				t.Errorf("%s: no example of %s", op.ID, reason)
			}
		}
		if op.Summary == "" || op.Description == "" || !strings.Contains(string(raw), "`"+string(op.Scope)+"`") {
			t.Errorf("%s leaves something out", op.ID)
		}
	}
	g := startGateway(t)
	for path, want := range map[string][]byte{"openapi.yaml": asYAML, "openapi.json": asJSON} {
		if a := g.send("GET", adminRoot+"/"+path, "", "X-Api-Key", ""); a.body != string(want) {
			t.Errorf("%s: %d, %d bytes", path, a.status, len(a.body))
		}
	}
}

func TestEveryTagOfAnOperationIsDeclared(t *testing.T) {
	a, err := newAPI(Options{PublicURL: publicURL})
	if err != nil {
		t.Fatal(err)
	}
	for name, d := range map[string]*huma.OpenAPI{
		"callers": a.describe(Options{}, operations(Services{})), "admin": a.describeAdmin(Options{}),
	} {
		var declared, used []string
		for _, tag := range d.Tags {
			declared = append(declared, tag.Name)
			if tag.Description == "" {
				t.Errorf("%s: the tag %q is not described", name, tag.Name)
			}
		}
		for _, path := range d.Paths {
			for _, op := range []*huma.Operation{path.Get, path.Put, path.Post, path.Patch, path.Delete} {
				if op != nil {
					used = append(used, op.Tags...)
				}
			}
		}
		slices.Sort(declared)
		slices.Sort(used)
		if used = slices.Compact(used); !slices.Equal(declared, used) {
			t.Errorf("%s: declared %q, used %q", name, declared, used)
		}
	}
}

func TestTheDocumentHasTheOperationsOfTheContract(t *testing.T) {
	path := os.Getenv("FRONTDESK_CONTRACT")
	if path == "" {
		t.Skip("FRONTDESK_CONTRACT names no document")
	}
	written, err := openapi3.NewLoader().LoadFromFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, asJSON := documents(t, publicURL)
	own, err := openapi3.NewLoader().LoadFromData(asJSON)
	if err != nil {
		t.Fatal(err)
	}
	// Operations under /alpha are beyond the written interface.
	got := slices.DeleteFunc(operationsOf(own), func(op string) bool { return strings.Contains(op, " /alpha/") })
	if want := operationsOf(written); !slices.Equal(got, want) {
		t.Errorf("operations %v, want %v", got, want)
	}
}

func operationsOf(doc *openapi3.T) []string {
	var out []string
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			out = append(out, method+" "+path+" "+op.OperationID)
		}
	}
	slices.Sort(out)
	return out
}

func TestEveryOperationIsDocumentedToTheEnd(t *testing.T) {
	_, asJSON := documents(t, publicURL)
	var doc struct {
		Paths map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal(asJSON, &doc); err != nil {
		t.Fatal(err)
	}
	for _, op := range operations(Services{}) {
		raw := string(doc.Paths[op.Path][strings.ToLower(op.Method)])
		for _, reason := range op.reasons() {
			if !strings.Contains(raw, `"`+reason+`"`) {
				t.Errorf("%s: no example of %s", op.ID, reason)
			}
		}
		if op.Summary == "" || op.Description == "" || len(op.Examples) == 0 ||
			!strings.Contains(raw, string(op.Scope)) {
			t.Errorf("%s leaves something out", op.ID)
		}
		if op.writes != strings.Contains(raw, headerIdempotency) {
			t.Errorf("%s: Idempotency-Key is documented %v", op.ID, !op.writes)
		}
	}
}

func TestV1RequestsHaveNoRequiredFieldsInTheirSchema(t *testing.T) {
	_, asJSON := documents(t, publicURL)
	doc, err := openapi3.NewLoader().LoadFromData(asJSON)
	if err != nil {
		t.Fatal(err)
	}
	for path, item := range doc.Paths.Map() {
		if surfaceOf(path) != surfaceV1 {
			continue
		}
		schema := item.Post.RequestBody.Value.Content["application/json"].Schema.Value
		if len(schema.Required) > 0 {
			t.Errorf("%s requires %v", path, schema.Required)
		}
	}
}
