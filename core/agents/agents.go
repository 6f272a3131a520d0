// Package agents answers voice platforms in their own shapes, below /alpha/agents: their calls of tools, and
// what they ask before an agent says its first word.
//
//	a := agents.New(agents.Options{API: handler, Tools: api.Tools(), Now: time.Now})
//	surface.Protocols = append(surface.Protocols, a.Protocols()...)
//
// The addresses, all of which take POST with an API key in X-Api-Key or as a bearer token:
//
//	/alpha/agents/vapi                     Vapi's server messages: tool-calls and assistant-request
//	/alpha/agents/retell                   Retell's custom functions with their envelope
//	/alpha/agents/retell/{tool}            the same with args_at_root
//	/alpha/agents/tools/{tool}             plain JSON: ElevenLabs, Telnyx, Bland, Synthflow and others
//	/alpha/agents/{platform}/call-started  who calls, before the first word
//
// A voice agent of a tenant has an address of its own, where its platform's signature takes the place of the
// key: the agent's id follows the platform, as in /alpha/agents/retell/{agent}/call-started.
//
// A tool is an operation of the interface, called with the caller's key; see [toolcall]. A call that the
// gateway understands is answered with 200, also where the operation fails: platforms keep other responses
// from the model, and some repeat them. What is wrong stands in the answer, with a sentence to say.
//
// Who calls is what the platform says in its envelope or in a header, never what the model says.
package agents

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"frontdesk/core/api"
	"frontdesk/core/apikey"
	"frontdesk/core/audit"
	"frontdesk/core/fault"
	"frontdesk/core/toolcall"
)

// Options configure [New]. All fields but Within are required.
type Options struct {
	API     func() http.Handler // the interface; asked for when a tool is called
	Callers Callers
	Tools   []api.Tool
	Notes   toolcall.Notes // what the tools of a telephone call told
	Now     func() time.Time
	Zone    func(context.Context, apikey.Caller) *time.Location // of the business that a caller acts for
	Within  time.Duration                                       // how long a call may take; 0: 12 s
}

// Callers identifies API keys and voice agents. [*apikey.Callers] implements it.
type Callers interface {
	Authenticate(ctx context.Context, key string) (apikey.Caller, error)
	Agent(ctx context.Context, id string) (apikey.Agent, error)
	Used(agent apikey.Caller)
}

// Agents serves the platforms. Create it with [New].
type Agents struct {
	opts   Options
	runner toolcall.Runner
}

const (
	// answerWithin is less than any platform waits by default (Vapi 20 s, the others more), and than the 15 s
	// of the definitions that the gateway prints.
	answerWithin = 12 * time.Second
	// maxBodyBytes has room for the transcript that Retell sends along.
	maxBodyBytes = 1 << 20
)

// New returns the platforms' endpoints.
func New(o Options) *Agents {
	return &Agents{opts: o, runner: toolcall.Runner{
		API: o.API, Within: cmp.Or(o.Within, answerWithin), Notes: o.Notes, Now: o.Now,
	}}
}

// Protocols returns how the interface's handler serves the platforms.
func (a *Agents) Protocols() []api.Protocol {
	var all []api.Protocol
	add := func(platform, rest, operation string, handle func(request) (any, error)) {
		all = append(all, api.Protocol{
			Path: root + platform + rest, Operation: operation, Serve: a.serve(handle),
			Identify: func(r *http.Request) (apikey.Caller, bool, error) { return a.identify(r, platform) },
		})
	}
	add("vapi", "", "agentsVapi", a.vapi)
	add("vapi", "/{name}", "agentsVapi", a.atAgent(a.vapi))
	add("retell", "", "agentsRetell", a.retell)
	add("retell", "/{name}", "agentsRetell", a.retellAt)
	add("retell", "/{name}/{tool}", "agentsRetell", a.atAgent(a.retellPlain))
	add("tools", "/{name}", "agentsTools", a.plain)
	for _, platform := range []string{"tools", "elevenlabs", "telnyx"} {
		add(platform, "/{name}/{tool}", "agentsTools", a.atAgent(a.plain))
	}
	for name, p := range platforms {
		started := func(r request) (any, error) { return a.callStarted(r, p) }
		add(name, "/call-started", "agentsCallStarted", started)
		add(name, "/{name}/call-started", "agentsCallStarted", a.atAgent(started))
	}
	return all
}

