package adaptertest

import (
	"errors"
	"flag"
	"io"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func greeter(flags *flag.FlagSet) Begin {
	greeting := flags.String("greeting", "hello", "what is said")
	return func(base string) (http.Handler, [][2]string) {
		answer := func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, *greeting) }
		return http.HandlerFunc(answer), [][2]string{{"base_url", base}, {"query", "a=b"}}
	}
}

func TestAProgramServesWhereItSays(t *testing.T) {
	values := Start(t, greeter, "base_url", "query")
	if status, body := Get(t, values["base_url"], nil); status != http.StatusOK || body != "hello" ||
		values["query"] != "a=b" {
		t.Errorf("told %q, answered %d %s", values, status, body)
	}
}

const usage = `Usage of greeter:
  -greeting string
    	what is said (default "hello")
  -listen string
    	address to listen on; port 0 takes a free one (default "127.0.0.1:9")
`

func TestHowAProgramEndsThatDoesNotServe(t *testing.T) {
	fakes := map[string]Fake{"greeter": {"127.0.0.1:9", greeter}, "another": {"127.0.0.1:9", greeter}}
	for _, c := range []struct {
		rule       string
		args       []string
		out        io.Writer
		status     int
		complaints string
	}{
		{"a name is needed", nil, io.Discard, 2, "Name one of these: another, greeter.\n"},
		{"a name that is not known", []string{"greeters"}, io.Discard, 2, "Name one of these: another, greeter.\n"},
		{"help is no failure", []string{"greeter", "--help"}, io.Discard, 0, usage},
		{"a flag that is not known is told with those that are", []string{"greeter", "--volume", "9"}, io.Discard,
			2, "flag provided but not defined: -volume\n" + usage},
		{"an address that is none", []string{"greeter", "--listen", "127.0.0.1"}, io.Discard, 1,
			"listen tcp: address 127.0.0.1: missing port in address\n"},
		{"nobody can be told where it serves", []string{"greeter", "--listen", "127.0.0.1:0"}, closed{}, 1,
			"nobody reads\n"},
	} {
		var complaints strings.Builder
		if status := run(t.Context(), c.args, c.out, &complaints, fakes); status != c.status ||
			complaints.String() != c.complaints {
			t.Errorf("%s: %d, want %d, with\n%s", c.rule, status, c.status, &complaints)
		}
	}
}

type closed struct{}

func (closed) Write([]byte) (int, error) { return 0, errors.New("nobody reads") }
