//! The back-end of a domain as a state machine: commands of the manager come in, its answer and the programs of switches come out.
use std::collections::{BTreeMap, BTreeSet};

use linux_edge::LinuxEdge;
use linux_edge::backend::Decided;
use linux_edge::observed::Observed;
use linux_edge::setup::queues;
use std::fmt::Write as _;
use wan::{Addresses, BackendAnswer, BackendCommand, Holding, TSpec};

use crate::domain::Domain;
use crate::program::{Content, Program};
use crate::tables::{LAST_LABEL, MARK, OF_AGGREGATE, OF_FLOW, aggregate, exp, flow, marked, setup};

/// The protocols whose ports switches can tell apart: TCP, UDP, SCTP.
const WITH_PORTS: [u8; 3] = [6, 17, 132];

/// What comes of a command.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Handled {
    /// What to do at switches before the answer is given.
    pub programs: BTreeMap<usize, Program>,
    /// The answer.
    pub answer: Option<BackendAnswer>,
    /// Why there is no answer to a command that has one.
    pub trouble: Option<String>,
}

/// What comes of several commands.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Together {
    /// What is decided about each of them, in their order.
    pub decided: Vec<Decided>,
    /// What to do at switches before the answers are given.
    pub programs: BTreeMap<usize, Program>,
}

/// A domain of switches, and what it carries.
#[derive(Clone, Debug)]
pub struct OvsEdge {
    domain: Domain,
    held: LinuxEdge,
}

impl OvsEdge {
    /// Of a domain that carries nothing yet.
    ///
    /// # Errors
    /// What is wrong with the description.
    pub fn new(domain: Domain) -> Result<Self, String> {
        domain.check()?;
        let held = LinuxEdge::new(domain.plan.clone())?;
        Ok(Self { domain, held })
    }

    /// Of a domain whose switches hold something already. What can no longer be held is told.
    ///
    /// # Errors
    /// What is wrong with the description.
    pub fn restored(domain: Domain, observed: &Observed) -> Result<(Self, Vec<String>), String> {
        domain.check()?;
        let (held, told) = LinuxEdge::restored(domain.plan.clone(), observed)?;
        Ok((Self { domain, held }, told))
    }

    /// The domain.
    pub fn domain(&self) -> &Domain {
        &self.domain
    }

    /// What is held.
    pub fn held(&self) -> &LinuxEdge {
        &self.held
    }

    /// Carries out a command.
    pub fn handle(&mut self, command: BackendCommand) -> Handled {
        let Together { mut decided, programs } = self.together(&[command]);
        let Decided { answer, trouble } = decided.pop().unwrap_or_default();
        Handled { programs, answer, trouble }
    }

    /// Carries out as many of these commands, from the first one on, as switches can be told of at once: one at least, if there is one.
    pub fn together(&mut self, commands: &[BackendCommand]) -> Together {
        let mut carried = Vec::new();
        for command in commands {
            match self.carried(command.clone()) {
                Ok(command) => carried.push(command),
                // Those before it are told first; alone it is answered.
                Err(what) if carried.is_empty() => {
                    let decided = vec![Decided { answer: None, trouble: Some(what) }];
                    return Together { decided, programs: BTreeMap::new() };
                }
                Err(_) => break,
            }
        }
        let (mut touched, mut held_before) = (Vec::new(), Vec::new());
        let domain = &self.domain;
        let decided = self.held.decide_together(&carried, |held, holding| {
            held_before.extend(of(domain, held, holding));
            touched.push(holding);
        });
        let (before, after) = (together(held_before), self.content(&touched));
        let switches: BTreeSet<usize> = before.keys().chain(after.keys()).copied().collect();
        let none = Content::default();
        let change = |switch: usize| {
            let of = |content: &BTreeMap<usize, Content>| content.get(&switch).unwrap_or(&none).clone();
            (switch, of(&before).change(&of(&after)))
        };
        let programs = switches.into_iter().map(change).filter(|(_, program)| !program.is_empty()).collect();
        Together { decided, programs }
    }

    fn content(&self, holdings: &[Holding]) -> BTreeMap<usize, Content> {
        together(holdings.iter().flat_map(|holding| of(&self.domain, &self.held, *holding)))
    }

    /// All that a switch has to have.
    pub fn wanted(&self, switch: usize) -> Content {
        let mut content = setup(&self.domain, switch);
        content.add(marked(&self.mark()));
        let holdings: Vec<Holding> = self.held.holdings().into_iter().collect();
        content.add(self.content(&holdings).remove(&switch).unwrap_or_default());
        content
    }

    /// What is held by flows with these cookies.
    pub fn of_cookies(&self, cookies: &BTreeSet<u64>) -> Vec<Holding> {
        let cookie = |holding: &Holding| match holding {
            Holding::Aggregate(id) => Some(OF_AGGREGATE | u64::from(self.held.aggregate(*id)?.slot)),
            Holding::Flow(leg) => Some(OF_FLOW | u64::from(self.held.flow(*leg)?.0.slot)),
        };
        let is_of = |holding: &Holding| cookie(holding).is_some_and(|cookie| cookies.contains(&cookie));
        self.held.holdings().into_iter().filter(is_of).collect()
    }

