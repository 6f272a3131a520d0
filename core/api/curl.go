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
	// Braces are patterns to curl.
	return CurlOf(base, o.Method, strings.NewReplacer("{", "", "}", "").Replace(o.Path), "", o.exampleBody())
}

// exampleBody returns the body of the first documented example, or "" if the operation takes none.
func (o operation) exampleBody() string {
	if !o.takesBody() || len(o.Examples) == 0 {
		return ""
	}
	body, err := json.MarshalIndent(o.Examples[0].Request, "", "  ")
	if err != nil {
		panic("api: the example of " + o.ID + " cannot be written: " + err.Error())
	}
	return string(body)
}

// CurlOf returns the curl command of one request. The idempotency key and the body may be "".
func CurlOf(publicURL, method, path, idempotencyKey, body string) string {
	lines := []string{"curl -sS"}
	if method != http.MethodPost {
		lines[0] += " -X " + method
	}
	lines[0] += " " + shellQuote(strings.TrimRight(publicURL, "/")+path)
	lines = append(lines, "-H 'X-Api-Key: YOUR_KEY'")
	if idempotencyKey != "" {
		lines = append(lines, "-H "+shellQuote(headerIdempotency+": "+idempotencyKey))
	}
	if body != "" {
		lines = append(lines, "-H 'Content-Type: application/json'", "-d "+shellQuote(body))
	}
	return strings.Join(lines, " \\\n  ")
}

// shellQuote quotes a word for a shell.
func shellQuote(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }
