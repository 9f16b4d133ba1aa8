//! Carries programs out at switches of this machine, by the programs `ovs-ofctl`, `ip` and `tc`.
//!
//! What switches should have is known from what is held. So a change that fails is followed by a comparison with all of it.
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::time::{Duration, Instant};

use linux_edge::backend::Decided;
use linux_edge::entry::Tuple;
use linux_edge::execute::Fault;
use linux_edge::observed::{Delivered, Observed};
use linux_edge::policing::BETWEEN_CHANGES;
use linux_edge::record::{AggregateRecord, FlowRecord};
use system::{Error, finish, program};
use wan::{BackendAnswer, BackendCommand, Holding, LegId};

use crate::domain::Domain;
use crate::edge::{OvsEdge, Together};
use crate::program::{Content, Program};
use crate::record::{read_flow, read_note};
use crate::tables::{FLOW_PACKETS, MARK, NOTES};

/// Programs that are needed, and the Debian packages that bring them.
pub const PROGRAMS: [(&str, &str); 4] =
    [("ovs-ofctl", "openvswitch-common"), ("ip", "iproute2"), ("tc", "iproute2"), ("nsenter", "util-linux")];

/// Where namespaces have their names.
const NAMESPACES: &str = "/run/netns";
/// Bytes of the header of Ethernet, which meters count.
const ETHERNET: u64 = linux_edge::domain::ETHERNET;

/// Where a switch is on this machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Location {
    /// Where its bridge listens for `ovs-ofctl`, such as `unix:/run/openvswitch/br0.mgmt`.
    pub management: String,
    /// The network namespace of its ports; none for the one that this process is in.
    pub namespace: Option<String>,
}

/// The switches of a domain on this machine, in the order of its description.
#[derive(Clone, Debug)]
pub struct Executor {
    switches: Vec<Location>,
}

/// A program that failed.
#[derive(Debug)]
struct Failed {
    switch: usize,
    error: Error,
}

/// A back-end with its switches.
#[derive(Debug)]
pub struct Running {
    edge: OvsEdge,
    executor: Executor,
    /// What switches have is not what they should since this happened.
    unknown: Option<Fault>,
    /// What switches do not hold any more, and is not told yet.
    lost: Vec<(Holding, Fault)>,
    pace: Pace,
}

/// When meters may be changed: the ledger counts with a bucket more each [`BETWEEN_CHANGES`].
#[derive(Debug)]
struct Pace {
    /// An earlier process may have changed any just before.
    began: Instant,
    /// By switch and number.
    changed: BTreeMap<(usize, u32), Instant>,
}

impl Pace {
    fn new() -> Self {
        Self { began: Instant::now(), changed: BTreeMap::new() }
    }

    /// Waits until these meters of a switch may be changed.
    fn wait(&self, switch: usize, meters: &[(u32, String, bool)]) {
        let changes = meters.iter().filter(|(.., is_there)| *is_there).map(|(id, ..)| (switch, *id));
        let last = changes.map(|of| self.changed.get(&of).copied().unwrap_or(self.began)).max();
        let again = last.map(|last| last + Duration::from_nanos(BETWEEN_CHANGES));
        std::thread::sleep(again.unwrap_or(self.began).saturating_duration_since(Instant::now()));
    }

    /// This meter of a switch has been changed by now, or may have been.
    fn changed(&mut self, switch: usize, id: u32) {
        self.changed.insert((switch, id), Instant::now());
    }

    /// These meters are no more.
    fn forget(&mut self, switch: usize, gone: &[u32]) {
        for id in gone {
            self.changed.remove(&(switch, *id));
        }
    }
}

impl Executor {
    /// Of switches at these places.
    pub fn new(switches: Vec<Location>) -> Self {
        Self { switches }
    }

    fn location(&self, switch: usize) -> Result<&Location, Failed> {
        let missing = || Error::new(format!("switch {switch} is not on this machine"), "");
        self.switches.get(switch).ok_or_else(|| Failed { switch, error: missing() })
    }

