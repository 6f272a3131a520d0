package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"frontdesk/adapters/all"
	"frontdesk/core/adapter"
)

// inside counts the connections to loopback addresses that must not be reached, on the port that it returns.
func inside(t *testing.T) (port string, connections *atomic.Int64) {
	t.Helper()
	connections = new(atomic.Int64)
	first, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ = net.SplitHostPort(first.Addr().String())
	listeners := []net.Listener{first}
	for _, other := range []string{"[::1]:", "127.1.2.3:"} {
		l, err := net.Listen("tcp", other+port)
		if err != nil {
			t.Logf("nobody listens on %s: %v", other, err) // a machine without IPv6
			continue
		}
		listeners = append(listeners, l)
	}
	for _, l := range listeners {
		t.Cleanup(func() { l.Close() })
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				connections.Add(1)
				conn.Close()
			}
		}()
	}
	return port, connections
}

// command runs a command in this process and returns its exit code, its output and its messages.
func command(environ []string, args ...string) (code int, printed, logged string) {
	var out, words bytes.Buffer
	code = run(args, world{
		adapters: all.Adapters(), in: strings.NewReader(""), out: &out, err: &words, environ: environ,
	})
	return code, out.String(), words.String()
}

// insideAddresses returns ways of writing addresses that must not be reached. Some of the names are no
// addresses to Go, but a resolver may read them as numbers or know them.
func insideAddresses(port string) (addresses, names []string) {
	for _, host := range []string{
		"127.0.0.1", "127.1.2.3", "127.255.255.254", "0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255",
		"172.16.0.1", "172.31.255.255",
		"192.168.0.1", "192.168.255.255", "100.64.0.1", "100.127.255.255", "169.254.0.1", "198.18.0.1",
		"198.19.255.255", "192.0.0.1", "192.0.2.1",
		"198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
		// Metadata addresses: AWS, Google, Azure and others; tasks and pods of AWS; Alibaba; Azure's host;
		// Oracle; Tencent.
		"169.254.169.254", "169.254.170.2", "169.254.170.23", "100.100.100.200", "168.63.129.16", "192.0.0.192",
		"169.254.0.23", "[fd00:ec2::254]", "[fd20:ce::254]",
		"[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[0:0:0:0:0:ffff:127.0.0.1]", "[::127.0.0.1]",
		"[::ffff:0:127.0.0.1]", "[::ffff:169.254.169.254]",
		"[64:ff9b::127.0.0.1]", "[64:ff9b::a9fe:a9fe]", "[64:ff9b:1::1]", "[2002:7f00:1::1]", "[2002:a9fe:a9fe::1]",
		"[2001:0:7f00:1::1]", "[2001::1]",
		"[2a00:1450::5efe:127.0.0.1]", "[2a00:1450::200:5efe:10.0.0.1]", "[fe80::1]", "[fe80::1%25lo]", "[fc00::1]",
		"[fd12:3456::1]", "[fec0::1]", "[ff02::1]",
		"[2001:db8::1]", "[3fff::1]", "[5f00::1]", "[100::1]", "localhost",
	} {
		addresses = append(addresses, "http://"+host+":"+port+"/")
	}
	addresses = append(addresses, "https://127.0.0.1:"+port+"/", "HTTP://127.0.0.1:"+port+"/",
		"http://127.0.0.1:22/", "http://127.0.0.1/", "http://LOCALHOST:"+port+"/")
	for _, host := range []string{
		"2130706433", "0x7f000001", "0x7f.0x0.0x0.0x1", "017700000001", "0177.0.0.1", "0177.0000.0000.0001",
		"127.1", "127.0.1", "0x7f.1", "00000127.0.0.1", "127.0.0.1.", "0", "2852039166", "0xa9fea9fe", "localhost.",
		"localhost6", "ip6-localhost", "ip6-loopback", "①②⑦.⓪.⓪.①", "127。0。0。1", "127．0．0．1", "ⓛocalhost",
		"xn--localhost-k1a", "ｌｏｃａｌｈｏｓｔ", "local\u00adhost", "metadata.google.internal", "metadata",
		"instance-data", "kubernetes.default.svc",
	} {
		names = append(names, "http://"+host+":"+port+"/")
	}
	for _, whole := range []string{
		"http://example.com@127.0.0.1:%s/", "http://127.0.0.1:%s@example.invalid/",
		"http://example.com%%40127.0.0.1:%s/", "http://example.com%%00@127.0.0.1:%s/",
		"http://127.0.0.1:%s#@example.com/", "http://127.0.0.1:%s?@example.com/", "http:\\\\127.0.0.1:%s/",
		"http:/127.0.0.1:%s/", "http:127.0.0.1:%s/", "//127.0.0.1:%s/", "http://example.com\\@127.0.0.1:%s/",
		"http://[::1%%2525lo]:%s/", "http://[127.0.0.1]:%s/", "http://127.0.0.1 :%s/", "http://127.0.0.1\t:%s/",
		"file:///etc/passwd?%s", "gopher://127.0.0.1:%s/_x", "ftp://127.0.0.1:%s/", "unix:///run/docker.sock?%s",
		"ldap://127.0.0.1:%s/", "data:text/xml,%s", "javascript:alert(%s)",
	} {
		names = append(names, fmt.Sprintf(whole, port))
	}
	return addresses, names
}

