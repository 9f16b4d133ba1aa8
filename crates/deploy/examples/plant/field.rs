//! What is in the field: units of the process (simulated), sensors, the vote of three, smoothers, valves.
use container::{
    Component, Consumer, Context, Facet, Handle, Lifecycle, Outcome, Publisher, Receptacle, Tick, Timer,
};

use crate::events::{Command, Permit, Reading};

/// What sensors and valves have of a unit.
pub(crate) trait Process {
    fn value(&mut self) -> f64;
    /// In per cent.
    fn open(&mut self, opening: f64);
}

/// A unit of the process whose value follows its valve with a lag. Now and then something disturbs it.
#[derive(Component)]
pub(crate) struct Unit {
    step: Timer,
    process: Facet<dyn Process>,
    /// What the value comes to with an open valve.
    #[setting(default = 200.0, range = 1.0..=10000.0)]
    span: f64,
    /// The part of the difference that one step makes up for.
    #[setting(default = 0.1, range = 0.001..=1.0)]
    speed: f64,
    /// By so much a disturbance raises the value; it lasts for ten steps of each hundred.
    #[setting(default = 0.0, range = 0.0..=1000.0)]
    disturbance: f64,
    value: f64,
    opening: f64,
    steps: u32,
}
impl Lifecycle for Unit {}
impl Handle<unit::Step> for Unit {
    fn handle(&mut self, _: &Tick, _: &Context) -> Outcome {
        self.steps = self.steps.wrapping_add(1);
        self.value += self.speed * (self.span * self.opening / 100.0 - self.value);
        Ok(())
    }
}
impl Process for Unit {
    fn value(&mut self) -> f64 {
        let is_disturbed = self.steps % 100 >= 90;
        self.value + if is_disturbed { self.disturbance } else { 0.0 }
    }
    fn open(&mut self, opening: f64) {
        self.opening = opening.clamp(0.0, 100.0);
    }
}

/// Samples a unit.
#[derive(Component)]
pub(crate) struct Sensor {
    sample: Timer,
    process: Receptacle<dyn Process>,
    raw: Publisher<Reading>,
    #[setting]
    tag: u32,
    last: f64,
}
impl Lifecycle for Sensor {}
impl Handle<sensor::Sample> for Sensor {
    fn handle(&mut self, _: &Tick, at: &Context) -> Outcome {
        let value = self.process.call(|process| process.value())?;
        let change = (value - self.last).abs();
        self.last = value;
        self.raw.push(at, &Reading { tag: self.tag, value, change })
    }
}

/// The middle one of three readings of the same value: one sensor that is wrong does no harm. The plan joins them.
#[derive(Component)]
pub(crate) struct Voter {
    reading: Consumer<Reading>,
    voted: Publisher<Reading>,
    heard: [f64; 3],
    last: f64,
}
impl Lifecycle for Voter {}
impl Voter {
    /// The middle one, and how much it differs from the one before.
    fn middle(&mut self) -> (f64, f64) {
        let mut sorted = self.heard;
        sorted.sort_by(f64::total_cmp);
        let [_, value, _] = sorted;
        let change = (value - self.last).abs();
        self.last = value;
        (value, change)
    }
}
impl Handle<voter::Reading> for Voter {
    fn handle(&mut self, reading: &Reading, at: &Context) -> Outcome {
        let part = at.part();
        if let Some(place) = self.heard.get_mut(part) {
            *place = reading.value;
        }
        // A delivery has the three of them one after the other.
        if part + 1 < self.heard.len() {
            return Ok(());
        }
        let (value, change) = self.middle();
        self.voted.push(at, &Reading { tag: reading.tag, value, change })
    }
}

