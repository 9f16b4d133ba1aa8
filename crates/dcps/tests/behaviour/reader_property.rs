//! The cache against a slow model: any order of writes, ends, reads and takes gives what the model gives.

use crate::desk::{Desk, handle, value, writer};
use dcps::reader::{Request, Which};
use dcps::{InstanceState, SampleState, States, ViewState};
use rtps::reader::Accept;
use wire::qos::{History, Reliability, ReliabilityKind};

/// A small generator of random numbers: splitmix64.
struct Random(testkit::random::Random);

impl Random {
    fn below(&mut self, limit: u32) -> u32 {
        self.0.below_u64(u64::from(limit)) as u32
    }
}

const IDS: u32 = 4;

#[derive(Clone, Debug, PartialEq)]
struct Entry {
    value: Option<u32>,
    read: bool,
    generation: (u32, u32),
}

/// Identifier, value, whether it was read, view state, instance state and generations.
type Seen = (u32, Option<u32>, bool, ViewState, InstanceState, (u32, u32));

/// One instance as plain lists.
#[derive(Clone, Debug)]
struct Model {
    state: InstanceState,
    view: ViewState,
    generation: (u32, u32),
    entries: Vec<Entry>,
    writers: Vec<u8>,
    /// When it last got its first sample.
    since: u32,
}

#[derive(Clone, Copy, Debug)]
struct Limits {
    depth: Option<usize>,
    per_instance: usize,
    samples: usize,
    reliable: bool,
}

struct World {
    instances: [Option<Model>; IDS as usize],
    limits: Limits,
    clock: u32,
}

impl World {
    fn samples(&self) -> usize {
        self.instances.iter().flatten().map(Model::data).sum()
    }

    fn write(&mut self, from: u8, id: u32, value: u32) -> Accept {
        let total = self.samples();
        let limits = self.limits;
        let instance = self.instances[id as usize].get_or_insert_with(Model::new);
        if !instance.writers.contains(&from) {
            instance.writers.push(from);
        }
        let replaces = limits.depth.is_some_and(|depth| instance.data() >= depth);
        if !replaces && (instance.data() >= limits.per_instance || total >= limits.samples) {
            return if limits.reliable && limits.depth.is_none() { Accept::Full } else { Accept::Taken };
        }
        match instance.state {
            InstanceState::Alive => {}
            InstanceState::NotAliveDisposed => instance.generation.0 += 1,
            InstanceState::NotAliveNoWriters => instance.generation.1 += 1,
        }
        if instance.state != InstanceState::Alive {
            instance.state = InstanceState::Alive;
            instance.view = ViewState::New;
        }
        if replaces {
            let oldest = instance.entries.iter().position(|entry| entry.value.is_some()).unwrap();
            instance.entries.remove(oldest);
        }
        let generation = instance.generation;
        // A sample takes the place of another: the instance keeps its turn.
        self.clock += 1;
        if instance.entries.is_empty() && !replaces {
            instance.since = self.clock;
        }
        instance.entries.push(Entry { value: Some(value), read: false, generation });
        Accept::Taken
    }

    fn end(&mut self, id: u32, state: InstanceState) {
        self.clock += 1;
        let Some(instance) = &mut self.instances[id as usize] else { return };
        instance.state = state;
        if instance.entries.is_empty() {
            instance.since = self.clock;
        }
        instance.entries.retain(|entry| entry.value.is_some());
        let generation = instance.generation;
        instance.entries.push(Entry { value: None, read: false, generation });
    }

    fn dispose(&mut self, from: u8, id: u32) {
        let instance = self.instances[id as usize].get_or_insert_with(Model::new);
        if !instance.writers.contains(&from) {
            instance.writers.push(from);
        }
        if instance.state != InstanceState::NotAliveDisposed {
            self.end(id, InstanceState::NotAliveDisposed);
        }
    }

    fn unregister(&mut self, from: u8, id: u32) {
        let Some(instance) = &mut self.instances[id as usize] else { return };
        instance.writers.retain(|other| *other != from);
        if instance.writers.is_empty() && instance.state == InstanceState::Alive {
            self.end(id, InstanceState::NotAliveNoWriters);
        }
        self.forget();
    }

    fn forget(&mut self) {
        for place in &mut self.instances {
            let over = place.as_ref().is_some_and(|instance| {
                instance.entries.is_empty()
                    && (instance.state == InstanceState::NotAliveNoWriters
                        || instance.state == InstanceState::NotAliveDisposed && instance.writers.is_empty())
            });
            if over {
                *place = None;
            }
        }
    }

