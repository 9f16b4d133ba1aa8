//! Networks that are drawn at random, as a network file says them.
use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::draw::Draw;
use crate::messages::{Framing, Samples, on_wire};

/// Bits per second of links.
const RATES: [u64; 8] = [
    10_000_000,
    25_000_000,
    100_000_000,
    250_000_000,
    1_000_000_000,
    2_500_000_000,
    5_000_000_000,
    10_000_000_000,
];
/// Picoseconds in a second.
const SECOND: u64 = 1_000_000_000_000;
const MICROSECOND: u64 = 1_000_000;

/// What a switch holds publishers to their contracts with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Guards {
    None,
    Gates { precision: u64 },
    Meters { counts_wire: bool },
}

#[derive(Clone, Debug)]
pub(crate) struct Model {
    pub(crate) queues: u64,
    pub(crate) least: u64,
    pub(crate) most: u64,
    pub(crate) keeps_order: bool,
    pub(crate) overhead: u64,
    pub(crate) mtu: u64,
    pub(crate) preemption: bool,
    pub(crate) buffer: u64,
    pub(crate) buffer_per_queue: bool,
    pub(crate) guards: Guards,
}

#[derive(Clone, Debug)]
pub(crate) struct Host {
    pub(crate) queues: u64,
    pub(crate) best_effort: bool,
}

/// A cable between two nodes: hosts come first, then switches.
#[derive(Clone, Debug)]
pub(crate) struct Cable {
    pub(crate) ends: [usize; 2],
    pub(crate) rate: u64,
    pub(crate) propagation: u64,
    /// Which of its ends take no flows besides those of the file: their ports.
    pub(crate) full: [bool; 2],
}

#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) publisher: usize,
    /// Hosts and their limits.
    pub(crate) subscribers: Vec<(usize, u64)>,
    pub(crate) samples: Samples,
    pub(crate) separation: u64,
    pub(crate) jitter: u64,
    pub(crate) emission: u64,
    pub(crate) slack: u64,
    pub(crate) importance: u64,
    pub(crate) trusted: bool,
    pub(crate) bundle: Option<usize>,
    /// Whether it is sent in a VLAN, in which all hosts are.
    pub(crate) vlan: bool,
    /// Lost frames, in which time, and how long hosts take to react.
    pub(crate) losses: Option<(u64, u64, u64)>,
}

#[derive(Clone, Debug)]
pub(crate) struct Drawn {
    pub(crate) best_effort: bool,
    /// Bytes at once, and bits per second.
    pub(crate) control: Option<(u64, u64)>,
    pub(crate) split: &'static str,
    pub(crate) models: Vec<Model>,
    pub(crate) hosts: Vec<Host>,
    /// The model of each switch.
    pub(crate) switches: Vec<usize>,
    pub(crate) cables: Vec<Cable>,
    pub(crate) flows: Vec<Asked>,
}

impl Drawn {
    /// The network of a seed. Its limits are guesses, some of which hardly any analysis can admit.
    pub(crate) fn of(seed: u64) -> Self {
        let mut draw = Draw::new(seed);
        let best_effort = !draw.one_in(3);
        let controlled = draw.one_in(3);
        let switches = if draw.one_in(3) { 1 } else { usize::try_from(draw.range(2, 6)).unwrap() };
        let pairs = cables_between(switches, &mut draw);
        let models: Vec<Model> =
            (0..draw.range(1, 2)).map(|_| model(best_effort, controlled, &mut draw)).collect();
        let count = usize::try_from(draw.range(2, 8)).unwrap();
        let hosts: Vec<Host> = (0..count)
            .map(|_| {
                let queues = draw.of(&[1, 1, 2, 4, 8, 8]);
                Host { queues, best_effort: best_effort && queues > 1 }
            })
            .collect();
        // Hosts of a line and of one port are where ways are long and meet.
        let at = |host: usize, draw: &mut Draw| match draw.below(3) {
            0 => 0,
            1 => (switches - 1) * (host % 2),
            _ => draw.place(switches),
        };
        let rates = [draw.place(RATES.len()), draw.place(RATES.len())];
        let mixed = draw.one_in(2);
        let cable = |ends: [usize; 2], draw: &mut Draw| {
            let rate = if mixed { RATES[draw.of(&rates)] } else { RATES[rates[0]] };
            let propagation = if draw.one_in(2) { 0 } else { draw.below(MICROSECOND) };
            Cable { ends, rate, propagation, full: [false; 2] }
        };
        let mut cables: Vec<Cable> = Vec::new();
        for host in 0..count {
            let switch = at(host, &mut draw);
            cables.push(cable([host, count + switch], &mut draw));
        }
        cables.extend(pairs.into_iter().map(|(one, other)| cable([count + one, count + other], &mut draw)));
        let slowest = cables.iter().map(|cable| cable.rate).min().unwrap();
        let control = controlled
            .then(|| (draw.range(1_600, 8_000) + 10 * models[0].overhead, slowest / draw.range(15, 200)));
        let switches = (0..switches).map(|_| draw.place(models.len())).collect();
        let split = draw.of(&["load", "last", "even"]);
        let mut drawn =
            Self { best_effort, control, split, models, hosts, switches, cables, flows: Vec::new() };
        drawn.draw_flows(&mut draw);
        drawn.draw_vlans(&mut Draw::new(seed ^ 0x8100));
        if draw.one_in(2) {
            for cable in &mut drawn.cables {
                cable.full = [!draw.one_in(3), !draw.one_in(3)];
            }
        }
        drawn
    }

