package upstream

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"syscall"
	"time"

	"frontdesk/core/fault"
)

// egress decides which addresses a connection for a tenant may be opened to. It checks each address that is
// about to be dialled, after DNS. So neither a name that resolves differently between check and use nor an
// unusual spelling of an address gets past it.
type egress struct {
	allowed     []netip.Prefix
	allowedOnly bool // public addresses are refused, too
}

// control is a net.Dialer's ControlContext.
func (e *egress) control(_ context.Context, network, address string, _ syscall.RawConn) error {
	if network != "tcp4" && network != "tcp6" {
		return refusedAddress(address, "not TCP")
	}
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return refusedAddress(address, "not an address")
	}
	if why := e.refuses(to.Addr()); why != "" {
		f := refusedAddress(address, why)
		if byTLS := (egress{allowed: e.allowed}); e.allowedOnly && byTLS.refuses(to.Addr()) == "" {
			f.Detail = "The connection's address is plain http, where anybody on the way could read its credentials. " +
				"Use https, or ask the operator to allow the network (egress.allow)."
		}
		return f
	}
	return nil
}

// refusedAddress returns a fault that names neither the address nor its kind: a tenant must not learn what a
// name inside the operator's network resolves to.
func refusedAddress(address, why string) *fault.Error {
	return fault.Unacted(fault.New(fault.Forbidden, fault.ReasonEgressRefused,
		"The connection's address is in a network that the gateway may not reach. Use a public address, or "+
			"ask the operator to allow the network (egress.allow).").
		Because(fmt.Errorf("%s is %s", address, why)))
}

// lookUpTimeout bounds the question where a name leads: who enters an address waits for the answer.
const lookUpTimeout = 2 * time.Second

// RefusesTenant reports whether a client with TenantAddress and RequireTLS would be refused at an address now,
// because its host leads nowhere but to addresses that must not be reached. It is for telling whoever enters the
// address. A host that cannot be resolved may be found later; each connection is checked in any case.
func (p *Pool) RefusesTenant(ctx context.Context, u *url.URL) bool {
	ctx, cancel := context.WithTimeout(ctx, lookUpTimeout)
	defer cancel()
	e := egress{allowed: p.options.AllowTenantNetworks, allowedOnly: u.Scheme == "http"}
	addrs, err := cmp.Or(p.options.Resolver, net.DefaultResolver).LookupNetIP(ctx, "ip", canonicalHost(u.Hostname()))
	reachable := func(addr netip.Addr) bool { return e.refuses(addr) == "" }
	return err == nil && !slices.ContainsFunc(addrs, reachable)
}

// refuses returns why an address must not be reached, or "" if it may be.
func (e *egress) refuses(addr netip.Addr) string {
	addr = addr.Unmap().WithZone("") // ::ffff:127.0.0.1 is 127.0.0.1 to the kernel
	if e.allows(addr) {
		return ""
	}
	if e.allowedOnly {
		return "not in a network of egress.allow, and the address is plain http"
	}
	if inner, what, ok := embeddedIPv4(addr); ok {
		if why := e.refuses(inner); why != "" {
			return fmt.Sprintf("%s of %s, %s", what, inner, why)
		}
	}
	for _, special := range specialNetworks {
		if special.prefix.Contains(addr) {
			return special.what
		}
	}
	if addr.Is6() && !globalUnicast.Contains(addr) && !translated.Contains(addr) {
		return "outside the global unicast range (RFC 4291 section 2.5.4)"
	}
	return ""
}

func (e *egress) allows(addr netip.Addr) bool {
	isMetadata := slices.Contains(metadataAddresses, addr)
	return slices.ContainsFunc(e.allowed, func(p netip.Prefix) bool {
		return p.Contains(addr) && (!isMetadata || p.IsSingleIP())
	})
}

var (
	globalUnicast = netip.MustParsePrefix("2000::/3")
	// NAT64 (RFC 6052): refused if the embedded address is.
	translated = netip.MustParsePrefix("64:ff9b::/96")
)

// metadataAddresses serve a machine's own credentials to any process on it.
var metadataAddresses = []netip.Addr{
	netip.MustParseAddr("169.254.169.254"), // AWS, Google, Azure, OpenStack, DigitalOcean and others
	netip.MustParseAddr("169.254.170.2"),   // AWS ECS task credentials
	netip.MustParseAddr("169.254.170.23"),  // AWS EKS pod identity
	netip.MustParseAddr("169.254.0.23"),    // Tencent Cloud
	netip.MustParseAddr("100.100.100.200"), // Alibaba Cloud
	netip.MustParseAddr("168.63.129.16"),   // Azure's host, on a public address
	netip.MustParseAddr("192.0.0.192"),     // Oracle Cloud Classic
	netip.MustParseAddr("fd00:ec2::254"),   // AWS
	netip.MustParseAddr("fd00:ec2::23"),    // AWS EKS pod identity
	netip.MustParseAddr("fd20:ce::254"),    // Google
	netip.MustParseAddr("fd00:42::42"),     // Scaleway
}