    /// What a request gives.
    fn access(&mut self, request: &Request) -> Vec<Seen> {
        let mut order: Vec<u32> = (0..IDS).filter(|id| self.instances[*id as usize].is_some()).collect();
        match request.which {
            Which::All => {
                order.retain(|id| !self.instances[*id as usize].as_ref().unwrap().entries.is_empty());
                order.sort_by_key(|id| self.instances[*id as usize].as_ref().unwrap().since);
            }
            Which::Instance(only) => order.retain(|id| handle(*id) == only),
            Which::NextInstance(after) => order.retain(|id| after.is_none_or(|after| handle(*id) > after)),
        }
        let mut out = Vec::new();
        for id in order {
            let instance = self.instances[id as usize].as_mut().unwrap();
            let before = out.len();
            let states = request.states;
            if states.view.contains(instance.view) && states.instance.contains(instance.state) {
                let mut kept = Vec::new();
                for entry in &mut instance.entries {
                    let state = if entry.read { SampleState::Read } else { SampleState::NotRead };
                    if out.len() < request.max && states.sample.contains(state) {
                        let (value, generation) = (entry.value, entry.generation);
                        out.push((id, value, entry.read, instance.view, instance.state, generation));
                        entry.read = true;
                        if request.take {
                            continue;
                        }
                    }
                    kept.push(entry.clone());
                }
                instance.entries = kept;
            }
            if out.len() > before {
                instance.view = ViewState::NotNew;
                if matches!(request.which, Which::NextInstance(_)) {
                    break;
                }
            }
        }
        self.forget();
        out
    }
}

impl Model {
    fn new() -> Self {
        Self {
            state: InstanceState::Alive,
            view: ViewState::New,
            generation: (0, 0),
            entries: Vec::new(),
            writers: Vec::new(),
            since: 0,
        }
    }

    fn data(&self) -> usize {
        self.entries.iter().filter(|entry| entry.value.is_some()).count()
    }
}

fn request(random: &mut Random) -> Request {
    use dcps::{InstanceStates, SampleStates, ViewStates};
    let which = match random.below(4) {
        0 => Which::NextInstance(Some(handle(random.below(IDS)))),
        1 => Which::NextInstance(None),
        _ => Which::All,
    };
    let states = States {
        sample: [SampleStates::ANY, SampleStates::READ, SampleStates::NOT_READ][random.below(3) as usize],
        view: [ViewStates::ANY, ViewStates::ANY, ViewStates::NEW, ViewStates::NOT_NEW]
            [random.below(4) as usize],
        instance: [InstanceStates::ANY, InstanceStates::ALIVE, InstanceStates::NOT_ALIVE]
            [random.below(3) as usize],
    };
    let max = if random.below(2) == 0 { usize::MAX } else { 1 + random.below(4) as usize };
    Request { take: random.below(2) == 0, which, states, max }
}

fn one(seed: u64) -> u64 {
    let mut random = Random(testkit::random::Random::new(seed));
    let depth = [None, Some(1), Some(3)][random.below(3) as usize];
    let per_instance = [usize::MAX, 3, 5][random.below(3) as usize];
    let samples = [usize::MAX, 6, 8][random.below(3) as usize];
    let reliable = random.below(2) == 0;
    let limits = Limits { depth, per_instance, samples, reliable };
    let mut desk = Desk::new(|qos| {
        let number = |limit: usize| (limit < usize::MAX).then_some(limit as u32);
        qos.endpoint.history = depth.map_or(History::KeepAll, |depth| History::KeepLast(depth as u32));
        qos.endpoint.resource_limits.max_samples_per_instance = number(per_instance);
        qos.endpoint.resource_limits.max_samples = number(samples);
        let kind = if reliable { ReliabilityKind::Reliable } else { ReliabilityKind::BestEffort };
        qos.endpoint.reliability = Reliability { kind, ..Reliability::RELIABLE };
    });
    let mut world = World { instances: [const { None }; IDS as usize], limits, clock: 0 };
    let mut seen = 0;
    for step in 0..60 {
        let (from, id) = (1 + random.below(2) as u8, random.below(IDS));
        match random.below(10) {
            0 => {
                desk.dispose(from, id);
                world.dispose(from, id);
            }
            1 => {
                desk.unregister(from, id);
                world.unregister(from, id);
            }
            2 => {
                desk.reader.set_liveliness(desk.now, writer(from), false);
                desk.reader.set_liveliness(desk.now, writer(from), true);
                (0..IDS).for_each(|id| world.unregister(from, id));
            }
            3..=4 => {
                let request = request(&mut random);
                let got: Vec<_> = desk
                    .access(&request)
                    .iter()
                    .map(|sample| {
                        let info = &sample.info;
                        let id = (0..IDS).find(|id| handle(*id) == info.instance_handle).unwrap();
                        let read = info.sample_state == SampleState::Read;
                        let generation = (info.disposed_generation_count, info.no_writers_generation_count);
                        (id, value(sample), read, info.view_state, info.instance_state, generation)
                    })
                    .collect();
                seen += got.len() as u64;
                assert_eq!(got, world.access(&request), "seed {seed}, step {step}: {request:?}");
            }
            _ => {
                let expected = world.write(from, id, step);
                assert_eq!(desk.write(from, id, step), expected, "seed {seed}, step {step}");
            }
        }
        assert_eq!(desk.reader.samples(), world.samples(), "seed {seed}, step {step}");
        let known = world.instances.iter().flatten().count();
        assert_eq!(desk.reader.instances(), known, "seed {seed}, step {step}");
    }
    seen
}

#[test]
fn the_cache_does_what_the_model_does() {
    let seen: u64 = tiers::current().seeds("property.cases").map(one).sum();
    assert!(seen > 1_000, "only {seen} samples were seen");
}
