//! The file of an operator: where is listened, which clients there are, which profiles, and where notifications may go. `docs/quality-on-demand.md`
//! says what it looks like.
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use diagnostics::{Problem, Source, picoseconds};
use serde::Deserialize;
use toml::Spanned;
use wan::Prefix;
use wan_server::protocol::Flow;

use crate::body::{Device, is_profile_name};

/// Most bytes of a file.
const LARGEST: usize = 1 << 20;
/// Most entries of each kind: what one answer lists.
const MOST: usize = 100;

/// What a file says.
#[derive(Clone, Debug)]
pub struct ServiceFile {
    /// The domain whose manager is asked.
    pub asn: u32,
    /// Where clients connect.
    pub listen: SocketAddr,
    /// How clients call this server, without a slash at the end; else by its address.
    pub url: Option<String>,
    /// Certificate and key for TLS, in PEM.
    pub tls: Option<(PathBuf, PathBuf)>,
    /// Who may ask.
    pub clients: Vec<Client>,
    /// What may be asked for.
    pub profiles: Vec<Profile>,
    /// Where notifications may go; without it no sink is taken.
    pub sinks: Option<Sinks>,
    /// Milliseconds that a client waits for its session, before it is told that this one is under way.
    pub wait: u64,
}

/// Who may ask.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Client {
    /// What it is called here.
    pub name: String,
    /// SHA-256 of its token; without one it is each program of this host.
    pub token: Option<[u8; 32]>,
    /// Its user, as the file of the domain calls it.
    pub user: String,
    /// Sessions at a time.
    pub most_sessions: usize,
    /// The only device that it speaks for; it names none then.
    pub device: Option<IpAddr>,
}

/// Whether a profile may be asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProfileStatus {
    /// It may.
    Active,
    /// Not now.
    Inactive,
    /// Not any more.
    Deprecated,
}

/// What may be asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Profile {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// Whether it may be asked for.
    pub status: ProfileStatus,
    /// The session service, as the file of the domain calls it.
    pub service: String,
    /// Seconds that a session lasts at least.
    pub least_duration: u32,
    /// Seconds that a session lasts at most, with all extensions.
    pub most_duration: u32,
    /// From the device to the servers.
    pub upstream: Option<Flow>,
    /// From the servers to the device.
    pub downstream: Option<Flow>,
}

