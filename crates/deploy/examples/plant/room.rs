//! What is in the control room: the operator (simulated), panels, the list of alarms, the horn, the historian.
use std::collections::VecDeque;

use container::{Component, Consumer, Context, Handle, Lifecycle, Outcome, Publisher, Tick, Timer};

use crate::events::{AlarmState, Reading, Setpoint};

/// An operator who wants another value now and then.
#[derive(Component)]
pub(crate) struct Operator {
    decide: Timer,
    setpoint: Publisher<Setpoint>,
    #[setting]
    tag: u32,
    #[setting(default = 90.0)]
    low: f64,
    #[setting(default = 110.0)]
    high: f64,
    is_high: bool,
}
impl Lifecycle for Operator {}
impl Handle<operator::Decide> for Operator {
    fn handle(&mut self, _: &Tick, at: &Context) -> Outcome {
        self.is_high = !self.is_high;
        let value = if self.is_high { self.high } else { self.low };
        println!("operator: {} is to be {value:.0}", self.tag);
        self.setpoint.push(at, &Setpoint { tag: self.tag, value })
    }
}

/// Shows readings: one of so many.
#[derive(Component)]
pub(crate) struct Panel {
    reading: Consumer<Reading>,
    #[setting(default = 100, range = 1..=1000000)]
    every: u32,
    count: u32,
}
impl Lifecycle for Panel {}
impl Handle<panel::Reading> for Panel {
    fn handle(&mut self, reading: &Reading, _: &Context) -> Outcome {
        if self.count.is_multiple_of(self.every) {
            println!("panel: {} is {:.1}", reading.tag, reading.value);
        }
        self.count = self.count.wrapping_add(1);
        Ok(())
    }
}

/// Lists alarms that come and go.
#[derive(Component)]
pub(crate) struct AlarmList {
    state: Consumer<AlarmState>,
    #[setting(default = "alarms")]
    name: String,
    last: VecDeque<AlarmState>,
}
impl Lifecycle for AlarmList {}
impl Handle<alarm_list::State> for AlarmList {
    fn handle(&mut self, state: &AlarmState, _: &Context) -> Outcome {
        let what = if state.is_active { "comes" } else { "goes" };
        println!("{}: {} {what}: {:.1}, priority {}", self.name, state.tag, state.value, state.priority);
        if self.last.len() == 100 {
            self.last.pop_front();
        }
        self.last.push_back(*state);
        Ok(())
    }
}

/// Sounds once for each alarm that is urgent.
#[derive(Component)]
pub(crate) struct Horn {
    state: Consumer<AlarmState>,
    count: u32,
}
impl Lifecycle for Horn {}
impl Handle<horn::State> for Horn {
    fn handle(&mut self, state: &AlarmState, _: &Context) -> Outcome {
        self.count += 1;
        println!("horn: {} for {}", self.count, state.tag);
        Ok(())
    }
}

/// Keeps what has changed, and says once in a while how much that is.
#[derive(Component)]
pub(crate) struct Historian {
    reading: Consumer<Reading>,
    report: Timer,
    kept: VecDeque<Reading>,
    count: u64,
}
impl Lifecycle for Historian {}
impl Handle<historian::Reading> for Historian {
    fn handle(&mut self, reading: &Reading, _: &Context) -> Outcome {
        if self.kept.len() == 10_000 {
            self.kept.pop_front();
        }
        self.kept.push_back(*reading);
        self.count += 1;
        Ok(())
    }
}
impl Handle<historian::Report> for Historian {
    fn handle(&mut self, _: &Tick, _: &Context) -> Outcome {
        println!("historian: {} values that have changed", self.count);
        Ok(())
    }
}
