package adaptertest

import (
	"math/rand/v2"
	"net"
	"strconv"
	"testing"
)

// FreePort returns a TCP port of 127.0.0.1 for a server that cannot take one by itself, or that goes and
// comes back. It is below the ports that Linux gives to clients and to who asks for port 0
// (ip_local_port_range), so that none of them takes it meanwhile. A listener at the same port of another
// loopback address keeps it from other tests, in other processes as well, until the test ends.
func FreePort(tb testing.TB) string {
	tb.Helper()
	const first, ports, tries = 10_000, 22_000, 1000
	var listen net.ListenConfig
	for range tries {
		port := strconv.Itoa(first + rand.IntN(ports))
		reserved, err := listen.Listen(tb.Context(), "tcp", net.JoinHostPort("127.0.0.3", port))
		if err != nil {
			continue
		}
		server, err := listen.Listen(tb.Context(), "tcp", net.JoinHostPort("127.0.0.1", port))
		if err != nil {
			_ = reserved.Close()
			continue
		}
		_ = server.Close()
		tb.Cleanup(func() { _ = reserved.Close() })
		return port
	}
	tb.Fatal("no port is free")
	return ""
}
