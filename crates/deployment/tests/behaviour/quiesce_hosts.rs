//! No event of one plan is handled in the next one, also between hosts: each has a supervisor, and what is here in place of the manager lets them go
//! on together, gives up now and then, and decides.
use std::sync::Arc;

use deployment::{Input, Outcome, Phase, Request, Target};
use testkit::random::Random;

use crate::plans;
use crate::simulation::calm;
use crate::traffic::Shared;
use crate::world::{Faults, MILLISECOND, OneOf, World};

const HOSTS: [&str; 3] = ["n1", "n2", "n3"];
/// The supervisors give up before.
const PATIENCE: u64 = 5_000 * MILLISECOND;

/// What was seen in the plays of all seeds.
#[derive(Default)]
struct Seen {
    handled: u64,
    finished: u64,
    changed: u64,
    /// Changes in which hosts had to wait for each other so often.
    rounds: [u64; 3],
    taken_back: u64,
    cannot: u64,
    /// Components that went on in the next process.
    handed_over: u64,
    read: u64,
    joined: u64,
    by_gateway: u64,
}

/// All hosts.
struct Hosts {
    all: Vec<World>,
    network: Shared,
    random: Random,
    /// The number of the last change, and the plan that holds.
    number: u64,
    held: Target,
}

fn world(host: usize, seed: u64, network: &Shared) -> World {
    let mut world = World::on_host(Some(HOSTS[host]), seed, "random");
    world.network = Shared::clone(network);
    world.one_of = Some(OneOf::of(host as u64));
    world
}

fn is_on(target: &Target, host: &str) -> bool {
    target.plan.layout().processes().values().any(|of| *of == Some(host))
}

impl Hosts {
    fn new(seed: u64) -> Self {
        let network = Shared::default();
        network.borrow_mut().begin();
        let all: Vec<World> =
            (0..HOSTS.len()).map(|host| world(host, 3 * seed + host as u64, &network)).collect();
        Self { all, network, random: Random::new(seed), number: 0, held: Target::default() }
    }

    /// All go on for a moment, in any order.
    fn go_on(&mut self) {
        let time = 1 + self.random.below_u64(3 * MILLISECOND);
        let first = self.random.below(self.all.len());
        for host in 0..self.all.len() {
            let index = (first + host) % self.all.len();
            self.all[index].run(time);
        }
    }

    /// Goes on until all have come so far, or something prevents that.
    fn until(&mut self, number: u64, is_there: impl Fn(&World) -> bool) -> bool {
        let end = self.all[0].now + PATIENCE;
        while !self.all.iter().all(&is_there) {
            if self.all.iter().any(|world| world.outcomes.contains_key(&number)) || self.all[0].now > end {
                return false;
            }
            self.go_on();
        }
        true
    }

    fn input(&mut self, input: &Input) {
        // Hosts hear of it at different times.
        for host in 0..self.all.len() {
            self.all[host].input(input.clone());
            if self.random.chance(50) {
                self.go_on();
            }
        }
    }

    /// Lets all hosts come as far as they have to before the change can be decided.
    fn lead(&mut self, number: u64, seen: &mut Seen) -> bool {
        let reached = |phase| move |world: &World| world.reached.get(&number) == Some(&phase);
        if !self.until(number, reached(Phase::PreparePlan)) {
            return false;
        }
        let rounds = self.all.iter().map(|world| world.supervisor.rounds()).max().unwrap_or(0);
        for round in 0..rounds {
            let all = self.all.iter().filter_map(|world| world.quiesced.get(&number));
            let published = all.flat_map(|(_, published)| published.clone()).collect();
            self.input(&Input::ProceedQuiescing(number, round, published));
            if self.random.one_in(10) {
                // What was said before may be said again: it changes nothing.
                let before = self.random.below(round as usize + 1) as u32;
                self.input(&Input::ProceedQuiescing(number, before, Vec::new()));
            }
            let is_there = |world: &World| world.quiesced.get(&number).is_some_and(|(of, _)| *of == round);
            if self.random.one_in(20) || !self.until(number, is_there) {
                return false;
            }
        }
        seen.rounds[(rounds as usize).saturating_sub(1).min(2)] += u64::from(rounds > 0);
        for phase in [Phase::Passivate, Phase::StartLaunch, Phase::FinishLaunch] {
            self.input(&Input::Proceed(number, phase));
            if self.random.one_in(20) || !self.until(number, reached(phase)) {
                return false;
            }
        }
        true
    }

