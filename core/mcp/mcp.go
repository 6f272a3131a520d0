// Package mcp offers the operations to language models as tools of the Model Context Protocol, at /mcp.
//
//	server, err := mcp.New(mcp.Options{API: handler, Tools: api.Tools(), ...})
//	surface.Protocols = append(surface.Protocols, server.Protocol())
//
// A tool is an operation of the interface. The server calls it as the caller would, with the caller's key:
// validation, scopes, limits, idempotency, audit and the log of requests are those of the operation. A result
// is one block of text, because voice frameworks hand a model only that: a sentence to say, then the answer
// as compact JSON. No call takes longer than 4.5 seconds, since the clients of voice frameworks give up after
// 5.
//
// The server keeps no sessions, so that any replica serves any request. It speaks the protocol's versions up
// to 2026-07-28, those with a handshake among them.
package mcp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"frontdesk/core/api"
	"frontdesk/core/apikey"
	"frontdesk/core/fault"
	"frontdesk/core/hostname"
	"frontdesk/core/toolcall"
)

// Path is the path of the server below the gateway's public URL. Clients of LiveKit take only this one.
const Path = "/mcp"

// Options configure [New]. All exported fields but Within are required.
type Options struct {
	PublicURL string
	Version   string
	API       func() http.Handler // the interface; asked for when a tool is called
	Tools     []api.Tool
	Notes     toolcall.Notes // what the tools of a telephone call told
	Now       func() time.Time
	Zone      func(context.Context, apikey.Caller) *time.Location // of the business that a caller acts for
	Within    time.Duration                                       // how long a call may take; 0: 4.5 s

	// extend changes the options of the library's servers, and returns what to add to each server. Tests add the
	// fixtures of the protocol's conformance suite by it.
	extend func(*mcp.ServerOptions) func(*mcp.Server)
}

// Server serves the tools. Create it with [New].
type Server struct {
	opts    Options
	base    *url.URL
	runner  toolcall.Runner
	scopes  []apikey.Scope           // of the tools, each once, in order
	servers map[string]func() served // by the names of a caller's scopes
	json    http.Handler             // the library, which answers with JSON
	stream  http.Handler             // the library, which answers with a stream of events
	foreign *http.CrossOriginProtection
}

// served is what callers with some scopes get.
type served struct {
	library *mcp.Server
	tools   map[string]mcp.ToolHandler
}

const (
	// answerWithin is less than the 5 seconds after which the client of LiveKit gives up
	// (livekit/agents, livekit-agents/livekit/agents/llm/mcp.py: client_session_timeout_seconds).
	answerWithin = 4500 * time.Millisecond
	maxBodyBytes = 256 << 10
	maxBatch     = 32          // messages; clients of former versions send a few at once
	mostBodies   = 4           // of operations, as many names and values as which all messages have at most
	listedFor    = time.Minute // how long a client may keep the list of tools
)

// New returns a server.
func New(o Options) (*Server, error) {
	base, err := url.Parse(o.PublicURL)
	if err != nil || base.Host == "" {
		return nil, errors.New("mcp: PublicURL must be an absolute URL")
	}
	s := &Server{opts: o, base: base, servers: map[string]func() served{}, scopes: scopesOf(o.Tools), runner: toolcall.Runner{
		API: o.API, Within: cmp.Or(o.Within, answerWithin), Notes: o.Notes, Now: o.Now,
	}}
	for _, scopes := range subsets(s.scopes) {
		// The library takes up to a millisecond to read the tools' schemas again, and few of the sets are ever asked for.
		s.servers[nameOf(scopes)] = sync.OnceValue(func() served { return s.serverFor(scopes) })
	}
	s.servers[nameOf(s.scopes)]() // a tool that the library refuses is a defect, and no gateway starts with it
	s.json, s.stream = s.library(true), s.library(false)
	s.foreign = http.NewCrossOriginProtection()
	return s, nil
}

// library returns the library's handler.
func (s *Server) library(asJSON bool) http.Handler {
	return mcp.NewStreamableHTTPHandler(s.choose, &mcp.StreamableHTTPOptions{
		Stateless: true, JSONResponse: asJSON, PropagateRequestCancellation: true, MaxRequestBodyBytes: maxBodyBytes,
		DisableLocalhostProtection: true, // serve checks the host, also behind a proxy on the same machine
		Logger:                     slog.New(slog.DiscardHandler),
	})
}

// Protocol returns how the interface's handler serves the tools.
func (s *Server) Protocol() api.Protocol {
	return api.Protocol{Path: Path, Operation: "mcp", Serve: s.serve}
}

type callerKey struct{}

