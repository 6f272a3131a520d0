package api

import (
	"embed"
	"encoding/json"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gin-gonic/gin"

	"frontdesk/core/fault"
	"frontdesk/core/page"
)

//go:embed pages
var pageFiles embed.FS

// pages are the handlers of the documents. A document is rendered on the first request for it, since most
// processes, such as commands, serve none. It is rendered once, since the declarations do not change while
// the process runs.
type pages struct {
	fixed    map[string]gin.HandlerFunc
	problems map[string]gin.HandlerFunc // by slug
	api      *api
}

func newPages(a *api, o Options) (*pages, error) {
	ops := operations(Services{})
	set, err := page.Parse(pageFiles, "pages/*.html")
	if err != nil {
		return nil, err
	}
	p := &pages{api: a, problems: map[string]gin.HandlerFunc{}, fixed: map[string]gin.HandlerFunc{
		"/docs": a.page(set, "docs.html", func() any { return a.docsView(o, ops) }),
	}}
	for root, describe := range map[string]func() *huma.OpenAPI{
		"":        func() *huma.OpenAPI { return a.describe(o, ops) },
		adminRoot: func() *huma.OpenAPI { return a.describeAdmin(o) },
	} {
		description := sync.OnceValues(func() (d struct{ yaml, json []byte }, err error) {
			d.yaml, d.json, err = documentOf(describe())
			return d, err
		})
		p.fixed[root+"/openapi.yaml"] = a.document("application/yaml",
			func() ([]byte, error) { d, err := description(); return d.yaml, err })
		p.fixed[root+"/openapi.json"] = a.document("application/json",
			func() ([]byte, error) { d, err := description(); return d.json, err })
	}
	for _, s := range a.catalogue.all {
		p.problems[s.Slug] = a.page(set, "problem.html", func() any { return a.problemView(s) })
	}
	return p, nil
}

// problem serves the page on one problem type.
func (p *pages) problem(c *gin.Context) {
	serve, known := p.problems[c.Param("slug")]
	if !known {
		p.api.noSuchPath(c)
		return
	}
	serve(c)
}

// document returns the handler of a fixed document, which clients may cache for five minutes.
func (a *api) document(contentType string, render func() ([]byte, error)) gin.HandlerFunc {
	render = sync.OnceValues(render)
	return func(c *gin.Context) {
		body, err := render()
		if err != nil {
			a.fail(c, fault.From(err))
			return
		}
		c.Header("Cache-Control", "public, max-age=300")
		c.Header("Content-Length", strconv.Itoa(len(body)))
		c.Data(http.StatusOK, contentType, body)
	}
}

// page returns the handler of a fixed HTML page.
func (a *api) page(set *page.Set, name string, view func() any) gin.HandlerFunc {
	policy := set.Policy()
	serve := a.document("text/html; charset=utf-8", func() ([]byte, error) { return set.Render(name, view()) })
	return func(c *gin.Context) {
		c.Header("Content-Security-Policy", policy)
		serve(c)
	}
}

type docsView struct {
	PublicURL   string
	Version     string
	Groups      []docsGroup
	Errors      []problemView
	Legacy      []string
	Deadline    string
	MaxBody     string
	SettingsURL string
	Quotas      []docsQuota
}

type docsQuota struct{ Name, Requests string }

type docsGroup struct {
	Name       string
	Operations []docsOperation
}

type docsOperation struct {
	ID, Method, Path, Summary, Description, Scope string
	Writes                                        bool
	Parameters, Request, Response                 []docsField
	Success                                       int
	Examples                                      []docsExample
	Errors                                        []docsError
}

type docsField struct {
	Name, Type, Text string
	Required         bool
}

type docsExample struct{ Summary, Curl, Answer string }

type docsError struct {
	Status              int
	Reason, Slug, Title string
}

type problemView struct {
	problemType
	Reason     string
	StatusV1   int
	StatusBeta int
	CodeName   string
	Wait       string
	Back       string
}

func (a *api) problemView(s problemType) problemView {
	v := problemView{problemType: s, Reason: s.reason(), StatusV1: s.status(surfaceV1),
		StatusBeta: s.status(surfaceBeta),
		CodeName:   s.Code.String(), Back: a.publicURL + "/docs#errors"}
	if s.repeats() {
		v.Wait = wholeSeconds(0, s.Retry).String()
	}
	return v
}

