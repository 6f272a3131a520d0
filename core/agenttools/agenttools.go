// Package agenttools writes the operations as the tools of voice platforms: what somebody pastes into a
// platform, or runs there, so that an agent calls the gateway.
//
//	made, err := agenttools.For("vapi", agenttools.Setup{PublicURL: url, Tools: tools})
//	fmt.Println(made.Definitions)
//
// It is pure: tools and a platform in, texts out. The names, descriptions and schemas of tools are those that
// models get at /mcp. The number of whoever calls comes from the platform's envelope, or from a header that the
// model neither sees nor sets: what a model says of it proves nothing. No text holds an API key, only a
// placeholder.
package agenttools

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"frontdesk/core/hostname"
)

// Tool is an operation that language models may call, with a POST and a JSON object.
type Tool struct {
	Name, Title, Description string
	Schema                   json.RawMessage // JSON Schema of what the model says
	Writes, Destructive      bool
	// CallerNumber is the field of the body for the number that the telephone call comes from. The platform
	// sets it, and the model does not. "": there is none.
	CallerNumber string
	// AboutCaller says that the operation tells who calls.
	AboutCaller bool
}

// Setup is what the tools are for.
type Setup struct {
	PublicURL string
	TimeZone  string // of the business; "": not known
	Tools     []Tool
	Agent     Agent
}

// Agent is a voice agent that has an address of its own. The zero Agent has an API key.
type Agent struct {
	Platform, Address string
	Signed            bool // it proves itself with a signing secret in the place of a key
}

// Made is what an agent needs on a platform.
type Made struct {
	Platform    Platform
	Definitions string // JSON or Python, as Platform.Language says
	Prompt      string // lines for the agent's prompt
	Address     string // that the platform calls
	Header      string // with the API key
	Where       []string
}

// Platform is where an agent runs.
type Platform struct {
	ID, Name string
	Language string // of the definitions: "json" or "python"

	write   func(endpoint) (any, string) // the definitions: a value to be written as JSON, or a text
	where   []string                     // how they get there, step by step
	header  string                       // with the API key; "": X-Api-Key
	now     func(zone string) string     // a line of the prompt that tells the time; nil: a tool does
	overMCP bool
	asText  bool   // its model gets a result as one text, as at /mcp: a sentence, then JSON
	signs   bool   // requests, with the signing secret of an agent
	hosted  bool   // it calls the gateway from servers of its own
	address string // of the gateway, for a platform that does not speak MCP
	caller  string // its name for the number of whoever calls
}

const (
	headerKey      = "X-Api-Key"
	headerCaller   = "X-Caller-Number"
	headerCall     = "X-Call-Id"
	headerToolCall = "X-Tool-Call-Id"
	toolsAddress   = "/alpha/agents/tools" // followed by the name of a tool
	keyHere        = "YOUR_API_KEY"
	label          = "frontdesk"
	clock          = "get_current_time" // the tool that only /mcp has
	// waitSeconds is how long a platform waits: longer than the gateway takes, so that no answer is lost.
	waitSeconds = 15
)

// Platforms returns all platforms.
func Platforms() []Platform {
	return []Platform{
		vapi(), retell(), elevenLabs(), telnyx(), openAI(), openAIFunctions(), liveKit(), pipecat(), plain(),
	}
}

// IDs returns the ids of all platforms.
func IDs() []string {
	var ids []string
	for _, p := range Platforms() {
		ids = append(ids, p.ID)
	}
	return ids
}

// ErrUnknown says that there is no such platform, ErrOther that the agent is at another one.
var (
	ErrUnknown = errors.New("agenttools: no such platform")
	ErrOther   = errors.New("agenttools: the agent is at another platform")
)