/// Where notifications may go.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sinks {
    /// A file with the certificates of authorities whose servers are trusted, in PEM.
    pub authorities: PathBuf,
    /// Addresses that are not of the Internet at large, and may be sent to.
    pub allow: Vec<Prefix>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Document {
    asn: u32,
    listen: Spanned<SocketAddr>,
    #[serde(default)]
    url: Option<Spanned<String>>,
    #[serde(default)]
    certificate: Option<Spanned<PathBuf>>,
    #[serde(default)]
    key: Option<PathBuf>,
    #[serde(default, rename = "client")]
    clients: Vec<Spanned<ClientTable>>,
    #[serde(default, rename = "profile")]
    profiles: Vec<Spanned<ProfileTable>>,
    #[serde(default)]
    notifications: Option<NotificationsTable>,
    #[serde(default)]
    wait: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct ClientTable {
    name: String,
    #[serde(default)]
    token_sha256: Option<Spanned<String>>,
    user: String,
    most_sessions: usize,
    #[serde(default)]
    device: Option<IpAddr>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct ProfileTable {
    name: Spanned<String>,
    #[serde(default)]
    description: Option<Spanned<String>>,
    #[serde(default)]
    status: Option<ProfileStatus>,
    service: String,
    #[serde(default)]
    least_duration: Option<Spanned<String>>,
    most_duration: Spanned<String>,
    #[serde(default)]
    upstream: Option<Spanned<String>>,
    #[serde(default)]
    downstream: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct NotificationsTable {
    authorities: PathBuf,
    #[serde(default)]
    allow: Vec<Spanned<String>>,
}

/// What is wrong, with its place.
type Checked<T> = Result<T, Problem>;

impl ServiceFile {
    /// What a text says.
    ///
    /// # Errors
    /// What is wrong, with its place.
    pub fn read(name: &str, text: &str) -> Checked<Self> {
        let source = Source { file: name, text };
        if text.len() > LARGEST {
            return Err(source.problem(0, format!("the file is longer than {LARGEST} bytes"), ""));
        }
        let document: Document = toml::from_str(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            let what = error.message().trim().replace('\n', "; ");
            source.problem(at, what, "docs/quality-on-demand.md says what these files look like")
        })?;
        checked(source, document)
    }

    /// The profile of a name.
    pub fn profile(&self, name: &str) -> Option<&Profile> {
        self.profiles.iter().find(|profile| profile.name == name)
    }

    /// The client of a name.
    pub fn client(&self, name: &str) -> Option<&Client> {
        self.clients.iter().find(|client| client.name == name)
    }

    /// The client that shows a token, or none.
    pub fn client_of(&self, token: Option<&str>) -> Option<&Client> {
        // Sums are compared: how long that takes says nothing about a token.
        let sum = token.map(|token| page_server::sha256(token.as_bytes()));
        self.clients.iter().find(|client| client.token == sum)
    }

    /// Every client shows a token.
    pub fn is_closed(&self) -> bool {
        self.clients.iter().all(|client| client.token.is_some())
    }
}

impl Client {
    /// The address of the device, and how it was named: by the client, or by who the client is.
    ///
    /// # Errors
    /// It was named in both ways or in none, or not by an address.
    pub(crate) fn device_of(
        &self,
        device: Option<&Device>,
    ) -> Result<(IpAddr, Option<Device>), crate::Problem> {
        match (self.device, device) {
            (Some(address), None) => Ok((address, None)),
            (None, Some(device)) => device.address().map(|(address, shown)| (address, Some(shown))),
            (Some(_), Some(_)) => {
                let what = "device: the token says which device it is; leave it out";
                Err(crate::Problem::new(422, "UNNECESSARY_IDENTIFIER", what))
            }
            (None, None) => Err(crate::Problem::new(422, "MISSING_IDENTIFIER", "device: it is missing")),
        }
    }
}

fn wrong<T>(source: Source<'_>, said: &Spanned<T>, what: impl Into<String>, remedy: &str) -> Problem {
    source.problem(said.span().start, what, remedy)
}

/// Whole seconds, rounded down.
fn seconds(source: Source<'_>, said: &Spanned<String>) -> Checked<u32> {
    let seconds = picoseconds(said.get_ref()).and_then(|time| u32::try_from(time / 1_000_000_000_000).ok());
    seconds.filter(|seconds| (1..=2_147_483_647).contains(seconds)).ok_or_else(|| {
        let what = format!("\"{}\" is no such time", said.get_ref());
        wrong(source, said, what, "write one of a second or more, such as \"10 min\"")
    })
}

fn flow(source: Source<'_>, said: &Spanned<String>, direction: &str) -> Checked<Flow> {
    let read = wan_server::parse_flow(said.get_ref());
    let flow =
        read.map_err(|what| wrong(source, said, what, "write it as for `punctual rm establish --flow`"))?;
    if flow.kind != "data" || flow.direction != "forward" {
        let what = "kind and direction are said by the key";
        return Err(wrong(source, said, what, "leave them out"));
    }
    Ok(Flow { direction: direction.to_owned(), ..flow })
}

/// No two have the same name.
fn distinct<'n>(source: Source<'_>, names: impl Iterator<Item = (usize, &'n str)>) -> Checked<()> {
    let mut known = std::collections::BTreeSet::new();
    for (at, name) in names {
        if !known.insert(name) {
            return Err(source.problem(at, format!("\"{name}\" is there twice"), "give each another name"));
        }
    }
    match known.len() {
        1..=MOST => Ok(()),
        count => {
            let what = format!("there are {count} clients or profiles of them");
            Err(source.problem(0, what, format!("1 to {MOST} of each are needed")))
        }
    }
}

fn client(source: Source<'_>, table: &Spanned<ClientTable>, is_loopback: bool) -> Checked<Client> {
    let ClientTable { name, token_sha256, user, most_sessions, device } = table.get_ref();
    if name.is_empty() || !(1..=100).contains(most_sessions) {
        let what = "a client has a name, and 1 to 100 sessions at a time";
        return Err(wrong(source, table, what, "set name and most-sessions so"));
    }
    let token = token_sha256.as_ref().map(|said| {
        let text = said.get_ref();
        let digits = text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let mut sum = [0; 32];
        for (byte, at) in sum.iter_mut().zip((0..64).step_by(2)) {
            let pair = text.get(at..at + 2).filter(|_| digits);
            *byte = pair.and_then(|pair| u8::from_str_radix(pair, 16).ok()).ok_or_else(|| {
                wrong(
                    source,
                    said,
                    "it is no SHA-256",
                    "write its 64 hexadecimal digits, as `punctual aaa secret` prints them",
                )
            })?;
        }
        Ok(sum)
    });
    let token = token.transpose()?;
    if token.is_none() && !is_loopback {
        let what = format!("{name} needs no token, and others than this host can reach the server");
        return Err(wrong(source, table, what, "give it token-sha256, or listen at 127.0.0.1"));
    }
    Ok(Client {
        name: name.clone(),
        token,
        user: user.clone(),
        most_sessions: *most_sessions,
        device: *device,
    })
}

fn profile(source: Source<'_>, table: &Spanned<ProfileTable>) -> Checked<Profile> {
    let of = table.get_ref();
    if !is_profile_name(of.name.get_ref()) {
        let what = format!("\"{}\" is no name of a profile", of.name.get_ref());
        return Err(wrong(
            source,
            &of.name,
            what,
            "write 3 to 256 letters, digits, dots, hyphens and underscores",
        ));
    }
    let is_plain = |text: &String| text.chars().count() <= 1_024 && !text.chars().any(char::is_control);
    if let Some(said) = of.description.as_ref().filter(|said| !is_plain(said.get_ref())) {
        return Err(wrong(
            source,
            said,
            "it has control characters, or more than 1024",
            "describe it in a line",
        ));
    }
    let least_duration = of.least_duration.as_ref().map_or(Ok(1), |said| seconds(source, said))?;
    let most_duration = seconds(source, &of.most_duration)?;
    if least_duration > most_duration {
        return Err(wrong(source, &of.most_duration, "it is shorter than least-duration", "make it longer"));
    }
    let direction = |said: &Option<Spanned<String>>, direction| {
        said.as_ref().map(|said| flow(source, said, direction)).transpose()
    };
    let upstream = direction(&of.upstream, "forward")?;
    let downstream = direction(&of.downstream, "reverse")?;
    if upstream.is_none() && downstream.is_none() {
        return Err(wrong(source, table, "a profile without traffic", "give upstream or downstream"));
    }
    Ok(Profile {
        name: of.name.get_ref().clone(),
        description: of.description.as_ref().map(|said| said.get_ref().clone()),
        status: of.status.unwrap_or(ProfileStatus::Active),
        service: of.service.clone(),
        least_duration,
        most_duration,
        upstream,
        downstream,
    })
}

fn checked(source: Source<'_>, document: Document) -> Checked<ServiceFile> {
    let listen = *document.listen.get_ref();
    let is_loopback = listen.ip().is_loopback();
    let tls = match (document.certificate, document.key) {
        (Some(certificate), Some(key)) => Some((certificate.into_inner(), key)),
        (None, None) if is_loopback => None,
        (None, None) => {
            let what = format!("others than this host can reach {listen}, and there is no TLS");
            let remedy = "give certificate and key, or an address of loopback such as 127.0.0.1:9091";
            return Err(wrong(source, &document.listen, what, remedy));
        }
        (Some(said), None) => return Err(wrong(source, &said, "there is no key for it", "give key as well")),
        (None, Some(_)) => {
            return Err(wrong(source, &document.listen, "there is a key without certificate", "give both"));
        }
    };
    let names = document.clients.iter().map(|table| (table.span().start, table.get_ref().name.as_str()));
    distinct(source, names)?;
    let names = document.profiles.iter().map(|table| &table.get_ref().name);
    distinct(source, names.map(|name| (name.span().start, name.get_ref().as_str())))?;
    let url = document.url.map(|said| {
        let url = said.get_ref().trim_end_matches('/');
        let is_url =
            url.parse::<axum::http::Uri>().is_ok_and(|uri| uri.scheme().is_some() && uri.query().is_none());
        let what = format!("\"{url}\" is no address of HTTP");
        let problem = wrong(source, &said, what, "write it as https://api.example.net");
        if is_url && url.len() <= 1_000 { Ok(url.to_owned()) } else { Err(problem) }
    });
    let sinks = document.notifications.map(|table| {
        let allow = table.allow.iter().map(|said| {
            let problem =
                || wrong(source, said, "it is no range of addresses", "write one such as \"10.1.0.0/16\"");
            wan_server::prefix(said.get_ref()).ok_or_else(problem)
        });
        Ok(Sinks { authorities: table.authorities, allow: allow.collect::<Checked<_>>()? })
    });
    let clients = document.clients.iter().map(|table| client(source, table, is_loopback));
    let clients: Vec<Client> = clients.collect::<Checked<_>>()?;
    for (index, (of, table)) in clients.iter().zip(&document.clients).enumerate() {
        if clients.iter().take(index).any(|other| other.token == of.token) {
            let what = format!("{} cannot be told from a client before it", of.name);
            return Err(wrong(source, table, what, "give each a token of its own; one may be without"));
        }
    }
    let wait = document.wait.as_ref().map_or(Ok(5), |said| seconds(source, said))?;
    Ok(ServiceFile {
        asn: document.asn,
        listen,
        url: url.transpose()?,
        tls,
        clients,
        profiles: document.profiles.iter().map(|table| profile(source, table)).collect::<Checked<_>>()?,
        sinks: sinks.transpose()?,
        wait: u64::from(wait.min(60)) * 1_000,
    })
}
