//! A subscription at work: what its joins have kept, and when its timers are due.
use alloc::boxed::Box;
use alloc::vec::Vec;

use filter::Fields;

use crate::event::{Header, Part};
use crate::kept::{KeptByJoin, KeptByPart};
use crate::tree::{Keep, Tree};

/// A tree with its state.
#[derive(Debug)]
pub(crate) enum Node<E> {
    Test(Tree),
    Any(Vec<Node<E>>),
    Join(Join<E>),
    /// `at` is when it is due next.
    Every {
        timer: u16,
        period: u64,
        priority: u8,
        at: u64,
    },
    After {
        timer: u16,
        priority: u8,
        at: Option<u64>,
    },
    Silence {
        of: Box<Node<E>>,
        timer: u16,
        after: u64,
        priority: u8,
        at: Option<u64>,
    },
}

#[derive(Debug)]
pub(crate) struct Join<E> {
    parts: Vec<Waiting<E>>,
    keep: Keep,
    within: Option<u64>,
    /// When what is kept is given up.
    until: Option<u64>,
}

#[derive(Debug)]
struct Waiting<E> {
    node: Node<E>,
    kept: Vec<Part<E>>,
    /// How many times something was kept.
    times: u16,
}

/// The result of an event or a timer at a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    /// Nothing.
    Refused,
    /// It has taken it, and delivers nothing yet.
    Kept,
    /// It delivers what was added to the output.
    Delivered,
}

/// An event on its way into a subscription.
#[derive(Debug)]
pub(crate) struct Offer<'a, E> {
    pub(crate) now: u64,
    pub(crate) number: u64,
    pub(crate) header: &'a Header,
    pub(crate) body: &'a E,
}

impl<E: Clone> Offer<'_, E> {
    /// The event as a part of a delivery.
    #[inline]
    pub(crate) fn part(&self) -> Part<E> {
        Part::Event { number: self.number, header: *self.header, body: self.body.clone() }
    }
}

impl<E: Clone + Fields> Node<E> {
    /// The tree at work from now on; the tree has been checked. `timers` counts its timers.
    pub(crate) fn new(tree: &Tree, now: u64, timers: &mut u16) -> Self {
        let mut timer = || {
            let number = *timers;
            *timers = timers.saturating_add(1);
            number
        };
        match tree {
            Tree::Every { period, priority } => Self::Every {
                timer: timer(),
                period: *period,
                priority: *priority,
                at: now.saturating_add(*period),
            },
            Tree::After { delay, priority } => {
                Self::After { timer: timer(), priority: *priority, at: Some(now.saturating_add(*delay)) }
            }
            Tree::Silence { of, after, priority } => {
                let timer = timer();
                Self::Silence {
                    of: Box::new(Self::new(of, now, timers)),
                    timer,
                    after: *after,
                    priority: *priority,
                    at: Some(now.saturating_add(*after)),
                }
            }
            Tree::Join { parts, keep, within } => {
                let parts = parts.iter().map(|part| Waiting {
                    node: Self::new(part, now, timers),
                    kept: Vec::new(),
                    times: 0,
                });
                Self::Join(Join { parts: parts.collect(), keep: *keep, within: *within, until: None })
            }
            Tree::Any(parts) if !tree.is_of_one_event() => {
                Self::Any(parts.iter().map(|part| Self::new(part, now, timers)).collect())
            }
            _ => Self::Test(tree.clone()),
        }
    }

    /// Whether any pattern of the tree fits an event, so that something may be delivered because of it.
    pub(crate) fn may_take(&self, header: &Header, body: &E) -> bool {
        match self {
            Self::Test(tree) => tree.fits(header, body),
            Self::Any(parts) => parts.iter().any(|part| part.may_take(header, body)),
            Self::Join(join) => join.parts.iter().any(|part| part.node.may_take(header, body)),
            Self::Every { .. } | Self::After { .. } => false,
            Self::Silence { of, .. } => of.may_take(header, body),
        }
    }

