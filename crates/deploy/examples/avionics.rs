//! The avionics product line of the CIAO paper: one program of component types, of which plans make aircraft. See docs/avionics.md.
use std::hint::black_box;
use std::time::{Duration, Instant};

use container::{
    Component, Consumer, Context, Emitter, Event, Facet, Handle, Lifecycle, ListedField, Outcome, Publisher,
    Receptacle, Tick, Timer, filter,
};
use dds::DdsType;

/// Says that it is time to work.
#[derive(DdsType, Clone, Debug, PartialEq)]
struct Pulse {
    count: u32,
}
impl Event for Pulse {}

/// Where a receiver believes to be, in metres, and how many satellites it has.
#[derive(DdsType, Clone, Debug, PartialEq)]
struct Fix {
    east: f64,
    north: f64,
    satellites: u32,
}

struct FixFields;

impl filter::Schema for FixFields {
    fn field(&self, path: filter::Path<'_>) -> Option<filter::Field> {
        (path.text() == "satellites").then_some(filter::Field { slot: 0, kind: filter::Kind::Integer })
    }
    fn label(&self, _: u32, _: &str) -> Option<i64> {
        None
    }
}

impl Event for Fix {
    fn field(&self, slot: u32) -> Option<filter::Value<'_>> {
        (slot == 0).then_some(filter::Value::Unsigned(self.satellites.into()))
    }
    fn schema() -> Option<&'static dyn filter::Schema> {
        Some(&FixFields)
    }
    fn fields() -> Option<&'static [ListedField]> {
        Some(&[("satellites", &[])])
    }
}

/// Where the aircraft is, in metres, and how fast it is, in metres a second.
#[derive(DdsType, Clone, Debug, PartialEq)]
struct Position {
    east: f64,
    north: f64,
    speed: f64,
}
impl Event for Position {}

/// The clock of the aircraft.
#[derive(Component)]
struct Clock {
    tick: Timer,
    pulse: Publisher<Pulse>,
    count: u32,
}
impl Lifecycle for Clock {}
impl Handle<clock::Tick> for Clock {
    fn handle(&mut self, _: &Tick, at: &Context) -> Outcome {
        self.count = self.count.wrapping_add(1);
        self.pulse.push(at, &Pulse { count: self.count })
    }
}

/// A receiver: flies a circle, and now and then has few satellites.
#[derive(Component)]
struct Gps {
    pulse: Consumer<Pulse>,
    fix: Emitter<Fix>,
    /// Metres.
    #[setting(default = 1000.0, range = 1.0..=100000.0)]
    radius: f64,
}
impl Lifecycle for Gps {}
impl Handle<gps::Pulse> for Gps {
    fn handle(&mut self, pulse: &Pulse, at: &Context) -> Outcome {
        let (north, east) = (f64::from(pulse.count) / 100.0).sin_cos();
        let satellites = if pulse.count.is_multiple_of(5) { 2 } else { 7 };
        self.fix.push(at, &Fix { east: east * self.radius, north: north * self.radius, satellites })
    }
}

/// What an inertial sensor says of the movement since it was asked last.
trait Inertia {
    /// Metres a second.
    fn speed(&mut self) -> f64;
}

/// An inertial sensor.
#[derive(Component)]
struct Inertial {
    inertia: Facet<dyn Inertia>,
    /// Metres a second.
    #[setting(default = 200.0, range = 0.0..=1000.0)]
    speed: f64,
}
impl Lifecycle for Inertial {}
impl Inertia for Inertial {
    fn speed(&mut self) -> f64 {
        self.speed
    }
}

/// Makes positions of fixes, and asks the inertial sensor for the speed.
#[derive(Component)]
struct Airframe {
    fix: Consumer<Fix>,
    inertia: Receptacle<dyn Inertia>,
    position: Publisher<Position>,
    #[setting(default = 0.5, range = 0.0..=1.0)]
    gain: f64,
    east: f64,
    north: f64,
}
impl Lifecycle for Airframe {}
impl Handle<airframe::Fix> for Airframe {
    fn handle(&mut self, fix: &Fix, at: &Context) -> Outcome {
        self.east += self.gain * (fix.east - self.east);
        self.north += self.gain * (fix.north - self.north);
        let speed = self.inertia.call(|inertia| inertia.speed())?;
        self.position.push(at, &Position { east: self.east, north: self.north, speed })
    }
}

/// Shows positions: one of so many.
#[derive(Component)]
struct NavDisplay {
    position: Consumer<Position>,
    #[setting(default = 50, range = 1..=1000000)]
    every: u32,
    #[setting(default = "display")]
    name: String,
    count: u32,
}
impl Lifecycle for NavDisplay {}
impl Handle<nav_display::Position> for NavDisplay {
    fn handle(&mut self, position: &Position, _: &Context) -> Outcome {
        if self.count.is_multiple_of(self.every) {
            println!("{}: {:.0} m east, {:.0} m north", self.name, position.east, position.north);
        }
        self.count = self.count.wrapping_add(1);
        Ok(())
    }
}

/// Draws a map now and then, which takes long.
#[derive(Component)]
struct Map {
    tick: Timer,
    /// Milliseconds.
    #[setting(default = 4, range = 0..=100)]
    work: u32,
    drawn: u64,
}
impl Lifecycle for Map {}
impl Handle<map::Tick> for Map {
    fn handle(&mut self, _: &Tick, _: &Context) -> Outcome {
        let (begun, work) = (Instant::now(), Duration::from_millis(self.work.into()));
        while begun.elapsed() < work {
            self.drawn = black_box(self.drawn.wrapping_add(1));
        }
        Ok(())
    }
}

component_server::serve! {
    components: [Clock, Gps, Inertial, Airframe, NavDisplay, Map],
    topics: [Pulse, Fix, Position],
}

#[cfg(test)]
mod tests {
    use container::{Harness, Value};

    use super::{Airframe, Fix, Gps, Inertia, Position, Pulse, airframe, gps};

    #[test]
    fn a_receiver_flies_a_circle_and_has_few_satellites_now_and_then()
    -> Result<(), Box<dyn std::error::Error>> {
        let mut harness = Harness::with(Gps::default(), &[("radius", Value::Float(10.0))])?;
        for count in 1..=10 {
            harness.feed::<gps::Pulse>(&Pulse { count })?;
        }
        let fixes = harness.published::<Fix>("fix");
        assert!(fixes.iter().all(|fix| (fix.east.hypot(fix.north) - 10.0).abs() < 1e-9));
        assert_eq!(fixes.iter().filter(|fix| fix.satellites < 4).count(), 2);
        Ok(())
    }

    struct Still;
    impl Inertia for Still {
        fn speed(&mut self) -> f64 {
            0.0
        }
    }

    #[test]
    fn an_airframe_comes_nearer_to_fixes() -> Result<(), Box<dyn std::error::Error>> {
        let mut harness = Harness::new(Airframe::default())?;
        harness.provide::<dyn Inertia, _>("inertia", Still, |still| still)?;
        for _ in 0..2 {
            harness.feed::<airframe::Fix>(&Fix { east: 8.0, north: 4.0, satellites: 7 })?;
        }
        let position = |east, north| Position { east, north, speed: 0.0 };
        assert_eq!(harness.published::<Position>("position"), [position(4.0, 2.0), position(6.0, 3.0)]);
        Ok(())
    }
}
