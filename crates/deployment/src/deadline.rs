//! Lanes of the class deadline: what the kernel demands of them, as far as a plan says it.
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::ToString;
use alloc::vec::Vec;

use assembly::{Lane, Plan, SchedulingClass, Throttling};
use diagnostics::written;

use crate::launchable::Trouble;

/// The least runtime that the kernel has, in picoseconds.
const LEAST_RUNTIME: u64 = 1_024_000;
/// Periods that the kernel has unless its limits are changed, in picoseconds.
const PERIODS: core::ops::RangeInclusive<u64> = 100_000_000..=4_194_304_000_000;
/// What threads have together in each period where a host says nothing else, in picoseconds.
const THROTTLING: Throttling = Throttling { runtime: 950_000_000_000, period: 1_000_000_000_000 };
/// Parts of the time of a core.
const WHOLE: u128 = 1_000_000_000;

/// What the kernel would refuse to a lane of the class deadline.
pub(crate) fn deadline_troubles(plan: &Plan, process: &str, lane: &Lane, path: &str) -> Vec<Trouble> {
    let mut troubles = Vec::new();
    if !plan.keeps_deadline_threads(process, lane) {
        let what = "the kernel keeps no thread of the class deadline on some cores of several";
        let remedy = format!(
            "add cgroup = \"PATH\" to [process.{process}], of a control group that is a cpuset partition of exactly these cores; or \
             take the cores out, without which no chain has a bound; or write fifo with a priority"
        );
        troubles.push(Trouble::wrong(path.to_string(), what, remedy));
    }
    if lane.runtime.is_some_and(|runtime| runtime < LEAST_RUNTIME) {
        let what = "the kernel has no runtime below 1024 ns";
        troubles.push(Trouble::wrong(path.to_string(), what, "ask for more, or write fifo with a priority"));
    }
    if lane.period.is_some_and(|period| !PERIODS.contains(&period)) {
        let what = "the kernel has no such period";
        let remedy = "periods are from 100 us to 4194304 us, unless kernel.sched_deadline_period_min_us and _max_us say otherwise";
        troubles.push(Trouble::wrong(path.to_string(), what, remedy));
    }
    troubles
}

/// The lanes of the class deadline that ask for more of their cores than the kernel gives out, with those before them on the same cores.
pub(crate) fn overfull_cores(plan: &Plan, processes: &[&str]) -> Vec<Trouble> {
    let mut used: BTreeMap<(Option<&str>, Vec<u16>), u128> = BTreeMap::new();
    let mut troubles = Vec::new();
    let layout = plan.layout();
    for (name, container) in &plan.containers {
        if !processes.contains(&container.process.as_str()) {
            continue;
        }
        let host = layout.host_of(&container.process);
        let of_host = host.and_then(|host| plan.hosts.get(host));
        let throttling = of_host.and_then(|host| host.costs.as_ref()?.throttling).unwrap_or(THROTTLING);
        for (lane_name, lane) in &container.lanes {
            let (SchedulingClass::Deadline, Some(runtime), Some(period)) =
                (lane.class, lane.runtime, lane.period)
            else {
                continue;
            };
            let mut cores = plan.cores_of(&container.process, lane).to_vec();
            cores.sort_unstable();
            cores.dedup();
            let count = match (cores.len(), of_host.and_then(|host| host.cores)) {
                (0, Some(count)) => usize::from(count),
                // How many there are is not known.
                (0, None) => continue,
                (count, _) => count,
            };
            let most = count as u128 * parts(throttling.runtime, throttling.period);
            let sum = used.entry((host, cores)).or_default();
            *sum += u128::from(lane.threads.max(1)) * parts(runtime, period);
            if *sum > most {
                let what = "with those before it on the same cores, its threads ask for more time than the kernel gives to the class deadline";
                let remedy = format!(
                    "ask for less, or use other cores: threads of the class have {} in each {} of a core",
                    written(throttling.runtime),
                    written(throttling.period)
                );
                troubles.push(Trouble::wrong(format!("container.{name}.lanes.{lane_name}"), what, remedy));
            }
        }
    }
    troubles
}

/// A share of the time of a core, as the kernel rounds it: down, in finer parts.
fn parts(runtime: u64, period: u64) -> u128 {
    u128::from(runtime) * WHOLE / u128::from(period.max(1))
}