    /// Tries to change to a plan.
    fn change(&mut self, target: &Target, context: &str, seen: &mut Seen) {
        self.number += 1;
        let number = self.number;
        // A host that has nothing of the deployment has no supervisor of it either.
        for (host, name) in HOSTS.iter().enumerate() {
            if !is_on(&self.held, name) {
                let (now, faults) = (self.all[host].now, self.all[host].faults);
                let seed = self.random.bits();
                let mut fresh = world(host, seed, &self.network);
                (fresh.now, fresh.faults) = (now, faults);
                self.all[host] = fresh;
            }
        }
        for world in &mut self.all {
            world.one_of.as_mut().unwrap().proposed = Some((number, target.plan.clone()));
            world.request(number, Request::Propose(Arc::new(target.clone())));
        }
        let holds = self.lead(number, seen) && self.random.chance(90);
        if holds {
            self.network.borrow_mut().decides(number);
            self.held = target.clone();
            seen.changed += 1;
        }
        self.input(&Input::Decide(number, holds));
        // Processes that hang are given up one after the other.
        let end = self.all[0].now + 40 * PATIENCE;
        while self.all[0].now < end && self.all.iter().any(|world| !world.outcomes.contains_key(&number)) {
            self.go_on();
        }
        let mut why = Vec::new();
        for world in &self.all {
            match world.outcomes.get(&number) {
                Some(Outcome::Done(_)) => assert!(holds, "{context}: it is done, and was not decided"),
                Some(Outcome::Refused(what)) => {
                    assert!(!holds, "{context}: it is decided, and refused: {what}");
                    why.push(what);
                }
                other => panic!("{context}: {other:?}"),
            }
        }
        let cannot = why.iter().any(|what| what.contains("cannot be changed between events"));
        seen.cannot += u64::from(cannot);
        seen.taken_back += u64::from(!holds && !cannot);
    }

    /// A moment of work.
    fn work(&mut self, from: u64) {
        for request in from..from + 6 {
            for world in &mut self.all {
                world.request(request, Request::Status);
            }
            self.go_on();
        }
    }
}

fn play(seed: u64, seen: &mut Seen) {
    let mut hosts = Hosts::new(seed);
    let kinds = [
        Faults { crash: 3, ..Faults::default() },
        Faults { lost: 2, double: 60, ..Faults::default() },
        Faults { unstartable: 20, fail: 40, ..Faults::default() },
        Faults { late: 30, hang: 10, ..Faults::default() },
    ];
    for round in 0..hosts.random.range(3, 6) {
        let context = format!("seed {seed}, change {round}");
        let faults =
            if hosts.random.chance(40) { *hosts.random.pick(&kinds).unwrap() } else { Faults::default() };
        hosts.all.iter_mut().for_each(|world| world.faults = faults);
        let count = 1 + hosts.random.below(HOSTS.len());
        let is_first = hosts.held.plan.components.is_empty();
        let target = match hosts.random.below(100) {
            0..10 if !is_first => plans::renewed(&hosts.held),
            10..50 if !is_first => plans::set_anew(&hosts.held, &mut hosts.random),
            _ => plans::quiescent_of(&mut hosts.random, &HOSTS[..count]),
        };
        hosts.work(1_000 * (round + 1));
        let before = hosts.held.clone();
        hosts.network.borrow_mut().lost.clear();
        hosts.change(&target, &context, seen);
        // `double` and `unstartable` may be among the faults: these lose nothing.
        let is_quiet = [faults.crash, faults.lost, faults.fail, faults.late, faults.hang] == [0; 5];
        if is_quiet && hosts.held != before {
            assert_eq!(hosts.network.borrow().lost, [""; 0], "{context}");
        }
        hosts.all.iter_mut().for_each(calm);
        hosts.work(1_000 * (round + 1) + 500);
        hosts.all.iter_mut().for_each(calm);
        if hosts.held != before && hosts.held == target {
            seen.handed_over += hosts.all.iter().map(World::handed_over).sum::<u64>();
        }
        for (world, name) in hosts.all.iter().zip(HOSTS) {
            world.judge(&format!("{context}, {name}"));
        }
        let network = hosts.network.borrow();
        let texts = [before.plan.to_toml(), target.plan.to_toml()];
        assert!(network.wrong.is_empty(), "{context}: {:?}\n{}", network.wrong.first(), texts.join("\n"));
    }
    let network = hosts.network.borrow();
    seen.handled += network.handled;
    seen.finished += network.finished;
    seen.read += network.read;
    seen.joined += network.joined;
    seen.by_gateway += network.by_gateway;
}

