package upstream

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"frontdesk/core/certificate/certificatetest"
	"frontdesk/core/fault"
)

func TestWhereCredentialsGo(t *testing.T) {
	cases := map[string]struct {
		home, target string
		may          bool
	}{
		"the same origin": {"https://dav.example.com/a",
			"https://dav.example.com/b?x=1", true},
		"the same origin, default port written": {"https://dav.example.com",
			"https://dav.example.com:443/", true},
		"the same origin, other case and dot": {"https://DAV.example.com", "https://dav.EXAMPLE.com./", true},
		"a sibling over https": {"https://caldav.icloud.com",
			"https://p34-caldav.icloud.com:443/1/", true},
		"the parent domain over https": {"https://dav.example.com", "https://example.com/", true},
		"a sibling from http to https": {"http://dav.example.com", "https://www.example.com/", true},
		"a sibling over http":          {"http://dav.example.com", "http://www.example.com/", false},
		"the same host down to http":   {"https://dav.example.com", "http://dav.example.com/", false},
		"another port over http": {"http://dav.example.com:80",
			"http://dav.example.com:8080/", false},
		"another domain":                        {"https://dav.example.com", "https://example.net/", false},
		"a domain that ends alike":              {"https://example.com", "https://evilexample.com/", false},
		"a domain in front":                     {"https://example.com", "https://example.com.evil.net/", false},
		"a public suffix is no domain":          {"https://alice.github.io", "https://mallory.github.io/", false},
		"a country's second level":              {"https://alice.co.uk", "https://mallory.co.uk/", false},
		"below a country's second level":        {"https://dav.alice.co.uk", "https://www.alice.co.uk/", true},
		"the suffix itself":                     {"https://alice.github.io", "https://github.io/", false},
		"an unlisted suffix has no domains":     {"https://dav.acme.corp", "https://www.acme.corp/", false},
		"an unlisted suffix, same origin":       {"https://dav.acme.corp", "https://dav.acme.corp/x", true},
		"an address, same origin":               {"http://127.0.0.1:5232", "http://127.0.0.1:5232/x", true},
		"an address, another port":              {"http://127.0.0.1:5232", "http://127.0.0.1:5233/", false},
		"an address, another scheme":            {"http://127.0.0.1", "https://127.0.0.1/", false},
		"an address that shares its end":        {"https://10.1.2.3", "https://10.9.2.3/", false},
		"localhost, another port":               {"https://localhost:1", "https://localhost:2/", false},
		"IPv6, same origin":                     {"https://[2001:DB8::1]/", "https://[2001:db8::1]:443/", true},
		"IPv6, other address":                   {"https://[2001:db8::1]/", "https://[2001:db8::2]/", false},
		"a domain in two spellings":             {"https://dav.bücher.de", "https://www.xn--bcher-kva.de/", true},
		"userinfo that looks like the host":     {"https://example.com", "https://example.com@evil.net/", false},
		"a backslash that some read as a slash": {"https://example.com", `https://example.com\@evil.net/`, false},
		"names with an underscore compare as is": {"https://my_dav.example.com",
			"https://my_dav.example.com/x", true},
		"an empty host is nowhere":                {"https:///a", "https:///b", false},
		"an unknown scheme does not match itself": {"https://example.com", "ftp://example.com/", false},
	}
	for rule, c := range cases {
		t.Run(rule, func(t *testing.T) {
			target, err := url.Parse(c.target)
			if err != nil && !c.may {
				return // it cannot become a request
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := mayCarryCredentials(parse(t, c.home), target); got != c.may {
				t.Errorf("from %s to %s: %t", c.home, c.target, got)
			}
		})
	}
}

// received is a request that a server received.
type received struct {
	method, path, body string
	header             http.Header
}

// recorder records requests and responds by path.
type recorder struct {
	mu       sync.Mutex
	received []received
	moved    map[string]move // path -> response; any other path is 200 with the path as body
}

type move struct {
	status int
	to     string
}

func (r *recorder) handle(w http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body)
	r.mu.Lock()
	r.received = append(r.received, received{req.Method, req.URL.Path, string(body), req.Header})
	m, ok := r.moved[req.URL.Path]
	r.mu.Unlock()
	if !ok {
		_, _ = io.WriteString(w, req.URL.Path)
		return
	}
	w.Header().Set("Location", m.to)
	w.WriteHeader(m.status)
}