func (s *Server) serve(w http.ResponseWriter, r *http.Request, caller apikey.Caller) error {
	if !hostname.IsOwn(r.Host, s.base) {
		return fault.New(fault.Forbidden, fault.ReasonHostRefused, "The tools are served at "+s.base.String()+Path+
			" and on loopback only. Use that address, or have the proxy pass on the Host header.")
	}
	if err := s.foreign.Check(r); err != nil {
		return fault.New(fault.Forbidden, fault.ReasonForeignRequest,
			"The request comes from another site's page. Call the tools from a server, not from a page.").Because(err)
	}
	body, err := api.ReadBody(w, r, maxBodyBytes)
	if err != nil {
		return err
	}
	// The library decodes names and values of any number, several times: a full body of them takes 25 MiB.
	if !api.MayBeRead(body, mostBodies) {
		return fault.InvalidField("body",
			"has more names, values or levels than a message, or a batch of a few, may have")
	}
	if isLongBatch(body) {
		return fault.InvalidField("body", fmt.Sprintf("must be one message, or a batch of at most %d", maxBatch))
	}
	// What the library says of a body that it cannot read is not for callers.
	r.Body = io.NopCloser(bytes.NewReader(body))
	ctx := context.WithValue(r.Context(), callerKey{}, caller)
	return s.serveTools(&refusals{ResponseWriter: w, body: body}, r.WithContext(ctx), body)
}

// isLongBatch reports whether a body is a list of more than maxBatch messages. The library would answer any number,
// each with as much as the list of tools.
func isLongBatch(body []byte) bool {
	if !bytes.HasPrefix(bytes.TrimSpace(body), []byte("[")) {
		return false
	}
	from := json.NewDecoder(bytes.NewReader(body))
	_, err := from.Token() // the bracket
	for n := 0; err == nil && from.More(); n++ {
		if n == maxBatch {
			return true
		}
		var message json.RawMessage
		err = from.Decode(&message)
	}
	return false // the library says what is wrong with one that cannot be read
}

func callerOf(ctx context.Context) apikey.Caller {
	caller, _ := ctx.Value(callerKey{}).(apikey.Caller)
	return caller
}

// choose returns the server with the tools that the caller's scopes allow.
func (s *Server) choose(r *http.Request) *mcp.Server { return s.servedTo(r.Context()).library }

// servedTo returns what the caller's scopes allow.
func (s *Server) servedTo(ctx context.Context) served {
	has := make([]apikey.Scope, 0, len(s.scopes))
	caller := callerOf(ctx)
	for _, scope := range s.scopes {
		if caller.Require(scope) == nil {
			has = append(has, scope)
		}
	}
	return s.servers[nameOf(has)]()
}

// scopesOf returns the scopes of tools, each once, in order.
func scopesOf(tools []api.Tool) []apikey.Scope {
	var all []apikey.Scope
	for _, t := range tools {
		if !slices.Contains(all, t.Scope) {
			all = append(all, t.Scope)
		}
	}
	slices.Sort(all)
	return all
}

// subsets returns all subsets of a few scopes, in the same order each.
func subsets(scopes []apikey.Scope) [][]apikey.Scope {
	all := [][]apikey.Scope{nil}
	for _, scope := range scopes {
		for _, smaller := range all {
			all = append(all, append(slices.Clone(smaller), scope))
		}
	}
	return all
}

func nameOf(scopes []apikey.Scope) string {
	names := make([]string, 0, len(scopes))
	for _, scope := range scopes {
		names = append(names, string(scope))
	}
	return strings.Join(names, " ")
}

// implementation says what the server is.
func (s *Server) implementation() *mcp.Implementation {
	return &mcp.Implementation{Name: "frontdesk", Title: "Frontdesk", Version: s.opts.Version}
}

// serverFor returns a server with the tools that need one of the scopes.
func (s *Server) serverFor(scopes []apikey.Scope) served {
	options := &mcp.ServerOptions{
		Instructions: instructions,
		// The library answers prompts/list and resources/list in any case, so they are declared.
		Capabilities: &mcp.ServerCapabilities{
			Tools: &mcp.ToolCapabilities{}, Prompts: &mcp.PromptCapabilities{}, Resources: &mcp.ResourceCapabilities{},
		},
		SetCacheable: func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) {
			c.CacheScope, c.TTLMs = "private", int(listedFor/time.Millisecond) // the tools depend on the key
		},
	}
	extend := func(*mcp.Server) {}
	if s.opts.extend != nil {
		extend = s.opts.extend(options)
	}
	server := served{mcp.NewServer(s.implementation(), options), map[string]mcp.ToolHandler{}}
	extend(server.library)
	add := func(t *mcp.Tool, call mcp.ToolHandler) {
		server.library.AddTool(t, inLibrary(call))
		server.tools[t.Name] = call
	}
	add(clockTool(), s.tellTime)
	for _, t := range s.opts.Tools {
		if slices.Contains(scopes, t.Scope) {
			add(&mcp.Tool{
				Name: t.Name, Title: t.Title, Description: t.Description, InputSchema: t.Schema,
				Annotations: &mcp.ToolAnnotations{
					Title: t.Title, ReadOnlyHint: !t.Writes, DestructiveHint: new(t.Destructive), OpenWorldHint: new(true),
					IdempotentHint: t.Writes, // equal calls within minutes are one
				},
			}, s.caller(t))
		}
	}
	return server
}

const instructions = "Tools of the front desk of a business: its calendar and its tickets. Each result begins " +
	"with a sentence that you can say as it is; the JSON after it has what you need for further calls. If that has " +
	"fields, what you sent was not right: do not say the sentence, correct what you sent and call again. Ask the " +
	"caller only for what you do not know. Ask get_current_time before you speak of days. Never make up ids."
