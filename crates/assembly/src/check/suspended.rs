//! Connections that carry nothing: which may be suspended.
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::Checker;
use crate::manifest::{Catalogue, PortKind};
use crate::plan::{ArtefactKind, Chain, Connection, End, Plan, Port};

/// What is wrong, and what to do.
type Refusal = (String, String);

impl Plan {
    /// Whether a connection can be suspended: what it leads to has to go on without its events, and no chain may count with them.
    ///
    /// # Errors
    /// It cannot, for this reason, and with this advice.
    pub fn can_suspend(&self, connection: &Connection, types: &Catalogue) -> Result<(), Refusal> {
        let waits_for = |chain: &Chain| connection.to.iter().any(|to| self.waits(chain, connection, to));
        if let Some((chain, _)) = self.chains.iter().find(|(_, chain)| waits_for(chain)) {
            let what = format!("the chain \"{chain}\" has limits that count with its events");
            return Err((what, String::from("take the chain out, or end it before the connection")));
        }
        if let Some((component, port)) = self.starves(connection) {
            let what = format!(
                "\"{component}.{port}\" waits for what comes of its events, and limits of chains or latencies count with that"
            );
            return Err((what, String::from("take these limits out, or end them before the connection")));
        }
        let is_foreign = |end: &End| {
            let process =
                end.component().and_then(|name| self.processes.get(&self.components.get(name)?.process));
            let artefact = process.and_then(|process| self.artefacts.get(process.artefact.as_ref()?));
            artefact.is_some_and(|artefact| artefact.kind == ArtefactKind::Foreign)
        };
        if core::iter::once(&connection.from).chain(&connection.to).any(is_foreign) {
            let what = String::from("a foreign program publishes and takes as it does, whatever a plan says");
            return Err((what, String::from("suspend connections of components of component servers")));
        }
        let kind = |end: &End| {
            let End::Port { component, port } = end else { return None };
            let of_type = types.components.get(&self.components.get(component)?.component_type)?;
            of_type.ports.get(port).map(|port| port.kind)
        };
        let kinds = core::iter::once(&connection.from).chain(&connection.to).filter_map(kind);
        let remedy = || String::from("take suspended out, or let a publisher and consumers be its ends");
        for kind in kinds {
            if kind.is_call() {
                return Err((
                    String::from("a connection of calls cannot be suspended: its caller has to be answered"),
                    remedy(),
                ));
            }
            if kind == PortKind::Emitter {
                let what =
                    format!("the connection of an {kind} cannot be suspended: it needs its one consumer");
                return Err((what, remedy()));
            }
        }
        Ok(())
    }

    /// A port that may wait for ever without a connection, of a component that chains or connections with a latency count with: it keeps events
    /// until all parts of a conjunction have some, or samples others when an event comes. What the connection leads to, by whatever ways, may
    /// publish nothing any more.
    fn starves(&self, connection: &Connection) -> Option<(String, String)> {
        let mut open: Vec<&End> = connection.to.iter().collect();
        let mut reached: BTreeSet<&End> = open.iter().copied().collect();
        while let Some(component) = open.pop().and_then(End::component) {
            let from_it = self.connections.values().filter(|it| it.from.component() == Some(component));
            open.extend(from_it.flat_map(|it| &it.to).filter(|to| reached.insert(*to)));
        }
        let of_chains = self.chains.values().flat_map(|chain| &chain.path);
        let limited = self.connections.values().filter(|it| it.latency.is_some());
        let of_latencies = limited.flat_map(|it| &it.to);
        let counted: BTreeSet<&str> = of_chains.chain(of_latencies).filter_map(End::component).collect();
        reached.into_iter().find_map(|end| {
            let End::Port { component, port } = end else { return None };
            let said = self.components.get(component)?.ports.get(port)?;
            let joins = said.join_tree().is_some_and(|join| join.waits());
            let waits = counted.contains(component.as_str()) && (joins || !said.samples.is_empty());
            waits.then(|| (component.clone(), port.clone()))
        })
    }

    /// Whether a chain waits for what comes by a connection to one of its ends: it passes the connection, or a join that keeps events until that has one.
    fn waits(&self, chain: &Chain, connection: &Connection, to: &End) -> bool {
        let join = to.component().and_then(|name| self.components.get(name)).and_then(|component| match to {
            End::Port { port, .. } => component.ports.get(port).and_then(Port::join_tree),
            End::Topic(_) => None,
        });
        if join.is_some_and(|join| join.waits()) {
            return chain.path.contains(to);
        }
        let from = &connection.from;
        let comes = |before: &End| {
            before == from || (from.component().is_some() && before.component() == from.component())
        };
        chain.path.windows(2).any(|hop| matches!(hop, [before, next] if next == to && comes(before)))
    }
}

impl Checker<'_> {
    pub(super) fn suspended(&mut self, path: &str, connection: &Connection) {
        if !connection.is_suspended {
            return;
        }
        if let Err((what, remedy)) = self.plan.can_suspend(connection, self.types) {
            self.wrong(&format!("{path}.suspended"), what, remedy);
        }
    }
}
