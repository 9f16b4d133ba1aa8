//! What an operator says: on the command line, and in a file.
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Parser};
use dds::config::{Config, Interfaces, Peer};
use serde::Deserialize;
use zenoh_routes::bridge::Limits;
use zenoh_routes::{Options, key};

use crate::Failure;

/// After how many seconds without a sign of life a connection counts as lost, if nothing is said.
const DETECT: u64 = 10;

/// Joins a DDS domain to Zenoh: its topics are written and read at other sites, too, without multicast between them.
#[derive(Parser, Clone, Debug)]
#[command(
    name = "punctual-bridge",
    version,
    after_help = "Examples:\n  \
    punctual-bridge --listen tcp/0.0.0.0:7447                     other sites connect to this one\n  \
    punctual-bridge --connect tcp/plant.example:7447              and this is one of them\n  \
    punctual-bridge --connect tls/plant.example:7447 --ca ca.pem --allow 'arm/*'\n  \
    punctual-bridge --file bridge.toml --status 10                options from a file, and a line every ten seconds\n\n\
    Exit code: 0 ended by Ctrl-C; 2 wrong command line or file; 3 it could not be done. docs/zenoh.md says what crosses, and what does not."
)]
pub struct Arguments {
    /// A TOML file with the same options, under the same names; those of the command line come before it.
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    #[command(flatten)]
    given: Given,
}

/// Options, of the command line or of a file.
#[derive(Args, Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
struct Given {
    /// Domain id, 0 to 232; 0 if nothing is said.
    #[arg(short, long, value_name = "ID", value_parser = clap::value_parser!(u32).range(0..=232))]
    domain: Option<u32>,
    /// Interface for DDS, by name; may be repeated. Default: all that are up.
    #[arg(short, long = "interface", value_name = "NAME")]
    interface: Vec<String>,
    /// DDS on this host alone.
    #[arg(long)]
    loopback: bool,
    /// Host with participants to look for without multicast, as 192.0.2.7 or 192.0.2.7:7410; may be repeated.
    #[arg(short, long = "peer", value_name = "HOST[:PORT]")]
    peer: Vec<String>,
    /// DDS neither sends to multicast groups nor joins them: only --peer finds others.
    #[arg(long)]
    no_multicast: bool,
    /// Zenoh router or bridge to connect to, as tcp/plant.example:7447 or tls/plant.example:7447; may be repeated.
    #[arg(long, value_name = "ENDPOINT")]
    connect: Vec<String>,
    /// Where others connect, as tcp/0.0.0.0:7447 or tls/0.0.0.0:7447; may be repeated. The bridge is a Zenoh router then.
    #[arg(long, value_name = "ENDPOINT")]
    listen: Vec<String>,
    /// Certificates of authorities that are trusted, in PEM, for tls endpoints.
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// The certificate of this bridge, in PEM.
    #[arg(long, value_name = "FILE", requires = "key")]
    certificate: Option<PathBuf>,
    /// Its key, in PEM.
    #[arg(long, value_name = "FILE", requires = "certificate")]
    key: Option<PathBuf>,
    /// Topics that are bridged, by name or pattern: *, ? and [a-z] as in shells; may be repeated. Default: all.
    #[arg(long, value_name = "TOPIC")]
    allow: Vec<String>,
    /// Topics that are not bridged, whatever --allow says; may be repeated.
    #[arg(long, value_name = "TOPIC")]
    deny: Vec<String>,
    /// What all keys of this bridge begin with: bridges of another scope have nothing to do with it.
    #[arg(long, value_name = "KEY")]
    scope: Option<String>,
    /// Bridges of one group at one site take turns: the oldest works, the others stand by.
    #[arg(long, value_name = "NAME")]
    group: Option<String>,
    /// Most topics that are bridged, each with each of its partitions; 4096 if nothing is said.
    #[arg(long, value_name = "COUNT")]
    topics: Option<usize>,
    /// Seconds that writers of another site stay after it is cut off; 30 if nothing is said.
    #[arg(long, value_name = "SECONDS")]
    lease: Option<u64>,
    /// Seconds without a sign of life after which a connection to another site counts as lost; 10 if nothing is said.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=3600))]
    detect: Option<u64>,
    /// Prints a line about what is bridged this often.
    #[arg(long, value_name = "SECONDS")]
    status: Option<u64>,
}

