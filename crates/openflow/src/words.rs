//! The small words of OpenFlow: numbers with reserved values, enumerations, flags. OpenFlow 1.3.5, sections 7.1 and 7.2.

/// A number with names for its reserved values.
macro_rules! number {
    ($(#[$about:meta])* $name:ident($repr:ty) { $($(#[$doc:meta])* $constant:ident = $value:expr;)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
        pub struct $name(pub $repr);
        impl $name {
            $($(#[$doc])* pub const $constant: Self = Self($value);)*
        }
    };
}

/// A word of bits; bits without a name are kept.
macro_rules! flags {
    ($(#[$about:meta])* $name:ident($repr:ty) { $($(#[$doc:meta])* $constant:ident = $value:expr;)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
        pub struct $name(pub $repr);
        impl $name {
            /// No bit.
            pub const NONE: Self = Self(0);
            $($(#[$doc])* pub const $constant: Self = Self($value);)*
            /// True if all bits of `other` are set.
            pub const fn contains(self, other: Self) -> bool {
                self.0 & other.0 == other.0
            }
        }
        impl core::ops::BitOr for $name {
            type Output = Self;
            fn bitor(self, other: Self) -> Self {
                Self(self.0 | other.0)
            }
        }
    };
}

/// One of a closed list of values; others are refused.
macro_rules! choice {
    ($(#[$about:meta])* $name:ident($repr:ty) { $($(#[$doc:meta])* $variant:ident = $value:expr,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr($repr)]
        pub enum $name {
            $($(#[$doc])* $variant = $value,)*
        }
        impl $name {
            /// All values.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];
            /// The value of this number.
            pub const fn from_number(number: $repr) -> Option<Self> {
                match number {
                    $($value => Some(Self::$variant),)*
                    _ => None,
                }
            }
            /// The number on the wire.
            pub const fn number(self) -> $repr {
                self as $repr
            }
        }
    };
}

pub(crate) use {choice, flags, number};

number! {
    /// A port of a switch, or a place that stands for ports (7.2.1).
    PortNo(u32) {
        /// The highest number of a real port.
        MAX = 0xffff_ff00;
        /// The port that the packet came in by.
        IN_PORT = 0xffff_fff8;
        /// The tables, for packets that the controller sends.
        TABLE = 0xffff_fff9;
        /// What a switch without OpenFlow would do.
        NORMAL = 0xffff_fffa;
        /// All ports of the VLAN but the one it came in by and those that are blocked.
        FLOOD = 0xffff_fffb;
        /// All ports but the one it came in by.
        ALL = 0xffff_fffc;
        /// The controller.
        CONTROLLER = 0xffff_fffd;
        /// The switch itself.
        LOCAL = 0xffff_fffe;
        /// No port in particular: any, in requests and deletions.
        ANY = 0xffff_ffff;
    }
}

number! {
    /// A group (7.3.4.2).
    GroupId(u32) {
        /// The highest number of a group.
        MAX = 0xffff_ff00;
        /// All groups, in deletions and requests.
        ALL = 0xffff_fffc;
        /// No group in particular.
        ANY = 0xffff_ffff;
    }
}

number! {
    /// A meter (7.3.4.4). Numbers begin at 1.
    MeterId(u32) {
        /// The highest number of a meter.
        MAX = 0xffff_0000;
        /// The meter of the slow path.
        SLOWPATH = 0xffff_fffd;
        /// The meter of what goes to the controller.
        CONTROLLER = 0xffff_fffe;
        /// All meters, in deletions and requests.
        ALL = 0xffff_ffff;
    }
}

number! {
    /// A flow table. Packets begin at table 0.
    TableId(u8) {
        /// The highest number of a table.
        MAX = 0xfe;
        /// All tables, in deletions and requests.
        ALL = 0xff;
    }
}

number! {
    /// A queue of a port.
    QueueId(u32) {
        /// All queues, in requests.
        ALL = 0xffff_ffff;
    }
}

number! {
    /// A packet that the switch holds for the controller.
    BufferId(u32) {
        /// Not held: the message carries the whole packet.
        NONE = 0xffff_ffff;
    }
}

number! {
    /// The transaction that a message belongs to: a reply has that of its request.
    Xid(u32) {}
}

/// How long something has been there, as switches count it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Age {
    /// Whole seconds.
    pub seconds: u32,
    /// Nanoseconds beyond the seconds.
    pub nanoseconds: u32,
}

/// An Ethernet address.
pub type MacAddress = [u8; 6];
