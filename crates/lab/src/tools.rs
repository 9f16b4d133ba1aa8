//! The programs of the host that a lab is made with.
use std::path::{Path, PathBuf};
use std::process::Command;

use network::SwitchKind;
use system::{Error, check_packages, finish, program};

/// The variable that marks every process of a lab with the name of the lab.
pub(crate) const MARK: &str = "PUNCTUAL_LAB";
/// Where namespaces have their names.
const NAMESPACES: &str = "/run/netns";

/// Programs, and the Debian packages that bring them.
const PROGRAMS: [(&str, &str); 6] = [
    ("ip", "iproute2"),
    ("tc", "iproute2"),
    ("ethtool", "ethtool"),
    ("nsenter", "util-linux"),
    ("chrt", "util-linux"),
    ("taskset", "util-linux"),
];
const OPEN_VSWITCH: [(&str, &str); 4] = [
    ("ovsdb-tool", "openvswitch-switch"),
    ("ovsdb-server", "openvswitch-switch"),
    ("ovs-vswitchd", "openvswitch-switch"),
    ("ovs-vsctl", "openvswitch-switch"),
];

/// Whether this process may build labs at all.
///
/// # Errors
/// It is not root's.
pub fn check_rights() -> Result<(), Error> {
    system::check_rights("a lab", "namespaces, switches and real-time priorities need root")
}

/// Whether everything is installed that labs of Open vSwitch need, or such labs with gates.
///
/// # Errors
/// The names of the packages that are missing.
pub fn check_programs(gates: bool) -> Result<(), Error> {
    check_programs_of(gates, &[SwitchKind::OpenVswitch])
}

/// The same for labs with these kinds of switches.
///
/// # Errors
/// The names of the packages that are missing.
pub fn check_programs_of(gates: bool, kinds: &[SwitchKind]) -> Result<(), Error> {
    let of = |kind: SwitchKind| match kind {
        SwitchKind::OpenVswitch => &OPEN_VSWITCH[..],
        SwitchKind::Bridge => &bridge::nft::PROGRAMS[..],
    };
    let (programs, files) =
        if gates { (gate_agent::PROGRAMS, gate_agent::FILES) } else { (&[][..], &[][..]) };
    let kinds = kinds.iter().map(|kind| of(*kind));
    let all: Vec<_> = [&PROGRAMS[..], programs].into_iter().chain(kinds).flatten().copied().collect();
    check_packages("a lab", &all, files)
}

/// Runs programs, of one lab or of none.
#[derive(Clone, Debug)]
pub(crate) struct Tools {
    /// The name of the lab.
    lab: Option<String>,
}

impl Tools {
    pub(crate) fn new(lab: &str) -> Self {
        Self { lab: Some(lab.to_owned()) }
    }

    /// Of no lab.
    pub(crate) const fn of_host() -> Self {
        Self { lab: None }
    }

    /// A program that is marked as one of the lab and does not hear the Ctrl-C of a terminal.
    pub(crate) fn command(&self, name: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = program(name);
        if let Some(lab) = &self.lab {
            command.env(MARK, lab);
        }
        command
    }

    /// The same inside a namespace; the file systems stay those of the caller.
    pub(crate) fn command_in(&self, namespace: &str, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = self.command("nsenter");
        command.arg(format!("--net={NAMESPACES}/{namespace}")).arg("--").arg(program);
        command
    }

    /// Runs a command line, split at blanks; what it printed.
    pub(crate) fn run(&self, line: &str) -> Result<String, Error> {
        let mut parts = line.split(' ');
        let mut command = self.command(parts.next().unwrap_or_default());
        finish(command.args(parts), None)
    }

    /// Runs a command line inside a namespace.
    pub(crate) fn run_in(&self, namespace: &str, line: &str) -> Result<String, Error> {
        let mut parts = line.split(' ');
        let mut command = self.command_in(namespace, parts.next().unwrap_or_default());
        finish(command.args(parts), None)
    }

    /// Gives `ip` or `tc` several commands, for a namespace if one is given.
    pub(crate) fn batch(&self, program: &str, namespace: Option<&str>, commands: &str) -> Result<(), Error> {
        if commands.is_empty() {
            return Ok(());
        }
        let mut command = self.command(program);
        if let Some(namespace) = namespace {
            command.args(["-n", namespace]);
        }
        finish(command.args(["-batch", "-"]), Some(commands)).map(drop)
    }
}

/// Where the name of a namespace is.
pub(crate) fn namespace_path(namespace: &str) -> PathBuf {
    Path::new(NAMESPACES).join(namespace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_of_a_lab_are_marked() {
        assert_eq!(Tools::new("x").run("printenv PUNCTUAL_LAB").unwrap(), "x\n");
    }
}
