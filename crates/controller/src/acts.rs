//! Does what the manager wants done.
use std::time::Duration;

use control::action::{Action, Done, GateChange, StoreChange, Token};
use control::grant::Grant;
use control::orders::GateOrder;
use control::session::{News, Session};
use gate::protocol::Request;
use store::{Change, Key};

use crate::connection::{Connection, ConnectionId};
use crate::daemon::{Daemon, NO_AGENT};

impl Daemon<'_> {
    pub(crate) fn act(&mut self, now: Duration, action: Action) {
        match action {
            Action::Install { token, switch, messages } => {
                self.with_switch(switch, |session, now, news| session.install(now, token, &messages, news));
            }
            Action::Send { switch, messages } => {
                self.with_switch(switch, |session, now, news| session.send(now, &messages, news));
            }
            Action::Read { token, switch, counters } => {
                self.with_switch(switch, |session, now, news| session.read(now, token, counters, news));
            }
            Action::ReadGates { token, switch } => match self.agents.get(&switch) {
                Some(agent) => {
                    agent.ask(token.0, Request::List);
                    self.readings.insert(token, switch);
                }
                None => self.manager.has_read_gates(now, token, Err(NO_AGENT.to_owned())),
            },
            Action::Gate { token, switch, change } => self.order(now, token, switch, change),
            Action::Disconnect { switch } => {
                if let Some(id) = self.connection_of(switch) {
                    self.close(id, "what it has is not known: it has to connect again");
                }
                if let Some(agent) = self.agents.get(&switch) {
                    agent.connect_again();
                }
            }
            Action::Store { token, change } => match stored(change) {
                Ok(changes) => self.to_store.push((token, changes)),
                Err(error) => self.answers.push_back((token, Done::Failed(error))),
            },
            Action::Publish { token, verdict } => self.verdicts.say(now, &self.topics, *verdict, token),
            Action::Dispose(pair) => self.verdicts.forget(now, &self.topics, pair),
        }
    }

    fn connection_of(&self, datapath: u64) -> Option<ConnectionId> {
        let is = |connection: &Connection| connection.session.datapath() == Some(datapath);
        let mut found = self.connections.iter().filter(|(_, connection)| is(connection));
        found.next().map(|(id, _)| *id)
    }

    /// A switch that is gone needs no answer: the manager was told, or will be.
    fn with_switch(&mut self, datapath: u64, act: impl FnOnce(&mut Session, Duration, &mut Vec<News>)) {
        if let Some(id) = self.connection_of(datapath) {
            self.with_session(id, act);
        }
    }

    fn order(&mut self, now: Duration, token: Token, switch: u64, change: GateChange) {
        let Some(agent) = self.agents.get(&switch) else {
            return self.manager.installed(now, token, Done::Failed(NO_AGENT.to_owned()));
        };
        let (order, first) = GateOrder::new(change);
        agent.ask(token.0, first);
        self.orders.insert(token, (switch, order));
    }

    /// Stores what is to be stored: in one transaction, or in several of as much as the store takes, what belongs to one token in one.
    pub(crate) fn store_all(&mut self) {
        let mut waiting = std::mem::take(&mut self.to_store).into_iter().peekable();
        while let Some((token, mut changes)) = waiting.next() {
            let mut tokens = vec![token];
            let most = self.store.most_changes();
            while let Some((token, more)) =
                waiting.next_if(|(_, more)| changes.len().saturating_add(more.len()) <= most)
            {
                tokens.push(token);
                changes.extend(more);
            }
            let done = match self.store.change(&changes) {
                Ok(()) => Done::Confirmed,
                Err(error) => Done::Failed(error.to_string()),
            };
            self.answers.extend(tokens.into_iter().map(|token| (token, done.clone())));
        }
    }
}

/// A change as it is stored.
fn stored(change: StoreChange) -> Result<Vec<Change>, String> {
    let put = |grant: &Grant| {
        let bytes = serde_json::to_vec(grant).map_err(|error| error.to_string())?;
        Ok((Key::Grant(grant.number), Some(bytes)))
    };
    match change {
        StoreChange::Put(grant) => Ok(vec![put(&grant)?]),
        StoreChange::PutAll(grants) => grants.iter().map(put).collect(),
        StoreChange::Remove(number) => Ok(vec![(Key::Grant(number), None)]),
        StoreChange::Drain(drain) => {
            let bytes = serde_json::to_vec(&drain).map_err(|error| error.to_string())?;
            Ok(vec![(Key::Drain(drain.switch), Some(bytes))])
        }
        StoreChange::Undrain(switch) => Ok(vec![(Key::Drain(switch), None)]),
    }
}