// guide returns a tenant's server, which the gateway takes for public, and that leads to addresses that must
// not be reached: by each redirect status, each way of writing, and the addresses in its responses.
func guide(t *testing.T, port string) (base string, paths []string) {
	t.Helper()
	targets := []string{
		"http://127.0.0.1:" + port + "/", "//127.0.0.1:" + port + "/", "http://[::1]:" + port + "/",
		"http://[::ffff:127.0.0.1]:" + port + "/", "http://localhost:" + port + "/",
		"http://2130706433:" + port + "/", "http://0x7f.1:" + port + "/", "http://user@127.0.0.1:" + port + "/",
		"http:\\\\127.0.0.1:" + port, "https://127.0.0.1:" + port + "/", "http://169.254.169.254/latest/meta-data/",
		"file:///etc/passwd", "gopher://127.0.0.1:" + port + "/_", "ftp://127.0.0.1:" + port + "/",
		"data:text/xml,x", "unix:///run/docker.sock",
	}
	listener, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var status, n int
		if _, err := fmt.Sscanf(r.URL.Path, "/to/%d/%d", &status, &n); err != nil || n >= len(targets) {
			http.NotFound(w, r)
			return
		}
		to := targets[n]
		if status == http.StatusMultiStatus { // the addresses of a principal, its calendars and their events
			w.Header().Set("Content-Type", "application/xml")
			w.WriteHeader(status)
			_, _ = fmt.Fprintf(w, `<?xml version="1.0"?><!DOCTYPE x [<!ENTITY e SYSTEM "%[1]s">]><multistatus xmlns="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav"><response><href>%[2]s</href><propstat><prop>`+
				`<current-user-principal><href>%[1]s</href></current-user-principal><C:calendar-home-set><href>%[1]s</href></C:calendar-home-set>`+
				`</prop><status>HTTP/1.1 200 OK</status></propstat></response></multistatus>`, to, r.URL.Path)
			return
		}
		w.Header().Set("Location", to)
		w.Header().Set("Content-Location", to)
		w.Header().Set("Refresh", "0; url="+to)
		w.Header().Set("Alt-Svc", `http/1.1="127.0.0.1:`+port+`"`)
		w.Header().Set("Link", "<"+to+`>; rel="alternate"`)
		w.WriteHeader(status)
	})}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	for n := range targets {
		for _, status := range []int{200, 207, 300, 301, 302, 303, 305, 307, 308, 401} {
			if n == 0 || status == 302 || status == 207 || status == 308 {
				paths = append(paths, fmt.Sprintf("/to/%d/%d", status, n))
			}
		}
	}
	return "http://" + listener.Addr().String(), paths
}

