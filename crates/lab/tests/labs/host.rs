//! Queues of a real interface, in two namespaces with a link between them.
use std::net::UdpSocket;
use std::process::{Command, Output};
use std::thread;
use std::time::Duration;

use nix::sched::{CloneFlags, setns};
use udp::{Destination, Dscp, Socket, SocketOptions};

use crate::three::program;

/// Two namespaces, `v0` with 10.9.0.1 in the first and `v1` with 10.9.0.2 in the second; gone when this is dropped.
struct Pair {
    names: [String; 2],
}

fn tool(line: &str) -> Output {
    let mut words = line.split(' ');
    Command::new(words.next().unwrap()).args(words).output().unwrap()
}

impl Pair {
    /// `None` without the right to make one.
    fn new(test: &str) -> Option<Self> {
        let names = ["a", "b"].map(|end| format!("pair-{test}-{end}-{}", std::process::id()));
        let pair = Self { names };
        let [one, other] = &pair.names;
        for name in [one, other] {
            let made = tool(&format!("ip netns add {name}"));
            if !made.status.success() {
                let said = String::from_utf8_lossy(&made.stderr);
                assert!(std::env::var_os("CI").is_none(), "{said}");
                eprintln!("passed over: {said}");
                return None;
            }
        }
        let link = format!("ip link add v0 netns {one} type veth peer name v1 netns {other}");
        assert!(tool(&link).status.success());
        for (name, interface, last) in [(one, "v0", 1), (other, "v1", 2)] {
            assert!(
                tool(&format!("ip -n {name} addr add 10.9.0.{last}/24 dev {interface}")).status.success()
            );
            assert!(tool(&format!("ip -n {name} link set {interface} up")).status.success());
        }
        Some(pair)
    }

    /// Does something on a thread in one of the namespaces.
    fn inside<T: Send>(&self, end: usize, act: impl FnOnce() -> T + Send) -> T {
        let there = std::fs::File::open(format!("/run/netns/{}", self.names[end])).unwrap();
        thread::scope(|scope| {
            let acting = scope.spawn(|| {
                setns(&there, CloneFlags::CLONE_NEWNET).unwrap();
                act()
            });
            acting.join().unwrap()
        })
    }

    /// `punctual host` with these arguments in the first namespace: its exit code, and what it says.
    fn host(&self, arguments: &[&str]) -> (i32, String) {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.names[0]]).arg(program()).arg("host").args(arguments);
        let output = command.output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        (output.status.code().unwrap(), String::from_utf8(said).unwrap())
    }

    fn shown(&self, what: &str) -> String {
        String::from_utf8(tool(&format!("tc -n {} {what}", self.names[0])).stdout).unwrap()
    }

    /// The port of a receiver that reads nothing yet.
    fn receiver(&self) -> UdpSocket {
        let receiver = self.inside(1, || UdpSocket::bind("10.9.0.2:0")).unwrap();
        receiver.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        receiver
    }

    fn sender(&self, dscp: u8) -> Socket {
        let class = Dscp::new(dscp).unwrap();
        let options = SocketOptions { class, send_buffer: Some(1 << 20), ..SocketOptions::default() };
        self.inside(0, || Socket::unicast("10.9.0.1:0".parse().unwrap(), &options)).unwrap()
    }

    /// Frames that came to the second namespace.
    fn frames(&self) -> u64 {
        let text = tool(&format!("ip -n {} -j -s link show v1", self.names[1])).stdout;
        let links: serde_json::Value = serde_json::from_slice(&text).unwrap();
        links[0]["stats64"]["rx"]["packets"].as_u64().unwrap()
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        // What is remembered of the interface goes, too.
        self.host(&["v0", "--remove"]);
        for name in &self.names {
            tool(&format!("ip netns del {name}"));
        }
    }
}

fn to(receiver: &UdpSocket) -> Destination {
    Destination::routed(receiver.local_addr().unwrap())
}

