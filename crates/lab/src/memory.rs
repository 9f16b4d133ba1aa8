//! Gives the socket that a switch process sends with room for all its queues.
//!
//! Open vSwitch sends for all ports of a switch by one packet socket. Frames in the ports' queues count against the buffer of
//! that socket, and if it is full, frames of every class are lost at every port. Its size is the machine's
//! `net.core.wmem_default` at the time of the first frame, so this is raised for the moment and set back. The file `wmem` beside
//! the labs says what it was, for the case that the process is killed in between.
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::PathBuf;

use crate::error::Error;
use crate::place::{PLACE, lock_all};

const SETTING: &str = "/proc/sys/net/core/wmem_default";
/// The most that is asked for, in octets.
const MOST: u64 = 1 << 29;

/// The setting is raised until this is dropped.
#[derive(Debug)]
pub(crate) struct Raised {
    /// Labs are built one at a time meanwhile.
    _lock: File,
}

impl Raised {
    /// Raises the setting to twice as many octets, because the kernel counts more than frames; `None` if it is high enough.
    pub(crate) fn to(octets: u64) -> Result<Option<Self>, Error> {
        let lock = lock_all()?;
        restore(&lock)?;
        let before = read()?;
        let wanted = octets.saturating_mul(2).min(MOST);
        if wanted <= before {
            return Ok(None);
        }
        fs::write(saved(), before.to_string()).map_err(Error::system(saved().display()))?;
        fs::write(SETTING, wanted.to_string()).map_err(Error::system(SETTING))?;
        Ok(Some(Self { _lock: lock }))
    }
}

impl Drop for Raised {
    fn drop(&mut self) {
        // What fails here is tried again by whoever builds or removes a lab next.
        let _ = restore(&self._lock);
    }
}

/// Sets the setting back if whoever raised it was killed.
pub(crate) fn restore_if_left() -> Result<(), Error> {
    if !saved().exists() {
        return Ok(());
    }
    restore(&lock_all()?)
}

fn restore(_lock: &File) -> Result<(), Error> {
    let before = match fs::read_to_string(saved()) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        before => before.map_err(Error::system(saved().display()))?,
    };
    // An empty file was being written when the setting was still as before.
    if before.trim().parse::<u64>().is_ok() {
        fs::write(SETTING, before.trim()).map_err(Error::system(SETTING))?;
    }
    fs::remove_file(saved()).map_err(Error::system(saved().display()))
}

fn read() -> Result<u64, Error> {
    let text = fs::read_to_string(SETTING).map_err(Error::system(SETTING))?;
    text.trim().parse().map_err(|_| Error::new(format!("{SETTING} is no number"), ""))
}

fn saved() -> PathBuf {
    PathBuf::from(PLACE).join("wmem")
}
