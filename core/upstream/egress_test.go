package upstream

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"frontdesk/core/fault"
)

// TestForbiddenAddresses lists what an address from a tenant must not lead to, in the form in which it is
// dialled.
func TestForbiddenAddresses(t *testing.T) {
	cases := map[string][]string{
		"loopback":    {"127.0.0.1", "127.0.0.2", "127.1.2.3", "127.255.255.255", "::1"},
		"unspecified": {"0.0.0.0", "0.0.0.1", "0.255.255.255", "::"},
		"private (RFC 1918)": {"10.0.0.1", "10.255.255.255", "172.16.0.1", "172.31.255.255",
			"192.168.0.1", "192.168.255.255"},
		"unique local (RFC 4193)": {"fc00::1", "fd12:3456:789a::1", "fdff:ffff::1"},
		"link-local":              {"169.254.0.1", "169.254.255.255", "fe80::1", "fe80::1%lo", "febf::1"},
		"site-local (RFC 3879)":   {"fec0::1", "feff::1"},
		"carrier-grade NAT":       {"100.64.0.1", "100.127.255.255"},
		"metadata": {"169.254.169.254", "169.254.170.2", "169.254.170.23", "169.254.0.23",
			"100.100.100.200", "168.63.129.16", "192.0.0.192", "fd00:ec2::254", "fd00:ec2::23",
			"fd20:ce::254", "fd00:42::42"},
		"multicast":              {"224.0.0.1", "239.255.255.255", "ff02::1", "ff0e::1"},
		"broadcast and reserved": {"255.255.255.255", "240.0.0.1", "254.1.2.3"},
		"benchmarking":           {"198.18.0.1", "198.19.255.255", "2001:2::1"},
		"documentation":          {"192.0.2.1", "198.51.100.1", "203.0.113.1", "2001:db8::1", "3fff::1"},
		"protocol assignments":   {"192.0.0.1", "192.0.0.8", "2001:1::1", "2001:20::1"},
		"6to4 relay and AS112": {"192.88.99.1", "192.31.196.1", "192.52.193.1", "192.175.48.1",
			"2620:4f:8000::1"},
		"IPv4-mapped": {"::ffff:127.0.0.1", "::ffff:10.0.0.1",
			"::ffff:169.254.169.254", "::ffff:0:0"},
		"IPv4-compatible (RFC 4291)": {"::127.0.0.1", "::10.0.0.1", "::8.8.8.8"},
		"IPv4-translated (RFC 2765)": {"::ffff:0:127.0.0.1", "::ffff:0:8.8.8.8"},
		"NAT64 of a forbidden one": {"64:ff9b::127.0.0.1", "64:ff9b::10.0.0.1", "64:ff9b::169.254.169.254",
			"64:ff9b::100.64.0.1"},
		"local NAT64 (RFC 8215)":           {"64:ff9b:1::1", "64:ff9b:1::8.8.8.8"},
		"6to4":                             {"2002:7f00:1::", "2002:a00:1::1", "2002:808:808::1"},
		"Teredo":                           {"2001::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2"},
		"ISATAP":                           {"2a00:1450::5efe:10.0.0.1", "2a00:1450::200:5efe:127.0.0.1"},
		"discard, segment routing, others": {"100::1", "100:0:0:1::1", "5f00::1", "4000::1", "1::1", "e000::1"},
	}
	guard := &egress{}
	total := 0
	for rule, addresses := range cases {
		t.Run(rule, func(t *testing.T) {
			for _, a := range addresses {
				total++
				network := "tcp4"
				if strings.Contains(a, ":") {
					network = "tcp6"
				}
				err := guard.control(t.Context(), network, net.JoinHostPort(a, "443"), nil)
				if err == nil {
					t.Errorf("%s is let through", a)
					continue
				}
				wantFault(t, err, fault.Forbidden, fault.ReasonEgressRefused, true)
				if f := faultOf(t, err); strings.Contains(f.Detail, a) {
					t.Errorf("the tenant is told the address: %q", f.Detail)
				}
			}
		})
	}
	if total < 60 {
		t.Errorf("only %d cases", total)
	}
}

