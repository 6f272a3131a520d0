package oauth

import (
	"fmt"
	"os"
	"testing"

	"frontdesk/core/store/storetest"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if os.Getenv("REPLICA") != "" {
		if err := keeperProcess(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	storetest.ManyAtATime()
	goleak.VerifyTestMain(m)
}