    /// Asks a switch something; what it says.
    fn ask(&self, switch: usize, words: &[&str], input: Option<&str>) -> Result<String, Failed> {
        let management = &self.location(switch)?.management;
        let mut command = program("ovs-ofctl");
        command.args(["-O", "OpenFlow14", "--names", "--timeout=10"]);
        let (verb, rest) = words.split_first().unwrap_or((&"", &[]));
        let (verb, bundle) = verb.strip_suffix('+').map_or((*verb, None), |verb| (verb, Some("--bundle")));
        command.args(bundle).arg(verb).arg(management).args(rest);
        finish(&mut command, input).map_err(|error| Failed { switch, error })
    }

    fn in_namespace(&self, switch: usize, name: &str, words: &[&str], input: &str) -> Result<String, Failed> {
        let mut command = match &self.location(switch)?.namespace {
            None => program(name),
            Some(namespace) => {
                let mut command = program("nsenter");
                command.arg(format!("--net={NAMESPACES}/{namespace}")).arg("--").arg(name);
                command
            }
        };
        finish(command.args(words), Some(input)).map_err(|error| Failed { switch, error })
    }

    fn apply(&self, switch: usize, program: &Program, pace: &mut Pace) -> Result<(), Failed> {
        pace.wait(switch, &program.meters);
        for (id, text, is_there) in &program.meters {
            let verb = if *is_there { "mod-meter" } else { "add-meter" };
            let done = self.ask(switch, &[verb, text], None);
            // It was changed before the switch said so, and the next change counts from then on.
            if *is_there {
                pace.changed(switch, *id);
            }
            done?;
        }
        if !program.flows.is_empty() {
            // They take effect together, or none does.
            let mut lines = program.flows.join("\n");
            lines.push('\n');
            self.ask(switch, &["add-flows+", "-"], Some(&lines))?;
        }
        for id in &program.gone {
            self.ask(switch, &["del-meters", &format!("meter={id}")], None)?;
        }
        pace.forget(switch, &program.gone);
        Ok(())
    }

    /// Meters that a switch has, as [`Content`] says them.
    fn meters(&self, switch: usize) -> Result<BTreeMap<u32, String>, Failed> {
        Ok(read_meters(&self.ask(switch, &["dump-meters"], None)?))
    }

    /// Gives a switch what it should have, and nothing else.
    fn replace(&self, switch: usize, wanted: &Content, pace: &mut Pace) -> Result<(), Failed> {
        let there = Content { meters: self.meters(switch)?, ..Content::default() };
        let Program { meters, gone, .. } = there.change(wanted);
        self.apply(switch, &Program { meters, ..Program::default() }, pace)?;
        self.ask(switch, &["replace-flows+", "-"], Some(&wanted.file()))?;
        self.apply(switch, &Program { gone, ..Program::default() }, pace)
    }

    /// Sets up all switches of a domain, which have their ports already.
    fn set_up(&self, edge: &OvsEdge, pace: &mut Pace) -> Result<(), Failed> {
        for switch in 0..self.switches.len() {
            let mut lines = String::new();
            for (interface, wire) in edge.interfaces(switch) {
                // Writing to a text cannot fail.
                let _ = writeln!(lines, "link set dev {interface} mtu {} up", wire.mtu);
            }
            self.in_namespace(switch, "ip", &["-batch", "-"], &lines)?;
            self.queue(switch, edge)?;
        }
        // The mark comes with the flows, when all else is there.
        (0..self.switches.len()).try_for_each(|switch| self.replace(switch, &edge.wanted(switch), pace))
    }

    /// Takes away all flows, meters and queues; ports and bridges stay. What is not there is no error.
    ///
    /// # Errors
    /// The first switch that has flows still, or cannot be asked.
    pub fn clear(&self, domain: &Domain) -> Result<(), Fault> {
        let edge = OvsEdge::new(domain.clone()).map_err(of_description)?;
        for switch in 0..self.switches.len() {
            self.unqueue(switch, &edge);
            let cleared = self.replace(switch, &Content::default(), &mut Pace::new());
            cleared.map_err(|failed| failed.at(domain))?;
        }
        Ok(())
    }

    /// Gives all ports of a switch their queues. Those that are there cannot be replaced, so they go first.
    fn queue(&self, switch: usize, edge: &OvsEdge) -> Result<(), Failed> {
        self.unqueue(switch, edge);
        self.in_namespace(switch, "tc", &["-batch", "-"], &edge.queues(switch)).map(drop)
    }

