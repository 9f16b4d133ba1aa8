//! Files of servers and clients, as TOML. `docs/aaa.md` says what they look like.
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use diagnostics::{Problem, Source};
use diameter::value::Identity;
use serde::Deserialize;
use toml::Spanned;

use crate::peers::Known;
use crate::text::{load, nanoseconds, read_toml, seconds};
use crate::{client, server};

/// What to read where a file is wrong.
const MANUAL: &str = "docs/aaa.md says what files of servers and clients look like";
/// Most peers of a file.
const MOST_PEERS: usize = 1_024;

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Document {
    host: Spanned<String>,
    realm: Spanned<String>,
    #[serde(default)]
    listen: Vec<Spanned<String>>,
    #[serde(default)]
    listen_tls: Vec<Spanned<String>>,
    #[serde(default)]
    address: Option<Spanned<String>>,
    #[serde(default)]
    keys: Option<PathBuf>,
    store: PathBuf,
    #[serde(default)]
    users: Option<PathBuf>,
    #[serde(default)]
    lifetime: Option<Spanned<String>>,
    #[serde(default)]
    grace: Option<Spanned<String>>,
    #[serde(default)]
    session_timeout: Option<Spanned<String>>,
    #[serde(default)]
    interim: Option<Spanned<String>>,
    #[serde(default)]
    limit: Option<Spanned<String>>,
    #[serde(default)]
    watchdog: Option<Spanned<String>>,
    #[serde(default)]
    server_realm: Option<Spanned<String>>,
    #[serde(default)]
    most_sessions: Option<Spanned<u32>>,
    #[serde(default)]
    most_records: Option<Spanned<u32>>,
    #[serde(default, rename = "peer")]
    peers: Vec<Spanned<StatedPeer>>,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct StatedPeer {
    host: Spanned<String>,
    #[serde(default)]
    address: Option<Spanned<String>>,
    #[serde(default)]
    tls: bool,
    #[serde(default)]
    speaks_for: Vec<Spanned<String>>,
}

/// A peer, and where it is.
#[derive(Clone, Debug)]
pub struct PeerPlace {
    /// The peer.
    pub known: Known,
    /// Where it listens, if connections are opened from here.
    pub address: Option<SocketAddr>,
    /// Clients that it may speak for besides itself.
    pub speaks_for: Vec<Identity>,
}

/// What a file says.
#[derive(Clone, Debug)]
pub struct Node {
    /// The node.
    pub host: Identity,
    /// Its realm.
    pub realm: Identity,
    /// Where it accepts connections without TLS.
    pub listen: Vec<SocketAddr>,
    /// Where it accepts connections with TLS.
    pub listen_tls: Vec<SocketAddr>,
    /// The addresses that it tells peers.
    pub addresses: Vec<IpAddr>,
    /// The folder of keys.
    pub keys: Option<PathBuf>,
    /// The folder where it keeps what it has to.
    pub store: PathBuf,
    /// The file of users: a server has one.
    pub users: Option<PathBuf>,
    /// Peers.
    pub peers: Vec<PeerPlace>,
    lifetime: u32,
    grace: u32,
    session_timeout: u32,
    interim: u32,
    limit: u64,
    watchdog: u64,
    server_realm: Identity,
    most_sessions: usize,
    most_records: usize,
}

/// Reads the file of a server or a client. Paths in it begin at its folder.
///
/// # Errors
/// What is wrong, with its place in the file, the line and a caret.
pub fn open(path: &Path) -> Result<Node, String> {
    let text = load(path, MANUAL)?;
    let name = path.display().to_string();
    let folder = path.parent().unwrap_or(Path::new(""));
    read(&name, &text, folder).map_err(|problem| Source { file: &name, text: &text }.show(&problem))
}

/// A node from the text of a file.
///
/// # Errors
/// What is wrong, with its place.
pub fn read(name: &str, text: &str, folder: &Path) -> Result<Node, Problem> {
    let source = Source { file: name, text };
    let document: Document = read_toml(source, MANUAL)?;
    let host = identity(source, &document.host)?;
    let realm = identity(source, &document.realm)?;
    let of_time = |said: &Option<Spanned<String>>, otherwise: u32| match said {
        None => Ok(otherwise),
        Some(said) => seconds(said.get_ref()).ok_or_else(|| {
            let what = format!("\"{}\" is no time in whole seconds", said.get_ref().escape_default());
            source.problem(said.span().start, what, "write one such as \"10 s\" or \"2 min\"")
        }),
    };
    let of_short_time = |said: &Option<Spanned<String>>, otherwise: u64| match said {
        None => Ok(otherwise),
        Some(said) => nanoseconds(said.get_ref()).ok_or_else(|| {
            let what = format!("\"{}\" is no time", said.get_ref().escape_default());
            source.problem(said.span().start, what, "write one such as \"500 ms\"")
        }),
    };
    let of_number = |said: &Option<Spanned<u32>>, otherwise: usize| match said {
        None => Ok(otherwise),
        Some(said) if *said.get_ref() > 0 => Ok(*said.get_ref() as usize),
        Some(said) => Err(source.problem(said.span().start, "0 would allow nothing", "write 1 or more")),
    };
    let listen = document.listen.iter().map(|said| address(source, said)).collect::<Result<Vec<_>, _>>()?;
    let listen_tls =
        document.listen_tls.iter().map(|said| address(source, said)).collect::<Result<Vec<_>, _>>()?;
    if document.peers.is_empty() || document.peers.len() > MOST_PEERS {
        let what = format!("a node has 1 to {MOST_PEERS} peers");
        return Err(source.problem(0, what, "add [[peer]] with host = \"…\""));
    }
    let peers: Vec<PeerPlace> =
        document.peers.iter().map(|stated| peer(source, stated)).collect::<Result<_, _>>()?;
    for (number, one) in peers.iter().enumerate() {
        if peers.iter().skip(number + 1).any(|other| other.known.host == one.known.host) {
            return Err(source.problem(0, format!("{} is there twice", one.known.host), "leave one out"));
        }
    }
    let tls = !listen_tls.is_empty() || peers.iter().any(|peer| peer.known.tls);
    if tls && document.keys.is_none() {
        let remedy = "add keys = \"FOLDER\"; `punctual aaa keys FOLDER HOST` makes them";
        return Err(source.problem(0, "TLS is wanted and there are no keys", remedy));
    }
    let own = document.address.as_ref().map(|said| {
        said.get_ref().parse::<IpAddr>().map_err(|_| {
            let what = format!("\"{}\" is no address", said.get_ref().escape_default());
            source.problem(said.span().start, what, "write an address of this host")
        })
    });
    let mut addresses: Vec<IpAddr> = own.transpose()?.into_iter().collect();
    addresses.extend(listen.iter().chain(&listen_tls).map(SocketAddr::ip));
    addresses.dedup();
    if addresses.is_empty() {
        return Err(source.problem(
            0,
            "a node tells its peers an address of its own",
            "add address = \"…\", or listen = [\"…:3868\"]",
        ));
    }
    let server_realm = document.server_realm.as_ref().map(|said| identity(source, said)).transpose()?;
    Ok(Node {
        host,
        server_realm: server_realm.unwrap_or_else(|| realm.clone()),
        realm,
        listen,
        listen_tls,
        addresses,
        keys: document.keys.map(|keys| folder.join(keys)),
        store: folder.join(document.store),
        users: document.users.map(|users| folder.join(users)),
        peers,
        lifetime: of_time(&document.lifetime, 60)?,
        grace: of_time(&document.grace, 10)?,
        session_timeout: of_time(&document.session_timeout, 86_400)?,
        interim: of_time(&document.interim, 10)?,
        limit: of_short_time(&document.limit, 2_000_000_000)?,
        watchdog: of_short_time(&document.watchdog, 30_000_000_000)?,
        most_sessions: of_number(&document.most_sessions, 100_000)?,
        most_records: of_number(&document.most_records, 1_000_000)?,
    })
}

fn identity(source: Source<'_>, said: &Spanned<String>) -> Result<Identity, Problem> {
    Identity::new(said.get_ref()).map_err(|error| {
        let what = format!("\"{}\" is no name of a host or realm", said.get_ref().escape_default());
        source.problem(said.span().start, what, error.to_string())
    })
}

fn address(source: Source<'_>, said: &Spanned<String>) -> Result<SocketAddr, Problem> {
    said.get_ref().parse().map_err(|_| {
        let what = format!("\"{}\" is no address with a port", said.get_ref().escape_default());
        source.problem(
            said.span().start,
            what,
            "write one such as \"192.0.2.1:3868\" or \"[2001:db8::1]:5868\"",
        )
    })
}

fn peer(source: Source<'_>, stated: &Spanned<StatedPeer>) -> Result<PeerPlace, Problem> {
    let stated = stated.get_ref();
    let address = stated.address.as_ref().map(|said| address(source, said)).transpose()?;
    let known = Known { host: identity(source, &stated.host)?, connect: address.is_some(), tls: stated.tls };
    let speaks_for = stated.speaks_for.iter().map(|said| identity(source, said)).collect::<Result<_, _>>()?;
    Ok(PeerPlace { known, address, speaks_for })
}

impl Node {
    /// As a server.
    pub fn server(&self) -> server::Settings {
        server::Settings {
            host: self.host.clone(),
            realm: self.realm.clone(),
            addresses: self.addresses.clone(),
            peers: self.peers.iter().map(|peer| (peer.known.clone(), peer.speaks_for.clone())).collect(),
            lifetime: self.lifetime,
            grace: self.grace,
            session_timeout: self.session_timeout,
            interim: self.interim,
            watchdog: self.watchdog,
            most_sessions: self.most_sessions,
            most_accounts: self.most_records,
        }
    }

    /// As a client.
    pub fn client(&self) -> client::Settings {
        client::Settings {
            host: self.host.clone(),
            realm: self.realm.clone(),
            addresses: self.addresses.clone(),
            servers: self.peers.iter().map(|peer| peer.known.clone()).collect(),
            server_realm: self.server_realm.clone(),
            limit: self.limit,
            watchdog: self.watchdog,
            most_records: self.most_records,
            most_sessions: self.most_sessions,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"host = "aaa.example.net"
realm = "example.net"
listen = ["192.0.2.1:3868"]
store = "store"
users = "users.toml"
lifetime = "30 s"
[[peer]]
host = "rm.example.net"
speaks-for = ["rm2.example.net"]
"#;

    #[test]
    fn a_file_says_what_a_node_is() {
        let node = read("a.toml", GOOD, Path::new("/etc")).unwrap();
        assert_eq!((node.lifetime, node.store.to_str(), node.addresses.len()), (30, Some("/etc/store"), 1));
        assert!(!node.peers[0].known.connect);
    }

    #[test]
    fn what_is_wrong_has_a_place_and_a_remedy() {
        for (from, to, line, words) in [
            ("aaa.example.net", "aaa example", 1, "255 letters"),
            ("192.0.2.1:3868", "192.0.2.1", 3, "such as \"192.0.2.1:3868\""),
            ("\"30 s\"", "\"30\"", 6, "such as \"10 s\""),
            ("\"30 s\"", "\"1 ms\"", 6, "whole seconds"),
            ("listen = ", "listen-tls = ", 1, "punctual aaa keys"),
            ("listen = [\"192.0.2.1:3868\"]\n", "", 1, "add address"),
            (
                "[[peer]]\nhost = \"rm.example.net\"\nspeaks-for = [\"rm2.example.net\"]",
                "",
                1,
                "add [[peer]]",
            ),
            ("speaks-for", "speak-for", 9, "speak-for"),
        ] {
            assert!(GOOD.contains(from), "{from}");
            let text = GOOD.replacen(from, to, 1);
            let problem = read("a.toml", &text, Path::new("")).unwrap_err();
            assert_eq!(problem.place.map(|(line, _)| line), Some(line), "{problem}");
            assert!(problem.to_string().contains(words), "{problem}");
        }
    }
}
