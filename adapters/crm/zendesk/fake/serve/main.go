// Command serve runs the pretended Zendesk Support with its OAuth endpoints, for trying the gateway by hand:
//
//	go run ./adapters/crm/zendesk/fake/serve --listen 127.0.0.1:9111
//
// It prints the variables that point a gateway at it, and the settings of a connection to it. What is opened is forgotten
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

	"frontdesk/adapters/crm/zendesk/fake"
	"frontdesk/core/adapter/adaptertest"
	"frontdesk/core/oauth/oauthtest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// What the server knows.
const (
	clientID     = "frontdesk"
	clientSecret = "fake-client-secret"
	email        = "agent@example.com"
	apiToken     = "fake-api-token"
)

func run(ctx context.Context, args []string, out, complaints io.Writer) error {
	flags := flag.NewFlagSet("serve", flag.ContinueOnError)
	flags.SetOutput(complaints)
	listen := flags.String("listen", "127.0.0.1:9111", "address to listen on; port 0 takes a free one")
	system := flags.Bool("system-statuses", false, "the account has no custom statuses")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil
		}
		return err
	}
	return adaptertest.Serve(ctx, *listen, out, func(base string) (http.Handler, [][2]string) {
		return fake.New(fake.Options{
				Email: email, APIToken: apiToken, SystemStatuses: *system,
				OAuth: oauthtest.Options{Clients: map[string]string{clientID: clientSecret}},
			}), [][2]string{
				{"FRONTDESK_PROVIDERS__ZENDESK__CLIENT_ID", clientID}, {"FRONTDESK_PROVIDERS__ZENDESK__CLIENT_SECRET", clientSecret},
				{"base_url", base}, {"email", email}, {"api_token", apiToken},
			}
	})
}