// For returns what an agent on a platform needs.
func For(platform string, s Setup) (Made, error) {
	at := slices.IndexFunc(Platforms(), func(p Platform) bool { return p.ID == platform })
	if at < 0 {
		return Made{}, fmt.Errorf("%w: %q", ErrUnknown, platform)
	}
	p := Platforms()[at]
	made := Made{Platform: p, Where: p.where, Header: headerKey}
	if p.header != "" {
		made.Header = p.header
	}
	e := endpoint{base: strings.TrimRight(s.PublicURL, "/")}
	e.address = e.base + p.address
	if s.Agent.Address != "" {
		if s.Agent.Platform != p.ID && (s.Agent.Platform != "tools" || p.address != toolsAddress) {
			return Made{}, fmt.Errorf("%w: %q", ErrOther, s.Agent.Platform)
		}
		e.address = s.Agent.Address
	}
	if s.Agent.Signed {
		made.Where = p.signedWhere()
		e.signed = p.signs
	}
	if base, err := url.Parse(e.base); p.hosted && err == nil && hostname.IsLoopback(base.Host) {
		made.Where = slices.Insert(slices.Clone(made.Where), 0, p.Name+" cannot reach "+e.base+", which is an address "+
			"of this machine alone. Set server.public_url to the https address of a proxy or a tunnel that leads to "+
			"the gateway, and begin anew.")
	}
	for _, t := range s.Tools {
		schema, err := parse(t.Schema)
		if err != nil {
			return Made{}, fmt.Errorf("agenttools: the schema of %s: %w", t.Name, err)
		}
		e.tools = append(e.tools, callable{Tool: t, schema: schema, caller: p.caller})
	}
	made.Address = e.address
	if p.overMCP {
		made.Address = e.mcp()
	}
	value, text := p.write(e)
	if value != nil {
		var err error
		if text, err = written(value); err != nil {
			return Made{}, err
		}
	}
	made.Definitions, made.Prompt = text, prompt(p, s.TimeZone, e.tools)
	return made, nil
}

// signedWhere is where for an agent that has a signing secret in the place of an API key.
func (p Platform) signedWhere() []string {
	where := slices.Clone(p.where)
	if p.signs { // its definitions hold no secret
		where = where[1:]
	}
	for i := range where {
		where[i] = strings.ReplaceAll(where[i], "the API key", "the agent's signing secret")
	}
	return where
}

// endpoint is the gateway, with tools that a platform can call.
type endpoint struct {
	base    string
	address string // that the platform calls
	signed  bool   // the platform signs its requests, and so sends no key
	tools   []callable
}

func (e endpoint) tool(t callable) string { return e.address + "/" + t.Name }

func (e endpoint) mcp() string { return e.base + "/mcp" }

// names returns the names of the tools at /mcp.
func (e endpoint) names() []string {
	names := []string{clock}
	for _, t := range e.tools {
		names = append(names, t.Name)
	}
	return names
}

// callable is a tool with its schema.
type callable struct {
	Tool
	schema object
	caller string
}

// filler is what an agent says while the tool runs.
func (c callable) filler() string {
	if c.Writes {
		return "One moment, I am doing that now."
	}
	return "One moment, I am looking."
}

// delayed is what an agent says when the tool takes long.
const (
	delayed     = "I am still on it."
	delayedAtMs = 4000
)

// object is the schema of a body.
type object struct {
	Type       string              `json:"type"`
	Properties map[string]property `json:"properties"`
	Required   []string            `json:"required,omitempty"`
}

// property is the schema of a field.
type property struct {
	Type        string              `json:"type"`
	Description string              `json:"description,omitempty"`
	Items       *property           `json:"items,omitempty"`
	Properties  map[string]property `json:"properties,omitempty"`
	Required    []string            `json:"required,omitempty"`
}

func parse(raw json.RawMessage) (object, error) {
	var o object
	if err := json.Unmarshal(raw, &o); err != nil {
		return object{}, err
	}
	if o.Type != "object" {
		return object{}, errors.New("is no object")
	}
	if o.Properties == nil {
		o.Properties = map[string]property{}
	}
	return o, nil
}

// written writes a value as JSON for people: indented, and with & and < as they are.
func written(value any) (string, error) {
	var text strings.Builder
	to := json.NewEncoder(&text)
	to.SetEscapeHTML(false)
	to.SetIndent("", "  ")
	if err := to.Encode(value); err != nil {
		return "", err
	}
	return strings.TrimSpace(text.String()), nil
}
