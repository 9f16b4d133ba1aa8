//! A component server without a supervisor: systemd or Kubernetes starts it with a plan and the name of its process. SIGTERM or SIGINT is
//! the order to stop.
use std::env;
use std::fs::File;
use std::io::{self, Read};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use container::Fault;
use deployment::{Answer, ComponentServer, Executor, Instruction, LONGEST_LINE, Standalone, standalone};
use nix::sys::signal::{SigSet, Signal};

use crate::executor::Runner;
use crate::session::{HUNG, now};

/// How long a report waits until it is printed.
const LOOK: Duration = Duration::from_millis(200);

/// What the command line asks a standalone server for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Order {
    process: String,
    plan: PathBuf,
    /// Whether the process goes on where the system does not grant what the proof of the plan's chains rests on.
    is_unproved: bool,
}

impl Order {
    /// The order of `--serve=PROCESS@PLAN` or `--serve-unproved=PROCESS@PLAN`. Names of processes have no `@`.
    pub(crate) fn parse(argument: &str) -> Option<Self> {
        let (option, order) = argument.split_once('=')?;
        let is_unproved = match option {
            "--serve" => false,
            "--serve-unproved" => true,
            _ => return None,
        };
        let (process, plan) = order.split_once('@')?;
        Some(Self { process: process.to_owned(), plan: plan.into(), is_unproved })
    }
}

/// Carries out a process of a plan until a signal tells it to stop.
///
/// # Errors
/// The plan cannot be read, the process cannot do its part, or the system does not grant its threads what the proof of the plan rests on.
pub(crate) fn run(runner: Runner, order: &Order) -> Result<(), String> {
    // Threads inherit the mask, so it is set before there are any: the signal comes to the thread that waits for it.
    let stop = stop_signals()?;
    let failed = |error: String| format!("{}: {error}", order.plan.display());
    let text = plan(&order.plan).map_err(|error| failed(error.to_string()))?;
    let Standalone { instructions, has_chains } =
        standalone(&text, &order.process, runner.types()).map_err(failed)?;
    let is_strict = has_chains && !order.is_unproved;
    let mut server = ComponentServer::new(runner);
    let result = launch(&mut server, instructions, is_strict).and_then(|()| {
        ready().map_err(|error| format!("NOTIFY_SOCKET: {error}"))?;
        look_after(&mut server, is_strict, &stop)
    });
    for answer in server.stop() {
        tell(&answer);
    }
    result
}

/// The text of a plan; a longer file than any plan ends early, and is refused by its reader.
fn plan(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(LONGEST_LINE as u64).read_to_string(&mut text)?;
    Ok(text)
}

/// Follows the instructions of the launch.
fn launch(
    server: &mut ComponentServer<Runner>,
    instructions: Vec<Instruction>,
    is_strict: bool,
) -> Result<(), String> {
    for instruction in instructions {
        for answer in server.handle(instruction) {
            match answer {
                Answer::Failed { what, .. } => return Err(what),
                Answer::Prepared { warnings, .. } => {
                    warnings.iter().for_each(|warning| eprintln!("{warning}"));
                    if let Some(warning) = warnings.first().filter(|_| is_strict) {
                        return Err(unproved(warning));
                    }
                }
                other => tell(&other),
            }
        }
    }
    Ok(())
}

/// Prints reports until it is time to stop.
fn look_after(
    server: &mut ComponentServer<Runner>,
    is_strict: bool,
    stop: &Receiver<()>,
) -> Result<(), String> {
    loop {
        while let Some(report) = server.executor_mut().next_report() {
            if is_strict && matches!(report.fault, Fault::Thread(_)) {
                return Err(unproved(&report.to_string()));
            }
            eprintln!("{report}");
        }
        while let Some(notice) = server.executor().next_notice() {
            eprintln!("{notice}");
        }
        server.tick(now()).iter().for_each(tell);
        match stop.recv_timeout(LOOK) {
            Err(RecvTimeoutError::Timeout) => {}
            Ok(()) | Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
    }
}

fn unproved(what: &str) -> String {
    format!(
        "{what}: the limits of the plan's chains are proved for what the system does not grant here; grant it, or export the plan \
         with --unproved"
    )
}

fn tell(answer: &Answer) {
    if let Answer::Report { what } = answer {
        eprintln!("{what}");
    }
}

/// Blocks the signals that stop a process, and waits for them on a thread of its own. A second one ends the process at once.
fn stop_signals() -> Result<Receiver<()>, String> {
    let signals: SigSet = [Signal::SIGTERM, Signal::SIGINT].into_iter().collect();
    let failed = |error: String| format!("signals cannot be waited for: {error}");
    signals.thread_block().map_err(|error| failed(error.to_string()))?;
    let (tell, told) = channel();
    let spawned = thread::Builder::new().name("signals".to_owned()).spawn(move || wait(signals, &tell));
    spawned.map_err(|error| failed(error.to_string()))?;
    Ok(told)
}

fn wait(signals: SigSet, tell: &Sender<()>) {
    let _ = signals.wait();
    let _ = tell.send(());
    let _ = signals.wait();
    std::process::exit(HUNG);
}

/// Tells systemd that the components work, if it asks for that: sd_notify(3).
fn ready() -> io::Result<()> {
    let Some(place) = env::var_os("NOTIFY_SOCKET") else { return Ok(()) };
    let address = match place.as_bytes() {
        [b'@', name @ ..] => SocketAddr::from_abstract_name(name)?,
        _ => SocketAddr::from_pathname(&place)?,
    };
    UnixDatagram::unbound()?.send_to_addr(b"READY=1", &address).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_names_process_and_plan() {
        let order = Order { process: "sense".to_owned(), plan: "/a@b/plan.toml".into(), is_unproved: false };
        assert_eq!(Order::parse("--serve=sense@/a@b/plan.toml"), Some(order.clone()));
        assert_eq!(
            Order::parse("--serve-unproved=sense@/a@b/plan.toml"),
            Some(Order { is_unproved: true, ..order })
        );
        for other in ["--serve", "--serve=sense", "--describe=a@b", "sense@plan"] {
            assert_eq!(Order::parse(other), None, "{other}");
        }
    }
}
