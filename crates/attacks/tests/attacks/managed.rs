//! A lab with a manager, a pair that it admits, and a stranger: what is built is made by the project's own labs, what is judged is not.
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use lab::Lab;
use lab_turn::Folder;

use crate::expected::expected;
use crate::place::Place;
use crate::program::{Got, PATIENCE, Program};

const NETWORK: &str = r#"
host-defaults = { queues = 8, ring = 0 }
[[host]]
name = "camera"
[[host]]
name = "display"
[[host]]
name = "manager"
manager = true
[[host]]
name = "stranger"
[[switch]]
name = "s1"
model = "gated"
[[link]]
ends = ["camera", "s1:1"]
[[link]]
ends = ["display", "s1:2"]
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

/// How long a verdict holds that nobody repeats (docs/wire.md), and a little.
const LEASE: Duration = Duration::from_secs(7);
/// Longest silence of a flow of 20 samples a second that goes on: half of a lease, as what stops with a verdict stops for longer.
const SILENCE: Duration = Duration::from_secs(3);

/// Bytes of each sample, and how many a second.
pub(crate) const SIZE: usize = 500;
const RATE: usize = 20;

/// It ends with this value, and all that belongs to it.
pub(crate) struct Managed {
    pub(crate) writer: Program,
    pub(crate) reader: Program,
    pub(crate) managers: Vec<Child>,
    pub(crate) folder: Folder,
    pub(crate) lab: Lab,
}

impl Managed {
    /// With an admitted pair whose samples come.
    pub(crate) fn new() -> Self {
        Self::of(NETWORK)
    }

    /// The same with a network file that says which host has which address.
    pub(crate) fn with_addresses() -> Self {
        let of_host =
            |(number, host)| (format!("name = \"{host}\"\n"), format!("address = \"10.1.0.{number}\"\n"));
        let hosts = (1..).zip(["camera", "display", "manager", "stranger"]).map(of_host);
        let text = hosts.fold(NETWORK.to_owned(), |text, (name, address)| {
            text.replacen(&name, &format!("{name}{address}"), 1)
        });
        Self::of(&text)
    }

    fn of(text: &str) -> Self {
        let folder = Folder::new();
        folder.file("ward.toml", text);
        let lab = lab_turn::up(text, Path::new(env!("CARGO_BIN_EXE_punctual-attacks-command")));
        let (camera, display) = (place(&lab, "camera"), place(&lab, "display"));
        let managers = vec![manager(&lab, &folder, "grants", "log")];
        let reader = Program::start("the reader", &display, "sub Assured interface=eth0 within=20");
        let writer = Program::start("the writer", &camera, "pub Assured interface=eth0 every=20");
        let mut managed = Self { writer, reader, managers, folder, lab };
        managed.reader.wait("pair Admitted Assured");
        managed.writer.wait("matched 1");
        managed.writer.tell(&format!("flow {RATE} {SIZE}"));
        managed.reader.wait("got 1 ");
        managed
    }

    /// A place that is a host of the lab.
    pub(crate) fn host(&self, name: &str) -> Place {
        place(&self.lab, name)
    }

    /// The address of a host.
    pub(crate) fn address(&self, host: &str) -> Ipv4Addr {
        self.lab.host_address(host).unwrap()
    }

    /// Ends the managers at once, as a crash does.
    pub(crate) fn kill_managers(&mut self) {
        for mut manager in self.managers.drain(..) {
            let _ = manager.kill();
            let _ = manager.wait();
        }
    }

    /// Starts another manager with a store of this name, or `none`; what it says goes to a file.
    pub(crate) fn start_manager(&mut self, store: &str, log: &str) {
        self.managers.push(manager(&self.lab, &self.folder, store, log));
    }

    /// The same at any host, with any options.
    pub(crate) fn start_manager_at(&mut self, host: &str, options: &[&str], log: &str) {
        self.managers.push(manager_at(&self.lab, &self.folder, host, options, log));
    }

    /// True if all managers run.
    pub(crate) fn managers_live(&mut self) -> bool {
        self.managers.iter_mut().all(|manager| manager.try_wait().unwrap().is_none())
    }