    /// Whether all ports of a switch have the two disciplines of their queues; classes and filters are not looked at.
    fn is_queued(&self, switch: usize, edge: &OvsEdge) -> Result<bool, Failed> {
        let text = self.in_namespace(switch, "tc", &["qdisc", "show"], "")?;
        Ok(edge.interfaces(switch).iter().all(|(interface, _)| has_queues(&text, interface)))
    }

    fn unqueue(&self, switch: usize, edge: &OvsEdge) {
        for (interface, _) in edge.interfaces(switch) {
            // What is not there is no error.
            let _ = self.in_namespace(switch, "tc", &["qdisc", "del", "dev", interface, "root"], "");
        }
    }

    /// What switches say that they hold, and the marks by which they were set up.
    fn observe(&self) -> Result<Observed, Failed> {
        let mut observed = Observed::default();
        let mut flows: BTreeMap<LegId, (FlowRecord, BTreeSet<Tuple>)> = BTreeMap::new();
        for switch in 0..self.switches.len() {
            for table in NOTES {
                let text = self.ask(switch, &["dump-flows", &format!("table={table}")], None)?;
                for note in text.lines().filter_map(|line| line.split_once("actions=")) {
                    let Some(note) = read_note(note.1.trim()) else { continue };
                    if note.starts_with(MARK) {
                        observed.marks.push(note);
                    } else if let Some(record) = AggregateRecord::read(&note) {
                        observed.aggregates.push(record);
                    } else if let Some((record, tuples)) = read_flow(&note) {
                        flows.entry(record.leg).or_insert((record, BTreeSet::new())).1.extend(tuples);
                    } else {
                        observed.unread.push(format!("a note that says \"{}\"", note.escape_default()));
                    }
                }
            }
        }
        observed.flows =
            flows.into_values().map(|(record, all)| (record, all.into_iter().collect())).collect();
        Ok(observed)
    }

    /// Cookies of flows and numbers of meters that a switch has not as it should; `None` if it has not even its mark.
    fn missing(&self, switch: usize, wanted: &Content) -> Result<Option<BTreeSet<u64>>, Failed> {
        let text = self.ask(switch, &["dump-flows"], None)?;
        let mut there: BTreeMap<(u64, u8), usize> = BTreeMap::new();
        let mut is_marked = false;
        for line in text.lines() {
            let Some(at) = place_of(line) else { continue };
            *there.entry(at).or_default() += 1;
            is_marked |= at == (0, NOTES[0]);
        }
        if !is_marked {
            return Ok(None);
        }
        let mut should: BTreeMap<(u64, u8), usize> = BTreeMap::new();
        for ((table, ..), flow) in &wanted.flows {
            *should.entry((flow.cookie, *table)).or_default() += 1;
        }
        let all: BTreeSet<(u64, u8)> = should.keys().chain(there.keys()).copied().collect();
        let other = all.into_iter().filter(|at| should.get(at) != there.get(at));
        let mut missing: BTreeSet<u64> = other.map(|(cookie, _)| cookie).collect();
        let meters = self.meters(switch)?;
        for (id, _) in wanted.meters.iter().filter(|(id, text)| meters.get(id) != Some(*text)) {
            let needs = |actions: &str| actions.starts_with(&format!("meter:{id},"));
            missing.extend(wanted.flows.values().filter(|flow| needs(&flow.actions)).map(|flow| flow.cookie));
        }
        Ok(Some(missing))
    }
}

/// Whether an interface has both disciplines, by what `tc qdisc show` prints.
fn has_queues(text: &str, interface: &str) -> bool {
    let has = |begin: String| text.lines().any(|line| line.starts_with(&begin));
    has(format!("qdisc htb 1: dev {interface} root "))
        && has(format!("qdisc htb 2: dev {interface} parent 1:1 "))
}

/// The cookie and the table of a flow as `ovs-ofctl` prints it.
fn place_of(line: &str) -> Option<(u64, u8)> {
    let field = |name: &str| line.split([' ', ',']).find_map(|word| word.strip_prefix(name));
    let cookie = u64::from_str_radix(field("cookie=0x")?, 16).ok()?;
    Some((cookie, field("table=").map_or(Some(0), |table| table.parse().ok())?))
}

