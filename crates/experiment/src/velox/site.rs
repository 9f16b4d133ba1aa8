//! Domains in a lab, with a manager each: built, asked for sessions, and removed.
use std::fmt::Write as _;
use std::net::{IpAddr, Shutdown, SocketAddr};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};
use std::{fs, io, thread};

use keys::{Authority, Role};
use lab::wan::{WanFile, WanLab};
use wan_server::Client;
use wan_server::protocol::{Admitted, Answer, Ask, Flow, Refused, SessionAsked, Status};

use super::domain_file::{Line, SERVICE, USER};
use crate::program::{Folder, INTERRUPTED, Program, Stopped, own};

/// Beginning of the names of the labs; the number of the process follows.
pub(crate) const LAB: &str = "velox-";
/// The number of the first domain.
const FIRST: u32 = 65_001;
/// Where managers listen: each has an address of the loopback interface.
const PORT: u16 = 7_411;
/// How long it may take until all managers are connected, or one answers.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long one may take to answer: it asks others, and routers are programmed.
const ANSWER: Duration = Duration::from_secs(120);
const LOOK: Duration = Duration::from_millis(20);
/// The links of hosts are so much faster that packets come together on them which have waited for a link between domains.
const BURSTS: u32 = 8;
/// Nanoseconds that sessions last.
const LASTS: u64 = 3_600_000_000_000;

/// What a line of domains is to be.
#[derive(Clone, Debug)]
pub(crate) struct Sites {
    /// The hosts of each domain.
    pub(crate) hosts: Vec<Vec<String>>,
    /// Bits per second of the links between domains.
    pub(crate) rate: u64,
    /// Milliseconds that a bit is under way on them.
    pub(crate) delay: u64,
    /// Bits per second of the links of hosts.
    pub(crate) edges: u64,
    /// What classes may take of each port: name, percent, bytes at once.
    pub(crate) ceilings: Vec<(&'static str, u32, u64)>,
}

impl Sites {
    /// Domains in a line; the first and the last have hosts `a` and `c`, and each one has `flood1` and so on.
    pub(crate) fn line(domains: usize, rate: u64) -> Self {
        let hosts = (1..=domains).map(|at| {
            let end = match at {
                1 => Some("a".to_owned()),
                _ if at == domains => Some("c".to_owned()),
                _ => None,
            };
            end.into_iter().chain([format!("flood{at}")]).collect()
        });
        Self {
            hosts: hosts.collect(),
            rate,
            delay: 0,
            edges: 100_000_000,
            ceilings: vec![("control", 5, 300), ("ef", 75, 900), ("af4", 10, 900)],
        }
    }

    /// The file of the lab.
    pub(crate) fn text(&self) -> String {
        let mut text = "emulated = true\nprocessing = \"500 us\"\n[ceilings]\n".to_owned();
        // Writing to a text cannot fail.
        for (class, percent, burst) in &self.ceilings {
            let _ = writeln!(text, "{class} = {{ share = \"{percent} %\", burst = {burst} }}");
        }
        for (asn, hosts) in (FIRST..).zip(&self.hosts) {
            let hosts: Vec<String> = hosts.iter().map(|host| format!("\"{host}\"")).collect();
            let (hosts, rate) = (hosts.join(", "), self.edges);
            let _ = writeln!(
                text,
                "[[domain]]\nasn = {asn}\nhosts = [{hosts}]\nrate = \"{rate} bit/s\"\nbursts = {BURSTS}"
            );
        }
        for (number, asn) in (1..self.hosts.len()).zip(FIRST..) {
            let _ = writeln!(
                text,
                "[[link]]\nnumber = {number}\nbetween = [{asn}, {}]\nrate = \"{} bit/s\"\ndelay = \"{} ms\"",
                asn + 1,
                self.rate,
                self.delay
            );
        }
        text
    }
}

/// A session that is asked for.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    pub(crate) from: String,
    pub(crate) to: Vec<String>,
    pub(crate) flows: Vec<Flow>,
}

/// Domains that work.
pub(crate) struct Site {
    /// Before the lab: they end before the routers that they program are gone.
    managers: Vec<Program>,
    lab: WanLab,
    folder: PathBuf,
    stopped: Arc<AtomicBool>,
    /// How long it took until the lab was there, and until all managers were connected.
    pub(crate) up: [Duration; 2],
}

/// A site that is built is another one than those of this process before it.
static NUMBER: AtomicU8 = AtomicU8::new(0);

