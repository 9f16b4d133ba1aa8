//! The message gate at the ports of a switch: a program in the kernel, and an agent that sets it.
//!
//! Program and maps are pinned in a file system of type bpf. So a gate stays closed to what has no contract, and open to what has one, when its
//! agent ends; the next agent finds everything as it was. Crate `gate` has the rule, and what is said to the agent.
#![forbid(unsafe_code)]

mod agent;
mod client;
mod command;
mod program;

use std::path::Path;

use nix::mount::{MsFlags, mount};

pub use agent::{Agent, Served};
pub use client::GateClient;
pub use command::{GateArguments, run_gate};
pub use program::{Judgement, Program};

use system::{Error, check_packages, finish, is_mounted, make_folder, program};

/// The program in C, as clang reads it.
const SOURCE: &str = include_str!("gate.c");

/// The programs that [`compile`] needs, and the Debian packages that bring them.
pub const PROGRAMS: &[(&str, &str)] = &[("clang", "clang")];
/// The same of files.
pub const FILES: &[(&str, &str)] = &[("/usr/include/bpf/bpf_helpers.h", "libbpf-dev")];

/// What the agent prints once clients can connect.
pub const READY_LINE: &str = "ready\n";

/// Compiles the program for the kernel into an object file.
///
/// # Errors
/// Packages that are missing, or what the compiler says.
pub fn compile(object: &Path) -> Result<(), Error> {
    check_packages("a message gate", PROGRAMS, FILES)?;
    let mut clang = program("clang");
    clang.args(["-O2", "-g", "-target", "bpf", "-Wall", "-Werror"]);
    // Headers of the machine are in a folder named after it, which clang for another target does not know.
    clang.arg(format!("-I/usr/include/{}-linux-gnu", std::env::consts::ARCH));
    clang.args(["-x", "c", "-c", "-", "-o"]).arg(object);
    finish(&mut clang, Some(SOURCE)).map(drop)
}

/// Makes a file system for pins, so that they go with it.
///
/// # Errors
/// The folder cannot be made, as below `/sys` where nothing is mounted there, or nothing can be mounted there.
pub fn mount_pins(path: &Path) -> Result<(), Error> {
    make_folder(path).map_err(|error| {
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