// restSettings returns settings of the adapter rest that make one request, overridden by with.
func restSettings(with map[string]any) map[string]any {
	steps := []any{map[string]any{"name": "one", "path": "x"}}
	settings := map[string]any{
		"account": map[string]any{"steps": steps, "name": `"x"`}, "get": map[string]any{"steps": steps},
		"create": map[string]any{
			"steps": []any{map[string]any{"name": "c", "method": "POST", "path": "x"}}, "number": ".steps.c.body.id",
		},
		"ticket": map[string]any{
			"id": ".steps.one.body.id", "number": ".steps.one.body.id", "subject": ".steps.one.body.s",
		},
	}
	maps.Copy(settings, with)
	return settings
}

// No address that a tenant can give, and no server behind it, makes the gateway connect to an inside address.
// The test uses the operator's commands: it adds and verifies connections.
func TestNoConnectionOfATenantLeadsInside(t *testing.T) {
	t.Parallel()
	port, connections := inside(t)
	addresses, names := insideAddresses(port)
	base, paths := guide(t, port)
	environ := []string{
		"FRONTDESK_DATA_DIR=" + t.TempDir(), "FRONTDESK_EGRESS__ALLOW=127.0.0.2/32", "USER_NAME=pat",
		"SECRET=s3cret-canary", "FRONTDESK_RESILIENCE__DEADLINE=3s",
	}
	must := func(args ...string) {
		t.Helper()
		if code, _, output := command(environ, args...); code != exitOK {
			t.Fatalf("%v: exit %d, %s", args, code, output)
		}
	}
	must("tenant", "create", "acme")
	wants := map[string]string{} // by connection, the text of its verification; "" for any fault
	refusedAtOnce := 0
	registry, err := adapter.NewRegistry(all.Adapters())
	if err != nil {
		t.Fatal(err)
	}
	var file []any
	add := func(
		kind adapter.Kind, provider, address, want string, settings map[string]any, credentials map[string]string,
	) {
		t.Helper()
		declared, _ := registry.Find(kind, provider)
		// The same check as when a connection is added.
		if err := declared.Check(adapter.Values{Settings: settings, Credentials: credentials}); err != nil {
			if want != "" && !strings.Contains(err.Error(), "url") {
				t.Errorf("%s at %s is not even added: %v", provider, address, err)
			}
			refusedAtOnce++
			return
		}
		sources := map[string]string{}
		for name, variable := range credentials {
			sources[name] = "env:" + variable
		}
		name := fmt.Sprintf("c%d", len(wants))
		file = append(file, map[string]any{
			"name": name, "kind": kind, "provider": provider, "settings": settings, "credentials": sources,
		})
		wants["acme/"+name] = want + " " + address
	}
	caldav := func(address, want string) {
		t.Helper()
		add("calendar", "caldav", address, want, map[string]any{"url": address}, map[string]string{
			"username": "USER_NAME", "password": "SECRET",
		})
	}
	const refused = "may not reach"
	for _, address := range addresses {
		caldav(address, refused)
	}
	for _, address := range names {
		caldav(address, "")
	}
	for _, path := range paths {
		caldav(base+path, "")
	}
	for _, address := range []string{
		"http://127.0.0.1:" + port, "http://[::ffff:127.0.0.1]:" + port, "http://169.254.169.254",
		"http://localhost:" + port,
	} {
		add("crm", "zendesk", address, refused, map[string]any{"base_url": address},
			map[string]string{"access_token": "SECRET"})
		add("crm", "freshdesk", address, refused,
			map[string]any{"base_url": address, "requester_email": "a@example.com"},
			map[string]string{"api_key": "SECRET"})
		add("crm", "salesforce", address, refused,
			map[string]any{"base_url": address, "flow": "client_credentials", "client_id": "x"},
			map[string]string{"client_secret": "SECRET"})
		add("crm", "rest", address, refused, restSettings(map[string]any{"base_url": address}),
			map[string]string{"token": "SECRET"})
		add("crm", "rest", address, refused,
			restSettings(map[string]any{"base_url": base, "token_url": address, "client_id": "x"}),
			map[string]string{"client_secret": "SECRET"})
	}
	raw, err := json.Marshal(map[string]any{"tenants": []any{map[string]any{"name": "acme",
		"connections": file}}})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "tenants.yaml")
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	must("apply", "-f", path)
	// Add and verify one connection by the single commands.
	must("connection", "add", "--tenant", "acme", "--kind", "calendar", "--provider", "caldav", "--name",
		"alone", "--set", "url=http://127.0.0.1:"+port,
		"--secret", "username=env:USER_NAME", "--secret", "password=env:SECRET")
	if code, printed, logged := command(environ, "connection", "verify", "--tenant", "acme",
		"alone"); code != exitFailed || !strings.Contains(printed+logged, refused) {
		t.Errorf("verified alone: exit %d, %s%s", code, printed, logged)
	}
	_, output, log := command(environ, "doctor", "--json")
	var findings []struct {
		Subject, Says string
		OK            bool
	}
	if err := json.NewDecoder(strings.NewReader(output)).Decode(&findings); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	if strings.Contains(log, "s3cret") {
		t.Errorf("a credential is logged: %s", log)
	}
	found := 0
	for _, f := range findings {
		at, known := wants[strings.TrimPrefix(f.Subject, "connection ")]
		if !known {
			continue
		}
		found++
		want, address, _ := strings.Cut(at, " http")
		if want = strings.TrimSpace(want); f.OK ||
			want != "" && strings.HasPrefix(at, refused) && !strings.Contains(f.Says, refused) {
			t.Errorf("http%s: %t, %s", address, f.OK, f.Says)
		}
		if strings.Contains(f.Says, "s3cret") {
			t.Errorf("a credential is shown: %s", f.Says)
		}
	}
	if n := connections.Load(); n != 0 {
		t.Errorf("%d connections reached the inside", n)
	}
	if found != len(wants) || found < 150 {
		t.Errorf("%d connections were examined of %d: %s", found, len(wants), output)
	}
	t.Logf("%d connections that would lead inside: %d refused when added, %d when verified", refusedAtOnce+found,
		refusedAtOnce, found)
}

