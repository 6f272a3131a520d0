package upstream

import (
	"io"
	"net/http"
	"testing"

	"frontdesk/core/fault"
)

// A page instead of an empty body is no success, whoever sent it.
func TestASuccessThatIsToSayNothing(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/204":
			w.WriteHeader(http.StatusNoContent)
		case "/empty":
		case "/object":
			_, _ = io.WriteString(w, "{}\n")
		case "/page":
			_, _ = io.WriteString(w, "<html>Sign in</html>")
		case "/refusal":
			w.WriteHeader(http.StatusConflict)
			_, _ = io.WriteString(w, "no")
		case "/cut":
			w.Header().Set("Content-Length", "10")
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
	})
	client := newPool(t, PoolOptions{}).Client(ClientOptions{Provider: "rest"})
	for path, code := range map[string]fault.Code{
		"204": "", "empty": "", "object": "", "refusal": "", "page": fault.UnknownOutcome, "cut": fault.Unavailable,
	} {
		t.Run(path, func(t *testing.T) {
			req := request(t, http.MethodDelete, server.JoinPath(path).String(), "")
			resp, err := client.Do(req.WithContext(ExpectEmpty(t.Context())))
			if err == nil {
				_ = resp.Body.Close()
			}
			if f := fault.From(err); code == "" && f != nil || code != "" && (f == nil || f.Code != code || f.Unsent) {
				t.Errorf("got %v, want %q", err, code)
			}
		})
	}
	if _, _, body, err := Do(client,
		request(t, http.MethodDelete, server.JoinPath("page").String(), "")); err != nil || len(body) == 0 {
		t.Errorf("a body that may be there: %q, %v", body, err)
	}
}
