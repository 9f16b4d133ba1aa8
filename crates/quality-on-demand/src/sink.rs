//! Where notifications may go: HTTPS, and no address inside the networks of the operator unless the file allows it.
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use axum::http::Uri;

/// An address of HTTPS in its parts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Target {
    /// A name or an address, without brackets.
    pub host: String,
    /// The port.
    pub port: u16,
    /// As the header `Host` has it.
    pub authority: String,
    /// The path and what follows.
    pub path: String,
}

impl Target {
    /// The parts of an address; `None` if it is no such one, names a user, or has a fragment.
    pub fn of(text: &str) -> Option<Self> {
        if !text.is_ascii() || text.contains(['@', '#', '\\']) {
            return None;
        }
        let uri: Uri = text.parse().ok()?;
        if uri.scheme_str() != Some("https") {
            return None;
        }
        let authority = uri.authority()?;
        let host = authority.host();
        // A colon without a port, or with one that is none, would be taken for the usual one by some, and for nonsense by others.
        let port = match authority.as_str().strip_prefix(host)? {
            "" => Some(443),
            port => port
                .strip_prefix(':')
                .filter(|port| port.bytes().all(|byte| byte.is_ascii_digit()))?
                .parse()
                .ok(),
        };
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        let is_plain = !host.is_empty() && host.len() <= 253;
        let path = uri.path_and_query().map_or("/", |path| path.as_str()).to_owned();
        let port = port.filter(|port| is_plain && *port > 0)?;
        Some(Self { host: host.to_owned(), port, authority: authority.as_str().to_owned(), path })
    }
}

/// The address is of the Internet at large: not of this host, its neighbours, an operator's inside, or a form that hides one of them.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_4(address),
        IpAddr::V6(address) => is_public_6(address),
    }
}

fn is_public_4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let is_special = match (a, b, c) {
        // This network, private networks, loopback, reserved and multicast.
        (0 | 10 | 127 | 224.., _, _) => true,
        // Behind the translator of a carrier.
        (100, 64..=127, _) => true,
        (169, 254, _) | (172, 16..=31, _) | (192, 168, _) => true,
        // Protocols, documentation, old relays, benchmarks.
        (192, 0, 0 | 2) | (192, 88, 99) | (198, 18 | 19, _) | (198, 51, 100) | (203, 0, 113) => true,
        _ => false,
    };
    !is_special
}

fn is_public_6(address: Ipv6Addr) -> bool {
    let segments = address.segments();
    let [first, second, third, ..] = segments;
    let last = u32::from(segments[6]) << 16 | u32::from(segments[7]);
    match (first, second) {
        // Translated addresses are those of IPv4 behind them.
        (0x64, 0xff9b) => segments[2..6] == [0; 4] && is_public_4(last.into()),
        (0x2002, _) => is_public_4((u32::from(second) << 16 | u32::from(third)).into()),
        // Teredo, ORCHID, benchmarks; documentation.
        (0x2001, 0..=0x1ff | 0xdb8) | (0x3fff, 0..=0xfff) => false,
        // What is given out of the rest is global; unspecified, loopback, mapped, local and multicast addresses are elsewhere.
        (0x2000..=0x3fff, _) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_the_inside_are_not_public_in_any_form() {
        for inside in [
            "0.0.0.0",
            "10.0.0.1",
            "100.64.0.1",
            "127.0.0.1",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "192.0.2.1",
            "198.18.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:10.0.0.1",
            "::ffff:8.8.8.8",
            "::127.0.0.1",
            "fc00::1",
            "fd12::1",
            "fe80::1",
            "ff02::1",
            "2001:db8::1",
            "2001::1",
            "64:ff9b::10.0.0.1",
            "64:ff9b:1::8.8.8.8",
            "64:ff9b::1:808:808",
            "2002:7f00:1::1",
            "2002:a00:1::",
            "100::1",
        ] {
            assert!(!is_public(inside.parse().unwrap()), "{inside}");
        }
        for outside in [
            "8.8.8.8",
            "100.63.0.1",
            "100.128.0.1",
            "172.15.0.1",
            "172.32.0.1",
            "192.0.1.1",
            "223.255.255.255",
            "2606:4700::1",
            "2a00:1450::1",
            "64:ff9b::8.8.8.8",
            "2002:808:808::1",
        ] {
            assert!(is_public(outside.parse().unwrap()), "{outside}");
        }
    }

    #[test]
    fn only_addresses_of_https_are_sinks() {
        let target = Target::of("https://application.example/notifications?a=1").unwrap();
        assert_eq!((target.host.as_str(), target.port), ("application.example", 443));
        assert_eq!(
            (target.authority.as_str(), target.path.as_str()),
            ("application.example", "/notifications?a=1")
        );
        let target = Target::of("https://[2001:db8::1]:8443").unwrap();
        assert_eq!((target.host.as_str(), target.port, target.path.as_str()), ("2001:db8::1", 8_443, "/"));
        for wrong in [
            "",
            "http://application.example/",
            "ftp://application.example/",
            "https://",
            "https:///path",
            "application.example",
            "https://user@application.example/",
            "https://user:word@10.0.0.1/",
            "https://application.example/#part",
            "https://application.example:0/",
            "https://application.example:65536/",
            "https://application.example:/",
            "https://application.example:+1/",
            "https://[2001:db8::1]:65536/",
            "https://a b/",
            "https://\u{e9}.example/",
            "https:\\\\application.example/",
            "HTTPS",
            "/notifications",
        ] {
            assert_eq!(Target::of(wrong), None, "{wrong}");
        }
    }
}
