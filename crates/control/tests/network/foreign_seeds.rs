//! Random networks and faults with programs that do not ask, which come, change and go.
use control::foreign::{Endpoint, Limit, Topic};
use wire::admission::State;

use crate::cases::MS;
use crate::counts::Fault;
use crate::foreign::{endpoint, topic};
use crate::seeds::Play;
use crate::world::{guid, request};

/// Participants of such programs have numbers from this one on, one for each host.
const FIRST: u8 = 200;

/// What is there of them.
#[derive(Default)]
pub(crate) struct Foreign {
    endpoints: Vec<Endpoint>,
}

/// What an operator has described of them.
pub(crate) fn described_topics() -> Vec<Topic> {
    vec![
        Topic { largest: 500, ..topic("small", Some(Limit::Fixed(15 * MS))) },
        topic("large", Some(Limit::Fixed(40 * MS))),
        topic("quiet", None),
    ]
}

impl Play {
    /// One of them comes, changes or goes.
    pub(crate) fn find_some(&mut self) {
        let Some(mut foreign) = self.foreign.take() else { return };
        let hosts = self.world.network.hosts.len();
        if self.random.one_in(2) {
            let host = self.random.below(hosts);
            let name = match self.random.below(48) {
                0 => "undescribed",
                1..=5 => "quiet",
                6..=10 => "large",
                _ => "small",
            };
            let number = u8::try_from(self.random.below(2)).unwrap() + 1;
            let is_writer = self.random.one_in(2);
            let mut found = endpoint(host, number, is_writer, name);
            let kind = u8::from(is_writer) * 16 + name.len() as u8;
            found.guid = guid(FIRST + u8::try_from(host).unwrap(), number * 32 + kind);
            found.is_reliable = self.random.one_in(2);
            match foreign.endpoints.iter().position(|known| known.guid == found.guid) {
                Some(at) => drop(foreign.endpoints.remove(at)),
                None => foreign.endpoints.push(found),
            }
        } else if self.random.one_in(20) {
            foreign.endpoints.clear();
        }
        self.foreign = Some(foreign);
        self.find_again();
    }

    /// They are all there, for a manager that has just begun, too.
    pub(crate) fn find_again(&mut self) {
        let Some(foreign) = &mut self.foreign else { return };
        self.asked.retain(|_, (asked, _, _)| asked.source.port != 0);
        let host = |endpoint: &Endpoint| usize::from(endpoint.guid.to_bytes()[3] - FIRST);
        for writer in foreign.endpoints.iter().filter(|endpoint| endpoint.is_writer) {
            for reader in foreign.endpoints.iter().filter(|endpoint| !endpoint.is_writer) {
                let limit = match &*writer.topic {
                    "small" => 15 * MS,
                    "large" => 40 * MS,
                    _ => continue,
                };
                let (from, to, pair) = (host(writer), host(reader), (writer.guid, reader.guid));
                if from == to || writer.topic != reader.topic {
                    continue;
                }
                let asked = request(pair, 0, from, to, (0, 0), crate::cases::contract(1, 1), limit);
                self.asked.insert(pair, (asked, from, to));
                let is_served = self.world.state(pair) == Some(State::Admitted);
                self.world.counts.add_if(is_served, Fault::ServedUnasked);
            }
        }
        let endpoints = foreign.endpoints.clone();
        self.world.find(&endpoints);
    }

    /// None of them is there any more.
    pub(crate) fn find_none(&mut self) {
        if let Some(foreign) = &mut self.foreign {
            foreign.endpoints.clear();
            self.find_again();
        }
    }
}
