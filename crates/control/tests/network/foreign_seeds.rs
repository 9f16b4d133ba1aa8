//! Random networks and faults with programs that do not ask, which come, change and go.
use control::config::Config;
use control::foreign::{Described, Endpoint, Limit, Overhead, Topic};
use wire::admission::State;

use crate::cases::MS;
use crate::counts::Counts;
use crate::foreign::{endpoint, topic};
use crate::networks::with_one_queue;
use crate::seeds::{Play, played_out};
use crate::world::{World, guid, request};

/// Participants of such programs have numbers from this one on, one for each host.
const FIRST: u8 = 200;

/// What is there of them.
#[derive(Default)]
pub(crate) struct Foreign {
    endpoints: Vec<Endpoint>,
    /// How often one of them was seen admitted, and refused.
    admitted: usize,
    refused: usize,
}

impl Play {
    fn with_foreign(seed: u64) -> Self {
        let mut play = Self::new(seed);
        let network = with_one_queue(play.world.network.clone());
        let topics = vec![
            Topic { largest: 500, ..topic("small", Some(Limit::Fixed(15 * MS))) },
            topic("large", Some(Limit::Fixed(40 * MS))),
            topic("quiet", None),
        ];
        let described = Described { topics, overhead: Overhead::default() };
        let inspection = play.world.config.inspection;
        let mut world = World::new(network, Config { described, inspection, ..Config::default() });
        world.acknowledge = play.world.acknowledge;
        world.disorder = play.world.disorder.take();
        play.world = world;
        play.foreign = Some(Foreign::default());
        play
    }

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
                match self.world.state(pair) {
                    Some(State::Admitted) => foreign.admitted += 1,
                    Some(State::Refused) => foreign.refused += 1,
                    _ => {}
                }
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

/// `CONTROL_SEED=7 CONTROL_TRACE=1 cargo test --package punctual-control --test network foreign_seeds -- --nocapture` plays one again.
#[test]
fn what_is_promised_to_programs_that_do_not_ask_is_in_force_and_nothing_else() {
    let one = std::env::var("CONTROL_SEED").ok().and_then(|seed| seed.parse::<u64>().ok());
    let seeds = one.map_or_else(|| tiers::current().seeds("control.foreign"), |seed| seed..seed + 1);
    let mut counts = Counts::default();
    let (mut admitted, mut refused) = (0, 0);
    for seed in seeds {
        let mut play = Play::with_foreign(seed);
        let played = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let counts = played_out(&mut play, None);
            (counts, play.foreign.as_ref().map_or((0, 0), |foreign| (foreign.admitted, foreign.refused)))
        }));
        let played = played.unwrap_or_else(|panic| {
            eprintln!("seed {seed}: replay with CONTROL_SEED={seed} CONTROL_TRACE=1 and --nocapture");
            std::panic::resume_unwind(panic)
        });
        counts.add_all(&played.0);
        admitted += played.1.0;
        refused += played.1.1;
    }
    println!("{admitted} admitted and {refused} refused: {counts:#?}");
    assert!(one.is_some() || (admitted > 100 && refused > 100), "{admitted} {refused}");
}
