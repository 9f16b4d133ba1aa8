//! What the included files ask of a host.
use wire::Instant;

pub(crate) trait Host: Send + Sync {
    /// Lets the calling thread receive until `done` or `until`; false if it is not let.
    fn receive(&self, until: Instant, done: &dyn Fn() -> bool) -> bool;

    /// Lets threads that receive ask whether they are done.
    fn interrupt(&self);
}