    /// Shows it an event. What it delivers is added to `out`.
    pub(crate) fn offer(&mut self, offer: &Offer<'_, E>, out: &mut Vec<Part<E>>) -> Outcome {
        match self {
            Self::Test(tree) => {
                if !tree.fits(offer.header, offer.body) {
                    return Outcome::Refused;
                }
                out.push(offer.part());
                Outcome::Delivered
            }
            Self::Any(parts) => {
                let mut outcome = Outcome::Refused;
                for part in parts {
                    match part.offer(offer, out) {
                        Outcome::Delivered => return Outcome::Delivered,
                        Outcome::Kept => outcome = Outcome::Kept,
                        Outcome::Refused => {}
                    }
                }
                outcome
            }
            Self::Join(join) => join.offer(offer, out),
            Self::Every { .. } | Self::After { .. } => Outcome::Refused,
            Self::Silence { of, after, at, .. } => {
                let outcome = of.offer(offer, out);
                if outcome != Outcome::Refused {
                    *at = Some(offer.now.saturating_add(*after));
                }
                outcome
            }
        }
    }

    /// When the first of its timers is due.
    pub(crate) fn due(&self) -> Option<u64> {
        match self {
            Self::Test(_) => None,
            Self::Any(parts) => parts.iter().filter_map(Self::due).min(),
            Self::Join(join) => join.due(),
            Self::Every { at, .. } => Some(*at),
            Self::After { at, .. } => *at,
            Self::Silence { of, at, .. } => at.iter().copied().chain(of.due()).min(),
        }
    }

    /// Lets the first of its timers that is due at `at` act, when it is `now`. What it delivers is added to `out`; a join that gives up adds
    /// one to `expired`.
    pub(crate) fn fire(&mut self, at: u64, now: u64, out: &mut Vec<Part<E>>, expired: &mut u64) -> Outcome {
        match self {
            Self::Test(_) => Outcome::Refused,
            Self::Any(parts) => match parts.iter_mut().find(|part| part.due() == Some(at)) {
                Some(part) => part.fire(at, now, out, expired),
                None => Outcome::Refused,
            },
            Self::Join(join) => join.fire(at, now, out, expired),
            Self::Every { timer, period, priority, at: next } => {
                out.push(Part::Timeout { timer: *timer, at, priority: *priority });
                let missed = now.saturating_sub(at) / (*period).max(1);
                *next = at.saturating_add((missed + 1).saturating_mul(*period));
                Outcome::Delivered
            }
            Self::After { timer, priority, at: once } => {
                out.push(Part::Timeout { timer: *timer, at, priority: *priority });
                *once = None;
                Outcome::Delivered
            }
            Self::Silence { of, timer, after, priority, at: own } => {
                if *own == Some(at) {
                    *own = None;
                    out.push(Part::Timeout { timer: *timer, at, priority: *priority });
                    return Outcome::Delivered;
                }
                let outcome = of.fire(at, now, out, expired);
                if outcome != Outcome::Refused {
                    *own = Some(at.saturating_add(*after));
                }
                outcome
            }
        }
    }

    /// Adds all that its joins keep.
    pub(crate) fn give_up(self, out: &mut Vec<Part<E>>) {
        match self {
            Self::Any(parts) => parts.into_iter().for_each(|part| part.give_up(out)),
            Self::Join(join) => {
                for part in join.parts {
                    out.extend(part.kept);
                    part.node.give_up(out);
                }
            }
            Self::Silence { of, .. } => of.give_up(out),
            Self::Test(_) | Self::Every { .. } | Self::After { .. } => {}
        }
    }
}