/// What follows from what an operator says.
#[derive(Clone, Debug)]
pub struct Choices {
    /// The domain.
    pub domain: u32,
    /// The participant.
    pub config: Config,
    /// Bridges of one group at one site take turns.
    pub group: String,
    /// What is bridged.
    pub options: Options,
    /// Zenoh endpoints to connect to.
    pub connect: Vec<String>,
    /// Zenoh endpoints where others connect.
    pub listen: Vec<String>,
    /// Authorities, certificate and key.
    pub tls: Tls,
    /// After how many seconds without a sign of life a connection counts as lost.
    pub detect: u64,
    /// How often a line tells what is bridged.
    pub status: Option<Duration>,
}

/// Files for TLS.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Tls {
    /// Authorities that are trusted.
    pub ca: Option<PathBuf>,
    /// Certificate and key of this bridge.
    pub own: Option<(PathBuf, PathBuf)>,
}

impl Choices {
    /// Zenoh endpoints on which whatever is sent can be read and changed on the way.
    pub fn in_clear(&self) -> Vec<&str> {
        let all = self.connect.iter().chain(&self.listen);
        all.map(String::as_str).filter(|endpoint| !endpoint.starts_with("tls/")).collect()
    }

    /// The same in words, for every line that tells what is bridged.
    pub fn confidentiality(&self) -> String {
        match self.in_clear().as_slice() {
            [] => "confidential by TLS".to_owned(),
            clear => format!("in clear on {}", clear.join(", ")),
        }
    }
}

impl Arguments {
    /// What follows from them.
    ///
    /// # Errors
    /// The file cannot be read, or something makes no sense.
    pub fn choices(self) -> Result<Choices, Failure> {
        let file = self.file.as_deref().map_or_else(|| Ok(Given::default()), read)?;
        self.given.over(file).choices()
    }
}

