//! Managers that are stopped and cut off from their store, while an admitted flow goes on: nothing of it is lost, and its grant is there once.
use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::process::{Child, Command};
use std::sync::MutexGuard;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use control::session::{News, Session};
use dds::assurance::State;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use testkit::etcd::Etcd;

use crate::ward::{NETWORK, Reader, Ward, Writer, patiently, with_gates};
use crate::{MILLISECOND, contracts};

/// What a manager writes when it leads.
pub(crate) const LEADS: &str = "INFO leads the managers of the store";

/// Where switches connect to the first and the second manager.
pub(crate) const PORTS: [u16; 2] = [6653, 6700];

/// How often samples are looked for after the last one was written, each 5 ms.
const LAST_LOOKS: usize = 2_000;

/// A manager of several.
pub(crate) struct Manager {
    child: Child,
    log: std::path::PathBuf,
}

impl Manager {
    /// One that is told of its own port for switches: all are on one host.
    pub(crate) fn start(ward: &Ward, store: &str, log: &str, port: u16) -> Self {
        let log = ward.file(log);
        let mut command = ward.lab.command("manager", env!("CARGO_BIN_EXE_punctual")).unwrap();
        command.arg("grm").arg(ward.file("ward.toml")).args(["--interface", "eth0", "--store", store]);
        command.args(["--listen", &format!("172.31.1.1:{port}"), "--gates", "s1=172.31.1.2"]);
        command.args(["--web", &page(port)]);
        let out: File = OpenOptions::new().create(true).append(true).open(&log).unwrap();
        Self { child: command.stdout(out).spawn().unwrap(), log }
    }

    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }

    pub(crate) fn says(&self, what: &str) -> usize {
        self.log().matches(what).count()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(i32::try_from(self.child.id()).unwrap()), signal).unwrap();
    }

    pub(crate) fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Where the page is of the manager with this port for switches.
pub(crate) fn page(port: u16) -> String {
    format!("127.0.0.1:{}", 2_000 + port)
}

impl Drop for Manager {
    fn drop(&mut self) {
        self.kill();
        if std::thread::panicking() {
            eprintln!("{}:\n{}", self.log.display(), self.log());
        }
    }
}

/// An admitted flow, with samples all the time while `act` goes on: each of them arrives, and whenever `act` looks, switch and gate have it once.
pub(crate) fn with_flow(ward: &Ward, act: impl FnOnce(&dyn Fn())) {
    with_admitted(ward, |reader| {
        act(&|| {
            assert!(is_admitted(reader), "{:?}", reader.pairs());
            assert_eq!((ward.flow_entries(), contracts(ward)), (1, 1));
        });
    });
}

/// The same, where `act` looks at the reader.
pub(crate) fn with_admitted(ward: &Ward, act: impl FnOnce(&Reader)) {
    // Of one frame: a thread that is interrupted between two frames of a message would leave the gate's window.
    let writer = ward.writer("camera", "Picture", 1_000, 10 * MILLISECOND);
    let reader = ward.best_effort_reader("display", "Picture", 5 * MILLISECOND);
    patiently("the verdict", || is_admitted(&reader).then_some(()));
    patiently("the writer's match", || (writer.matched() == 1).then_some(()));
    let (stop, written, received) = (AtomicBool::new(false), AtomicUsize::new(0), AtomicUsize::new(0));
    let has_written = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            write(&writer, &stop, &written);
            has_written.store(true, Ordering::Release);
        });
        scope.spawn(|| {
            let take = || {
                received.fetch_add(reader.take(), Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(5));
            };
            while !has_written.load(Ordering::Acquire) {
                take();
            }
            // Some are on the way when the last one is written. What is not there after so many looks is lost.
            for _ in 0..LAST_LOOKS {
                if received.load(Ordering::Relaxed) >= written.load(Ordering::Relaxed) {
                    break;
                }
                take();
            }
        });
        let tested = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            act(&reader);
        }));
        stop.store(true, Ordering::Relaxed);
        if let Err(panic) = tested {
            std::panic::resume_unwind(panic);
        }
    });
    let (written, received) = (written.into_inner(), received.into_inner());
    assert!(written > 0);
    assert_eq!(written, received, "samples are lost");
    println!("{written} samples, none lost");
}

fn write(writer: &Writer, stop: &AtomicBool, written: &AtomicUsize) {
    while !stop.load(Ordering::Relaxed) {
        writer.write();
        written.fetch_add(1, Ordering::Relaxed);
        // Far above the contract: a thread that is late and then on time would come too early for the gate.
        std::thread::sleep(Duration::from_millis(25));
    }
}

pub(crate) fn is_admitted(reader: &Reader) -> bool {
    reader.pairs().iter().any(|pair| pair.state == State::Admitted)
}

