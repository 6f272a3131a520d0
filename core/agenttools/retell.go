package agenttools

// Sources: docs.retellai.com/build/conversation-flow/custom-function (header values may hold dynamic
// variables), docs.retellai.com/build/dynamic-variables (current_time and current_calendar with a zone), and
// CustomTool of retell-sdk 5.66.1. Without args_at_root the body has the call beside what the model says.

type retellTool struct {
	Type                        string            `json:"type"`
	Name                        string            `json:"name"`
	Description                 string            `json:"description"`
	Method                      string            `json:"method"`
	URL                         string            `json:"url"`
	Headers                     map[string]string `json:"headers"`
	ArgsAtRoot                  bool              `json:"args_at_root"`
	Parameters                  object            `json:"parameters"`
	TimeoutMs                   int               `json:"timeout_ms"`
	MaxRetry                    int               `json:"max_retry"`
	SpeakDuringExecution        bool              `json:"speak_during_execution"`
	ExecutionMessageType        string            `json:"execution_message_type"`
	ExecutionMessageDescription string            `json:"execution_message_description"`
	SpeakAfterExecution         bool              `json:"speak_after_execution"`
}

func retell() Platform {
	return Platform{
		ID: "retell", Name: "Retell AI", Language: "json", caller: "call.from_number", address: "/alpha/agents/retell",
		signs: true, hosted: true,
		now: func(zone string) string {
			if zone == "" {
				return "{{current_time}}, and the next days are {{current_calendar}}"
			}
			return "{{current_time_" + zone + "}}, and the next days are {{current_calendar_" + zone + "}}"
		},
		where: []string{
			"Put the API key in the place of " + keyHere + ".",
			"Send the list as general_tools to PATCH https://api.retellai.com/update-retell-llm/YOUR_LLM_ID, with " +
				"the tools that the agent keeps, such as end_call: the list takes the place of those that it has. " +
				"In the dashboard, add each as a custom function instead.",
			"If the agent does not speak English, translate execution_message_description of each tool, and add " +
				"Accept-Language to its headers with the language, such as es.",
			"Add the lines below to the general prompt.",
		},
		write: func(e endpoint) (any, string) {
			tools := make([]retellTool, 0, len(e.tools))
			headers := map[string]string{headerKey: keyHere}
			if e.signed {
				headers = map[string]string{}
			}
			for _, t := range e.tools {
				tools = append(tools, retellTool{
					Type: "custom", Name: t.Name, Description: t.Description, Method: "POST", URL: e.address,
					Headers:    headers,
					Parameters: t.schema, TimeoutMs: waitSeconds * 1000,
					MaxRetry:             1, // an equal call within minutes is answered like the first
					SpeakDuringExecution: true, ExecutionMessageType: "static_text",
					ExecutionMessageDescription: t.filler(), SpeakAfterExecution: true,
				})
			}
			return tools, ""
		},
	}
}
