package api

import (
	"encoding/json"
	"net/http"
	"strings"
)

// Curl returns a curl command that calls the operation with the given id as its first documented example
// does, or "" if there is no such operation. The caller puts its API key in the place of YOUR_KEY.
func Curl(publicURL, operationID string) string {
	for _, op := range operations(Services{}) {
		if op.ID == operationID {
			return op.curl(strings.TrimRight(publicURL, "/"))
		}
	}
	return ""
}

func (o operation) curl(base string) string {
	lines := []string{"curl -sS"}
	if o.Method != http.MethodPost {
		lines[0] += " -X " + o.Method
	}
	// Braces are patterns to curl.
	lines[0] += " " + shellQuote(base+strings.NewReplacer("{", "", "}", "").Replace(o.Path))
	lines = append(lines, "-H 'X-Api-Key: YOUR_KEY'")
	if o.takesBody() && len(o.Examples) > 0 {
		body, err := json.MarshalIndent(o.Examples[0].Request, "", "  ")
		if err == nil { // examples are values that the documents show too
			lines = append(lines, "-H 'Content-Type: application/json'", "-d "+shellQuote(string(body)))
		}
	}
	return strings.Join(lines, " \\\n  ")
}

// shellQuote quotes a word for a shell.
func shellQuote(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }
