//! Subscriptions: trees of patterns, joins and timers.
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

use filter::{Fields, Program};

use crate::event::Header;

/// A subscription. An event leads to one delivery of a subscription at most.
#[derive(Clone, PartialEq, Debug)]
pub enum Tree {
    /// Any event.
    Everything,
    /// Events of this type and source; `None` is any.
    Header {
        /// The type.
        kind: Option<u32>,
        /// The source.
        source: Option<u32>,
    },
    /// Events whose type and source each have a bit in common with the mask; a mask of 0 asks for nothing.
    Bits {
        /// For the type.
        kind: u32,
        /// For the source.
        source: u32,
    },
    /// Events whose type and source are these where the masks have bits.
    Masked {
        /// Mask and value of the type.
        kind: (u32, u32),
        /// Mask and value of the source.
        source: (u32, u32),
    },
    /// Events whose fields pass.
    Content(Program),
    /// Events that do not fit: without joins and timers inside.
    Not(Box<Tree>),
    /// Events that fit all of these: without joins and timers inside.
    All(Vec<Tree>),
    /// The deliveries of any of these. An event is shown to one after the other until one delivers because of it.
    Any(Vec<Tree>),
    /// One delivery of all of these, once each has something. An event counts for the first part that it fits and that has nothing yet; if
    /// there is none, for the first that it fits.
    Join {
        /// The subscriptions that are joined.
        parts: Vec<Tree>,
        /// The events that a part keeps if it gets more than one.
        keep: Keep,
        /// How long the first one is kept, in nanoseconds; then all that was kept is given up.
        within: Option<u64>,
    },
    /// A timeout each so many nanoseconds, the first one that long after subscribing. Periods that passed unseen are not made up for.
    Every {
        /// The period, in nanoseconds.
        period: u64,
        /// The priority of the timeout.
        priority: u8,
    },
    /// One timeout, that many nanoseconds after subscribing.
    After {
        /// The delay, in nanoseconds.
        delay: u64,
        /// The priority of the timeout.
        priority: u8,
    },
    /// The deliveries of `of`, and a timeout when it has taken nothing for so many nanoseconds; no second one until it takes something again.
    Silence {
        /// The subscription that is watched.
        of: Box<Tree>,
        /// How long it may take nothing, in nanoseconds.
        after: u64,
        /// The priority of the timeout.
        priority: u8,
    },
}

/// The events that a part of a join keeps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Keep {
    /// The first event.
    First,
    /// The last event.
    Last,
    /// All, up to so many; what comes then is not kept.
    All(u16),
}

/// Limits of the trees of a channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// How deep they are; at most 64 in any case.
    pub depth: usize,
    /// How many parts of a tree there are, of any kind.
    pub nodes: usize,
    /// How many events and timeouts one delivery may have.
    pub width: usize,
    /// How many events and timeouts all joins of a tree may keep together.
    pub kept: usize,
}

impl Default for Limits {
    /// 16 deep, 1,000 nodes, 256 parts of a delivery, 1,024 kept.
    fn default() -> Self {
        Self { depth: 16, nodes: 1_000, width: 256, kept: 1_024 }
    }
}

/// Trees are read by recursion, so there is an end to their depth.
const DEEPEST: usize = 64;

/// Why a tree is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TreeError {
    /// It is deeper than the limit.
    TooDeep(usize),
    /// It has more nodes than the limit.
    TooLarge(usize),
    /// A delivery could have more parts than the limit.
    TooWide(usize),
    /// Its joins could keep more than the limit.
    KeepsTooMuch(usize),
    /// There is a join or a timer inside `Not` or `All`, which look at one event.
    NotOfOneEvent,
    /// `All`, `Any` or `Join` of nothing, or `Keep::All(0)`.
    Empty,
    /// A time of zero.
    ZeroTime,
}

impl fmt::Display for TreeError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooDeep(limit) => write!(out, "the subscription is more than {limit} deep"),
            Self::TooLarge(limit) => write!(out, "the subscription has more than {limit} parts"),
            Self::TooWide(limit) => write!(out, "a delivery could have more than {limit} events"),
            Self::KeepsTooMuch(limit) => write!(out, "its joins could keep more than {limit} events"),
            Self::NotOfOneEvent => out.write_str("a join or a timer is inside NOT or AND"),
            Self::Empty => out.write_str("a part of the subscription is empty"),
            Self::ZeroTime => out.write_str("a timer of no time"),
        }
    }
}

