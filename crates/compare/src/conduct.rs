//! The passes: in each, every cell is measured with every contender in turn, so that what else the machine does meets all of them.
mod figures;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::cell::{Cell, Kind, Placement};
use crate::contender::{Contender, Program};
use crate::process::{Driver, Why};
use crate::protocol::{Said, Times, Used};
use crate::stage::Stage;

/// How much is measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    pub(crate) passes: usize,
    /// Round trips for each cell and pass.
    pub(crate) count: usize,
    /// How long writers write.
    pub(crate) time: Duration,
    /// No measurement is begun after this.
    pub(crate) limit: Duration,
}

impl Effort {
    /// For drivers.
    fn words(&self) -> Vec<String> {
        vec![
            format!("count={}", self.count),
            format!("warm_up={}", self.count / 10),
            format!("milliseconds={}", self.time.as_millis()),
        ]
    }
}

/// What one run of drivers gave.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Measured {
    /// In the unit of the cell: a median of round trips, a rate, a time.
    pub(crate) value: f64,
    pub(crate) times: Option<Times>,
    /// Processor time in nanoseconds for each round trip or sample, of the side that asks or writes, and of the other.
    pub(crate) processor: Option<[f64; 2]>,
    /// Bytes of memory at most, of the same two sides.
    pub(crate) memory: Option<[u64; 2]>,
    /// Bytes that the publisher's link carried for each event.
    pub(crate) link: Option<f64>,
    /// Samples or round trips that got lost.
    pub(crate) lost: u64,
    /// Out of so many.
    pub(crate) of: u64,
}

/// All results of a cell and a contender, pass by pass.
#[derive(Clone, Debug, Default)]
pub(crate) struct Results {
    /// With the number of the pass.
    pub(crate) measured: Vec<(usize, Measured)>,
    /// What was in the way, the last time.
    pub(crate) missing: Option<String>,
    /// How often something failed.
    pub(crate) failures: usize,
    /// It is of no use to try again.
    pub(crate) hopeless: bool,
}

/// After so many failures a contender is not asked for that cell any more.
const PATIENCE: usize = 2;
/// Longest time until the first side is ready.
const READY: Duration = Duration::from_secs(15);
/// What a driver may take beyond what it measures: finding each other, waiting for acknowledgements, loads of the machine.
const SPARE: Duration = Duration::from_secs(30);
/// A round trip takes this long at most, on average, before a driver counts as hanging.
const SLOWEST: Duration = Duration::from_millis(20);
/// What is under way when the writer has ended.
const UNDER_WAY: Duration = Duration::from_millis(100);
/// How long the first side has been there when the process starts whose start is measured.
const SETTLED: Duration = Duration::from_millis(1_500);

/// Where processes may run: a core for the side that is started first, one for the other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cores {
    pub(crate) first: usize,
    pub(crate) second: Option<usize>,
}

/// Plays all passes; results by cell and contender, in their order. It ends early if the user wants it or time is up.
pub(crate) fn play(
    stage: &Stage,
    cells: &[Cell],
    contenders: &[Contender],
    effort: &Effort,
    cores: Cores,
    stopped: &AtomicBool,
    progress: &dyn Fn(&str),
) -> Vec<Vec<Results>> {
    let mut all: Vec<Vec<Results>> =
        cells.iter().map(|_| vec![Results::default(); contenders.len()]).collect();
    let start = Instant::now();
    for pass in 0..effort.passes {
        for (row, cell) in all.iter_mut().zip(cells) {
            // Another one begins in each pass: no contender always runs behind the same one, which has heated the processor.
            for turn in 0..contenders.len() {
                let index = (turn + pass) % contenders.len();
                let (Some(results), Some(contender)) = (row.get_mut(index), contenders.get(index)) else {
                    continue;
                };
                if !contender.scope.has(cell) {
                    continue;
                }
                if stopped.load(Ordering::Relaxed) {
                    return all;
                }
                if start.elapsed() > effort.limit {
                    results.missing.get_or_insert_with(|| "the time was up".to_owned());
                    continue;
                }
                progress(&format!(
                    "pass {} of {}, {}: {}",
                    pass + 1,
                    effort.passes,
                    contender.name,
                    cell.title
                ));
                stage.clear();
                ask(results, pass, cell, contender, effort, cores, (stage, stopped));
            }
        }
    }
    all
}

fn ask(
    results: &mut Results,
    pass: usize,
    cell: &Cell,
    contender: &Contender,
    effort: &Effort,
    cores: Cores,
    (stage, stopped): (&Stage, &AtomicBool),
) {
    let program = match &contender.program {
        Ok(program) if !results.hopeless => program,
        Ok(_) => return,
        Err(reason) => {
            results.missing = Some(reason.clone());
            return;
        }
    };
    let measured = match (cell.placement, cell.kind) {
        (Placement::Alone, _) => figures::alone(cell, program, effort, cores, stopped),
        (_, Kind::Nodes) => figures::nodes(cell, program, effort, cores, stage, stopped),
        _ => measure(cell, program, effort, cores, stopped),
    };
    match measured {
        Ok(measured) => results.measured.push((pass, measured)),
        Err(Why::Stopped) => {}
        Err(Why::Cannot(reason)) => (results.missing, results.hopeless) = (Some(reason), true),
        Err(Why::Failed(reason)) => {
            results.missing = Some(reason);
            results.failures += 1;
            results.hopeless = results.failures >= PATIENCE;
        }
    }
}

