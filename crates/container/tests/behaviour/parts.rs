//! Components that tests are made of.
use std::sync::{Arc, Mutex};
use std::time::Duration;

use container::{
    Component, Consumer, Context, Emitter, Event, Handle, HandleParallel, Hook, Lifecycle, Outcome,
    Publisher, Timer, filter,
};

/// An event with a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Number(pub(crate) u64);

struct Known;

impl filter::Schema for Known {
    fn field(&self, path: filter::Path<'_>) -> Option<filter::Field> {
        (path.text() == "number").then_some(filter::Field { slot: 0, kind: filter::Kind::Integer })
    }

    fn label(&self, _: u32, _: &str) -> Option<i64> {
        None
    }
}

impl Event for Number {
    fn field(&self, slot: u32) -> Option<filter::Value<'_>> {
        (slot == 0).then_some(filter::Value::Unsigned(self.0))
    }

    fn schema() -> Option<&'static dyn filter::Schema> {
        Some(&Known)
    }
}

/// What components have written, in their order, each with its name.
#[derive(Clone, Default, Debug)]
pub(crate) struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    pub(crate) fn write(&self, line: String) {
        self.0.lock().unwrap().push(line);
    }

    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

/// Publishes what it is told.
#[derive(Component)]
pub(crate) struct Source {
    pub(crate) out: Publisher<Number>,
    pub(crate) one: Emitter<Number>,
    pub(crate) tick: Timer,
    pub(crate) ticks: u64,
}

impl Lifecycle for Source {
    fn activate(&mut self, _: &Context) -> Outcome {
        self.ticks = 0;
        Ok(())
    }
}

impl Handle<source::Tick> for Source {
    fn handle(&mut self, _: &container::Tick, at: &Context) -> Outcome {
        self.ticks += 1;
        self.out.push(at, &Number(self.ticks))
    }
}

/// Only publishes, so that nothing has to be connected.
#[derive(Component)]
pub(crate) struct Tap {
    pub(crate) out: Publisher<Number>,
}

impl Lifecycle for Tap {}

/// Writes what comes, and hands it on. What it does beside depends on the number and on its settings.
#[derive(Component)]
pub(crate) struct Relay {
    pub(crate) input: Consumer<Number>,
    pub(crate) other: Consumer<Number>,
    pub(crate) out: Publisher<Number>,
    #[setting(default = 666)]
    pub(crate) panics_at: u32,
    #[setting(default = 667)]
    pub(crate) breaks_at: u32,
    #[setting(default = "relay")]
    pub(crate) name: String,
    pub(crate) log: Log,
}

impl Lifecycle for Relay {
    fn error(&mut self, fault: &container::Fault) {
        self.log.write(format!("{}: {fault}", self.name));
    }

    fn limit(&self, _: Hook) -> Duration {
        Duration::from_secs(60)
    }
}

impl Handle<relay::Input> for Relay {
    fn handle(&mut self, number: &Number, at: &Context) -> Outcome {
        if number.0 == u64::from(self.panics_at) {
            panic!("cannot have {}", number.0);
        }
        if number.0 == u64::from(self.breaks_at) {
            return Err(at.broken("out of order"));
        }
        self.log.write(format!("{} {}", self.name, number.0));
        self.out.push(at, &Number(number.0 + 1))
    }

    fn timeout(&mut self, timer: u16, _: &Context) -> Outcome {
        self.log.write(format!("{} timeout {timer}", self.name));
        Ok(())
    }
}

impl Handle<relay::Other> for Relay {
    fn handle(&mut self, number: &Number, at: &Context) -> Outcome {
        self.log.write(format!("{} other {} follows {}", self.name, number.0, at.follows()));
        Ok(())
    }
}

/// Counts on any number of threads.
#[derive(Component)]
#[component(parallel)]
pub(crate) struct Counter {
    pub(crate) input: Consumer<Number>,
    pub(crate) meet: Option<Arc<std::sync::Barrier>>,
    pub(crate) sum: Arc<std::sync::atomic::AtomicU64>,
}

impl Lifecycle for Counter {}

impl HandleParallel<counter::Input> for Counter {
    fn handle(&self, number: &Number, _: &Context) -> Outcome {
        if let Some(meet) = &self.meet {
            meet.wait();
        }
        self.sum.fetch_add(number.0, std::sync::atomic::Ordering::SeqCst);
        Ok(())
    }
}
