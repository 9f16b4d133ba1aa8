//! A bridge of the kernel for a switch, and the agent that speaks OpenFlow for it: `punctual switch serve`.
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use crate::layout::{OPENFLOW_PORT, Switch};
use crate::tools::Tools;
use system::Error;

/// Makes the bridge, down, with its ports. It sends groups to all: no host of a lab asks who is in one.
pub(crate) fn make(tools: &Tools, switch: &Switch) -> Result<(), Error> {
    let mut lines = "link add br0 type bridge mcast_snooping 0\n".to_owned();
    for port in &switch.ports {
        // Writing to a text cannot fail.
        let _ = writeln!(lines, "link set dev p{port} master br0");
    }
    tools.batch("ip", Some(&switch.namespace), &lines)
}

/// The agent.
pub(crate) fn agent(tools: &Tools, program: &Path, switch: &Switch, keys: Option<&Path>) -> Command {
    let mut command = tools.command_in(&switch.namespace, program);
    command.args(["switch", "serve", "--bridge", "br0", "--datapath", &switch.datapath.to_string()]);
    for port in &switch.ports {
        command.arg("--port").arg(format!("{port}=p{port}"));
    }
    let [manager, _] = switch.control();
    command.arg("--controller").arg(format!("{manager}:{OPENFLOW_PORT}"));
    if let Some(keys) = keys {
        command.arg("--keys").arg(keys);
    }
    command
}

/// Lets the bridge forward.
pub(crate) fn up(tools: &Tools, switch: &Switch) -> Result<(), Error> {
    tools.batch("ip", Some(&switch.namespace), "link set dev br0 arp off up\n")
}
