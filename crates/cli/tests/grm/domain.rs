//! A LAN under the manager as the inside of a domain: a session of another domain ends in it, keeps its packets in a flood, outlives the manager of the
//! LAN, and leaves nothing there.
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nix::sched::{CloneFlags, setns};
use serde_json::{Value, json};
use testkit::patience::patiently_or;

use crate::Flood;
use crate::ward::{Ward, patiently};

const WARD: &str = include_str!("../../../wan-server/examples/lan/ward.toml");
const FILES: [(u32, &str, &str); 2] = [
    (65_001, "west", include_str!("../../../wan-server/examples/lan/west.toml")),
    (65_003, "east", include_str!("../../../wan-server/examples/lan/east.toml")),
];
/// Long enough for a busy machine: no session ends because a manager had no turn.
const PATIENT: &str =
    "[limits]\nrefresh = \"500 ms\"\nlifetime = \"50 s\"\nguard = \"5 s\"\npatience = \"30 s\"\n";
const DISPLAY: Ipv4Addr = Ipv4Addr::new(10, 3, 0, 11);
/// EF, in the second byte of a header of IPv4.
const EF: i32 = 46 << 2;
/// From one packet to the next: 500 bytes of IP each, at 500 kbit/s.
const APART: Duration = Duration::from_millis(8);
const PAYLOAD: usize = 500 - 28;

/// What is done with this value is in a network namespace of its own, beyond the router.
struct Far {
    name: String,
}

impl Far {
    fn new(ward: &Ward) -> Self {
        let name = format!("punctual-far-{}", std::process::id());
        let far = Self { name: name.clone() };
        let run = |command: &mut Command| assert!(command.status().unwrap().success(), "{command:?}");
        run(Command::new("ip").args(["netns", "add", &name]));
        let at_router = |program: &str, arguments: &[&str]| {
            run(ward.lab.command("router", program).unwrap().args(arguments));
        };
        at_router("ip", &["link", "add", "far0", "type", "veth", "peer", "name", "eth0", "netns", &name]);
        at_router("ip", &["address", "add", "10.1.0.1/24", "dev", "far0"]);
        at_router("ip", &["link", "set", "far0", "up"]);
        at_router("sysctl", &["-qw", "net.ipv4.ip_forward=1"]);
        let here = |program: &str, arguments: &[&str]| {
            run(Command::new("ip").args(["netns", "exec", &name, program]).args(arguments));
        };
        here("ip", &["address", "add", "10.1.0.5/24", "dev", "eth0"]);
        here("ip", &["link", "set", "eth0", "up"]);
        here("ip", &["link", "set", "lo", "up"]);
        here("ip", &["route", "add", "default", "via", "10.1.0.1"]);
        // Frames go through switches that look at checksums.
        here("ethtool", &["-K", "eth0", "tx", "off"]);
        far
    }

    fn on<T: Send>(&self, act: impl FnOnce() -> T + Send) -> T {
        let there = File::open(format!("/run/netns/{}", self.name)).unwrap();
        std::thread::scope(|scope| {
            let acting = scope.spawn(|| {
                setns(&there, CloneFlags::CLONE_NEWNET).unwrap();
                act()
            });
            acting.join().unwrap()
        })
    }
}

impl Drop for Far {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["netns", "del", &self.name]).status();
    }
}

/// A manager of a domain.
struct Manager(Child);

impl Drop for Manager {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

struct Stage {
    managers: Vec<Option<Manager>>,
    far: Far,
    ward: Ward,
}

impl Stage {
    fn new() -> Self {
        let ward = Ward::told(WARD, &["--web", "127.0.0.1:8080"]);
        let far = Far::new(&ward);
        let mut keys = Command::new(env!("CARGO_BIN_EXE_punctual"));
        let keys = keys.args(["grm", "keys"]).arg(ward.file("keys")).args(["domain-65001", "domain-65003"]);
        assert!(keys.stdout(Stdio::null()).status().unwrap().success());
        let mut stage = Self { managers: vec![None, None], far, ward };
        for (at, (_, name, text)) in FILES.into_iter().enumerate() {
            let text = text.replacen("\n[declared]\n", &format!("\n{PATIENT}\n[declared]\n"), 1);
            let text = text.replacen("\n[lan]\n", &format!("\n{PATIENT}\n[lan]\nlifetime = \"20 s\"\n"), 1);
            std::fs::write(stage.ward.file(&format!("{name}.toml")), text).unwrap();
            stage.start(at);
        }
        stage
    }