/// A filter of the first order.
#[derive(Component)]
pub(crate) struct Smoother {
    raw: Consumer<Reading>,
    smooth: Publisher<Reading>,
    #[setting(default = 0.5, range = 0.01..=1.0)]
    gain: f64,
    last: Option<f64>,
}
impl Lifecycle for Smoother {}
impl Handle<smoother::Raw> for Smoother {
    fn handle(&mut self, raw: &Reading, at: &Context) -> Outcome {
        let last = self.last.unwrap_or(raw.value);
        let value = last + self.gain * (raw.value - last);
        self.last = Some(value);
        self.smooth.push(at, &Reading { tag: raw.tag, value, change: (value - last).abs() })
    }
}

/// A valve. It keeps its opening while no command comes. Without a permit it is shut.
#[derive(Component)]
pub(crate) struct Valve {
    command: Consumer<Command>,
    permit: Consumer<Permit>,
    process: Receptacle<dyn Process>,
    opening: f64,
    is_shut: bool,
}
impl Lifecycle for Valve {}
impl Valve {
    fn set(&mut self) -> Outcome {
        let opening = if self.is_shut { 0.0 } else { self.opening };
        self.process.call(|process| process.open(opening))
    }
}
impl Handle<valve::Command> for Valve {
    fn handle(&mut self, command: &Command, _: &Context) -> Outcome {
        self.opening = command.opening;
        self.set()
    }
}
impl Handle<valve::Permit> for Valve {
    fn handle(&mut self, permit: &Permit, _: &Context) -> Outcome {
        self.is_shut = !permit.is_granted;
        self.set()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Sender, channel};

    use container::{Harness, Value};

    use super::{Command, Permit, Process, Reading, Smoother, Unit, Valve, Voter, smoother, valve};

    /// Tells each opening.
    struct Told(Sender<f64>);
    impl Process for Told {
        fn value(&mut self) -> f64 {
            0.0
        }
        fn open(&mut self, opening: f64) {
            let _ = self.0.send(opening);
        }
    }

    #[test]
    fn a_smoother_begins_with_the_first_reading() -> Result<(), Box<dyn std::error::Error>> {
        let mut harness = Harness::with(Smoother::default(), &[("gain", Value::Float(0.25))])?;
        for value in [8.0, 16.0] {
            harness.feed::<smoother::Raw>(&Reading { tag: 101, value, change: 0.0 })?;
        }
        let smooth = harness.published::<Reading>("smooth");
        assert_eq!(smooth.iter().map(|reading| reading.value).collect::<Vec<_>>(), [8.0, 10.0]);
        assert_eq!(smooth.iter().map(|reading| reading.change).collect::<Vec<_>>(), [0.0, 2.0]);
        Ok(())
    }

    #[test]
    fn a_valve_without_a_permit_is_shut() -> Result<(), Box<dyn std::error::Error>> {
        let mut harness = Harness::new(Valve::default())?;
        let (tell, told) = channel();
        harness.provide::<dyn Process, _>("process", Told(tell), |told| told)?;
        harness.feed::<valve::Command>(&Command { tag: 101, opening: 40.0 })?;
        harness.feed::<valve::Permit>(&Permit { is_granted: false })?;
        harness.feed::<valve::Command>(&Command { tag: 101, opening: 60.0 })?;
        harness.feed::<valve::Permit>(&Permit { is_granted: true })?;
        assert_eq!(told.try_iter().collect::<Vec<_>>(), [40.0, 0.0, 0.0, 60.0]);
        Ok(())
    }

    #[test]
    fn three_sensors_vote_for_the_middle() {
        let mut voter = Voter { heard: [7.0, 900.0, 5.0], ..Voter::default() };
        assert_eq!(voter.middle(), (7.0, 7.0));
        voter.heard = [4.0, 8.0, 6.0];
        assert_eq!(voter.middle(), (6.0, 1.0));
    }

    #[test]
    fn a_valve_is_open_by_at_most_all() {
        let mut unit = Unit::default();
        unit.open(150.0);
        assert_eq!(unit.opening, 100.0);
    }
}