    /// What a switch says of the description that it was set up by.
    pub fn mark(&self) -> String {
        let mut text = String::new();
        for switch in 0..self.domain.plan.routers.len() {
            text += &setup(&self.domain, switch).file();
            text += &self.queues(switch);
        }
        // FNV-1a: who could forge it could change the flows as well.
        let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        format!("{MARK}{hash:016x}")
    }

    /// Lines of `tc` for the ports of a switch: strict priority by codepoints, and by EXP where there are labels.
    pub fn queues(&self, switch: usize) -> String {
        let mut lines = String::new();
        for (interface, wire) in self.interfaces(switch) {
            lines += &queues(&self.domain.plan, interface, wire);
            for (place, class) in (1..).zip(linux_edge::domain::CLASSES) {
                let (value, mask) = (u32::from(exp(class)) << 9, 7 << 9);
                // Writing to a text cannot fail.
                let _ = writeln!(
                    lines,
                    "filter add dev {interface} parent 2: protocol mpls_uc prio 4 u32 match u32 {value:#x} {mask:#x} at 0 flowid 2:{place}"
                );
            }
        }
        lines
    }

    /// The interfaces of a switch, with their links.
    pub fn interfaces(&self, switch: usize) -> Vec<(&str, &linux_edge::domain::Wire)> {
        let plan = &self.domain.plan;
        let ends = plan.links.iter().flat_map(|link| link.ends.iter().map(move |end| (end, &link.wire)));
        let ends = ends.chain(plan.borders.iter().map(|border| (&border.end, &border.wire)));
        let of_ends = ends.map(|(end, wire)| (end.router, end.interface.as_str(), wire));
        let edges = plan.edges.iter().map(|edge| (edge.router, edge.interface.as_str(), &edge.wire));
        let all = of_ends.chain(edges).filter(|(router, ..)| *router == switch);
        all.map(|(_, interface, wire)| (interface, wire)).collect()
    }
}

/// Contents of switches, added up.
fn together(contents: impl IntoIterator<Item = (usize, Content)>) -> BTreeMap<usize, Content> {
    let mut all: BTreeMap<usize, Content> = BTreeMap::new();
    for (switch, content) in contents {
        all.entry(switch).or_default().add(content);
    }
    all
}

/// What switches have for what is held.
fn of(domain: &Domain, held: &LinuxEdge, holding: Holding) -> Vec<(usize, Content)> {
    match holding {
        Holding::Aggregate(id) => {
            let record = held.aggregate(id);
            record.map(|record| aggregate(domain, &record)).unwrap_or_default()
        }
        Holding::Flow(leg) => {
            let Some((record, by_switch)) = held.flow(leg) else { return Vec::new() };
            let carries = held.aggregate(record.aggregate).filter(|of| of.labels.is_some());
            let Some(carries) = carries else { return Vec::new() };
            let parts = by_switch.len();
            let of = |(switch, tuples): (usize, Vec<_>)| {
                (switch, flow(domain, record, &tuples, carries.slot, parts))
            };
            by_switch.into_iter().map(of).collect()
        }
    }
}

impl OvsEdge {
    /// A command as switches can carry it out: flows of IPv4 whose ports they can read, and whose meters stay as they are; labels of 20 bits.
    fn carried(&self, command: BackendCommand) -> Result<BackendCommand, String> {
        let BackendCommand::Open { leg, flow, addresses, .. } = &command else { return carried(command) };
        if let Some((record, by_switch)) = self.held.flow(*leg) {
            let TSpec { rate, bucket, least_unit, largest_packet, .. } = flow.desired;
            let edges = &self.domain.plan.edges;
            let switch =
                |source: &std::net::IpAddr| Some(edges.iter().find(|edge| edge.has(*source))?.router);
            let switches: BTreeSet<usize> = addresses.sources.iter().filter_map(switch).collect();
            let had = (record.rate, record.bucket, record.least, record.largest, by_switch.len());
            if had != (rate, bucket, least_unit, largest_packet, switches.len()) {
                return Err(
                    "meters of a flow do not change, since changed ones would let a bucket more through: \
                            end the flow, and open it anew"
                        .to_owned(),
                );
            }
        }
        carried(command)
    }
}

fn carried(command: BackendCommand) -> Result<BackendCommand, String> {
    match command {
        BackendCommand::Open { ticket, leg, aggregate, flow, addresses } => {
            if !WITH_PORTS.contains(&flow.protocol) {
                return Err(format!("switches do not read ports of protocol {}", flow.protocol));
            }
            let Addresses { mut sources, mut destinations } = addresses;
            for addresses in [&mut sources, &mut destinations] {
                addresses.retain(std::net::IpAddr::is_ipv4);
                if addresses.is_empty() {
                    return Err("switches carry flows of IPv4 alone".to_owned());
                }
            }
            let addresses = Addresses { sources, destinations };
            Ok(BackendCommand::Open { ticket, leg, aggregate, flow, addresses })
        }
        BackendCommand::Commit { label_in, label_out, .. }
            if [label_in, label_out].into_iter().flatten().any(|label| label > LAST_LABEL) =>
        {
            Err(format!("labels of MPLS end at {LAST_LABEL}"))
        }
        command => Ok(command),
    }
}
