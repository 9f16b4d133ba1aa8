//! How a handler, a hook or a push ends.
use std::fmt;

/// How a handler, a hook or a push ends.
pub type Outcome = Result<(), Failure>;

/// Why something was not done. It is one byte, so that nothing is moved where all goes well.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Failure {
    /// A queue is full, and its policy is to refuse; no consumer of that service has got the event.
    Full,
    /// A queue was full for as long as the publisher may wait; no consumer of that service has got the event.
    Late,
    /// The publisher is suspended.
    Suspended,
    /// Nothing is connected to an emitter or a receptacle.
    NotConnected,
    /// The component that is called is not active, and does not come to be while the caller waits.
    NotActive,
    /// The component that is called waits for the caller, directly or by others.
    Circle,
    /// A service refuses: a writer of DDS, for example.
    Service,
    /// The component behind the port panicked during the call.
    Panic,
    /// A lock cannot be had: the reports say why.
    Lock,
    /// The component cannot go on: made by [`crate::Context::broken`], it leads to the error state.
    Broken,
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Full => "a queue is full: make it deeper, or let something give way",
            Self::Late => "a queue was full for as long as the publisher may wait",
            Self::Suspended => "the publisher is suspended",
            Self::NotConnected => "nothing is connected to this port",
            Self::NotActive => "the component that is called is not active",
            Self::Circle => "the component that is called waits for the caller",
            Self::Service => "the service refused the event: its reports say why",
            Self::Panic => "the component that is called panicked",
            Self::Lock => "the lock of a component cannot be had: the reports say why",
            Self::Broken => "the component cannot go on",
        })
    }
}

impl std::error::Error for Failure {}
