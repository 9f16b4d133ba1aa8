//! Programs of another vendor, as they are: the flow file asks for them. Needs Cyclone DDS, as `scripts/peers cyclone` installs it.
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Stdio};

use crate::ward::{Ward, patiently};
use crate::{Flood, listed};

/// Hosts that send all they have in one queue; a link to the display that a flood is too much for.
const NETWORK: &str = r#"
host-defaults = { queues = 1, ring = 0, energy-efficient = false, pause = "off", other = { burst = 12_000, rate = "2 Mb/s" } }
[[host]]
name = "camera"
[[host]]
name = "display"
[[host]]
name = "stranger"
[[host]]
name = "manager"
manager = true
[[switch]]
name = "s1"
model = "gated"
[[link]]
ends = ["camera", "s1:1"]
[[link]]
ends = ["display", "s1:2"]
rate = "20 Mb/s"
[[link]]
ends = ["manager", "s1:3"]
[[link]]
ends = ["stranger", "s1:4"]
[[switch-model]]
name = "gated"
ports = 8
queues = 4
rate = "100 Mb/s"
queue-buffer = 400_000
cell = 1
energy-efficient = false
pause = "off"
multiplexing = "50 us"
gates = {}
"#;

const FLOWS: &str = r#"
[[topic]]
name = "Pict*"
from = ["camera"]
to = ["display"]
size = 4_000
separation = "10 ms"
latency = "budget"
importance = "priority"
"#;

/// Discovery by multicast, samples by unicast.
const SETTINGS: &str =
    "<CycloneDDS><Domain><General><AllowMulticast>spdp</AllowMulticast></General></Domain></CycloneDDS>";

/// The interpreter with Cyclone DDS. Without it a test is passed over, but not in continuous integration.
fn cyclone() -> Option<PathBuf> {
    let python = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("peers").join("cyclone/bin/python");
    if python.exists() {
        return Some(python);
    }
    assert!(std::env::var_os("CI").is_none(), "{} is missing: run scripts/peers", python.display());
    eprintln!("passed over: {} is missing: run scripts/peers", python.display());
    None
}

/// A program of Cyclone DDS, which ends with this.
struct Program {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Program {
    fn new(ward: &Ward, python: &Path, host: &str, arguments: [&str; 4]) -> Self {
        let mut command = ward.lab.command(host, python).unwrap();
        command.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/grm/cyclone.py")).args(arguments);
        command.env("CYCLONEDDS_URI", SETTINGS).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, output }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line.trim().to_owned()
    }

    /// From now on samples count: how many of how many came, and the latest of them in nanoseconds.
    fn received(&mut self) -> (u64, u64, u64) {
        self.child.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
        let line = self.line();
        let numbers: Vec<u64> = line.split(' ').map(|number| number.parse().unwrap()).collect();
        (numbers[0], numbers[1], numbers[2])
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The line of status about a topic that begins like that.
fn told(ward: &Ward, begin: &str) -> String {
    patiently(begin, || ward.status().contains(begin).then(|| ward.status()))
}

#[test]
fn samples_of_several_frames_of_cyclone_dds_are_promised_a_latency_and_none_is_lost_in_a_flood() {
    let Some(_turn) = lab_turn::turn() else { return };
    let Some(python) = cyclone() else { return };
    let ward = Ward::described(NETWORK, FLOWS);
    let mut reader = Program::new(&ward, &python, "display", ["read", "Pictures", "300", "4000"]);
    assert_eq!(reader.line(), "ready");
    let writer = Program::new(&ward, &python, "camera", ["write", "Pictures", "0", "4000"]);
    let status = told(&ward, "admitted Pictures");
    assert!(status.contains("promised 40 ms"), "{status}");
    let bucket = || listed(&ward).into_iter().find(|state| state.key.is_between()).unwrap();
    let before = bucket().counters;
    let flood = Flood::new(&ward);
    let (came, sent, worst) = reader.received();
    println!("{came} of {sent}, the latest after {} us", worst / 1_000);
    assert_eq!(came, sent, "samples are lost: {:?}", bucket());
    // Each of them in three frames, of which two have no ports.
    let after = bucket().counters;
    assert!(after.frames - before.frames >= 3 * sent, "{after:?}");
    assert_eq!(after.excess, before.excess, "what is within the contract finds room: {:?}", bucket());
    drop(flood);
    // Who is gone has no flow any more.
    drop(writer);
    patiently("the end of the flow", || {
        (ward.entries(59_000) == 0 && listed(&ward).iter().all(|state| !state.key.is_between())).then_some(())
    });
}

#[test]
fn a_topic_that_is_not_described_and_goes_the_same_way_keeps_the_promise_away_and_is_named() {
    let Some(_turn) = lab_turn::turn() else { return };
    let Some(python) = cyclone() else { return };
    let ward = Ward::described(NETWORK, FLOWS);
    let mut reader = Program::new(&ward, &python, "display", ["read", "Pictures", "300", "4000"]);
    let _other = Program::new(&ward, &python, "display", ["read", "Other", "300", "4000"]);
    assert_eq!(reader.line(), "ready");
    let _writer = Program::new(&ward, &python, "camera", ["write", "Pictures", "0", "4000"]);
    let another = Program::new(&ward, &python, "camera", ["write", "Other", "0", "100"]);
    let status = told(&ward, "REFUSED Pictures");
    assert!(status.contains("\"Other\" goes from camera to display by the same way"), "{status}");
    assert_eq!(
        (ward.entries(59_000), listed(&ward).iter().filter(|state| state.key.is_between()).count()),
        (0, 0)
    );
    // What the flood is too much for is lost without a promise.
    let flood = Flood::new(&ward);
    let (came, sent, _) = reader.received();
    assert!(came < sent, "{came} of {sent}");
    drop(flood);
    drop(another);
    told(&ward, "admitted Pictures");
}