// A proxy from the environment would connect for the gateway and so bypass its rules.
func TestNoProxyConnectsForATenant(t *testing.T) {
	t.Parallel()
	port, connections := inside(t)
	proxy := "http://127.0.0.1:" + port
	d := newDeployment(t, "", "SECRET=s3cret", "USER_NAME=pat", "HTTP_PROXY="+proxy, "http_proxy="+proxy,
		"HTTPS_PROXY="+proxy, "https_proxy="+proxy, "ALL_PROXY="+proxy, "all_proxy="+proxy)
	d.must("tenant", "create", "acme")
	for name, address := range map[string]string{
		"private": "http://10.1.2.3/", "metadata": "http://169.254.169.254/", "encrypted": "https://10.1.2.3/",
	} {
		d.must("connection", "add", "--tenant", "acme", "--kind", "calendar", "--provider", "caldav", "--name",
			name, "--set", "url="+address,
			"--secret", "username=env:USER_NAME", "--secret", "password=env:SECRET")
		if out, errs, code := d.do("", "connection", "verify", "--tenant", "acme", name); code == exitOK ||
			!strings.Contains(out+errs, "may not reach") {
			t.Errorf("%s: exit %d, %s%s", address, code, out, errs)
		}
	}
	if n := connections.Load(); n != 0 {
		t.Errorf("%d connections went to the proxy", n)
	}
	// This shows that the proxy would count: the operator's own addresses go through it.
	res, err := http.Get("http://127.0.0.1:" + port)
	if err == nil {
		_, _ = io.Copy(io.Discard, res.Body)
		res.Body.Close()
	}
	if connections.Load() == 0 {
		t.Error("nobody listens at the proxy's address: the test proves nothing")
	}
}
