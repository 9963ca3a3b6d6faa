package egress

import (
	"encoding/binary"
	"net/netip"
)

// Class is what an address is for, in the words of a sentence: "an address of
// this machine".
type Class string

// The classes that matter by name. Every other class is refused like Loopback.
const (
	// Global is a globally routable unicast address.
	Global Class = "a public address"
	// PrivateNet is RFC 1918 or RFC 4193.
	PrivateNet Class = "an address of a private network"
	// Loopback is this machine.
	Loopback Class = "an address of this machine"
	// Metadata is a cloud's metadata service, which hands out credentials.
	Metadata Class = "a metadata address, which hands out credentials"
)

const (
	unspecified   Class = "an address that stands for no host"
	sharedNet     Class = "an address of a carrier's shared network"
	linkLocal     Class = "a link-local address"
	multicast     Class = "a multicast address"
	broadcast     Class = "the broadcast address"
	documentation Class = "an address for documentation"
	benchmarking  Class = "an address for benchmarks"
	reserved      Class = "a reserved address"
	nat64         Class = "an address that a NAT64 gateway translates"
	sixToFour     Class = "a 6to4 address"
	teredo        Class = "a Teredo address"
	mapped        Class = "an IPv4 address inside an IPv6 address"
)

type block struct {
	prefix netip.Prefix
	class  Class
}

// blocks are the special-purpose blocks of the IANA registries for IPv4 and IPv6
// (RFC 6890 and its updates), and the metadata services of clouds, the narrower
// before the wider. The first that contains an address decides.
var blocks = parseBlocks([][2]string{
	{"169.254.169.254/32", string(Metadata)}, {"169.254.169.253/32", string(Metadata)},
	{"169.254.170.2/32", string(Metadata)},
	{"169.254.170.23/32", string(Metadata)}, {"169.254.42.42/32", string(Metadata)},
	{"100.100.100.200/32", string(Metadata)},
	{"192.0.0.192/32", string(Metadata)}, {"168.63.129.16/32", string(Metadata)},
	{"0.0.0.0/8", string(unspecified)}, {"10.0.0.0/8", string(PrivateNet)}, {"100.64.0.0/10", string(sharedNet)},
	{"127.0.0.0/8", string(Loopback)}, {"169.254.0.0/16", string(linkLocal)}, {"172.16.0.0/12", string(PrivateNet)},
	{"192.0.0.0/24", string(reserved)}, {"192.0.2.0/24", string(documentation)}, {"192.31.196.0/24", string(reserved)},
	{"192.52.193.0/24", string(reserved)}, {"192.88.99.0/24", string(sixToFour)},
	{"192.168.0.0/16", string(PrivateNet)},
	{"192.175.48.0/24", string(reserved)}, {"198.18.0.0/15", string(benchmarking)},
	{"198.51.100.0/24", string(documentation)},
	{"203.0.113.0/24", string(documentation)}, {"224.0.0.0/4", string(multicast)},
	{"255.255.255.255/32", string(broadcast)},
	{"240.0.0.0/4", string(reserved)},

	{"fd00:ec2::254/128", string(Metadata)}, {"fd00:ec2::23/128", string(Metadata)},
	{"fd00:ec2::253/128", string(Metadata)},
	{"fd20:ce::254/128", string(Metadata)}, {"fd00:42::42/128", string(Metadata)},
	{"::/128", string(unspecified)}, {"::1/128", string(Loopback)}, {"::ffff:0:0/96", string(mapped)},
	{"::ffff:0:0:0/96", string(mapped)}, {"::/96", string(mapped)}, {"64:ff9b::/96", string(nat64)},
	{"64:ff9b:1::/48", string(nat64)},
	{"100::/64", string(reserved)}, {"2001::/32", string(teredo)}, {"2001:2::/48", string(benchmarking)},
	{"2001:db8::/32", string(documentation)}, {"2001::/23", string(reserved)}, {"2002::/16", string(sixToFour)},
	{"2620:4f:8000::/48", string(reserved)}, {"3ffe::/16", string(reserved)}, {"3fff::/20", string(documentation)},
	{"fc00::/7", string(PrivateNet)}, {"fe80::/10", string(linkLocal)}, {"fec0::/10", string(reserved)},
	{"ff00::/8", string(multicast)},
})

func parseBlocks(table [][2]string) []block {
	list := make([]block, len(table))
	for i, row := range table {
		list[i] = block{netip.MustParsePrefix(row[0]), Class(row[1])}
	}
	return list
}

// globalUnicast is all of IPv6 that is given out to networks so far.
var globalUnicast = netip.MustParsePrefix("2000::/3")

// Classify says what an address is for. An IPv4 address inside an IPv6 address
// is never Global: it is refused as what it is.
func Classify(a netip.Addr) Class {
	if !a.IsValid() || a.Zone() != "" {
		return linkLocal
	}
	for _, b := range blocks {
		if b.prefix.Contains(a) {
			return b.class
		}
	}
	if a.Is4() {
		return Global
	}
	if !globalUnicast.Contains(a) {
		return reserved
	}
	if v4, ok := isatap(a); ok && Classify(v4) != Global {
		return mapped
	}
	return Global
}

// isatap returns the IPv4 address in the interface id of an ISATAP address
// (RFC 5214): routers hand the packet on to it.
func isatap(a netip.Addr) (netip.Addr, bool) {
	b := a.As16()
	if id := binary.BigEndian.Uint32(b[8:12]); id != 0x00005efe && id != 0x02005efe {
		return netip.Addr{}, false
	}
	return netip.AddrFrom4([4]byte(b[12:16])), true
}