impl Site {
    /// Builds the lab and starts the managers.
    ///
    /// # Errors
    /// In words; nothing is left of it then.
    pub(crate) fn up(sites: &Sites, folder: &Folder, stopped: Stopped<'_>) -> Result<Self, String> {
        let begun = Instant::now();
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("{LAB}{}", std::process::id());
        let file = WanFile::read("the experiment's lab", &sites.text()).map_err(|error| error.to_string())?;
        let lab = WanLab::up(&file, &name, stopped).map_err(|error| error.to_string())?;
        let built = begun.elapsed();
        let path = folder.file(&format!("site{number}"));
        let failed = |error: io::Error| format!("{}: {error}", path.display());
        fs::create_dir(&path).map_err(failed)?;
        let authority = Authority::open(&path.join("keys")).map_err(|error| error.to_string())?;
        let process = std::process::id().to_be_bytes();
        let addresses: Vec<SocketAddr> = (1..)
            .take(sites.hosts.len())
            .map(|at: u8| {
                // No other process has these addresses, and the next site of this one has other ports.
                let [_, second, third, last] = process;
                let address = [127, 64 | (second & 0x3f), third, last];
                SocketAddr::from((address, PORT + u16::from(number) * 64 + u16::from(at)))
            })
            .collect();
        let line = Line { file: &file, layout: lab.layout(), managers: &addresses };
        let texts: Vec<String> = (0..sites.hosts.len()).map(|at| line.text(at)).collect();
        let mut site = Self {
            managers: Vec::new(),
            lab,
            folder: path.clone(),
            stopped: Arc::clone(stopped),
            up: [built; 2],
        };
        for (asn, text) in (FIRST..).zip(texts) {
            authority.issue(Role::Domain(asn)).map_err(|error| error.to_string())?;
            let of = path.join(format!("{asn}.toml"));
            fs::write(&of, text).map_err(|error| format!("{}: {error}", of.display()))?;
            // It ends with the lab, also if this process is killed and the lab is removed later.
            let mut command = site.lab.command_outside(own()?);
            command.args(["rm", "serve"]).arg(&of).arg("--keys").arg(path.join("keys"));
            command.arg("--store").arg(path.join(format!("{asn}.redb"))).env("XDG_RUNTIME_DIR", &path);
            site.managers.push(Program::start_deaf(
                &format!("manager {asn} of site {number}"),
                command,
                folder,
            )?);
        }
        let all = || (FIRST..).take(sites.hosts.len());
        let connected = |asn: u32| {
            let status = site.status(asn).ok()?;
            status.managers.iter().all(|other| other.is_connected).then_some(())
        };
        wait("the managers do not connect", stopped, || all().try_for_each(connected))?;
        site.up[1] = begun.elapsed();
        Ok(site)
    }

    /// The lab.
    pub(crate) const fn lab(&self) -> &WanLab {
        &self.lab
    }

    /// The address of a host.
    ///
    /// # Errors
    /// There is no such host.
    pub(crate) fn address(&self, host: &str) -> Result<IpAddr, String> {
        let hosts = &self.lab.record().hosts;
        let found = hosts.iter().find(|other| other.name == host);
        let address = found.and_then(|host| host.addresses.iter().copied().find(IpAddr::is_ipv4));
        address.ok_or_else(|| format!("there is no host {host}"))
    }

    /// The domain of a host.
    fn domain(&self, host: &str) -> u32 {
        let of = self.lab.layout().hosts.iter().find(|(other, ..)| other.name == host);
        of.map_or(FIRST, |(_, at, _)| FIRST + u32::try_from(*at).unwrap_or(0))
    }

    fn ask(&self, asn: u32, ask: &Ask) -> Result<Answer, String> {
        ask_at(&self.socket(asn), ask, &self.stopped)
    }

    /// Where a manager listens to commands.
    fn socket(&self, asn: u32) -> PathBuf {
        self.folder.join(format!("punctual-rm/{asn}.sock"))
    }

    fn status(&self, asn: u32) -> Result<Status, String> {
        match self.ask(asn, &Ask::Status)? {
            Answer::Status(status) => Ok(*status),
            other => Err(format!("the manager of AS {asn} says {other:?}")),
        }
    }

    /// Asks the manager of the domain of the first host for a session.
    ///
    /// # Errors
    /// In words: there is no answer. A refusal is one.
    pub(crate) fn establish(&self, wanted: &Wanted) -> Result<Result<Admitted, Refused>, String> {
        let (socket, asked) = self.asked(wanted)?;
        match ask_at(&socket, &Ask::Establish(asked), &self.stopped)? {
            Answer::Admitted(admitted) => Ok(Ok(admitted)),
            Answer::Refused(refused) => Ok(Err(refused)),
            other => Err(format!("a manager says {other:?}")),
        }
    }

    /// A request for a session, and the manager that it goes to.
    ///
    /// # Errors
    /// There is no such host.
    pub(crate) fn asked(&self, wanted: &Wanted) -> Result<(PathBuf, SessionAsked), String> {
        let callees = wanted.to.iter().map(|host| self.address(host)).collect::<Result<_, _>>()?;
        let asked = SessionAsked {
            user: USER.to_owned(),
            service: SERVICE.to_owned(),
            caller: self.address(&wanted.from)?,
            callees,
            flows: wanted.flows.clone(),
            lasts: LASTS,
        };
        Ok((self.socket(self.domain(&wanted.from)), asked))
    }

