package api

import (
	"bytes"
	"cmp"
	_ "embed" // for the introduction
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/yaml"

	"frontdesk/core/fault"
	"frontdesk/core/language"
	"frontdesk/core/record"
)

// Document returns the OpenAPI 3.1 description of the interface, in both formats. It needs no Services, Keys
// or store.
func Document(o Options) (asYAML, asJSON []byte, err error) {
	a, err := newAPI(o)
	if err != nil {
		return nil, nil, err
	}
	return documentOf(a.describe(o, operations(Services{})))
}

// AdminDocument is Document of the admin interface.
func AdminDocument(o Options) (asYAML, asJSON []byte, err error) {
	a, err := newAPI(o)
	if err != nil {
		return nil, nil, err
	}
	return documentOf(a.describeAdmin(o))
}

// documentOf writes a document with its parts in the order of the specification, so that it is easy to read.
func documentOf(d *huma.OpenAPI) (asYAML, asJSON []byte, err error) {
	parts := []struct {
		name  string
		value any
	}{
		{"openapi", d.OpenAPI}, {"info", d.Info}, {"servers", d.Servers}, {"security", d.Security},
		{"tags", d.Tags}, {"paths", d.Paths}, {"components", d.Components},
	}
	var compact, indented, written bytes.Buffer
	for i, part := range parts {
		value, err := json.Marshal(part.value)
		if err != nil {
			return nil, nil, err
		}
		separator := ","
		if i == 0 {
			separator = "{"
		}
		fmt.Fprintf(&compact, "%s%q:%s", separator, part.name, value)
	}
	compact.WriteByte('}')
	if err := json.Indent(&indented, compact.Bytes(), "", "  "); err != nil {
		return nil, nil, err
	}
	indented.WriteByte('\n')
	if err := yaml.Convert(&written, &compact); err != nil {
		return nil, nil, err
	}
	return written.Bytes(), indented.Bytes(), nil
}

// Status is google.rpc.Status in proto3 JSON, for the OpenAPI document; statusBody writes such a value.
type Status struct {
	Code    int            `json:"code" doc:"google.rpc.Code." example:"3"`
	Message string         `json:"message" doc:"What is wrong and what to do." example:"The request is not valid: start_time is required."`
	Details []StatusDetail `json:"details" nullable:"false" doc:"Standard google.rpc messages: always ErrorInfo, LocalizedMessage (to say aloud) and RequestInfo; BadRequest, RetryInfo and Help where they fit. Under /alpha, a google.protobuf.Struct may name what the caller can have instead."`
}

// StatusDetail is one google.rpc message.
type StatusDetail struct {
	_    struct{} `additionalProperties:"true"`
	Type string   `json:"@type" doc:"The type of the message." example:"type.googleapis.com/google.rpc.ErrorInfo"`
}

const (
	schemaPrefix    = "#/components/schemas/"
	headerPrefix    = "#/components/headers/"
	parameterPrefix = "#/components/parameters/"
	examplePrefix   = "#/components/examples/"
)

//go:embed pages/introduction.md
var introduction string

// describe builds the OpenAPI document from the declarations.
func (a *api) describe(o Options, ops []operation) *huma.OpenAPI {
	schemas := huma.NewMapRegistry(schemaPrefix, schemaName)
	d := &huma.OpenAPI{
		OpenAPI: "3.1.0",
		Info: &huma.Info{
			Title: "Frontdesk: calendar, tickets and phone numbers (beta)", Version: cmp.Or(o.Version, "dev"),
			Description: strings.TrimSpace(introduction),
			License:     &huma.License{Name: "Apache-2.0", Identifier: "Apache-2.0"},
		},
		Servers:  []*huma.Server{{URL: a.publicURL}},
		Security: []map[string][]string{{"ApiKey": {}}, {"Bearer": {}}},
		Tags: []*huma.Tag{
			{Name: tagCalendar, Description: "Meetings, events and calendars of the connected calendar account."},
			{Name: tagTickets, Description: "Tickets in the connected CRM."},
			{Name: tagNumbers, Description: "Phone numbers and the cloud employees that answer and call " +
				"with them. Beta: this may change quickly."},
			{Name: tagCallers, Description: "Who calls, as the connected CRM knows them. " +
				"Alpha: this may change without notice."},
		},
		Components: &huma.Components{
			Schemas:    schemas,
			Parameters: parameters(),
			Headers:    headers(),
			Examples:   map[string]*huma.Example{},
			SecuritySchemes: map[string]*huma.SecurityScheme{
				"ApiKey": {Type: "apiKey", In: "header", Name: headerAPIKey, Description: "The API key."},
				"Bearer": {Type: "http", Scheme: "bearer",
					Description: "The same API key, for platforms that can only send a bearer token."},
			},
		},
	}
	for _, op := range ops {
		d.AddOperation(a.describeOperation(op, d))
		d.Paths[op.Path].Parameters = pathParameters(op, schemas)
	}
	return d
}

