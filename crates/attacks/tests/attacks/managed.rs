//! A lab with a manager, a pair that it admits, and a stranger: what is built is made by the project's own labs, what is judged is not.
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use lab::Lab;
use lab_turn::Folder;
use lab_turn::text::{GATED, Text};
use testkit::patience::patiently;

use crate::expected::{expected, faults};
use crate::place::Place;
use crate::program::{Got, Program};

/// Who is in the lab.
const HOSTS: [&str; 4] = ["camera", "display", "manager", "stranger"];

/// Bytes of each sample, and how many a second.
pub(crate) const SIZE: usize = 500;
const RATE: usize = 20;
/// Samples in the 6 s that a verdict holds without being repeated (docs/wire.md), and a few.
const LEASE: u64 = 7 * RATE as u64;
/// Looks, 20 ms apart, without a new sample that a flow of 20 samples a second may have which goes on: half of a lease, as what stops with
/// a verdict stops for longer.
const SILENCE: u32 = 150;

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
        Self::of(&lab_turn::text::star(&HOSTS), None)
    }

    /// The same with a network file that says which host has which address, and with keys for all: manager, switch, gates, and alice, who asks.
    pub(crate) fn secured() -> Self {
        Self::secured_in(&lab_turn::text::star_with_addresses(&HOSTS))
    }

    /// The same with a link between the switches of the writer and of the reader, which is that of the stranger, too: port 3 of the first, port 3 of the second.
    pub(crate) fn secured_over_two_switches() -> Self {
        let mut text =
            Text::new("host-defaults = { queues = 8, ring = 0 }").switch("s1", "gated").switch("s2", "gated");
        for (number, (host, at)) in (1..).zip(HOSTS.iter().zip(["s1:1", "s2:1", "s1:2", "s2:2"])) {
            let manages = if *host == "manager" { "manager = true" } else { "" };
            text = text.host(host, &format!("address = \"10.1.0.{number}\"\n{manages}"), at);
        }
        Self::secured_in(&text.link("s1:3", "s2:3", "").with(GATED))
    }

    fn secured_in(text: &str) -> Self {
        let folder = Folder::new();
        let keys = folder.0.join("keys");
        let file = folder.file("ward.toml", text);
        let mut command = Command::new(env!("CARGO_BIN_EXE_punctual-attacks-command"));
        command.args(["grm", "keys"]).arg(&keys).args(["user-alice", "--network"]).arg(file);
        assert!(command.output().unwrap().status.success());
        Self::of(text, Some(folder))
    }

    /// `secured` has the keys.
    fn of(text: &str, secured: Option<Folder>) -> Self {
        let keys = secured.as_ref().map(|folder| folder.0.join("keys"));
        let folder = secured.unwrap_or_else(Folder::new);
        folder.file("ward.toml", text);
        let program = Path::new(env!("CARGO_BIN_EXE_punctual-attacks-command"));
        let lab = lab_turn::up_with(text, program, keys.as_deref());
        let (camera, display) = (place(&lab, "camera"), place(&lab, "display"));
        let managers = vec![manager(&lab, &folder, "grants", "log")];
        let key = key(&folder);
        let words = format!("sub Assured interface=eth0 within=20{key}");
        let reader = Program::start("the reader", &display, &words);
        let words = format!("pub Assured interface=eth0 every=20{key}");
        let writer = Program::start("the writer", &camera, &words);
        let mut managed = Self { writer, reader, managers, folder, lab };
        managed.reader.wait("pair Admitted Assured");
        managed.writer.wait("matched 1");
        managed.writer.tell(&format!("flow {RATE} {SIZE}"));
        managed.reader.wait("got 1 ");
        managed
    }

    /// Another pair, of a writer on a host and a reader on another one, that is admitted and whose samples come.
    pub(crate) fn pair(&self, topic: &str, [from, to]: [&str; 2]) -> [Program; 2] {
        let key = key(&self.folder);
        let words = format!("sub {topic} interface=eth0 within=20{key}");
        let reader = Program::start("the other reader", &self.host(to), &words);
        let words = format!("pub {topic} interface=eth0 every=20{key}");
        let mut writer = Program::start("the other writer", &self.host(from), &words);
        reader.wait("pair Admitted Assured");
        writer.wait("matched 1");
        writer.tell(&format!("flow {RATE} {SIZE}"));
        reader.wait("got 1 ");
        [writer, reader]
    }

    /// Waits until a line of the manager's log has all of these words in it.
    pub(crate) fn is_told(&self, what: &str, words: &[&str]) {
        let is_there = |line: &str| words.iter().all(|word| line.contains(word));
        patiently(&format!("a line about {what} with {words:?} in the log"), || {
            self.log("log").lines().any(is_there).then_some(())
        });
    }

    /// The pair is assured, goes on, and none of its samples is forged, or lost until now.
    pub(crate) fn assert_unharmed(&self, what: &str) {
        self.goes_on(what);
        let states = self.states();
        assert!(
            states.iter().skip_while(|state| !state.starts_with("pair Admitted Assured")).count() == 1,
            "{what}: {states:?}"
        );
        let got: Vec<Got> = self.reader.samples().into_iter().map(|(_, got)| got).collect();
        assert_eq!(faults(&got, self.last(), SIZE), [""; 0], "{what}");
    }

    /// The GUID of the manager's participant, by its log.
    pub(crate) fn manager_guid(&self) -> [u8; 16] {
        let log = self.log("log");
        let (_, rest) = log.rsplit_once(" own=").unwrap();
        let prefix = (0..12).map(|at| u8::from_str_radix(&rest[2 * at..][..2], 16).unwrap());
        // RTPS 2.5, table 9.2: ENTITYID_PARTICIPANT.
        let guid: Vec<u8> = prefix.chain([0, 0, 1, 0xc1]).collect();
        guid.try_into().unwrap()
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

    /// Waits for a sample that was written from now on.
    pub(crate) fn goes_on(&self, what: &str) {
        // What is under way was written before.
        let wanted = self.last() + 2;
        patiently(&format!("a sample {what}"), || (self.last() >= wanted).then_some(()));
    }

    /// Waits until the pair has been assured for a whole lease from now on, with samples and without a break: what ran because of a former
    /// manager has ended by then. A break begins that anew.
    pub(crate) fn has_its_pair_again(&mut self, when: &str) {
        let mut silence = Silence::new(self);
        let mut from = self.last();
        patiently(&format!("an assured pair {when}"), || {
            assert!(self.managers_live(), "{when} the manager has ended");
            if !self.is_assured() || silence.looks(self) > SILENCE {
                (from, silence) = (self.last(), Silence::new(self));
            }
            (self.last() >= from + LEASE).then_some(())
        });
    }

    /// Asks until there is an answer; meanwhile the managers run, and the samples of the pair come without a long break.
    pub(crate) fn meanwhile<T>(&mut self, what: &str, mut ask: impl FnMut(&Self) -> Option<T>) -> T {
        let mut silence = Silence::new(self);
        patiently(what, || {
            assert!(self.managers_live(), "{what}: the manager has ended: {}", self.log("log"));
            let looks = silence.looks(self);
            assert!(
                looks <= SILENCE,
                "{what}: no sample in {looks} looks; the reader was told {:?}",
                self.states()
            );
            ask(self)
        })
    }

    /// The pair is assured, and stays so with samples for a whole lease: what then runs was admitted anew, or its verdict was repeated.
    pub(crate) fn stays_assured(&mut self, when: &str) {
        let wanted = self.last() + LEASE;
        self.meanwhile(&format!("samples of a lease {when}"), |managed| {
            (managed.last() >= wanted).then_some(())
        });
        assert!(self.is_assured(), "{when}: {:?}", self.states());
    }

    fn is_assured(&self) -> bool {
        self.states().last().is_some_and(|state| state.starts_with("pair Admitted Assured"))
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

/// How often one has looked for a new sample in vain.
struct Silence {
    last: u64,
    looks: u32,
}

impl Silence {
    fn new(managed: &Managed) -> Self {
        Self { last: managed.last(), looks: 0 }
    }

    /// Looks once more; how often in vain since the last sample.
    fn looks(&mut self, managed: &Managed) -> u32 {
        let last = managed.last();
        self.looks = if last == self.last { self.looks + 1 } else { 0 };
        self.last = last;
        self.looks
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

/// The words of a program that signs, where there are keys.
fn key(folder: &Folder) -> String {
    let keys = folder.0.join("keys");
    if keys.exists() { format!(" keys={} user=alice", keys.display()) } else { String::new() }
}

fn manager(lab: &Lab, folder: &Folder, store: &str, log: &str) -> Child {
    let path = folder.0.join(store);
    let store = if store == "none" { store } else { path.to_str().unwrap() };
    manager_at(lab, folder, "manager", &["--lab", "--store", store], log)
}

fn manager_at(lab: &Lab, folder: &Folder, host: &str, options: &[&str], log: &str) -> Child {
    let mut command = lab.command(host, env!("CARGO_BIN_EXE_punctual-attacks-command")).unwrap();
    command.arg("grm").arg(folder.0.join("ward.toml")).args(["--interface", "eth0"]).args(options);
    let keys = folder.0.join("keys");
    if keys.exists() {
        command.arg("--keys").arg(keys);
    }
    told_in(&mut command, &folder.0.join(log))
}

/// Starts a program; what it says goes to the end of a file.
pub(crate) fn told_in(command: &mut Command, log: &Path) -> Child {
    let open = std::fs::OpenOptions::new().create(true).append(true).open(log).unwrap();
    let twin = open.try_clone().unwrap();
    command.stdin(Stdio::null()).stdout(open).stderr(twin).spawn().unwrap()
}