type network struct {
	prefix netip.Prefix
	what   string
}

// specialNetworks are the entries of IANA's special-purpose registries (RFC 6890), up to RFC 9780, without
// the few that are globally reachable and of use to a client.
var specialNetworks = []network{
	{netip.MustParsePrefix("0.0.0.0/8"), "unspecified or this network (RFC 791)"},
	{netip.MustParsePrefix("10.0.0.0/8"), "private (RFC 1918)"},
	{netip.MustParsePrefix("100.64.0.0/10"), "shared address space of a carrier (RFC 6598)"},
	{netip.MustParsePrefix("127.0.0.0/8"), "loopback (RFC 1122)"},
	{netip.MustParsePrefix("168.63.129.16/32"), "a metadata address"},
	{netip.MustParsePrefix("169.254.0.0/16"), "link-local (RFC 3927)"},
	{netip.MustParsePrefix("172.16.0.0/12"), "private (RFC 1918)"},
	{netip.MustParsePrefix("192.0.0.0/24"), "reserved for protocols (RFC 6890)"},
	{netip.MustParsePrefix("192.0.2.0/24"), "for documentation (RFC 5737)"},
	{netip.MustParsePrefix("192.31.196.0/24"), "AS112 (RFC 7535)"},
	{netip.MustParsePrefix("192.52.193.0/24"), "multicast tunnelling (RFC 7450)"},
	{netip.MustParsePrefix("192.88.99.0/24"), "a 6to4 relay (RFC 7526)"},
	{netip.MustParsePrefix("192.168.0.0/16"), "private (RFC 1918)"},
	{netip.MustParsePrefix("192.175.48.0/24"), "AS112 (RFC 7534)"},
	{netip.MustParsePrefix("198.18.0.0/15"), "for benchmarking (RFC 2544)"},
	{netip.MustParsePrefix("198.51.100.0/24"), "for documentation (RFC 5737)"},
	{netip.MustParsePrefix("203.0.113.0/24"), "for documentation (RFC 5737)"},
	{netip.MustParsePrefix("224.0.0.0/4"), "multicast (RFC 5771)"},
	{netip.MustParsePrefix("240.0.0.0/4"), "reserved or broadcast (RFC 1112, RFC 919)"},

	{netip.MustParsePrefix("::/96"), "unspecified, loopback or IPv4-compatible (RFC 4291)"},
	{netip.MustParsePrefix("64:ff9b:1::/48"), "local translation to IPv4 (RFC 8215)"},
	{netip.MustParsePrefix("100::/64"), "the discard prefix (RFC 6666)"},
	{netip.MustParsePrefix("100:0:0:1::/64"), "the dummy prefix (RFC 9780)"},
	{netip.MustParsePrefix("2001::/23"), "reserved for protocols, Teredo among them (RFC 2928, RFC 4380)"},
	{netip.MustParsePrefix("2001:db8::/32"), "for documentation (RFC 3849)"},
	{netip.MustParsePrefix("2002::/16"), "6to4 (RFC 3056, RFC 7526)"},
	{netip.MustParsePrefix("2620:4f:8000::/48"), "AS112 (RFC 7534)"},
	{netip.MustParsePrefix("3fff::/20"), "for documentation (RFC 9637)"},
	{netip.MustParsePrefix("5f00::/16"), "segment routing (RFC 9602)"},
	{netip.MustParsePrefix("fc00::/7"), "unique local (RFC 4193)"},
	{netip.MustParsePrefix("fe80::/10"), "link-local (RFC 4291)"},
	{netip.MustParsePrefix("fec0::/10"), "site-local (RFC 3879)"},
	{netip.MustParsePrefix("ff00::/8"), "multicast (RFC 4291)"},
}

// embeddedIPv4 returns the IPv4 address that packets to an IPv6 address finally reach, if there is one.
func embeddedIPv4(addr netip.Addr) (inner netip.Addr, what string, ok bool) {
	if !addr.Is6() {
		return netip.Addr{}, "", false
	}
	b := addr.As16()
	if translated.Contains(addr) {
		return netip.AddrFrom4([4]byte(b[12:16])), "a translation (RFC 6052)", true
	}
	if b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe && (b[8] == 0 || b[8] == 2) {
		return netip.AddrFrom4([4]byte(b[12:16])), "an ISATAP tunnel (RFC 5214)", true
	}
	return netip.Addr{}, "", false
}
