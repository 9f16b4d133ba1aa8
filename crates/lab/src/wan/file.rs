//! The file of a lab of domains.
use std::collections::{BTreeMap, BTreeSet};

use linux_edge::domain::{Ceiling, MOST_BURSTS};
use linux_edge::policing::Policing;
use serde::Deserialize;
use system::Error;
use wan::Class;

/// The most domains, the most hosts and routers of one, and the most links.
const MOST_DOMAINS: usize = 50;
const MOST_HOSTS: usize = 50;
const MOST_ROUTERS: usize = 10;
const MOST_LINKS: usize = 200;
/// Links where hosts are, if the file does not say more.
const EDGE_RATE: u64 = 100_000_000;
/// Nanoseconds that a bit is under way at most.
const LONGEST_DELAY: u64 = 1_000_000_000;
/// Nanoseconds that a router of a lab may take, if the file does not say more.
const PROCESSING: u64 = 1_000_000;

/// What a file says.
#[derive(Clone, Debug)]
pub struct WanFile {
    /// The text that it was read from.
    pub(crate) text: String,
    /// Domains, in the order of the file.
    pub domains: Vec<DomainOfFile>,
    /// Links between them.
    pub links: Vec<LinkOfFile>,
    /// What classes may take of each port.
    pub ceilings: BTreeMap<Class, Ceiling>,
    /// Nanoseconds that a router takes at most.
    pub processing: u64,
    /// Whether links between domains are emulated: frames are under way for their own time and the delay of the link.
    pub emulated: bool,
    /// What its routers are.
    pub devices: Devices,
    /// What they do with AF beyond contracts.
    pub excess: Excess,
}

/// What routers of a lab do with AF beyond contracts.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Debug, Default)]
#[serde(rename_all = "kebab-case")]
pub enum Excess {
    /// They drop it.
    #[default]
    Drop,
    /// They mark it down, and serve it with best effort.
    Demote,
}

/// What the routers of a lab are.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Debug, Default)]
#[serde(rename_all = "kebab-case")]
pub enum Devices {
    /// Plain Linux routers, with tunnels by SRv6.
    #[default]
    Linux,
    /// Switches of Open vSwitch, with tunnels by MPLS; they carry IPv4.
    OpenVswitch,
}

impl Devices {
    /// What they hold traffic to contracts by.
    pub const fn policing(self) -> Policing {
        match self {
            Self::Linux => Policing::Classes,
            Self::OpenVswitch => Policing::Meters,
        }
    }
}

/// A domain.
#[derive(Clone, Debug)]
pub struct DomainOfFile {
    /// Its number.
    pub asn: u32,
    /// Its hosts.
    pub hosts: Vec<String>,
    /// Bits per second of the links to its hosts, and of those between its routers.
    pub rate: u64,
    /// How many routers it has, in a line.
    pub routers: usize,
    /// How many times the bytes at once of ceilings classes may have on these links.
    pub bursts: u32,
}

