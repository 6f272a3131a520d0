// Command serve runs the pretended Google Calendar with its OAuth endpoints, for trying the gateway by hand:
//
//	go run ./adapters/calendar/google/fake/serve --listen 127.0.0.1:9101
//
// It prints the variables that point a gateway at it. What is booked is forgotten when it ends.
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
	"strings"
	"syscall"

	"frontdesk/adapters/calendar/google/fake"
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

// The OAuth client that the server knows.
const (
	clientID     = "frontdesk.apps.example.com"
	clientSecret = "fake-client-secret"
)

func run(ctx context.Context, args []string, out, complaints io.Writer) error {
	flags := flag.NewFlagSet("serve", flag.ContinueOnError)
	flags.SetOutput(complaints)
	listen := flags.String("listen", "127.0.0.1:9101", "address to listen on; port 0 takes a free one")
	accounts := flags.String("accounts", "alice@example.com,bob@example.com", "who can sign in, separated by commas; the first one does")
	polls := flags.Int("meet-polls", 0, "how often an event is read before its Google Meet link is there")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil
		}
		return err
	}
	return adaptertest.Serve(ctx, *listen, out, func(base string) (http.Handler, [][2]string) {
		const prefix = "FRONTDESK_PROVIDERS__GOOGLE__"
		return fake.New(fake.Options{
				Accounts: strings.Split(*accounts, ","), MeetPolls: *polls,
				OAuth: oauthtest.Options{Issuer: base, Clients: map[string]string{clientID: clientSecret}},
			}), [][2]string{
				{prefix + "CLIENT_ID", clientID}, {prefix + "CLIENT_SECRET", clientSecret}, {prefix + "AUTH_URL", base + fake.AuthorizePath},
				{prefix + "TOKEN_URL", base + fake.TokenPath}, {prefix + "API_URL", base + "/"}, {prefix + "ISSUER", base},
			}
	})
}
