//! Roles, and the names that certificates have for them.
use std::fmt;
use std::str::FromStr;

/// What the holder of a key is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Role {
    /// A resource manager: it connects to the agents of gates, and switches connect to it.
    Manager,
    /// A switch, by its datapath id.
    Switch(u64),
    /// The agent of the gates of a switch, by the datapath id of the switch.
    Gates(u64),
    /// A member of the etcd cluster that keeps grants: managers connect to it, and it to other members.
    Store,
    /// Participants that ask for flows, by the name of their user.
    User(Name),
    /// Operators, who may read and change what a manager does, by its HTTP interface or by commands.
    Operator(Name),
    /// The node manager of a host that is deployed to, by the name of the host.
    Node(Name),
    /// The resource manager of a domain, by the number of its autonomous system: it connects to those of other domains, and they to it.
    Domain(u32),
}

/// The name of a user, operator or host: at most 58 small letters, digits and hyphens, with a letter or digit at both ends; an operator's has
/// at most 54.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name {
    /// Zeros after its end.
    bytes: [u8; MOST_NAME],
}

/// With the name of the role and a hyphen before it, it is a label of DNS, which has 63 bytes at most.
const MOST_NAME: usize = 58;
const MOST_OPERATOR: usize = 54;

impl Name {
    /// This name; `None` if no user, operator or host has such a name.
    pub fn new(text: &str) -> Option<Self> {
        let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let ends = [text.bytes().next()?, text.bytes().next_back()?];
        let is_good =
            ends.into_iter().all(is_plain) && text.bytes().all(|byte| is_plain(byte) || byte == b'-');
        let mut bytes = [0; MOST_NAME];
        bytes.get_mut(..text.len()).filter(|_| is_good)?.copy_from_slice(text.as_bytes());
        Some(Self { bytes })
    }

    /// As text.
    pub fn as_str(&self) -> &str {
        let end = self.bytes.iter().position(|byte| *byte == 0).unwrap_or(MOST_NAME);
        self.bytes.get(..end).and_then(|bytes| std::str::from_utf8(bytes).ok()).unwrap_or_default()
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.as_str())
    }
}

/// What names of roles end with in certificates: a domain that has no owner in DNS.
const DOMAIN: &str = "punctual.internal";

impl Role {
    /// The name in certificates, a DNS name.
    pub(crate) fn subject(self) -> String {
        format!("{self}.{DOMAIN}")
    }

    /// The role of this name in certificates, if there is one.
    pub(crate) fn of_subject(subject: &str) -> Option<Self> {
        subject.strip_suffix(DOMAIN)?.strip_suffix('.')?.parse().ok()
    }

    /// Whether it accepts connections, and whether it makes them.
    pub(crate) const fn ends(self) -> (bool, bool) {
        match self {
            Self::Manager | Self::Store | Self::Domain(_) => (true, true),
            Self::Switch(_) | Self::User(_) | Self::Operator(_) | Self::Node(_) => (false, true),
            Self::Gates(_) => (true, false),
        }
    }
}

/// As its files are called: `manager`, `store`, `switch-1`, `gates-1`, `user-alice`, `operator-ann`, `node-east`, `domain-65001`.
impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Manager => f.write_str("manager"),
            Self::Store => f.write_str("store"),
            Self::Switch(datapath) => write!(f, "switch-{datapath}"),
            Self::Gates(datapath) => write!(f, "gates-{datapath}"),
            Self::User(name) => write!(f, "user-{}", name.as_str()),
            Self::Operator(name) => write!(f, "operator-{}", name.as_str()),
            Self::Node(name) => write!(f, "node-{}", name.as_str()),
            Self::Domain(asn) => write!(f, "domain-{asn}"),
        }
    }
}

impl FromStr for Role {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| text.parse::<u64>().ok().filter(|number| number.to_string() == text);
        let role = match text.split_once('-') {
            None if text == "manager" => Some(Self::Manager),
            None if text == "store" => Some(Self::Store),
            Some(("switch", datapath)) => number(datapath).map(Self::Switch),
            Some(("gates", datapath)) => number(datapath).map(Self::Gates),
            Some(("user", name)) => Name::new(name).map(Self::User),
            Some(("operator", name)) if name.len() <= MOST_OPERATOR => Name::new(name).map(Self::Operator),
            Some(("node", name)) => Name::new(name).map(Self::Node),
            Some(("domain", asn)) => number(asn).and_then(|asn| u32::try_from(asn).ok()).map(Self::Domain),
            _ => None,
        };
        role.ok_or_else(|| {
            format!(
                "\"{}\" is no role: write manager, store, switch-1 or gates-1, with the datapath id of the switch, user-NAME, \
                 operator-NAME or node-NAME, with small letters, digits and hyphens, or domain-65001, with the number of the AS",
                text.escape_default()
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        let user = |name: &str| Role::User(Name::new(name).unwrap());
        let longest = "a".repeat(MOST_NAME);
        for role in [
            Role::Manager,
            Role::Store,
            Role::Switch(1),
            Role::Gates(0xffff_ffff_ffff_ffff),
            user("alice"),
            user("b-2"),
            user(&longest),
            Role::Operator(Name::new(&longest[..MOST_OPERATOR]).unwrap()),
            Role::Node(Name::new("east-1").unwrap()),
            Role::Node(Name::new(&longest).unwrap()),
            Role::Domain(0),
            Role::Domain(u32::MAX),
        ] {
            assert_eq!(role.to_string().parse(), Ok(role));
            assert_eq!(Role::of_subject(&role.subject()), Some(role));
            assert!(role.subject().split('.').all(|label| label.len() <= 63), "{role}");
        }
        for text in [
            "",
            "Manager",
            "switch",
            "switch-",
            "switch-01",
            "switch--1",
            "gates-x",
            "manager-1",
            "../manager",
            "user-",
            "user-Alice",
            "user--a",
            "user-a-",
            "user-a.b",
            "user-a/b",
            &format!("user-a{longest}"),
            &format!("operator-{longest}"),
            "operator",
            "node",
            "node-",
            "node-East",
            "domain",
            "domain-",
            "domain-065001",
            "domain-4294967296",
        ] {
            assert!(text.parse::<Role>().is_err(), "{text}");
        }
        for name in ["manager", "manager.punctual.internal.", "manager.example", ".punctual.internal"] {
            assert_eq!(Role::of_subject(name), None, "{name}");
        }
    }
}
