package adaptertest

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// Start runs a program at a free port until the test ends. It wants these names printed, in this order, and answers their
// values.
func Start(t testing.TB, program Program, names ...string) map[string]string {
	t.Helper()
	out, ended := make(printed, 1), make(chan int, 1)
	var complaints strings.Builder // read when the program has ended
	go func() {
		ended <- run(t.Context(), []string{"--listen", "127.0.0.1:0"}, out, &complaints, "", program)
	}()
	var text string
	select {
	case text = <-out:
	case status := <-ended:
		t.Fatalf("the program ended at once, with %d: %s", status, &complaints)
	}
	t.Cleanup(func() { // the test's context has ended, and the program with it
		http.DefaultClient.CloseIdleConnections()
		if status := <-ended; status != 0 {
			t.Errorf("the program ended with %d: %s", status, &complaints)
		}
	})
	var order []string
	told := map[string]string{}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		order = append(order, name)
		told[name] = value
		if value == "" {
			t.Errorf("%s is printed without a value", name)
		}
	}
	if !slices.Equal(order, names) {
		t.Errorf("printed are %q, want %q", order, names)
	}
	return told
}

// printed takes what a program prints.
type printed chan string

func (p printed) Write(text []byte) (int, error) {
	p <- string(text)
	return len(text), nil
}

// Get asks at an address, with what as puts on the request, and answers the status and the body. A nil as puts nothing.
func Get(t testing.TB, address string, as func(*http.Request)) (status int, body string) {
	t.Helper()
	ask, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	if as != nil {
		as(ask)
	}
	answer, err := http.DefaultClient.Do(ask)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}
