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

// FreePort returns a TCP port of 127.0.0.1 for a server that cannot take one by itself, or that goes and
// comes back. It is below the ports that Linux gives to clients and to who asks for port 0
// (ip_local_port_range), so that none of them takes it meanwhile. A listener at the same port of another
// loopback address keeps it from other tests, in other processes as well, until the test ends.
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

// Listen listens again at an address where a server of the test was. A program that is being started holds
// the files of its parent until it has begun (execve(2), close-on-exec), and with them a listener that was
// closed: so it tries for a while.
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
