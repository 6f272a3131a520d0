package agenttools

// Sources: docs.vapi.ai/tools/api-request/configuration (headers with Liquid values, static body fields as
// parameters, credentialId in the place of secrets in headers), docs.vapi.ai/assistants/dynamic-variables
// (the date filter), and CreateApiRequestToolDto of @vapi-ai/server-sdk 2.0.1. A name has at most 40
// characters.

type vapiTool struct {
	Type           string          `json:"type"`
	Name           string          `json:"name"`
	Description    string          `json:"description"`
	Method         string          `json:"method"`
	URL            string          `json:"url"`
	TimeoutSeconds int             `json:"timeoutSeconds"`
	CredentialID   string          `json:"credentialId"`
	Headers        vapiHeaders     `json:"headers"`
	Body           object          `json:"body"`
	Parameters     []vapiParameter `json:"parameters,omitempty"`
	Messages       []vapiMessage   `json:"messages"`
}

type vapiHeaders struct {
	Type       string               `json:"type"`
	Properties map[string]vapiValue `json:"properties"`
}

type vapiValue struct {
	Type  string `json:"type"`
	Value string `json:"value"`
}

type vapiParameter struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

type vapiMessage struct {
	Type               string `json:"type"`
	Content            string `json:"content"`
	TimingMilliseconds int    `json:"timingMilliseconds,omitempty"`
}

func vapi() Platform {
	return Platform{
		ID: "vapi", Name: "Vapi", Language: "json", header: "Authorization: Bearer",
		caller: "{{ customer.number }}",
		now: func(zone string) string {
			if zone == "" {
				zone = "UTC"
			}
			return `{{"now" | date: "%A, %B %d, %Y, %I:%M %p", "` + zone + `"}} (` + zone + `)`
		},
		where: []string{
			"In the dashboard, make a custom credential of the kind bearer token with the API key, and put its " +
				"id in the place of YOUR_CREDENTIAL_ID.",
			"Send each tool of the list to POST https://api.vapi.ai/tool.",
			"Add the tools to the assistant, and the lines below to its system prompt.",
			"Set the model's maxTokens to 300 at least: it cuts longer arguments of tools.",
		},
		write: func(e endpoint) (any, string) {
			tools := make([]vapiTool, 0, len(e.tools))
			for _, t := range e.tools {
				tool := vapiTool{
					Type: "apiRequest", Name: t.Name, Description: t.Description, Method: "POST", URL: e.url(t),
					TimeoutSeconds: waitSeconds, CredentialID: "YOUR_CREDENTIAL_ID", Body: t.schema,
					Headers: vapiHeaders{"object", map[string]vapiValue{headerRequest: {"string", "{{ call.id }}"}}},
					Messages: []vapiMessage{
						{Type: "request-start", Content: t.filler()},
						{Type: "request-response-delayed", Content: delayed, TimingMilliseconds: delayedAtMs},
					},
				}
				for name, value := range t.preset() {
					tool.Parameters = append(tool.Parameters, vapiParameter{name, value})
				}
				tools = append(tools, tool)
			}
			return tools, ""
		},
	}
}