impl<E: Clone + Fields> Join<E> {
    fn offer(&mut self, offer: &Offer<'_, E>, out: &mut Vec<Part<E>>) -> Outcome {
        let mark = out.len();
        for wants_empty in [true, false] {
            for index in 0..self.parts.len() {
                let Some(part) = self.parts.get_mut(index) else { continue };
                if part.kept.is_empty() != wants_empty {
                    continue;
                }
                match part.node.offer(offer, out) {
                    Outcome::Refused => {}
                    Outcome::Kept => return Outcome::Kept,
                    Outcome::Delivered => return self.keep(index, mark, offer.now, out),
                }
            }
        }
        Outcome::Refused
    }

    /// Keeps what a part has added to the output behind `mark`; delivers all if it was the last that was missing.
    fn keep(&mut self, index: usize, mark: usize, now: u64, out: &mut Vec<Part<E>>) -> Outcome {
        let most = self.most();
        let Some(part) = self.parts.get_mut(index) else { return Outcome::Refused };
        if self.keep == Keep::Last {
            part.kept.clear();
            part.times = 0;
        }
        if part.times >= most {
            out.truncate(mark);
            return Outcome::Kept;
        }
        part.times += 1;
        part.kept.extend(out.drain(mark..));
        if self.until.is_none() {
            self.until = self.within.map(|within| now.saturating_add(within));
        }
        if self.parts.iter().any(|part| part.kept.is_empty()) {
            return Outcome::Kept;
        }
        for part in &mut self.parts {
            out.append(&mut part.kept);
            part.times = 0;
        }
        self.until = None;
        Outcome::Delivered
    }

    /// Its parts at work.
    pub(crate) fn nodes(&mut self) -> impl Iterator<Item = &mut Node<E>> {
        self.parts.iter_mut().map(|part| &mut part.node)
    }

    /// Takes out what it keeps itself.
    pub(crate) fn take_kept(&mut self) -> KeptByJoin<E> {
        let take = |part: &mut Waiting<E>| KeptByPart {
            kept: core::mem::take(&mut part.kept),
            times: core::mem::take(&mut part.times),
        };
        KeptByJoin { parts: self.parts.iter_mut().map(take).collect(), until: self.until.take() }
    }

    /// Whether it could keep this: it has as many parts, one at least has nothing, and none has more than is allowed.
    pub(crate) fn could_keep(&self, kept: &KeptByJoin<E>) -> bool {
        let most = self.most();
        kept.parts.len() == self.parts.len()
            && kept.parts.iter().any(|part| part.kept.is_empty())
            && kept.parts.iter().all(|part| part.times <= most && part.kept.is_empty() == (part.times == 0))
    }

    /// Keeps this itself instead of what it has.
    pub(crate) fn put_kept(&mut self, kept: KeptByJoin<E>) {
        self.until = kept.until;
        for (part, kept) in self.parts.iter_mut().zip(kept.parts) {
            (part.kept, part.times) = (kept.kept, kept.times);
        }
    }

    /// How many times a part keeps something at most.
    const fn most(&self) -> u16 {
        match self.keep {
            Keep::First | Keep::Last => 1,
            Keep::All(most) => most,
        }
    }

    fn due(&self) -> Option<u64> {
        self.until.into_iter().chain(self.parts.iter().filter_map(|part| part.node.due())).min()
    }

    fn fire(&mut self, at: u64, now: u64, out: &mut Vec<Part<E>>, expired: &mut u64) -> Outcome {
        if self.until == Some(at) {
            self.until = None;
            for part in &mut self.parts {
                part.kept.clear();
                part.times = 0;
            }
            *expired = expired.saturating_add(1);
            return Outcome::Refused;
        }
        let mark = out.len();
        let Some(index) = self.parts.iter().position(|part| part.node.due() == Some(at)) else {
            return Outcome::Refused;
        };
        let Some(part) = self.parts.get_mut(index) else { return Outcome::Refused };
        match part.node.fire(at, now, out, expired) {
            Outcome::Delivered => self.keep(index, mark, at, out),
            outcome => outcome,
        }
    }
}
