//! Hosts in a VLAN: an assured flow with its tag arrives during a flood, a host outside hears nothing of the VLAN, and other tags gain nothing.
//!
//! Each member has an Open vSwitch of its own, which puts the tag on what the interface `vlan10` sends and takes it off what comes there: not every
//! kernel has VLAN interfaces.
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use dds::assurance::State;
use lab::tap::Tap;
use lab::train::Heard;
use lab_turn::Folder;

use crate::vlan::{EACH, entry, send, until_named};
use crate::ward::{Ward, patiently, with_gates, with_meters};
use crate::{Flood, MILLISECOND};

/// Three members and a host that is none; what the flood is too much for is the link of the display.
const NETWORK: &str = r#"
[[host]]
name = "camera"
mac = "02:00:00:00:0a:01"
vlans = [{ id = 10, address = "10.10.0.1" }]
[[host]]
name = "display"
mac = "02:00:00:00:0a:02"
vlans = [{ id = 10, address = "10.10.0.2" }]
[[host]]
name = "manager"
manager = true
mac = "02:00:00:00:0a:03"
vlans = [{ id = 10, address = "10.10.0.3" }]
[[host]]
name = "stranger"
[[switch]]
name = "s1"
model = "gated"
[[link]]
ends = ["camera", "s1:1"]
[[link]]
ends = ["display", "s1:2"]
rate = "10 Mb/s"
[[link]]
ends = ["manager", "s1:3"]
[[link]]
ends = ["stranger", "s1:4"]
"#;
const INTERFACE: &str = "vlan10";
const MEMBERS: [(&str, u8); 3] = [("camera", 1), ("display", 2), ("manager", 3)];

/// What tags the frames of a host, until this is dropped.
struct Tagging(Folder);

impl Tagging {
    fn at(ward: &Ward, host: &str, number: u8) -> Self {
        let own = Self(Folder::new());
        let path = |name: &str| own.path(name).to_str().unwrap().to_owned();
        let database = format!("unix:{}", path("db.sock"));
        let on_host = |program: &str, arguments: &[&str]| {
            let mut command = ward.lab.command(host, program).unwrap();
            for variable in ["OVS_RUNDIR", "OVS_LOGDIR", "OVS_DBDIR", "OVS_SYSCONFDIR"] {
                command.env(variable, &own.0.0);
            }
            let out = command.args(arguments).stdin(Stdio::null()).output().unwrap();
            assert!(out.status.success(), "{program} on {host}: {}", String::from_utf8_lossy(&out.stderr));
        };
        on_host("ovsdb-tool", &["create", &path("conf.db"), "/usr/share/openvswitch/vswitch.ovsschema"]);
        let files = |name: &str| {
            let option =
                |option: &str, ending: &str| format!("--{option}={}", path(&format!("{name}.{ending}")));
            [option("pidfile", "pid"), option("unixctl", "ctl"), option("log-file", "log")]
        };
        let [id, control, log] = files("db");
        let listens = format!("--remote=p{database}");
        on_host(
            "ovsdb-server",
            &[&path("conf.db"), &listens, &id, &control, &log, "--no-chdir", "--detach", "-vconsole:off"],
        );
        let [id, control, log] = files("switch");
        on_host("ovs-vsctl", &[&format!("--db={database}"), "--no-wait", "init"]);
        on_host(
            "ovs-vswitchd",
            &[&database, &id, &control, &log, "--no-chdir", "--detach", "--disable-system", "-vconsole:off"],
        );
        let mac = format!("mac=\"02:00:00:00:0a:{number:02x}\"");
        let line = format!(
            "--db={database} --timeout=60 add-br tags -- set bridge tags datapath_type=netdev -- add-port tags eth0 -- add-port tags {INTERFACE} \
             tag=10 -- set interface {INTERFACE} type=internal {mac}"
        );
        on_host("ovs-vsctl", &line.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>());
        on_host("ip", &["addr", "add", &format!("10.10.0.{number}/24"), "dev", INTERFACE]);
        on_host("ip", &["link", "set", INTERFACE, "up"]);
        own
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.0.join(name)
    }
}

impl Drop for Tagging {
    fn drop(&mut self) {
        for name in ["switch.pid", "db.pid"] {
            if let Ok(id) = std::fs::read_to_string(self.path(name)) {
                let _ = Command::new("kill").arg(id.trim()).status();
            }
        }
    }
}

/// What a host hears until a frame that contains these bytes comes.
fn heard_until(tap: &Tap, last: &[u8]) -> Vec<Vec<u8>> {
    let (mut heard, mut frame, mut all) = (Heard::default(), Vec::new(), Vec::new());
    loop {
        let came = tap.next(&mut heard, Duration::from_secs(60)).unwrap();
        assert!(came.is_some(), "the last frame does not come");
        while heard.next(&mut frame) {
            let is_last = frame.windows(last.len()).any(|bytes| bytes == last);
            all.push(frame.clone());
            if is_last {
                return all;
            }
        }
    }
}

