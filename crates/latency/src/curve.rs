//! Arrivals in units of the port's own time: how long the link needs for what has come within a closed window.
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::cell::RefCell;

use crate::port::{Arrival, Contender, Control};
use crate::stair::{Stair, Sums};
use crate::units::{scale_up, time_of};

/// What a link lets through in a window: a frame at once, and its rate; the window is longer by `variation`.
#[derive(Clone, Copy, Debug)]
struct Cap {
    frame: u64,
    rate: u64,
    variation: u64,
}

/// Flows that come by one link, or from memory; their messages are among the stairs.
#[derive(Debug, Default)]
struct Group {
    cap: Option<Cap>,
    burst: u64,
    rate: u64,
}

/// The sum of arrivals at one port.
#[derive(Debug)]
pub(crate) struct Aggregate {
    /// Bits per second of the port.
    rate: u64,
    groups: Vec<Group>,
    /// The messages of each group.
    messages: RefCell<Sums>,
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

impl Group {
    /// With what has come of its messages.
    fn at(&self, x: u64, messages: u64, port_rate: u64) -> Option<u64> {
        let sum = self.burst.checked_add(scale_up(x, self.rate, port_rate)?)?.checked_add(messages)?;
        match self.cap {
            None => Some(sum),
            Some(cap) => {
                let link = scale_up(x.checked_add(cap.variation)?, cap.rate, port_rate)?;
                Some(sum.min(link.checked_add(cap.frame)?))
            }
        }
    }

    /// Where the cap and the sum of the flows cross if nothing jumps after these messages have come: rounded
    /// down.
    fn crossing(&self, messages: u64, port_rate: u64) -> Option<u64> {
        let cap = self.cap?;
        let slope = i128::from(cap.rate) - i128::from(self.rate);
        if slope == 0 {
            return None;
        }
        let jumped = self.burst.checked_add(messages)?;
        let above = (i128::from(jumped) - i128::from(cap.frame)).checked_mul(i128::from(port_rate))?;
        let above = above.checked_sub(i128::from(cap.variation).checked_mul(i128::from(cap.rate))?)?;
        // Most fit in 64 bits, whose division is much faster.
        if let (Ok(above), Ok(slope)) = (i64::try_from(above), i64::try_from(slope))
            && let Some(crossing) = above.checked_div(slope)
        {
            return u64::try_from(crossing).ok();
        }
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
        let mut messages = Sums::default();
        // With many links they are not looked through for each flow.
        let mut places: BTreeMap<Option<u32>, usize> = BTreeMap::new();
        for contender in contenders {
            let ingress = contender.ingress.filter(|ingress| capped || ingress.rate < rate);
            let link = ingress.map(|ingress| ingress.link);
            let at = *places.entry(link).or_insert_with(|| {
                groups.push(Group::default());
                messages.add_group();
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
                    messages.add(at, Stair { work: time_of(bits, rate)?, period: separation, jitter })?;
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
        Some(Self { rate, groups, messages: RefCell::new(messages), free_burst, free_rate })
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
        let cost = u32::try_from(1 + self.messages.borrow().len() / 32).ok()?;
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
        for stair in self.messages.borrow().stairs() {
            let mut next = stair.first_jump();
            while next < end {
                *effort = effort.checked_sub(1)?;
                jumps.push(next);
                next = next.checked_add(stair.period)?;
            }
        }
        // Each flow's own are in order: this sort makes use of that.
        jumps.sort();
        jumps.dedup();
        Some(jumps)
    }

    /// Where caps and sums cross strictly between `start` and `end`, rounded down and up, in order.
    pub(crate) fn crossings(&self, start: u64, end: u64) -> Vec<u64> {
        if self.groups.iter().all(|group| group.cap.is_none()) {
            return Vec::new();
        }
        let mut messages = self.messages.borrow_mut();
        let Some(messages) = messages.at(start) else { return Vec::new() };
        let mut crossings: Vec<u64> = self
            .groups
            .iter()
            .zip(messages)
            .filter_map(|(group, messages)| group.crossing(*messages, self.rate))
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
        let mut messages = self.messages.borrow_mut();
        let come = match end {
            End::With => messages.at(x)?,
            // Jumps are at whole picoseconds; before the first instant there was none.
            End::Without if x == 0 => &[],
            End::Without => messages.at(x - 1)?,
        };
        let mut sum = 0_u64;
        for (index, group) in self.groups.iter().enumerate() {
            let messages = come.get(index).copied().unwrap_or(0);
            sum = sum.checked_add(group.at(x, messages, self.rate)?)?;
        }
        Some(sum)
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
