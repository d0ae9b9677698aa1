//! Decides which IP addresses are on the public Internet. Addresses that a registry reserves for
//! another purpose are not, and neither are those that embed another address which the network
//! could unpack.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The IPv4 blocks that do not lead to a public host: prefix and length (IANA IPv4 Special-Purpose
/// Address Registry, RFC 6890 and later).
const V4: &[(Ipv4Addr, u32)] = &[
    (Ipv4Addr::new(0, 0, 0, 0), 8), // this network; 0.0.0.0 is this machine
    (Ipv4Addr::new(10, 0, 0, 0), 8), // private
    (Ipv4Addr::new(100, 64, 0, 0), 10), // shared by carriers; metadata of Alibaba Cloud
    (Ipv4Addr::new(127, 0, 0, 0), 8), // loopback
    (Ipv4Addr::new(168, 63, 129, 16), 32), // Azure's platform, from inside of it
    (Ipv4Addr::new(169, 254, 0, 0), 16), // link-local; metadata of most clouds
    (Ipv4Addr::new(172, 16, 0, 0), 12), // private
    (Ipv4Addr::new(192, 0, 0, 0), 24), // protocol assignments; metadata of Oracle Cloud
    (Ipv4Addr::new(192, 0, 2, 0), 24), // documentation
    (Ipv4Addr::new(192, 31, 196, 0), 24), // AS112
    (Ipv4Addr::new(192, 52, 193, 0), 24), // multicast tunnels
    (Ipv4Addr::new(192, 88, 99, 0), 24), // 6to4 relays
    (Ipv4Addr::new(192, 168, 0, 0), 16), // private
    (Ipv4Addr::new(192, 175, 48, 0), 24), // AS112
    (Ipv4Addr::new(198, 18, 0, 0), 15), // benchmarks
    (Ipv4Addr::new(198, 51, 100, 0), 24), // documentation
    (Ipv4Addr::new(203, 0, 113, 0), 24), // documentation
    (Ipv4Addr::new(224, 0, 0, 0), 4), // multicast
    (Ipv4Addr::new(240, 0, 0, 0), 4), // reserved, and broadcast
];

/// The only IPv6 block with public hosts.
const GLOBAL: (Ipv6Addr, u32) = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);

/// The blocks within [`GLOBAL`] that do not lead to a public host. Outside of it are, among others,
/// `::`, `::1`, IPv4 in IPv6 (`::ffff:0:0/96`, `::/96`), NAT64 (`64:ff9b::/96`, `64:ff9b:1::/48`),
/// segment routing (`5f00::/16`), unique local (`fc00::/7`, with metadata at `fd00:ec2::254`),
/// link-local (`fe80::/10`), site-local (`fec0::/10`) and multicast (`ff00::/8`).
const V6: &[(Ipv6Addr, u32)] = &[
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23), // protocols; Teredo, which embeds IPv4
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32), // documentation
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16), // 6to4, which embeds IPv4
    (Ipv6Addr::new(0x2620, 0x4f, 0x8000, 0, 0, 0, 0, 0), 48), // AS112
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20), // documentation
];

/// Returns true if an address belongs to a host on the public Internet.
#[must_use]
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => {
            !V4.iter().any(|(prefix, length)| within_v4(address, *prefix, *length))
        }
        IpAddr::V6(address) => {
            let (prefix, length) = GLOBAL;
            within_v6(address, prefix, length)
                && !V6.iter().any(|(prefix, length)| within_v6(address, *prefix, *length))
        }
    }
}

fn within_v4(address: Ipv4Addr, prefix: Ipv4Addr, length: u32) -> bool {
    (address.to_bits() ^ prefix.to_bits()).leading_zeros() >= length
}

fn within_v6(address: Ipv6Addr, prefix: Ipv6Addr, length: u32) -> bool {
    (address.to_bits() ^ prefix.to_bits()).leading_zeros() >= length
}
