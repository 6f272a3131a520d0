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
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"frontdesk/adapters/calendar/google/fake"
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
	var open net.ListenConfig
	listener, err := open.Listen(ctx, "tcp", *listen)
	if err != nil {
		return err
	}
	base := "http://" + listener.Addr().String()
	server := &http.Server{ReadHeaderTimeout: 5 * time.Second, Handler: fake.New(fake.Options{
		Accounts: strings.Split(*accounts, ","), MeetPolls: *polls,
		OAuth: oauthtest.Options{Issuer: base, Clients: map[string]string{clientID: clientSecret}},
	})}
	for _, v := range [][2]string{
		{"CLIENT_ID", clientID}, {"CLIENT_SECRET", clientSecret},
		{"AUTH_URL", base + fake.AuthorizePath}, {"TOKEN_URL", base + fake.TokenPath}, {"API_URL", base + "/"}, {"ISSUER", base},
	} {
		fmt.Fprintf(out, "FRONTDESK_PROVIDERS__GOOGLE__%s=%s\n", v[0], v[1])
	}
	context.AfterFunc(ctx, func() { server.Close() })
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
