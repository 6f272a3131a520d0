package agenttools

import "cmp"

// Sources: elevenlabs.io/docs/eleven-agents/customization/personalization/dynamic-variables (the system variables; of
// those that tell the time, only system__time has the weekday: in the agent's time zone or, if it has none, in UTC);
// WebhookToolConfigInput of @elevenlabs/elevenlabs-js 2.73.0. A property has one source: the description for what the
// model says. By default an agent does not see what a failed webhook said, hence passthrough.

type elevenLabsTool struct {
	ToolConfig elevenLabsConfig `json:"tool_config"`
}

type elevenLabsConfig struct {
	Type                  string        `json:"type"`
	Name                  string        `json:"name"`
	Description           string        `json:"description"`
	ResponseTimeoutSecs   int           `json:"response_timeout_secs"`
	PreToolSpeech         string        `json:"pre_tool_speech"`
	InterruptionMode      string        `json:"interruption_mode"`
	ExecutionMode         string        `json:"execution_mode"`
	ToolErrorHandlingMode string        `json:"tool_error_handling_mode"`
	APISchema             elevenLabsAPI `json:"api_schema"`
}

type elevenLabsAPI struct {
	URL               string                       `json:"url"`
	Method            string                       `json:"method"`
	ContentType       string                       `json:"content_type"`
	RequestHeaders    map[string]map[string]string `json:"request_headers"`
	RequestBodySchema object                       `json:"request_body_schema"`
}

func elevenLabs() Platform {
	return Platform{
		ID: "elevenlabs", Name: "ElevenLabs Agents", Language: "json",
		caller: "system__caller_id", address: toolsAddress, hosted: true,
		now: func(string) string {
			return "{{system__time}} in the time zone of this agent, which is {{system__time_utc}} in UTC"
		},
		where: []string{
			"Keep the API key as a secret of the workspace, and put its id in the place of YOUR_SECRET_ID.",
			"Send each tool of the list to POST https://api.elevenlabs.io/v1/convai/tools.",
			"Add the tools to the agent, and the lines below to its system prompt.",
			"Set the time zone of the agent (conversation_config.agent.prompt.timezone) to that of the business.",
			"For an agent that calls people, put system__called_number in the place of system__caller_id, which is " +
				"the number of the business there: all whom it called would be one caller.",
		},
		write: func(e endpoint) (any, string) {
			tools := make([]elevenLabsTool, 0, len(e.tools))
			for _, t := range e.tools {
				c := elevenLabsConfig{
					Type: "webhook", Name: t.Name, Description: t.Description, ResponseTimeoutSecs: waitSeconds,
					PreToolSpeech: "auto", InterruptionMode: "allow", ExecutionMode: "immediate",
					ToolErrorHandlingMode: "passthrough",
					APISchema: elevenLabsAPI{
						URL: e.tool(t), Method: "POST", ContentType: "application/json",
						RequestHeaders: map[string]map[string]string{
							headerKey:  {"secret_id": "YOUR_SECRET_ID"},
							headerCall: {"variable_name": "system__conversation_id"},
						},
						RequestBodySchema: object{
							Type: t.schema.Type, Properties: sourced(t.schema.Properties), Required: t.schema.Required,
						},
					},
				}
				if t.Writes {
					c.PreToolSpeech, c.InterruptionMode = "force", "disable_during_tool"
				}
				if t.CallerNumber != "" {
					c.APISchema.RequestHeaders[headerCaller] = map[string]string{"variable_name": t.caller}
				}
				tools = append(tools, elevenLabsTool{c})
			}
			return tools, ""
		},
	}
}

// sourced returns the properties with a source for each value: the items of lists have none of their own.
func sourced(all map[string]property) map[string]property {
	described := make(map[string]property, len(all))
	for name, p := range all {
		described[name] = p.sourced()
	}
	return described
}

func (p property) sourced() property {
	if p.Items != nil {
		item := p.Items.sourced()
		item.Description = cmp.Or(item.Description, "One of them.")
		p.Items = &item
	}
	if p.Properties != nil {
		p.Properties = sourced(p.Properties)
	}
	return p
}