const root = "/alpha/agents/"

// Path returns the path of a voice agent's address.
func Path(platform, id string) string { return root + platform + "/" + id }

// request is a request of a platform.
type request struct {
	ctx    context.Context
	header http.Header
	query  func(name string) string
	path   func(name string) string
	body   []byte
	caller apikey.Caller
	ends   time.Time // when it is answered at the latest
}

// serve reads the body, sees that the request comes from where it claims to, and writes as JSON what handle
// returns.
func (a *Agents) serve(
	handle func(request) (any, error),
) func(http.ResponseWriter, *http.Request, apikey.Caller) error {
	return func(w http.ResponseWriter, r *http.Request, caller apikey.Caller) error {
		body, err := api.ReadBody(w, r, maxBodyBytes)
		if err != nil {
			return err
		}
		ctx := r.Context()
		if isAgent(r.PathValue("name")) {
			if caller, err = a.proven(r, body); err != nil {
				return fault.From(err)
			}
			ctx = api.As(ctx, caller, audit.Key(caller.KeyID))
		}
		query := r.URL.Query()
		answer, err := handle(request{
			ctx: ctx, header: r.Header, query: query.Get, path: r.PathValue, body: body, caller: caller,
			ends: time.Now().Add(a.runner.Within),
		})
		if err != nil {
			return fault.From(err)
		}
		w.Header().Set("Content-Type", "application/json")
		to := json.NewEncoder(w)
		to.SetEscapeHTML(false) // models read it
		return to.Encode(answer)
	}
}

// read decodes the body, loosely: platforms add fields.
func (r request) read(into any) error {
	if len(bytes.TrimSpace(r.body)) == 0 {
		return fault.New(fault.Invalid, fault.ReasonInvalidRequest,
			"The body is empty. It must be a JSON object as the platform sends it.")
	}
	if err := json.Unmarshal(r.body, into); err != nil {
		return fault.New(fault.Invalid, fault.ReasonInvalidRequest,
			"The body is not the JSON object that the platform sends.").Because(err)
	}
	return nil
}

// tool returns the tool with a name, which platforms write in a path with hyphens too.
func (a *Agents) tool(name string) (api.Tool, bool) {
	name = strings.ReplaceAll(name, "-", "_")
	at := slices.IndexFunc(a.opts.Tools, func(t api.Tool) bool { return t.Name == name })
	if at < 0 {
		return api.Tool{}, false
	}
	return a.opts.Tools[at], true
}

// call is one call of a tool within a telephone call.
type call struct {
	tool      string
	arguments json.RawMessage
	number    string // of whoever calls
	callID    string // of the telephone call
	id        string // of the call of the tool; "": the platform has none
}

// clock is the name of the tool that tells the time, which is no operation.
const clock = "get_current_time"

// run calls a tool. A tool that does not exist is a failure that a model can read.
func (a *Agents) run(r request, c call) (toolcall.Result, error) {
	if strings.ReplaceAll(c.tool, "-", "_") == clock {
		return toolcall.Clock(r.header, a.now(r.ctx, r.caller)), nil
	}
	t, known := a.tool(c.tool)
	if !known {
		return toolcall.Refused(r.header, "UNKNOWN_TOOL", "There is no tool of this name. Those that there are: "+
			strings.Join(a.names(), ", ")+"."), nil
	}
	runner := a.runner
	runner.Within = time.Until(r.ends)
	return runner.Run(r.ctx, toolcall.Call{
		Tool: t, Arguments: c.arguments, Header: r.header, Caller: c.number,
		CallID: c.callID, ToolCallID: c.id, TenantID: r.caller.Tenant.ID,
	})
}

func (a *Agents) names() []string {
	names := []string{clock}
	for _, t := range a.opts.Tools {
		names = append(names, t.Name)
	}
	return names
}

// now returns the time in the zone of the business.
func (a *Agents) now(ctx context.Context, of apikey.Caller) time.Time {
	return a.opts.Now().In(a.opts.Zone(ctx, of))
}
