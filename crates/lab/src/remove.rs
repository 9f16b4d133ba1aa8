//! Removes a lab, however much of it is there.
//!
//! Processes of a lab are found by the mark in their environment and by the namespaces that they are in, so that also those
//! are found whose parent was killed. They go first; without them namespaces vanish with all interfaces, addresses and
//! queues, and what is pinned vanishes with its file system. A process that is started meanwhile is found in the next round.
use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use nix::mount::{MntFlags, umount2};
use nix::sys::signal::Signal;

use crate::place::{self, Place};
use crate::tools::{MARK, Tools, namespace_path};
use system::Error;
use system::{end, is_mounted};

/// How long processes have for ending by themselves.
const GRACE: Duration = Duration::from_millis(500);
/// How long all of it may take.
const LIMIT: Duration = Duration::from_secs(20);
/// Where the pins of gates are, in the folder of a lab.
pub(crate) const PINS: &str = "pins";

/// Removes the lab with this name; false if there is none.
///
/// # Errors
/// Another process builds or removes it, or something cannot be removed.
pub fn down(name: &str) -> Result<bool, Error> {
    crate::tools::check_rights()?;
    crate::layout::check_name(name)?;
    let Some(place) = Place::hold(name)? else { return Ok(false) };
    down_held(name, place)?;
    Ok(true)
}

/// Removes a lab that is held.
pub(crate) fn down_held(name: &str, place: Place) -> Result<(), Error> {
    // Without a record nothing was made but the folder.
    let namespaces = place::namespaces(name)?;
    let tools = Tools::new(name);
    let since = Instant::now();
    let mut wrong = None;
    loop {
        end_processes(name, &namespaces);
        unmount(&place.path().join(PINS));
        let there: Vec<&String> =
            namespaces.iter().filter(|namespace| namespace_path(namespace).exists()).collect();
        let deletions: String = there.iter().map(|namespace| format!("netns del {namespace}\n")).collect();
        if let Err(error) = tools.batch("ip", None, &deletions) {
            wrong = Some(error);
        }
        let gone = there.iter().all(|namespace| !namespace_path(namespace).exists());
        if gone && processes(name, &namespaces).is_empty() && !is_mounted(&place.path().join(PINS)) {
            break;
        }
        if since.elapsed() > LIMIT {
            return Err(wrong.unwrap_or_else(|| {
                let what = format!("processes of the lab \"{name}\" do not end");
                Error::new(what, "ps and the folder of the lab below /run/punctual/lab tell which")
            }));
        }
    }
    while let Err(error) = fs::remove_dir_all(place.path()) {
        // What a killed builder was about to start shows as a process of the lab only when it runs, and may write into the folder meanwhile.
        let passes = matches!(error.kind(), ErrorKind::DirectoryNotEmpty | ErrorKind::ResourceBusy);
        if !passes || since.elapsed() > LIMIT {
            return Err(Error::system(place.path().display())(error));
        }
        end_processes(name, &namespaces);
        unmount(&place.path().join(PINS));
    }
    // Nothing else builds or removes it until here.
    drop(place);
    Ok(())
}

/// Ends all processes of a lab, first with a word and then without.
fn end_processes(name: &str, namespaces: &[String]) {
    let since = Instant::now();
    let mut asked = BTreeSet::new();
    loop {
        let found = processes(name, namespaces);
        if found.is_empty() {
            return;
        }
        let patient = since.elapsed() < GRACE;
        for id in found {
            if !patient {
                end(id, Signal::SIGKILL);
            } else if asked.insert(id) {
                end(id, Signal::SIGTERM);
                // One that was stopped hears nothing else.
                end(id, Signal::SIGCONT);
            }
        }
        if since.elapsed() > 4 * GRACE {
            return;
        }
        thread::sleep(Duration::from_millis(10));
    }
}

/// The processes of a lab, without the calling one.
pub(crate) fn processes(name: &str, namespaces: &[String]) -> Vec<u32> {
    let mark = format!("{MARK}={name}");
    let inodes: BTreeSet<u64> = namespaces
        .iter()
        .filter_map(|namespace| fs::metadata(namespace_path(namespace)).ok())
        .map(|metadata| metadata.ino())
        .collect();
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
        .filter(|id| *id != std::process::id())
        .filter(|id| {
            let folder = Path::new("/proc").join(id.to_string());
            // What has ended and waits for its parent to notice is none any more.
            let marked = fs::read(folder.join("environ")).is_ok_and(|environment| {
                environment.split(|octet| *octet == 0).any(|entry| entry == mark.as_bytes())
            });
            let inside = fs::metadata(folder.join("ns/net")).is_ok_and(|file| inodes.contains(&file.ino()));
            marked || inside
        })
        .collect()
}

fn unmount(folder: &Path) {
    while is_mounted(folder) && umount2(folder, MntFlags::MNT_DETACH).is_ok() {}
}