    /// Where a file of the managers is.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.0.join(name)
    }

    /// What a manager has said until now.
    pub(crate) fn log(&self, name: &str) -> String {
        std::fs::read_to_string(self.file(name)).unwrap()
    }

    /// How long it takes until a sample comes that was written from now on; it must come.
    pub(crate) fn goes_on_after(&self, what: &str, patience: Duration) -> Duration {
        let (from, known) = (Instant::now(), self.last());
        // What is under way was written before.
        let wanted = known + 2;
        self.reader.until(patience, || self.last() >= wanted);
        assert!(
            self.last() >= wanted,
            "no sample for {patience:?} {what}; the reader was told {:?}",
            self.states()
        );
        from.elapsed()
    }

    /// Waits until the pair has been assured for a whole lease from now on, with samples and without a break: what ran because of a former
    /// manager has ended by then. A break begins that anew.
    pub(crate) fn has_its_pair_again(&mut self, when: &str) {
        let (mut since, end) = (Instant::now(), Instant::now() + PATIENCE * 2);
        while since.elapsed() < LEASE {
            std::thread::sleep(Duration::from_millis(50));
            assert!(self.managers_live(), "{when} the manager has ended");
            let is_assured =
                self.states().last().is_some_and(|state| state.starts_with("pair Admitted Assured"));
            if !is_assured || self.longest_silence(since) > SILENCE {
                since = Instant::now();
            }
            assert!(Instant::now() < end, "not assured {when}; the reader was told {:?}", self.states());
        }
    }

    /// Waits until a lease has passed since an instant: what then runs was admitted anew, or its verdict was repeated.
    pub(crate) fn outlive_a_lease(&self, since: Instant) {
        std::thread::sleep(LEASE.saturating_sub(since.elapsed()));
    }

    /// The pair is assured, and samples have come since an instant without a long break.
    pub(crate) fn assert_assured(&self, since: Instant, when: &str) {
        let (silence, states) = (self.longest_silence(since), self.states());
        assert!(silence <= SILENCE, "no sample for {silence:?} {when}; the reader was told {states:?}");
        assert!(
            states.last().is_some_and(|state| state.starts_with("pair Admitted Assured")),
            "{when}: {states:?}"
        );
    }

    /// The longest time without a sample, from an instant until now.
    fn longest_silence(&self, since: Instant) -> Duration {
        let mut last = since;
        let mut longest = Duration::ZERO;
        for (at, _) in self.reader.samples().into_iter().filter(|(at, _)| *at >= since) {
            longest = longest.max(at - last);
            last = at;
        }
        longest.max(last.elapsed())
    }

    /// The states of the pair that the reader was told of.
    pub(crate) fn states(&self) -> Vec<String> {
        self.reader.said("pair ")
    }

    /// None of the samples is forged.
    pub(crate) fn assert_none_forged(&self) {
        for (_, got) in self.reader.samples() {
            assert_eq!(got, expected(got.number, SIZE), "forged");
        }
    }

    fn last(&self) -> u64 {
        self.reader.samples().last().map_or(0, |(_, Got { number, .. })| *number)
    }
}

impl Drop for Managed {
    fn drop(&mut self) {
        self.kill_managers();
        if std::thread::panicking() {
            // The lab's own folder goes with it.
            eprintln!("the manager said:\n{}", self.log("log"));
        }
    }
}

fn place(lab: &Lab, host: &str) -> Place {
    Place::of(lab.on(host, || std::fs::File::open("/proc/thread-self/ns/net").unwrap()).unwrap())
}

fn manager(lab: &Lab, folder: &Folder, store: &str, log: &str) -> Child {
    let path = folder.0.join(store);
    let store = if store == "none" { store } else { path.to_str().unwrap() };
    manager_at(lab, folder, "manager", &["--lab", "--store", store], log)
}

fn manager_at(lab: &Lab, folder: &Folder, host: &str, options: &[&str], log: &str) -> Child {
    let mut command = lab.command(host, env!("CARGO_BIN_EXE_punctual-attacks-command")).unwrap();
    command.arg("grm").arg(folder.0.join("ward.toml")).args(["--interface", "eth0"]).args(options);
    told_in(&mut command, &folder.0.join(log))
}

/// Starts a program; what it says goes to the end of a file.
pub(crate) fn told_in(command: &mut Command, log: &Path) -> Child {
    let open = std::fs::OpenOptions::new().create(true).append(true).open(log).unwrap();
    let twin = open.try_clone().unwrap();
    command.stdin(Stdio::null()).stdout(open).stderr(twin).spawn().unwrap()
}
