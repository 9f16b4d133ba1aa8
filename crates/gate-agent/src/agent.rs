//! The agent of a switch's gates: lines of JSON over TCP, as `gate::protocol` says.
//!
//! With keys it serves managers of its authority alone, by TLS. Without them any host that reaches its address can set gates: it must be an
//! address that only the manager reaches. It listens at the interface that has the address, so that connections at other interfaces are refused.
use std::collections::BTreeMap;
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use gate::protocol::{
    Answer, ContractState, LONGEST_REQUEST, MOST_CONTRACTS, PortState, Refusal, Request, USUAL_LIMIT, VERSION,
};
use keys::rustls::{ServerConnection, StreamOwned};
use keys::{Identity, Role};
use nix::ifaddrs::getifaddrs;
use nix::net::if_::if_nametoindex;
use socket2::{Domain, Protocol, SockRef, Socket, TcpKeepalive, Type};

use crate::program::{Program, full};
use system::Error;

/// The most clients at a time; who comes then is told so.
const MOST_CLIENTS: usize = 8;
/// Who asks for nothing for so long after connecting, or takes no answer, is sent away. Who has asked once may be silent; the
/// system finds out whether it is still there.
const SILENCE: Duration = Duration::from_secs(10);

/// What an agent serves.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Served {
    /// Where it listens.
    pub listen: SocketAddr,
    /// The ports of the switch that have a gate: number and interface.
    pub ports: Vec<(u32, String)>,
    /// The compiled program.
    pub object: PathBuf,
    /// Where program and maps are pinned: a folder in a file system of type bpf.
    pub pins: PathBuf,
    /// Whether links put behind each frame when it came: those of a lab that a program emulates.
    pub stamped: bool,
}

/// An agent with its gates.
#[derive(Debug)]
pub struct Agent {
    program: Mutex<Program>,
    /// For each number of a port its interface: name and index.
    ports: BTreeMap<u32, (String, u32)>,
    /// The highest epoch of a manager that has connected; 0 if none has.
    epoch: AtomicU64,
}

impl Agent {
    /// Puts gates at the ports, or takes over those that an agent before left. A port without a limit gets the usual
    /// one.
    ///
    /// # Errors
    /// There is no such interface, or what the kernel says.
    pub fn new(served: &Served) -> Result<Self, Error> {
        system::make_folder(&served.pins)?;
        let mut program = Program::load(&served.object, &served.pins, false, served.stamped)?;
        let mut ports = BTreeMap::new();
        for (number, interface) in &served.ports {
            let index = if_nametoindex(interface.as_str()).map_err(|error| {
                Error::new(format!("{interface}: {error}"), "name an interface of this network namespace")
            })?;
            program.attach(index, &served.pins.join(format!("port-{number}")))?;
            if program.limit_of(index).is_none() {
                program.limit(index, USUAL_LIMIT)?;
            }
            if ports.insert(*number, (interface.clone(), index)).is_some() {
                return Err(Error::new(format!("two ports have the number {number}"), "name each port once"));
            }
        }
        Ok(Self { program: Mutex::new(program), ports, epoch: AtomicU64::new(0) })
    }

    /// Serves clients for ever; `ready` is called once they can connect. With keys clients are managers that show it.
    ///
    /// # Errors
    /// The address cannot be had, or the keys are not those of an agent.
    pub fn serve(
        self,
        listen: SocketAddr,
        keys: Option<&Identity>,
        ready: impl FnOnce(),
    ) -> Result<(), Error> {
        let listener = listener(listen)?;
        let secure = keys.map(Identity::server).transpose()?;
        ready();
        let (agent, clients) = (Arc::new(self), Arc::new(AtomicUsize::new(0)));
        loop {
            let stream = match listener.accept() {
                Ok((stream, _)) => stream,
                // Who has gone already; or no descriptor is free for a moment.
                Err(_) => {
                    thread::sleep(Duration::from_millis(10));
                    continue;
                }
            };
            let place = Taken::one_of(&clients);
            let agent = Arc::clone(&agent);
            let secure = secure.clone();
            let started = thread::Builder::new().spawn(move || match place {
                Some(_place) => match secure {
                    None => agent.attend(&stream, &stream),
                    Some(config) => {
                        if let Some(mut secured) = handshake(config, &stream) {
                            agent.attend(&mut secured, &stream);
                        }
                    }
                },
                None if secure.is_some() => {}
                None => {
                    let what = format!("there are {MOST_CLIENTS} clients already");
                    // Who does not hear it finds out.
                    let _ = say(&mut &stream, &Answer::Refused { reason: Refusal::Full, what });
                }
            });
            // Without a thread the client is gone, and may come again.
            drop(started);
        }
    }