    fn rm(&self) -> Command {
        let mut command = self.ward.lab.command("manager", env!("CARGO_BIN_EXE_punctual")).unwrap();
        command.arg("rm").env("XDG_RUNTIME_DIR", self.ward.file("")).stdin(Stdio::null());
        command
    }

    fn start(&mut self, at: usize) {
        let (_, name, _) = FILES[at];
        let path = |end: &str| -> PathBuf { self.ward.file(&format!("{name}.{end}")) };
        let log = File::options().create(true).append(true).open(path("log")).unwrap();
        let mut command = self.rm();
        command.arg("serve").arg(path("toml")).arg("--keys").arg(self.ward.file("keys"));
        command.arg("--store").arg(path("redb")).stdout(log.try_clone().unwrap()).stderr(log);
        self.managers[at] = Some(Manager(command.spawn().unwrap()));
    }

    fn log(&self, name: &str) -> String {
        std::fs::read_to_string(self.ward.file(&format!("{name}.log"))).unwrap_or_default()
    }

    /// What the manager of the callers' domain says to a session of 500 kbit/s.
    fn establish(&self) -> String {
        let mut command = self.rm();
        command.args(["establish", "--asn", "65001", "--user", "ann", "--service", "alarms"]);
        command.args(["--caller", "10.1.0.5", "--callee", "10.3.0.11", "--flow"]);
        command.arg("class=ef, rate=500 kbit/s, packet=500 B, burst=2 kB, limit=60 ms, to-port=7411");
        let output = command.arg("--json").output().unwrap();
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
    }

    fn admitted(&self) -> Value {
        patiently("a session", || {
            let said: Value = serde_json::from_str(self.establish().trim()).ok()?;
            said.get("admitted").cloned()
        })
    }

    /// Says to the manager of the LAN what an owner wants.
    fn hold(&self, owner: u32, tunnels: &Value) -> Option<Value> {
        let body = json!({ "lifetime": 3_600_000_000_000_u64, "tunnels": tunnels }).to_string();
        let head = format!(
            "PUT /api/v1/tunnels/{owner} HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nConnection: close\r\nPunctual-Operator: test\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        let ask = || {
            let mut stream = TcpStream::connect("127.0.0.1:8080").ok()?;
            stream.write_all(format!("{head}{body}").as_bytes()).ok()?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer).ok()?;
            answer.starts_with("HTTP/1.1 200").then(|| answer.split_once("\r\n\r\n").unwrap().1.to_owned())
        };
        serde_json::from_str(&self.ward.lab.on("manager", ask).unwrap()?).ok()
    }

    /// Entries of tunnels in both switches.
    fn entries(&self) -> (usize, usize) {
        (self.ward.entries(59_000), self.ward.flow_entries_of("s2"))
    }

    /// So many packets of the session go from far away to the display, one after the other; how many arrive, and how long each took in nanoseconds.
    fn send(&self, count: usize, port: u16, codepoint: i32) -> Vec<u64> {
        let socket = self.ward.lab.on("display", || UdpSocket::bind((DISPLAY, port)).unwrap()).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
        let began = Instant::now();
        let is_over = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&is_over);
        let hearing = std::thread::spawn(move || {
            let (mut took, mut bytes) = (Vec::new(), [0; 2_000]);
            loop {
                match socket.recv(&mut bytes) {
                    Ok(PAYLOAD) => {
                        let now = u64::try_from(began.elapsed().as_nanos()).unwrap();
                        took.push(now - u64::from_be_bytes(bytes[..8].try_into().unwrap()));
                    }
                    Ok(other) => panic!("{other} bytes"),
                    // Nothing has come for so long after the last was sent.
                    Err(_) if over.load(Ordering::Relaxed) => return took,
                    Err(_) => {}
                }
            }
        });
        self.far.on(|| {
            let socket = UdpSocket::bind((IpAddr::from([10, 1, 0, 5]), 0)).unwrap();
            nix::sys::socket::setsockopt(&socket, nix::sys::socket::sockopt::Ipv4Tos, &codepoint).unwrap();
            for _ in 0..count {
                let mut bytes = [0; PAYLOAD];
                bytes[..8].copy_from_slice(&u64::try_from(began.elapsed().as_nanos()).unwrap().to_be_bytes());
                socket.send_to(&bytes, SocketAddr::from((DISPLAY, port))).unwrap();
                // From each to the next, however late one was.
                std::thread::sleep(APART);
            }
        });
        is_over.store(true, Ordering::Relaxed);
        hearing.join().unwrap()
    }
}

