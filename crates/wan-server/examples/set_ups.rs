//! How many sessions a second three managers set up through one another, and how long one takes from its request to the answer.
//!
//! `set_ups [SESSIONS [AT A TIME]]` starts the three domains of `examples/wan`, each with its store on the disk, in processes of `domain_manager`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use keys::{Authority, Role};
use wan_server::Client;
use wan_server::protocol::{Answer, Ask, Flow, SessionAsked};

const FILES: [(u32, &str, &str); 3] = [
    (65_001, "west", include_str!("wan/west.toml")),
    (65_002, "transit", include_str!("wan/transit.toml")),
    (65_003, "east", include_str!("wan/east.toml")),
];

/// The managers, which end with it, and their folder.
struct Managers {
    folder: std::path::PathBuf,
    children: Vec<Child>,
}

impl Drop for Managers {
    fn drop(&mut self) {
        for child in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn client(folder: &Path, asn: u32) -> Option<Client> {
    Client::open(&folder.join(format!("punctual-rm/{asn}.sock"))).unwrap()
}

/// All managers know each other. This is no test: what does not come is seen by who waits.
fn wait(folder: &Path) {
    let is_connected = |asn: u32| {
        let mut client = client(folder, asn)?;
        client.ask(&Ask::Status).ok()?;
        match client.answer::<Answer>().ok()?? {
            Answer::Status(status) => status.managers.iter().all(|other| other.is_connected).then_some(()),
            _ => None,
        }
    };
    while !FILES.iter().all(|(asn, _, _)| is_connected(*asn).is_some()) {
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn main() {
    let number = |at: usize, otherwise: usize| {
        std::env::args().nth(at).map_or(otherwise, |text| text.parse().expect("a number"))
    };
    let (sessions, at_a_time) = (number(1, 1_000), number(2, 64));
    let folder = std::env::current_dir().unwrap().join(format!("set-ups-{}", std::process::id()));
    std::fs::create_dir(&folder).unwrap();
    let mut managers = Managers { folder, children: Vec::new() };
    let folder = managers.folder.clone();
    let authority = Authority::open(&folder.join("keys")).unwrap();
    let manager = std::env::current_exe().unwrap().with_file_name("domain_manager");
    for (asn, name, text) in FILES {
        authority.issue(Role::Domain(asn)).unwrap();
        std::fs::write(folder.join(format!("{name}.toml")), text).unwrap();
        let mut command = Command::new(&manager);
        command.args([
            "serve",
            &format!("{name}.toml"),
            "--keys",
            "keys",
            "--store",
            &format!("{name}.redb"),
        ]);
        command
            .env("XDG_RUNTIME_DIR", &folder)
            .current_dir(&folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        managers.children.push(command.spawn().expect("cargo build --examples makes domain_manager"));
    }
    wait(&folder);
    let flow = Flow {
        kind: "data".to_owned(),
        direction: "forward".to_owned(),
        protocol: 17,
        source_port: 0,
        destination_port: 7_400,
        class: "ef".to_owned(),
        rate: 5_000,
        bucket: 40,
        largest_packet: 40,
        least_rate: 5_000,
        most_loss: wan::ANY_LOSS,
        limit: 25_000_000,
        copies: 1,
        asking: "hop-by-hop".to_owned(),
    };
    let asked = SessionAsked {
        user: "ann".to_owned(),
        service: "alarms".to_owned(),
        caller: "10.1.0.5".parse().unwrap(),
        callees: vec!["10.3.1.7".parse().unwrap()],
        flows: vec![flow],
        lasts: 3_600_000_000_000,
    };
    let (left, times) = (AtomicUsize::new(sessions), Mutex::new(Vec::new()));
    let refused = AtomicUsize::new(0);
    let began = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..at_a_time {
            scope.spawn(|| {
                let mut client = client(&folder, 65_001).unwrap();
                while left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_ok() {
                    let began = Instant::now();
                    client.ask(&Ask::Establish(asked.clone())).unwrap();
                    match client.answer::<Answer>().unwrap() {
                        Some(Answer::Admitted(_)) => times.lock().unwrap().push(began.elapsed()),
                        other => {
                            if refused.fetch_add(1, Relaxed) == 0 {
                                eprintln!("{other:?}");
                            }
                        }
                    }
                }
            });
        }
    });
    let took = began.elapsed();
    let mut times = times.into_inner().unwrap();
    times.sort_unstable();
    let at = |share: usize| times[(times.len() * share / 100).min(times.len() - 1)].as_micros();
    println!(
        "{} sessions admitted, {} refused, {at_a_time} at a time: {:.0} a second; from request to answer median {} us, p90 {} us, p99 {} us, longest {} us",
        times.len(),
        refused.load(Relaxed),
        times.len() as f64 / took.as_secs_f64(),
        at(50),
        at(90),
        at(99),
        at(100)
    );
}
