//! How an assured pair conducts repairs of which the latency has a bound (docs/decisions/0016-losses.md).
use wire::Duration;

/// The times that the writer and the reader of an assured pair keep when the latency that is promised allows for lost frames. Both keep the same.
///
/// Every datagram beside the messages of the flow, of either side, leaves `spacing` after the one before has left, at least.
/// So neither can be early for a gate that lets one datagram pass in that time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Conduct {
    /// A writer that waits for an acknowledgement asks for one so long after a sample, and again each time that this is over.
    pub heartbeat: Duration,
    /// A reader asks for a sample so long after a HEARTBEAT has first announced it: before that its frames may be on their way.
    pub patience: Duration,
    /// A reader asks again so long after it has asked.
    pub again: Duration,
    /// The least time between two datagrams beside the messages, from the return of a send call to the next one.
    pub spacing: Duration,
    /// The most bytes of such a datagram of the writer.
    pub datagram: u32,
}
