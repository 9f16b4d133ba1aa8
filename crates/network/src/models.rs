//! Models of switches: shipped ones, those of a network file, and XML files.
//!
//! The XML has the fields that the MIDAS paper names (name, ports, queues of a port, bandwidth, number and precision of
//! rate limiters); the rest of a model may follow, and is otherwise that of an ordinary switch.
use std::collections::BTreeMap;

use diagnostics::{Problem, Source};
use latency::network::Buffer;
use latency::policing::Counts;
use latency::switch::{Guard, Interface, ModelError, SwitchModel};
use latency::units::{MICROSECOND, NANOSECOND};
use roxmltree::Node;

use crate::description::SwitchKind;
use crate::document::{Counted, Model, Pause};
use crate::hosts::interface;
use crate::quantity::{Rate, Time};

/// Bytes of a file of models in XML.
const LONGEST_XML: usize = 16 << 20;

/// Rates of OpenFlow 1.3 meters are multiples of 1 kb/s, bursts of 1 kb.
const OPENFLOW_STEP: u64 = 1_000;

/// Bytes of a cell of a buffer if a model does not say: as large as any of common switches.
const CELL: u32 = 256;

/// What meters count if a model does not say: the less.
const COUNTS: Counts = Counts::Frame;

/// The model of bridges, of which a lab makes bridges.
const LINUX_BRIDGE: &str = "linux-bridge";

/// Gates at the ports of a switch: what the program in the kernel has room for.
const LINUX_GATES: u32 = 1_024;

fn meters(count: Option<u32>, counts: Counts) -> Guard {
    Guard::Meters { count, rate_step: OPENFLOW_STEP, burst_step: OPENFLOW_STEP, counts }
}

/// An ordinary gigabit switch with 8 queues: message gates of 1 us, 500 kB for each port.
fn gigabit() -> SwitchModel {
    SwitchModel {
        ports: 48,
        queues: 8,
        rate: 1_000_000_000,
        buffer: Buffer::Shared(500_000),
        pooled: false,
        cell: CELL,
        // Most of them save energy, and have PAUSE unless it is switched off.
        interface: Interface::default(),
        guard: Guard::Gates { count: None, tick: MICROSECOND },
        least_multiplexing: MICROSECOND,
        most_multiplexing: 5 * MICROSECOND,
        // IEEE 802.1Q, 8.6.6: a bridge does not reorder frames of one priority between the same ports.
        keeps_order: true,
        overhead: 0,
        preemption: false,
        mtu: 1_500,
    }
}

/// A gigabit OpenFlow switch of the kind that the MIDAS paper used: 48 ports, 8 queues, meters. The paper takes its meters
/// as counting what is on the wire.
fn openflow() -> SwitchModel {
    SwitchModel { guard: meters(Some(1_024), Counts::Wire), ..gigabit() }
}

/// Open vSwitch with its userspace data path and ports shaped to at most 100 Mb/s, as measured on two virtual cores: it
/// adds 25 to 35 us in the median and up to 163 us in 999 of 1000 cases. Its largest figures, some milliseconds, were
/// pauses of the virtual machine; 1 ms is taken, so a bound through it holds as long as the machine itself keeps time.
/// Three classes and best effort; queues hold what 25 full frames are, in frames of any size.
fn open_vswitch() -> SwitchModel {
    SwitchModel {
        ports: 64,
        queues: 4,
        rate: 100_000_000,
        buffer: Buffer::PerQueue(25 * 1_538),
        pooled: false,
        cell: 1,
        // There are no wires.
        interface: Interface { pause: Some(false), wake: Some(0) },
        guard: meters(Some(262_144), Counts::Frame),
        least_multiplexing: 10 * MICROSECOND,
        most_multiplexing: 1_000 * MICROSECOND,
        // It has not been measured.
        keeps_order: false,
        overhead: 0,
        preemption: false,
        mtu: 1_500,
    }
}

/// A bridge of Linux with nftables, set by `punctual switch serve`, and ports shaped to at most 100 Mb/s, as measured on two virtual cores
/// (docs/bridge.md has the figures): from send call to reception 45 us in the median and 171 us in 999 of 1000 cases, hosts included; three times that is
/// taken. Longer ones were pauses of the virtual machine, so a bound through it holds as long as the machine itself keeps time.
/// Frames are handed over by the core that receives them, but it was not measured that it always is the same one: their order is not taken for granted.
/// Three classes and best effort; queues hold what 50 full frames are, in frames of any size; message gates at the ports of hosts, as many as its
/// maps hold, which bear nothing below a microsecond.
fn linux_bridge() -> SwitchModel {
    SwitchModel {
        guard: Guard::Gates { count: Some(LINUX_GATES), tick: MICROSECOND },
        buffer: Buffer::PerQueue(50 * 1_538),
        least_multiplexing: MICROSECOND,
        most_multiplexing: 500 * MICROSECOND,
        ..open_vswitch()
    }
}

