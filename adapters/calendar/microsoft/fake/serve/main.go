// Command serve runs a pretended Microsoft Graph with one account, for trying Frontdesk without one:
//
//	go run ./adapters/calendar/microsoft/fake/serve --listen 127.0.0.1:9102
//
// It prints the variables that point Frontdesk at it.
package main

import (
	"context"
	"flag"
	"io"
	"log"
	"net/http"
	"os"
	"os/signal"

	"frontdesk/adapters/calendar/microsoft/fake"
	"frontdesk/core/adapter/adaptertest"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:9102", "address to serve")
	account := flag.String("account", "alice@example.com", "address of the mailbox")
	personal := flag.Bool("personal", false, "an account of Outlook.com, which has no online meetings")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := serve(ctx, os.Stdout, *listen, fake.Options{
		Clients: map[string]string{clientID: clientSecret}, Account: *account, Name: "Alice Example", Personal: *personal, Zone: "Europe/Berlin",
	})
	if err != nil {
		log.Print(err)
	}
}

const (
	clientID     = "frontdesk-trial"
	clientSecret = "not-a-secret"
)

// serve serves the account until the context ends.
func serve(ctx context.Context, out io.Writer, address string, o fake.Options) error {
	server := fake.New(o)
	server.AddCalendar("Second", false)
	server.AddCalendar("Holidays", true)
	return adaptertest.Serve(ctx, address, out, func(base string) (http.Handler, [][2]string) {
		const prefix = "FRONTDESK_PROVIDERS__MICROSOFT__"
		return server, [][2]string{
			{prefix + "API_URL", base + "/v1.0"}, {prefix + "AUTHORITY", base + "/common"},
			{prefix + "CLIENT_ID", clientID}, {prefix + "CLIENT_SECRET", clientSecret},
		}
	})
}
