package mcp_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"frontdesk/core/page/browsertest"
)

// The protocol's conformance suite asks for tools, resources and prompts made for it. They are written after the
// requirements that its scenarios state (@modelcontextprotocol/conformance 0.2.0-alpha.12, "Server Implementation
// Requirements"). Here they stand beside our tools, on the handler that the product has.

// Every scenario that the version 2026-07-28 requires of a server passes.
func TestTheRequirementsOfTheProtocolAreMet(t *testing.T) {
	w, _ := openWith(t, 0, withFixtures)
	results := t.TempDir()
	cmd := browsertest.Node(t, "@modelcontextprotocol/conformance", "dist/index.js",
		"server", "--url", w.url, "--requirements", "2026-07-28", "-o", results)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	passed := map[string]bool{}
	files, _ := filepath.Glob(filepath.Join(results, "*", "checks.json"))
	for _, file := range files {
		raw, err := os.ReadFile(file)
		var checks []struct{ ID, Status, ErrorMessage string }
		if err != nil || json.Unmarshal(raw, &checks) != nil {
			t.Fatalf("%s: %v, %s", file, err, raw)
		}
		name := filepath.Base(filepath.Dir(file))
		for _, c := range checks {
			if strings.Contains(name, "-tasks-") { // an extension, which the requirements do not score
				continue
			}
			switch c.Status {
			case "SUCCESS":
				passed[c.ID] = true
			case "INFO":
			default:
				t.Errorf("%s: %s is %s: %s", name, c.ID, c.Status, c.ErrorMessage)
			}
		}
	}
	if len(passed) < 100 {
		t.Errorf("%d checks passed\n%s", len(passed), out)
	}
}

// pixel is a PNG image of one pixel, and silence a WAV sound without samples.
const (
	pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="

	silence = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA="
)

func bytesOf(base string) []byte {
	raw, err := base64.StdEncoding.DecodeString(base)
	if err != nil {
		panic(err)
	}
	return raw
}

func said(format string, values ...any) *sdk.CallToolResult {
	return holding(&sdk.TextContent{Text: fmt.Sprintf(format, values...)})
}

func holding(all ...sdk.Content) *sdk.CallToolResult { return &sdk.CallToolResult{Content: all} }

func embedded(uri, mimeType, text string) *sdk.EmbeddedResource {
	return &sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: uri, MIMEType: mimeType, Text: text}}
}

func image() *sdk.ImageContent { return &sdk.ImageContent{Data: bytesOf(pixel), MIMEType: "image/png"} }

// withFixtures has a server offer what the suite asks for.
func withFixtures(o *sdk.ServerOptions) func(*sdk.Server) {
	o.Capabilities = &sdk.ServerCapabilities{
		Tools: &sdk.ToolCapabilities{ListChanged: true}, Prompts: &sdk.PromptCapabilities{ListChanged: true},
		Resources: &sdk.ResourceCapabilities{}, Completions: &sdk.CompletionCapabilities{},
		Logging: &sdk.LoggingCapabilities{}, //nolint:staticcheck // the suite asks whether it is gated
	}
	o.CompletionHandler = func(context.Context, *sdk.CompleteRequest) (*sdk.CompleteResult, error) {
		return &sdk.CompleteResult{Completion: sdk.CompletionResultDetails{Values: []string{"paris"}, Total: 1}}, nil
	}
	return func(s *sdk.Server) {
		addTools(s)
		addResources(s)
		addPrompts(s)
	}
}