impl core::error::Error for TreeError {}

impl Tree {
    /// Whether it looks at one event only, so that it needs no memory.
    pub(crate) fn is_of_one_event(&self) -> bool {
        match self {
            Self::Join { .. } | Self::Every { .. } | Self::After { .. } | Self::Silence { .. } => false,
            Self::Any(parts) | Self::All(parts) => parts.iter().all(Self::is_of_one_event),
            Self::Not(part) => part.is_of_one_event(),
            _ => true,
        }
    }

    /// Whether an event fits a tree that looks at one event only.
    #[inline]
    pub(crate) fn fits<E: Fields>(&self, header: &Header, body: &E) -> bool {
        match self {
            // The most frequent one.
            Self::Header { kind, source } => header.is_of(*kind, *source),
            other => other.fits_otherwise(header, body),
        }
    }

    fn fits_otherwise<E: Fields>(&self, header: &Header, body: &E) -> bool {
        match self {
            Self::Everything => true,
            Self::Header { .. } => self.fits(header, body),
            Self::Bits { kind, source } => {
                (*kind == 0 || header.kind & kind != 0) && (*source == 0 || header.source & source != 0)
            }
            Self::Masked { kind, source } => {
                header.kind & kind.0 == kind.1 && header.source & source.0 == source.1
            }
            Self::Content(program) => program.passes(body),
            Self::Not(part) => !part.fits(header, body),
            Self::All(parts) => parts.iter().all(|part| part.fits(header, body)),
            Self::Any(parts) => parts.iter().any(|part| part.fits(header, body)),
            Self::Join { .. } | Self::Every { .. } | Self::After { .. } | Self::Silence { .. } => false,
        }
    }

    /// Checks it.
    pub(crate) fn check(&self, limits: &Limits) -> Result<(), TreeError> {
        let mut nodes = 0;
        let size = self.check_below(limits, limits.depth.min(DEEPEST), &mut nodes)?;
        if size.kept > limits.kept { Err(TreeError::KeepsTooMuch(limits.kept)) } else { Ok(()) }
    }

    fn check_below(&self, limits: &Limits, depth: usize, nodes: &mut usize) -> Result<Size, TreeError> {
        *nodes += 1;
        if depth == 0 {
            return Err(TreeError::TooDeep(limits.depth.min(DEEPEST)));
        }
        if *nodes > limits.nodes {
            return Err(TreeError::TooLarge(limits.nodes));
        }
        let size = match self {
            Self::Not(part) => {
                part.check_below(limits, depth - 1, nodes)?;
                if !part.is_of_one_event() {
                    return Err(TreeError::NotOfOneEvent);
                }
                Size { width: 1, kept: 0 }
            }
            Self::All(parts) | Self::Any(parts) | Self::Join { parts, .. } => {
                if parts.is_empty() {
                    return Err(TreeError::Empty);
                }
                let (mut widest, mut sum, mut kept) = (0_usize, 0_usize, 0_usize);
                for part in parts {
                    let size = part.check_below(limits, depth - 1, nodes)?;
                    widest = widest.max(size.width);
                    sum = sum.saturating_add(size.width);
                    kept = kept.saturating_add(size.kept);
                }
                let joined = match self {
                    Self::All(_) if !self.is_of_one_event() => return Err(TreeError::NotOfOneEvent),
                    Self::Join { keep: Keep::All(0), .. } => return Err(TreeError::Empty),
                    Self::Join { within: Some(0), .. } => return Err(TreeError::ZeroTime),
                    Self::Join { keep: Keep::All(most), .. } => Some(sum.saturating_mul(usize::from(*most))),
                    Self::Join { .. } => Some(sum),
                    _ => None,
                };
                match joined {
                    Some(width) => Size { width, kept: kept.saturating_add(width) },
                    None => Size { width: widest, kept },
                }
            }
            Self::Every { period: 0, .. } | Self::After { delay: 0, .. } | Self::Silence { after: 0, .. } => {
                return Err(TreeError::ZeroTime);
            }
            Self::Silence { of, .. } => of.check_below(limits, depth - 1, nodes)?,
            _ => Size { width: 1, kept: 0 },
        };
        if size.width > limits.width { Err(TreeError::TooWide(limits.width)) } else { Ok(size) }
    }
}

/// How much a tree may come to.
struct Size {
    /// Parts of one delivery.
    width: usize,
    /// Parts that its joins keep.
    kept: usize,
}
