//! The connection to the supervisor. Standard input is a socket: either the connection, whose end is the order to stop, or one that listens for
//! supervisors, one after the other; then the process goes on when one of them is gone.
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use deployment::{Answer, ComponentServer, Instruction, LEASE, LONGEST_LINE, Lines, line, read};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{getsockopt, sockopt::AcceptConn};

use crate::executor::Runner;

/// How long what went wrong by itself waits until it is told.
const LOOK: Duration = Duration::from_millis(200);
/// How long a program has to end after the supervisor has gone: one that hangs then is ended.
const GRACE: Duration = Duration::from_secs(5);
/// Exit code of a program that had to be ended.
pub(crate) const HUNG: i32 = 70;

enum Came {
    Told(Instruction),
    /// The connection is at its end, or nonsense came.
    Over(Option<String>),
}

/// How the program ends if its supervisor is gone and it hangs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AtEnd {
    /// It is ended after some time.
    Exits,
    /// It goes on: the next supervisor may end it.
    Stays,
}

/// Does what supervisors tell until one tells to stop, or is gone and no other one can come.
///
/// # Errors
/// There is no supervisor, or what it told means nothing.
pub(crate) fn run(build: &str, runner: Runner) -> Result<(), String> {
    let no_supervisor = |error: io::Error| {
        format!(
            "standard input is no socket of a supervisor ({error}): launch a plan with punctual deploy launch"
        )
    };
    let socket = io::stdin().as_fd().try_clone_to_owned().map_err(no_supervisor)?;
    let listens = getsockopt(&socket, AcceptConn).map_err(|error| no_supervisor(error.into()))?;
    let mut server = ComponentServer::new(runner);
    let result = if listens {
        accept(build, &UnixListener::from(socket), &mut server)
    } else {
        let socket = UnixStream::from(socket);
        socket.peer_addr().map_err(no_supervisor)?;
        converse(build, socket, &mut server, AtEnd::Exits)
    };
    server.stop();
    if result? {
        leave_nothing();
    }
    Ok(())
}

/// Serves one supervisor after the other. A process that no supervisor has given anything to do ends with its supervisor.
fn accept(
    build: &str,
    listener: &UnixListener,
    server: &mut ComponentServer<Runner>,
) -> Result<bool, String> {
    let lease = lease()?;
    let mut is_led = false;
    loop {
        if is_led && lease.is_some_and(|lease| !comes_within(listener, lease)) {
            eprintln!("{build}: no node manager has come back in time: the process ends");
            thread::spawn(end_by_force);
            return Ok(true);
        }
        is_led = true;
        let (socket, _) = listener.accept().map_err(|error| format!("no supervisor can connect: {error}"))?;
        let result = converse(build, socket, server, AtEnd::Stays);
        if !server.outlives_supervisor() {
            return result;
        }
    }
}

/// How long the process goes on without a supervisor.
fn lease() -> Result<Option<Duration>, String> {
    let Some(said) = std::env::var_os(LEASE) else { return Ok(None) };
    let time = said.to_str().and_then(|text| text.parse().ok()).map(Duration::from_millis);
    time.map(Some).ok_or_else(|| format!("{LEASE} is no number of milliseconds"))
}

/// Whether a supervisor connects in this time.
fn comes_within(listener: &UnixListener, lease: Duration) -> bool {
    let until = Instant::now() + lease;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let left = PollTimeout::try_from(left.as_millis().saturating_add(1)).unwrap_or(PollTimeout::MAX);
        match poll(&mut [PollFd::new(listener.as_fd(), PollFlags::POLLIN)], left) {
            Err(Errno::EINTR) => {}
            Ok(0) if Instant::now() < until => {}
            Ok(0) => return false,
            // What is wrong with the socket is said by the call that uses it.
            Ok(_) | Err(_) => return true,
        }
    }
}

/// Ends a process that does not end by itself in some time.
fn end_by_force() {
    thread::sleep(GRACE);
    std::process::exit(HUNG);
}

