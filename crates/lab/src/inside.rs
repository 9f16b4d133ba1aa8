//! Doing something inside a network namespace.
use std::fs::File;
use std::thread;

use nix::sched::{CloneFlags, setns};

use crate::tools::namespace_path;
use system::Error;

/// Does something on a thread of its own that is in the namespace; what it opens, or starts, stays there.
pub(crate) fn inside<T: Send>(
    namespace: &str,
    act: impl FnOnce() -> Result<T, Error> + Send,
) -> Result<T, Error> {
    let path = namespace_path(namespace);
    let there = File::open(&path).map_err(Error::system(path.display()))?;
    let done = thread::scope(|scope| {
        let acting = scope.spawn(|| {
            setns(&there, CloneFlags::CLONE_NEWNET).map_err(|error| {
                Error::new(format!("{}: {error}", path.display()), "labs need root, and CAP_SYS_ADMIN")
            })?;
            act()
        });
        acting.join()
    });
    done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
