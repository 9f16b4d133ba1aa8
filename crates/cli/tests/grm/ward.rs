//! A lab with a manager, and participants on its hosts.
use std::net::IpAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::Arc;

use credentials::KeyFolder;
use dds::assurance::PairAssurance;
use dds::config::{Config, Family, Given, Interfaces};
use dds::qos::{
    DataReaderQos, DataWriterQos, History, OfferedAssurance, Reliability, RequestedAssurance, WhenRefused,
};
use dds::{
    DataReader, DataWriter, DdsType, DomainParticipant, DomainParticipantFactory, NO_STATUS, QosKind, States,
};
use lab::Lab;
use lab_turn::Folder;
use lab_turn::text::GATED;
pub(crate) use testkit::patience::patiently;

/// A writer, a reader and a manager at a switch with gates.
pub(crate) const NETWORK: &str = r#"
[[host]]
name = "camera"
[[host]]
name = "display"
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
[[link]]
ends = ["manager", "s1:3"]
"#;

/// The whole text of a network of such switches.
pub(crate) fn with_gates(network: &str) -> String {
    format!("host-defaults = {{ queues = 8, ring = 0 }}\n{network}{GATED}")
}

/// The same with meters in place of gates.
pub(crate) fn with_meters(gated: &str) -> String {
    let meters =
        "meters = { count = 64, precision = \"1 kb/s\", burst-precision = 1_000, counts = \"frame\" }";
    gated.replace("gates = {}", meters)
}

/// What is written.
#[derive(DdsType, Clone, Debug, Default)]
pub(crate) struct Picture {
    number: u32,
    bytes: Vec<u8>,
}

/// The lab with its manager.
pub(crate) struct Ward {
    pub(crate) lab: Lab,
    manager: Option<Child>,
    folder: Folder,
    keys: Option<PathBuf>,
    /// What the manager is told besides.
    arguments: &'static [&'static str],
    /// The interface of hosts at which manager and participants are.
    interface: &'static str,
}

impl Ward {
    pub(crate) fn new() -> Self {
        Self::of(&with_gates(NETWORK))
    }

    /// The same with another network, whose hosts `manager` and `display` are there.
    pub(crate) fn of(text: &str) -> Self {
        Self::told(text, &[])
    }

    /// The same with a flow file.
    pub(crate) fn described(text: &str, flows: &str) -> Self {
        let folder = Folder::new();
        folder.file("ward.toml", text);
        folder.file("flows.toml", flows);
        let lab = lab_turn::up(text, Path::new(env!("CARGO_BIN_EXE_punctual")));
        Self::with(lab, folder, None, &[])
    }

