//! Arrivals in units of the port's own time: how long the link needs for what has come within a closed window.
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::port::{Arrival, Contender, Control};
use crate::units::{scale_up, time_of};

/// Messages: `work` at 0 and whenever `x + jitter` is a multiple of `period`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stair {
    work: u64,
    period: u64,
    jitter: u64,
}

/// What a link lets through in a window: a frame at once, and its rate; the window is longer by `variation`.
#[derive(Clone, Copy, Debug)]
struct Cap {
    frame: u64,
    rate: u64,
    variation: u64,
}

/// Flows that come by one link, or from memory.
#[derive(Debug, Default)]
struct Group {
    cap: Option<Cap>,
    stairs: Vec<Stair>,
    burst: u64,
    rate: u64,
}

/// The sum of arrivals at one port.
#[derive(Debug)]
pub(crate) struct Aggregate {
    /// Bits per second of the port.
    rate: u64,
    groups: Vec<Group>,
    /// Token buckets that nothing caps: they are solved in closed form.
    free_burst: u64,
    free_rate: u64,
}

/// Where the window ends.
#[derive(Clone, Copy)]
enum End {
    /// What comes at the last instant counts.
    With,
    /// It does not.
    Without,
}

impl Stair {
    fn at(&self, x: u64, end: End) -> Option<u64> {
        let x = match end {
            End::With => x,
            // Jumps are at whole picoseconds.
            End::Without if x == 0 => return Some(0),
            End::Without => x - 1,
        };
        let since = x.checked_add(self.jitter)?;
        // Most windows are shorter than the period, and a comparison is much faster than a division.
        if since < self.period {
            return Some(self.work);
        }
        self.work.checked_mul((since / self.period).checked_add(1)?)
    }
}

impl Group {
    fn at(&self, x: u64, end: End, port_rate: u64) -> Option<u64> {
        let mut sum = self.burst.checked_add(scale_up(x, self.rate, port_rate)?)?;
        for stair in &self.stairs {
            sum = sum.checked_add(stair.at(x, end)?)?;
        }
        match self.cap {
            None => Some(sum),
            Some(cap) => {
                let link = scale_up(x.checked_add(cap.variation)?, cap.rate, port_rate)?;
                Some(sum.min(link.checked_add(cap.frame)?))
            }
        }
    }

    /// Where the cap and the sum of the flows cross after `x`, if nothing jumps: rounded down.
    fn crossing(&self, x: u64, port_rate: u64) -> Option<u64> {
        let cap = self.cap?;
        let slope = i128::from(cap.rate) - i128::from(self.rate);
        if slope == 0 {
            return None;
        }
        let mut jumped = self.burst;
        for stair in &self.stairs {
            jumped = jumped.checked_add(stair.at(x, End::With)?)?;
        }
        let above = (i128::from(jumped) - i128::from(cap.frame)).checked_mul(i128::from(port_rate))?;
        let above = above.checked_sub(i128::from(cap.variation).checked_mul(i128::from(cap.rate))?)?;
        u64::try_from(above.checked_div(slope)?).ok()
    }
}

