package agenttools

type plainTool struct {
	Name        string            `json:"name"`
	Title       string            `json:"title"`
	Description string            `json:"description"`
	Method      string            `json:"method"`
	URL         string            `json:"url"`
	Headers     map[string]string `json:"headers"`
	Parameters  object            `json:"parameters"`
	Preset      map[string]string `json:"preset,omitempty"`
	TimeoutMs   int               `json:"timeout_ms"`
	Writes      bool              `json:"writes"`
	Destructive bool              `json:"destructive"`
}

// plain is for everything that can send HTTP requests.
func plain() Platform {
	return Platform{
		ID: "json", Name: "Plain HTTP", Language: "json",
		caller: "the number that the call comes from, set by your code and not by the model",
		where: []string{
			"Put the API key in the place of " + keyHere + ", and the id of the telephone call in the place of " +
				"CALL_ID.",
			"Give the model the name, the description and the parameters of each tool.",
			"When it calls one, send the parameters with the fields of preset as a JSON object to its address.",
			"Add the lines below to the prompt.",
		},
		write: func(e endpoint) (any, string) {
			tools := make([]plainTool, 0, len(e.tools))
			for _, t := range e.tools {
				tools = append(tools, plainTool{
					Name: t.Name, Title: t.Title, Description: t.Description, Method: "POST", URL: e.url(t),
					Headers: map[string]string{
						headerKey: keyHere, headerRequest: "CALL_ID", "Content-Type": "application/json",
					},
					Parameters: t.schema, Preset: t.preset(), TimeoutMs: waitSeconds * 1000, Writes: t.Writes,
					Destructive: t.Destructive,
				})
			}
			return tools, ""
		},
	}
}