func addTools(s *sdk.Server) {
	schemas := map[string]string{
		"test_x_mcp_header": `{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}`,
		"json_schema_2020_12_tool": `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",
			"$defs":{"address":{"$anchor":"addressDef","type":"object",
				"properties":{"street":{"type":"string"},"city":{"type":"string"}}}},
			"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"},
				"contactMethod":{"type":"string","enum":["phone","email"]},
				"phone":{"type":"string"},"email":{"type":"string"}},
			"allOf":[{"anyOf":[{"required":["phone"]},{"required":["email"]}]}],
			"if":{"properties":{"contactMethod":{"const":"phone"}},"required":["contactMethod"]},
			"then":{"required":["phone"]},"else":{"required":["email"]},"additionalProperties":false}`,
	}
	add := func(name string, call sdk.ToolHandler) {
		schema := schemas[name]
		if schema == "" {
			schema = `{"type":"object"}`
		}
		s.AddTool(&sdk.Tool{Name: name, Description: "A fixture.", InputSchema: json.RawMessage(schema)}, call)
	}
	for name, result := range map[string]*sdk.CallToolResult{
		"test_simple_text":       said("This is a simple text response for testing."),
		"test_image_content":     holding(image()),
		"test_audio_content":     holding(&sdk.AudioContent{Data: bytesOf(silence), MIMEType: "audio/wav"}),
		"test_embedded_resource": holding(embedded("test://embedded-resource", "text/plain", "A resource.")),
		"test_multiple_content_types": holding(&sdk.TextContent{Text: "Multiple content types test:"}, image(),
			embedded("test://mixed-content-resource", "application/json", `{"test":"data","value":123}`)),
		"test_error_handling": {IsError: true, Content: []sdk.Content{
			&sdk.TextContent{Text: "This tool intentionally returns an error for testing"},
		}},
		"test_x_mcp_header": said("ok"), "json_schema_2020_12_tool": said("ok"),
		"test_streaming_elicitation": said("ok"),
	} {
		add(name, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) { return result, nil })
	}
	add("test_tool_with_progress", func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		for _, done := range []float64{0, 50, 100} {
			if err := r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{
				ProgressToken: r.Params.GetProgressToken(), Progress: done, Total: 100,
			}); err != nil {
				return nil, err
			}
		}
		return said("done"), nil
	})
	add("test_logging_tool", func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		//nolint:staticcheck // deprecated by the protocol, and asked for by the suite
		return said("logged"), r.Session.Log(ctx, &sdk.LoggingMessageParams{Level: "info", Data: "called"})
	})
	add("test_missing_capability", func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		if c := r.ClientCapabilities(); c != nil && c.Sampling != nil { //nolint:staticcheck // as above
			return said("ok"), nil
		}
		return nil, &jsonrpc.Error{
			Code: sdk.CodeMissingRequiredClientCapabilities, Message: "sampling is required",
			Data: json.RawMessage(`{"requiredCapabilities":{"sampling":{}}}`),
		}
	})
	add("test_trigger_tool_change", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		add("test_changed", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return said("ok"), nil
		})
		return said("changed"), nil
	})
	add("test_trigger_prompt_change", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		s.AddPrompt(fixture("test_changed"), promptSaying("ok"))
		return said("changed"), nil
	})
	for name, call := range rounds {
		add("test_input_required_result_"+name, func(_ context.Context, r *sdk.CallToolRequest) (
			*sdk.CallToolResult, error,
		) {
			return call(r)
		})
	}
}

// What the multi-round tools ask the client for (SEP-2322).

func ask(message, field, kind string) *sdk.ElicitParams {
	return &sdk.ElicitParams{Message: message, RequestedSchema: json.RawMessage(fmt.Sprintf(
		`{"type":"object","properties":{%q:{"type":%q}},"required":[%q]}`, field, kind, field))}
}

func complete(prompt string) *sdk.CreateMessageParams { //nolint:staticcheck // as above
	return &sdk.CreateMessageParams{ //nolint:staticcheck // as above
		MaxTokens: 100, Messages: []*sdk.SamplingMessage{ //nolint:staticcheck // as above
			{Role: "user", Content: &sdk.TextContent{Text: prompt}},
		}}
}

func needs(state string, requests sdk.InputRequestMap) (*sdk.CallToolResult, error) {
	return &sdk.CallToolResult{InputRequests: requests, RequestState: state}, nil
}

