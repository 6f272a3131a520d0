package adaptertest

import (
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// FreePort returns a free TCP port of 127.0.0.1 for a server that cannot choose one itself, or that stops and
// restarts. The port is below the range from which Linux assigns ports to clients and to listeners on port 0
// (ip_local_port_range), so none of them takes it in the meantime. Until the test ends, a listener on the
// same port of another loopback address keeps other tests, also in other processes, from getting the port.
func FreePort(tb testing.TB) string {
	tb.Helper()
	const first, ports, tries = 10_000, 22_000, 1000
	var listen net.ListenConfig
	var dial net.Dialer
	for range tries {
		port := strconv.Itoa(first + rand.IntN(ports))
		reserved, err := listen.Listen(tb.Context(), "tcp", net.JoinHostPort("127.0.0.3", port))
		if err != nil {
			continue
		}
		there, err := dial.DialContext(tb.Context(), "tcp", net.JoinHostPort("127.0.0.1", port))
		if err == nil {
			_, _ = there.Close(), reserved.Close()
			continue
		}
		tb.Cleanup(func() { _ = reserved.Close() })
		return port
	}
	tb.Fatal("no port is free")
	return ""
}

// Listen listens on an address that a server of the test used before. A program that is being started holds
// its parent's files until exec (execve(2), close-on-exec), among them a listener that was closed. So Listen
// retries for a while.
func Listen(tb testing.TB, address string) net.Listener {
	tb.Helper()
	const tries, pause = 100, 20 * time.Millisecond
	var listen net.ListenConfig
	for range tries {
		listener, err := listen.Listen(tb.Context(), "tcp", address)
		if err == nil {
			return listener
		}
		if !errors.Is(err, syscall.EADDRINUSE) {
			tb.Fatal(err)
		}
		time.Sleep(pause)
	}
	tb.Fatalf("%s stays in use", address)
	return nil
}
