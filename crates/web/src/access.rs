//! Who may ask: the names by which the interface is called, where a page comes from that asks, and the token.
use std::net::{IpAddr, SocketAddr};

use axum::http::{HeaderMap, Method, header};
use ring::digest::{SHA256, digest};

/// Who may ask.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    /// The address that is listened on.
    pub(crate) address: SocketAddr,
    /// SHA-256 of the token, if one is needed.
    pub(crate) token: Option<[u8; 32]>,
    /// Whether it is reached by TLS.
    pub(crate) tls: bool,
}

/// Why a request is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Denied {
    /// The Host header is missing, or names something else.
    Host,
    /// A page of another origin asks.
    Origin,
    /// The token is missing or wrong.
    Token,
}

/// SHA-256.
pub(crate) fn sha256(bytes: &[u8]) -> [u8; 32] {
    let mut sum = [0; 32];
    // The sum of this algorithm has 32 bytes.
    sum.iter_mut().zip(digest(&SHA256, bytes).as_ref()).for_each(|(to, from)| *to = *from);
    sum
}

impl Access {
    /// Whether a request with these headers is answered. `is_open`: what everybody may read, since it tells nothing of the network.
    pub(crate) fn check(&self, method: &Method, headers: &HeaderMap, is_open: bool) -> Result<(), Denied> {
        let mut hosts = headers.get_all(header::HOST).iter();
        let (host, more) = (hosts.next().and_then(|host| host.to_str().ok()), hosts.next());
        let host = host.filter(|_| more.is_none()).filter(|host| self.is_called(host)).ok_or(Denied::Host)?;
        let mut origins = headers.get_all(header::ORIGIN).iter();
        let scheme = if self.tls { "https://" } else { "http://" };
        let is_own =
            |origin: &str| origin.strip_prefix(scheme).is_some_and(|other| other.eq_ignore_ascii_case(host));
        if !origins.all(|origin| origin.to_str().is_ok_and(is_own)) {
            return Err(Denied::Origin);
        }
        // Browsers say where a request comes from; a link to the page itself may be anywhere.
        let word = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
        let is_visit = is_open && *method == Method::GET && word("sec-fetch-mode") == Some("navigate");
        if word("sec-fetch-site").is_some_and(|site| !matches!(site, "same-origin" | "none")) && !is_visit {
            return Err(Denied::Origin);
        }
        let Some(token) = self.token.filter(|_| !is_open) else { return Ok(()) };
        let said = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let said = said.and_then(|value| value.split_once(' '));
        let said = said.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
        // Sums are compared: how long that takes says nothing about the token.
        match said {
            Some((_, said)) if sha256(said.trim().as_bytes()) == token => Ok(()),
            _ => Err(Denied::Token),
        }
    }

    /// Whether a Host header names this interface. Behind a token any name will do: a page of another origin does not have it.
    fn is_called(&self, host: &str) -> bool {
        if host.is_empty() || host.len() > 255 {
            return false;
        }
        if self.token.is_some() && !self.address.ip().is_loopback() {
            return true;
        }
        let (name, port) = match host.rsplit_once(':') {
            // The last colon of an IPv6 address without a port.
            Some((_, port)) if port.ends_with(']') => (host, None),
            Some((name, port)) => (name, Some(port)),
            None => (host, None),
        };
        let usual = if self.tls { 443 } else { 80 };
        let port = port.map_or(Some(usual), |port| port.parse().ok());
        let address = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
        let is_here = name.eq_ignore_ascii_case("localhost")
            || address
                .parse::<IpAddr>()
                .is_ok_and(|address| address == self.address.ip() || address.is_loopback());
        port == Some(self.address.port()) && is_here
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(token: Option<&str>) -> Access {
        let token = token.map(|token| sha256(token.as_bytes()));
        Access { address: "127.0.0.1:8080".parse().unwrap(), token, tls: false }
    }

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, value.parse().unwrap());
        }
        headers
    }

    fn get(access: &Access, pairs: &[(&'static str, &str)]) -> Result<(), Denied> {
        access.check(&Method::GET, &headers(pairs), false)
    }

    #[test]
    fn only_names_of_this_interface_are_answered() {
        let open = access(None);
        for host in ["127.0.0.1:8080", "localhost:8080", "LOCALHOST:8080", "[::1]:8080"] {
            assert_eq!(get(&open, &[("host", host)]), Ok(()), "{host}");
        }
        for host in [
            "evil.example:8080",
            "127.0.0.1",
            "localhost",
            "127.0.0.1:81",
            "192.0.2.1:8080",
            "localhost.evil.example:8080",
            "127.0.0.1:8080:8080",
            "127.0.0.1:+8080x",
            "[::1]",
            "",
        ] {
            assert_eq!(get(&open, &[("host", host)]), Err(Denied::Host), "{host}");
        }
        assert_eq!(get(&open, &[]), Err(Denied::Host));
        let twice = [("host", "127.0.0.1:8080"), ("host", "127.0.0.1:8080")];
        assert_eq!(get(&open, &twice), Err(Denied::Host));
    }

    #[test]
    fn pages_of_other_origins_are_refused() {
        let (open, host) = (access(None), ("host", "127.0.0.1:8080"));
        assert_eq!(get(&open, &[host, ("origin", "http://127.0.0.1:8080")]), Ok(()));
        for origin in [
            "null",
            "http://evil.example",
            "https://127.0.0.1:8080",
            "http://127.0.0.1:8081",
            "http://localhost:8080",
        ] {
            assert_eq!(get(&open, &[host, ("origin", origin)]), Err(Denied::Origin), "{origin}");
        }
        for site in ["cross-site", "same-site", "what"] {
            assert_eq!(get(&open, &[host, ("sec-fetch-site", site)]), Err(Denied::Origin));
        }
        for site in ["same-origin", "none"] {
            assert_eq!(get(&open, &[host, ("sec-fetch-site", site)]), Ok(()));
        }
        let link = headers(&[host, ("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate")]);
        assert_eq!(open.check(&Method::GET, &link, true), Ok(()));
        assert_eq!(open.check(&Method::GET, &link, false), Err(Denied::Origin));
        assert_eq!(open.check(&Method::POST, &link, true), Err(Denied::Origin));
    }

    #[test]
    fn a_token_is_needed_where_there_is_one() {
        let (token, host) = ("0123456789abcdef0123456789abcdef", ("host", "127.0.0.1:8080"));
        let closed = access(Some(token));
        assert_eq!(get(&closed, &[host]), Err(Denied::Token));
        for said in [
            "Bearer x",
            "Basic 0123456789abcdef0123456789abcdef",
            "0123456789abcdef0123456789abcdef",
            "Bearer ",
        ] {
            assert_eq!(get(&closed, &[host, ("authorization", said)]), Err(Denied::Token), "{said}");
        }
        assert_eq!(get(&closed, &[host, ("authorization", &format!("Bearer {token}"))]), Ok(()));
        assert_eq!(closed.check(&Method::GET, &headers(&[host]), true), Ok(()));
        let far = Access { address: "192.0.2.1:443".parse().unwrap(), tls: true, ..closed };
        assert_eq!(
            get(&far, &[("host", "manager.example"), ("authorization", &format!("Bearer {token}"))]),
            Ok(())
        );
        assert_eq!(get(&far, &[("host", "manager.example")]), Err(Denied::Token));
    }
}