/// What a switch of a model is in a lab if the file does not say.
pub(crate) fn made_of(model: &str) -> SwitchKind {
    if model == LINUX_BRIDGE { SwitchKind::Bridge } else { SwitchKind::OpenVswitch }
}

/// All models that can be named.
#[derive(Debug)]
pub(crate) struct Models {
    known: BTreeMap<String, SwitchModel>,
}

impl Models {
    /// The shipped ones.
    pub(crate) fn shipped() -> Self {
        let known = [
            ("gigabit-8-queues", gigabit()),
            ("gigabit-openflow", openflow()),
            ("open-vswitch", open_vswitch()),
            (LINUX_BRIDGE, linux_bridge()),
        ];
        Self { known: known.map(|(name, model)| (name.to_owned(), model)).into() }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&SwitchModel> {
        self.known.get(name)
    }

    pub(crate) fn names(&self) -> String {
        self.known.keys().cloned().collect::<Vec<_>>().join(", ")
    }

    fn add(&mut self, source: Source<'_>, at: usize, name: &str, model: SwitchModel) -> Result<(), Problem> {
        if name.is_empty() || name.len() > 64 {
            return Err(source.problem(at, "a model needs a name of 1 to 64 bytes", "name it"));
        }
        model.check().map_err(|error| source.problem(at, said(error), "correct the number"))?;
        match self.known.insert(name.to_owned(), model) {
            None => Ok(()),
            Some(_) => Err(source.problem(at, format!("there are two models \"{name}\""), "rename one")),
        }
    }

    /// A model in a network file.
    pub(crate) fn add_document(&mut self, source: Source<'_>, model: &Model) -> Result<(), Problem> {
        let ordinary = gigabit();
        let at = model.name.span().start;
        let buffer = match (model.buffer, model.queue_buffer, model.shared_buffer) {
            (Some(bytes), None, None) | (None, None, Some(bytes)) => Buffer::Shared(bytes),
            (None, Some(bytes), None) => Buffer::PerQueue(bytes),
            (None, None, None) => ordinary.buffer,
            _ => {
                let what = "a model has more than one of buffer, queue-buffer and shared-buffer";
                return Err(source.problem(at, what, "leave all but one out"));
            }
        };
        let interface = interface(model.pause, model.energy_efficient, model.wake).map_err(|what| {
            source.problem(at, what, "write the time to wake, or energy-efficient = false")
        })?;
        let guard = match (&model.gates, &model.meters) {
            (Some(_), Some(_)) => {
                return Err(source.problem(at, "a model has both gates and meters", "leave one out"));
            }
            (Some(gates), None) => {
                Guard::Gates { count: gates.count, tick: gates.precision.map_or(MICROSECOND, |time| time.0) }
            }
            (None, Some(meters)) => Guard::Meters {
                count: meters.count,
                rate_step: meters.precision.map_or(OPENFLOW_STEP, |rate| rate.0),
                burst_step: meters.burst_precision.map_or(OPENFLOW_STEP, u64::from),
                counts: meters.counts.map_or(COUNTS, |counts| match counts {
                    Counted::Wire => Counts::Wire,
                    Counted::Frame => Counts::Frame,
                }),
            },
            (None, None) => Guard::None,
        };
        let most_multiplexing = model.multiplexing.map_or(ordinary.most_multiplexing, |time| time.0);
        let built = SwitchModel {
            ports: model.ports,
            queues: model.queues,
            rate: model.rate.0,
            buffer,
            pooled: model.shared_buffer.is_some(),
            cell: model.cell.unwrap_or(ordinary.cell),
            interface,
            guard,
            least_multiplexing: model.least_multiplexing.map_or(0, |time| time.0),
            most_multiplexing,
            keeps_order: model.keeps_order,
            overhead: u32::from(model.overhead),
            preemption: model.preemption,
            mtu: model.mtu.unwrap_or(ordinary.mtu),
        };
        self.add(source, at, model.name.get_ref(), built)
    }

    /// All models of an XML file.
    pub(crate) fn add_xml(&mut self, source: Source<'_>) -> Result<(), Problem> {
        let document = diagnostics::parse_xml(source, LONGEST_XML, "docs/plan.md shows a model in XML")?;
        let root = document.root_element();
        let models: Vec<Node<'_, '_>> = match root.tag_name().name() {
            "switch-model" => vec![root],
            "switch-models" => root.children().filter(Node::is_element).collect(),
            other => return Err(unknown(source, root, other, "switch-model or switch-models")),
        };
        models.into_iter().try_for_each(|node| self.add_node(source, node))
    }

    fn add_node(&mut self, source: Source<'_>, node: Node<'_, '_>) -> Result<(), Problem> {
        if node.tag_name().name() != "switch-model" {
            return Err(unknown(source, node, node.tag_name().name(), "switch-model"));
        }
        let mut model =
            SwitchModel { guard: Guard::None, least_multiplexing: 0, ports: 0, queues: 0, ..gigabit() };
        let (mut name, mut pause, mut energy_efficient, mut wake) = (None, None, None, None);
        let mut seen: Vec<&str> = Vec::new();
        for field in node.children().filter(Node::is_element) {
            let at = field.range().start;
            let tag = field.tag_name().name();
            if seen.contains(&tag) {
                return Err(source.problem(at, format!("<{tag}> is there twice"), "leave one out"));
            }
            seen.push(tag);
            let text = field.text().unwrap_or("").trim();
            let wrong = |expected: String| source.problem(at, expected, "write the value between the tags");
            let number =
                || text.parse::<u64>().map_err(|_| wrong(format!("<{tag}> is not a number: \"{text}\"")));
            let small =
                || text.parse::<u32>().map_err(|_| wrong(format!("<{tag}> is not a number: \"{text}\"")));
            let time = || Time::parse(text).map(|time| time.0).map_err(wrong);
            match tag {
                "name" => name = Some(text.to_owned()),
                "ports" => model.ports = small()?,
                "queues" => {
                    let queues = text.parse();
                    model.queues =
                        queues.map_err(|_| wrong(format!("<queues> is not 1 to 255: \"{text}\"")))?;
                }
                "bandwidth" => model.rate = Rate::parse(text).map_err(wrong)?.0,
                "rate-limiters" => model.guard = limiters(source, field)?,
                "buffer" => model.buffer = Buffer::Shared(number()?),
                "queue-buffer" => model.buffer = Buffer::PerQueue(number()?),
                "shared-buffer" => (model.buffer, model.pooled) = (Buffer::Shared(number()?), true),
                "cell" => model.cell = small()?,
                "pause" => {
                    pause = Some(match text {
                        "on" => Pause::On,
                        "off" => Pause::Off,
                        _ => return Err(wrong(format!("<pause> is not on or off: \"{text}\""))),
                    });
                }
                "energy-efficient" => {
                    let efficient = text.parse();
                    energy_efficient = Some(efficient.map_err(|_| {
                        wrong(format!("<energy-efficient> is not true or false: \"{text}\""))
                    })?);
                }
                "wake" => wake = Some(Time(time()?)),
                "least-multiplexing" => model.least_multiplexing = time()?,
                "multiplexing" => model.most_multiplexing = time()?,
                "overhead" => {
                    let overhead = text.parse::<u8>();
                    model.overhead = overhead
                        .map(u32::from)
                        .map_err(|_| wrong(format!("<overhead> is not 0 to 255: \"{text}\"")))?;
                }
                "mtu" => model.mtu = small()?,
                "keeps-order" => {
                    let keeps = text.parse();
                    model.keeps_order = keeps
                        .map_err(|_| wrong(format!("<keeps-order> is not true or false: \"{text}\"")))?;
                }
                "preemption" => {
                    let preemption = text.parse();
                    model.preemption = preemption
                        .map_err(|_| wrong(format!("<preemption> is not true or false: \"{text}\"")))?;
                }
                other => return Err(unknown(source, field, other, FIELDS)),
            }
        }
        let at = node.range().start;
        for needed in ["name", "ports", "queues", "bandwidth"] {
            if !seen.contains(&needed) {
                let what = format!("a switch-model without <{needed}>");
                return Err(source.problem(at, what, "name, ports, queues and bandwidth are needed"));
            }
        }
        let buffers = ["buffer", "queue-buffer", "shared-buffer"];
        if buffers.iter().filter(|buffer| seen.contains(buffer)).count() > 1 {
            let what = "a switch-model has more than one of buffer, queue-buffer and shared-buffer";
            return Err(source.problem(at, what, "leave all but one out"));
        }
        model.interface = interface(pause, energy_efficient, wake)
            .map_err(|what| source.problem(at, what, "write the time to wake, or energy-efficient false"))?;
        self.add(source, at, &name.unwrap_or_default(), model)
    }
}

const FIELDS: &str = "name, ports, queues, bandwidth, rate-limiters, buffer, queue-buffer, shared-buffer, cell, \
     least-multiplexing, multiplexing, keeps-order, overhead, mtu, preemption, pause, energy-efficient, wake";

/// `<rate-limiters number="256" precision="1 kb/s"/>`, or with `kind="gate"` and a time as precision.
fn limiters(source: Source<'_>, node: Node<'_, '_>) -> Result<Guard, Problem> {
    let at = node.range().start;
    for attribute in node.attributes() {
        if !["kind", "number", "precision", "burst-precision", "counts"].contains(&attribute.name()) {
            let what = format!("rate-limiters have no \"{}\"", attribute.name());
            return Err(source.problem(
                attribute.range().start,
                what,
                "kind, number, precision, burst-precision, counts",
            ));
        }
    }
    let count = match node.attribute("number").map(str::parse::<u32>) {
        None => None,
        Some(Ok(count)) => Some(count),
        Some(Err(_)) => {
            return Err(source.problem(at, "number is not a number", "how many rate limiters there are"));
        }
    };
    let precision = node.attribute("precision");
    let wrong = |what: String| source.problem(at, what, "the step in which the limiters can be set");
    match node.attribute("kind").unwrap_or("meter") {
        "meter" => {
            let rate_step = precision.map_or(Ok(OPENFLOW_STEP), |text| Rate::parse(text).map(|rate| rate.0));
            let burst = node.attribute("burst-precision").map_or(Ok(OPENFLOW_STEP), str::parse);
            let burst_step =
                burst.map_err(|_| wrong("burst-precision is not a number of bits".to_owned()))?;
            let counts = match node.attribute("counts") {
                None => COUNTS,
                Some("wire") => Counts::Wire,
                Some("frame") => Counts::Frame,
                Some(other) => {
                    let what = format!("no rate limiter counts \"{other}\"");
                    return Err(source.problem(at, what, "counts is wire or frame"));
                }
            };
            Ok(Guard::Meters { count, rate_step: rate_step.map_err(wrong)?, burst_step, counts })
        }
        "gate" if node.has_attribute("counts") => {
            Err(source.problem(at, "a gate counts what is on the wire", "leave counts out"))
        }
        "gate" => {
            let tick = precision.map_or(Ok(NANOSECOND), |text| Time::parse(text).map(|time| time.0));
            Ok(Guard::Gates { count, tick: tick.map_err(wrong)? })
        }
        other => {
            Err(source.problem(at, format!("no rate limiter is a \"{other}\""), "kind is meter or gate"))
        }
    }
}

fn unknown(source: Source<'_>, node: Node<'_, '_>, name: &str, expected: &str) -> Problem {
    source.problem(node.range().start, format!("unknown element <{name}>"), format!("expected {expected}"))
}

/// What is wrong with a model, in words.
pub(crate) fn said(error: ModelError) -> &'static str {
    match error {
        ModelError::Ports => "the switch has no ports",
        ModelError::Queues => "the switch has no queue for assured flows besides best effort and control",
        ModelError::Rate => "the rate is 0, or the link is faster than the switch",
        ModelError::Multiplexing => "the least multiplexing latency is above the largest",
        ModelError::Step => "a precision of gates or meters is 0",
        ModelError::Mtu => "the MTU is not between 46 and 65535 bytes",
        ModelError::Cell => "a cell of the buffer is not 1 to 65535 bytes",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Models, Problem> {
        let mut models = Models::shipped();
        models.add_xml(Source { file: "m.xml", text }).map(|()| models)
    }

    #[test]
    fn the_fields_of_the_paper_are_read() {
        let models = read(
            r#"<?xml version="1.0"?>
            <switch-models>
              <switch-model>
                <name>P-3290</name> <ports>48</ports> <queues>8</queues> <bandwidth>1 Gb/s</bandwidth>
                <rate-limiters number="256" precision="64 kb/s"/> <multiplexing>4 us</multiplexing>
              </switch-model>
            </switch-models>"#,
        );
        let models = models.unwrap();
        let model = models.get("P-3290").unwrap();
        let guard =
            Guard::Meters { count: Some(256), rate_step: 64_000, burst_step: 1_000, counts: Counts::Frame };
        assert_eq!((model.ports, model.queues, model.guard), (48, 8, guard));
        assert_eq!(model.most_multiplexing, 4 * MICROSECOND);
    }

    #[test]
    fn what_interfaces_and_buffers_are_is_read() {
        let with = |fields: &str| {
            format!(
                "<switch-model><name>n</name><ports>4</ports><queues>8</queues><bandwidth>1 Gb/s</bandwidth>\
                 {fields}</switch-model>"
            )
        };
        let read_one = |fields: &str| read(&with(fields)).unwrap().get("n").unwrap().clone();
        let plain = read_one("");
        assert_eq!((plain.interface, plain.cell, plain.pooled), (Interface::default(), 256, false));
        let said = "<shared-buffer>900</shared-buffer><cell>80</cell><pause>on</pause><wake>7 us</wake>";
        let model = read_one(said);
        assert_eq!((model.buffer, model.cell, model.pooled), (Buffer::Shared(900), 80, true));
        let interface = Interface { pause: Some(true), wake: Some(7 * MICROSECOND) };
        assert_eq!(model.interface, interface);
        let off = read_one("<pause>off</pause><energy-efficient>false</energy-efficient>");
        assert_eq!(off.interface, Interface { pause: Some(false), wake: Some(0) });
        let told = |fields: &str| read(&with(fields)).unwrap_err().to_string();
        assert!(told("<pause>no</pause>").contains("<pause> is not on or off: \"no\""));
        assert!(told("<buffer>1</buffer><queue-buffer>1</queue-buffer>").contains("more than one of buffer"));
        assert!(
            told("<wake>1 us</wake><energy-efficient>false</energy-efficient>").contains("does not sleep")
        );
    }

    #[test]
    fn what_meters_count_is_read() {
        let limited = |attributes: &str| {
            format!(
                "<switch-model><name>n</name><ports>4</ports><queues>8</queues><bandwidth>1 Gb/s</bandwidth>\
                 <rate-limiters {attributes}/></switch-model>"
            )
        };
        let counts = |attributes: &str| match read(&limited(attributes)).unwrap().get("n").unwrap().guard {
            Guard::Meters { counts, .. } => counts,
            other => panic!("{other:?}"),
        };
        assert_eq!(counts(""), Counts::Frame);
        assert_eq!(counts("counts='frame'"), Counts::Frame);
        assert_eq!(counts("counts='wire'"), Counts::Wire);
        let told = |attributes: &str| read(&limited(attributes)).unwrap_err().to_string();
        assert!(told("counts='all'").ends_with("counts \"all\"\n  counts is wire or frame"));
        assert!(told("kind='gate' counts='wire'").ends_with("leave counts out"));
        let shipped = Models::shipped();
        let guard = |name: &str| shipped.get(name).unwrap().guard;
        assert!(matches!(guard("gigabit-openflow"), Guard::Meters { counts: Counts::Wire, .. }));
        assert!(matches!(guard("open-vswitch"), Guard::Meters { counts: Counts::Frame, .. }));
    }

    #[test]
    fn wrong_files_are_told_where_and_why() {
        let told = |text: &str| read(text).unwrap_err().to_string();
        assert_eq!(
            told("<switch-model>\n <ports>x</ports></switch-model>"),
            "m.xml:2:2: <ports> is not a number: \"x\"\n  write the value between the tags"
        );
        assert!(told("<a>").starts_with("m.xml:1:"), "{}", told("<a>"));
        assert!(told("<a/>").contains("unknown element <a>"));
        assert!(told("<switch-model/>").contains("without <name>"));
        // The parser would end the process.
        assert!(told(&"<switch-models>".repeat(100_000)).contains("32 elements in each other"));
        assert!(told("<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>").starts_with("m.xml:1:"));
        let half =
            "<switch-model><name>n</name><ports>4</ports><queues>0</queues><bandwidth>1 Gb/s</bandwidth>";
        assert!(told(&format!("{half}</switch-model>")).contains("no queue"));
        assert!(
            told(&format!("{half}<rate-limiters kind='tap'/></switch-model>")).contains("no rate limiter")
        );
    }

    #[test]
    fn shipped_models_are_possible() {
        for model in Models::shipped().known.values() {
            assert_eq!(model.check(), Ok(()));
        }
    }
}