// told returns a field of what a user accepted to tell.
func told(given sdk.InputResponseMap, key, field string) (value any, has bool) {
	if result, is := given[key].(*sdk.ElicitResult); is && result.Action == "accept" {
		value, has = result.Content[field]
	}
	return value, has
}

func sampled(given sdk.InputResponseMap, key string) (string, bool) {
	result, is := given[key].(*sdk.CreateMessageWithToolsResult) //nolint:staticcheck // as above
	if !is || len(result.Content) == 0 {
		return "", false
	}
	content, is := result.Content[0].(*sdk.TextContent)
	if !is {
		return "", false
	}
	return content.Text, true
}

// sealed returns a state that a client cannot change unnoticed.
func sealed(state string) string {
	mac := hmac.New(sha256.New, []byte("a key of the tests"))
	mac.Write([]byte(state))
	return state + "." + hex.EncodeToString(mac.Sum(nil))
}

var errTampered = &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "the requestState was changed"}

var rounds = map[string]func(*sdk.CallToolRequest) (*sdk.CallToolResult, error){
	"elicitation": func(r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		if name, has := told(r.Params.InputResponses, "user_name", "name"); has {
			return said("Hello, %v!", name), nil
		}
		return needs("", sdk.InputRequestMap{"user_name": ask("What is your name?", "name", "string")})
	},
	"sampling": func(r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		if text, has := sampled(r.Params.InputResponses, "capital_question"); has {
			return said("%s", text), nil
		}
		return needs("", sdk.InputRequestMap{"capital_question": complete("What is the capital of France?")})
	},
	"list_roots": func(r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		//nolint:staticcheck // deprecated by the protocol, and asked for by the suite
		if result, is := r.Params.InputResponses["client_roots"].(*sdk.ListRootsResult); is {
			var all []string
			for _, root := range result.Roots {
				all = append(all, root.URI)
			}
			return said("%d: %s", len(all), strings.Join(all, ", ")), nil
		}
		return needs("", sdk.InputRequestMap{"client_roots": &sdk.ListRootsParams{}}) //nolint:staticcheck // as above
	},
	"request_state": func(r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return confirmed(r, "request_state")
	},
	"tampered_state": func(r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return confirmed(r, "tampered_state")
	},
	"multiple_inputs": func(r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		given := r.Params.InputResponses
		name, named := told(given, "user_name", "name")
		greeting, greeted := sampled(given, "greeting")
		_, rooted := given["client_roots"]
		if named && greeted && rooted {
			return said("%s %v", greeting, name), nil
		}
		return needs(sealed("all"), sdk.InputRequestMap{
			"user_name": ask("What is your name?", "name", "string"), "greeting": complete("Generate a greeting"),
			"client_roots": &sdk.ListRootsParams{}, //nolint:staticcheck // as above
		})
	},
	"multi_round": func(r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		switch given := r.Params.InputResponses; r.Params.RequestState {
		case "":
			return needs(sealed("1"), sdk.InputRequestMap{"step1": ask("Step 1: What is your name?", "name", "string")})
		case sealed("1"):
			return needs(sealed("2"), sdk.InputRequestMap{
				"step2": ask("Step 2: What is your favorite color?", "color", "string"),
			})
		case sealed("2"):
			color, _ := told(given, "step2", "color")
			return said("%v", color), nil
		}
		return nil, errTampered
	},
	"capabilities": func(r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		can, requests := r.ClientCapabilities(), sdk.InputRequestMap{}
		if can != nil && can.Elicitation != nil {
			requests["user_name"] = ask("What is your name?", "name", "string")
		}
		if can != nil && can.Sampling != nil { //nolint:staticcheck // as above
			requests["greeting"] = complete("Generate a greeting")
		}
		if len(requests) == 0 || len(r.Params.InputResponses) > 0 {
			return said("ok"), nil
		}
		return needs("", requests)
	},
}

