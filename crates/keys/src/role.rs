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
}

/// What names of roles end with in certificates: a domain that has no owner in DNS.
const DOMAIN: &str = "punctual.internal";

impl Role {
    /// The name in certificates, a DNS name.
    pub(crate) fn subject(self) -> String {
        format!("{self}.{DOMAIN}")
    }

    /// Whether it accepts connections, and whether it makes them.
    pub(crate) const fn ends(self) -> (bool, bool) {
        match self {
            Self::Manager | Self::Store => (true, true),
            Self::Switch(_) => (false, true),
            Self::Gates(_) => (true, false),
        }
    }
}

/// As its files are called: `manager`, `store`, `switch-1`, `gates-1`.
impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Manager => f.write_str("manager"),
            Self::Store => f.write_str("store"),
            Self::Switch(datapath) => write!(f, "switch-{datapath}"),
            Self::Gates(datapath) => write!(f, "gates-{datapath}"),
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
            _ => None,
        };
        role.ok_or_else(|| {
            format!(
                "\"{}\" is no role: write manager, store, switch-1 or gates-1, with the datapath id of the switch",
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
        for role in [Role::Manager, Role::Store, Role::Switch(1), Role::Gates(0xffff_ffff_ffff_ffff)] {
            assert_eq!(role.to_string().parse(), Ok(role));
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
        ] {
            assert!(text.parse::<Role>().is_err(), "{text}");
        }
    }
}