impl Aggregate {
    /// The sum of the flows. Caps of links are kept where they can matter: with `capped`, or if they are slower than
    /// the port; a link as fast as the port never lets a busy period end by itself.
    pub(crate) fn new<'a>(
        rate: u64,
        contenders: impl Iterator<Item = &'a Contender>,
        control: Option<Control>,
        capped: bool,
    ) -> Option<Self> {
        let mut groups: Vec<Group> = Vec::new();
        // With many links they are not looked through for each flow.
        let mut places: BTreeMap<Option<u32>, usize> = BTreeMap::new();
        for contender in contenders {
            let ingress = contender.ingress.filter(|ingress| capped || ingress.rate < rate);
            let link = ingress.map(|ingress| ingress.link);
            let at = *places.entry(link).or_insert_with(|| {
                groups.push(Group::default());
                groups.len() - 1
            });
            let group = groups.get_mut(at)?;
            if let Some(ingress) = ingress {
                let frame = time_of(contender.largest_frame, rate)?;
                let cap =
                    group.cap.get_or_insert(Cap { frame, rate: ingress.rate, variation: ingress.variation });
                // Should descriptions of one link differ, the one that lets more through counts.
                cap.frame = cap.frame.max(frame);
                cap.rate = cap.rate.max(ingress.rate);
                cap.variation = cap.variation.max(ingress.variation);
            }
            match contender.arrival {
                Arrival::Messages { bits, separation, jitter } => {
                    if separation == 0 {
                        return None;
                    }
                    group.stairs.push(Stair { work: time_of(bits, rate)?, period: separation, jitter });
                }
                Arrival::Bucket { burst, rate: bucket_rate } => {
                    group.burst = group.burst.checked_add(time_of(burst, rate)?)?;
                    group.rate = group.rate.checked_add(bucket_rate)?;
                }
            }
        }
        let (mut free_burst, mut free_rate) = match control {
            Some(control) => (time_of(control.burst, rate)?, control.rate),
            None => (0, 0),
        };
        for group in groups.iter_mut().filter(|group| group.cap.is_none()) {
            free_burst = free_burst.checked_add(core::mem::take(&mut group.burst))?;
            free_rate = free_rate.checked_add(core::mem::take(&mut group.rate))?;
        }
        Some(Self { rate, groups, free_burst, free_rate })
    }

    /// What has come in the closed window `[0, x]`.
    pub(crate) fn at(&self, x: u64) -> Option<u64> {
        self.free(x)?.checked_add(self.grouped(x, End::With)?)
    }

    /// What has come in the window `[0, x)`.
    pub(crate) fn before(&self, x: u64) -> Option<u64> {
        self.free(x)?.checked_add(self.grouped(x, End::Without)?)
    }

    /// The least time, from `from` on, at which `work` and what has come with it is done; arrivals at the end of the
    /// window count if `closed`. Each evaluation takes one from `effort`, and one for every 32 flows; without effort left
    /// there is no answer.
    pub(crate) fn done(&self, work: u64, from: u64, closed: bool, effort: &mut u32) -> Option<u64> {
        let mut time = self.solve(work, 0)?.max(from);
        let stairs = self.groups.iter().map(|group| group.stairs.len()).sum::<usize>();
        let cost = u32::try_from(1 + stairs / 32).ok()?;
        loop {
            *effort = effort.checked_sub(cost)?;
            let end = if closed { End::With } else { End::Without };
            let next = self.solve(work, self.grouped(time, end)?)?;
            if next <= time {
                return Some(time);
            }
            time = next;
        }
    }

    /// When `work` and what has come by `until` and the free token buckets are done.
    pub(crate) fn done_with(&self, work: u64, until: u64) -> Option<u64> {
        self.solve(work, self.grouped(until, End::With)?)
    }

    /// The instants in `(0, end)` where something jumps, in order; each takes one from `effort`.
    pub(crate) fn jumps(&self, end: u64, effort: &mut u32) -> Option<Vec<u64>> {
        let mut jumps = Vec::new();
        for stair in self.groups.iter().flat_map(|group| &group.stairs) {
            let mut next = stair.period - stair.jitter % stair.period;
            while next < end {
                *effort = effort.checked_sub(1)?;
                jumps.push(next);
                next = next.checked_add(stair.period)?;
            }
        }
        jumps.sort_unstable();
        jumps.dedup();
        Some(jumps)
    }

    /// Where caps and sums cross strictly between `start` and `end`, rounded down and up, in order.
    pub(crate) fn crossings(&self, start: u64, end: u64) -> Vec<u64> {
        let mut crossings: Vec<u64> = self
            .groups
            .iter()
            .filter_map(|group| group.crossing(start, self.rate))
            .flat_map(|x| [x, x.saturating_add(1)])
            .filter(|x| start < *x && *x < end)
            .collect();
        crossings.sort_unstable();
        crossings.dedup();
        crossings
    }

    fn solve(&self, work: u64, grouped: u64) -> Option<u64> {
        let work = work.checked_add(grouped)?.checked_add(self.free_burst)?;
        if self.free_rate == 0 {
            return Some(work);
        }
        scale_up(work, self.rate, self.rate.checked_sub(self.free_rate)?)
    }

    fn free(&self, x: u64) -> Option<u64> {
        self.free_burst.checked_add(scale_up(x, self.free_rate, self.rate)?)
    }

    fn grouped(&self, x: u64, end: End) -> Option<u64> {
        self.groups.iter().try_fold(0_u64, |sum, group| sum.checked_add(group.at(x, end, self.rate)?))
    }
}

/// Calls `examine` for consecutive intervals `[start, end)` that cover `[0, end)`, in each of which the aggregate is
/// affine or which are a picosecond long; stops at the first `None`.
pub(crate) fn each_interval(
    aggregate: &Aggregate,
    jumps: &[u64],
    end: u64,
    mut examine: impl FnMut(u64, u64) -> Option<()>,
) -> Option<()> {
    let mut start = 0;
    for &jump in jumps.iter().chain(core::iter::once(&end)) {
        for crossing in aggregate.crossings(start, jump) {
            examine(start, crossing)?;
            start = crossing;
        }
        if start < jump {
            examine(start, jump)?;
            start = jump;
        }
    }
    Some(())
}