    /// Answers a client until it goes: over `stream`, which has this socket below it.
    fn attend(&self, mut stream: impl Read + Write, socket: &TcpStream) {
        let mut lines = Lines::default();
        let mut epoch = None;
        if prepare(socket).is_err() {
            return;
        }
        let mut buffer = [0; LONGEST_REQUEST];
        loop {
            let length = match stream.read(&mut buffer) {
                Ok(0) => return,
                Ok(length) => length,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(_) => return,
            };
            lines.add(buffer.get(..length).unwrap_or_default());
            while let Some(line) = lines.next() {
                let (answer, end) = match line {
                    Ok(line) => {
                        let answer = self.answer(&mut epoch, &line);
                        let asked = !matches!(answer, Answer::Refused { reason: Refusal::Malformed, .. });
                        // It failed only if the connection did, which shows at the next turn.
                        let _ = if asked { socket.set_read_timeout(None) } else { Ok(()) };
                        (answer, false)
                    }
                    // Where the next request begins cannot be known.
                    Err(TooLong) => {
                        let what = format!("a request has at most {LONGEST_REQUEST} bytes");
                        (Answer::Refused { reason: Refusal::Malformed, what }, true)
                    }
                };
                if say(&mut stream, &answer).is_err() || end {
                    return;
                }
            }
        }
    }

    /// Does what a line says, of a connection with an epoch, if it has said one.
    pub fn answer(&self, epoch: &mut Option<u64>, line: &[u8]) -> Answer {
        match serde_json::from_slice::<Request>(line) {
            Ok(request) => self
                .perform(epoch, &request)
                .unwrap_or_else(|(reason, what)| Answer::Refused { reason, what }),
            Err(error) => Answer::Refused { reason: Refusal::Malformed, what: error.to_string() },
        }
    }

    fn perform(&self, epoch: &mut Option<u64>, request: &Request) -> Result<Answer, (Refusal, String)> {
        request.check().map_err(|what| (Refusal::Range, what))?;
        if let Request::Lead { epoch: said } = *request {
            *epoch = Some(said);
        }
        let kernel = |error: Error| (Refusal::Kernel, error.what);
        // A thread that panicked left the maps of the kernel as they are.
        let mut program = self.program.lock().unwrap_or_else(PoisonError::into_inner);
        // Under the lock: what an older manager has begun is done before a later one is told that it may begin.
        if let Some(own) = *epoch {
            let highest = self.epoch.fetch_max(own, Ordering::AcqRel);
            let changes = !matches!(request, Request::Version | Request::List);
            if own < highest && changes {
                let what = format!("a manager of epoch {highest} has connected, and this one is of {own}");
                return Err((Refusal::Stale, what));
            }
        }
        Ok(match *request {
            Request::Version => Answer::Version { version: VERSION },
            Request::Lead { epoch } => Answer::Leads { epoch },
            Request::Set { port, key, contract } => {
                let index = self.index(port)?;
                let is = program.set(index, &key, &contract).map_err(|error| {
                    if full(&error) {
                        return (Refusal::Full, format!("there are {MOST_CONTRACTS} contracts already"));
                    }
                    kernel(error)
                })?;
                if is != contract {
                    return Err((Refusal::Kernel, format!("the kernel has {is:?} instead")));
                }
                Answer::Set { port, key, contract: is }
            }
            Request::Remove { port, key } => {
                let counters = program.remove(self.index(port)?, &key).map_err(kernel)?;
                Answer::Removed { port, key, counters }
            }
            Request::Clear => {
                let mut contracts = 0;
                for (index, key, ..) in program.list() {
                    contracts += u32::from(program.remove(index, &key).map_err(kernel)?.is_some());
                }
                Answer::Cleared { contracts }
            }
            Request::List => self.list(&program),
            Request::Limit { port, frames } => {
                let frames = program.limit(self.index(port)?, frames).map_err(kernel)?;
                Answer::Limit { port, frames }
            }
        })
    }

    fn list(&self, program: &Program) -> Answer {
        let ports = self.ports.iter().map(|(port, (interface, index))| PortState {
            port: *port,
            interface: interface.clone(),
            limit: program.limit_of(*index).unwrap_or(0),
            others: program.others(*index),
        });
        let number =
            |index: u32| self.ports.iter().find(|(_, (_, known))| *known == index).map(|(number, _)| *number);
        let mut contracts: Vec<ContractState> = program
            .list()
            .into_iter()
            .filter_map(|(index, key, contract, counters)| {
                Some(ContractState { port: number(index)?, key, contract, counters })
            })
            .collect();
        contracts.sort_by_key(|state| (state.port, state.key));
        Answer::List { ports: ports.collect(), contracts }
    }

    fn index(&self, port: u32) -> Result<u32, (Refusal, String)> {
        self.ports.get(&port).map(|(_, index)| *index).ok_or_else(|| {
            let known: Vec<String> = self.ports.keys().map(u32::to_string).collect();
            (Refusal::Port, format!("no gate is at a port {port}; ports are {}", known.join(", ")))
        })
    }
}

