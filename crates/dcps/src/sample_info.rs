//! What comes with a sample, and the states that reads select by (DDS 1.4, 2.2.2.5.1 and 2.2.2.5.5).
use core::ops::BitOr;

use wire::{Guid, SequenceNumber, Timestamp};

use crate::InstanceHandle;

/// Whether a sample was read before.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SampleState {
    /// By an earlier read.
    Read,
    /// Not yet.
    NotRead,
}

/// Whether the instance was seen before.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ViewState {
    /// It is new, or alive again, since it was last read or taken from.
    New,
    /// It was seen.
    NotNew,
}

/// Whether an instance exists.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum InstanceState {
    /// Some writer writes it.
    Alive,
    /// A writer has disposed it.
    NotAliveDisposed,
    /// No writer is left that has registered it.
    NotAliveNoWriters,
}

macro_rules! states {
    ($(#[$doc:meta])* $set:ident of $state:ident { $($(#[$entry:meta])* $name:ident = $variant:ident),* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub struct $set(u8);

        impl $set {
            $($(#[$entry])* pub const $name: Self = Self(1 << $state::$variant as u8);)*
            /// All of them.
            pub const ANY: Self = Self(u8::MAX);

            /// True if the state is one of them.
            pub const fn contains(self, state: $state) -> bool {
                self.0 & 1 << state as u8 != 0
            }
        }

        impl BitOr for $set {
            type Output = Self;

            fn bitor(self, other: Self) -> Self {
                Self(self.0 | other.0)
            }
        }
    };
}

states! {
    /// A set of sample states.
    SampleStates of SampleState {
        /// Read before.
        READ = Read,
        /// Not read yet.
        NOT_READ = NotRead
    }
}

states! {
    /// A set of view states.
    ViewStates of ViewState {
        /// New.
        NEW = New,
        /// Seen before.
        NOT_NEW = NotNew
    }
}

states! {
    /// A set of instance states.
    InstanceStates of InstanceState {
        /// Alive.
        ALIVE = Alive,
        /// Disposed.
        NOT_ALIVE_DISPOSED = NotAliveDisposed,
        /// Without writers.
        NOT_ALIVE_NO_WRITERS = NotAliveNoWriters
    }
}

impl InstanceStates {
    /// Disposed or without writers.
    pub const NOT_ALIVE: Self = Self(Self::NOT_ALIVE_DISPOSED.0 | Self::NOT_ALIVE_NO_WRITERS.0);
}

/// What a read, a take or a read condition asks for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct States {
    /// Of the sample.
    pub sample: SampleStates,
    /// Of its instance, to this reader.
    pub view: ViewStates,
    /// Of its instance.
    pub instance: InstanceStates,
}

impl States {
    /// Everything.
    pub const ANY: Self =
        Self { sample: SampleStates::ANY, view: ViewStates::ANY, instance: InstanceStates::ANY };
    /// What was not read yet.
    pub const NOT_READ: Self = Self { sample: SampleStates::NOT_READ, ..Self::ANY };
}

/// What is known about a sample beside its data (DDS 1.4, 2.2.2.5.5).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SampleInfo {
    /// Whether it was read before.
    pub sample_state: SampleState,
    /// Of its instance, before this call.
    pub view_state: ViewState,
    /// Of its instance, at the time of this call.
    pub instance_state: InstanceState,
    /// How often the instance had come alive again after being disposed, when the sample came.
    pub disposed_generation_count: u32,
    /// How often it had come alive again after being without writers, when the sample came.
    pub no_writers_generation_count: u32,
    /// Samples of the same instance that follow in the same collection.
    pub sample_rank: u32,
    /// Generations between this sample and the newest of its instance in the collection.
    pub generation_rank: u32,
    /// Generations between this sample and the instance now.
    pub absolute_generation_rank: u32,
    /// When it was written; the time of reception if the writer did not say.
    pub source_timestamp: Timestamp,
    /// When it came.
    pub reception_timestamp: Timestamp,
    /// Its instance.
    pub instance_handle: InstanceHandle,
    /// Its writer.
    pub publication_handle: InstanceHandle,
    /// Its number among the changes of its writer; zero if no change tells of the end of the instance, but that
    /// its last writer is gone.
    pub sequence_number: SequenceNumber,
    /// The sample that it answers: writer and number, if its writer named one (DDS-RPC 1.0, 7.8.2). Not believed to
    /// exist: any writer can name anything.
    pub related: Option<(Guid, SequenceNumber)>,
    /// False: there is no data, only a change of the state of the instance to tell of.
    pub valid_data: bool,
}
