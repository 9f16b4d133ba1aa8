//! Processors that do not sleep while something is measured: waking takes some tens of microseconds, which switches of hardware do not need.
use std::fs::{File, OpenOptions};
use std::io::Write as _;

/// What the kernel's power management is asked by: the latency that a process needs, in microseconds, for as long as it has the file open.
const ASKED: &str = "/dev/cpu_dma_latency";

/// Processors wait awake for as long as this lives.
#[derive(Debug)]
pub struct Awake {
    _file: File,
}

impl Awake {
    /// Keeps them awake. An idle one uses all of its power meanwhile.
    ///
    /// # Errors
    /// In words: it is not granted.
    pub fn new() -> Result<Self, String> {
        let failed = |error: std::io::Error| format!("{ASKED}: {error}");
        let mut file = OpenOptions::new().write(true).open(ASKED).map_err(failed)?;
        file.write_all(&0_i32.to_ne_bytes()).map_err(failed)?;
        Ok(Self { _file: file })
    }
}
