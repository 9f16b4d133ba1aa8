//! A room that is heated: docs/tutorial/components.md.
use container::{
    Component, Consumer, Context, Emitter, Event, Handle, Lifecycle, Outcome, Publisher, Tick, Timer,
};
use dds::DdsType;

/// What a sensor measures, in degrees Celsius.
#[derive(DdsType, Clone, Debug, PartialEq)]
struct Temperature {
    celsius: f64,
}
impl Event for Temperature {}

/// How much a heater is to heat, from 0 to 1.
#[derive(DdsType, Clone, Debug, PartialEq)]
struct Power {
    part: f64,
}
impl Event for Power {}

/// Measures each period; here the room warms by itself.
#[derive(Component)]
struct Sensor {
    tick: Timer,
    temperature: Emitter<Temperature>,
    count: u32,
}
impl Lifecycle for Sensor {}
impl Handle<sensor::Tick> for Sensor {
    fn handle(&mut self, _: &Tick, at: &Context) -> Outcome {
        self.count += 1;
        self.temperature.push(at, &Temperature { celsius: 15.0 + f64::from(self.count % 10) })
    }
}

/// Heats more the colder it is, and says so when it is too cold.
#[derive(Component)]
struct Control {
    temperature: Consumer<Temperature>,
    power: Publisher<Power>,
    cold: Publisher<Temperature>,
    #[setting(default = 20.0, range = 5.0..=30.0)]
    target: f64,
}
impl Lifecycle for Control {}
impl Handle<control::Temperature> for Control {
    fn handle(&mut self, measured: &Temperature, at: &Context) -> Outcome {
        let missing = self.target - measured.celsius;
        if missing > 10.0 {
            self.cold.push(at, measured)?;
        }
        self.power.push(at, &Power { part: (missing / 10.0).clamp(0.0, 1.0) })
    }
}

/// Heats, and prints how much.
#[derive(Component)]
struct Heater {
    power: Consumer<Power>,
}
impl Lifecycle for Heater {}
impl Handle<heater::Power> for Heater {
    fn handle(&mut self, power: &Power, _: &Context) -> Outcome {
        println!("heating: {:.1}", power.part);
        Ok(())
    }
}

component_server::serve! { components: [Sensor, Control, Heater], topics: [Temperature, Power] }

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use container::{Harness, Value};

    use super::{Control, Power, Sensor, Temperature, control};

    #[test]
    fn it_heats_more_the_colder_it_is() -> Result<(), Box<dyn std::error::Error>> {
        let mut harness = Harness::with(Control::default(), &[("target", Value::Float(22.0))])?;
        for celsius in [25.0, 17.0, 2.0] {
            harness.feed::<control::Temperature>(&Temperature { celsius })?;
        }
        let parts = [0.0, 0.5, 1.0].map(|part| Power { part });
        assert_eq!(harness.published::<Power>("power"), parts);
        assert_eq!(harness.published::<Temperature>("cold"), [Temperature { celsius: 2.0 }]);
        Ok(())
    }

    #[test]
    fn it_measures_each_period() -> Result<(), Box<dyn std::error::Error>> {
        let mut harness = Harness::new(Sensor::default())?;
        harness.every("tick", Duration::from_millis(100))?;
        harness.advance(Duration::from_millis(250))?;
        let measured = [16.0, 17.0].map(|celsius| Temperature { celsius });
        assert_eq!(harness.published::<Temperature>("temperature"), measured);
        Ok(())
    }
}
