//! What controls the plant: controllers, the ratio of two flows, the optimiser, limits, the interlock.
use std::hint::black_box;
use std::time::{Duration, Instant};

use container::{Component, Consumer, Context, Handle, Lifecycle, Outcome, Publisher, Tick, Timer};

use crate::events::{AlarmState, Command, Permit, Reading, Setpoint};

/// A PID controller in incremental form, once for each reading.
#[derive(Component)]
pub(crate) struct Controller {
    measured: Consumer<Reading>,
    setpoint: Consumer<Setpoint>,
    command: Publisher<Command>,
    /// What it keeps until a setpoint comes.
    #[setting(default = 100.0)]
    keeps: f64,
    #[setting(default = 0.2)]
    proportional: f64,
    #[setting(default = 0.05)]
    integral: f64,
    #[setting(default = 0.0)]
    derivative: f64,
    wanted: Option<f64>,
    opening: f64,
    errors: [f64; 2],
}
impl Lifecycle for Controller {}
impl Handle<controller::Measured> for Controller {
    fn handle(&mut self, measured: &Reading, at: &Context) -> Outcome {
        let error = self.wanted.unwrap_or(self.keeps) - measured.value;
        let [last, before] = self.errors;
        self.opening += self.proportional * (error - last)
            + self.integral * error
            + self.derivative * (error - 2.0 * last + before);
        // An opening that is not kept in its range would take long to come back.
        self.opening = self.opening.clamp(0.0, 100.0);
        self.errors = [error, last];
        self.command.push(at, &Command { tag: measured.tag, opening: self.opening })
    }
}
impl Handle<controller::Setpoint> for Controller {
    fn handle(&mut self, setpoint: &Setpoint, _: &Context) -> Outcome {
        self.wanted = Some(setpoint.value);
        Ok(())
    }
}

/// Keeps one flow in a ratio to another one.
#[derive(Component)]
pub(crate) struct Ratio {
    lead: Consumer<Reading>,
    setpoint: Publisher<Setpoint>,
    #[setting]
    tag: u32,
    #[setting(default = 0.8, range = 0.0..=10.0)]
    ratio: f64,
}
impl Lifecycle for Ratio {}
impl Handle<ratio::Lead> for Ratio {
    fn handle(&mut self, lead: &Reading, at: &Context) -> Outcome {
        self.setpoint.push(at, &Setpoint { tag: self.tag, value: self.ratio * lead.value })
    }
}

/// Looks for a better production rate now and then, which takes long.
#[derive(Component)]
pub(crate) struct Optimiser {
    search: Timer,
    setpoint: Publisher<Setpoint>,
    #[setting]
    tag: u32,
    /// Milliseconds of computing.
    #[setting(default = 4, range = 0..=100)]
    work: u32,
    best: f64,
    tried: u64,
}
impl Lifecycle for Optimiser {}
impl Handle<optimiser::Search> for Optimiser {
    fn handle(&mut self, _: &Tick, at: &Context) -> Outcome {
        let (begun, work) = (Instant::now(), Duration::from_millis(self.work.into()));
        while begun.elapsed() < work {
            self.tried = black_box(self.tried.wrapping_add(1));
        }
        self.best = if self.best > 100.0 { 95.0 } else { 105.0 };
        self.setpoint.push(at, &Setpoint { tag: self.tag, value: self.best })
    }
}

/// Says of each reading whether it is between two limits.
#[derive(Component)]
pub(crate) struct LimitMonitor {
    reading: Consumer<Reading>,
    state: Publisher<AlarmState>,
    #[setting(default = -1000.0)]
    low: f64,
    #[setting(default = 1000.0)]
    high: f64,
    /// 1 is the most urgent.
    #[setting(default = 2, range = 1..=3)]
    priority: u32,
    is_active: bool,
}
impl Lifecycle for LimitMonitor {}
impl Handle<limit_monitor::Reading> for LimitMonitor {
    fn handle(&mut self, reading: &Reading, at: &Context) -> Outcome {
        let is_active = !(self.low..=self.high).contains(&reading.value);
        let is_new = is_active != self.is_active;
        self.is_active = is_active;
        let Reading { tag, value, .. } = *reading;
        self.state.push(at, &AlarmState { tag, value, priority: self.priority, is_active, is_new })
    }
}

/// Permits the feed while no alarm of the first priority is active.
#[derive(Component)]
pub(crate) struct Interlock {
    state: Consumer<AlarmState>,
    permit: Publisher<Permit>,
    trips: u32,
    is_tripped: bool,
}
impl Lifecycle for Interlock {}
impl Handle<interlock::State> for Interlock {
    fn handle(&mut self, state: &AlarmState, at: &Context) -> Outcome {
        if state.is_active && !self.is_tripped {
            self.trips += 1;
            println!("interlock: trip {} because of {}: {:.1}", self.trips, state.tag, state.value);
        }
        self.is_tripped = state.is_active;
        self.permit.push(at, &Permit { is_granted: !state.is_active })
    }
}

#[cfg(test)]
mod tests {
    use container::{Harness, Value};

    use super::{
        AlarmState, Command, Controller, Interlock, LimitMonitor, Permit, Reading, controller, interlock,
        limit_monitor,
    };

    fn reading(value: f64) -> Reading {
        Reading { tag: 104, value, change: 0.0 }
    }

    #[test]
    fn a_controller_brings_a_value_to_what_it_keeps() -> Result<(), Box<dyn std::error::Error>> {
        let mut harness = Harness::with(Controller::default(), &[("keeps", Value::Float(80.0))])?;
        let mut value = 0.0;
        for _ in 0..400 {
            harness.feed::<controller::Measured>(&reading(value))?;
            let opening =
                harness.published::<Command>("command").last().map_or(0.0, |command| command.opening);
            value += 0.1 * (2.0 * opening - value);
        }
        assert!((value - 80.0).abs() < 0.5, "{value}");
        Ok(())
    }

    #[test]
    fn a_value_outside_its_limits_takes_the_permit_away() -> Result<(), Box<dyn std::error::Error>> {
        let mut limits = Harness::with(LimitMonitor::default(), &[("high", Value::Float(120.0))])?;
        for value in [100.0, 130.0, 131.0, 119.0] {
            limits.feed::<limit_monitor::Reading>(&reading(value))?;
        }
        let states = limits.published::<AlarmState>("state");
        let told: Vec<(bool, bool)> = states.iter().map(|state| (state.is_active, state.is_new)).collect();
        assert_eq!(told, [(false, false), (true, true), (true, false), (false, true)]);
        let mut lock = Harness::new(Interlock::default())?;
        for state in &states {
            lock.feed::<interlock::State>(state)?;
        }
        let granted: Vec<bool> = lock.published::<Permit>("permit").iter().map(|it| it.is_granted).collect();
        assert_eq!(granted, [true, false, false, true]);
        Ok(())
    }
}
