//! The stamps of the events that the handlers of this thread work on.
use std::cell::RefCell;

use super::score::Stamp;

thread_local! {
    static FRAMES: RefCell<Frames> = const { RefCell::new(Frames { all: Vec::new(), depth: 0 }) };
}

/// Those of handlers that are under way, the innermost last. Their memory is used again.
struct Frames {
    all: Vec<Frame>,
    depth: usize,
}

#[derive(Default)]
pub(super) struct Frame {
    stamps: Vec<Stamp>,
    /// They are on their way, from another process or from a push, and no handler works on them yet.
    have_arrived: bool,
}

impl Frame {
    /// The stamps of an event that is pushed now.
    fn pushed(&self, now: i64) -> impl Iterator<Item = Stamp> {
        self.stamps.iter().filter(|stamp| !stamp.ends_here).map(move |stamp| {
            let mut stamp = *stamp;
            if !self.have_arrived {
                stamp.pushed(now);
            }
            stamp
        })
    }
}

/// A frame that ends with this guard.
pub(crate) struct Held(());

impl Drop for Held {
    fn drop(&mut self) {
        FRAMES.with_borrow_mut(|frames| frames.depth = frames.depth.saturating_sub(1));
    }
}

/// Begins a frame. What is chosen of the stamps that have come, or else of those of an event that the frame around it pushes now, and what is
/// begun, are in it.
pub(super) fn enter(
    now: i64,
    came: Option<&[Stamp]>,
    mut choose: impl FnMut(Came<'_>, &mut Vec<Stamp>),
) -> Held {
    FRAMES.with_borrow_mut(|frames| {
        if frames.all.len() == frames.depth {
            frames.all.push(Frame::default());
        }
        if let Some((frame, outer)) = frames.all.get_mut(..=frames.depth).and_then(<[Frame]>::split_last_mut)
        {
            frame.stamps.clear();
            frame.have_arrived = false;
            let came = match came {
                Some(stamps) => Came::Stamps(stamps),
                None => Came::Outer(outer.last(), now),
            };
            choose(came, &mut frame.stamps);
        }
        frames.depth += 1;
    });
    Held(())
}

/// Begins a frame of stamps that have come from another process.
pub(super) fn arrive(fill: impl FnOnce(&mut Vec<Stamp>)) -> Held {
    let mut fill = Some(fill);
    let held = enter(0, Some(&[]), |_, stamps| {
        if let Some(fill) = fill.take() {
            fill(stamps);
        }
    });
    keep_as_they_are();
    held
}

/// Begins a frame for an event that is pushed now, with one more stamp than those of the handler that pushes.
pub(super) fn push_with(now: i64, stamp: Stamp) -> Held {
    let held = enter(now, None, |came, stamps| {
        if let Came::Outer(frame, now) = came {
            stamps.extend(frame.into_iter().flat_map(|frame| frame.pushed(now)));
        }
        stamps.push(stamp);
    });
    keep_as_they_are();
    held
}

/// No handler works on the stamps of the innermost frame: they are on their way already.
fn keep_as_they_are() {
    FRAMES.with_borrow_mut(|frames| {
        let top = frames.depth.checked_sub(1).and_then(|top| frames.all.get_mut(top));
        if let Some(frame) = top {
            frame.have_arrived = true;
        }
    });
}

/// The stamps that an event has when its handler begins.
pub(super) enum Came<'a> {
    /// It was queued with these.
    Stamps(&'a [Stamp]),
    /// It is pushed now by the handler around, if there is one.
    Outer(Option<&'a Frame>, i64),
}

impl Came<'_> {
    /// The stamp of a chain, on its way to this port of it.
    pub(super) fn of(&self, chain: u64, hop: u8) -> Option<Stamp> {
        let fits = |stamp: &Stamp| stamp.chain == chain && stamp.hop == hop;
        match self {
            // A join may keep several of its part.
            Self::Stamps(stamps) => stamps.iter().copied().filter(fits).reduce(Stamp::with),
            Self::Outer(frame, now) => frame.and_then(|frame| frame.pushed(*now).find(fits)),
        }
    }
}

/// Adds the stamps of an event that is pushed now.
pub(super) fn pushed(now: i64, out: &mut Vec<Stamp>) {
    FRAMES.with_borrow(|frames| {
        let top = frames.depth.checked_sub(1).and_then(|top| frames.all.get(top));
        out.extend(top.into_iter().flat_map(|frame| frame.pushed(now)));
    });
}

/// The stamps of the innermost frame, for what is pushed later.
pub(crate) fn captured() -> Vec<Stamp> {
    FRAMES.with_borrow(|frames| {
        let top = frames.depth.checked_sub(1).and_then(|top| frames.all.get(top));
        let stamps = top.into_iter().flat_map(|frame| &frame.stamps);
        stamps.filter(|stamp| !stamp.ends_here).copied().collect()
    })
}

/// Begins a frame of stamps that were captured: what is pushed until the guard is dropped has these.
pub(crate) fn again(stamps: &[Stamp]) -> Held {
    enter(0, Some(stamps), |came, out| {
        if let Came::Stamps(stamps) = came {
            out.extend_from_slice(stamps);
        }
    })
}

/// Does something with the stamps of the innermost frame.
pub(super) fn each(mut act: impl FnMut(Stamp)) {
    // The frame stays where it is: what is done may begin others.
    let mut index = 0;
    while let Some(stamp) = FRAMES.with_borrow(|frames| {
        let top = frames.depth.checked_sub(1).and_then(|top| frames.all.get(top));
        top.and_then(|frame| frame.stamps.get(index)).copied()
    }) {
        act(stamp);
        index += 1;
    }
}