    /// The same with more arguments for the manager.
    pub(crate) fn told(text: &str, arguments: &'static [&'static str]) -> Self {
        let folder = Folder::new();
        folder.file("ward.toml", text);
        let lab = lab_turn::up(text, Path::new(env!("CARGO_BIN_EXE_punctual")));
        Self::with(lab, folder, None, arguments)
    }

    /// The same with keys for the manager, the switches, the gates, and alice, who asks; and with a policy.
    pub(crate) fn secured(text: &str, policy: &str) -> Self {
        Self::secured_and_told(text, policy, None, &[])
    }

    /// The same with a token of the page, and with more arguments for the manager.
    pub(crate) fn secured_and_told(
        text: &str,
        policy: &str,
        token: Option<&str>,
        arguments: &'static [&'static str],
    ) -> Self {
        let folder = Folder::new();
        let (file, keys) = (folder.file("ward.toml", text), folder.0.join("keys"));
        let program = Path::new(env!("CARGO_BIN_EXE_punctual"));
        let mut made = Command::new(program);
        let made = made.args(["grm", "keys"]).arg(&keys).args(["user-alice", "--network"]).arg(file).status();
        assert!(made.unwrap().success());
        folder.file("policy.toml", policy);
        if let Some(token) = token {
            let path = folder.file("token", token);
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
        }
        let lab = lab_turn::up_with(text, program, Some(&keys));
        Self::with(lab, folder, Some(keys), arguments)
    }

    /// The same at another interface of hosts, which the test makes once the lab is there.
    pub(crate) fn at(text: &str, interface: &'static str, make: impl FnOnce(&Self)) -> Self {
        let mut ward = Self::unmanaged(text);
        ward.interface = interface;
        make(&ward);
        ward.start_manager();
        ward
    }

    /// The same, whose managers the test starts.
    pub(crate) fn unmanaged(text: &str) -> Self {
        let folder = Folder::new();
        folder.file("ward.toml", text);
        let lab = lab_turn::up(text, Path::new(env!("CARGO_BIN_EXE_punctual")));
        Self { lab, manager: None, folder, keys: None, arguments: &[], interface: "eth0" }
    }

    fn with(lab: Lab, folder: Folder, keys: Option<PathBuf>, arguments: &'static [&'static str]) -> Self {
        let mut ward = Self { lab, manager: None, folder, keys, arguments, interface: "eth0" };
        ward.start_manager();
        ward
    }

    /// The folder with the keys of a secured one.
    pub(crate) fn keys(&self) -> &Path {
        self.keys.as_deref().unwrap()
    }

    /// A name in its folder.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.0.join(name)
    }

    pub(crate) fn start_manager(&mut self) {
        let mut command = self.manager_command("manager", "grants");
        let mut log = std::fs::OpenOptions::new();
        let log = log.create(true).append(true).open(self.folder.0.join("log")).unwrap();
        self.manager = Some(command.arg("--lab").args(self.arguments).stdout(log).spawn().unwrap());
    }

    /// A manager on a host, with a store of this name.
    pub(crate) fn manager_command(&self, host: &str, store: &str) -> Command {
        let mut command = self.lab.command(host, env!("CARGO_BIN_EXE_punctual")).unwrap();
        command.arg("grm").arg(self.folder.0.join("ward.toml"));
        command.args(["--interface", self.interface, "--store"]).arg(self.folder.0.join(store));
        command.args(self.option(host));
        let flows = self.folder.0.join("flows.toml");
        if flows.exists() {
            command.arg("--flows").arg(flows);
        }
        let token = self.file("token");
        if token.exists() {
            command.arg("--web-token").arg(token);
        }
        if let Some(keys) = &self.keys {
            command.arg("--keys").arg(keys).arg("--policy").arg(self.file("policy.toml"));
        }
        command
    }

    /// Deletes the store of a manager that does not run.
    pub(crate) fn forget_store(&self) {
        std::fs::remove_file(self.folder.0.join("grants")).unwrap();
    }

    /// What the manager has written.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.folder.0.join("log")).unwrap()
    }

    /// Changes a switch behind the manager's back.
    pub(crate) fn spoil(&self, switch: &str, arguments: &[&str]) {
        let [what, rest @ ..] = arguments else { panic!("nothing to do") };
        let mut command = Command::new("ovs-ofctl");
        command.args(["-O", "OpenFlow13", what]).arg(self.lab.management(switch).unwrap()).args(rest);
        assert!(command.status().unwrap().success(), "{arguments:?}");
    }

    pub(crate) fn kill_manager(&mut self) {
        if let Some(mut manager) = self.manager.take() {
            let _ = manager.kill();
            let _ = manager.wait();
        }
    }

    /// What `punctual grm status` prints on another host.
    pub(crate) fn status(&self) -> String {
        let mut command = self.lab.command("display", env!("CARGO_BIN_EXE_punctual")).unwrap();
        command.args(["grm", "status", "--interface", self.interface, "--timeout", "20s"]);
        let output = command.args(self.option("display")).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    }

    /// Entries of admitted flows in the switch.
    pub(crate) fn flow_entries(&self) -> usize {
        self.flow_entries_of("s1")
    }

    pub(crate) fn flow_entries_of(&self, switch: &str) -> usize {
        self.entries_of(switch, 60_000)
    }

    /// Entries of the switch with a priority.
    pub(crate) fn entries(&self, priority: u16) -> usize {
        self.entries_of("s1", priority)
    }

    fn entries_of(&self, switch: &str, priority: u16) -> usize {
        let text = self.dump(switch, "dump-flows");
        let wanted = format!("priority={priority},");
        text.lines().filter(|line| line.contains(&wanted)).count()
    }

    /// Groups of a switch that are not that of everything else.
    pub(crate) fn groups_of(&self, switch: &str) -> usize {
        let text = self.dump(switch, "dump-groups");
        text.lines().filter(|line| line.contains("group_id=") && !line.contains("group_id=1,")).count()
    }

    /// Frames that each meter of the switch was given and dropped.
    pub(crate) fn meters(&self) -> Vec<(u64, u64)> {
        let text = self.dump("s1", "meter-stats");
        let number = |line: &str, name: &str| {
            let (_, rest) = line.split_once(name)?;
            rest.split(|character: char| !character.is_ascii_digit()).next()?.parse::<u64>().ok()
        };
        let mut meters: Vec<(u64, u64)> = Vec::new();
        // The limit of what goes to the manager is not of a flow.
        let of_flows = text.split("meter:").skip(1).filter(|text| !text.starts_with("controller"));
        for line in of_flows.flat_map(str::lines) {
            if let Some(given) = number(line, "packet_in_count:") {
                meters.push((given, 0));
            } else if let (Some(dropped), Some(last)) = (number(line, "packet_count:"), meters.last_mut()) {
                last.1 += dropped;
            }
        }
        meters
    }

    /// All that a switch has of flows, groups and meters, without counters, and without what is learned.
    pub(crate) fn content(&self, switch: &str) -> Vec<String> {
        let plain = |line: &str| -> String {
            let counts = ["duration=", "n_packets=", "n_bytes=", "idle_age=", "hard_age="];
            let words = line.split([',', ' ']).filter(|word| !word.is_empty());
            words
                .filter(|word| !counts.iter().any(|count| word.starts_with(count)))
                .collect::<Vec<_>>()
                .join(" ")
        };
        let (flows, groups) = (self.dump(switch, "dump-flows"), self.dump(switch, "dump-groups"));
        let meters = self.dump(switch, "dump-meters");
        let lines = flows.lines().filter(|line| line.contains("table=")).chain(groups.lines().skip(1));
        let lines = lines.chain(meters.lines().skip(1));
        let mut lines: Vec<String> =
            lines.filter(|line| !line.contains("cookie=0x50430100")).map(plain).collect();
        lines.sort_unstable();
        lines
    }

    /// What `ovs-ofctl` says of a switch.
    pub(crate) fn dump(&self, switch: &str, what: &str) -> String {
        let management = self.lab.management(switch).unwrap();
        let mut command = Command::new("ovs-ofctl");
        let output = command.args(["-O", "OpenFlow13", what]).arg(management).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{text}");
        text
    }

    /// Bytes that a host has sent.
    pub(crate) fn bytes_sent(&self, host: &str) -> u64 {
        let devices = self.lab.on(host, || std::fs::read_to_string("/proc/thread-self/net/dev")).unwrap();
        let devices = devices.unwrap();
        let line = devices.lines().find_map(|line| line.trim().strip_prefix("eth0:")).unwrap();
        line.split_whitespace().nth(8).unwrap().parse().unwrap()
    }

    /// Frames that each queue of a port has sent and dropped, the lowest first.
    pub(crate) fn sent(&self, switch: &str, port: u32) -> Vec<(u64, u64)> {
        let text = self.lab.classes(switch, port).unwrap();
        let mut queues = Vec::new();
        let mut minor = None;
        for line in text.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            match words[..] {
                ["class", "htb", id, "parent", ..] => minor = id.strip_prefix("1:"),
                ["Sent", _, "bytes", frames, _, "(dropped", dropped, ..] => {
                    if let Some(minor) = minor.filter(|minor| *minor != "fffe") {
                        let number = |text: &str| text.trim_end_matches(',').parse::<u64>().unwrap();
                        queues.push((minor.to_owned(), (number(frames), number(dropped))));
                    }
                }
                _ => {}
            }
        }
        queues.sort_unstable();
        queues.into_iter().map(|(_, counts)| counts).collect()
    }

    /// The key of the user, if there are keys.
    fn credentials(&self) -> Option<Given> {
        let keys = self.keys.as_ref()?;
        Some(Given(Arc::new(KeyFolder::load(keys, "user-alice").unwrap())))
    }

    /// The version of IP that a host has: 6 if it has no other.
    fn family(&self, host: &str) -> Family {
        let addresses = self.lab.host_addresses(host).unwrap();
        if addresses.iter().any(IpAddr::is_ipv4) { Family::V4 } else { Family::V6 }
    }

    /// The same as an option of commands.
    fn option(&self, host: &str) -> Option<&'static str> {
        (self.family(host) == Family::V6).then_some("--ipv6")
    }

    /// On a thread that is on the host of the participant.
    fn join(interface: &str, credentials: Option<Given>, family: Family) -> DomainParticipant {
        let mut config = Config::default();
        config.network.interfaces = Interfaces::Named(vec![interface.to_owned()]);
        config.network.family = family;
        config.assurance.patience = dds::Duration::from_secs(60);
        config.assurance.credentials = credentials;
        let factory = DomainParticipantFactory::get_instance();
        factory.create_participant_with(0, QosKind::Default, &config, None, NO_STATUS).unwrap()
    }

    /// A writer on a host, of samples of so many bytes, at most one in `separation` nanoseconds.
    pub(crate) fn writer(&self, host: &str, topic: &str, bytes: usize, separation: i64) -> Writer {
        let (interface, credentials, family) = (self.interface, self.credentials(), self.family(host));
        let make = || Self::make_writer(Self::join(interface, credentials, family), topic, bytes, separation);
        self.lab.on(host, make).unwrap()
    }

    fn make_writer(participant: DomainParticipant, topic: &str, bytes: usize, separation: i64) -> Writer {
        let kind = participant.create_topic::<Picture>(topic, "Picture", QosKind::Default, None, NO_STATUS);
        let publisher = participant.create_publisher(QosKind::Default, None, NO_STATUS).unwrap();
        let mut qos = DataWriterQos {
            assurance: Some(OfferedAssurance {
                maximum_size: Some(u32::try_from(bytes + 12).unwrap()),
                ..OfferedAssurance::every(dds::Duration::from_nanos(separation))
            }),
            ..publisher.get_default_datawriter_qos()
        };
        // Where a stall of the machine brings samples too close for their gate, those that it drops are still there to be repeated.
        qos.endpoint.history = History::KeepLast(64);
        let writer =
            publisher.create_datawriter(&kind.unwrap(), QosKind::Specific(qos), None, NO_STATUS).unwrap();
        Writer { writer, bytes, participant }
    }

    /// A reader on a host that asks for a latency in nanoseconds, and takes nothing without it.
    pub(crate) fn reader(&self, host: &str, topic: &str, within: i64) -> Reader {
        self.reader_with(host, topic, within, self.credentials())
    }

    /// The same with these keys, or none.
    pub(crate) fn reader_with(
        &self,
        host: &str,
        topic: &str,
        within: i64,
        credentials: Option<Given>,
    ) -> Reader {
        self.reads(host, credentials, topic, latency(within), Reliability::RELIABLE)
    }

    /// The same for a latency that is to allow for losses.
    pub(crate) fn reader_with_losses(&self, host: &str, topic: &str, wanted: RequestedAssurance) -> Reader {
        self.reads(host, self.credentials(), topic, wanted, Reliability::RELIABLE)
    }

    /// The same, and what is lost is not repeated.
    pub(crate) fn best_effort_reader(&self, host: &str, topic: &str, within: i64) -> Reader {
        self.reads(host, self.credentials(), topic, latency(within), Reliability::BEST_EFFORT)
    }

    fn reads(
        &self,
        host: &str,
        credentials: Option<Given>,
        topic: &str,
        wanted: RequestedAssurance,
        reliability: Reliability,
    ) -> Reader {
        let (interface, family) = (self.interface, self.family(host));
        let join = || Self::join(interface, credentials, family);
        self.lab.on(host, || Self::make_reader(join(), topic, wanted, reliability)).unwrap()
    }

    fn make_reader(
        participant: DomainParticipant,
        topic: &str,
        wanted: RequestedAssurance,
        reliability: Reliability,
    ) -> Reader {
        let kind = participant.create_topic::<Picture>(topic, "Picture", QosKind::Default, None, NO_STATUS);
        let subscriber = participant.create_subscriber(QosKind::Default, None, NO_STATUS).unwrap();
        let mut qos = DataReaderQos {
            assurance: Some(RequestedAssurance { when_refused: WhenRefused::Fail, ..wanted }),
            ..subscriber.get_default_datareader_qos()
        };
        qos.endpoint.reliability = reliability;
        qos.endpoint.history = History::KeepAll;
        let reader =
            subscriber.create_datareader(&kind.unwrap(), QosKind::Specific(qos), None, NO_STATUS).unwrap();
        Reader { reader, participant }
    }
}

