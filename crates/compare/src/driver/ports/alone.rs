//! Figures 13 and 14: publisher, channel and consumers in one process, on one thread.
use std::sync::Arc;

use channel::{Batch, Channel, ConsumerSettings, Header, Limits, Part, PublisherSettings, Tree, Worker};
use container::{ByChannel, Direct, Dispatch, Service, filter};
use udp::monotonic;

use super::board::Board;
use super::load::{Load, Seen, Tap, calls, server, takers};
use super::{Order, Way};
use crate::driver::measure::Wrong;

/// The body of an event in the channel: its consumers share it.
#[derive(Clone)]
struct Shared(Arc<Load>);

impl filter::Fields for Shared {
    fn value(&self, _: u32) -> Option<filter::Value<'_>> {
        None
    }
}

/// Pushes one event after the other; the stamp is taken just before each.
pub(super) fn run(way: Way, order: &Order) -> Result<(), Wrong> {
    let board = Arc::new(Board::new(order, false, false)?);
    let last = u64::try_from(order.task.count + order.task.warm_up)?;
    match way {
        Way::Floor => {
            let calls = calls(order.subscribers, &board);
            let mut load = Load::new(order.task.size);
            for number in 0..last {
                (load.number, load.stamp) = (number, monotonic());
                calls.iter().for_each(|call| call(std::hint::black_box(&load).seen()));
            }
        }
        Way::Channel => machine(order, &board, last)?,
        Way::Direct => ports(order, &board, last, &Direct::default())?,
        Way::Channelled => ports(order, &board, last, &ByChannel::new(Dispatch::Publisher))?,
        Way::Between { .. } => return Err("it needs two processes".into()),
    }
    board.say();
    Ok(())
}

/// The state machine alone, as a program would drive it on the thread that publishes.
fn machine(order: &Order, board: &Arc<Board>, last: u64) -> Result<(), Wrong> {
    let calls = calls(order.subscribers, board);
    let mut machine = Channel::new(Limits::default());
    let publisher = machine.add_publisher(0, PublisherSettings::default());
    let of_source = Tree::Header { kind: None, source: Some(1) };
    for _ in &calls {
        let added = machine.subscribe(0, &of_source, ConsumerSettings::default());
        added.map_err(|error| error.to_string())?;
    }
    let mut batch = Batch::new();
    let shared = Shared(Arc::new(Load::new(order.task.size)));
    for number in 0..last {
        let now = monotonic();
        let header = Header { source: 1, created: now, ..Header::default() };
        let pushed = machine.push(now, publisher, &header, &shared);
        pushed.map_err(|refused| format!("an event is refused: {refused:?}"))?;
        while let Some(consumer) = machine.take(now, Worker::Publisher, &mut batch) {
            let call = calls.get(consumer.place()).ok_or("a delivery without a consumer")?;
            for part in batch.deliveries().flatten() {
                if let Part::Event { header, body, .. } = part {
                    call(Seen { number, stamp: header.created, data: &body.0.data });
                }
            }
            machine.done(now, consumer);
            while machine.poll_signal().is_some() {}
        }
    }
    Ok(())
}

fn ports(order: &Order, board: &Arc<Board>, last: u64, service: &dyn Service) -> Result<(), Wrong> {
    let mut server = server()?;
    server.install::<Tap>("box", "tap", &[])?;
    let ports = takers(&mut server, order.subscribers, board)?;
    let ports: Vec<&str> = ports.iter().map(String::as_str).collect();
    server.connect("x", &["tap.out"], &ports, service)?;
    server.launch()?;
    let tap = server.entry::<Tap>("tap").ok_or("a component is missing")?;
    let mut load = Load::new(order.task.size);
    for number in 0..last {
        let pushed = tap.with(|tap, at| {
            (load.number, load.stamp) = (number, monotonic());
            tap.out.push(at, &load)
        })?;
        pushed.map_err(|failure| format!("a push fails: {failure:?}"))?;
    }
    server.stop()?;
    Ok(())
}