    fn draw_flows(&mut self, draw: &mut Draw) {
        let count = draw.range(2, 10);
        let load = draw.range(15, 95);
        // One host that many write for, or anybody.
        let meeting = draw.one_in(2).then(|| draw.place(self.hosts.len()));
        let simple = draw.one_in(4);
        while self.flows.len() < usize::try_from(count).unwrap() {
            let publisher = draw.place(self.hosts.len());
            let mut readers: Vec<usize> = (0..self.hosts.len()).filter(|host| *host != publisher).collect();
            let mut chosen = BTreeSet::from([readers[draw.place(readers.len())]]);
            if let Some(meeting) = meeting.filter(|host| *host != publisher) {
                chosen = BTreeSet::from([meeting]);
            } else if !simple && draw.one_in(4) {
                readers.retain(|host| !chosen.contains(host));
                chosen.extend(readers.into_iter().take(2));
            }
            let samples = self.samples(simple, draw);
            let first = self.flows.len();
            self.flows.push(self.flow(publisher, &chosen, samples, count, load, simple, draw));
            if !simple && draw.one_in(12) {
                // Flows that switches cannot tell apart have one way.
                self.flows[first].bundle = Some(first);
                for _ in 0..draw.range(1, 3) {
                    let samples = self.samples(simple, draw);
                    let other = self.flow(publisher, &chosen, samples, count + 2, load, simple, draw);
                    self.flows.push(Asked { bundle: Some(first), ..other });
                }
            }
        }
    }

    /// Flows in a VLAN beside others in a third of the networks; those of a bundle go the same way.
    fn draw_vlans(&mut self, draw: &mut Draw) {
        if !draw.one_in(3) {
            return;
        }
        for index in 0..self.flows.len() {
            let leader = self.flows[index].bundle.filter(|first| *first < index);
            self.flows[index].vlan = leader.map_or_else(|| draw.one_in(2), |first| self.flows[first].vlan);
        }
    }

    pub(crate) fn has_vlans(&self) -> bool {
        self.flows.iter().any(|flow| flow.vlan)
    }

    /// Bytes that a tag of IEEE 802.1Q takes, if there is one.
    pub(crate) const fn vlan_tag(is_there: bool) -> u64 {
        if is_there { 2 + 2 } else { 0 }
    }

    fn samples(&self, simple: bool, draw: &mut Draw) -> Samples {
        let mtu = self.models.iter().map(|model| model.mtu).min().unwrap();
        let six = draw.one_in(4);
        let most = mtu - if six { 48 } else { 28 };
        let datagram = match draw.below(6) {
            0 => draw.range(160, most),
            1 => draw.magnitude(160, most),
            _ => most,
        };
        let framing = if draw.one_in(3) { Framing::Udp } else { Framing::Rtps };
        let datagram = if framing == Framing::Udp && draw.one_in(5) { draw.range(8, 60) } else { datagram };
        // As many frames as there is time to simulate.
        let largest = (datagram * draw.range(1, 24)).min(60_000);
        let size = draw.magnitude(1, largest.max(2));
        let least = match draw.below(3) {
            0 if !simple => draw.range(1, size),
            1 if !simple => 1,
            _ => size,
        };
        Samples { framing, datagram, least, size, six }
    }

