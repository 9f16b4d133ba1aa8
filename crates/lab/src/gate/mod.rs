//! The message gate at the ports of a switch: a program in the kernel, and an agent that sets it.
//!
//! Program and maps are pinned in a file system of their own in the folder of the lab. So a gate stays closed to what has
//! no contract, and open to what has one, when its agent ends; the next agent finds everything as it was.
mod agent;
mod client;
mod program;

use std::path::Path;

use nix::mount::{MsFlags, mount};

pub use agent::{Agent, Served};
pub use client::GateClient;
pub use program::{Judgement, Program};

use crate::error::Error;
use crate::place::folder;
use crate::remove::is_mounted;
use crate::tools::{Tools, finish};

/// The program in C, as clang reads it.
const SOURCE: &str = include_str!("gate.c");

/// Compiles the program for the kernel.
pub(crate) fn compile(tools: &Tools, object: &Path) -> Result<(), Error> {
    let mut clang = tools.command("clang");
    clang.args(["-O2", "-g", "-target", "bpf", "-Wall", "-Werror"]);
    // Headers of the machine are in a folder named after it, which clang for another target does not know.
    clang.arg(format!("-I/usr/include/{}-linux-gnu", std::env::consts::ARCH));
    clang.args(["-x", "c", "-c", "-", "-o"]).arg(object);
    finish(&mut clang, Some(SOURCE)).map(drop)
}

/// Compiles the program for an agent, or a test, that has no lab.
///
/// # Errors
/// Packages that are missing, or what the compiler says.
pub fn compile_to(object: &Path) -> Result<(), Error> {
    crate::tools::check_programs(true)?;
    compile(&Tools::new(""), object)
}

/// Makes a file system for pins, so that they go with it.
///
/// # Errors
/// The folder cannot be made, as below `/sys` where nothing is mounted there, or nothing can be mounted there.
pub fn mount_pins(path: &Path) -> Result<(), Error> {
    folder(path).map_err(|error| {
        let advice = "mount a file system of type bpf there (mount -t bpf bpf /sys/fs/bpf), or name another folder with --pins";
        Error::new(error.to_string(), advice)
    })?;
    if is_mounted(path) {
        return Ok(());
    }
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    let mounted = mount(Some("bpf"), path, Some("bpf"), flags, Some("mode=0700"));
    mounted.map_err(|error| {
        let what = format!("{}: a file system of type bpf cannot be mounted: {error}", path.display());
        Error::new(what, "gates need root, and a kernel with CONFIG_BPF_SYSCALL")
    })
}

/// Whether the folder, or the nearest one above that exists, is in a file system for pins.
pub(crate) fn holds_pins(path: &Path) -> bool {
    let there = path.ancestors().find(|path| path.exists());
    there
        .and_then(|path| nix::sys::statfs::statfs(path).ok())
        .is_some_and(|found| found.filesystem_type() == nix::sys::statfs::BPF_FS_MAGIC)
}
