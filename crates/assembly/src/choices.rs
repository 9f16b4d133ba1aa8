//! Enumerations whose values have names in files.

/// An enumeration whose values have names in files.
macro_rules! choice {
    ($(#[$about:meta])* $name:ident { $($(#[$of_value:meta])* $value:ident = $text:literal,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        pub enum $name { $($(#[$of_value])* $value,)* }

        impl $name {
            /// Names of all values, as files have them.
            pub const NAMES: &'static [&'static str] = &[$($text,)*];

            /// The value of that name.
            pub fn named(name: &str) -> Option<Self> {
                match name {
                    $($text => Some(Self::$value),)*
                    _ => None,
                }
            }

            /// Its name in files.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$value => $text,)*
                }
            }
        }

        impl core::fmt::Display for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}
pub(crate) use choice;

choice! {
    /// How code gets into a process.
    #[derive(Default)]
    ArtefactKind {
        /// It is the program of the process.
        #[default]
        Executable = "executable",
        /// The process loads it.
        Library = "library",
        /// It is the program of the process, and no component server: its topics are all that is known.
        Foreign = "foreign",
    }
}

choice! {
    /// How the system schedules threads.
    SchedulingClass {
        /// By fair shares.
        Normal = "normal",
        /// First-in first-out by priority.
        Fifo = "fifo",
        /// By priority, in turns.
        RoundRobin = "round-robin",
        /// By earliest deadline, with a budget.
        Deadline = "deadline",
    }
}

choice! {
    /// What the threads of a lane serve.
    #[derive(Default)]
    LaneDispatch {
        /// All of its ports, in the order in which deliveries came.
        #[default]
        Lane = "lane",
        /// One port each: each has a thread of its own.
        Own = "own",
        /// All of its ports, of which the one with the earliest deadline is the next.
        EarliestDeadline = "earliest-deadline",
    }
}

choice! {
    /// Of which kind a service is.
    #[derive(Default)]
    ServiceKind {
        /// No channel: the thread that pushes calls the handlers.
        Direct = "direct",
        /// A channel in the process.
        #[default]
        Channel = "channel",
        /// A DDS topic.
        Dds = "dds",
        /// A channel with gateways to others.
        Federated = "federated",
    }
}

choice! {
    /// What joins two gateways.
    #[derive(Default)]
    Transport {
        /// Datagrams.
        #[default]
        Udp = "udp",
        /// A connection of TCP.
        Tcp = "tcp",
    }
}

choice! {
    /// The scope of a service.
    #[derive(Default)]
    Placement {
        /// A component: the channel has ports of its own.
        Component = "component",
        /// A container.
        Container = "container",
        /// A process: all of its containers share it.
        #[default]
        Server = "server",
    }
}

choice! {
    /// The delivery that gives way when a queue is full.
    FullPolicy {
        /// The publisher waits.
        Block = "block",
        /// The publisher is refused.
        Reject = "reject",
        /// The delivery that waits longest.
        DropOldest = "drop-oldest",
        /// The new delivery.
        DropNewest = "drop-newest",
        /// The delivery of the lowest priority.
        DropLowestPriority = "drop-lowest-priority",
        /// The delivery whose deadline is the latest.
        DropLatestDeadline = "drop-latest-deadline",
        /// The oldest delivery of the same type and source.
        Coalesce = "coalesce",
    }
}

choice! {
    /// How the events of several connections call a handler.
    #[derive(Default)]
    JoinKind {
        /// Once each has something.
        #[default]
        Conjunction = "conjunction",
        /// As each has something.
        Disjunction = "disjunction",
    }
}

choice! {
    /// The events that a part of a conjunction keeps if it gets more than one.
    #[derive(Default)]
    KeepPolicy {
        /// The first one.
        #[default]
        First = "first",
        /// The last one.
        Last = "last",
        /// All, up to a number.
        All = "all",
    }
}

choice! {
    /// When a handler reads its inputs, and when what it publishes goes out.
    #[derive(Default)]
    Timing {
        /// As it runs.
        #[default]
        Immediate = "immediate",
        /// Logical execution time: inputs are those of the instant of the timer, outputs go out an interval later.
        Let = "let",
    }
}

choice! {
    /// How components or services have to be together or apart.
    LocalityKind {
        /// In one process.
        SameProcess = "same-process",
        /// In processes of their own.
        DifferentProcess = "different-process",
        /// On one host.
        SameHost = "same-host",
        /// On hosts of their own.
        DifferentHost = "different-host",
        /// On the same cores.
        SameCore = "same-core",
        /// On cores that no two share.
        DifferentCore = "different-core",
    }
}

choice! {
    /// When something is started again.
    RestartPolicy {
        /// Not at all.
        Never = "never",
        /// When it has failed.
        OnFailure = "on-failure",
        /// Whenever it ends.
        Always = "always",
    }
}
