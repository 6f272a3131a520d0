package agents_test

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		goleak.IgnoreTopFunction("net/http.(*persistConn).readLoop"), // of the tests' clients
		goleak.IgnoreTopFunction("net/http.(*persistConn).writeLoop"))
}
