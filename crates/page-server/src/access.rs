//! Who may ask: the names by which a server is called, where a page comes from that asks, and the token.
use std::net::{IpAddr, SocketAddr};

use axum::http::{HeaderMap, Method, header};
use keys::Role;
use ring::digest::{SHA256, digest};

/// Who may ask.
#[derive(Clone, Debug)]
pub struct Access {
    /// The address that is listened on.
    pub address: SocketAddr,
    /// SHA-256 of the token, if one is needed.
    pub token: Option<[u8; 32]>,
    /// Whether it is reached by TLS.
    pub tls: bool,
    /// Whether clients may show certificates of an authority.
    pub keys: bool,
}

/// Why a request is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Denied {
    /// The Host header is missing, or names something else.
    Host,
    /// A page of another origin asks.
    Origin,
    /// The token is missing or wrong.
    Token,
    /// With keys: neither a certificate nor the token.
    Nameless,
    /// The certificate is one of this role, which may not ask.
    Role(Role),
}

/// SHA-256.
pub fn sha256(bytes: &[u8]) -> [u8; 32] {
    let mut sum = [0; 32];
    // The sum of this algorithm has 32 bytes.
    sum.iter_mut().zip(digest(&SHA256, bytes).as_ref()).for_each(|(to, from)| *to = *from);
    sum
}

impl Access {
    /// Whether a request with these headers is answered, over a connection whose peer has shown a certificate of a role, or none. `is_open`: what
    /// any client may read, since it tells nothing of the network.
    pub fn check(
        &self,
        method: &Method,
        headers: &HeaderMap,
        role: Option<Role>,
        is_open: bool,
    ) -> Result<(), Denied> {
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
        if is_open || (self.token.is_none() && !self.keys) {
            return Ok(());
        }
        if self.keys && matches!(role, Some(Role::Operator(_))) {
            return Ok(());
        }
        let said = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let said = said.and_then(|value| value.split_once(' '));
        let said = said.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
        // Sums are compared: how long that takes says nothing about the token.
        let is_known = said.is_some_and(|(_, said)| self.token == Some(sha256(said.trim().as_bytes())));
        match role {
            _ if is_known => Ok(()),
            Some(role) => Err(Denied::Role(role)),
            None if self.keys && (said.is_none() || self.token.is_none()) => Err(Denied::Nameless),
            None => Err(Denied::Token),
        }
    }

