//! What figures need besides pairs of processes: one process alone, and a node for each consumer.
use std::sync::atomic::AtomicBool;

use super::{Cores, Effort, Measured, READY, SPARE, UNDER_WAY, each, float};
use crate::cell::Cell;
use crate::contender::Program;
use crate::nodes::Nodes;
use crate::process::{Driver, Why};
use crate::protocol::Said;
use crate::stage::Stage;

/// The role of a driver that has no other side.
const ALONE: &str = "early";

/// A driver that does all in one process.
pub(super) fn alone(
    cell: &Cell,
    program: &Program,
    effort: &Effort,
    cores: Cores,
    stopped: &AtomicBool,
) -> Result<Measured, Why> {
    let mut one = Driver::start(ALONE, program.command(ALONE, cell, &effort.words()), cores.first)?;
    followed(one.result(effort.time + SPARE, stopped)?, effort, None)
}

/// Times of events that were followed. Of `publisher` it is told what it used.
pub(super) fn followed(said: Said, effort: &Effort, publisher: Option<[u64; 2]>) -> Result<Measured, Why> {
    let Said::OneWay { count, wrong, times, used } = said else {
        return Err(Why::Failed(format!("it said {said:?}")));
    };
    let wanted = u64::try_from(effort.count).unwrap_or(u64::MAX);
    if wrong > 0 || count == 0 || count > wanted {
        return Err(Why::Failed(format!(
            "{wanted} events were to come, {count} came, {wrong} of them were wrong"
        )));
    }
    let [processor, memory] = publisher.unwrap_or_default();
    Ok(Measured {
        value: float(times.p50) / 1e3,
        times: Some(times),
        processor: Some([float(processor) / float(count), each(used, count)]),
        memory: Some([memory, used.memory]),
        link: None,
        lost: wanted - count,
        of: wanted,
    })
}

/// A driver that publishes, and one on each other node that consumes.
pub(super) fn nodes(
    cell: &Cell,
    program: &Program,
    effort: &Effort,
    cores: Cores,
    stage: &Stage,
    stopped: &AtomicBool,
) -> Result<Measured, Why> {
    let second =
        cores.second.ok_or_else(|| Why::Cannot("it needs two cores, and there is one".to_owned()))?;
    let [passive, active] = cell.kind.roles();
    let nodes = Nodes::new(stage, cell.is_lossy()).map_err(Why::Failed)?;
    let start = |role, node: usize, core| {
        let more: Vec<String> = effort.words().into_iter().chain([format!("node={node}")]).collect();
        nodes.on(node, || Driver::start(role, program.command(role, cell, &more), core))
    };
    let mut others = Vec::new();
    for node in 1..=cell.subscribers {
        others.push(start(passive, node, second)?);
    }
    for other in &mut others {
        other.ready(READY, stopped)?;
    }
    let mut one = start(active, 0, cores.first)?;
    let said = one.result(effort.time + SPARE, stopped)?;
    let Said::Written { count: written, used: publisher, .. } = said else {
        return Err(Why::Failed(format!("it said {said:?}")));
    };
    let link = nodes.sent_by_first().map_err(Why::Failed)?;
    std::thread::sleep(UNDER_WAY);
    others.iter_mut().for_each(Driver::close);
    one.close();
    let (mut sum, mut longest, mut processor, mut memory) = (0, 0, 0, 0);
    for other in &mut others {
        match other.result(SPARE, stopped)? {
            Said::Taken { count, wrong: 0, time, used, .. } if count >= 2 && count <= written && time > 0 => {
                sum += count;
                longest = time.max(longest);
                processor += used.processor;
                memory += used.memory;
            }
            said => return Err(Why::Failed(format!("of {written} events: {said:?}"))),
        }
    }
    let of = written * u64::try_from(cell.subscribers).unwrap_or(u64::MAX);
    Ok(Measured {
        value: float(sum) / float(longest) * 1e6,
        times: None,
        processor: Some([each(publisher, sum), float(processor) / float(sum.max(1))]),
        memory: Some([publisher.memory, memory]),
        link: Some(float(link) / float(written.max(1))),
        lost: of - sum,
        of,
    })
}