/// What the flow's entry has counted, once it counts no more: the switch shows it up to a second later, by its own clock.
fn at_rest(ward: &Ward) -> u64 {
    let (mut looks, mut known) = (0, 0);
    patiently("a count that stays", || {
        let counted = entry(ward, 65_400).frames;
        looks = if counted == known { looks + 1 } else { 0 };
        known = counted;
        // Many looks: a machine that stands still for long is looked at once.
        std::thread::sleep(Duration::from_millis(100));
        (looks == 20).then_some(counted)
    })
}

fn tagged_flow_arrives(text: &str) {
    let mut tagging = Vec::new();
    let ward = Ward::at(text, INTERFACE, |ward| {
        tagging.extend(MEMBERS.map(|(host, number)| Tagging::at(ward, host, number)));
    });
    let outside = ward.lab.on("stranger", || Tap::open("eth0")).unwrap().unwrap();
    let writer = ward.writer("camera", "Picture", 4_000, 20 * MILLISECOND);
    let reader = ward.reader("display", "Picture", 40 * MILLISECOND);
    patiently("the verdict", || {
        reader.pairs().iter().any(|pair| pair.state == State::Admitted).then_some(())
    });
    patiently("the writer's match", || (writer.matched() == 1).then_some(()));
    let before = entry(&ward, 65_400);
    assert!(before.line.contains("dl_vlan=10,"), "{}", before.line);
    assert_eq!(before.addresses.map(|address| address.octets()[..3].to_vec()), [[10, 10, 0]; 2]);

    // With the tag, and in the queue of its level at a port where a flood fills the lowest one. What a gate drops because the machine stalls is
    // repeated as best effort once the flood is over.
    let queues = || -> (u64, u64) {
        let sent = ward.sent("s1", 2);
        (sent[0].1, sent[1..].iter().map(|(sent, _)| sent).sum())
    };
    let (_, level_before) = queues();
    let flood = Flood::new(&ward);
    patiently("a flood that is too much", || (queues().0 > 0).then_some(()));
    for _ in 0..20 {
        writer.write();
        std::thread::sleep(Duration::from_millis(25));
    }
    patiently("frames of the flow", || (entry(&ward, 65_400).frames >= before.frames + 10 * 3).then_some(()));
    drop(flood);
    let mut received = 0;
    patiently("the samples", || {
        received += reader.take();
        (received == 20).then_some(())
    });
    patiently("all of the flow in its queue", || {
        // A meter comes behind the count of the entry.
        let dropped: u64 = ward.meters().iter().map(|(_, dropped)| dropped).sum();
        let passed = entry(&ward, 65_400).frames - before.frames;
        (queues().1 - level_before + dropped >= passed).then_some(())
    });

    // Of a VLAN that the host is not in, and for the priority alone; and from a host that is in none.
    let counted = at_rest(&ward);
    // A gate does not know ids: what a wrong one takes of the contract is told by the switch, and what is above it the gate drops as the flow's.
    until_named(&ward, "camera", EACH, || {
        for tag in [[0x81, 0, 0xe0, 20], [0x81, 0, 0xe0, 0]] {
            send(&ward, "camera", &before, &[tag]);
        }
        send(&ward, "camera", &before, &[]);
    });
    until_named(&ward, "stranger", 0, || send(&ward, "stranger", &before, &[[0x81, 0, 0xe0, 10]]));
    assert_eq!(at_rest(&ward), counted, "a frame with another tag was counted as the flow's");

    // What the stranger has heard by now is nothing of the VLAN: neither announcements nor ARP, which go to all of it.
    let last = b"this goes to all hosts";
    let socket = ward.lab.on("manager", || {
        let socket = std::net::UdpSocket::bind((ward.lab.host_address("manager").unwrap(), 0)).unwrap();
        socket.set_broadcast(true).unwrap();
        socket
    });
    socket.unwrap().send_to(last, "10.1.255.255:9").unwrap();
    let heard = heard_until(&outside, last);
    let of_vlan = |frame: &&Vec<u8>| frame.windows(3).any(|bytes| bytes == [10, 10, 0]);
    // Those that it has sent itself in the name of the flow are heard when they leave.
    let own = |frame: &&Vec<u8>| frame[..12] == *[&[0xff; 6][..], &[2, 0, 0, 0, 0, 9]].concat();
    let leaked: Vec<&Vec<u8>> = heard.iter().filter(of_vlan).filter(|frame| !own(frame)).collect();
    assert!(leaked.is_empty(), "{leaked:x?}");
}

#[test]
fn a_flow_in_a_vlan_arrives_with_its_tag_and_its_level_behind_gates() {
    let Some(_turn) = lab_turn::turn() else { return };
    tagged_flow_arrives(&with_gates(NETWORK));
}

#[test]
fn and_behind_meters() {
    let Some(_turn) = lab_turn::turn() else { return };
    tagged_flow_arrives(&with_meters(&with_gates(NETWORK)));
}
