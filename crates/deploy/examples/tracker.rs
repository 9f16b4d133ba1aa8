//! The component server of the plan beside it: a receiver, an airframe, a display and a store of marks. See docs/components.md.
use std::io::Write;

use container::{
    Component, Consumer, Context, Emitter, Event, Facet, Handle, Lifecycle, ListedField, Outcome, Publisher,
    Receptacle, Tick, Timer, filter,
};
use dds::DdsType;

/// Where a receiver believes to be, in meters.
#[derive(DdsType, Clone, Debug)]
struct Fix {
    x: f64,
    quality: u32,
}

struct FixFields;

impl filter::Schema for FixFields {
    fn field(&self, path: filter::Path<'_>) -> Option<filter::Field> {
        (path.text() == "quality").then_some(filter::Field { slot: 0, kind: filter::Kind::Integer })
    }
    fn label(&self, _: u32, _: &str) -> Option<i64> {
        None
    }
}

impl Event for Fix {
    fn field(&self, slot: u32) -> Option<filter::Value<'_>> {
        (slot == 0).then_some(filter::Value::Unsigned(self.quality.into()))
    }
    fn schema() -> Option<&'static dyn filter::Schema> {
        Some(&FixFields)
    }
    fn fields() -> Option<&'static [ListedField]> {
        Some(&[("quality", &[])])
    }
}

/// Where the airframe is, in meters.
#[derive(DdsType, Clone, Debug)]
struct Position {
    x: f64,
    count: u64,
}
impl Event for Position {}

/// Has a fix each period.
#[derive(Component)]
struct Gps {
    tick: Timer,
    fix: Emitter<Fix>,
    /// After so many fixes the program ends at once, as by a mistake; 0 is never.
    #[setting(default = 0)]
    aborts_after: u32,
    count: u32,
}
impl Lifecycle for Gps {}
impl Handle<gps::Tick> for Gps {
    fn handle(&mut self, _: &Tick, at: &Context) -> Outcome {
        self.count += 1;
        if self.count == self.aborts_after {
            std::process::abort();
        }
        self.fix.push(at, &Fix { x: f64::from(self.count), quality: self.count % 5 })
    }
}

/// What an airframe says of its position.
trait Marks {
    fn mark(&mut self, x: f64);
}

/// Makes positions of fixes.
#[derive(Component)]
struct Airframe {
    fix: Consumer<Fix>,
    position: Publisher<Position>,
    marks: Receptacle<dyn Marks>,
    #[setting(default = 0.5, range = 0.0..=1.0)]
    gain: f64,
    /// It panics at this fix; 0 is none.
    #[setting(default = 0)]
    panics_at: u32,
    last: f64,
    count: u64,
}
impl Lifecycle for Airframe {}
impl Handle<airframe::Fix> for Airframe {
    fn handle(&mut self, fix: &Fix, at: &Context) -> Outcome {
        assert!(self.panics_at == 0 || fix.x != f64::from(self.panics_at), "it is told to panic");
        self.last += self.gain * (fix.x - self.last);
        self.count += 1;
        let last = self.last;
        self.marks.call(|marks| marks.mark(last))?;
        self.position.push(at, &Position { x: self.last, count: self.count })
    }
}

/// Keeps the greatest mark.
#[derive(Component)]
struct Store {
    marks: Facet<dyn Marks>,
    most: f64,
}
impl Lifecycle for Store {}
impl Marks for Store {
    fn mark(&mut self, x: f64) {
        self.most = self.most.max(x);
    }
}

/// Writes positions to a file.
#[derive(Component)]
struct Display {
    position: Consumer<Position>,
    /// Without a file it writes nothing.
    #[setting(default = "")]
    file: String,
    /// It cannot be activated.
    #[setting(default = false)]
    fails: bool,
    out: Option<std::fs::File>,
}
impl Lifecycle for Display {
    fn activate(&mut self, at: &Context) -> Outcome {
        if self.fails {
            return Err(at.broken("it is told to fail"));
        }
        if !self.file.is_empty() {
            let opened = std::fs::OpenOptions::new().create(true).append(true).open(&self.file);
            self.out = Some(opened.map_err(|_| at.broken("its file cannot be opened"))?);
        }
        Ok(())
    }
}
impl Handle<display::Position> for Display {
    fn handle(&mut self, position: &Position, at: &Context) -> Outcome {
        match &mut self.out {
            Some(out) => {
                let line = format!("{} {:.3}\n", position.count, position.x);
                out.write_all(line.as_bytes()).map_err(|_| at.broken("its file is full"))
            }
            None => Ok(()),
        }
    }
}

component_server::serve! { components: [Gps, Airframe, Store, Display], topics: [Fix, Position] }
