package adaptertest

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

// Start runs a program on a free port until the test ends. The program must print values for exactly these
// names, in this order. Start returns the values.
func Start(t testing.TB, program Program, names ...string) map[string]string {
	t.Helper()
	out, ended := make(printed, 1), make(chan int, 1)
	var complaints strings.Builder // read when the program has ended
	go func() {
		ended <- run(t.Context(), []string{"fake"}, out, &complaints,
			map[string]Fake{"fake": {"127.0.0.1:0", program}})
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
	values := map[string]string{}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		order = append(order, name)
		values[name] = value
		if value == "" {
			t.Errorf("%s is printed without a value", name)
		}
	}
	if !slices.Equal(order, names) {
		t.Errorf("printed are %q, want %q", order, names)
	}
	return values
}

// printed receives what a program prints.
type printed chan string

func (p printed) Write(text []byte) (int, error) {
	p <- string(text)
	return len(text), nil
}