fn read(path: &Path) -> Result<Given, Failure> {
    let wrong = |why: &dyn std::fmt::Display| Failure::Usage(format!("{}: {why}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| wrong(&error))?;
    toml::from_str(&text).map_err(|error| wrong(&error))
}

impl Given {
    /// These options, and of the others what these do not say.
    fn over(self, other: Self) -> Self {
        fn either<T>(first: Vec<T>, second: Vec<T>) -> Vec<T> {
            if first.is_empty() { second } else { first }
        }
        Self {
            domain: self.domain.or(other.domain),
            interface: either(self.interface, other.interface),
            loopback: self.loopback || other.loopback,
            peer: either(self.peer, other.peer),
            no_multicast: self.no_multicast || other.no_multicast,
            connect: either(self.connect, other.connect),
            listen: either(self.listen, other.listen),
            ca: self.ca.or(other.ca),
            certificate: self.certificate.or(other.certificate),
            key: self.key.or(other.key),
            allow: either(self.allow, other.allow),
            deny: either(self.deny, other.deny),
            scope: self.scope.or(other.scope),
            group: self.group.or(other.group),
            topics: self.topics.or(other.topics),
            lease: self.lease.or(other.lease),
            detect: self.detect.or(other.detect),
            status: self.status.or(other.status),
        }
    }

    fn choices(self) -> Result<Choices, Failure> {
        let usage = |text: String| Err(Failure::Usage(text));
        if self.connect.is_empty() && self.listen.is_empty() {
            return usage(
                "no way to other sites: give --connect tcp/HOST:PORT or --listen tcp/ADDRESS:PORT".into(),
            );
        }
        for (option, endpoints) in [("--connect", &self.connect), ("--listen", &self.listen)] {
            for endpoint in endpoints {
                check_endpoint(option, endpoint)?;
            }
        }
        let listens_by_tls = self.listen.iter().any(|endpoint| endpoint.starts_with("tls/"));
        let own = self.certificate.zip(self.key);
        if listens_by_tls && own.is_none() {
            return usage("--listen tls/…: give --certificate and --key of this bridge, too".into());
        }
        let domain = self.domain.unwrap_or(0);
        if domain > 232 {
            return usage(format!("domain {domain}: ids are 0 to 232"));
        }
        let scope = self.scope.unwrap_or_default();
        if !scope.is_empty() {
            key::of_topic(&scope, "", "x").map_err(|why| Failure::Usage(format!("--scope: {why}")))?;
        }
        let group = self.group.unwrap_or_default();
        if group.len() > 64 || group.contains('/') {
            return usage(format!("--group {group:?}: at most 64 bytes without a slash"));
        }
        let detect = self.detect.unwrap_or(DETECT);
        if !(1..=3_600).contains(&detect) {
            return usage(format!("detect {detect}: give 1 to 3600 seconds"));
        }
        let mut limits = Limits::default();
        limits.topics = self.topics.unwrap_or(limits.topics);
        limits.writers = limits.topics.saturating_mul(4);
        limits.lease = self.lease.map_or(limits.lease, |seconds| seconds.saturating_mul(1_000));
        let mut config = Config::default();
        config.network.multicast = !self.no_multicast;
        config.network.interfaces = match (self.loopback, self.interface) {
            (true, _) => Interfaces::Loopback,
            (false, names) if names.is_empty() => Interfaces::All,
            (false, names) => Interfaces::Named(names),
        };
        for peer in &self.peer {
            let parsed: Result<Peer, _> = peer.parse();
            config.discovery.static_peers.push(parsed.map_err(|_| {
                Failure::Usage(format!("--peer {peer}: give an address, as 192.0.2.7 or 192.0.2.7:7410"))
            })?);
        }
        config.discovery.entity_name = Some("punctual bridge".to_owned());
        Ok(Choices {
            domain,
            config,
            group,
            options: Options { scope, allow: self.allow, deny: self.deny, limits },
            connect: self.connect,
            listen: self.listen,
            tls: Tls { ca: self.ca, own },
            detect,
            status: self.status.filter(|seconds| *seconds > 0).map(Duration::from_secs),
        })
    }
}

fn check_endpoint(option: &str, endpoint: &str) -> Result<(), Failure> {
    let parts = endpoint.split_once('/').filter(|(kind, _)| matches!(*kind, "tcp" | "tls"));
    let port = parts.and_then(|(_, address)| address.rsplit_once(':'));
    match port.map(|(host, port)| (host.is_empty(), port.parse::<u16>())) {
        Some((false, Ok(_))) => Ok(()),
        _ => Err(Failure::Usage(format!(
            "{option} {endpoint}: give tcp/HOST:PORT, or tls/HOST:PORT, as tcp/plant.example:7447"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_line(line: &str) -> Result<Choices, Failure> {
        Arguments::try_parse_from(line.split_whitespace()).unwrap().choices()
    }

    #[test]
    fn what_makes_no_sense_is_said() {
        let told = |line: &str| read_line(line).unwrap_err().to_string();
        assert!(told("b").starts_with("no way to other sites"));
        assert!(told("b --connect udp/x:1").starts_with("--connect udp/x:1: give tcp/HOST:PORT"));
        assert!(told("b --listen tcp/x").starts_with("--listen tcp/x:"));
        assert!(told("b --listen tls/x:1").contains("--certificate and --key"));
        assert!(told("b --listen tcp/x:1 --scope a*").starts_with("--scope: the scope \"a*\""));
        assert!(told("b --listen tcp/x:1 --peer nowhere").starts_with("--peer nowhere"));
        assert!(told("b --file /nowhere.toml").starts_with("/nowhere.toml"));
    }

    #[test]
    fn a_link_without_tls_is_called_in_clear() {
        let clear = read_line("b --connect tcp/a:1 --listen tls/b:2 --certificate c --key k").unwrap();
        assert_eq!(clear.confidentiality(), "in clear on tcp/a:1");
        assert_eq!(read_line("b --connect tls/a:1").unwrap().confidentiality(), "confidential by TLS");
    }

    #[test]
    fn the_command_line_comes_before_the_file() {
        let folder = std::env::temp_dir().join(format!("punctual-zenoh-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("bridge.toml");
        std::fs::write(&path, "domain = 7\nconnect = [\"tcp/a:1\"]\nallow = [\"arm/*\"]\nlease = 5\n")
            .unwrap();
        let choices = read_line(&format!("b --file {} --connect tcp/b:2", path.display())).unwrap();
        std::fs::write(&path, "domian = 7\n").unwrap();
        let wrong = read_line(&format!("b --file {}", path.display())).unwrap_err().to_string();
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!((choices.domain, choices.connect), (7, vec!["tcp/b:2".to_owned()]));
        assert_eq!((choices.options.allow, choices.options.limits.lease), (vec!["arm/*".to_owned()], 5_000));
        assert!(wrong.contains("unknown field `domian`") && wrong.contains("line 1"), "{wrong}");
    }

    #[test]
    fn examples_are_understood() {
        let command = <Arguments as clap::CommandFactory>::command();
        let help = command.get_after_help().unwrap().to_string();
        let examples: Vec<&str> = help.lines().filter_map(|line| line.strip_prefix("  ")).collect();
        assert_eq!(examples.len(), 4);
        for example in examples {
            let typed = example.split("   ").next().unwrap_or_default().replace('\'', "");
            let read = Arguments::try_parse_from(typed.split_whitespace());
            assert!(read.is_ok(), "{typed}: {read:?}");
        }
    }
}
