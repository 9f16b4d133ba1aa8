//! A receiver, a filter with three ports, and a display, in two lanes: docs/components.md.
use std::error::Error;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use container::{
    ByChannel, Component, Consumer, Context, Direct, Dispatch, Emitter, Event, Every, Facet, Handle,
    Lifecycle, Locality, Outcome, Policy, Publisher, Receptacle, Server, Threads, Tick, Timer, Value,
};

/// Where a receiver believes to be, in meters.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Fix(f64);
impl Event for Fix {}

/// Where the airframe is, in meters.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Position(f64);
impl Event for Position {}

/// How a filter is tuned while it works.
trait Tuning {
    fn restart(&mut self, at: f64);
}

/// Makes positions of fixes.
#[derive(Component)]
struct Airframe {
    fix: Consumer<Fix>,
    position: Publisher<Position>,
    tuning: Facet<dyn Tuning>,
    #[setting(default = 0.5, range = 0.0..=1.0)]
    gain: f64,
    last: f64,
}

impl Handle<airframe::Fix> for Airframe {
    fn handle(&mut self, fix: &Fix, at: &Context) -> Outcome {
        self.last += self.gain * (fix.0 - self.last);
        self.position.push(at, &Position(self.last))
    }
}

impl Tuning for Airframe {
    fn restart(&mut self, at: f64) {
        self.last = at;
    }
}

impl Lifecycle for Airframe {}

/// Has a fix each period.
#[derive(Component)]
struct Gps {
    tick: Timer,
    fix: Emitter<Fix>,
    tuning: Receptacle<dyn Tuning>,
    count: u32,
}

impl Handle<gps::Tick> for Gps {
    fn handle(&mut self, _: &Tick, at: &Context) -> Outcome {
        self.count += 1;
        let here = f64::from(self.count) * 100.0;
        if self.count == 1 {
            self.tuning.call(|tuning| tuning.restart(here))?;
        }
        self.fix.push(at, &Fix(here))
    }
}

impl Lifecycle for Gps {}

/// Shows positions.
#[derive(Component)]
struct Display {
    position: Consumer<Position>,
    show: Option<Sender<Position>>,
}

impl Handle<display::Position> for Display {
    fn handle(&mut self, position: &Position, at: &Context) -> Outcome {
        match &self.show {
            Some(show) => show.send(*position).map_err(|_| at.broken("the display has no reader")),
            None => Ok(()),
        }
    }
}

impl Lifecycle for Display {}

fn main() -> Result<(), Box<dyn Error>> {
    let mut server = Server::new(&Locality::default());
    // A lane for what senses, which would have a priority where that is allowed, and one for what shows.
    let lanes = vec![(1, Threads::default()), (2, Threads::default())];
    server.container("sense", Policy { lanes, ..Policy::default() })?;
    server.install::<Display>("sense", "display", &[])?;
    server.install::<Airframe>("sense", "airframe", &[("gain", Value::Float(0.25))])?;
    server.install::<Gps>("sense", "gps", &[])?;
    server.connect("fix", &["gps.fix"], &["airframe.fix"], &Direct::default())?;
    server.call("tuning", "gps.tuning", "airframe.tuning")?;
    let by_lane = ByChannel::new(Dispatch::Lane(2));
    server.connect("position", &["airframe.position"], &["display.position"], &by_lane)?;
    let every = Every { period: Duration::from_millis(10), dispatch: Dispatch::Lane(1), patience: None };
    server.every("tick", "gps.tick", every)?;
    if let Some(manifest) = server.manifest("airframe") {
        print!("{manifest}");
    }
    let (show, shown) = channel();
    server.entry::<Display>("display").ok_or("no display")?.with(|display, _| display.show = Some(show))?;
    server.launch()?;
    for position in shown.iter().take(5) {
        println!("{position:?}");
    }
    server.stop()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use container::{Harness, Value};

    use super::{Airframe, Fix, Position, Tuning, airframe};

    #[test]
    fn positions_come_nearer_to_fixes() -> Result<(), Box<dyn std::error::Error>> {
        let mut harness = Harness::with(Airframe::default(), &[("gain", Value::Float(0.25))])?;
        harness.feed::<airframe::Fix>(&Fix(100.0))?;
        harness.feed::<airframe::Fix>(&Fix(100.0))?;
        assert_eq!(harness.published::<Position>("position"), [Position(25.0), Position(43.75)]);
        harness.call::<dyn Tuning, _>("tuning", |tuning| tuning.restart(100.0))?;
        harness.feed::<airframe::Fix>(&Fix(100.0))?;
        assert_eq!(harness.published::<Position>("position"), [Position(100.0)]);
        Ok(())
    }
}