func (r *recorder) last() received {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.received[len(r.received)-1]
}

func (r *recorder) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.received)
}

func bearer(req *http.Request) error {
	req.Header.Set("Authorization", "Bearer s3cret")
	req.Header.Set("X-Tenant-Secret", "s3cret")
	return nil
}

func TestRedirectsKeepTheMeaningOfTheRequest(t *testing.T) {
	r := &recorder{moved: map[string]move{}}
	server := serve(t, r.handle)
	client := newPool(t, PoolOptions{}).Client(ClientOptions{Provider: "caldav", Authorize: bearer})
	for _, status := range []int{301, 302, 303, 307, 308} {
		r.moved[fmt.Sprintf("/%d", status)] = move{status, "/new"}
	}
	const followed, handedOut = true, false
	cases := []struct {
		method string
		want   map[int]bool
	}{
		{"GET", map[int]bool{301: followed, 302: followed, 303: followed, 307: followed, 308: followed}},
		{"HEAD", map[int]bool{301: followed, 303: followed, 307: followed}},
		{"OPTIONS", map[int]bool{301: followed, 302: followed, 303: handedOut, 308: followed}},
		{"PROPFIND", map[int]bool{301: followed, 302: followed, 303: handedOut, 307: followed, 308: followed}},
		{"REPORT", map[int]bool{301: followed, 302: followed, 303: handedOut, 307: followed, 308: followed}},
		{"POST", map[int]bool{301: handedOut, 302: handedOut, 303: handedOut, 307: followed, 308: followed}},
		{"PUT", map[int]bool{301: handedOut, 302: handedOut, 303: handedOut, 307: followed, 308: followed}},
		{"PATCH", map[int]bool{301: handedOut, 302: handedOut, 307: followed, 308: followed}},
		{"DELETE", map[int]bool{301: handedOut, 302: handedOut, 307: followed, 308: followed}},
	}
	for _, c := range cases {
		for status, follow := range c.want {
			t.Run(fmt.Sprintf("%s on %d", c.method, status), func(t *testing.T) {
				req := request(t, c.method, server.JoinPath(fmt.Sprint(status)).String(), "<body/>")
				req.Header.Set("Depth", "1")
				got, _, _, err := Do(client, req)
				if err != nil {
					t.Fatal(err)
				}
				last := r.last()
				if !follow {
					if got != status || last.path == "/new" {
						t.Errorf("status %d from %s, want the redirect itself", got, last.path)
					}
					return
				}
				if got != 200 || last.path != "/new" || last.method != c.method || last.body != "<body/>" ||
					last.header.Get("Depth") != "1" || last.header.Get("Authorization") != "Bearer s3cret" {
					t.Errorf("status %d, the second server got %+v", got, last)
				}
			})
		}
	}
}

func TestRedirectsThatAreRefused(t *testing.T) {
	other := &recorder{}
	otherHost := serve(t, other.handle)
	r := &recorder{}
	server := serve(t, r.handle)
	r.moved = map[string]move{
		"/loop": {302, "/loop"}, "/file": {302, "file:///etc/passwd"}, "/gopher": {302, "gopher://127.0.0.1:70/_x"},
		"/broken": {302, "http://[::1?token=s3cret"}, "/nohost": {302, "http:///x"},
		"/script": {302, "javascript:alert(1)"}, "/write": {307, otherHost.String() + "/new"},
		"/brokenwrite": {302, "http://[::1?token=s3cret"}, "/long": {302, longAddress()},
	}
	client := newPool(t, PoolOptions{}).Client(ClientOptions{Provider: "caldav"})
	cases := map[string]struct{ method, path string }{
		"more than five":                       {"GET", "/loop"},
		"to a file":                            {"GET", "/file"},
		"to gopher":                            {"GET", "/gopher"},
		"to a script":                          {"GET", "/script"},
		"to an address that cannot be read":    {"GET", "/broken"},
		"to no host":                           {"GET", "/nohost"},
		"to a host without end":                {"GET", "/long"},
		"of a write to a host without end":     {"POST", "/long"},
		"of a write to another site":           {"POST", "/write"},
		"of a write to what cannot be read":    {"POST", "/brokenwrite"},
		"of a deletion to another site":        {"DELETE", "/write"},
		"of a PUT to another port of the host": {"PUT", "/write"},
	}
	for rule, c := range cases {
		t.Run(rule, func(t *testing.T) {
			_, err := client.Do(request(t, c.method, server.JoinPath(c.path).String(), "x"))
			wantFault(t, err, fault.Unsupported, fault.ReasonProviderMisconfigured, false)
		})
	}
	if other.count() != 0 {
		t.Errorf("the other site heard %+v", other.received)
	}
	t.Run("five are followed", func(t *testing.T) {
		for i := range maxRedirects {
			r.moved[fmt.Sprint("/hop", i)] = move{302, fmt.Sprint("/hop", i+1)}
		}
		status, _, body, err := Do(client, request(t, http.MethodGet, server.JoinPath("hop0").String(), ""))
		if err != nil || status != 200 || string(body) != "/hop5" {
			t.Errorf("%d %q %v", status, body, err)
		}
	})
}

