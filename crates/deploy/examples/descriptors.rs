//! The component server of plans that are imported from descriptors in XML: sensors and what shows their readings. See docs/deploy-plan.md.
use std::io::Write;

use container::{
    Component, Consumer, Context, Event, Facet, Handle, Lifecycle, Outcome, Publisher, Receptacle, Tick,
    Timer,
};
use dds::DdsType;

/// What a sensor has read.
#[derive(DdsType, Clone, Debug)]
struct Reading {
    sensor: String,
    number: u32,
}
impl Event for Reading {}

/// How a sensor is controlled.
trait Control {
    /// Counts anew.
    fn reset(&mut self);
}

/// Reads something each period.
#[derive(Component)]
struct Sensor {
    tick: Timer,
    out: Publisher<Reading>,
    control: Facet<dyn Control>,
    /// What it calls itself.
    #[setting(default = "sensor")]
    name: String,
    /// Readings in each second, as its descriptor says; the period of the timer counts.
    #[setting(default = 10.0)]
    rate: f64,
    number: u32,
}
impl Lifecycle for Sensor {
    fn activate(&mut self, at: &Context) -> Outcome {
        if self.rate > 0.0 { Ok(()) } else { Err(at.broken("its rate is not above 0")) }
    }
}
impl Handle<sensor::Tick> for Sensor {
    fn handle(&mut self, _: &Tick, at: &Context) -> Outcome {
        self.number += 1;
        self.out.push(at, &Reading { sensor: self.name.clone(), number: self.number })
    }
}
impl Control for Sensor {
    fn reset(&mut self) {
        self.number = 0;
    }
}

/// Prints a reading: who shows it, the part of a join that it came by, the sensor, the number.
fn show(name: &str, reading: &Reading, at: &Context) -> Outcome {
    let line = format!("{name} {} {} {}\n", at.part(), reading.sensor, reading.number);
    std::io::stdout().write_all(line.as_bytes()).map_err(|_| at.broken("standard output is gone"))
}

/// Prints what it gets.
#[derive(Component)]
struct View {
    r#in: Consumer<Reading>,
    /// What it calls itself.
    #[setting(default = "view")]
    name: String,
    /// Milliseconds that it takes to show a reading.
    #[setting(default = 0)]
    slow: u32,
}
impl Lifecycle for View {}
impl Handle<view::In> for View {
    fn handle(&mut self, reading: &Reading, at: &Context) -> Outcome {
        std::thread::sleep(std::time::Duration::from_millis(self.slow.into()));
        show(&self.name, reading, at)
    }
}

/// Prints what it gets, and lets the sensor begin again after the third reading.
#[derive(Component)]
struct Console {
    r#in: Consumer<Reading>,
    control: Receptacle<dyn Control>,
    /// What it calls itself.
    #[setting(default = "console")]
    name: String,
}
impl Lifecycle for Console {}
impl Handle<console::In> for Console {
    fn handle(&mut self, reading: &Reading, at: &Context) -> Outcome {
        show(&self.name, reading, at)?;
        if reading.number == 3 {
            self.control.call(|control| control.reset())?;
        }
        Ok(())
    }
}

component_server::serve! { components: [Sensor, View, Console], topics: [Reading] }
