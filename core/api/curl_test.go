package api

import (
	"strings"
	"testing"
)

func TestEveryOperationHasItsCurlCommand(t *testing.T) {
	for _, op := range operations(Services{}) {
		got := Curl("https://desk.example/base/", op.ID)
		path := strings.NewReplacer("{", "", "}", "").Replace(op.Path)
		if !strings.Contains(got, "'https://desk.example/base"+path+"'") ||
			!strings.Contains(got, "X-Api-Key: YOUR_KEY") || strings.Contains(got, " -d '{") != op.takesBody() {
			t.Errorf("%s: %s", op.ID, got)
		}
	}
	if got := Curl("https://desk.example", "none"); got != "" {
		t.Errorf("an unknown operation: %s", got)
	}
	if got, want := shellQuote("it's"), `'it'\''s'`; got != want {
		t.Errorf("quoted is %s, not %s", got, want)
	}
}
