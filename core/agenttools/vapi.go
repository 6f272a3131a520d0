package agenttools

// Sources: docs.vapi.ai/tools/custom-tools and docs.vapi.ai/server-url/server-authentication (credentialId in
// the place of secrets in headers), docs.vapi.ai/assistants/dynamic-variables (the date filter), and
// CreateFunctionToolDto of @vapi-ai/server-sdk 2.0.1. The server message names the telephone call, the call of
// the tool and the caller's number.

type vapiTool struct {
	Type     string        `json:"type"`
	Function vapiFunction  `json:"function"`
	Server   vapiServer    `json:"server"`
	Messages []vapiMessage `json:"messages"`
}

type vapiFunction struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Parameters  object `json:"parameters"`
}

type vapiServer struct {
	URL            string `json:"url"`
	TimeoutSeconds int    `json:"timeoutSeconds"`
	CredentialID   string `json:"credentialId"`
}

type vapiMessage struct {
	Type               string `json:"type"`
	Content            string `json:"content"`
	TimingMilliseconds int    `json:"timingMilliseconds,omitempty"`
}

func vapi() Platform {
	return Platform{
		ID: "vapi", Name: "Vapi", Language: "json", header: "Authorization: Bearer",
		caller: "message.customer.number", address: "/alpha/agents/vapi", asText: true, hosted: true,
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
			"If the assistant does not speak English, translate the messages of each tool, and give its server the " +
				"header Accept-Language with the language, such as es. Some sentences of the gateway are said as " +
				"they are, unless it does not speak that language.",
			"To greet callers by name, leave the number without an assistant, and set its server URL to " +
				"/alpha/agents/vapi?assistant_id=YOUR_ASSISTANT_ID of the gateway, with the same credential.",
		},
		write: func(e endpoint) (any, string) {
			tools := make([]vapiTool, 0, len(e.tools))
			for _, t := range e.tools {
				tools = append(tools, vapiTool{
					Type: "function", Function: vapiFunction{t.Name, t.Description, t.schema},
					Server: vapiServer{e.address, waitSeconds, "YOUR_CREDENTIAL_ID"},
					Messages: []vapiMessage{
						{Type: "request-start", Content: t.filler()},
						{Type: "request-response-delayed", Content: delayed, TimingMilliseconds: delayedAtMs},
					},
				})
			}
			return tools, ""
		},
	}
}
