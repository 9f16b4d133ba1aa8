//! A source, a relay that counts, and a sink that looks whether everything comes once and in order while the process of the relay is handed over
//! to another build. See docs/deploy-plan.md.
use std::io::Write;

use container::{
    Component, Consumer, Context, Event, Failure, Handle, Lifecycle, Outcome, Publisher, Tick, Timer,
};
use dds::DdsType;

/// An event with its number, and what the relay has added.
#[derive(DdsType, Clone, Debug)]
struct Sample {
    number: u64,
    /// How many events the relay has seen.
    count: u64,
    /// How often its state was handed over.
    generation: u32,
}
impl Event for Sample {}

/// Publishes the numbers from 1 on, one in each period.
#[derive(Component)]
struct Source {
    tick: Timer,
    sample: Publisher<Sample>,
    number: u64,
}
impl Lifecycle for Source {}
impl Handle<source::Tick> for Source {
    fn handle(&mut self, _: &Tick, at: &Context) -> Outcome {
        self.number += 1;
        self.sample.push(at, &Sample { number: self.number, count: 0, generation: 0 })
    }
}

/// Counts what passes. The count is its state.
#[derive(Component)]
#[component(swappable)]
struct Relay {
    input: Consumer<Sample>,
    output: Publisher<Sample>,
    count: u64,
    generation: u32,
}
impl Lifecycle for Relay {
    fn freeze(&mut self, state: &mut Vec<u8>) -> Outcome {
        state.extend_from_slice(&self.count.to_le_bytes());
        state.extend_from_slice(&(self.generation + 1).to_le_bytes());
        Ok(())
    }
    fn thaw(&mut self, state: &[u8]) -> Outcome {
        let (count, generation) = state.split_first_chunk().ok_or(Failure::Service)?;
        self.count = u64::from_le_bytes(*count);
        self.generation = u32::from_le_bytes(generation.try_into().map_err(|_| Failure::Service)?);
        Ok(())
    }
}
impl Handle<relay::Input> for Relay {
    fn handle(&mut self, sample: &Sample, at: &Context) -> Outcome {
        self.count += 1;
        let (count, generation) = (self.count, self.generation);
        self.output.push(at, &Sample { count, generation, ..sample.clone() })
    }
}

/// Looks for what is lost, doubled or reordered, and writes a line to a file for each generation.
#[derive(Component)]
struct Sink {
    input: Consumer<Sample>,
    #[setting(default = "/dev/stdout")]
    file: String,
    out: Option<std::fs::File>,
    last: Option<Sample>,
    /// Nanoseconds of the last arrival.
    arrived: u64,
    /// The longest time between two events of one generation, in nanoseconds.
    longest: u64,
    lost: u64,
    doubled: u64,
    reordered: u64,
    /// Events that the relay has counted otherwise.
    miscounted: u64,
}
impl Lifecycle for Sink {
    fn activate(&mut self, at: &Context) -> Outcome {
        let opened = std::fs::OpenOptions::new().create(true).append(true).open(&self.file);
        self.out = Some(opened.map_err(|_| at.broken("its file cannot be opened"))?);
        Ok(())
    }
}
impl Handle<sink::Input> for Sink {
    fn handle(&mut self, sample: &Sample, at: &Context) -> Outcome {
        let gap = at.now() - self.arrived;
        self.arrived = at.now();
        let Some(last) = self.last.replace(sample.clone()) else { return Ok(()) };
        match sample.number.checked_sub(last.number) {
            Some(0) => self.doubled += 1,
            Some(ahead) => self.lost += ahead - 1,
            None => self.reordered += 1,
        }
        self.miscounted += u64::from(sample.count != last.count + 1);
        if sample.generation == last.generation {
            self.longest = self.longest.max(gap);
            return Ok(());
        }
        let line = format!(
            "generation {}: {} us after the last event, at most {} us before; lost {}, doubled {}, reordered {}, miscounted {}\n",
            sample.generation,
            gap / 1_000,
            self.longest / 1_000,
            self.lost,
            self.doubled,
            self.reordered,
            self.miscounted
        );
        self.longest = 0;
        let out = self.out.as_mut().ok_or(Failure::Service)?;
        out.write_all(line.as_bytes()).map_err(|_| at.broken("its file is full"))
    }
}

component_server::serve! { components: [Source, Relay, Sink], topics: [Sample] }