    #[allow(clippy::too_many_arguments, reason = "what is drawn for all flows at once")]
    fn flow(
        &self,
        publisher: usize,
        readers: &BTreeSet<usize>,
        samples: Samples,
        count: u64,
        load: u64,
        simple: bool,
        draw: &mut Draw,
    ) -> Asked {
        let bytes: u64 = samples.heaviest().iter().map(|datagram| on_wire(*datagram, 4, samples.six)).sum();
        let time = |host: usize| bytes * 8 * (SECOND / 1_000_000) / (self.cables[host].rate / 1_000_000);
        let slow = readers.iter().map(|host| time(*host)).max().unwrap().max(time(publisher));
        // A trunk may be slower than all hosts.
        let slowest = self.cables.iter().map(|cable| cable.rate).min().unwrap();
        let trunk = bytes * 8 * (SECOND / 1_000_000) / (slowest / 1_000_000);
        let busy = if draw.one_in(3) { slow } else { trunk };
        let separation = (busy * count * 100 / load * draw.range(40, 200) / 100).max(1_000);
        let separation = if draw.one_in(4) { separation.next_power_of_two() } else { separation };
        let vary = |most: u64, draw: &mut Draw| draw.below(most.max(1));
        let jitter = match draw.below(8) {
            0 if !simple => vary(separation, draw),
            1 if !simple => vary(separation / 10, draw),
            2 if !simple => vary(separation * 5 / 2, draw),
            _ => 0,
        };
        let emission = if !simple && draw.one_in(6) { vary(separation / 2, draw) } else { 0 };
        let slack = if !simple && draw.one_in(8) { vary(separation / 5, draw) } else { 0 };
        let switching: u64 = self.models.iter().map(|model| model.most).sum();
        let alone = slow + trunk * self.switches.len() as u64 + switching * self.switches.len() as u64;
        let limit =
            |draw: &mut Draw| emission + alone * draw.magnitude(12, 200) / 10 + draw.below(MICROSECOND);
        let subscribers = readers.iter().map(|host| (*host, limit(draw))).collect();
        Asked {
            publisher,
            subscribers,
            samples,
            separation,
            jitter,
            emission,
            slack,
            importance: draw.below(3),
            trusted: draw.one_in(6),
            bundle: None,
            vlan: false,
            losses: None,
        }
    }

    pub(crate) fn node_name(&self, node: usize) -> String {
        match node.checked_sub(self.hosts.len()) {
            None => format!("h{node}"),
            Some(switch) => format!("s{switch}"),
        }
    }

    /// The name of a flow; of one in a bundle, that of the bundle.
    pub(crate) fn flow_name(&self, flow: usize) -> String {
        self.flows[flow].bundle.map_or_else(|| format!("f{flow}"), |bundle| format!("b{bundle}"))
    }

    pub(crate) fn model_of(&self, node: usize) -> Option<&Model> {
        let switch = node.checked_sub(self.hosts.len())?;
        Some(&self.models[self.switches[switch]])
    }

    /// The network file.
    pub(crate) fn text(&self) -> String {
        let mut text =
            format!("name = \"drawn\"\nbest-effort = {}\nsplit = \"{}\"\n", self.best_effort, self.split);
        if let Some((burst, rate)) = self.control {
            writeln!(text, "control = {{ burst = {burst}, rate = \"{rate} b/s\" }}").unwrap();
        }
        for (index, model) in self.models.iter().enumerate() {
            let buffer = if model.buffer_per_queue { "queue-buffer" } else { "buffer" };
            write!(
                text,
                "[[switch-model]]\nname = \"m{index}\"\nports = 64\nqueues = {}\nrate = \"10 Gb/s\"\nleast-multiplexing = \"{} ps\"\n\
                 multiplexing = \"{} ps\"\nkeeps-order = {}\noverhead = {}\nmtu = {}\npreemption = {}\n{buffer} = {}\n",
                model.queues,
                model.least,
                model.most,
                model.keeps_order,
                model.overhead,
                model.mtu,
                model.preemption,
                model.buffer
            )
            .unwrap();
            match model.guards {
                Guards::None => {}
                Guards::Gates { precision } => {
                    writeln!(text, "gates = {{ precision = \"{precision} ps\" }}").unwrap();
                }
                Guards::Meters { counts_wire } => {
                    let counts = if counts_wire { "wire" } else { "frame" };
                    writeln!(text, "meters = {{ counts = \"{counts}\" }}").unwrap();
                }
            }
        }
        for (index, host) in self.hosts.iter().enumerate() {
            writeln!(text, "[[host]]\nname = \"h{index}\"\nqueues = {}", host.queues).unwrap();
            if self.has_vlans() {
                let number = index + 1;
                writeln!(
                    text,
                    "mac = \"02:00:00:00:00:{number:02x}\"\nvlans = [{{ id = 10, address = [\"10.10.0.{number}\", \"fd10::{number}\"] }}]"
                )
                .unwrap();
            }
        }
        for (index, model) in self.switches.iter().enumerate() {
            writeln!(text, "[[switch]]\nname = \"s{index}\"\nmodel = \"m{model}\"").unwrap();
        }
        for cable in &self.cables {
            let [one, other] = cable.ends.map(|end| self.node_name(end));
            write!(
                text,
                "[[link]]\nends = [\"{one}\", \"{other}\"]\nrate = \"{} b/s\"\npropagation = \"{} ps\"\n",
                cable.rate, cable.propagation
            )
            .unwrap();
            match cable.full {
                [false, false] => {}
                [true, true] => text.push_str("full = true\n"),
                [true, false] => writeln!(text, "full = \"{one}\"").unwrap(),
                [false, true] => writeln!(text, "full = \"{other}\"").unwrap(),
            }
        }
        for index in 0..self.flows.len() {
            self.write_flow(&mut text, index);
        }
        text
    }

