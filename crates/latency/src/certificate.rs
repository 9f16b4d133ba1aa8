//! Evidence for an admission: what was assumed at each port, and the bound that was claimed for each level.
use alloc::vec::Vec;

use crate::bound::{Method, planned_bound};
use crate::busy::{EFFORT, busy_period};
use crate::facts::Fact;
use crate::ledger::{FlowId, Ledger};
use crate::network::{Flow, Port};
use crate::policing::Enforcement;
use crate::port::{Contender, Server};

/// A bound that is claimed for a level of a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Claim {
    /// The level.
    pub level: u8,
    /// Bound of the delay of its frames, in picoseconds.
    pub delay: u64,
    /// How it was found.
    pub method: Method,
    /// A time after which the level and those above have paused, in picoseconds: no longer busy period is possible.
    pub pause: u64,
}

/// A port with all its flows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PortCertificate {
    /// Index of the port.
    pub port: usize,
    /// The server as it was assumed.
    pub server: Server,
    /// The flows.
    pub flows: Vec<FlowId>,
    /// What they offer, with their levels.
    pub contenders: Vec<Contender>,
    /// Their shares, in picoseconds.
    pub shares: Vec<u64>,
    /// A claim for each level that has flows.
    pub claims: Vec<Claim>,
}

/// What a limit rests on where the shares of the way are more than it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Proof {
    /// The services that the flow is left with at its hops, concatenated.
    Concatenation,
    /// Facts along the way, and how many parts of one each of them counts: see [`PARTS`](crate::facts::PARTS).
    Facts(Vec<(Fact, u128)>),
}

/// Evidence that a flow keeps its limits, and that all others at its ports keep their shares.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Certificate {
    /// Which flow.
    pub id: FlowId,
    /// The flow.
    pub flow: Flow,
    /// Its shares at its hops, in picoseconds.
    pub shares: Vec<u64>,
    /// What is programmed where it enters the first switch.
    pub enforcement: Enforcement,
    /// Its ports, in the order of its hops.
    pub ports: Vec<PortCertificate>,
    /// For each subscriber what its limit rests on, if that is not the sum of shares.
    pub proofs: Vec<Option<Proof>>,
}

impl Ledger {
    /// The certificate of an admitted flow in the present state; `None` if there is no such flow, or if a bound was
    /// found without the length of the busy period, which the checker needs.
    pub fn certificate(&self, id: FlowId) -> Option<Certificate> {
        let admitted = self.flow(id)?;
        let ports =
            admitted.flow.tree.iter().map(|hop| self.port_certificate(hop.port)).collect::<Option<_>>()?;
        let (flow, shares) = (admitted.flow.clone(), admitted.shares.clone());
        let proofs = (0..flow.subscribers.len()).map(|index| self.proof(id, index)).collect();
        Some(Certificate { id, flow, shares, enforcement: admitted.enforcement, ports, proofs })
    }

    fn port_certificate(&self, port: usize) -> Option<PortCertificate> {
        let server = self.ports().get(port).map(Port::planning_server)?;
        let entries = self.entries(port);
        let contenders: Vec<Contender> = entries.iter().map(|entry| entry.contender).collect();
        let mut levels: Vec<u8> = contenders.iter().map(|flow| flow.level).collect();
        levels.sort_unstable();
        levels.dedup();
        let claims = levels
            .into_iter()
            .map(|level| {
                let bound = planned_bound(&server, &contenders, level)?;
                let pause = busy_period(&server, &contenders, level, &mut EFFORT.clone())?;
                Some(Claim { level, delay: bound.delay, method: bound.method, pause })
            })
            .collect::<Option<_>>()?;
        let flows = entries.iter().map(|entry| entry.flow).collect();
        let shares = entries.iter().map(|entry| entry.share).collect();
        Some(PortCertificate { port, server, flows, contenders, shares, claims })
    }
}