#[test]
fn queues_are_made_looked_at_and_taken_away() {
    let Some(pair) = Pair::new("made") else { return };
    let (code, said) = pair.host(&["v0"]);
    assert_eq!(code, 1, "{said}");
    assert!(
        said.starts_with("v0: one queue (noqueue), ")
            && said.contains("\n  tc qdisc add dev v0 root handle dd5:"),
        "{said}"
    );
    assert!(said.contains("trains leave in one piece (tcp-segmentation-offload"), "{said}");
    let (code, said) = pair.host(&["v0", "--apply"]);
    assert_eq!(code, 0, "{said}");
    assert!(said.starts_with("v0: 8 queues, ") && said.contains("in the place of noqueue"), "{said}");
    assert!(!said.contains("Warnings") && said.contains("\n  pause = \"off\"\n"), "{said}");
    let shown = pair.shown("-j qdisc show dev v0");
    assert!(shown.contains("\"handle\":\"dd5:\",\"root\":true"), "{shown}");
    let (code, said) = pair.host(&["v0", "--apply"]);
    assert!(code == 0 && said.contains("were there already"), "{said}");
    assert_eq!(pair.shown("-j qdisc show dev v0"), shown);
    assert_eq!(pair.host(&["v0"]).0, 0);
    // Others are wanted, or somebody has changed something.
    assert_eq!(pair.host(&["v0", "--queues", "4"]).0, 1);
    pair.shown("filter del dev v0 parent dd5: prio 8");
    let (code, said) = pair.host(&["v0"]);
    assert!(code == 1 && said.starts_with("v0: other queues than these, of ours"), "{said}");
    assert_eq!(pair.host(&["v0", "--queues", "4", "--apply"]).0, 0);
    assert_eq!(pair.host(&["v0", "--queues", "4"]).0, 0);
    let (code, said) = pair.host(&["v0", "--remove"]);
    assert_eq!((code, said.as_str()), (0, "removed the queues of v0\n"));
    assert!(pair.shown("-j qdisc show dev v0").contains("noqueue"));
    let (code, said) = pair.host(&["v0", "--remove"]);
    assert_eq!((code, said.as_str()), (1, "there are no queues of ours at v0\n"));
}

#[test]
fn what_others_made_stays() {
    let Some(pair) = Pair::new("others") else { return };
    pair.shown("qdisc add dev v0 root handle 7: htb");
    let (code, said) = pair.host(&["v0"]);
    assert!(code == 1 && said.starts_with("v0: queues of something else (htb)"), "{said}");
    let (code, said) = pair.host(&["v0", "--apply"]);
    assert!(code == 3 && said.contains("has queues that something else has made: htb 7:"), "{said}");
    assert_eq!(pair.host(&["v0", "--remove"]).0, 1);
    assert!(pair.shown("-j qdisc show dev v0").contains("\"handle\":\"7:\""));
}

