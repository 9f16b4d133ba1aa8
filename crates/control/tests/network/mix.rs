//! Everything in one world: which of it a seed draws, and what holds of policies and quotas.
use std::collections::BTreeMap;
use std::time::Duration;

use control::action::Asker;
use control::config::Config;
use control::foreign::Described;
use control::network::Network;
use wire::admission::{Request, State, Verdict};

use crate::counts::Fault;
use crate::foreign_seeds::{Foreign, described_topics};
use crate::former::Former;
use crate::networks::{with_one_queue, with_vlans};
use crate::policy;
use crate::random::Random;
use crate::seeds::{Play, is_foreign};
use crate::signing::Signing;
use crate::world::World;

/// Rates of the hosts' links.
const LINK: u128 = 100_000_000;

/// Requests of all, of a host, of a participant and of a user.
const FEW: [usize; 4] = [6, 4, 2, 3];

/// Whether a verdict is that of a request that the manager has not taken in.
pub(crate) fn is_turned_away(verdict: &Verdict) -> bool {
    let words = ["requests already", "the policy", "certificate"];
    verdict.state != State::Admitted && words.iter().any(|words| verdict.reason.contains(words))
}

/// What is drawn besides networks, requests and faults.
#[derive(Default)]
pub(crate) struct Mix {
    pub(crate) policy: Option<::policy::Policy>,
    pub(crate) has_few: bool,
    /// Whether managers are taken over while they live, and files change.
    pub(crate) changes: bool,
    pub(crate) former: Option<Former>,
    /// Addresses of hosts have been changed in the network file.
    pub(crate) rebound: bool,
    /// What is drawn of frames in VLANs, if there are any.
    pub(crate) vlans: Option<Random>,
}

/// Whether hosts of a seed's network are in VLANs: in some of those whose addresses need not be learned.
fn draws_vlans(seed: u64, network: &Network) -> bool {
    Random::new(seed ^ 0x8100).one_in(3) && network.hosts.iter().all(|host| !host.addresses.is_empty())
}

/// The VLANs of a host.
fn some_vlans(seed: u64, host: usize) -> Vec<u16> {
    let mut random = Random::new(seed.wrapping_mul(31).wrapping_add(host as u64));
    let is_in = |random: &mut Random, id: u16| (!random.one_in(3)).then_some(id);
    [is_in(&mut random, 10), is_in(&mut random, 20).filter(|_| random.one_in(2))]
        .into_iter()
        .flatten()
        .collect()
}

impl Play {
    /// A world of which everything may be a part.
    pub(crate) fn mixed(seed: u64) -> Self {
        let mut play = Self::new(seed);
        let random = &mut play.random;
        let is_signed = random.one_in(3);
        let has_foreign = random.one_in(3);
        let has_few = !has_foreign && random.one_in(3);
        let policy = random.one_in(3).then(|| policy::some_policy(random, is_signed));
        let stranger = u8::try_from(100 + random.below(8)).unwrap();
        let mut config = Config {
            // It takes much of the time of a seed.
            inspection: play.world.config.inspection * 4,
            signed: is_signed,
            policy: policy.clone(),
            losses: play.world.config.losses,
            ..Config::default()
        };
        if has_few {
            let [all, host, participant, user] = FEW;
            config.most_requests = all;
            config.most_requests_of_host = host;
            config.most_requests_of_participant = participant;
            config.most_requests_of_user = user;
        }
        let mut network = play.world.network.clone();
        if has_foreign {
            network = with_one_queue(network);
            config.described = Described { topics: described_topics(), ..Described::default() };
        }
        let vlans = draws_vlans(seed, &network).then(|| Random::new(seed ^ 0x81_0000));
        if vlans.is_some() {
            network = with_vlans(network, |host| some_vlans(seed, host));
        }
        let watches = play.world.watches;
        let mut world = World::new(network, config);
        world.acknowledge = play.world.acknowledge;
        world.disorder = play.world.disorder.take();
        if watches {
            world.watch();
        }
        play.world = world;
        play.signing = is_signed.then(|| Signing::new(stranger));
        play.foreign = has_foreign.then(|| Foreign::new(seed));
        play.mix = Mix { policy, has_few, changes: true, former: None, rebound: false, vlans };
        play
    }

    /// Something of what is besides.
    pub(crate) fn mixed_step(&mut self) {
        self.former_goes_on();
        match self.random.below(60) {
            0 => {
                self.come_to_rest();
                self.take_over();
                self.come_to_rest();
            }
            1 => {
                self.come_to_rest();
                self.change_file();
                self.come_to_rest();
            }
            2..=7 => self.forge(),
            _ => {}
        }
    }

    /// Often all is there, and has been answered.
    fn come_to_rest(&mut self) {
        if !self.random.one_in(3) {
            self.reconnect();
            self.world.greet();
            self.world.pass(Duration::from_secs(1));
        }
    }

    /// Nothing is granted that the policy forbids, nor to a stranger, nor more than may be known.
    pub(crate) fn allowed(&mut self) {
        let admitted = self.asked.iter().filter(|(pair, (asked, _, _))| {
            !is_foreign(asked) && self.world.state(**pair) == Some(State::Admitted)
        });
        let granted: Vec<(Request, Asker)> =
            admitted.map(|(pair, (asked, _, _))| (asked.clone(), self.asker(*pair))).collect();
        for (asked, asker) in &granted {
            assert!(!matches!(asker, Asker::Unknown(_)), "a stranger is served: {asked:?}");
        }
        if let Some(policy) = &self.mix.policy {
            policy::judge(policy, &granted, LINK, &self.world.network);
        }
        if self.mix.has_few {
            let [all, host, participant, user] = FEW;
            let (mut hosts, mut participants, mut users) =
                (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
            for (asked, asker) in &granted {
                *hosts.entry(self.asked[&asked.pair()].2).or_insert(0) += 1;
                *participants.entry(asked.pair().1.prefix).or_insert(0) += 1;
                if let Asker::User(name) = asker {
                    *users.entry(name).or_insert(0) += 1;
                }
            }
            let most = |counts: &mut dyn Iterator<Item = &usize>| counts.max().copied().unwrap_or(0);
            let there = [
                granted.len(),
                most(&mut hosts.values()),
                most(&mut participants.values()),
                most(&mut users.values()),
            ];
            assert!(
                there[0] <= all && there[1] <= host && there[2] <= participant && there[3] <= user,
                "more are served than may be known: {there:?} of {FEW:?}"
            );
        }
        for verdict in self.world.verdicts.values() {
            let forbidden = verdict.state == State::Refused && verdict.reason.contains("policy");
            self.world.counts.add_if(forbidden, Fault::Forbidden);
            self.world.counts.add_if(verdict.reason.contains("requests already"), Fault::TooMany);
        }
    }
}
