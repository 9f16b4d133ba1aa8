//! Gives the sockets of switch processes room: for all their queues, and for what comes while they stand still.
//!
//! Open vSwitch sends for all ports of a switch by one packet socket. Frames in the ports' queues count against the buffer of
//! that socket, and if it is full, frames of every class are lost at every port. It receives by one socket for each port, and
//! what comes while the machine does not run it must fit into that. Both have the machine's default sizes at the time when they
//! are made, so these are raised for that moment and set back. The file `memory` beside the labs says what they were, for the
//! case that the process is killed in between.
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::PathBuf;

use crate::place::{PLACE, lock_all};
use system::Error;

const SENDING: &str = "/proc/sys/net/core/wmem_default";
const RECEIVING: &str = "/proc/sys/net/core/rmem_default";
/// Bytes for what comes to a port: at 100 Mb/s for more than 100 ms.
const ROOM: u64 = 4 << 20;
/// The most that is asked for, in bytes.
const MOST: u64 = 1 << 29;

/// The settings are raised until this is dropped.
#[derive(Debug)]
pub(crate) struct Raised {
    /// Labs are built one at a time meanwhile.
    lock: File,
}

impl Raised {
    /// Raises the settings, that for sending to twice as many bytes, because the kernel counts more than frames.
    pub(crate) fn to(octets: u64) -> Result<Self, Error> {
        let raised = Self { lock: lock_all()? };
        restore(&raised.lock)?;
        let before = [read(SENDING)?, read(RECEIVING)?];
        let (path, next) = (saved(), saved().with_extension("next"));
        let written = fs::write(&next, format!("{} {}\n", before[0], before[1]));
        written.and_then(|()| fs::rename(&next, &path)).map_err(Error::system(path.display()))?;
        let wanted = [octets.saturating_mul(2).min(MOST), ROOM];
        for ((setting, before), wanted) in [SENDING, RECEIVING].into_iter().zip(before).zip(wanted) {
            write(setting, before.max(wanted))?;
        }
        Ok(raised)
    }
}

impl Drop for Raised {
    fn drop(&mut self) {
        // What fails here is tried again by whoever builds or removes a lab next.
        let _ = restore(&self.lock);
    }
}

/// Sets the settings back if whoever raised them was killed.
pub(crate) fn restore_if_left() -> Result<(), Error> {
    if !saved().exists() {
        return Ok(());
    }
    restore(&lock_all()?)
}

/// Sets back what is written down, if anything is; for who holds what concerns all labs.
fn restore(_lock: &File) -> Result<(), Error> {
    let path = saved();
    let text = match fs::read_to_string(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        text => text.map_err(Error::system(path.display()))?,
    };
    for (setting, before) in [SENDING, RECEIVING].into_iter().zip(text.split_whitespace()) {
        let before = before.parse().map_err(|_| {
            let remedy = format!("set {SENDING} and {RECEIVING} by hand, and remove it");
            Error::new(format!("{} cannot be read", path.display()), remedy)
        })?;
        write(setting, before)?;
    }
    fs::remove_file(&path).map_err(Error::system(path.display()))
}

fn read(setting: &str) -> Result<u64, Error> {
    let text = fs::read_to_string(setting).map_err(Error::system(setting))?;
    text.trim().parse().map_err(|_| Error::new(format!("{setting} is no number"), ""))
}

fn write(setting: &str, value: u64) -> Result<(), Error> {
    fs::write(setting, value.to_string()).map_err(Error::system(setting))
}

fn saved() -> PathBuf {
    PathBuf::from(PLACE).join("memory")
}
