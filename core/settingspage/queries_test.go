package settingspage_test

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/url"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"frontdesk/core/admin"
	"frontdesk/core/apikey"
	"frontdesk/core/signin"
	"frontdesk/core/store/storetest"
)

// counter is a proxy in front of PostgreSQL that counts the statements which clients execute.
type counter struct {
	url        string
	socket     string
	statements atomic.Int64
	listener   net.Listener
	serving    sync.WaitGroup
}

func countStatements(t *testing.T) *counter {
	t.Helper()
	at, err := url.Parse(storetest.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	c := &counter{socket: filepath.Join(at.Query().Get("host"), ".s.PGSQL.5432")}
	if c.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	c.url = fmt.Sprintf("postgres://postgres@%s%s?sslmode=disable", c.listener.Addr(), at.Path)
	c.serving.Go(c.serve)
	t.Cleanup(func() {
		c.listener.Close()
		c.serving.Wait()
	})
	return c
}

func (c *counter) serve() {
	for {
		client, err := c.listener.Accept()
		if err != nil {
			return // it was closed
		}
		server, err := net.Dial("unix", c.socket)
		if err != nil {
			client.Close()
			continue
		}
		c.serving.Go(func() {
			defer client.Close()
			_, _ = io.Copy(client, server)
		})
		c.serving.Go(func() {
			defer server.Close()
			_ = c.forward(server, client)
		})
	}
}

// forward copies what a client sends, and counts the Execute messages (PostgreSQL's manual, "Message
// Formats"). The first message has no type.
func (c *counter) forward(server io.Writer, client io.Reader) error {
	for kind := make([]byte, 0, 1); ; kind = kind[:1] {
		var size [4]byte
		if _, err := io.ReadFull(client, kind); err != nil {
			return err
		}
		if _, err := io.ReadFull(client, size[:]); err != nil {
			return err
		}
		if string(kind) == "E" {
			c.statements.Add(1)
		}
		if _, err := server.Write(append(kind, size[:]...)); err != nil {
			return err
		}
		if _, err := io.CopyN(server, client, int64(binary.BigEndian.Uint32(size[:]))-4); err != nil {
			return err
		}
	}
}

// A page asks the store a few times, however much it shows. What the gateway does at the same time is not the
// page's, so that the least of several visits counts.
func TestAPageAsksTheStoreAFewTimes(t *testing.T) {
	t.Parallel()
	c := countStatements(t)
	w := start(t, c.url)
	key := w.tenant("acme")
	request := w.busy("acme")
	b := w.signedIn(signin.NewLink{})
	count := func(path string) int64 {
		least := int64(1) << 40
		for range 5 {
			before := c.statements.Load()
			b.get(path)
			least = min(least, c.statements.Load()-before)
		}
		return least
	}
	pages := w.pages(true, "acme", "acme", key, request)
	few := map[string]int64{}
	for name, path := range pages {
		few[name] = count(path)
	}
	ctx, operator := t.Context(), apikey.Caller{}
	for i := range 15 {
		w.tenant(fmt.Sprintf("customer-%d", i))
		w.webhook("acme")
		more := admin.NewConnection{Tenant: "acme"}
		more.Name, more.Kind, more.Provider = fmt.Sprintf("calendar-%d", i), "calendar", "sandbox"
		if _, err := w.g.Admin().CreateConnection(ctx, operator, admin.Write{}, more); err != nil {
			t.Fatal(err)
		}
		if _, err := w.g.Admin().CreateKey(ctx, operator, admin.Write{}, admin.NewKey{Tenant: "acme"}); err != nil {
			t.Fatal(err)
		}
	}
	const most = 12
	for name, path := range pages {
		many := count(path)
		t.Logf("%2d statements: %s", many, name)
		if many > few[name] || many > most || many == 0 {
			t.Errorf("%s asks the store %d times, and %d times with fifteen times as many rows; the most is %d",
				name, few[name], many, most)
		}
	}
}
