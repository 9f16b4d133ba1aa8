//! The process that publishes: it waits until all consumers are there, then pushes at a pace, or as fast as they follow.
use std::time::{Duration, Instant};

use super::Order;
use super::board::Told;
use super::carriers::{Carrier, publishing};
use super::load::Load;
use crate::driver::measure::{self, CALM, MEETING, Wrong, end_of_input};

/// Between two events that only show that a peer is there.
const HELLO: Duration = Duration::from_millis(10);
/// How long one look for room takes at most.
const ROOM: Duration = Duration::from_millis(1);
/// How long the last events take at most.
const SETTLED: Duration = Duration::from_secs(20);

/// Publishes.
pub(super) fn run(carrier: Carrier, has_ports: bool, order: &Order) -> Result<(), Wrong> {
    let mut told = Told::new(order)?;
    let mut out = publishing(carrier, has_ports, order)?;
    let ends = end_of_input();
    let mut load = Load::new(order.task.size);
    let start = Instant::now();
    // Consumers say that they are there as soon as each has got an event.
    while {
        out.push(&mut load)?;
        !told.listen(HELLO, |least| least.is_some())?
    } {
        if start.elapsed() > MEETING {
            return Err("the other side was not found".into());
        }
    }
    std::thread::sleep(CALM);
    if order.follows {
        let last = u64::try_from(order.task.count + order.task.warm_up)?;
        let (start, before) = (Instant::now(), measure::processor());
        let pace = Duration::from_micros(order.pace);
        let (mut due, mut refused) = (start, 0);
        for number in 0..last {
            due += pace;
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            load.number = number;
            refused += u64::from(!out.push(&mut load)?);
        }
        arrived(&mut told, last - refused)?;
        let used = measure::processor().saturating_sub(before);
        measure::say_written(last - refused, refused, measure::nanoseconds(start.elapsed()), used);
        return Ok(());
    }
    // DDS holds its writers back by itself.
    let has_window = !matches!(carrier, Carrier::Dds | Carrier::Apart);
    let window = order.window();
    let count = std::cell::Cell::new(0);
    let told = std::cell::RefCell::new(told);
    let write = |number: u64| {
        let has_room = |least: Option<u64>| number < least.unwrap_or(0) + window;
        if has_window && !told.borrow_mut().listen(ROOM, has_room)? {
            return Ok(false);
        }
        load.number = number;
        let is_pushed = out.push(&mut load)?;
        count.set(number + u64::from(is_pushed));
        Ok(is_pushed)
    };
    measure::publish(&order.task, &ends, write, || arrived(&mut told.borrow_mut(), count.get()))
}

/// Waits until each consumer has so many events.
fn arrived(told: &mut Told, count: u64) -> Result<(), Wrong> {
    if told.listen(SETTLED, |least| least.is_some_and(|least| least >= count))? {
        return Ok(());
    }
    Err(format!("not all of {count} events have come everywhere within {} s", SETTLED.as_secs()).into())
}
