//! Which addresses a worker may connect to: public ones, unless it is told otherwise.
//!
//! The URL of a worker is given by whoever starts it, but the name in it is resolved by a stranger
//! and may one day lead inside: to this machine, to its network, or to the service that hands out
//! the credentials of a cloud's machines (169.254.169.254). Only addresses that passed here are
//! connected to, so a name that changes between check and use changes nothing. Pure.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// How far a worker may reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Public addresses only.
    Public,
    /// Every address.
    Private,
}

impl Reach {
    /// Whether `address` may be connected to.
    pub fn allows(self, address: IpAddr) -> bool {
        match self {
            Self::Public => is_public(address),
            Self::Private => true,
        }
    }
}

/// Whether everybody may reach this address over the internet.
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

/// The special-purpose registry of IPv4 (RFC 6890 and its updates): networks by their address and
/// the length of their prefix.
const SPECIAL_V4: [(Ipv4Addr, u32); 15] = [
    // "This network", private use, loopback.
    (Ipv4Addr::UNSPECIFIED, 8),
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    // Shared address space of carriers (RFC 6598).
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    // Link local; clouds serve credentials there.
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    // IETF protocol assignments, 6to4 relays, benchmarks.
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    (Ipv4Addr::new(192, 88, 99, 0), 24),
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    // Documentation.
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    // Multicast; reserved, and broadcast.
    (Ipv4Addr::new(224, 0, 0, 0), 4),
    (Ipv4Addr::new(240, 0, 0, 0), 4),
];

fn is_public_v4(address: Ipv4Addr) -> bool {
    !SPECIAL_V4.iter().any(|(network, length)| {
        let differs = address.to_bits() ^ network.to_bits();
        differs.leading_zeros() >= *length
    })
}

/// The special-purpose registry of IPv6. Addresses that carry one of IPv4 count as that one;
/// beside them only global unicast (2000::/3) is public.
fn is_public_v6(address: Ipv6Addr) -> bool {
    let embedded = |high: u16, low: u16| {
        is_public_v4(Ipv4Addr::from_bits(
            (u32::from(high) << 16) | u32::from(low),
        ))
    };
    match address.segments() {
        // IPv4-mapped, and NAT64 (RFC 6052), which leads to the IPv4 address in it.
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            embedded(high, low)
        }
        // 6to4: the relay is the IPv4 address in it.
        [0x2002, high, low, ..] => embedded(high, low),
        // IETF protocol assignments (Teredo and ORCHID among them), documentation.
        [0x2001, 0..=0x1ff | 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => false,
        [first, ..] => first & 0xe000 == 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed(address: &str) -> bool {
        Reach::Public.allows(address.parse().unwrap())
    }

    #[test]
    fn what_leads_inside_is_refused() {
        for address in [
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "127.0.0.1",
            "127.255.0.1",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "192.0.0.8",
            "198.18.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::127.0.0.1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::ffff:169.254.169.254",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b:1::1",
            "2002:7f00:1::",
            "2002:a9fe:a9fe::1",
            "2001:0:1::1",
            "2001:db8::1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ] {
            assert!(!allowed(address), "{address}");
            assert!(Reach::Private.allows(address.parse().unwrap()), "{address}");
        }
    }

    #[test]
    fn what_everybody_may_reach_is_allowed() {
        for address in [
            "1.1.1.1",
            "93.184.215.14",
            "100.63.255.255",
            "100.128.0.1",
            "172.15.0.1",
            "172.32.0.1",
            "192.0.1.1",
            "2606:4700:4700::1111",
            "2a00:1450:4001:80b::200e",
            "::ffff:1.1.1.1",
            "64:ff9b::101:101",
        ] {
            assert!(allowed(address), "{address}");
        }
    }
}