/// Checks for some seconds: longer than a verdict holds that is not repeated.
pub(crate) fn stays(check: &dyn Fn()) {
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(14) {
        check();
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// A turn for labs and a network without a manager, where there is an etcd to run.
pub(crate) fn ward_for_etcd(network: &str) -> Option<(MutexGuard<'static, ()>, Ward)> {
    let turn = lab_turn::turn()?;
    testkit::etcd::is_there().then(|| (turn, Ward::unmanaged(network)))
}

pub(crate) fn etcd_of(ward: &Ward, arguments: &[&str]) -> Etcd {
    let mut etcd = Etcd::prepared(2379, arguments);
    start(ward, &mut etcd);
    etcd
}

pub(crate) fn start(ward: &Ward, etcd: &mut Etcd) {
    let command: Command = ward.lab.command("manager", "etcd").unwrap();
    etcd.run(command);
}

/// The folder of the switch.
fn folder(ward: &Ward) -> String {
    let management = ward.lab.management("s1").unwrap();
    management.trim_start_matches("unix:").rsplit_once('/').unwrap().0.to_owned()
}

/// How often the switch has connected to the manager with this port.
pub(crate) fn connected(ward: &Ward, port: u16) -> usize {
    let log = std::fs::read_to_string(format!("{}/vswitchd.log", folder(ward))).unwrap();
    log.matches(&format!("<->tcp:172.31.1.1:{port}: connected")).count()
}

/// Two managers, of which the first one leads.
pub(crate) fn two(ward: &Ward, store: &str) -> [Manager; 2] {
    let database = format!("--db=unix:{}/db.sock", folder(ward));
    let vsctl = |arguments: &[&str]| {
        let status = Command::new("ovs-vsctl").arg(&database).args(arguments).status();
        assert!(status.unwrap().success(), "{arguments:?}");
    };
    let controllers = PORTS.map(|port| format!("tcp:172.31.1.1:{port}"));
    let bridge = Command::new("ovs-vsctl").arg(&database).arg("list-br").output().unwrap();
    let bridge = String::from_utf8(bridge.stdout).unwrap();
    vsctl(&["set-controller", bridge.trim(), &controllers[0], &controllers[1]]);
    for controller in &controllers {
        let set = format!("target=\"{controller}\"");
        let found = Command::new("ovs-vsctl")
            .arg(&database)
            .args(["--bare", "--columns=_uuid", "find", "controller", &set])
            .output();
        let found = String::from_utf8(found.unwrap().stdout).unwrap();
        vsctl(&["set", "controller", found.trim(), "max_backoff=1000", "connection_mode=out-of-band"]);
    }
    let first = Manager::start(ward, store, "log-0", PORTS[0]);
    patiently("a leader", || (first.says(LEADS) == 1).then_some(()));
    let second = Manager::start(ward, store, "log-1", PORTS[1]);
    patiently("one that stands by", || (second.says("stands by: ") == 1).then_some(()));
    patiently("the switch at both", || PORTS.iter().all(|port| connected(ward, *port) == 1).then_some(()));
    [first, second]
}

#[test]
fn a_leader_that_was_stopped_for_a_while_changes_nothing_and_stands_by() {
    let Some((_turn, ward)) = ward_for_etcd(&with_gates(NETWORK)) else { return };
    let etcd = etcd_of(&ward, &[]);
    let managers = two(&ward, &etcd.url());
    with_flow(&ward, |check| {
        managers[0].signal(Signal::SIGSTOP);
        patiently("another leader", || (managers[1].says(LEADS) == 1).then_some(()));
        managers[0].signal(Signal::SIGCONT);
        patiently("that it stands by", || {
            managers[0].log().contains("gives switches and gates up").then_some(())
        });
        stays(check);
        assert_eq!(managers[0].says(LEADS), 1, "{}", managers[0].log());
    });
}

#[test]
fn an_etcd_that_is_away_for_a_while_costs_no_sample_and_admits_nobody() {
    let Some((_turn, ward)) = ward_for_etcd(&with_gates(NETWORK)) else { return };
    let mut etcd = etcd_of(&ward, &[]);
    let managers = two(&ward, &etcd.url());
    with_flow(&ward, |check| {
        etcd.kill();
        patiently("doubt", || managers[0].log().contains("gives switches and gates up").then_some(()));
        assert!(managers[0].log().contains("etcd cannot be reached"), "{}", managers[0].log());
        let reader = ward.reader("display", "Late", 5 * MILLISECOND);
        let writer = ward.writer("camera", "Late", 1_000, 20 * MILLISECOND);
        stays(check);
        assert!(!is_admitted(&reader), "{:?}", reader.pairs());
        start(&ward, &mut etcd);
        patiently("the late one", || is_admitted(&reader).then_some(()));
        drop((reader, writer));
        patiently("its end", || (ward.flow_entries() == 1).then_some(()));
        stays(check);
    });
}

/// What a manager of an epoch hears of the switch, which connects to it, until the session ends.
fn session_of(ward: &Ward, epoch: u64) -> String {
    let listened =
        ward.lab.on("manager", || std::net::TcpListener::bind("172.31.1.1:6653").unwrap()).unwrap();
    let (mut stream, _) = listened.accept().unwrap();
    stream.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    let began = Instant::now();
    let mut session = Session::new(began.elapsed()).of_master(epoch);
    let mut piece = vec![0; 16_384];
    while began.elapsed() < Duration::from_secs(60) {
        let output = session.output().to_vec();
        let _ = stream.write_all(&output);
        session.sent(output.len());
        let mut news = Vec::new();
        match stream.read(&mut piece) {
            Ok(0) => session.closed(began.elapsed(), &mut news),
            Ok(length) => session.input(began.elapsed(), &piece[..length], &mut news),
            Err(_) => session.timeout(began.elapsed(), &mut news),
        }
        for news in news {
            match news {
                News::Down(why) => return why,
                News::Up(_) => return "up".to_owned(),
                _ => {}
            }
        }
    }
    panic!("nothing has come");
}

#[test]
fn a_real_switch_refuses_the_session_of_an_earlier_manager() {
    let Some(_turn) = lab_turn::turn() else { return };
    let mut ward = Ward::new();
    patiently("the switch", || ward.log().contains("has connected").then_some(()));
    ward.kill_manager();
    let refused = session_of(&ward, 1);
    assert!(refused.contains("obeys a manager of a later epoch than 1"), "{refused}");
    assert_eq!(session_of(&ward, u64::MAX >> 1), "up");
}