//go:embed pages/admin.md
var adminIntroduction string

// describeAdmin builds the OpenAPI document of the admin interface.
func (a *api) describeAdmin(o Options) *huma.OpenAPI {
	d := a.describe(o, adminOperations(nil))
	d.Info.Title, d.Info.Description = "Frontdesk: admin interface (alpha)", strings.TrimSpace(adminIntroduction)
	d.Tags = []*huma.Tag{
		{Name: tagTenants, Description: "The operator's customers, and their settings."},
		{Name: tagConnections, Description: "The tenants' accounts at providers."},
		{Name: tagKeys, Description: "The keys with which voice agents call the gateway."},
		{Name: tagAgents, Description: "Voice agents at a platform whose signature takes the place of a key."},
		{Name: tagAdminNumbers, Description: "The phone numbers that tenants hold."},
		{Name: tagRequests, Description: "The last requests of each tenant, with the calls of providers that they " +
			"made."},
		{Name: tagWebhooks, Description: "Addresses, of tenants and of the operator, to which the gateway sends " +
			"events."},
		{Name: tagOperator, Description: "Providers, the audit, and the keys of this interface."},
	}
	for _, header := range []string{"Location", "Deprecation", "Sunset", "Link"} {
		delete(d.Components.Headers, header)
	}
	return d
}

// schemaName returns the name of a schema in the published interface.
func schemaName(t reflect.Type, hint string) string {
	if t == reflect.TypeFor[record.Event]() {
		return "ListedEvent"
	}
	return huma.DefaultSchemaNamer(t, hint)
}

// pathParameters describes the parameters that the operations of one path share.
func pathParameters(op operation, schemas huma.Registry) []*huma.Param {
	var out []*huma.Param
	for _, f := range op.request.fields {
		if f.inPath && strings.Contains(op.Path, "{"+f.name+"}") {
			p := parameter(op.request, f, schemas)
			p.In, p.Required = "path", true
			out = append(out, p)
		}
	}
	return out
}

// queryParameters describes the parameters of an operation's query.
func queryParameters(s *shape, schemas huma.Registry) []*huma.Param {
	var out []*huma.Param
	for _, f := range s.fields {
		if f.inQuery {
			out = append(out, parameter(s, f, schemas))
		}
	}
	return out
}

// parameter describes a field of a request as a parameter of the query.
func parameter(s *shape, f field, schemas huma.Registry) *huma.Param {
	schema := huma.SchemaFromField(schemas, s.of.FieldByIndex(f.index), "")
	return &huma.Param{
		Name: f.name, In: "query", Description: schema.Description, Example: schema.Examples[0],
		Schema: &huma.Schema{Type: schema.Type, Format: schema.Format},
	}
}

func (a *api) describeOperation(op operation, d *huma.OpenAPI) *huma.Operation {
	queries := queryParameters(op.request, d.Components.Schemas)
	out := &huma.Operation{
		OperationID: op.ID, Method: op.Method, Path: op.Path, Tags: []string{op.Tag}, Summary: op.Summary,
		Description: op.Description + "\n\nRequires the scope `" + string(op.Scope) + "`.",
		Responses:   map[string]*huma.Response{strconv.Itoa(op.success()): a.success(op, d.Components.Schemas)},
	}
	common := []string{headerRequestID, headerTimeout}
	if op.writes {
		common = append(common, headerIdempotency)
	}
	for _, name := range common {
		out.Parameters = append(out.Parameters, &huma.Param{Ref: parameterPrefix + name})
	}
	out.Parameters = append(out.Parameters, queries...)
	if op.takesBody() {
		out.RequestBody = a.requestBody(op, d.Components.Schemas)
	}
	a.describeErrors(op, out, d.Components)
	return out
}

func (a *api) requestBody(op operation, schemas huma.Registry) *huma.RequestBody {
	examples := map[string]*huma.Example{}
	for _, e := range op.Examples {
		examples[e.Name] = &huma.Example{Summary: e.Summary, Value: e.Request}
	}
	ref := schemas.Schema(op.request.of, true, "")
	completeFields(schemas.SchemaFromRef(ref.Ref), op.request, schemas)
	return &huma.RequestBody{
		Required: true,
		Content:  map[string]*huma.MediaType{"application/json": {Schema: ref, Examples: examples}},
	}
}

