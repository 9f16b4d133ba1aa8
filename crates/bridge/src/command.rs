//! The verb `switch` of the command line.
use std::collections::BTreeMap;
use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use keys::{Identity, Role};
use network::Network;
use system::Error;

use crate::agent::{Served, serve};
use crate::queues::PortQueues;

/// It was done.
const DONE: u8 = 0;
/// It could not be done.
const FAILED: u8 = 3;

/// What an agent prints once its bridge can be managed.
pub const READY_LINE: &str = "ready\n";

/// Makes a Linux bridge a switch that a resource manager manages.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:\n  \
    punctual switch serve --bridge br0 --port 1=eth1 --port 2=eth2 --datapath 1 --controller 192.0.2.1:6653\n\n\
    Needs root. Exit code: 0 ended by Ctrl-C; 2 wrong command line; 3 it could not be done. See docs/bridge.md.")]
pub struct SwitchArguments {
    #[command(subcommand)]
    verb: SwitchVerb,
}

#[derive(Subcommand, Clone, Debug)]
enum SwitchVerb {
    /// Speaks OpenFlow 1.3 with a manager for a bridge, and sets rules at its ports.
    ///
    /// From its start on the bridge forwards what managers say, and nothing else. It runs until Ctrl-C, and takes all of its rules away: the bridge
    /// forwards as bridges do then. If it is killed the rules stay, and the next agent takes them over.
    #[command(after_help = "Examples:\n  \
        punctual switch serve --bridge br0 --port 1=eth1 --port 2=eth2 --datapath 1 --controller 192.0.2.1:6653\n  \
        punctual switch serve --bridge br0 --port 1=eth1 --datapath 1 --controller 192.0.2.1:6653 --keys /etc/punctual/keys\n  \
        punctual switch serve --bridge br0 --port 1=eth1 --datapath 1 --controller 192.0.2.1:6653 --queues ward.toml\n\n\
        See docs/bridge.md.")]
    Serve(ServeArguments),
}

/// What `switch serve` is given.
#[derive(Args, Clone, Debug)]
struct ServeArguments {
    /// The bridge
    #[arg(long, value_name = "INTERFACE")]
    bridge: String,
    /// A port of the bridge: its number in the network file, and its interface
    #[arg(long = "port", value_name = "NUMBER=INTERFACE", required = true, value_parser = port)]
    ports: Vec<(u32, String)>,
    /// The datapath id: the number of the switch in the network file, from 1
    #[arg(long, value_name = "NUMBER")]
    datapath: u64,
    /// A manager; several for those that stand by
    #[arg(long = "controller", value_name = "ADDRESS:PORT", required = true)]
    controllers: Vec<SocketAddr>,
    /// The folder with authority.pem, and switch-N.pem and switch-N.key for the datapath id N
    #[arg(long, value_name = "FOLDER")]
    keys: Option<PathBuf>,
    /// The network file: ports get the queues that it has for them, until the agent ends
    #[arg(long, value_name = "FILE")]
    queues: Option<PathBuf>,
    /// The group of the netfilter log by which the kernel hands frames to the agent; each bridge needs one
    #[arg(long, value_name = "NUMBER", default_value_t = 6653)]
    log_group: u16,
}

fn port(text: &str) -> Result<(u32, String), String> {
    let wrong = || format!("\"{text}\" is no port; give its number and its interface, as 3=eth3");
    let (number, interface) = text.split_once('=').ok_or_else(wrong)?;
    let number = number.parse().ok().filter(|number| *number > 0).ok_or_else(wrong)?;
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.@:".contains(c);
    // Names go into rules and into paths of the kernel.
    if interface.is_empty()
        || interface.len() > 15
        || !interface.chars().all(plain)
        || interface.starts_with('.')
    {
        return Err(wrong());
    }
    Ok((number, interface.to_owned()))
}

/// Does what `switch` is asked for; the result is the exit code. What is wrong is told.
pub fn run_switch(arguments: &SwitchArguments, out: &mut dyn Write, told: &mut dyn Write) -> u8 {
    let SwitchVerb::Serve(arguments) = &arguments.verb;
    match served(arguments).and_then(|served| {
        let ready = || {
            // Who does not read it does not wait for it.
            let _ = out.write_all(READY_LINE.as_bytes()).and_then(|()| out.flush());
        };
        serve(&served, ready, |line| {
            let _ = writeln!(told, "punctual: {line}");
        })
    }) {
        Ok(()) => DONE,
        Err(error) => {
            // If even that cannot be written, the exit code says it.
            let _ = writeln!(told, "punctual: {error}");
            FAILED
        }
    }
}

fn served(arguments: &ServeArguments) -> Result<Served, Error> {
    let mut ports = BTreeMap::new();
    for (number, interface) in &arguments.ports {
        if ports.values().any(|other| other == interface)
            || ports.insert(*number, interface.clone()).is_some()
        {
            let what = format!("port {number} or {interface} is there twice");
            return Err(Error::new(what, "give each port and each interface once"));
        }
    }
    let role = Role::Switch(arguments.datapath);
    let keys = arguments.keys.as_deref().map(|folder| Identity::load(folder, role)).transpose()?;
    let queues = arguments.queues.as_deref().map(|file| {
        let network = Network::open(file).map_err(|problem| Error::new(problem.to_string(), ""))?;
        PortQueues::of(&network, arguments.datapath, &ports)
    });
    Ok(Served {
        queues: queues.transpose()?,
        bridge: arguments.bridge.clone(),
        ports,
        datapath: arguments.datapath,
        controllers: arguments.controllers.clone(),
        keys,
        log: arguments.log_group,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_have_numbers_and_plain_names() {
        assert_eq!(port("3=eth3"), Ok((3, "eth3".to_owned())));
        for text in ["eth3", "0=eth3", "3=", "x=eth3", "3=../eth3", "3=a b", "3=a\"b", "3=eth0123456789012"] {
            assert!(port(text).is_err(), "{text}");
        }
    }
}
