//! Programs of another vendor, as they are: the flow file asks for them. Needs Cyclone DDS, as `scripts/peers cyclone` installs it.
use std::path::{Path, PathBuf};

use lab_turn::text::{GATED, Text};
use testkit::conversation::Conversation;

use crate::ward::{Ward, patiently};
use crate::{Flood, listed};

/// Hosts that send all they have in one queue; a link to the display that a flood is too much for.
fn network() -> String {
    described(|_| String::new())
}

/// The same whose hosts have IPv6 alone.
fn network_of_ipv6() -> String {
    described(|number| format!("address = \"fd00::{number}\""))
}

fn described(address: impl Fn(u8) -> String) -> String {
    let hosts = "host-defaults = { queues = 1, ring = 0, energy-efficient = false, pause = \"off\", other = { burst = 12_000, rate = \"2 Mb/s\" } }";
    let text = Text::new(hosts).switch("s1", "gated").host("camera", &address(1), "s1:1");
    let text = text.host("stranger", &address(4), "s1:4");
    let text = text.host("manager", &format!("{}\nmanager = true", address(3)), "s1:3");
    text.node("display", &address(2)).link("display", "s1:2", "rate = \"20 Mb/s\"").with(GATED)
}

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
/// The same over IPv6, by the group of this manager's discovery.
const SETTINGS_OF_IPV6: &str = "<CycloneDDS><Domain><General><Transport>udp6</Transport><AllowMulticast>spdp</AllowMulticast></General>\
     <Discovery><SPDPMulticastAddress>ff03::1</SPDPMulticastAddress></Discovery></Domain></CycloneDDS>";

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

/// A program of Cyclone DDS.
fn program(ward: &Ward, python: &Path, host: &str, arguments: [&str; 4]) -> Conversation {
    set_up(ward, python, SETTINGS, host, arguments)
}

fn set_up(ward: &Ward, python: &Path, settings: &str, host: &str, arguments: [&str; 4]) -> Conversation {
    let mut command = ward.lab.command(host, python).unwrap();
    command.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/grm/cyclone.py")).args(arguments);
    command.env("CYCLONEDDS_URI", settings);
    Conversation::start(&format!("{arguments:?} at {host}"), command)
}

/// From now on samples of a reader count: how many of how many came, and the latest of them in nanoseconds.
fn received(reader: &mut Conversation) -> (u64, u64, u64) {
    reader.tell("");
    let line = reader.hear("");
    let numbers: Vec<u64> = line.split(' ').map(|number| number.parse().unwrap()).collect();
    (numbers[0], numbers[1], numbers[2])
}

/// The line of status about a topic that begins like that.
fn told(ward: &Ward, begin: &str) -> String {
    patiently(begin, || ward.status().contains(begin).then(|| ward.status()))
}

#[test]
fn samples_of_several_frames_of_cyclone_dds_are_promised_a_latency_and_none_is_lost_in_a_flood() {
    promised_and_kept(&network(), SETTINGS);
}

/// Three fragments of IPv6, of which the later ones have no ports, and at some switches another protocol.
#[test]
fn samples_in_fragments_of_ipv6_are_promised_a_latency_and_none_is_lost_in_a_flood() {
    promised_and_kept(&network_of_ipv6(), SETTINGS_OF_IPV6);
}

fn promised_and_kept(network: &str, settings: &str) {
    let Some(_turn) = lab_turn::turn() else { return };
    let Some(python) = cyclone() else { return };
    let ward = Ward::described(network, FLOWS);
    let mut reader = set_up(&ward, &python, settings, "display", ["read", "Pictures", "300", "4000"]);
    reader.hear("ready");
    let writer = set_up(&ward, &python, settings, "camera", ["write", "Pictures", "0", "4000"]);
    let status = told(&ward, "admitted Pictures");
    assert!(status.contains("promised 40 ms"), "{status}");
    // The addresses say which version of IP carries it.
    assert_eq!(status.contains("camera (fd00::1:*) to display (fd00::2:*)"), settings == SETTINGS_OF_IPV6);
    let bucket = || listed(&ward).into_iter().find(|state| state.key.is_between()).unwrap();
    let before = bucket().counters;
    let flood = Flood::new(&ward);
    let (came, sent, worst) = received(&mut reader);
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
    let ward = Ward::described(&network(), FLOWS);
    let mut reader = program(&ward, &python, "display", ["read", "Pictures", "300", "4000"]);
    let _other = program(&ward, &python, "display", ["read", "Other", "300", "4000"]);
    reader.hear("ready");
    let _writer = program(&ward, &python, "camera", ["write", "Pictures", "0", "4000"]);
    let another = program(&ward, &python, "camera", ["write", "Other", "0", "100"]);
    let status = told(&ward, "REFUSED Pictures");
    assert!(status.contains("\"Other\" goes from camera to display by the same way"), "{status}");
    assert_eq!(
        (ward.entries(59_000), listed(&ward).iter().filter(|state| state.key.is_between()).count()),
        (0, 0)
    );
    // What the flood is too much for is lost without a promise.
    let flood = Flood::new(&ward);
    let (came, sent, _) = received(&mut reader);
    assert!(came < sent, "{came} of {sent}");
    drop(flood);
    drop(another);
    told(&ward, "admitted Pictures");
}
