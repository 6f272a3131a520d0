// Command serve runs the pretended Telnyx, for trying the gateway by hand:
//
//	go run ./adapters/telephony/telnyx/fake/serve --listen 127.0.0.1:9122
//
// It prints the variable that points a gateway at it, and the settings of a connection to it. What is bought is forgotten
// when it ends.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"syscall"

	"frontdesk/adapters/telephony/telnyx/fake"
	"frontdesk/core/adapter/adaptertest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// apiKey is the key that the server knows.
const apiKey = "KEYfake-api-key"

func run(ctx context.Context, args []string, out, complaints io.Writer) error {
	flags := flag.NewFlagSet("serve", flag.ContinueOnError)
	flags.SetOutput(complaints)
	listen := flags.String("listen", "127.0.0.1:9122", "address to listen on; port 0 takes a free one")
	orderTime := flags.Duration("order-time", 0, "how long an order is under way, such as 2s")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil
		}
		return err
	}
	return adaptertest.Serve(ctx, *listen, out, func(base string) (http.Handler, [][2]string) {
		return fake.New(fake.Options{APIKey: apiKey, OrderTime: *orderTime}), [][2]string{
			{"FRONTDESK_PROVIDERS__TELNYX__API_URL", base + fake.APIPath},
			{"api_key", apiKey}, {"connection_id", fake.Application},
		}
	})
}
