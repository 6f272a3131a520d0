// Command serve runs a pretended Microsoft Graph with one account, for trying Frontdesk without one:
//
//	go run ./adapters/calendar/microsoft/fake/serve --listen 127.0.0.1:9102
//
// It prints the variables that point Frontdesk at it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"time"

	"frontdesk/adapters/calendar/microsoft/fake"
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
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	at := "http://" + listener.Addr().String()
	for _, variable := range [][2]string{
		{"API_URL", at + "/v1.0"}, {"AUTHORITY", at + "/common"}, {"CLIENT_ID", clientID}, {"CLIENT_SECRET", clientSecret},
	} {
		if _, err := fmt.Fprintf(out, "FRONTDESK_PROVIDERS__MICROSOFT__%s=%s\n", variable[0], variable[1]); err != nil {
			return errors.Join(err, listener.Close())
		}
	}
	s := &http.Server{Handler: server, ReadHeaderTimeout: 10 * time.Second}
	closed := context.AfterFunc(ctx, func() { _ = s.Close() })
	defer closed()
	if err := s.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
