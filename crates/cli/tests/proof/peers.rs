//! Programs of other vendors, as `scripts/peers` installs them, on hosts of a lab: `crates/interop/peers/README.md` has their language.
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use lab::Lab;
use testkit::conversation::Conversation;

/// Real-time priority of their programs, as of ours: a machine with other work is not to be taken for the network.
const PRIORITY: &str = "50";
/// Shared memory of each for itself, as on hosts of their own.
const APART: &str = "mount -t tmpfs tmpfs /dev/shm && exec \"$@\"";
/// Of Cyclone DDS: discovery by multicast at the ports of the standard, samples by unicast.
const CYCLONE: &str = "<CycloneDDS><Domain><General><AllowMulticast>spdp</AllowMulticast></General>\
    <Discovery><ParticipantIndex>auto</ParticipantIndex></Discovery></Domain></CycloneDDS>";
/// What stands before the payload of a sample, with the encapsulation header and the most padding behind it.
const AROUND: usize = 40;

/// A vendor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Vendor {
    Cyclone,
    FastDds,
    FastDds3,
}

impl Vendor {
    /// The words that start its program. `None` if it is not installed, which is said; in continuous integration it has to be.
    fn program(self) -> Option<Vec<PathBuf>> {
        let peers = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("peers");
        let file = peers.join(match self {
            Self::Cyclone => "cyclone/bin/python",
            Self::FastDds => "fastdds/peer",
            Self::FastDds3 => "fastdds3/peer",
        });
        if !file.exists() {
            assert!(std::env::var_os("CI").is_none(), "{} is missing: run scripts/peers", file.display());
            eprintln!("passed over: {} is missing: run scripts/peers", file.display());
            return None;
        }
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("interop").join("peers/cyclone.py");
        Some(if self == Self::Cyclone { vec![file, script] } else { vec![file] })
    }

    /// Whether its programs are there.
    pub(crate) fn is_there(self) -> bool {
        self.program().is_some()
    }

    fn start(self, lab: &Lab, host: &str, role: &str, topic: &str) -> Conversation {
        let mut command: Command = lab.command(host, "unshare").unwrap();
        command.args(["--mount", "--", "sh", "-c", APART, "sh", "chrt", "--fifo", PRIORITY]);
        command.args(self.program().unwrap());
        command.args([role, topic, "keyless", "1", "best-effort", "volatile"]);
        let program = Conversation::start(&format!("{self:?} at {host}"), command_with(command));
        program.hear("ready");
        program
    }

    /// A reader at a host.
    pub(crate) fn reader(self, lab: &Lab, host: &str, topic: &str) -> Reader {
        Reader { program: self.start(lab, host, "sub", topic), numbers: BTreeSet::new(), matches: Vec::new() }
    }

    /// A writer at a host of samples of so many bytes, so far apart, until this is dropped.
    pub(crate) fn writer(self, lab: &Lab, host: &str, topic: &str, size: usize, apart: Duration) -> Writer {
        let mut program = self.start(lab, host, "pub", topic);
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            for number in 1.. {
                if stopped.load(Ordering::Relaxed) {
                    return;
                }
                program.tell(&format!("write a {number} {}", size - AROUND));
                program.hear("ok");
                std::thread::sleep(apart);
            }
        });
        Writer { stop, thread: Some(thread) }
    }
}

fn command_with(mut command: Command) -> Command {
    command.env("CYCLONEDDS_URI", CYCLONE);
    command
}

/// A reader that tells of each sample.
pub(crate) struct Reader {
    program: Conversation,
    numbers: BTreeSet<u64>,
    matches: Vec<String>,
}

impl Reader {
    /// What the program has taken before does not count any more.
    pub(crate) fn forget(&mut self) {
        self.taken();
        self.numbers.clear();
    }

    /// What it has said of writers that it has found and lost.
    pub(crate) fn matches(&self) -> String {
        self.matches.join(", ")
    }

    /// The numbers of the samples that the program has taken since. A writer counts them from 1, as its middleware does.
    pub(crate) fn taken(&mut self) -> &BTreeSet<u64> {
        let said = self.program.said();
        self.matches.extend(said.iter().filter(|line| line.starts_with("matched")).cloned());
        let samples = said.iter().filter_map(|line| line.strip_prefix("sample a "));
        self.numbers.extend(samples.filter_map(|rest| rest.split(' ').next()?.parse::<u64>().ok()));
        &self.numbers
    }
}

/// A program that writes.
pub(crate) struct Writer {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // That it ended badly was said there.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}
