//! Gives the sockets of a switch process room: for all its queues, and for what comes while it stands still.
//!
//! Open vSwitch sends for all ports of a switch by one packet socket. Frames in the ports' queues count against the buffer of
//! that socket, and if it is full, frames of every class are lost at every port. It receives by one socket for each port, and
//! what comes while the machine does not run it must fit into that. Both have the machine's default sizes, and no option of Open vSwitch
//! says otherwise. So a second descriptor of each of these sockets is taken from the process, and the sizes are set by that:
//! a setting of the machine would concern all programs, and is read-only in a container.
use std::collections::BTreeSet;
use std::fs;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use nix::sys::socket::{setsockopt, sockopt};
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};
use system::Error;

/// Bytes for what comes to a port: at 100 Mb/s for more than 100 ms. The kernel takes twice as many, because it counts more than frames.
const ROOM: u64 = 2 << 20;
/// The most that is asked for, in bytes.
const MOST: u64 = 1 << 28;

/// Gives the packet sockets of a process these bytes for sending, and room for what comes. The process has one socket for each of its
/// `ports`, and has sent a frame.
///
/// # Errors
/// The process is gone, it has fewer sockets than that, or the kernel does not hand them over.
pub(crate) fn give_room(process: u32, ports: usize, bytes: u64) -> Result<(), Error> {
    let bytes = size(bytes);
    let sockets = packet_sockets(process)?;
    // One is for sending.
    if sockets.len() <= ports {
        let what = format!(
            "the switch process {process} has {} packet sockets for {ports} ports, and none to send by",
            sockets.len()
        );
        return Err(Error::new(
            what,
            "another version of Open vSwitch may send otherwise: use that of Debian 12",
        ));
    }
    for socket in sockets {
        let set = setsockopt(&socket, sockopt::SndBufForce, &bytes)
            .and_then(|()| setsockopt(&socket, sockopt::RcvBufForce, &size(ROOM)));
        set.map_err(|error| {
            Error::new(
                format!("sizes of the sockets of a switch: {error}"),
                "labs need root, and CAP_NET_ADMIN",
            )
        })?;
    }
    Ok(())
}

fn size(bytes: u64) -> usize {
    usize::try_from(bytes.min(MOST)).unwrap_or(usize::MAX)
}

/// Descriptors of the packet sockets that a process has.
fn packet_sockets(process: u32) -> Result<Vec<OwnedFd>, Error> {
    let folder = PathBuf::from(format!("/proc/{process}"));
    let links = numbers_of_packet_sockets(&folder)?;
    let held = i32::try_from(process).ok().and_then(Pid::from_raw);
    let held = held.ok_or_else(|| Error::new(format!("{process} is no process"), ""))?;
    let refused = |error: rustix::io::Errno| {
        let what = format!("sockets of the switch process {process}: {error}");
        Error::new(
            what,
            "labs need root, CAP_SYS_PTRACE (a container with --privileged) and Linux 5.6 or later",
        )
    };
    let held = pidfd_open(held, PidfdFlags::empty()).map_err(refused)?;
    let descriptors = folder.join("fd");
    let mut sockets = Vec::new();
    for entry in fs::read_dir(&descriptors).map_err(Error::system(descriptors.display()))? {
        let path = entry.map_err(Error::system(descriptors.display()))?.path();
        // What has been closed meanwhile leads nowhere.
        let Ok(target) = fs::read_link(&path) else { continue };
        let number = path.file_name().and_then(|name| name.to_str()?.parse().ok());
        if let Some(number) = number.filter(|_| links.contains(&target)) {
            sockets.push(pidfd_getfd(&held, number, PidfdGetfdFlags::empty()).map_err(refused)?);
        }
    }
    Ok(sockets)
}

/// What descriptors of the packet sockets of a process's namespace link to.
fn numbers_of_packet_sockets(folder: &Path) -> Result<BTreeSet<PathBuf>, Error> {
    let path = folder.join("net/packet");
    let text = fs::read_to_string(&path).map_err(Error::system(path.display()))?;
    let numbers = text.lines().skip(1).filter_map(|line| line.split_whitespace().last());
    Ok(numbers.map(|number| PathBuf::from(format!("socket:[{number}]"))).collect())
}
