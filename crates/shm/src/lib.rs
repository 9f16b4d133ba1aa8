//! Shared memory between two processes of one host: a ring of messages each way, and a doorbell that wakes who sleeps.
//!
//! A [`Segment`] is anonymous memory (memfd) that one process writes and the other can only read: the kernel refuses every
//! other way (seals), so that neither side can change what the other has written, cut it off, or leave anything behind:
//! when both processes are gone, however they ended, the memory is gone. Two segments make a pair of rings ([`join`]): a
//! [`Producer`] writes messages into the own one, in place ([`Loan`]) or by copy, a [`Consumer`] copies them out of the other.
//! Large messages can lie outside of the ring, in [`Chunks`] of the process that wrote them: the ring then holds their places only.
//! Every word that the other side writes is read once, checked, and used afterwards: nonsense ends the ring with [`Nonsense`].
//!
//! A [`Doorbell`] is one word that a thread sleeps on (futex) for all rings that it reads. Others may write it, and what they
//! write there can at worst wake it for nothing or let it sleep until its time is over: so it never sleeps without a limit.
//!
//! Processes meet over a socket of an abstract name ([`Meeting`], [`Talk`]), which carries the memory's descriptors, says whose
//! process it is, and ends with that process. Abstract names belong to a network namespace.

#[cfg(not(target_os = "linux"))]
compile_error!(
    "the crate shm works on Linux only so far: it stands on memfd with seals, futex and abstract socket names"
);

mod chunks;
mod doorbell;
mod futex;
mod map;
mod meet;
mod process;
mod ring;
mod scribble;
mod segment;
mod sync;

pub use chunks::{Chunk, ChunkMut, ChunkWindow, Chunks, MAX_CHUNKS, Place};
pub use doorbell::{Bell, Doorbell};
pub use meet::{Meeting, Peer, Readiness, Said, Talk, leaves_few, own_user, ready};
pub use process::Process;
pub use ring::{Consumer, Loan, Look, Message, Nonsense, Producer, Refused, join};
pub use scribble::Scribble;
pub use segment::{CAPACITY, MAX_CAPACITY, MIN_CAPACITY, Segment, SegmentError, Window};