// completeFields adds the rules that the decoder enforces and the schema omits to the descriptions of fields.
// New required fields or limits in the schema of /v1 would break callers who validate against the published
// interface.
func completeFields(schema *huma.Schema, s *shape, schemas huma.Registry) {
	for _, f := range s.fields {
		property := schema.Properties[f.name]
		if property == nil {
			continue
		}
		property.Description += sizeOf(f)
		if f.need {
			property.Description += " Required."
		}
		if f.nested != nil {
			completeFields(schemas.SchemaFromRef(schemas.Schema(f.nested.of, true, "").Ref), f.nested, schemas)
		}
	}
}

// sizeOf returns a sentence about the maximum size of a string field, or "" if it has none.
func sizeOf(f field) string {
	switch {
	case f.maxBytes == 0:
		return ""
	case f.many:
		return " Each has at most " + thousands(f.maxBytes) + " bytes."
	}
	return " At most " + thousands(f.maxBytes) + " bytes."
}

func (a *api) success(op operation, schemas huma.Registry) *huma.Response {
	r := &huma.Response{
		Description: http.StatusText(op.success()), Headers: headersOf(headerRequestID, headerRatePolicy, headerRate),
	}
	if op.writes {
		r.Headers[headerReplayed] = &huma.Header{Ref: headerPrefix + headerReplayed}
	}
	if op.creates && op.Kind != "" {
		r.Headers["Location"] = &huma.Header{Ref: headerPrefix + "Location"}
	}
	if op.response == nil {
		return r
	}
	examples := map[string]*huma.Example{}
	for _, e := range op.Examples {
		examples[e.Name] = &huma.Example{Summary: e.Summary, Value: e.Response}
	}
	r.Content = map[string]*huma.MediaType{
		"application/json": {Schema: schemas.Schema(op.response, true, ""), Examples: examples},
	}
	return r
}

// headersOf returns references to the shared descriptions of headers.
func headersOf(names ...string) map[string]*huma.Header {
	out := map[string]*huma.Header{}
	for _, name := range names {
		out[name] = &huma.Header{Ref: headerPrefix + name}
	}
	return out
}

// describeErrors adds a response for each status that the operation's reasons lead to, and a default response
// for all others.
func (a *api) describeErrors(op operation, out *huma.Operation, components *huma.Components) {
	on := op.surface()
	model, mediaType := reflect.TypeFor[ErrorModel](), "application/problem+json"
	if on.likeV1() {
		model, mediaType = reflect.TypeFor[Status](), "application/json"
	}
	schema := components.Schemas.Schema(model, true, "")
	titles := map[string][]string{}
	for _, reason := range op.reasons() {
		s := a.catalogue.byReason[reason]
		status := strconv.Itoa(s.status(on))
		name := string(on) + "_" + reason
		components.Examples[name] = &huma.Example{Summary: s.Title, Value: a.sample(s, on)}
		if out.Responses[status] == nil {
			out.Responses[status] = &huma.Response{
				Headers: headersOf(headerRequestID, headerRatePolicy, headerRate),
				Content: map[string]*huma.MediaType{mediaType: {Schema: schema, Examples: map[string]*huma.Example{}}},
			}
		}
		r := out.Responses[status]
		r.Content[mediaType].Examples[reason] = &huma.Example{Ref: examplePrefix + name}
		titles[status] = append(titles[status], "`"+s.reason()+"`: "+s.Title+".")
		if s.repeats() {
			r.Headers["Retry-After"] = &huma.Header{Ref: headerPrefix + "Retry-After"}
		}
		switch s.Status {
		case http.StatusUnauthorized:
			r.Headers = headersOf(headerRequestID, "WWW-Authenticate") // no quota: the caller is unknown
		case http.StatusForbidden:
			r.Headers["WWW-Authenticate"] = &huma.Header{Ref: headerPrefix + "WWW-Authenticate"}
		}
	}
	if op.ID == "bookMeeting" || op.ID == "bookSlot" { // a deprecated conferencing_type is told with errors as well
		for status, r := range out.Responses {
			if status != strconv.Itoa(http.StatusUnauthorized) {
				maps.Copy(r.Headers, headersOf("Deprecation", "Sunset", "Link"))
			}
		}
	}
	for status, lines := range titles {
		out.Responses[status].Description = strings.Join(lines, "\n\n")
	}
	out.Responses["default"] = &huma.Response{
		Description: "Any other status.",
		Content:     map[string]*huma.MediaType{mediaType: {Schema: schema}},
	}
}

