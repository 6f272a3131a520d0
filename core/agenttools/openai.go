package agenttools

// Source: SessionUpdateEvent, RealtimeFunctionTool and Mcp of openai 7.57.0. OpenAI calls a server of the
// Model Context Protocol itself, so the gateway must be reachable from outside. A function is called by
// whoever holds the socket: response.function_call_arguments.done has its arguments, and
// conversation.item.create with function_call_output takes the answer, then response.create. Of a session.update,
// "only the fields that are present" are updated, each as a whole: "To clear a field like tools, pass an empty array".

type openAIUpdate struct {
	Type    string        `json:"type"`
	Session openAISession `json:"session"`
}

type openAISession struct {
	Type  string `json:"type"`
	Tools []any  `json:"tools"`
}

type openAIServer struct {
	Type            string            `json:"type"`
	ServerLabel     string            `json:"server_label"`
	ServerURL       string            `json:"server_url"`
	Headers         map[string]string `json:"headers"`
	AllowedTools    []string          `json:"allowed_tools"`
	RequireApproval string            `json:"require_approval"`
}

type openAIFunction struct {
	Type        string `json:"type"`
	Name        string `json:"name"`
	Description string `json:"description"`
	Parameters  object `json:"parameters"`
}

const keptBeside = "with the tools that the session keeps, such as a transfer: the list takes the place of those that " +
	"it has."

func openAI() Platform {
	return Platform{
		ID: "openai", Name: "OpenAI Realtime", Language: "json", overMCP: true, hosted: true,
		where: []string{
			"Put the API key in the place of " + keyHere + ", the number in the From header of the SIP call " +
				"in the place of CALLER_NUMBER, and the id of the SIP call in the place of CALL_ID.",
			"Send the event over the session's socket once the call is accepted, " + keptBeside,
			"Add the lines below to the session's instructions.",
		},
		write: func(e endpoint) (any, string) {
			return openAIUpdate{"session.update", openAISession{"realtime", []any{openAIServer{
				Type: "mcp", ServerLabel: label, ServerURL: e.mcp(),
				Headers:      map[string]string{headerKey: keyHere, headerCaller: "CALLER_NUMBER", headerCall: "CALL_ID"},
				AllowedTools: e.names(), RequireApproval: "never",
			}}}}, ""
		},
	}
}

func openAIFunctions() Platform {
	return Platform{
		ID: "openai-functions", Name: "OpenAI Realtime, functions that your code calls", Language: "json",
		caller: "CALLER_NUMBER", address: toolsAddress,
		where: []string{
			"Send the event over the session's socket, " + keptBeside,
			"When the model calls a function, send its arguments with POST to " + toolsAddress + "/ and its name, " +
				"with the API key in " + headerKey + ", the call_id of the function call in " + headerToolCall +
				", the id of the SIP call in " + headerCall + ", and the number in its From header in " + headerCaller + ".",
			"Give the answer back as function_call_output, then send response.create.",
			"Add the lines below to the session's instructions.",
		},
		write: func(e endpoint) (any, string) {
			tools := make([]any, 0, len(e.tools))
			for _, t := range e.tools {
				tools = append(tools, openAIFunction{"function", t.Name, t.Description, t.schema})
			}
			return openAIUpdate{"session.update", openAISession{"realtime", tools}}, ""
		},
	}
}