/// Meters as they are set, from what `dump-meters` prints.
fn read_meters(text: &str) -> BTreeMap<u32, String> {
    let words = text.split_whitespace().filter(|word| !word.starts_with("OFPST_") && !word.starts_with('('));
    let (mut meters, mut id, mut words_of) = (BTreeMap::new(), None, Vec::new());
    let mut put = |id: Option<u32>, words: &mut Vec<&str>| {
        if let Some(id) = id {
            // The band stands on a line of its own.
            let text = words.join(" ").replace("bands= ", "bands=");
            meters.insert(id, text);
        }
        words.clear();
    };
    for word in words {
        if let Some(number) = word.strip_prefix("meter=") {
            put(id, &mut words_of);
            id = number.parse().ok();
        }
        if word != "reply" {
            words_of.push(word);
        }
    }
    put(id, &mut words_of);
    meters
}

/// Frames and bytes that meters have let through, from what `meter-stats` prints.
fn read_passed(text: &str) -> BTreeMap<u32, Delivered> {
    let mut passed = BTreeMap::new();
    let mut id = None;
    for line in text.lines() {
        let number = |name: &str| {
            line.split_whitespace().find_map(|word| word.strip_prefix(name)?.parse::<u64>().ok())
        };
        if let Some(number_of) = number("meter:") {
            id = u32::try_from(number_of).ok();
            let (packets, bytes) = (number("packet_in_count:"), number("byte_in_count:"));
            if let Some((id, (packets, bytes))) = id.zip(packets.zip(bytes)) {
                passed.insert(id, Delivered { packets, bytes });
            }
        } else if let Some(of) = id.and_then(|id| passed.get_mut(&id)) {
            of.packets = of.packets.saturating_sub(number("packet_count:").unwrap_or(0));
            of.bytes = of.bytes.saturating_sub(number("byte_count:").unwrap_or(0));
        }
    }
    passed
}

impl Failed {
    fn at(&self, domain: &Domain) -> Fault {
        let switch = domain.plan.routers.get(self.switch);
        let device = switch.map_or_else(|| format!("switch {}", self.switch), |switch| switch.name.clone());
        let said = &self.error.what;
        let said = said.split_once(": ").map_or(said.as_str(), |(_, said)| said);
        Fault { device, what: said.split_whitespace().collect::<Vec<_>>().join(" ") }
    }
}

fn of_description(what: String) -> Fault {
    Fault { device: "the description".to_owned(), what }
}

impl Running {
    /// Takes up what the switches hold, or sets them up if they are not, or are by another description; and what is told about that.
    ///
    /// # Errors
    /// What is wrong with the description, or what a program says.
    pub fn start(domain: Domain, executor: Executor) -> Result<(Self, Vec<String>), Fault> {
        let empty = OvsEdge::new(domain.clone()).map_err(of_description)?;
        let at = |failed: Failed| failed.at(&domain);
        let observed = executor.observe().map_err(at)?;
        let (own, mut ones) = (empty.mark(), observed.marks.iter());
        let is_of_this = observed.marks.len() == domain.plan.routers.len() && ones.all(|one| *one == own);
        let (mut told, mut restored) = (Vec::new(), None);
        let mut pace = Pace::new();
        if is_of_this {
            let (edge, misfits) = OvsEdge::restored(domain.clone(), &observed).map_err(of_description)?;
            restored = misfits.is_empty().then_some(edge);
            told = misfits;
        } else if !observed.marks.is_empty() {
            told.push("switches were set up by another description, or not to the end".to_owned());
        }
        if restored.is_none() && !observed.marks.is_empty() {
            told.push("all switches are set up anew, and hold nothing at first".to_owned());
        }
        let edge = match restored {
            Some(edge) => edge,
            None => {
                executor.set_up(&empty, &mut pace).map_err(at)?;
                empty
            }
        };
        let mut running = Self { edge, executor, unknown: None, lost: Vec::new(), pace };
        // What a manager that was killed has left half done is set right.
        running.make_true()?;
        Ok((running, told))
    }