/// A link between two domains.
#[derive(Clone, Debug)]
pub struct LinkOfFile {
    /// Its number.
    pub number: u32,
    /// The domains.
    pub between: [u32; 2],
    /// Bits per second.
    pub rate: u64,
    /// Nanoseconds that a bit is under way; none unless links are emulated.
    pub delay: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Text {
    domain: Vec<DomainText>,
    #[serde(default)]
    link: Vec<LinkText>,
    ceilings: Option<CeilingsText>,
    processing: Option<String>,
    #[serde(default)]
    emulated: bool,
    #[serde(default)]
    devices: Devices,
    #[serde(default)]
    excess: Excess,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct DomainText {
    asn: u32,
    hosts: Vec<String>,
    rate: Option<String>,
    routers: Option<usize>,
    bursts: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct LinkText {
    number: u32,
    between: [u32; 2],
    rate: String,
    delay: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct CeilingsText {
    control: Option<CeilingText>,
    ef: Option<CeilingText>,
    af4: Option<CeilingText>,
    af1: Option<CeilingText>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct CeilingText {
    share: String,
    burst: u64,
}

/// The shares that the Velox paper gives its queues, and bursts of a few packets.
fn usual() -> BTreeMap<Class, Ceiling> {
    let of = |class, share, burst| (class, Ceiling { share, burst });
    BTreeMap::from([
        of(Class::Control, 50, 1_000),
        of(Class::Ef, 400, 5_000),
        of(Class::Af4, 300, 10_000),
        of(Class::Af1, 200, 10_000),
    ])
}

impl WanFile {
    /// Reads the text of a file.
    ///
    /// # Errors
    /// What is wrong, and where.
    pub fn read(name: &str, whole: &str) -> Result<Self, Error> {
        let wrong =
            |what: String| Error::new(format!("{name}: {what}"), "docs/lab.md says what the file may say");
        let text: Text = toml::from_str(whole).map_err(|error| wrong(error.to_string()))?;
        let rate = |text: &str| network::rate(text).map_err(wrong);
        let domain = |domain: DomainText| {
            let DomainText { asn, hosts, rate: text, routers, bursts } = domain;
            let (routers, bursts) = (routers.unwrap_or(1), bursts.unwrap_or(1));
            Ok(DomainOfFile {
                asn,
                hosts,
                rate: text.as_deref().map_or(Ok(EDGE_RATE), rate)?,
                routers,
                bursts,
            })
        };
        let time = |text: &str| {
            let time = diagnostics::picoseconds(text).map(|time| time.div_ceil(1_000));
            time.ok_or_else(|| wrong(format!("\"{text}\" is no time such as \"1 ms\"")))
        };
        let link = |LinkText { number, between, rate: text, delay }: LinkText| {
            let delay = delay.as_deref().map_or(Ok(0), time)?;
            Ok(LinkOfFile { number, between, rate: rate(&text)?, delay })
        };
        let ceilings = match text.ceilings {
            None => usual(),
            Some(CeilingsText { control, ef, af4, af1 }) => {
                let of = [(Class::Control, control), (Class::Ef, ef), (Class::Af4, af4), (Class::Af1, af1)];
                let given = of.into_iter().filter_map(|(class, text)| Some((class, text?)));
                let ceiling = |(class, CeilingText { share, burst }): (Class, CeilingText)| {
                    let thousandths =
                        diagnostics::number(&share, &[("%", 10)]).and_then(|of| u32::try_from(of).ok());
                    let share = thousandths
                        .ok_or_else(|| wrong(format!("\"{share}\" is no share such as \"40 %\"")))?;
                    Ok((class, Ceiling { share, burst }))
                };
                given.map(ceiling).collect::<Result<_, Error>>()?
            }
        };
        let processing = text.processing.as_deref().map_or(Ok(PROCESSING), time)?;
        let file = Self {
            text: whole.to_owned(),
            domains: text.domain.into_iter().map(domain).collect::<Result<_, Error>>()?,
            links: text.link.into_iter().map(link).collect::<Result<_, Error>>()?,
            ceilings,
            processing,
            emulated: text.emulated,
            devices: text.devices,
            excess: text.excess,
        };
        file.check().map_err(wrong)?;
        Ok(file)
    }

    fn check(&self) -> Result<(), String> {
        let (domains, links) = (self.domains.len(), self.links.len());
        if !(1..=MOST_DOMAINS).contains(&domains) || links > MOST_LINKS {
            return Err(format!(
                "{domains} domains and {links} links; {MOST_DOMAINS} and {MOST_LINKS} are possible"
            ));
        }
        if self.devices == Devices::OpenVswitch && self.excess == Excess::Demote {
            return Err("meters of Open vSwitch drop, and mark nothing down: leave `excess` out".to_owned());
        }
        let (mut numbers, mut hosts) = (BTreeSet::new(), BTreeSet::new());
        for domain in &self.domains {
            if !numbers.insert(domain.asn) {
                return Err(format!("AS {} is there twice", domain.asn));
            }
            if domain.hosts.len() > MOST_HOSTS {
                return Err(format!("AS {}: more than {MOST_HOSTS} hosts", domain.asn));
            }
            if !(1..=MOST_ROUTERS).contains(&domain.routers) {
                return Err(format!(
                    "AS {}: {} routers; from 1 to {MOST_ROUTERS} are possible",
                    domain.asn, domain.routers
                ));
            }
            if !(1..=MOST_BURSTS).contains(&domain.bursts) {
                return Err(format!(
                    "AS {}: `bursts` is {}; from 1 to {MOST_BURSTS} is possible",
                    domain.asn, domain.bursts
                ));
            }
            for host in &domain.hosts {
                crate::layout::check_node(host).map_err(|error| error.to_string())?;
                if !hosts.insert(host) || host.starts_with("router-") {
                    let name = host.escape_default();
                    return Err(format!("host \"{name}\" is there twice, or called as a router"));
                }
            }
        }
        let mut links = BTreeSet::new();
        for link in &self.links {
            let [one, other] = link.between;
            if link.number == 0 || link.number > 9_999 || !links.insert(link.number) {
                return Err(format!("link {}: there twice, or no number from 1 to 9,999", link.number));
            }
            if link.delay > LONGEST_DELAY || (link.delay > 0 && !self.emulated) {
                return Err(format!(
                    "link {}: a delay needs `emulated = true`, and is a second at most",
                    link.number
                ));
            }
            if one == other || !numbers.contains(&one) || !numbers.contains(&other) {
                return Err(format!(
                    "link {}: between AS {one} and AS {other}, which are no two of the file",
                    link.number
                ));
            }
        }
        Ok(())
    }
}