    /// A session that has to be there; in nanoseconds, the bound of its first flow.
    ///
    /// # Errors
    /// In words: why there is none.
    pub(crate) fn admitted(&self, wanted: &Wanted) -> Result<i64, String> {
        let admitted = self.establish(wanted)?.map_err(|refused| {
            format!("a session from {} to {} is refused: {}", wanted.from, wanted.to.join(", "), refused.text)
        })?;
        let bound = admitted.bounds.iter().find(|bound| bound.flow == 0).map(|bound| bound.delay);
        bound.map(u64::cast_signed).ok_or_else(|| "a session has no bound".to_owned())
    }

    /// Ends a session.
    ///
    /// # Errors
    /// In words.
    pub(crate) fn stop(&self, from: &str, session: &str) -> Result<(), String> {
        match self.ask(self.domain(from), &Ask::Stop { session: session.to_owned() })? {
            Answer::Stopped { .. } => Ok(()),
            other => Err(format!("a manager says {other:?}")),
        }
    }

    /// Waits until nothing is reserved any more: what has ended is released by one domain after the other.
    ///
    /// # Errors
    /// Something stays, or the user wants an end.
    pub(crate) fn settled(&self, stopped: Stopped<'_>) -> Result<(), String> {
        let empty = |asn: u32| self.status(asn).ok()?.aggregates.is_empty().then_some(());
        let all = || (FIRST..).take(self.managers.len()).try_for_each(empty);
        wait("sessions that have ended stay reserved", stopped, all)
    }

    /// How many rules of packets, classes of policers, and routes the first router of a domain has.
    ///
    /// # Errors
    /// A program does not say so.
    pub(crate) fn rules(&self, domain: usize) -> Result<usize, String> {
        let namespaces = self.lab.layout().routers.get(domain).and_then(|of| of.first());
        let namespace = namespaces.ok_or("there is no such domain")?;
        let mut lines = 0;
        for words in [
            "nft -s list ruleset",
            "ip rule",
            "ip -6 rule",
            "ip route show table all",
            "ip -6 route show table all",
            "tc class show dev ifb-border1",
            "tc class show dev ifb-border2",
        ] {
            let mut command = Command::new("nsenter");
            command.arg(format!("--net=/run/netns/{namespace}")).arg("--").args(words.split(' '));
            let output = command.output().map_err(|error| format!("{words}: {error}"))?;
            if !output.status.success() {
                return Err(format!("{words}: {}", String::from_utf8_lossy(&output.stderr).trim()));
            }
            lines += String::from_utf8_lossy(&output.stdout).lines().count();
        }
        Ok(lines)
    }

    /// Ends the managers, and removes the lab.
    ///
    /// # Errors
    /// In words: something is left.
    pub(crate) fn down(self) -> Result<(), String> {
        self.managers.into_iter().for_each(Program::end);
        self.lab.down().map_err(|error| error.to_string())
    }
}

/// What the manager that listens there answers.
///
/// # Errors
/// In words: it does not, or the user wants an end.
pub(crate) fn ask_at(socket: &Path, ask: &Ask, stopped: Stopped<'_>) -> Result<Answer, String> {
    let none = || format!("the manager at {} does not answer", socket.display());
    let failed = |error: io::Error| format!("{}: {error}", none());
    let mut client = Client::open(socket)?.ok_or_else(none)?;
    let connection = client.writer().map_err(failed)?;
    let (answered, over) = mpsc::channel();
    let answer: io::Result<Option<Answer>> = thread::scope(|scope| {
        scope.spawn(move || end_at_last(&connection, &over, stopped));
        let answer = client.ask(ask).and_then(|()| client.answer());
        drop(answered);
        answer
    });
    match answer {
        Ok(Some(answer)) => Ok(answer),
        _ if stopped.load(Ordering::Relaxed) => Err(INTERRUPTED.to_owned()),
        other => other.map_err(failed)?.ok_or_else(none),
    }
}

/// Ends a connection once the user wants an end, or the answer takes too long: who reads from it finds its end then.
fn end_at_last(connection: &UnixStream, over: &Receiver<()>, stopped: Stopped<'_>) {
    let begun = Instant::now();
    while matches!(over.recv_timeout(LOOK), Err(RecvTimeoutError::Timeout)) {
        if stopped.load(Ordering::Relaxed) || begun.elapsed() > ANSWER {
            // It may have ended by itself.
            let _ = connection.shutdown(Shutdown::Both);
            return;
        }
    }
}

/// Waits until something is so.
///
/// # Errors
/// It is not so for a minute, or the user wants an end.
pub(crate) fn wait(what: &str, stopped: Stopped<'_>, is_so: impl Fn() -> Option<()>) -> Result<(), String> {
    let begun = Instant::now();
    while is_so().is_none() {
        if stopped.load(Ordering::Relaxed) {
            return Err(INTERRUPTED.to_owned());
        }
        if begun.elapsed() > PATIENCE {
            return Err(what.to_owned());
        }
        thread::sleep(LOOK);
    }
    Ok(())
}