/// A latency in nanoseconds.
fn latency(within: i64) -> RequestedAssurance {
    RequestedAssurance::within(dds::Duration::from_nanos(within))
}

impl Drop for Ward {
    fn drop(&mut self) {
        self.kill_manager();
        if std::thread::panicking() {
            // Without a manager of its own there is none.
            eprintln!("{}", std::fs::read_to_string(self.file("log")).unwrap_or_default());
        }
    }
}

/// A writer and its participant, which ends with it.
pub(crate) struct Writer {
    writer: DataWriter<Picture>,
    bytes: usize,
    participant: DomainParticipant,
}

impl Writer {
    pub(crate) fn write(&self) {
        self.writer.write(&Picture { number: 1, bytes: vec![7; self.bytes] }).unwrap();
    }

    pub(crate) fn matched(&self) -> usize {
        self.writer.get_matched_subscriptions().len()
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        leave(&self.participant);
    }
}

/// A reader and its participant, which ends with it.
pub(crate) struct Reader {
    reader: DataReader<Picture>,
    participant: DomainParticipant,
}

impl Reader {
    pub(crate) fn pairs(&self) -> Vec<PairAssurance> {
        self.reader.assurance()
    }

    pub(crate) fn take(&self) -> usize {
        self.reader.take(100, States::ANY).unwrap().iter().filter(|sample| sample.data.is_some()).count()
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        leave(&self.participant);
    }
}

fn leave(participant: &DomainParticipant) {
    let _ = participant.delete_contained_entities();
    let _ = DomainParticipantFactory::get_instance().delete_participant(participant);
}
