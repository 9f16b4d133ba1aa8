//! Connections that carry nothing: which may be suspended.
use alloc::format;
use alloc::string::String;

use super::Checker;
use crate::manifest::{Catalogue, PortKind};
use crate::plan::{ArtefactKind, Chain, Connection, End, JoinKind, Plan};

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

    /// Whether a chain waits for what comes by a connection to one of its ends: it passes the connection, or a join that keeps events until that has one.
    fn waits(&self, chain: &Chain, connection: &Connection, to: &End) -> bool {
        let join = to.component().and_then(|name| self.components.get(name)).and_then(|component| match to {
            End::Port { port, .. } => component.ports.get(port)?.join.as_ref(),
            End::Topic(_) => None,
        });
        if join.is_some_and(|join| join.kind == JoinKind::Conjunction) {
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