func TestSecretsDoNotFollowToAnotherOrigin(t *testing.T) {
	other := &recorder{}
	otherHost := serve(t, other.handle)
	r := &recorder{moved: map[string]move{"/away": {302,
		strings.Replace(otherHost.String(), "http://", "http://mallory:pw@", 1) + "/new"}}}
	server := serve(t, r.handle)
	client := newPool(t, PoolOptions{}).Client(ClientOptions{
		Provider: "caldav", Authorize: bearer, AuthorizeFor: server,
	})
	req := request(t, "PROPFIND", server.JoinPath("away").String(), "<propfind/>")
	req.Header = http.Header{
		"Cookie": {"s3cret"}, "Depth": {"0"}, "X-Api-Key": {"s3cret"}, "Content-Type": {"text/xml"},
		"Idempotency-Key": {"k"},
	}
	status, _, _, err := Do(client, req)
	if err != nil || status != 200 {
		t.Fatalf("%d %v", status, err)
	}
	got := other.last()
	if got.method != "PROPFIND" || got.body != "<propfind/>" || got.header.Get("Depth") != "0" ||
		got.header.Get("Content-Type") != "text/xml" {
		t.Errorf("got %+v", got)
	}
	for name, values := range got.header {
		if strings.Contains(fmt.Sprint(values), "s3cret") || name == "Authorization" {
			t.Errorf("%s: %s reached the other origin", name, values)
		}
	}
	if first := r.last(); first.header.Get("Authorization") != "Bearer s3cret" ||
		first.header.Get("X-Tenant-Secret") != "s3cret" {
		t.Errorf("the first server got %+v", first)
	}
}

func TestCredentialsStayAtTheirAddress(t *testing.T) {
	r := &recorder{}
	server := serve(t, r.handle)
	client := newPool(t, PoolOptions{}).Client(ClientOptions{
		Provider: "rest", Authorize: bearer, AuthorizeFor: parse(t, "https://crm.example.com/api"),
	})
	req := request(t, http.MethodGet, server.String(), "")
	req.Header.Set("Authorization", "Bearer s3cret")
	if _, _, _, err := Do(client, req); err != nil {
		t.Fatal(err)
	}
	if got := r.last().header; got.Get("Authorization") != "" || got.Get("X-Tenant-Secret") != "" {
		t.Errorf("another host got %v", got)
	}
}

