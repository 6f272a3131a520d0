package adaptertest

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
)

// Program is a pretended provider that can be run. It declares the flags of its own, and answers how it begins once they
// are parsed.
type Program func(flags *flag.FlagSet) Begin

// Begin makes a provider's server, which is to be at the base address. What it answers beside is printed as NAME=VALUE: how
// to connect to it.
type Begin func(base string) (http.Handler, [][2]string)

// Main is the whole of a program's main. It serves at the address, unless the flag listen names another one, until it is
// interrupted.
func Main(address string, program Program) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status := run(ctx, os.Args[1:], os.Stdout, os.Stderr, address, program)
	stop()
	os.Exit(status)
}

// run answers the status to exit with.
func run(ctx context.Context, args []string, out, complaints io.Writer, address string, program Program) int {
	flags := flag.NewFlagSet("serve", flag.ContinueOnError)
	flags.SetOutput(complaints)
	flags.StringVar(&address, "listen", address, "address to listen on; port 0 takes a free one")
	begin := program(flags)
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2 // which the flags have complained of
	}
	if err := serve(ctx, address, out, begin); err != nil {
		fmt.Fprintln(complaints, err)
		return 1
	}
	return 0
}

// serve prints all at once, so that who reads it has it whole.
func serve(ctx context.Context, address string, out io.Writer, begin Begin) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	handler, told := begin("http://" + listener.Addr().String())
	var text strings.Builder
	for _, line := range told {
		fmt.Fprintf(&text, "%s=%s\n", line[0], line[1])
	}
	if _, err := io.WriteString(out, text.String()); err != nil {
		return errors.Join(err, listener.Close())
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
