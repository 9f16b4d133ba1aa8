//! Scores of chains, as they are told to the supervisor.
use std::time::Duration;

use container::{ChainScore, Quantiles, Times};
use deployment::{ChainStatus, HopStatus, Spread};

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

fn spread(of: &Quantiles) -> Spread {
    Spread {
        count: of.count,
        median: nanos(of.median),
        most_of_hundred: nanos(of.most_of_hundred),
        worst: nanos(of.worst),
        exceeded: of.exceeded,
        error: nanos(of.error),
        possibly: of.possibly,
    }
}

/// A score, as it is told.
pub(crate) fn chain_status(score: &ChainScore) -> ChainStatus {
    let hop = |(port, times): &(String, Times)| HopStatus {
        port: port.clone(),
        transfer: nanos(times.transfer),
        wait: nanos(times.wait),
        run: nanos(times.run),
    };
    ChainStatus {
        name: score.name.clone(),
        completions: score.completions,
        reaction: spread(&score.reaction),
        age: spread(&score.age),
        unknown: score.unknown,
        overdue: score.overdue.map(nanos),
        foreign: score.foreign,
        hops: score.hops.iter().map(hop).collect(),
    }
}
