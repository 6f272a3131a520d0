package agenttools

type plainTool struct {
	Name        string            `json:"name"`
	Title       string            `json:"title"`
	Description string            `json:"description"`
	Method      string            `json:"method"`
	URL         string            `json:"url"`
	Headers     map[string]string `json:"headers"`
	Parameters  object            `json:"parameters"`
	TimeoutMs   int               `json:"timeout_ms"`
	Writes      bool              `json:"writes"`
	Destructive bool              `json:"destructive"`
}

// plain is for everything that can send HTTP requests.
func plain() Platform {
	return Platform{
		ID: "json", Name: "Plain HTTP", Language: "json",
		caller: "CALLER_NUMBER", address: toolsAddress,
		where: []string{
			"Put the API key in the place of " + keyHere + ", the id of the telephone call in the place of CALL_ID, " +
				"and the number that it comes from in the place of CALLER_NUMBER. Your code does that, not the model.",
			"Give the model the name, the description and the parameters of each tool.",
			"When it calls one, send the parameters as a JSON object to its address. If your model numbers its calls, " +
				"send the number in " + headerToolCall + ": then a repeat has one effect whenever it comes.",
			"Add the lines below to the prompt.",
		},
		write: func(e endpoint) (any, string) {
			tools := make([]plainTool, 0, len(e.tools))
			for _, t := range e.tools {
				headers := map[string]string{headerKey: keyHere, headerCall: "CALL_ID", "Content-Type": "application/json"}
				if t.CallerNumber != "" {
					headers[headerCaller] = t.caller
				}
				tools = append(tools, plainTool{
					Name: t.Name, Title: t.Title, Description: t.Description, Method: "POST", URL: e.tool(t), Headers: headers,
					Parameters: t.schema, TimeoutMs: waitSeconds * 1000, Writes: t.Writes,
					Destructive: t.Destructive,
				})
			}
			return tools, ""
		},
	}
}
