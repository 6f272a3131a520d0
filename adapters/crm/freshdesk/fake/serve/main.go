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
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"frontdesk/adapters/crm/freshdesk/fake"
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
	var open net.ListenConfig
	listener, err := open.Listen(ctx, "tcp", *listen)
	if err != nil {
		return err
	}
	server := &http.Server{ReadHeaderTimeout: 5 * time.Second, Handler: fake.New(fake.Options{APIKey: apiKey})}
	fmt.Fprintf(out, "base_url=http://%s\nrequester_email=calls@example.com\napi_key=%s\n", listener.Addr(), apiKey)
	context.AfterFunc(ctx, func() { server.Close() })
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