// sampleRequestID is the request id in the documents.
const sampleRequestID = "01JDB2V7Q4RZ0F5N1X8W3T6K9M"

// sample returns an example of the response body for an error.
func (a *api) sample(s problemType, on surface) json.RawMessage {
	f := failure{
		problemType: s, reason: s.reason(), detail: s.Sample, retry: wholeSeconds(0, s.Retry),
		requestID: sampleRequestID, surface: on,
	}
	f.spoken, f.language = voice{}.say(s.Spoken, "", f.retry), language.English
	switch s.Reason {
	case fault.ReasonInvalidRequest:
		f.fields = []fault.Field{{Path: "start_time", Message: "is required"}}
		if on == surfaceBeta {
			f.detail = "The request is not valid: name must not be blank."
			f.fields = []fault.Field{{Path: "name", Message: "must not be blank"}}
			f.values = map[string]json.RawMessage{"name": json.RawMessage(`" "`)}
		}
	case reasonMalformed:
		f.fields = []fault.Field{{Path: locationBody,
			Message: "is not valid JSON: unexpected end of JSON input at byte 17"}}
	}
	body, _, err := a.render(f)
	if err != nil {
		panic("api: a sample cannot be written: " + err.Error())
	}
	return body
}

func parameters() map[string]*huma.Param {
	text := &huma.Schema{Type: huma.TypeString}
	return map[string]*huma.Param{
		headerRequestID: {Name: headerRequestID, In: "header", Schema: text, Example: sampleRequestID,
			Description: "Your own id for this request, up to 128 visible ASCII characters. It is echoed " +
				"and is in every line of the log. If it is absent, the gateway makes one."},
		headerTimeout: {Name: headerTimeout, In: "header", Schema: &huma.Schema{
			Type: huma.TypeInteger, Format: "int64",
		}, Example: 3000,
			Description: "How many milliseconds you wait for the answer. This can only shorten the " +
				"gateway's own deadline, which is 8 seconds unless the operator sets another."},
		headerIdempotency: {Name: headerIdempotency, In: "header", Schema: text, Example: "call-7f3c-book-1",
			Description: "Names this request, up to 255 printable ASCII characters. A repeat with the same " +
				"key and body is answered byte for byte like the first, for 72 hours."},
	}
}

func headers() map[string]*huma.Header {
	text := &huma.Schema{Type: huma.TypeString}
	return map[string]*huma.Header{
		headerRequestID: {Schema: text, Example: sampleRequestID, Description: "The request's id: yours, or " +
			"one that the gateway made."},
		headerReplayed: {Schema: text, Example: "true", Description: "true if this is the answer to an " +
			"earlier, equal request."},
		"Location": {Schema: text, Example: "/beta/phone-numbers/4711", Description: "The path of the new " +
			"phone number."},
		"Retry-After": {Schema: &huma.Schema{Type: huma.TypeInteger}, Example: 5,
			Description: "How many seconds to wait before a repeat can help."},
		headerRatePolicy: {Schema: text, Example: `"key";q=6000;w=60, "tenant";q=12000;w=60`,
			Description: "How many requests (q) the API key, and all keys of the tenant together, may make " +
				"within a window of seconds (w), by draft-ietf-httpapi-ratelimit-headers-11. All replicas " +
				"of the gateway count together. Absent if the operator sets no limit."},
		headerRate: {Schema: text, Example: `"key";r=5993;t=60, "tenant";r=11871;t=60`,
			Description: "How many requests are left (r), and for how many seconds (t)."},
		"WWW-Authenticate": {Schema: text, Example: `Bearer realm="frontdesk"`,
			Description: "How to authenticate, or which scope is missing (RFC 6750)."},
		"Deprecation": {Schema: text, Example: "@" + strconv.Itoa(deprecatedSince),
			Description: "Since when something that the request used has been deprecated (RFC 9745)."},
		"Sunset": {Schema: text, Example: time.Unix(deprecatedSince, 0).UTC().AddDate(1, 0, 0).Format(http.TimeFormat),
			Description: "When it will be removed, once that is known (RFC 8594)."},
		"Link": {Schema: text,
			Example:     `<https://agents.example.com/docs#deprecations>; rel="deprecation"; type="text/html"`,
			Description: "Documentation of the deprecation."},
	}
}
