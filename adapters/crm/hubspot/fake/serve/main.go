// Command serve runs the pretended HubSpot with its OAuth endpoints, for trying the gateway by hand:
//
//	go run ./adapters/crm/hubspot/fake/serve --listen 127.0.0.1:9104
//
// It prints the variables that point a gateway at it, and the settings of a connection that needs no consent. What is made
// is forgotten when it ends.
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
	"syscall"
	"time"

	"frontdesk/adapters/crm/hubspot/fake"
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

// What the server knows: an OAuth client, a private app's token, and a property with unique values.
const (
	clientID     = "frontdesk-client"
	clientSecret = "fake-client-secret"
	privateToken = "pat-na1-fake"
	keyProperty  = "frontdesk_key"
)

func run(ctx context.Context, args []string, out, complaints io.Writer) error {
	flags := flag.NewFlagSet("serve", flag.ContinueOnError)
	flags.SetOutput(complaints)
	listen := flags.String("listen", "127.0.0.1:9104", "address to listen on; port 0 takes a free one")
	perTenSeconds := flags.Int("per-ten-seconds", 100, "calls that are allowed in ten seconds; 0 is any number")
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
		Unique: []string{keyProperty}, Tokens: map[string][]string{privateToken: nil}, PerTenSeconds: *perTenSeconds, SearchLag: 5 * time.Second,
		OAuth: oauthtest.Options{Clients: map[string]string{clientID: clientSecret}},
	})}
	for _, v := range [][2]string{
		{"CLIENT_ID", clientID}, {"CLIENT_SECRET", clientSecret},
		{"AUTH_URL", base + fake.AuthorizePath}, {"TOKEN_URL", base + fake.TokenPath}, {"API_URL", base},
	} {
		fmt.Fprintf(out, "FRONTDESK_PROVIDERS__HUBSPOT__%s=%s\n", v[0], v[1])
	}
	fmt.Fprintf(out, "# access_token=%s key_property=%s\n", privateToken, keyProperty)
	context.AfterFunc(ctx, func() { server.Close() })
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
