//! Where etcd is: `http://HOST:PORT[,HOST:PORT...][/NAME]`, or the same with `https`.
use std::fmt;
use std::str::FromStr;

/// The port of clients of etcd.
const PORT: u16 = 2379;
/// The most members of a cluster that are named: etcd advises seven at most.
const MOST_HOSTS: usize = 16;
/// The most characters of a name.
const LONGEST_NAME: usize = 64;
/// The name of those that are given none.
const USUAL_NAME: &str = "grm";

/// The members of a cluster of etcd, and the name under which managers of one network meet there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Address {
    hosts: Vec<(String, u16)>,
    name: String,
    is_secure: bool,
}

impl Address {
    /// Whether this is meant as an address, and not as the name of a file.
    pub fn is_meant(text: &str) -> bool {
        text.contains("://")
    }

    /// Whether TLS is spoken.
    pub const fn is_secure(&self) -> bool {
        self.is_secure
    }

    /// Host and port of each member.
    pub(crate) fn hosts(&self) -> &[(String, u16)] {
        &self.hosts
    }

    /// A key of this name's.
    pub(crate) fn key(&self, end: &str) -> String {
        format!("/punctual/{}/{end}", self.name)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_secure { "https://" } else { "http://" })?;
        for (index, (host, port)) in self.hosts.iter().enumerate() {
            if index > 0 {
                f.write_str(",")?;
            }
            if host.contains(':') {
                write!(f, "[{host}]:{port}")?;
            } else {
                write!(f, "{host}:{port}")?;
            }
        }
        write!(f, "/{}", self.name)
    }
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = |what: &str| {
            let text = text.escape_default();
            format!(
                "{what} in \"{text}\": give http://HOST:PORT[,HOST:PORT...][/NAME], or https:// with --keys"
            )
        };
        let (is_secure, rest) = match text.split_once("://") {
            Some(("http", rest)) => (false, rest),
            Some(("https", rest)) => (true, rest),
            _ => return Err(wrong("neither http nor https")),
        };
        let (hosts, name) = rest.split_once('/').unwrap_or((rest, USUAL_NAME));
        let name = if name.is_empty() { USUAL_NAME } else { name };
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if name.len() > LONGEST_NAME || !name.chars().all(is_plain) {
            return Err(wrong(
                "a name that is too long, or has other characters than letters, digits, - _ and .",
            ));
        }
        let hosts: Result<Vec<_>, String> =
            hosts.split(',').map(|host| end(host).ok_or_else(|| wrong("no host and port"))).collect();
        let hosts = hosts?;
        if hosts.len() > MOST_HOSTS {
            return Err(wrong("more than 16 hosts"));
        }
        Ok(Self { hosts, name: name.to_owned(), is_secure })
    }
}

/// Host and port of one member.
fn end(text: &str) -> Option<(String, u16)> {
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (host, port) = rest.split_once(']')?;
            host.parse::<std::net::Ipv6Addr>().ok()?;
            if !port.is_empty() && !port.starts_with(':') {
                return None;
            }
            (host, port.strip_prefix(':'))
        }
        None => text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port))),
    };
    let is_of_host = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_' | ':');
    let is_host = !host.is_empty() && host.len() <= 253 && host.chars().all(is_of_host);
    let port = port.map_or(Some(PORT), |port| port.parse().ok().filter(|port| *port != 0))?;
    is_host.then(|| (host.to_owned(), port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_they_are_shown() {
        for (text, shown) in [
            ("http://a:1", "http://a:1/grm"),
            ("http://10.0.0.1", "http://10.0.0.1:2379/grm"),
            ("https://a:1,b:2,[fe80::1]:3/ward", "https://a:1,b:2,[fe80::1]:3/ward"),
            ("http://[::1]/", "http://[::1]:2379/grm"),
        ] {
            let address: Address = text.parse().unwrap();
            assert_eq!(address.to_string(), shown);
            assert_eq!(shown.parse::<Address>().unwrap(), address);
        }
        assert_eq!("http://a:1/w".parse::<Address>().unwrap().key("epoch"), "/punctual/w/epoch");
    }

    #[test]
    fn what_is_no_address_is_refused_with_what_to_write() {
        let long = format!("http://a/{}", "n".repeat(65));
        let many = format!("http://{}", ["a"; 17].join(","));
        for text in [
            "http://",
            "ftp://a:1",
            "etcd://a:1",
            "http://a:0",
            "http://a:65536",
            "http://a:b",
            "http://a,,b",
            "http://a b",
            "http://a:1/x/y",
            "http://a:1/%2f",
            "http://[::1",
            "http://[::1]1",
            "http://a\r\nb",
            &long,
            &many,
        ] {
            let error = text.parse::<Address>().unwrap_err();
            assert!(error.contains("give http://HOST:PORT"), "{text}: {error}");
        }
        assert!(!Address::is_meant("/var/lib/x") && Address::is_meant("etcd://a"));
    }
}