/// One of the places for clients.
struct Taken(Arc<AtomicUsize>);

impl Taken {
    fn one_of(clients: &Arc<AtomicUsize>) -> Option<Self> {
        let place = Self(Arc::clone(clients));
        (clients.fetch_add(1, Ordering::AcqRel) < MOST_CLIENTS).then_some(place)
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Bytes of a stream, cut into lines.
#[derive(Default, Debug)]
struct Lines {
    bytes: Vec<u8>,
}

/// A line is longer than a request may be.
#[derive(PartialEq, Eq, Debug)]
struct TooLong;

impl Lines {
    fn add(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The next whole line, without its end; lines without anything are left out.
    fn next(&mut self) -> Option<Result<Vec<u8>, TooLong>> {
        loop {
            let Some(end) = self.bytes.iter().position(|byte| *byte == b'\n') else {
                return (self.bytes.len() > LONGEST_REQUEST).then_some(Err(TooLong));
            };
            let line: Vec<u8> = self.bytes.drain(..=end).collect();
            let line = line.trim_ascii();
            if line.len() > LONGEST_REQUEST {
                return Some(Err(TooLong));
            }
            if !line.is_empty() {
                return Some(Ok(line.to_vec()));
            }
        }
    }
}

fn prepare(socket: &TcpStream) -> std::io::Result<()> {
    let alive = TcpKeepalive::new().with_time(SILENCE).with_interval(SILENCE / 4).with_retries(3);
    socket.set_read_timeout(Some(SILENCE))?;
    socket.set_write_timeout(Some(SILENCE))?;
    socket.set_nodelay(true)?;
    SockRef::from(socket).set_tcp_keepalive(&alive)
}

/// TLS over a socket, if the client shows that it is a manager; it finds out why if it is not.
fn handshake(
    config: Arc<keys::rustls::ServerConfig>,
    socket: &TcpStream,
) -> Option<StreamOwned<ServerConnection, &TcpStream>> {
    prepare(socket).ok()?;
    let mut secured = StreamOwned::new(ServerConnection::new(config).ok()?, socket);
    while secured.conn.is_handshaking() {
        secured.conn.complete_io(&mut secured.sock).ok()?;
    }
    let shown = secured.conn.peer_certificates();
    Identity::check(shown, Role::Manager).ok()?;
    Some(secured)
}

fn say(stream: &mut impl Write, answer: &Answer) -> std::io::Result<()> {
    let mut line = serde_json::to_vec(answer).map_err(std::io::Error::other)?;
    line.push(b'\n');
    stream.write_all(&line)?;
    stream.flush()
}

/// Listens at an address, and at the interface that has it only.
fn listener(address: SocketAddr) -> Result<TcpListener, Error> {
    let failed = |error: std::io::Error| {
        Error::new(format!("{address}: {error}"), "listen at an address of this network namespace")
    };
    let socket =
        Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP)).map_err(failed)?;
    socket.set_reuse_address(true).map_err(failed)?;
    if let Some(interface) = interface_of(address.ip()) {
        socket.bind_device(Some(interface.as_bytes())).map_err(failed)?;
    }
    socket.bind(&address.into()).map_err(failed)?;
    socket.listen(i32::try_from(MOST_CLIENTS).unwrap_or(8)).map_err(failed)?;
    Ok(socket.into())
}

fn interface_of(address: IpAddr) -> Option<String> {
    let mut found = getifaddrs().ok()?;
    let has = |storage: &nix::sys::socket::SockaddrStorage| {
        storage.as_sockaddr_in().map(|has| IpAddr::V4(has.ip())) == Some(address)
            || storage.as_sockaddr_in6().map(|has| IpAddr::V6(has.ip())) == Some(address)
    };
    found.find(|entry| entry.address.as_ref().is_some_and(has)).map(|entry| entry.interface_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_found_in_pieces_of_any_size() {
        for size in 1..8 {
            let mut lines = Lines::default();
            let mut found = Vec::new();
            for piece in b"one\n\n two \r\nthr".chunks(size) {
                lines.add(piece);
                while let Some(line) = lines.next() {
                    found.push(String::from_utf8(line.unwrap()).unwrap());
                }
            }
            assert_eq!(found, ["one", "two"], "in pieces of {size}");
        }
    }

    #[test]
    fn a_line_without_end_is_not_kept() {
        let mut lines = Lines::default();
        lines.add(&[b'x'; LONGEST_REQUEST]);
        assert_eq!(lines.next(), None);
        lines.add(b"x");
        assert_eq!(lines.next(), Some(Err(TooLong)));
        let mut lines = Lines::default();
        lines.add(&[b'x'; LONGEST_REQUEST + 1]);
        lines.add(b"\n");
        assert_eq!(lines.next(), Some(Err(TooLong)));
    }
}
