//! Sites: what of a switch can be away, and how far it is.
use core::time::Duration;

use crate::action::Room;

/// Something that can be away: the tables of a switch, or its gates. By the index of the switch.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Site {
    Switch(usize),
    Gates(usize),
}

impl Site {
    /// The index of its switch.
    pub(crate) const fn switch(self) -> usize {
        let (Self::Switch(switch) | Self::Gates(switch)) = self;
        switch
    }
}

/// A place that has no room of this kind.
pub(crate) type Scarce = (Site, Room);

/// How far a site is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Phase {
    /// Not connected, since then if it ever was.
    Away(Option<Duration>),
    /// Connected; it is being put right.
    Preparing,
    /// It has what it is to have.
    Ready,
}
