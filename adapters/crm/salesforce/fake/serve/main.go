// Command serve runs the pretended Salesforce with its OAuth endpoints, for trying the gateway by hand:
//
//	go run ./adapters/crm/salesforce/fake/serve --listen 127.0.0.1:9104
//
// It prints the variables that point a gateway at it. Its cases are forgotten when it ends.
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

	"frontdesk/adapters/crm/salesforce/fake"
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
	clientID     = "frontdesk.fake-consumer-key"
	clientSecret = "fake-consumer-secret"
)

func run(ctx context.Context, args []string, out, complaints io.Writer) error {
	flags := flag.NewFlagSet("serve", flag.ContinueOnError)
	flags.SetOutput(complaints)
	listen := flags.String("listen", "127.0.0.1:9104", "address to listen on; port 0 takes a free one")
	accounts := flags.String("accounts", "alice@acme.example", "who can sign in, separated by commas; the first one does")
	keyField := flags.String("external-id-field", "Frontdesk_Key__c", "custom field of cases that keeps keys; empty is none")
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
	server := &http.Server{ReadHeaderTimeout: 5 * time.Second, Handler: fake.New(fake.Options{
		Accounts: strings.Split(*accounts, ","), ExternalID: *keyField,
		OAuth: oauthtest.Options{Clients: map[string]string{clientID: clientSecret}},
	})}
	for _, v := range [][2]string{{"CLIENT_ID", clientID}, {"CLIENT_SECRET", clientSecret}, {"LOGIN_URL", "http://" + listener.Addr().String()}} {
		fmt.Fprintf(out, "FRONTDESK_PROVIDERS__SALESFORCE__%s=%s\n", v[0], v[1])
	}
	context.AfterFunc(ctx, func() { server.Close() })
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
