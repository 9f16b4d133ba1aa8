//! Chains that are followed: a judge that shares nothing with the scorer looks at what components note of each event.
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use container::{
    ByChannel, ByDds, Chain, Component, Consumer, Context, Direct, Dispatch, Event, Every, Fault, Full,
    Handle, Hop, Lifecycle, Limit, Order, Outcome, Policy, Publisher, Queue, Server, ServerError, Threads,
    Tick, Timer, Times,
};
use dds::DdsType;
use testkit::virtual_domain::VirtualDomain;

/// Which instants of the source an event is of.
#[derive(DdsType, Clone, Debug)]
pub(crate) struct Mark {
    due: u64,
    text: String,
}
impl Event for Mark {}

/// What the judge is told: for each event the instants of pushes, begins and ends, by place.
pub(crate) type Notes = Arc<Mutex<BTreeMap<u64, Vec<(&'static str, u64)>>>>;

fn note(notes: &Notes, due: u64, what: &'static str, at: &Context) {
    notes.lock().unwrap().entry(due).or_default().push((what, at.now()));
}

/// Makes a mark each period, and takes some time for it.
#[derive(Component)]
pub(crate) struct Sensor {
    tick: Timer,
    out: Publisher<Mark>,
    pub(crate) takes: Vec<u64>,
    count: u64,
    pub(crate) notes: Notes,
}
impl Lifecycle for Sensor {}
impl Handle<sensor::Tick> for Sensor {
    fn handle(&mut self, _: &Tick, at: &Context) -> Outcome {
        // With more work than time nothing would ever be done.
        if self.count == MOST {
            return Ok(());
        }
        let due = at.created();
        note(&self.notes, due, "begin 0", at);
        at.pass(Duration::from_nanos(self.takes[self.count as usize % self.takes.len()]));
        self.count += 1;
        note(&self.notes, due, "push 0", at);
        self.out.push(at, &Mark { due, text: "mark".to_owned() })
    }
}

/// Hands marks on.
#[derive(Component)]
pub(crate) struct Middle {
    input: Consumer<Mark>,
    out: Publisher<Mark>,
    pub(crate) takes: Vec<u64>,
    count: u64,
    pub(crate) notes: Notes,
}
impl Lifecycle for Middle {}
impl Handle<middle::Input> for Middle {
    fn handle(&mut self, mark: &Mark, at: &Context) -> Outcome {
        note(&self.notes, mark.due, "begin 1", at);
        at.pass(Duration::from_nanos(self.takes[self.count as usize % self.takes.len()]));
        self.count += 1;
        note(&self.notes, mark.due, "push 1", at);
        self.out.push(at, mark)
    }
}

/// The end.
#[derive(Component)]
pub(crate) struct Arm {
    input: Consumer<Mark>,
    pub(crate) takes: Vec<u64>,
    count: u64,
    pub(crate) notes: Notes,
}
impl Lifecycle for Arm {}
impl Handle<arm::Input> for Arm {
    fn handle(&mut self, mark: &Mark, at: &Context) -> Outcome {
        note(&self.notes, mark.due, "begin 2", at);
        at.pass(Duration::from_nanos(self.takes[self.count as usize % self.takes.len()]));
        self.count += 1;
        note(&self.notes, mark.due, "end 2", at);
        Ok(())
    }
}

pub(crate) const PERIOD: u64 = 1_000_000;
/// Events of a test at most.
pub(crate) const MOST: u64 = 150;

pub(crate) fn hop(port: &str, connections: &[&str]) -> Hop {
    Hop {
        port: port.to_owned(),
        connections: connections.iter().map(|name| (*name).to_owned()).collect(),
        samples: false,
    }
}

fn chain(reaction: u64, age: u64) -> Chain {
    let nanos = |time| Some(Duration::from_nanos(time));
    Chain {
        name: "whole".to_owned(),
        reaction: nanos(reaction),
        age: nanos(age),
        period: nanos(PERIOD),
        hops: vec![
            hop("sensor.tick", &["tick"]),
            hop("middle.input", &["first", "first out"]),
            hop("arm.input", &["second"]),
        ],
        connection: None,
    }
}

pub(crate) fn server() -> Server {
    let mut server = Server::simulated();
    let lane = Threads::fifo;
    let lanes = vec![(1, lane(30)), (2, lane(20)), (3, lane(10))];
    server.container("box", Policy { lanes, ..Policy::default() }).unwrap();
    server
}

pub(crate) fn every() -> Every {
    Every { period: Duration::from_nanos(PERIOD), dispatch: Dispatch::Lane(1), patience: None }
}

pub(crate) fn queue(lane: u8, depth: u16, full: Full) -> ByChannel {
    let queue = Queue { depth, full, order: Order::Fifo };
    ByChannel { queue, ..ByChannel::new(Dispatch::Lane(lane)) }
}

/// What a judge makes of the notes.
#[derive(Default, Debug)]
struct Judged {
    completions: u64,
    reactions: Vec<u64>,
    ages: Vec<u64>,
    sums: [(u64, u64); 3],
}

/// B4 and B5 of the model, word by word: for each instant of the timer the first end of a run that is of it or of a later one.
fn judge(notes: &Notes) -> Judged {
    let notes = notes.lock().unwrap();
    let mut judged = Judged::default();
    let ends: Vec<(u64, u64)> = notes
        .iter()
        .flat_map(|(due, all)| all.iter().filter(|(what, _)| *what == "end 2").map(|(_, at)| (*due, *at)))
        .collect();
    judged.completions = ends.len() as u64;
    judged.ages = ends.iter().map(|(due, end)| end - due).collect();
    let (first, last) = (ends.iter().map(|end| end.0).min(), ends.iter().map(|end| end.0).max());
    let (Some(first), Some(last)) = (first, last) else { return judged };
    let mut instant = first;
    while instant <= last {
        let answer = ends.iter().filter(|(due, _)| *due >= instant).map(|(_, end)| *end).min().unwrap();
        judged.reactions.push(answer - instant);
        instant += PERIOD;
    }
    for (due, all) in notes.iter().filter(|(_, all)| all.iter().any(|(what, _)| *what == "end 2")) {
        // A sampler notes nothing: then ends alone are looked at.
        if all.iter().all(|(what, _)| *what != "begin 1") {
            continue;
        }
        let at = |what: &str| all.iter().find(|(other, _)| *other == what).unwrap().1;
        for (hop, (before, begin, end)) in [
            (None, "begin 0", "push 0"),
            (Some("push 0"), "begin 1", "push 1"),
            (Some("push 1"), "begin 2", "end 2"),
        ]
        .into_iter()
        .enumerate()
        {
            judged.sums[hop].0 += at(begin) - before.map_or(*due, at);
            judged.sums[hop].1 += at(end) - at(begin);
        }
    }
    judged
}

pub(crate) fn over(times: &[u64], limit: u64) -> u64 {
    times.iter().filter(|time| **time > limit).count() as u64
}

/// The share of `times` that is at most `bound`, to within what a histogram rounds.
fn is_quantile(times: &[u64], share: f64, value: Duration) {
    let mut times = times.to_vec();
    times.sort_unstable();
    let exact = times[((share * times.len() as f64).ceil() as usize).clamp(1, times.len()) - 1];
    let value = value.as_nanos() as u64;
    assert!(value + 1_000 >= exact && value <= exact + exact / 50 + 1_000, "{share}: {value}, not {exact}");
}

/// All that the score says, against the judge.
fn agrees(server: &Server, notes: &Notes, limits: (u64, u64)) -> Judged {
    let scores = server.chains();
    let [score] = &scores[..] else { panic!("{scores:?}") };
    let judged = judge(notes);
    assert_eq!(score.completions, judged.completions);
    assert_eq!(score.unknown, 0);
    for (quantiles, times, limit) in
        [(score.reaction, &judged.reactions, limits.0), (score.age, &judged.ages, limits.1)]
    {
        assert_eq!(quantiles.count, times.len() as u64);
        assert_eq!(quantiles.worst, Duration::from_nanos(*times.iter().max().unwrap()));
        assert_eq!(quantiles.exceeded, over(times, limit), "{times:?}");
        is_quantile(times, 0.5, quantiles.median);
        is_quantile(times, 0.99, quantiles.most_of_hundred);
    }
    for ((port, times), (wait, run)) in score.hops.iter().zip(judged.sums) {
        let of = Duration::from_nanos;
        assert_eq!(*times, Times { transfer: Duration::ZERO, wait: of(wait), run: of(run) }, "{port}");
    }
    judged
}

/// Handlers whose times are drawn: some instants are skipped, some events are dropped, some wait.
#[test]
fn a_score_is_what_a_judge_makes_of_the_events() {
    let (mut lost, mut exceeded) = (0, 0);
    for seed in tiers::current().seeds("container.chains") {
        let mut random = testkit::random::Random::new(seed);
        let limits = (700_000 + random.below_u64(2_000_000), 500_000 + random.below_u64(1_500_000));
        let notes = Notes::default();
        let mut server = server();
        server.install::<Sensor>("box", "sensor", &[]).unwrap();
        server.install::<Middle>("box", "middle", &[]).unwrap();
        server.install::<Arm>("box", "arm", &[]).unwrap();
        server.follow(chain(limits.0, limits.1)).unwrap();
        server.every("tick", "sensor.tick", every()).unwrap();
        let full = [Full::DropOldest, Full::DropNewest, Full::Reject, Full::Coalesce];
        let mut by = |lane| queue(lane, 1 + random.below(3) as u16, full[random.below(4)]);
        let (first, second) = (by(2), by(3));
        if random.below(2) == 0 {
            server.connect("first", &["sensor.out"], &["middle.input"], &first).unwrap();
        } else {
            server.connect("first", &["sensor.out"], &["middle.input"], &Direct::default()).unwrap();
        }
        server.connect("second", &["middle.out"], &["arm.input"], &second).unwrap();
        let mut times = |most: u64| (0..7).map(|_| random.below_u64(most)).collect::<Vec<_>>();
        let (a, b, c) = (times(300_000), times(500_000), times(1_500_000));
        let with = |notes: &Notes| Arc::clone(notes);
        server
            .entry::<Sensor>("sensor")
            .unwrap()
            .with(|it, _| (it.takes, it.notes) = (a, with(&notes)))
            .unwrap();
        server
            .entry::<Middle>("middle")
            .unwrap()
            .with(|it, _| (it.takes, it.notes) = (b, with(&notes)))
            .unwrap();
        server.entry::<Arm>("arm").unwrap().with(|it, _| (it.takes, it.notes) = (c, with(&notes))).unwrap();
        server.launch().unwrap();
        server.advance(Duration::from_millis(200));
        let judged = agrees(&server, &notes, limits);
        assert!(judged.completions > 20, "seed {seed}: {judged:?}");
        lost += judged.reactions.len() as u64 - judged.completions;
        exceeded += over(&judged.reactions, limits.0);
    }
    assert!(lost > 100 && exceeded > 100, "{lost} were lost, {exceeded} exceeded: the seeds try too little");
}

/// The components of the chain with these times, in one server.
pub(crate) fn installed(server: &mut Server, notes: &Notes, takes: [u64; 3]) {
    server.install::<Sensor>("box", "sensor", &[]).unwrap();
    server.install::<Middle>("box", "middle", &[]).unwrap();
    server.install::<Arm>("box", "arm", &[]).unwrap();
    let [a, b, c] = takes.map(|time| vec![time]);
    let notes = || Arc::clone(notes);
    server.entry::<Sensor>("sensor").unwrap().with(|it, _| (it.takes, it.notes) = (a, notes())).unwrap();
    server.entry::<Middle>("middle").unwrap().with(|it, _| (it.takes, it.notes) = (b, notes())).unwrap();
    server.entry::<Arm>("arm").unwrap().with(|it, _| (it.takes, it.notes) = (c, notes())).unwrap();
}

/// What is told of the chain next.
fn excess(server: &Server) -> Option<(String, container::Exceeded)> {
    let report = server.next_report(Duration::ZERO)?;
    assert_eq!(report.of, "chain whole");
    let text = report.to_string();
    match report.fault {
        Fault::Exceeded(exceeded) => Some((text, *exceeded)),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_exceeds_a_limit_is_told_with_where_the_time_went() {
    let notes = Notes::default();
    let mut server = server();
    installed(&mut server, &notes, [100_000, 300_000, 50_000]);
    server.follow(chain(400_000, 10_000_000)).unwrap();
    server.every("tick", "sensor.tick", every()).unwrap();
    server.connect("first", &["sensor.out"], &["middle.input"], &queue(2, 4, Full::DropOldest)).unwrap();
    server.connect("second", &["middle.out"], &["arm.input"], &queue(3, 4, Full::DropOldest)).unwrap();
    server.launch().unwrap();
    server.advance(Duration::from_micros(2_900));
    let (text, exceeded) = excess(&server).unwrap();
    assert_eq!((exceeded.limit, exceeded.count), (Limit::Reaction, 2));
    assert_eq!((exceeded.most, exceeded.time), (Duration::from_micros(400), Duration::from_micros(450)));
    let runs: Vec<_> =
        exceeded.hops.iter().map(|(port, times)| (port.as_str(), times.run.as_micros())).collect();
    assert_eq!(runs, [("sensor.tick", 100), ("middle.input", 300), ("arm.input", 50)]);
    assert_eq!(
        text,
        "chain whole: reaction 450µs, limit 400µs, and 1 more above it: 100µs in sensor.tick, 300µs in middle.input, 50µs in arm.input"
    );
    assert_eq!(excess(&server), None);
    agrees(&server, &notes, (400_000, 10_000_000));

    // Nothing comes to the arm any more: that is told once, and then again what the first answer says.
    server.disconnect("second").unwrap();
    server.advance(Duration::from_millis(3));
    let (text, exceeded) = excess(&server).unwrap();
    assert!(!exceeded.is_answered && exceeded.count == 0, "{exceeded:?}");
    assert!(text.starts_with("chain whole: nothing was answered for "), "{text}");
    assert_eq!(excess(&server), None);
    assert!(server.chains()[0].overdue.is_some());
    server.connect("second", &["middle.out"], &["arm.input"], &queue(3, 4, Full::DropOldest)).unwrap();
    server.advance(Duration::from_millis(1));
    let (text, exceeded) = excess(&server).unwrap();
    assert_eq!((exceeded.count, exceeded.gave_way), (4, Duration::from_millis(3)), "{text}");
    assert!(text.ends_with("3ms until an event that was not lost"), "{text}");
    assert_eq!(server.chains()[0].overdue, None);
    agrees(&server, &notes, (400_000, 10_000_000));
}

/// What a component missed while it rested is no fault of the chain.
#[test]
fn a_component_that_rested_begins_anew() {
    let notes = Notes::default();
    let mut server = server();
    installed(&mut server, &notes, [1_000; 3]);
    server.follow(chain(2_000_000, 2_000_000)).unwrap();
    server.every("tick", "sensor.tick", every()).unwrap();
    server.connect("first", &["sensor.out"], &["middle.input"], &Direct::default()).unwrap();
    server.connect("second", &["middle.out"], &["arm.input"], &queue(3, 4, Full::DropOldest)).unwrap();
    server.launch().unwrap();
    server.advance(Duration::from_micros(2_900));
    server.suspend("middle").unwrap();
    server.advance(Duration::from_millis(10));
    server.resume("middle").unwrap();
    server.advance(Duration::from_millis(2));
    let score = &server.chains()[0];
    assert_eq!((score.completions, score.reaction.count), (4, 4));
    assert_eq!(excess(&server), None);
}

/// Two servers as two processes of one machine: each knows the ports that it has, and the chain is scored where it ends.
#[test]
fn stamps_go_along_to_another_process() {
    let mut domain = VirtualDomain::new();
    let (here, there) = (domain.participant(), domain.participant());
    let notes = Notes::default();
    let (mut near, mut far) = (server(), server());
    near.install::<Sensor>("box", "sensor", &[]).unwrap();
    far.install::<Middle>("box", "middle", &[]).unwrap();
    far.install::<Arm>("box", "arm", &[]).unwrap();
    let set = |takes: u64| (vec![takes], Arc::clone(&notes));
    near.entry::<Sensor>("sensor").unwrap().with(|it, _| (it.takes, it.notes) = set(7_000)).unwrap();
    far.entry::<Middle>("middle").unwrap().with(|it, _| (it.takes, it.notes) = set(11_000)).unwrap();
    far.entry::<Arm>("arm").unwrap().with(|it, _| (it.takes, it.notes) = set(13_000)).unwrap();
    for server in [&mut near, &mut far] {
        server.follow(chain(10_000, 10_000)).unwrap();
    }
    near.every("tick", "sensor.tick", every()).unwrap();
    near.connect("first out", &["sensor.out"], &[], &ByDds::<Mark>::new(&here, "marks")).unwrap();
    let mut by_lane = ByDds::<Mark>::new(&there, "marks");
    by_lane.served = Some(queue(2, 4, Full::DropOldest));
    far.connect("first", &[], &["middle.input"], &by_lane).unwrap();
    far.connect("second", &["middle.out"], &["arm.input"], &queue(3, 4, Full::DropOldest)).unwrap();
    three_periods(&mut near, &mut far, &mut domain);
    assert_eq!(near.chains().len(), 0, "a chain is scored where it ends");
    let scores = far.chains();
    let [score] = &scores[..] else { panic!("{scores:?}") };
    assert_eq!((score.completions, score.foreign, score.unknown), (3, 0, 0));
    let judged = judge(&notes);
    assert_eq!(score.reaction.worst.as_nanos() as u64, *judged.reactions.iter().max().unwrap());
    assert_eq!(score.age.worst.as_nanos() as u64, *judged.ages.iter().max().unwrap());
    assert_eq!(score.reaction.exceeded, over(&judged.reactions, 10_000));
    for ((_, times), (wait, run)) in score.hops.iter().zip(judged.sums) {
        // The judge sees no arrival: for it the way is a part of the waiting.
        assert_eq!((times.transfer + times.wait).as_nanos() as u64, wait);
        assert_eq!(times.run.as_nanos() as u64, run);
    }
    assert!(score.hops[1].1.transfer > Duration::ZERO && score.hops[0].1.transfer.is_zero());
}

/// Launches two servers, and lets them run for three periods of a millisecond.
pub(crate) fn three_periods(near: &mut Server, far: &mut Server, domain: &mut VirtualDomain) {
    near.launch().unwrap();
    far.launch().unwrap();
    domain.run(dds::Duration::from_secs(2));
    for _ in 0..3 {
        near.advance(Duration::from_millis(1));
        // The other process is later by what the transfer takes, and serves its queue later still.
        let behind = near.now().saturating_sub(far.now() + 1_000_000);
        far.advance(Duration::from_micros(1_003) + Duration::from_nanos(behind));
        domain.run(dds::Duration::from_millis(20));
        far.advance(Duration::from_micros(50));
    }
}

/// Another consumer of a connection that a chain passes gets the events, too, and filters see their fields.
#[test]
fn consumers_beside_a_chain_get_their_events() {
    let notes = Notes::default();
    let mut server = server();
    installed(&mut server, &notes, [1_000; 3]);
    let beside = Notes::default();
    server.install::<Arm>("box", "other", &[]).unwrap();
    let with = Arc::clone(&beside);
    server.entry::<Arm>("other").unwrap().with(|it, _| (it.takes, it.notes) = (vec![0], with)).unwrap();
    server.follow(chain(2_000_000, 2_000_000)).unwrap();
    server.every("tick", "sensor.tick", every()).unwrap();
    let first = queue(2, 4, Full::DropOldest);
    server.connect("first", &["sensor.out"], &["middle.input", "other.input"], &first).unwrap();
    server.connect("second", &["middle.out"], &["arm.input"], &queue(3, 4, Full::DropOldest)).unwrap();
    server.launch().unwrap();
    server.advance(Duration::from_micros(3_900));
    assert_eq!(beside.lock().unwrap().len(), 3);
    assert_eq!(agrees(&server, &notes, (2_000_000, 2_000_000)).completions, 3);
}

#[test]
fn a_chain_that_cannot_be_followed_is_refused() {
    let mut server = server();
    let long = Chain { hops: vec![hop("a.b", &[]); 17], ..chain(1, 1) };
    let error = server.follow(long).unwrap_err();
    assert_eq!(error.to_string(), "chain whole has 17 ports: a chain that is followed has 1 to 16");
    server.follow(chain(1, 1)).unwrap();
    assert_eq!(server.follow(chain(1, 1)), Err(ServerError::Twice("whole".to_owned())));
    server.unfollow("whole").unwrap();
    assert_eq!(server.unfollow("whole"), Err(ServerError::Unknown("whole".to_owned())));
}

/// Works with the last mark each period of its own.
#[derive(Component)]
struct Sampler {
    input: Consumer<Mark>,
    tick: Timer,
    out: Publisher<Mark>,
    last: Option<Mark>,
}
impl Lifecycle for Sampler {}
impl Handle<sampler::Input> for Sampler {
    fn handle(&mut self, mark: &Mark, at: &Context) -> Outcome {
        at.pass(Duration::from_micros(20));
        self.last = Some(mark.clone());
        Ok(())
    }
}
impl Handle<sampler::Tick> for Sampler {
    fn handle(&mut self, _: &Tick, at: &Context) -> Outcome {
        self.last.as_ref().map_or(Ok(()), |last| self.out.push(at, last))
    }
}

/// A sampled value is used again and gets older, or a later one takes its place before it is read.
#[test]
fn sampled_values_are_scored_as_often_as_they_are_used() {
    let mut reused = 0;
    for period in [400, 700, 1_700, 3_300] {
        let notes = Notes::default();
        let mut server = server();
        server.install::<Sensor>("box", "sensor", &[]).unwrap();
        server.install::<Sampler>("box", "sampler", &[]).unwrap();
        server.install::<Arm>("box", "arm", &[]).unwrap();
        let set = |takes: u64| (vec![takes], Arc::clone(&notes));
        server.entry::<Sensor>("sensor").unwrap().with(|it, _| (it.takes, it.notes) = set(10_000)).unwrap();
        server.entry::<Arm>("arm").unwrap().with(|it, _| (it.takes, it.notes) = set(30_000)).unwrap();
        let sample = Hop { samples: true, ..hop("sampler.tick", &["sample"]) };
        let hops = vec![
            hop("sensor.tick", &["tick"]),
            hop("sampler.input", &["first"]),
            sample,
            hop("arm.input", &["second"]),
        ];
        server.follow(Chain { hops, ..chain(1_500_000, 2_000_000) }).unwrap();
        server.every("tick", "sensor.tick", every()).unwrap();
        server.connect("first", &["sensor.out"], &["sampler.input"], &queue(2, 4, Full::DropOldest)).unwrap();
        server
            .every("sample", "sampler.tick", Every { period: Duration::from_micros(period), ..every() })
            .unwrap();
        server.connect("second", &["sampler.out"], &["arm.input"], &queue(3, 4, Full::DropOldest)).unwrap();
        server.launch().unwrap();
        server.advance(Duration::from_millis(50));
        let judged = judge(&notes);
        let score = server.chains().remove(0);
        assert_eq!((score.completions, score.unknown), (judged.completions, 0));
        for (quantiles, times, limit) in
            [(score.reaction, &judged.reactions, 1_500_000), (score.age, &judged.ages, 2_000_000)]
        {
            assert_eq!((quantiles.count, quantiles.exceeded), (times.len() as u64, over(times, limit)));
            assert_eq!(quantiles.worst.as_nanos() as u64, *times.iter().max().unwrap());
        }
        // The time of all completions is divided among the ports.
        let spent: Duration =
            score.hops.iter().map(|(_, times)| times.transfer + times.wait + times.run).sum();
        assert_eq!(spent.as_nanos() as u64, judged.ages.iter().sum::<u64>());
        reused += judged.completions.saturating_sub(judged.reactions.len() as u64);
    }
    assert!(reused > 50, "{reused}");
}
