//! The place where drivers run: a network and a memory that are nobody else's, and vanish with the last process in them.
use std::process::Command;

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};

/// Puts the calling thread, and what it starts from now on, into namespaces of their own: a network that is loopback with multicast, and
/// a `/dev/shm` that is empty.
///
/// # Errors
/// In words: what the system refused.
pub(crate) fn enter() -> Result<(), String> {
    unshare(CloneFlags::CLONE_NEWNET | CloneFlags::CLONE_NEWNS)
        .map_err(|error| format!("namespaces of its own: {error}; run it as root"))?;
    let none = None::<&str>;
    mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none)
        .and_then(|()| mount(Some("tmpfs"), "/dev/shm", Some("tmpfs"), MsFlags::empty(), Some("mode=1777")))
        .map_err(|error| format!("a /dev/shm of its own: {error}"))?;
    for arguments in [
        &["link", "set", "lo", "up"][..],
        &["link", "set", "lo", "multicast", "on"],
        &["route", "add", "224.0.0.0/4", "dev", "lo"],
    ] {
        let output = Command::new("ip")
            .args(arguments)
            .output()
            .map_err(|error| format!("ip: {error}; install iproute2"))?;
        if !output.status.success() {
            let said = crate::process::last_line(output.stderr.as_slice());
            return Err(format!("ip {}: {said}", arguments.join(" ")));
        }
    }
    Ok(())
}