/// The queues of a network file, and what is otherwise there.
#[test]
fn a_network_file_is_compared() {
    let Some(pair) = Pair::new("file") else { return };
    let folder = std::env::temp_dir().join(format!("punctual-host-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("net.toml");
    let text = "[[host]]\nname = \"a\"\naddress = \"10.9.0.1\"\nqueues = 4\nring = 100\n[[host]]\nname = \"b\"\n[[switch]]\n\
                name = \"s\"\nmodel = \"gigabit-8-queues\"\n[[link]]\nends = [\"a\", \"s\"]\n[[link]]\nends = [\"b\", \"s\"]\n";
    std::fs::write(&file, text).unwrap();
    let file = file.to_str().unwrap();
    let (code, said) = pair.host(&[file, "--host", "a"]);
    assert!(code == 1 && said.starts_with("v0: one queue"), "{said}");
    assert!(said.contains("the network file counts on queues = 4, and there are 1"), "{said}");
    let (code, said) = pair.host(&[file, "--host", "a", "--rate", "10 Mb/s", "--apply"]);
    assert!(code == 0 && said.starts_with("v0: 4 queues, "), "{said}");
    assert!(said.contains("counts on ring = 100, and the card takes up to"), "{said}");
    for (arguments, wrong) in [
        (&[file][..], "is a network file, which has several hosts"),
        (&[file, "--host", "x"], "the network has no host \"x\"\n  hosts are a, b"),
        (&[file, "--host", "b"], "gives \"b\" no address"),
        (&["v9"], "there is no interface \"v9\""),
        (&["v0;x"], "is no name of an interface"),
    ] {
        let (code, said) = pair.host(arguments);
        assert!(code == 2 && said.contains(wrong), "{arguments:?}: {said}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// Hosts of a network file that says their addresses need not be asked for them, and entries of others stay.
#[test]
fn neighbours_are_known_for_good() {
    let Some(pair) = Pair::new("neighbours") else { return };
    let folder = std::env::temp_dir().join(format!("punctual-neighbours-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("net.toml");
    let mut text = "[[switch]]\nname = \"s\"\nmodel = \"gigabit-8-queues\"\n".to_owned();
    for (name, rest) in [
        ("a", "address = \"10.9.0.1\"\nmac = \"02:00:00:00:00:01\"\nqueues = 8"),
        ("b", "address = [\"10.9.0.2\", \"fd00::2\"]\nmac = \"02:00:00:00:00:02\""),
        ("c", "address = \"10.9.0.3\"\nmac = \"02:00:00:00:00:03\""),
        ("d", "address = \"10.9.0.4\""),
        ("e", ""),
    ] {
        text += &format!("[[host]]\nname = \"{name}\"\n{rest}\n[[link]]\nends = [\"{name}\", \"s\"]\n");
    }
    std::fs::write(&file, text).unwrap();
    let file = file.to_str().unwrap();
    let shown = || {
        let line = format!("ip -n {} neighbour show dev v0 nud permanent", pair.names[0]);
        String::from_utf8(tool(&line).stdout).unwrap()
    };
    // One of them is there already, made by the operator.
    let by_hand = format!(
        "ip -n {} neighbour add 10.9.0.3 lladdr 02:00:00:00:00:03 dev v0 nud permanent",
        pair.names[0]
    );
    assert!(tool(&by_hand).status.success());
    let (code, said) = pair.host(&[file, "--host", "a"]);
    assert_eq!(code, 1, "{said}");
    assert!(
        said.contains("\n  ip neighbour replace 10.9.0.2 lladdr 02:00:00:00:00:02 dev v0 nud permanent\n"),
        "{said}"
    );
    assert!(said.contains("gives no `mac` for d: "), "{said}");
    let (code, said) = pair.host(&[file, "--host", "a", "--apply"]);
    assert!(code == 0 && said.contains("made permanent entries for 2 addresses"), "{said}");
    let lines = shown();
    assert!(["10.9.0.2 ", "10.9.0.3 ", "fd00::2 "].iter().all(|address| lines.contains(address)), "{lines}");
    assert!(!lines.contains("10.9.0.1 "), "{lines}");
    assert_eq!(pair.host(&[file, "--host", "a"]).0, 0);
    // One is gone: that is seen, and made anew without making the queues anew.
    assert!(tool(&format!("ip -n {} neighbour del 10.9.0.2 dev v0", pair.names[0])).status.success());
    assert_eq!(pair.host(&[file, "--host", "a"]).0, 1);
    let (code, said) = pair.host(&[file, "--host", "a", "--apply"]);
    assert!(
        code == 0 && said.contains("queues were there already") && said.contains("for 1 addresses"),
        "{said}"
    );
    assert_eq!(pair.host(&[file, "--host", "a", "--remove"]).0, 0);
    assert_eq!(shown().lines().count(), 1, "{}", shown());
    assert!(shown().contains("10.9.0.3 "));
    std::fs::remove_dir_all(folder).unwrap();
}

/// Frames go to the queue of their codepoint, and what comes later in a higher one leaves before what waits in lower ones.
#[test]
fn a_high_frame_overtakes_what_waits() {
    let Some(pair) = Pair::new("high") else { return };
    assert_eq!(pair.host(&["v0", "--rate", "1 Mb/s", "--apply"]).0, 0);
    let receiver = pair.receiver();
    let (low, high) = (pair.sender(0), pair.sender(46));
    // Each takes 8 ms of the link; by the first one addresses are known.
    for number in 0..40_u8 {
        low.sender().send(&[number; 1_000], &to(&receiver)).unwrap();
    }
    high.sender().send(&[99; 1_000], &to(&receiver)).unwrap();
    let mut bytes = [0; 2_000];
    let order: Vec<u8> = (0..41)
        .map(|_| {
            receiver.recv(&mut bytes).unwrap();
            bytes[0]
        })
        .collect();
    let at = order.iter().position(|number| *number == 99).unwrap();
    assert!(at < 30, "{order:?}");
    let low: Vec<u8> = order.into_iter().filter(|number| *number != 99).collect();
    assert!(low.is_sorted(), "{low:?}");
}

/// A train that a program sends in one call is cut before it is in the way of others.
#[test]
fn trains_are_cut_into_frames() {
    let Some(pair) = Pair::new("trains") else { return };
    let receiver = pair.receiver();
    let sender = pair.sender(46);
    // Addresses are asked for, and then everything is quiet.
    sender.sender().send(&[0; 8], &to(&receiver)).unwrap();
    let mut bytes = [0; 2_000];
    receiver.recv(&mut bytes).unwrap();
    let train = vec![1; 20_000];
    let mut counted = |arguments: &[&str]| {
        pair.host(arguments);
        let before = pair.frames();
        sender.sender().send_train([&train[..]], 1_000, &to(&receiver)).unwrap();
        (0..20).for_each(|_| assert_eq!(receiver.recv(&mut bytes).unwrap(), 1_000));
        pair.frames() - before
    };
    let whole = counted(&["v0"]);
    let cut = counted(&["v0", "--apply"]);
    // Somebody may ask for an address meanwhile.
    assert!(whole < 10 && (20..30).contains(&cut), "{whole} {cut}");
}
