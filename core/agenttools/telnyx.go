package agenttools

// Sources: InferenceEmbeddingWebhookToolParams of telnyx 7.24.0 (timeout_ms counts beside type only,
// integration secrets in header values), its InferenceEmbedding ("On update, a sent `tools` array fully replaces the
// inline tools"), and developers.telnyx.com/docs/inference/ai-assistants/dynamic-variables (telnyx_end_user_target,
// call_control_id, the time in a zone).

type telnyxTool struct {
	Type      string        `json:"type"`
	TimeoutMs int           `json:"timeout_ms"`
	Webhook   telnyxWebhook `json:"webhook"`
}

type telnyxWebhook struct {
	Name           string          `json:"name"`
	Description    string          `json:"description"`
	URL            string          `json:"url"`
	Method         string          `json:"method"`
	Headers        []telnyxHeader  `json:"headers"`
	BodyParameters object          `json:"body_parameters"`
	Messages       []telnyxMessage `json:"messages"`
}

type telnyxHeader struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type telnyxMessage struct {
	Type     string `json:"type"`
	Content  string `json:"content"`
	TimingMs int    `json:"timing_ms,omitempty"`
}

func telnyx() Platform {
	return Platform{
		ID: "telnyx", Name: "Telnyx AI Assistants", Language: "json",
		caller: "{{telnyx_end_user_target}}", address: toolsAddress, hosted: true,
		now: func(zone string) string {
			if zone == "" {
				return "{{telnyx_current_time}}"
			}
			return "{{telnyx_current_time_" + zone + "}}"
		},
		where: []string{
			"Keep the API key as an integration secret with the identifier " + label + ".",
			"Send the list as tools to POST https://api.telnyx.com/v2/ai/assistants/YOUR_ASSISTANT_ID, with the " +
				"tools that the assistant keeps, such as hangup: the list takes the place of those that it has.",
			"If the assistant does not speak English, translate the messages of each tool, and add Accept-Language " +
				"to its headers with the language, such as es.",
			"Add the lines below to the assistant's instructions.",
		},
		write: func(e endpoint) (any, string) {
			tools := make([]telnyxTool, 0, len(e.tools))
			for _, t := range e.tools {
				headers := []telnyxHeader{
					{headerKey, "{{#integration_secret}}" + label + "{{/integration_secret}}"},
					{headerCall, "{{call_control_id}}"},
				}
				if t.CallerNumber != "" {
					headers = append(headers, telnyxHeader{headerCaller, t.caller})
				}
				tools = append(tools, telnyxTool{
					Type: "webhook", TimeoutMs: waitSeconds * 1000,
					Webhook: telnyxWebhook{
						Name: t.Name, Description: t.Description, URL: e.tool(t), Method: "POST",
						Headers: headers, BodyParameters: t.schema,
						Messages: []telnyxMessage{
							{Type: "request_start", Content: t.filler()},
							{Type: "request_response_delayed", Content: delayed, TimingMs: delayedAtMs},
						},
					},
				})
			}
			return tools, ""
		},
	}
}