    /// Whether a Host header names this interface. Behind a token any name will do: a page of another origin does not have it. So it will with keys:
    /// a browser shows no certificate where the name in the address is not in that of the manager.
    fn is_called(&self, host: &str) -> bool {
        if host.is_empty() || host.len() > 255 {
            return false;
        }
        if self.keys || (self.token.is_some() && !self.address.ip().is_loopback()) {
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
    use testkit::random::Random;

    use super::*;

    fn access(token: Option<&str>) -> Access {
        let token = token.map(|token| sha256(token.as_bytes()));
        Access { address: "127.0.0.1:8080".parse().unwrap(), token, tls: false, keys: false }
    }

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, value.parse().unwrap());
        }
        headers
    }

    fn get(access: &Access, pairs: &[(&'static str, &str)]) -> Result<(), Denied> {
        access.check(&Method::GET, &headers(pairs), None, false)
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
        assert_eq!(open.check(&Method::GET, &link, None, true), Ok(()));
        assert_eq!(open.check(&Method::GET, &link, None, false), Err(Denied::Origin));
        assert_eq!(open.check(&Method::POST, &link, None, true), Err(Denied::Origin));
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
        assert_eq!(closed.check(&Method::GET, &headers(&[host]), None, true), Ok(()));
        let far = Access { address: "192.0.2.1:443".parse().unwrap(), tls: true, ..closed };
        assert_eq!(
            get(&far, &[("host", "manager.example"), ("authorization", &format!("Bearer {token}"))]),
            Ok(())
        );
        assert_eq!(get(&far, &[("host", "manager.example")]), Err(Denied::Token));
    }

    #[test]
    fn with_keys_an_operators_certificate_stands_for_the_token_and_no_other_does() {
        let (token, host) = ("0123456789abcdef0123456789abcdef", ("host", "manager.punctual.internal:8443"));
        let role = |text: &str| Some(text.parse::<Role>().unwrap());
        let bearer = format!("Bearer {token}");
        for word in [None, Some(token)] {
            let keys = Access { keys: true, tls: true, ..access(word) };
            let get =
                |role, pairs: &[(&'static str, &str)]| keys.check(&Method::GET, &headers(pairs), role, false);
            assert_eq!(get(role("operator-ann"), &[host]), Ok(()));
            assert_eq!(get(None, &[host]), Err(Denied::Nameless));
            assert_eq!(keys.check(&Method::GET, &headers(&[host]), None, true), Ok(()));
            for other in ["switch-1", "gates-1", "user-ann", "store", "manager"] {
                assert_eq!(get(role(other), &[host]), Err(Denied::Role(role(other).unwrap())), "{other}");
            }
            let told = get(None, &[host, ("authorization", &bearer)]);
            assert_eq!(told, if word.is_some() { Ok(()) } else { Err(Denied::Nameless) });
            // A page of another origin gets nothing from a browser that has a certificate.
            let page = [host, ("origin", "https://evil.example")];
            assert_eq!(get(role("operator-ann"), &page), Err(Denied::Origin));
        }
        // Without keys no role counts.
        let closed = Access { tls: true, ..access(Some(token)) };
        let asked =
            closed.check(&Method::GET, &headers(&[("host", "127.0.0.1:8080")]), role("operator-ann"), false);
        assert_eq!(asked, Err(Denied::Role(role("operator-ann").unwrap())));
    }

    /// A request without a right: which kind it is, its headers and the role that its connection has shown.
    fn hostile(
        random: &mut Random,
        token: &str,
    ) -> (&'static str, Vec<(&'static str, String)>, Option<&'static str>) {
        let bearer = |said: &str| ("authorization", format!("Bearer {said}"));
        let hex = b"0123456789abcdef";
        let other = |random: &mut Random| -> String {
            let length = random.below(70);
            let said: String = (0..length).map(|_| char::from(*random.pick(hex).unwrap())).collect();
            if said == token { String::new() } else { said }
        };
        let role = random.pick(&["switch-1", "gates-1", "user-ann", "store", "manager"]).copied();
        let role = role.filter(|_| random.one_in(2));
        let (kind, headers) = match random.below_u64(10) {
            0 => ("nothing", vec![]),
            1 => ("another token", vec![bearer(&other(random))]),
            2 => {
                let mut said = token.as_bytes().to_vec();
                let at = random.below(said.len());
                let wrong: Vec<u8> = hex.iter().copied().filter(|digit| *digit != said[at]).collect();
                said[at] = *random.pick(&wrong).unwrap();
                ("another digit", vec![bearer(std::str::from_utf8(&said).unwrap())])
            }
            3 => ("a part of it", vec![bearer(&token[..random.below(token.len())])]),
            4 => ("more than it", vec![bearer(&format!("{token}{}", random.below(10)))]),
            5 => ("capitals", vec![bearer(&token.to_uppercase())]),
            6 => {
                let scheme = random.pick(&["Basic", "Token", "Digest", "Bear", "Bearer:", ""]).unwrap();
                ("another scheme", vec![("authorization", format!("{scheme} {token}").trim().to_owned())])
            }
            7 => {
                let name =
                    *random.pick(&["cookie", "x-authorization", "proxy-authorization", "x-token"]).unwrap();
                ("another header", vec![(name, format!("Bearer {token}"))])
            }
            8 => {
                let sum: String = sha256(token.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
                ("its sum", vec![bearer(&sum)])
            }
            _ => ("another one first", vec![bearer(&other(random)), bearer(token)]),
        };
        (kind, headers, role)
    }

    /// Neither near misses of the token nor certificates of other roles; the headers of the own page are on all of them.
    #[test]
    fn no_request_without_a_right_is_answered() {
        let token = "0123456789abcdef0123456789abcdef";
        let mut random = Random::of_case(19, 2);
        let mut kinds = std::collections::BTreeMap::<&str, u64>::new();
        let tries = tiers::current().number("page-server.unauthorised");
        for number in 0..tries {
            let with_token = random.one_in(2);
            let keys = !with_token || random.one_in(2);
            let access = Access { keys, tls: keys, ..access(Some(token).filter(|_| with_token)) };
            let (kind, said, role) = hostile(&mut random, token);
            let mut all = vec![("host", "127.0.0.1:8080")];
            if random.one_in(2) {
                all.push(("origin", if keys { "https://127.0.0.1:8080" } else { "http://127.0.0.1:8080" }));
                all.push(("sec-fetch-site", "same-origin"));
            }
            all.extend(said.iter().map(|(name, value)| (*name, value.as_str())));
            let method = random.pick(&[Method::GET, Method::POST, Method::DELETE, Method::PUT]).unwrap();
            let role = role.map(|role| role.parse::<Role>().unwrap());
            let answered = access.check(method, &headers(&all), role, false);
            assert!(answered.is_err(), "{number}: {kind}: {all:?} by {role:?}, keys {keys}");
            *kinds.entry(kind).or_default() += 1;
        }
        println!("{tries} requests, 0 answered: {kinds:?}");
        assert_eq!(kinds.len(), 10);
        let closed = access(Some(token));
        let said = format!("Bearer {token}");
        assert_eq!(get(&closed, &[("host", "127.0.0.1:8080"), ("authorization", &said)]), Ok(()));
    }
}