#[test]
fn no_event_of_a_plan_is_handled_in_the_next_on_any_host() {
    let mut seen = Seen::default();
    for seed in tiers::current().seeds("deployment.seeds").step_by(2) {
        let played = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| play(seed, &mut seen)));
        played.unwrap_or_else(|_| panic!("seed {seed}: PUNCTUAL_SEED={seed} repeats it"));
    }
    let [one, two, more] = seen.rounds;
    let all = [seen.handled, seen.finished, seen.changed, one, two, more, seen.taken_back, seen.cannot];
    let kinds = [seen.handed_over, seen.read, seen.joined, seen.by_gateway];
    let all = [&all[..], &kinds[..]].concat();
    println!(
        "handled, finished, changed, rounds, taken back, refused, handed over, read, joined, by gateways: {all:?}"
    );
    assert!(all.iter().all(|count| *count > 0) || std::env::var_os("PUNCTUAL_SEED").is_some(), "{all:?}");
}

/// A component that goes on stands in a circle, or in a process that begins later, so it is before its publisher in the order of the plan. Its publisher
/// rests only when it has handled what came from another host.
#[test]
fn a_component_that_goes_on_handles_what_comes_of_the_last_round() {
    let plan = |depth: u32, of_process: &str, back: &str| {
        let text = format!(
            "id = \"random\"\nquiesce = \"900 ms\"\n{}{}[connection.ca]\nfrom = \"c.out\"\nto = [\"a.in\"]\nqueue = {{ depth = {depth} }}\n\
             [connection.ab]\nfrom = \"a.out\"\nto = [\"b.in\"]\nqueue = {{ depth = {depth} }}\n{back}",
            plans::three_nodes!(),
            "[host.n2]\ncores = 2\n",
        );
        let text = text.replacen("host = \"n1\"", "host = \"n2\"", 1);
        text.replace("[component.b]\ntype = \"Node\"\nprocess = \"p\"", of_process)
    };
    let within = "[component.b]\ntype = \"Node\"\nprocess = \"p\"";
    let further = "[process.r]\nartefact = \"x\"\nhost = \"n2\"\ndepends-on = [\"p\"]\n[component.b]\ntype = \"Node\"\nprocess = \"r\"";
    let third = "[host.n3]\ncores = 2\n[process.r]\nartefact = \"x\"\nhost = \"n3\"\n[component.b]\ntype = \"Node\"\nprocess = \"r\"";
    let back = "[connection.ba]\nfrom = \"b.out\"\nto = [\"a.in\"]\nqueue = { depth = 4 }\n";
    for (of_process, back) in [(within, back), (further, ""), (further, back), (third, back)] {
        let mut finished = 0;
        for seed in 0..20 {
            let mut hosts = Hosts::new(seed);
            let (mut seen, context) = (Seen::default(), format!("seed {seed} of {of_process} {back}"));
            while seen.changed < 2 {
                let target = plans::target(&plan(4 + seen.changed as u32, of_process, back));
                hosts.work(1_000 * (hosts.number + 1));
                hosts.network.borrow_mut().lost.clear();
                hosts.change(&target, &context, &mut seen);
                assert_eq!(seen.cannot, 0, "{context}");
            }
            let network = hosts.network.borrow();
            assert_eq!(network.lost, [""; 0], "{context}");
            assert!(network.wrong.is_empty(), "{context}: {:?}", network.wrong.first());
            finished += network.finished;
        }
        assert!(finished > 0, "nothing was on its way: {of_process} {back}");
    }
}