/// One run of two drivers.
///
/// # Errors
/// Why there is no result.
fn measure(
    cell: &Cell,
    program: &Program,
    effort: &Effort,
    cores: Cores,
    stopped: &AtomicBool,
) -> Result<Measured, Why> {
    let second = match cell.placement {
        Placement::S | Placement::Alone => cores.first,
        Placement::X => {
            cores.second.ok_or_else(|| Why::Cannot("it needs two cores, and there is one".to_owned()))?
        }
    };
    let more = effort.words();
    let [passive, active] = cell.kind.roles();
    // The side that measures is on the first core, the one that answers or reads on the second.
    let mut other = Driver::start(passive, program.command(passive, cell, &more), second)?;
    other.ready(READY, stopped)?;
    if cell.kind == Kind::Start {
        std::thread::sleep(SETTLED);
    }
    let mut one = Driver::start(active, program.command(active, cell, &more), cores.first)?;
    let trips = u32::try_from(effort.count).unwrap_or(u32::MAX);
    let work = match cell.kind {
        Kind::RoundTrip | Kind::OneWay => SLOWEST.saturating_mul(trips).min(Duration::from_secs(120)),
        Kind::Rate | Kind::Nodes => effort.time,
        Kind::Start => Duration::ZERO,
    };
    let said = one.result(work + SPARE, stopped)?;
    let age = one.age();
    if matches!(cell.kind, Kind::Rate | Kind::OneWay) {
        std::thread::sleep(UNDER_WAY);
    }
    other.close();
    one.close();
    match (cell.kind, said) {
        (Kind::Start, Said::First) => Ok(Measured {
            value: age.as_secs_f64() * 1e3,
            times: None,
            processor: None,
            memory: None,
            link: None,
            lost: 0,
            of: 1,
        }),
        (Kind::RoundTrip, Said::RoundTrips { count, stalls, times, used }) if count > 0 => {
            // It was ready, so what comes now is the end of its work, whose processor time has other things in it.
            let memory = match other.result(SPARE, stopped) {
                Ok(Said::Answered { used: other }) => Some([used.memory, other.memory]),
                Err(Why::Stopped) => return Err(Why::Stopped),
                _ => None,
            };
            Ok(Measured {
                value: float(times.p50) / 1e3,
                times: Some(times),
                processor: Some([each(used, count), f64::NAN]),
                memory,
                link: None,
                lost: stalls,
                of: count,
            })
        }
        // There and back: what it takes of the processor is another thing than for an event that goes one way.
        (Kind::OneWay, Said::RoundTrips { count, stalls, times, .. }) if count > 0 => Ok(Measured {
            value: float(times.p50) / 2e3,
            times: Some(times.halved()),
            processor: None,
            memory: None,
            link: None,
            lost: stalls,
            of: count,
        }),
        (Kind::OneWay, Said::Written { used, .. }) => {
            figures::followed(other.result(SPARE, stopped)?, effort, Some([used.processor, used.memory]))
        }
        (Kind::Rate, Said::Written { count: written, used, .. }) => match other.result(SPARE, stopped)? {
            Said::Taken { count, greatest, wrong, time, used: reader } => {
                if wrong > 0 {
                    return Err(Why::Failed(format!(
                        "{wrong} samples of {count} were not as they had been written"
                    )));
                }
                let deliveries = written.saturating_mul(u64::try_from(cell.subscribers).unwrap_or(u64::MAX));
                if count < 2 || time == 0 || count > deliveries || greatest >= written.max(1) {
                    return Err(Why::Failed(format!(
                        "{written} samples were written, and {count} taken, the last with number {greatest}, in {time} ns"
                    )));
                }
                Ok(Measured {
                    value: float(count - 1) / float(time) * 1e6,
                    times: None,
                    processor: Some([each(used, count), each(reader, count)]),
                    memory: Some([used.memory, reader.memory]),
                    link: None,
                    lost: deliveries - count,
                    of: deliveries,
                })
            }
            other => Err(Why::Failed(format!("the reader said {other:?}"))),
        },
        (_, said) => Err(Why::Failed(format!("it said {said:?}"))),
    }
}

fn each(used: Used, count: u64) -> f64 {
    float(used.processor) / float(count.max(1))
}

#[expect(clippy::cast_precision_loss, reason = "figures for people")]
pub(crate) fn float(number: u64) -> f64 {
    number as f64
}