    /// What it holds.
    pub fn edge(&self) -> &OvsEdge {
        &self.edge
    }

    /// Carries out a command of the manager; its answer holds once this returns.
    ///
    /// # Errors
    /// Why it was not done. What was done of it is taken back; a release is to be tried again.
    pub fn handle(&mut self, command: BackendCommand) -> Result<Option<BackendAnswer>, Fault> {
        self.know()?;
        let mut done = self.told(std::slice::from_ref(&command))?;
        done.pop().unwrap_or(Ok(None))
    }

    /// Carries out several commands of the manager, and tells what came of each. Where a switch does not do what it is told, nothing is done of the
    /// commands that have no result: they are to be carried out one by one, which shows the one that it refuses.
    pub fn handle_together(
        &mut self,
        commands: &[BackendCommand],
    ) -> Vec<Result<Option<BackendAnswer>, Fault>> {
        let mut done = Vec::new();
        while let Some(rest) = commands.get(done.len()..).filter(|rest| !rest.is_empty()) {
            let Ok(results) = self.know().and_then(|()| self.told(rest)) else { break };
            done.extend(results);
        }
        done
    }

    /// Tells switches of as many of these commands as can be told at once. If that fails, nothing of it is done.
    fn told(
        &mut self,
        commands: &[BackendCommand],
    ) -> Result<Vec<Result<Option<BackendAnswer>, Fault>>, Fault> {
        let before = self.edge.clone();
        let Together { decided, programs } = self.edge.together(commands);
        let (executor, pace) = (&self.executor, &mut self.pace);
        let mut programs = programs.iter();
        if let Err(failed) = programs.try_for_each(|(switch, program)| executor.apply(*switch, program, pace))
        {
            let fault = failed.at(self.edge.domain());
            self.edge = before;
            self.unknown = Some(fault.clone());
            // If it cannot be set right now, the next command tries again.
            let _ = self.know();
            return Err(fault);
        }
        let result = |Decided { answer, trouble }| match trouble {
            Some(what) => Err(Fault { device: "the flow".to_owned(), what }),
            None => Ok(answer),
        };
        Ok(decided.into_iter().map(result).collect())
    }

    /// What switches have let in of each flow since they let it in.
    ///
    /// # Errors
    /// They cannot be asked.
    pub fn delivered(&self) -> Result<BTreeMap<LegId, Delivered>, Fault> {
        let mut all: BTreeMap<LegId, Delivered> = BTreeMap::new();
        for switch in 0..self.executor.switches.len() {
            let text = self.executor.ask(switch, &["meter-stats"], None);
            let passed = read_passed(&text.map_err(|failed| failed.at(self.edge.domain()))?);
            for holding in self.edge.held().holdings() {
                let Holding::Flow(leg) = holding else { continue };
                let Some((record, _)) = self.edge.held().flow(leg) else { continue };
                let id = FLOW_PACKETS + u32::from(record.slot);
                let Some(now) = passed.get(&id) else { continue };
                let sum = all.entry(leg).or_default();
                sum.packets = sum.packets.saturating_add(now.packets);
                let headers = now.packets.saturating_mul(ETHERNET);
                sum.bytes = sum.bytes.saturating_add(now.bytes.saturating_sub(headers));
            }
        }
        Ok(all)
    }

    /// Looks whether the switches still have what they should: what is lost is told once.
    ///
    /// # Errors
    /// They cannot be asked.
    pub fn check(&mut self) -> Result<Vec<(Holding, Fault)>, Fault> {
        self.know()?;
        self.make_true()?;
        Ok(self.lost())
    }

    /// What switches have turned out not to hold any more: told once.
    pub fn lost(&mut self) -> Vec<(Holding, Fault)> {
        std::mem::take(&mut self.lost)
    }

    fn know(&mut self) -> Result<(), Fault> {
        if self.unknown.is_some() {
            self.make_true()?;
        }
        Ok(())
    }