// TestRedirectsOverTLS simulates hosts of one domain with httptest's certificate for example.com and
// *.example.com.
func TestRedirectsOverTLS(t *testing.T) {
	plain := &recorder{}
	down := serve(t, plain.handle)
	r := &recorder{}
	server := httptest.NewUnstartedServer(http.HandlerFunc(r.handle))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	r.moved = map[string]move{
		"/sibling": {301, "https://p01.example.com:" + port + "/new"},
		"/down":    {302, down.String() + "/new"},
		"/foreign": {302, "https://127.0.0.1:" + port + "/new"},
	}
	dns := &names{answers: map[string][]string{
		"dav.example.com": {"127.0.0.1"}, "p01.example.com": {"127.0.0.1"},
	}}
	pool := newPool(t, PoolOptions{
		Resolver: dns.resolver(), AllowTenantNetworks: loopback,
		RootCAs: server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs,
	})
	home := "https://dav.example.com:" + port
	client := pool.Client(ClientOptions{
		Provider: "caldav", TenantAddress: true, Authorize: bearer, AuthorizeFor: parse(t, home),
	})

	t.Run("credentials follow to a host of the same domain", func(t *testing.T) {
		resp, err := client.Do(request(t, "PROPFIND", home+"/sibling", "<x/>"))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if got := r.last(); got.path != "/new" || got.header.Get("Authorization") == "" ||
			got.method != "PROPFIND" {
			t.Errorf("got %+v", got)
		}
		if resp.ProtoMajor != 2 {
			t.Errorf("spoke %s", resp.Proto)
		}
		if got := resp.Request.URL.Hostname(); got != "p01.example.com" {
			t.Errorf("the driver is told that %s answered", got)
		}
		if resp.Request.Header.Get("Authorization") != "" {
			t.Error("the driver can read the credentials")
		}
	})
	t.Run("they do not follow to an address", func(t *testing.T) {
		status, _, _, err := Do(client, request(t, http.MethodGet, home+"/foreign", ""))
		if err != nil || status != 200 {
			t.Fatalf("%d %v", status, err)
		}
		if got := r.last(); got.header.Get("Authorization") != "" {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("https never becomes http", func(t *testing.T) {
		_, err := client.Do(request(t, http.MethodGet, home+"/down", ""))
		wantFault(t, err, fault.Unsupported, fault.ReasonProviderMisconfigured, false)
		if plain.count() != 0 {
			t.Error("the plain server was called")
		}
	})
	t.Run("plain http behind https is a wrong setting", func(t *testing.T) {
		_, err := client.Do(request(t, http.MethodGet, "https://"+down.Host+"/", ""))
		wantFault(t, err, fault.Unsupported, fault.ReasonProviderMisconfigured, true)
	})
}

// A certificate that cannot be used is a wrong setting, not an outage, and the fault says what is wrong with it.
func TestCertificatesThatCannotBeUsed(t *testing.T) {
	now := time.Now()
	const host = "desk.example.com"
	ended := certificatetest.New(t, now.Add(-time.Hour), host)
	other := certificatetest.New(t, now.Add(time.Hour), "x.example.com")
	trusted := x509.NewCertPool()
	trusted.AddCert(ended.Leaf)
	trusted.AddCert(other.Leaf)
	dns := &names{answers: map[string][]string{host: {"127.0.0.1"}}}
	client := newPool(t, PoolOptions{Resolver: dns.resolver(), AllowTenantNetworks: loopback, RootCAs: trusted}).
		Client(ClientOptions{Provider: "rest", TenantAddress: true})
	for says, pair := range map[string]certificatetest.Pair{
		"by an authority that the gateway does not trust": certificatetest.New(t, now.Add(time.Hour), host),
		"has ended":          ended,
		"is for other names": other,
	} {
		t.Run(says, func(t *testing.T) {
			certificate, err := tls.X509KeyPair(pair.Certificate, pair.Key)
			if err != nil {
				t.Fatal(err)
			}
			server := httptest.NewUnstartedServer(http.NotFoundHandler())
			server.Config.ErrorLog = log.New(io.Discard, "", 0)
			server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
			server.StartTLS()
			defer server.Close()
			_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
			_, err = client.Do(request(t, http.MethodGet, "https://"+host+":"+port+"/", ""))
			wantFault(t, err, fault.Unsupported, fault.ReasonProviderMisconfigured, true)
			if f := faultOf(t, err); !strings.Contains(f.Detail, host+" that ") || !strings.Contains(f.Detail, says) {
				t.Errorf("the fault says %q", f.Detail)
			}
		})
	}
}

// longAddress has a host that takes a second to convert to ASCII, as one that fills a response's headers takes a minute.
func longAddress() string {
	var host strings.Builder
	for i := range 5000 {
		host.WriteRune(rune(0x4e00 + i*7919%20_000))
	}
	return "http://" + host.String() + "/"
}

func TestAddressesThatAreNotSent(t *testing.T) {
	client := newPool(t, PoolOptions{}).Client(ClientOptions{Provider: "rest"})
	for rule, address := range map[string]string{
		"userinfo in the address": "http://ann:s3cret@127.0.0.1/",
		"a user name alone":       "http://s3cret@127.0.0.1/",
		"another scheme":          "ftp://127.0.0.1/?s3cret",
		"a host without end":      longAddress(),
	} {
		t.Run(rule, func(t *testing.T) {
			_, err := client.Do(request(t, http.MethodGet, address, ""))
			wantFault(t, err, fault.Unsupported, fault.ReasonProviderMisconfigured, true)
		})
	}
}