func TestPublicAddressesPass(t *testing.T) {
	guard := &egress{}
	for _, a := range []string{"8.8.8.8", "1.1.1.1", "100.63.255.255", "100.128.0.1", "172.15.255.255",
		"172.32.0.1", "192.0.1.1",
		"198.17.255.255", "198.20.0.1", "223.255.255.255", "2a00:1450:4001::200e", "2606:4700::1111",
		"64:ff9b::8.8.8.8", "::ffff:8.8.8.8"} {
		if why := guard.refuses(netip.MustParseAddr(a)); why != "" {
			t.Errorf("%s is refused: %s", a, why)
		}
	}
}

func TestOnlyTCPToAddresses(t *testing.T) {
	guard := &egress{allowed: []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")}}
	for network, address := range map[string]string{
		"unix": "/run/docker.sock", "udp4": "8.8.8.8:53", "tcp4": "localhost:80",
	} {
		if err := guard.control(t.Context(), network, address, nil); err == nil {
			t.Errorf("%s %s is let through", network, address)
		}
	}
}

func TestAllowedNetworks(t *testing.T) {
	cases := map[string]struct {
		allow, address string
		pass           bool
	}{
		"an allowed network passes":                              {"10.1.0.0/16", "10.1.2.3", true},
		"its neighbour does not":                                 {"10.1.0.0/16", "10.2.0.1", false},
		"it passes as mapped IPv6":                               {"10.1.0.0/16", "::ffff:10.1.2.3", true},
		"it passes through NAT64":                                {"10.1.0.0/16", "64:ff9b::10.1.2.3", true},
		"loopback passes when named":                             {"127.0.0.0/8", "127.0.0.1", true},
		"a wide network does not open the metadata address":      {"169.254.0.0/16", "169.254.169.254", false},
		"a wide IPv6 network does not open the metadata address": {"fd00::/8", "fd00:ec2::254", false},
		"the same network opens its other addresses":             {"fd00::/8", "fd00:ec2::1", true},
		"even everything does not open the metadata address":     {"0.0.0.0/0", "169.254.169.254", false},
		"the metadata address opens by itself":                   {"169.254.169.254/32", "169.254.169.254", true},
	}
	for rule, c := range cases {
		t.Run(rule, func(t *testing.T) {
			guard := &egress{allowed: []netip.Prefix{netip.MustParsePrefix(c.allow)}}
			if why := guard.refuses(netip.MustParseAddr(c.address)); (why == "") != c.pass {
				t.Errorf("%s with %s allowed: %q", c.address, c.allow, why)
			}
		})
	}
}

// TestNamesCannotHideAddresses covers URL, resolver and dial. 127.0.0.2 stands for the public server.
func TestNamesCannotHideAddresses(t *testing.T) {
	inside := listen(t, "127.0.0.1:0")
	_, port, _ := net.SplitHostPort(inside.Addr().String())
	outside := listen(t, "127.0.0.2:"+port)

	dns := &names{answers: map[string][]string{
		"internal.example.com": {"127.0.0.1"},
		"rebind.example.com":   {"127.0.0.2", "127.0.0.1"},
		"mixed.example.com":    {"127.0.0.1,127.0.0.2"},
		"2130706433":           {"127.0.0.1"}, // as read by a resolver that accepts numbers as addresses
		"0x7f.1":               {"127.0.0.1"},
		"0177.0.0.1":           {"127.0.0.1"},
		"127.1":                {"127.0.0.1"},
		"localtest.me":         {"127.0.0.1"},
	}}
	pool := newPool(t, PoolOptions{
		Resolver: dns.resolver(), AllowTenantNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.2/32")},
	})
	client := pool.Client(ClientOptions{Provider: "caldav", TenantAddress: true})
	get := func(host string) error {
		_, err := client.Do(request(t, http.MethodGet, fmt.Sprintf("http://%s:%s/?token=s3cret", host, port), ""))
		return err
	}

	for _, host := range []string{"127.0.0.1", "[::ffff:127.0.0.1]", "localhost", "LOCALHOST", "localhost.",
		"internal.example.com",
		"2130706433", "0x7f.1", "0177.0.0.1", "127.1", "localtest.me", "127.0.0.1.", "0.0.0.0",
		"[::ffff:7f00:1]", "①②⑦.0.0.1"} {
		t.Run("refused "+host, func(t *testing.T) {
			err := get(host)
			f := faultOf(t, err)
			if f.Code != fault.Forbidden && f.Code != fault.Unavailable || !f.Unsent {
				t.Errorf("got %v", f)
			}
		})
	}
	t.Run("the public answer is used, the next one is refused", func(t *testing.T) {
		before := outside.connections()
		if f := faultOf(t, get("rebind.example.com")); f.Code != fault.Unavailable {
			t.Errorf("the listener closes at once, so the first call is unavailable: %v", f)
		}
		if outside.connections() == before {
			t.Error("the public address was not tried")
		}
		wantFault(t, get("rebind.example.com"), fault.Forbidden, fault.ReasonEgressRefused, true)
	})
	t.Run("of several answers only the public one is used", func(t *testing.T) {
		before := outside.connections()
		_ = get("mixed.example.com")
		if outside.connections() == before {
			t.Error("the public address was not tried")
		}
	})
	if n := inside.connections(); n != 0 {
		t.Errorf("%d connections reached the inside", n)
	}
}

func TestRedirectsCannotLeadInside(t *testing.T) {
	inside := listen(t, "127.0.0.1:0")
	_, port, _ := net.SplitHostPort(inside.Addr().String())
	targets := map[string]string{
		"an inside address": "http://127.0.0.1:" + port + "/",
		"a mapped address":  "http://[::ffff:127.0.0.1]:" + port + "/",
		"an inside name":    "http://localhost:" + port + "/",
		"a metadata server": "http://169.254.169.254/latest/meta-data/",
		"without a scheme":  "//127.0.0.1:" + port + "/",
	}
	outside, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", targets[strings.ReplaceAll(r.URL.Path[1:], "-", " ")])
		w.WriteHeader(http.StatusFound)
	})}
	done := make(chan error)
	go func() { done <- server.Serve(outside) }()
	t.Cleanup(func() {
		_ = server.Close()
		<-done
	})
	pool := newPool(t, PoolOptions{AllowTenantNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.2/32")}})
	client := pool.Client(ClientOptions{Provider: "caldav", TenantAddress: true})
	for rule := range targets {
		for _, method := range []string{http.MethodGet, "PROPFIND"} {
			t.Run(method+" to "+rule, func(t *testing.T) {
				address := "http://" + outside.Addr().String() + "/" + strings.ReplaceAll(rule, " ", "-")
				_, err := client.Do(request(t, method, address, ""))
				wantFault(t, err, fault.Forbidden, fault.ReasonEgressRefused, true)
			})
		}
	}
	if n := inside.connections(); n != 0 {
		t.Errorf("%d connections reached the inside", n)
	}
}

func TestTenantClientsUseNoProxy(t *testing.T) {
	pool := newPool(t, PoolOptions{})
	if pool.tenant.kept.Proxy != nil {
		t.Error("a proxy would dial for the client, past the rules")
	}
	if pool.operator.kept.Proxy == nil {
		t.Error("the operator's own addresses go through the proxy of the environment")
	}
}

func TestOperatorAddressesAreNotGuarded(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	client := newPool(t, PoolOptions{}).Client(ClientOptions{Provider: "google"})
	status, _, _, err := Do(client, request(t, http.MethodGet, server.String(), ""))
	if err != nil || status != http.StatusNoContent {
		t.Errorf("status %d, %v", status, err)
	}
}

// TestRefusesTenantSaysWhatADialWouldMeet asks what a person can be told who enters an address.
func TestRefusesTenantSaysWhatADialWouldMeet(t *testing.T) {
	dns := &names{answers: map[string][]string{
		"internal.example.com": {"10.0.0.5"}, "public.example.com": {"8.8.8.8"},
		"allowed.example.com": {"10.1.0.5"}, "metadata.example.com": {"169.254.169.254"},
	}}
	pool := newPool(t, PoolOptions{
		Resolver: dns.resolver(), AllowTenantNetworks: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")},
	})
	for address, refused := range map[string]bool{
		"https://10.0.0.1/hooks": true, "https://127.0.0.1:8443/": true, "https://[::1]/": true,
		"https://[::ffff:10.0.0.1]/": true, "https://[fe80::1%25eth0]/": true, "https://localhost/": true,
		"https://internal.example.com/": true, "https://metadata.example.com/": true,
		"https://public.example.com/": false, "https://allowed.example.com/": false, "https://10.1.2.3/": false,
		"http://10.1.2.3/": false, "http://allowed.example.com/": false, "http://public.example.com/": true,
		"https://8.8.8.8/": false, "http://8.8.8.8/": true,
		"https://nobody.example.com/": false, // may be found later
	} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if got := pool.RefusesTenant(t.Context(), u); got != refused {
			t.Errorf("%s: refused %v, want %v", address, got, refused)
		}
	}
}
