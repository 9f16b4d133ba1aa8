//! The place where drivers run: a network and a memory of their own, which vanish with the last process in them.
use std::marker::PhantomData;
use std::path::Path;
use std::process::Command;

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};

const MEMORY: &str = "/dev/shm";

/// Says that the thread is on it; it cannot be taken to another thread.
#[derive(Debug)]
pub(crate) struct Stage(PhantomData<*const ()>);

impl Stage {
    /// Removes what drivers have left in shared memory: what one that was killed has left must not hinder the next.
    pub(crate) fn clear(&self) {
        for entry in std::fs::read_dir(MEMORY).into_iter().flatten().flatten() {
            let path = entry.path();
            // What cannot be removed vanishes with the stage.
            let _ = if is_folder(&path) { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
        }
    }
}

fn is_folder(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|facts| facts.is_dir())
}

/// Puts the calling thread, and what it starts from now on, into namespaces of their own: a network that is loopback with multicast, and
/// a `/dev/shm` that is empty.
///
/// # Errors
/// In words: what the system refused.
pub(crate) fn enter() -> Result<Stage, String> {
    unshare(CloneFlags::CLONE_NEWNET | CloneFlags::CLONE_NEWNS)
        .map_err(|error| format!("namespaces of its own: {error}; run it as root"))?;
    let none = None::<&str>;
    mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none)
        .and_then(|()| mount(Some("tmpfs"), MEMORY, Some("tmpfs"), MsFlags::empty(), Some("mode=1777")))
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
    Ok(Stage(PhantomData))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_stage_is_nobody_elses() {
        if !nix::unistd::Uid::effective().is_root() {
            assert!(std::env::var_os("CI").is_none(), "a stage needs root");
            return;
        }
        let name = format!("punctual-stage-{}", std::process::id());
        let outside = Path::new(MEMORY).join(&name);
        std::fs::write(&outside, "not to be removed").unwrap();
        let folder = Path::new(MEMORY).join("folder");
        let done = std::thread::spawn(move || {
            let stage = enter().unwrap();
            let empty = || std::fs::read_dir(MEMORY).unwrap().count() == 0;
            assert!(empty());
            std::fs::create_dir(&folder).unwrap();
            std::fs::write(folder.join("file"), "left").unwrap();
            std::os::unix::fs::symlink("/", Path::new(MEMORY).join("link")).unwrap();
            assert!(!empty());
            stage.clear();
            assert!(empty() && Path::new("/dev").exists());
        });
        let done = done.join();
        let kept = std::fs::remove_file(&outside);
        assert!(done.is_ok() && kept.is_ok());
    }
}
