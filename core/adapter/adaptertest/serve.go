package adaptertest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// Serve runs a pretended provider at an address, whose port may be 0, until ctx ends. What start answers beside the handler
// is printed as NAME=VALUE: how to connect to it.
func Serve(ctx context.Context, address string, out io.Writer, start func(base string) (http.Handler, [][2]string)) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	handler, told := start("http://" + listener.Addr().String())
	for _, line := range told {
		if _, err := fmt.Fprintf(out, "%s=%s\n", line[0], line[1]); err != nil {
			return errors.Join(err, listener.Close())
		}
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
