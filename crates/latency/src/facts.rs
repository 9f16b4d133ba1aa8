//! Words for what is known of a frame on its way along several ports, of which the module `tandem` puts a bound from end to end together.

/// A flow, or several that are counted together.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Who {
    /// The flow whose frame it is.
    Own,
    /// Others of its level, from the first to the last of the hops that they have in common with it; together they come to the first of
    /// these by a link, or from memory.
    Crossing {
        /// The first of the hops.
        first: u8,
        /// The last one.
        last: u8,
        /// The link by which they come to the first one.
        link: Option<u32>,
    },
    /// What is in the queue of a hop without being admitted.
    Beside {
        /// The hop.
        hop: u8,
    },
}

/// An instant. Hops are numbered along the way; the clock of each is set so that what takes the longest time from the end of transmission
/// to the next queue takes none.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Date {
    /// When the frame comes to the queue of the hop; with the number of hops, when it has been sent by the last one.
    Passes(u8),
    /// When the queue began to be in use that the first bit waits in which has not left the hop at another instant: if `of` is the hop,
    /// when the frame has been sent there; else [`Date::Starts`] of the next hop.
    Starts {
        /// The hop with which it begins.
        of: u8,
        /// The hop.
        hop: u8,
    },
    /// When that bit, or the next one, came to the hop: all that came before has left at [`Date::Starts`] of the next hop.
    Comes {
        /// The hop with which it begins.
        of: u8,
        /// The hop, which is before that.
        hop: u8,
    },
}

/// A number that is not known.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Column {
    /// An instant: picoseconds after the frame came to the first queue.
    Date(Date),
    /// What came of a flow to the hop of an instant from then on and before the end of the frame, in bits times picoseconds per second.
    Bits(Who, Date),
}

/// Something that holds whatever happens.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Fact {
    /// From [`Date::Starts`] on the hop serves the level at the rate that is left, but for what is in the way.
    Serves {
        /// The hop with which it begins.
        of: u8,
        /// The hop.
        hop: u8,
    },
    /// The frame takes no longer at the hop than a frame may.
    Delays {
        /// The hop.
        hop: u8,
    },
    /// Nor do those that came from [`Date::Comes`] on and left at [`Date::Starts`] of the next hop.
    DelaysOf {
        /// The hop with which it begins.
        of: u8,
        /// The hop.
        hop: u8,
    },
    /// One instant is not after another one.
    Before {
        /// The one.
        earlier: Date,
        /// The other one.
        later: Date,
    },
    /// No more comes of a flow between two instants than it offers.
    Offers {
        /// Which flow.
        who: Who,
        /// The earlier one.
        from: Date,
        /// The later one.
        to: Date,
    },
    /// No more comes by a link than it brings.
    Brings {
        /// The link.
        link: u32,
        /// The earlier one.
        from: Date,
        /// The later one.
        to: Date,
    },
    /// What came from an instant on is no less than what came from a later one on.
    Grows {
        /// Of which flow.
        who: Who,
        /// The earlier one.
        from: Date,
        /// The later one.
        to: Date,
    },
    /// What comes to the next hop from [`Date::Starts`] on is what came to this one from [`Date::Comes`] on, and what may overtake the frame between.
    Carries {
        /// Of which flow.
        who: Who,
        /// The hop with which it begins.
        of: u8,
        /// The hop.
        hop: u8,
    },
    /// The same of all flows but the frame's own together.
    CarriesAll {
        /// The hop with which it begins.
        of: u8,
        /// The hop.
        hop: u8,
    },
}

impl Date {
    /// The hop by whose clock it is.
    pub const fn hop(self) -> u8 {
        match self {
            Self::Passes(hop) | Self::Starts { hop, .. } | Self::Comes { hop, .. } => hop,
        }
    }
}

/// Multipliers are so many parts of one.
pub const PARTS: u128 = 1 << 72;