    fn write_flow(&self, text: &mut String, index: usize) {
        let flow = &self.flows[index];
        let subscribers: Vec<String> = flow
            .subscribers
            .iter()
            .map(|(host, limit)| format!("{{ host = \"h{host}\", limit = \"{limit} ps\" }}"))
            .collect();
        let framing = if flow.samples.framing == Framing::Udp { "udp" } else { "rtps" };
        let ip = if flow.samples.six { 6 } else { 4 };
        write!(
            text,
            "[[flow]]\ntopic = \"t{index}\"\nname = \"f{index}\"\npublisher = \"h{}\"\nsubscribers = [{}]\nframing = \"{framing}\"\nip = {ip}\n\
             datagram = {}\nsize = {}\nleast-size = {}\nseparation = \"{} ps\"\njitter = \"{} ps\"\nemission = \"{} ps\"\nslack = \"{} ps\"\n\
             importance = {}\ntrusted = {}\n",
            flow.publisher,
            subscribers.join(", "),
            flow.samples.datagram,
            flow.samples.size,
            flow.samples.least,
            flow.separation,
            flow.jitter,
            flow.emission,
            flow.slack,
            flow.importance,
            flow.trusted
        )
        .unwrap();
        if let Some((frames, within, reaction)) = flow.losses {
            writeln!(
                text,
                "losses = {{ frames = {frames}, within = \"{within} ps\", reaction = \"{reaction} ps\" }}"
            )
            .unwrap();
        }
        if flow.vlan {
            text.push_str("vlan = 10\n");
        }
        if let Some(bundle) = flow.bundle {
            writeln!(text, "bundle = \"b{bundle}\"").unwrap();
        }
    }
}

/// Pairs of switches: in a row, in a tree, or in a tree with further ones across.
fn cables_between(switches: usize, draw: &mut Draw) -> BTreeSet<(usize, usize)> {
    let family = draw.below(3);
    let mut pairs = BTreeSet::new();
    for switch in 1..switches {
        let other = if family == 0 { switch - 1 } else { draw.place(switch) };
        pairs.insert((other, switch));
    }
    if family == 2 {
        for _ in 0..draw.range(1, 4) {
            let (one, other) = (draw.place(switches), draw.place(switches));
            if one != other {
                pairs.insert((one.min(other), one.max(other)));
            }
        }
    }
    pairs
}

fn model(best_effort: bool, controlled: bool, draw: &mut Draw) -> Model {
    let least_queues = 1 + u64::from(best_effort) + u64::from(controlled);
    let least = if draw.one_in(2) { 0 } else { draw.below(5 * MICROSECOND) };
    let most = match draw.below(4) {
        0 => least,
        1 => least + draw.below(50 * MICROSECOND),
        _ => least + draw.below(5 * MICROSECOND),
    };
    Model {
        queues: draw.range(least_queues, 8),
        least,
        most,
        keeps_order: draw.one_in(2),
        overhead: draw.of(&[0, 0, 0, 4, 8, 30]),
        mtu: draw.of(&[1_500, 1_500, 1_500, 1_500, 9_000, 600]),
        preemption: draw.one_in(5),
        buffer: draw.of(&[1_000_000_000, 1_000_000_000, 500_000, 100_000]),
        buffer_per_queue: draw.one_in(3),
        guards: match draw.below(4) {
            0 => Guards::None,
            1 => Guards::Meters { counts_wire: draw.one_in(2) },
            _ => Guards::Gates { precision: draw.of(&[1, 1_000, 8_000, MICROSECOND]) },
        },
    }
}
