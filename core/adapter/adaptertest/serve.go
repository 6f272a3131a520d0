package adaptertest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Program is a fake provider that can run on its own. It declares its flags, and returns the function that
// starts it once they are parsed.
type Program func(flags *flag.FlagSet) Begin

// Begin returns the handler of a provider at the base address, and the NAME=VALUE pairs to print, which
// describe how to connect to it.
type Begin func(base string) (http.Handler, [][2]string)

// Fake is a program and the address at which it serves unless the flag listen names another one.
type Fake struct {
	Address string
	Program Program
}

// Main is the main function of a program that serves the fake named by its first argument, until it is
// interrupted.
func Main(fakes map[string]Fake) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status := run(ctx, os.Args[1:], os.Stdout, os.Stderr, fakes)
	stop()
	os.Exit(status)
}

// run returns the exit status.
func run(ctx context.Context, args []string, out, complaints io.Writer, fakes map[string]Fake) int {
	var name string
	if len(args) > 0 {
		name, args = args[0], args[1:]
	}
	fake, known := fakes[name]
	if !known {
		fmt.Fprintf(complaints, "Name one of these: %s.\n", strings.Join(slices.Sorted(maps.Keys(fakes)), ", "))
		return 2
	}
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.SetOutput(complaints)
	address := flags.String("listen", fake.Address, "address to listen on; port 0 takes a free one")
	begin := fake.Program(flags)
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2 // Parse has printed the error
	}
	if err := serve(ctx, *address, out, begin); err != nil {
		fmt.Fprintln(complaints, err)
		return 1
	}
	return 0
}

// serve prints everything at once, so that a reader has all of it.
func serve(ctx context.Context, address string, out io.Writer, begin Begin) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	handler, values := begin("http://" + listener.Addr().String())
	var text strings.Builder
	for _, line := range values {
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