fn median(took: &[u64]) -> u64 {
    let mut took = took.to_vec();
    took.sort_unstable();
    took.get(took.len() / 2).copied().unwrap_or(0)
}

#[test]
fn a_session_of_another_domain_ends_in_a_lan_and_keeps_its_packets() {
    let Some(_turn) = lab_turn::turn() else { return };
    let mut stage = Stage::new();
    // The display's link is full: the LAN says which one it is, and nothing is left there.
    let greedy = json!([{ "id": "aa", "from": "stranger", "to": "display", "packets": { "codepoint": 10 },
        "rate": 7_000_000, "burst": 2_000, "least_packet": 1_000, "largest_packet": 1_000, "jitter": 0,
        "limit": 100_000_000, "importance": 9 }]);
    patiently("a tunnel of another owner", || {
        let held = stage.hold(9, &greedy)?;
        (held["tunnels"][0]["state"] == "admitted").then_some(())
    });
    let mut last = String::new();
    patiently_or(
        || format!("a refusal of the LAN: {}", stage.log("east")),
        || {
            last = stage.establish();
            (last.contains("LAN from router to display") && last.contains("s2 to display")).then_some(())
        },
    );
    assert_eq!(stage.entries(), (0, 0), "what is refused leaves nothing: {last}");
    stage.hold(9, &json!([])).unwrap();
    patiently("an empty LAN", || (stage.entries() == (0, 0)).then_some(()));

    let session = stage.admitted();
    assert_eq!(stage.entries(), (1, 1), "{}", stage.ward.dump("s1", "dump-flows"));
    let bound = session["bounds"][0]["delay"].as_u64().unwrap();
    // 1 ms inside the west, 2 ms over the link, 1 ms in the router, 25 ms in the LAN.
    assert_eq!(bound, 29_000_000, "{session}");
    let flood = Flood::of(&stage.ward, 6);
    patiently("the flood, which is above what the link carries", || {
        (stage.ward.sent("s2", 2)[0].1 > 100).then_some(())
    });
    let took = stage.send(400, 7_411, EF);
    println!("{} of 400 packets: {} ns in the median, at most {bound}", took.len(), median(&took));
    assert_eq!(took.len(), 400, "packets of the session are lost");
    let without = stage.send(400, 7_412, 0);
    assert!(without.len() < 400, "the flood harms nothing: {} of 400", without.len());

    // The manager of the LAN is killed, and back: rules stand, and the session goes on.
    stage.ward.kill_manager();
    assert_eq!(stage.send(200, 7_411, EF).len(), 200);
    patiently("a manager that is missed", || stage.log("east").contains("does not answer").then_some(()));
    stage.ward.start_manager();
    patiently("a manager that answers", || stage.log("east").contains("answers again").then_some(()));
    assert_eq!(stage.send(400, 7_411, EF).len(), 400);
    assert_eq!(stage.entries(), (1, 1));
    drop(flood);

    // The manager of the domain, too.
    stage.managers[1] = None;
    stage.start(1);
    assert_eq!(stage.send(200, 7_411, EF).len(), 200);
    let name = session["session"].as_str().unwrap();
    let status = || stage.rm().args(["status", "--asn", "65001"]).output().unwrap();
    let is_there = String::from_utf8(status().stdout).unwrap().contains(name);
    assert!(is_there, "{}", stage.log("west"));

    // Nothing is left of a session that is stopped.
    let stopped = stage.rm().args(["stop", name, "--asn", "65001"]).output().unwrap();
    assert!(stopped.status.success(), "{stopped:?}");
    patiently("an empty LAN", || (stage.entries() == (0, 0)).then_some(()));
    assert_eq!(stage.ward.meters().len(), 0);

    // Nor of a manager of the domain that does not come back.
    stage.admitted();
    assert_eq!(stage.entries(), (1, 1));
    stage.managers[1] = None;
    patiently("an empty LAN", || (stage.entries() == (0, 0)).then_some(()));
}
