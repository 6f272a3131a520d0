package api

import (
	"net/http"
	"strings"
)

// exampleBody returns the body of the first documented example, or "" if the operation takes none.
func (o operation) exampleBody() string {
	if !o.takesBody() || len(o.Examples) == 0 {
		return ""
	}
	return indent(o.Examples[0].Request)
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
