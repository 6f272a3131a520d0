// Command serve runs the pretended Freshdesk, for trying the gateway by hand:
//
//	go run ./adapters/crm/freshdesk/fake/serve --listen 127.0.0.1:9112
//
// It prints the settings of a connection to it. What is opened is forgotten when it ends.
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

	"frontdesk/adapters/crm/freshdesk/fake"
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

// apiKey is the one that the server knows.
const apiKey = "fake-api-key"

func run(ctx context.Context, args []string, out, complaints io.Writer) error {
	flags := flag.NewFlagSet("serve", flag.ContinueOnError)
	flags.SetOutput(complaints)
	listen := flags.String("listen", "127.0.0.1:9112", "address to listen on; port 0 takes a free one")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil
		}
		return err
	}
	return adaptertest.Serve(ctx, *listen, out, func(base string) (http.Handler, [][2]string) {
		return fake.New(fake.Options{APIKey: apiKey}), [][2]string{
			{"base_url", base}, {"requester_email", "calls@example.com"}, {"api_key", apiKey},
		}
	})
}