// confirmed asks for a confirmation, with a state that it must get back unchanged.
func confirmed(r *sdk.CallToolRequest, state string) (*sdk.CallToolResult, error) {
	if got := r.Params.RequestState; got != "" && got != sealed(state) {
		return nil, errTampered
	}
	if _, has := told(r.Params.InputResponses, "confirm", "ok"); has && r.Params.RequestState != "" {
		return said("state-ok"), nil
	}
	return needs(sealed(state), sdk.InputRequestMap{"confirm": ask("Please confirm", "ok", "boolean")})
}

func addResources(s *sdk.Server) {
	add := func(uri, mimeType string, contents sdk.ResourceContents) {
		s.AddResource(&sdk.Resource{Name: uri, URI: uri, MIMEType: mimeType},
			func(context.Context, *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
				contents.URI, contents.MIMEType = uri, mimeType
				return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{&contents}}, nil
			})
	}
	add("test://static-text", "text/plain", sdk.ResourceContents{
		Text: "This is the content of the static text resource.",
	})
	add("test://static-binary", "image/png", sdk.ResourceContents{Blob: bytesOf(pixel)})
	s.AddResourceTemplate(&sdk.ResourceTemplate{
		Name: "template", URITemplate: "test://template/{id}/data", MIMEType: "application/json",
	}, func(_ context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		id, is := strings.CutSuffix(strings.TrimPrefix(r.Params.URI, "test://template/"), "/data")
		if !is {
			return nil, errors.New("no such resource")
		}
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{
			URI: r.Params.URI, MIMEType: "application/json",
			Text: fmt.Sprintf(`{"id":%q,"templateTest":true,"data":%q}`, id, "Data for ID: "+id),
		}}}, nil
	})
}

func messages(all ...sdk.Content) *sdk.GetPromptResult {
	result := &sdk.GetPromptResult{}
	for _, content := range all {
		result.Messages = append(result.Messages, &sdk.PromptMessage{Role: "user", Content: content})
	}
	return result
}

func promptSaying(text string) sdk.PromptHandler {
	return func(context.Context, *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		return messages(&sdk.TextContent{Text: text}), nil
	}
}

// fixture returns a prompt with arguments that it must have.
func fixture(name string, arguments ...string) *sdk.Prompt {
	p := &sdk.Prompt{Name: name, Description: "A fixture."}
	for _, argument := range arguments {
		p.Arguments = append(p.Arguments, &sdk.PromptArgument{Name: argument, Description: "Any text.", Required: true})
	}
	return p
}

func addPrompts(s *sdk.Server) {
	s.AddPrompt(fixture("test_simple_prompt"), promptSaying("This is a simple prompt for testing."))
	s.AddPrompt(fixture("test_prompt_with_arguments", "arg1", "arg2"), func(_ context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		return messages(&sdk.TextContent{Text: fmt.Sprintf("Prompt with arguments: arg1='%s', arg2='%s'",
			r.Params.Arguments["arg1"], r.Params.Arguments["arg2"])}), nil
	})
	s.AddPrompt(fixture("test_prompt_with_embedded_resource", "resourceUri"), func(_ context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		return messages(embedded(r.Params.Arguments["resourceUri"], "text/plain", "Embedded resource content for testing."),
			&sdk.TextContent{Text: "Please process the embedded resource above."}), nil
	})
	s.AddPrompt(fixture("test_prompt_with_image"),
		func(context.Context, *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
			return messages(image(), &sdk.TextContent{Text: "Please analyze the image above."}), nil
		})
	s.AddPrompt(fixture("test_input_required_result_prompt"),
		func(_ context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
			if value, has := told(r.Params.InputResponses, "user_context", "context"); has {
				return messages(&sdk.TextContent{Text: fmt.Sprint(value)}), nil
			}
			return &sdk.GetPromptResult{InputRequests: sdk.InputRequestMap{
				"user_context": ask("What context should the prompt use?", "context", "string"),
			}}, nil
		})
}