/// Does what one supervisor tells; says whether it is gone.
fn converse(
    build: &str,
    mut socket: UnixStream,
    server: &mut ComponentServer<Runner>,
    at_end: AtEnd,
) -> Result<bool, String> {
    let hears = socket.try_clone().map_err(|error| error.to_string())?;
    let (tell, told) = channel();
    let spawned = thread::Builder::new().name("supervisor".to_owned());
    let spawned = spawned.spawn(move || hear(hears, &tell, at_end));
    spawned.map_err(|error| format!("no thread: {error}"))?;
    let mut first = vec![Answer::Hello { protocol: 1, build: build.to_owned() }];
    if at_end == AtEnd::Stays {
        first.push(server.present(std::process::id()));
    }
    if first.iter().any(|answer| send(&mut socket, answer).is_err()) {
        return Ok(true);
    }
    serve(&mut socket, server, &told)
}

/// Ends what components have started and left: the supervisor gave the process a group of its own for that.
fn leave_nothing() {
    use nix::sys::signal::{Signal, killpg};
    use nix::unistd::{getpgrp, getpid};
    if getpgrp() == getpid() {
        let _ = killpg(getpgrp(), Signal::SIGKILL);
    }
}

/// Says whether the supervisor is gone.
fn serve(
    socket: &mut UnixStream,
    server: &mut ComponentServer<Runner>,
    told: &Receiver<Came>,
) -> Result<bool, String> {
    loop {
        let left = server.next_tick().map(|at| Duration::from_nanos(at.saturating_sub(now()) / 1_000 + 1));
        let mut answers = match told.recv_timeout(left.map_or(LOOK, |left| left.min(LOOK))) {
            Ok(Came::Told(instruction)) => server.handle(instruction),
            Ok(Came::Over(wrong)) => return wrong.map_or(Ok(true), Err),
            Err(RecvTimeoutError::Timeout) => Vec::new(),
            Err(RecvTimeoutError::Disconnected) => return Ok(true),
        };
        answers.extend(server.tick(now()));
        let reports = std::iter::from_fn(|| server.executor_mut().next_report());
        let reports: Vec<String> = reports.map(|report| report.to_string()).collect();
        let notices = std::iter::from_fn(|| server.executor().next_notice());
        let reports: Vec<Answer> =
            reports.into_iter().chain(notices).map(|what| Answer::Report { what }).collect();
        for answer in reports.iter().chain(&answers) {
            if send(socket, answer).is_err() {
                // It is gone: that is the order to stop, too.
                return Ok(true);
            }
        }
        if server.is_stopped() {
            return Ok(false);
        }
    }
}

/// Picoseconds since this was asked first.
pub(crate) fn now() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    let elapsed = START.get_or_init(Instant::now).elapsed().as_nanos();
    u64::try_from(elapsed.saturating_mul(1_000)).unwrap_or(u64::MAX)
}

fn send(socket: &mut UnixStream, answer: &Answer) -> io::Result<()> {
    let text = line(answer).map_err(io::Error::other)?;
    socket.write_all(text.as_bytes())
}

/// Reads what the supervisor tells. Once that is over a program that cannot have another one has some time to end.
fn hear(mut socket: UnixStream, tell: &Sender<Came>, at_end: AtEnd) {
    let mut lines = Lines::new(LONGEST_LINE);
    let mut buffer = vec![0; 64 << 10];
    let wrong = 'over: loop {
        let count = match socket.read(&mut buffer) {
            Ok(0) => break None,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => break None,
        };
        lines.feed(buffer.get(..count).unwrap_or_default());
        loop {
            let told = match lines.next_line() {
                Ok(None) => break,
                Ok(Some(text)) => read::<Instruction>(&text).map_err(|error| error.to_string()),
                Err(error) => Err(error.to_string()),
            };
            match told {
                Ok(instruction) => {
                    if tell.send(Came::Told(instruction)).is_err() {
                        return;
                    }
                }
                Err(wrong) => break 'over Some(wrong),
            }
        }
    };
    let _ = tell.send(Came::Over(wrong));
    if at_end == AtEnd::Exits {
        end_by_force();
    }
}