func (a *api) docsView(o Options, ops []operation) docsView {
	v := docsView{PublicURL: a.publicURL, Version: o.Version, Legacy: a.legacy, Deadline: a.deadline.String(),
		MaxBody: thousands(maxBodyBytes), SettingsURL: a.settingsURL}
	for _, p := range a.rates.policies {
		v.Quotas = append(v.Quotas, docsQuota{Name: p.name, Requests: thousands(p.quota)})
	}
	for _, op := range ops {
		if n := len(v.Groups); n == 0 || v.Groups[n-1].Name != op.Tag {
			v.Groups = append(v.Groups, docsGroup{Name: op.Tag})
		}
		group := &v.Groups[len(v.Groups)-1]
		group.Operations = append(group.Operations, a.docsOperation(op))
	}
	for _, s := range a.catalogue.all {
		v.Errors = append(v.Errors, a.problemView(s))
	}
	return v
}

func (a *api) docsOperation(op operation) docsOperation {
	v := docsOperation{
		ID: op.ID, Method: op.Method, Path: op.Path, Summary: op.Summary, Description: op.Description,
		Scope: string(op.Scope), Writes: op.writes, Success: op.success(),
	}
	for _, f := range op.request.fields {
		member := op.request.of.FieldByIndex(f.index)
		row := docsField{
			Name: f.name, Type: typeName(member.Type), Text: member.Tag.Get("doc") + sizeOf(f),
			Required: f.need || f.inPath,
		}
		if f.inPath {
			v.Parameters = append(v.Parameters, row)
			continue
		}
		v.Request = append(v.Request, row)
	}
	if op.response != nil {
		v.Response = fieldsOf(op.response, "")
	}
	for i, e := range op.Examples {
		v.Examples = append(v.Examples, docsExample{
			Summary: e.Summary, Curl: a.curl(op, e, "call-7f3c-"+strconv.Itoa(i+1)), Answer: indent(e.Response),
		})
	}
	for _, reason := range op.reasons() {
		s := a.catalogue.byReason[reason]
		v.Errors = append(v.Errors, docsError{
			Status: s.status(op.surface()), Reason: s.reason(), Slug: s.Slug, Title: s.Title,
		})
	}
	return v
}

// fieldsOf returns the fields of a response type. Nested fields are named by their path.
func fieldsOf(t reflect.Type, prefix string) []docsField {
	var rows []docsField
	for i := range t.NumField() {
		member := t.Field(i)
		name, options, _ := strings.Cut(member.Tag.Get("json"), ",")
		row := docsField{Name: prefix + name, Type: typeName(member.Type), Text: member.Tag.Get("doc"),
			Required: !strings.Contains(options, "omitempty")}
		rows = append(rows, row)
		switch inner := member.Type; {
		case inner.Kind() == reflect.Struct:
			rows = append(rows, fieldsOf(inner, row.Name+".")...)
		case inner.Kind() == reflect.Slice && inner.Elem().Kind() == reflect.Struct:
			rows = append(rows, fieldsOf(inner.Elem(), row.Name+"[].")...)
		}
	}
	return rows
}

func typeName(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[employee]():
		return "integer or null"
	case t.Kind() == reflect.Pointer:
		return typeName(t.Elem())
	case t.Kind() == reflect.Slice:
		return "array of " + typeName(t.Elem()) + "s"
	case t.Kind() == reflect.Struct:
		return "object"
	case t.Kind() == reflect.Int64:
		return "integer"
	case t.Kind() == reflect.Bool:
		return "boolean"
	}
	return t.Kind().String()
}

// curl returns an example as a curl command, with an idempotency key if it changes something.
func (a *api) curl(op operation, e example, key string) string {
	path := strings.ReplaceAll(op.Path, "{id}", "4711")
	lines := []string{"curl -X " + op.Method + " " + a.publicURL + path, `-H "X-Api-Key: $FRONTDESK_API_KEY"`}
	if op.writes {
		lines = append(lines, `-H "`+headerIdempotency+`: `+key+`"`)
	}
	if op.takesBody() {
		lines = append(lines, `-H "Content-Type: application/json"`, "-d "+shellQuote(indent(e.Request)))
	}
	return strings.Join(lines, " \\\n  ")
}

func indent(value any) string {
	if value == nil {
		return ""
	}
	b, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		panic("api: an example cannot be written: " + err.Error())
	}
	return string(b)
}
