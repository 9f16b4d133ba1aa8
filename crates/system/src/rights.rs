//! What only root may do.
use nix::unistd::Uid;

use crate::Error;

/// Whether this process may do what only root may: `what` needs it, because of `why`.
///
/// # Errors
/// It is not root's.
pub fn check_rights(what: &str, why: &str) -> Result<(), Error> {
    if Uid::effective().is_root() {
        return Ok(());
    }
    Err(Error::new(
        format!("{what} needs root"),
        format!("{why}: use sudo, or a container with --privileged"),
    ))
}