    /// Compares all switches with what they should have, sets them right, and says of what flows were missing that it is lost.
    fn make_true(&mut self) -> Result<(), Fault> {
        // What has just failed is no loss: of that, something may be there or not.
        let is_looked_at = self.unknown.is_none();
        for switch in 0..self.executor.switches.len() {
            let wanted = self.edge.wanted(switch);
            let found = self.executor.missing(switch, &wanted);
            let queued = self.executor.is_queued(switch, &self.edge);
            let is_queued = queued.map_err(|failed| self.failed(&failed))?;
            let domain = self.edge.domain().clone();
            let name = domain.plan.routers.get(switch).map_or_else(String::new, |of| of.name.clone());
            let fault = |what: &str| Fault { device: name.clone(), what: what.to_owned() };
            match found.map_err(|failed| self.failed(&failed))? {
                Some(missing) if missing.is_empty() && is_queued => {}
                Some(missing) => {
                    if is_looked_at {
                        // Without a flow of the set-up or a queue it is not known whose packets have not passed.
                        let of = match missing.contains(&0) || !is_queued {
                            true => self.edge.held().holdings().into_iter().collect(),
                            false => self.edge.of_cookies(&missing),
                        };
                        let what = if is_queued {
                            "some of its flows are gone"
                        } else {
                            "queues of its ports are gone"
                        };
                        self.lost.extend(of.into_iter().map(|it| (it, fault(what))));
                    }
                    if !is_queued {
                        let queued = self.executor.queue(switch, &self.edge);
                        queued.map_err(|failed| self.failed(&failed))?;
                    }
                    let replaced = self.executor.replace(switch, &wanted, &mut self.pace);
                    replaced.map_err(|failed| self.failed(&failed))?;
                }
                None => {
                    // It has forgotten all.
                    let all = self.edge.held().holdings().into_iter();
                    self.lost.extend(all.map(|it| (it, fault("its flows are gone"))));
                    self.edge = OvsEdge::new(domain).map_err(of_description)?;
                    self.unknown = Some(fault("its flows are gone"));
                    let set_up = self.executor.set_up(&self.edge, &mut self.pace);
                    set_up.map_err(|failed| self.failed(&failed))?;
                }
            }
        }
        self.unknown = None;
        Ok(())
    }

    fn failed(&mut self, failed: &Failed) -> Fault {
        let fault = failed.at(self.edge.domain());
        self.unknown.get_or_insert_with(|| fault.clone());
        fault
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_switches_print_is_read() {
        let text = "OFPST_METER_CONFIG reply (OF1.4) (xid=0x2):\nmeter=1 kbps burst stats bands=\ntype=drop rate=2000 burst_size=24\n\n\
                    meter=65537 pktps burst stats bands=\ntype=drop rate=38 burst_size=2\n";
        let meters = read_meters(text);
        assert_eq!(
            meters.into_values().collect::<Vec<_>>(),
            [
                "meter=1 kbps burst stats bands=type=drop rate=2000 burst_size=24",
                "meter=65537 pktps burst stats bands=type=drop rate=38 burst_size=2"
            ]
        );
        let text = "OFPST_METER reply (OF1.4) (xid=0x2):\nmeter:1 flow_count:1 packet_in_count:4600 byte_in_count:4793200 duration:12.775s \
                    bands:\n0: packet_count:3046 byte_count:3173932\n";
        let passed = read_passed(text);
        assert_eq!(passed.get(&1), Some(&Delivered { packets: 1_554, bytes: 1_619_268 }));
        let line = " cookie=0x100000001, duration=0.063s, table=2, n_packets=0, priority=10,mpls actions=goto_table:3";
        assert_eq!(place_of(line), Some((0x1_0000_0001, 2)));
        assert_eq!(place_of("OFPST_FLOW reply"), None);
        let text = "qdisc htb 1: dev core0 root refcnt 3 r2q 10 default 0x1 direct_packets_stat 0 direct_qlen 1000\n\
                    qdisc htb 2: dev core0 parent 1:1 r2q 10 default 0x5 direct_packets_stat 0 direct_qlen 1000\n\
                    qdisc htb 1: dev edge0 root refcnt 3 r2q 10 default 0x1 direct_packets_stat 0 direct_qlen 1000\n";
        assert_eq!(["core0", "edge0", "core"].map(|name| has_queues(text, name)), [true, false, false]);
    }
}
