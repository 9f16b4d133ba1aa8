//! The verb `gate` of the command line.
use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use keys::{Identity, Role};
use system::{Error, check_rights};

use crate::agent::{Agent, Served};
use crate::{READY_LINE, compile, holds_pins, mount_pins};

/// It was done.
const DONE: u8 = 0;
/// It could not be done.
const FAILED: u8 = 3;

/// Holds flows to their contracts where they enter a switch.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:\n  \
    punctual gate serve --listen 172.31.1.2:6654 --port 1=eth1 --port 2=eth2\n\n\
    Needs root. Exit code: 0 done; 2 wrong command line; 3 it could not be done. See docs/grm.md.")]
pub struct GateArguments {
    #[command(subcommand)]
    verb: GateVerb,
}

#[derive(Subcommand, Clone, Debug)]
enum GateVerb {
    /// Puts message gates at ports, and sets them as clients ask.
    ///
    /// With --keys managers alone can set gates; without them any host that reaches the address can.
    #[command(after_help = "Examples:\n  \
        punctual gate serve --listen 172.31.1.2:6654 --port 1=eth1 --port 2=eth2\n  \
        punctual gate serve --listen 192.0.2.2:6654 --port 1=eth1 --keys /etc/punctual/keys --datapath 1\n\n\
        It runs until Ctrl-C; the gates stay in the kernel then. See docs/grm.md.")]
    Serve {
        /// Where clients connect
        #[arg(long, value_name = "ADDRESS:PORT")]
        listen: SocketAddr,
        /// A port of the switch and its interface
        #[arg(long = "port", value_name = "NUMBER=INTERFACE", required = true, value_parser = port)]
        ports: Vec<(u32, String)>,
        /// The compiled program; it is compiled if this is not given
        #[arg(long)]
        object: Option<PathBuf>,
        /// The folder with authority.pem, and gates-N.pem and gates-N.key for the datapath id N of the switch
        #[arg(long, value_name = "FOLDER", requires = "datapath")]
        keys: Option<PathBuf>,
        /// The datapath id of the switch
        #[arg(long, value_name = "NUMBER", requires = "keys")]
        datapath: Option<u64>,
        /// Where program and maps stay when the agent ends
        #[arg(long, value_name = "FOLDER", default_value = "/sys/fs/bpf/punctual")]
        pins: PathBuf,
        /// Frames have behind them when they came, as those of a lab's emulated links
        #[arg(long, hide = true)]
        stamped: bool,
    },
}

fn port(text: &str) -> Result<(u32, String), String> {
    let wrong = || format!("\"{text}\" is no port; give its number and its interface, as 3=p3");
    let (number, interface) = text.split_once('=').ok_or_else(wrong)?;
    let number = number.parse().map_err(|_| wrong())?;
    if interface.is_empty() || interface.len() > 15 || interface.contains('/') {
        return Err(wrong());
    }
    Ok((number, interface.to_owned()))
}

/// Does what `gate` is asked for; the result is the exit code. What is wrong is told.
pub fn run_gate(arguments: &GateArguments, out: &mut dyn Write, told: &mut dyn Write) -> u8 {
    match serve(&arguments.verb, out) {
        Ok(()) => DONE,
        Err(error) => {
            // If even that cannot be written, the exit code says it.
            let _ = writeln!(told, "punctual: {error}");
            FAILED
        }
    }
}

fn serve(verb: &GateVerb, out: &mut dyn Write) -> Result<(), Error> {
    let GateVerb::Serve { listen, ports, object, keys, datapath, pins, stamped } = verb;
    check_rights("a message gate", "its program goes into the kernel, at the interface")?;
    let role = datapath.map(Role::Gates);
    let keys = keys.as_deref().zip(role).map(|(folder, role)| Identity::load(folder, role)).transpose()?;
    // A folder in no such file system becomes one.
    if !holds_pins(pins) {
        mount_pins(pins)?;
    }
    let compiled = pins_object(object.as_deref())?;
    let served = Served {
        listen: *listen,
        ports: ports.clone(),
        object: compiled.path().to_owned(),
        pins: pins.clone(),
        stamped: *stamped,
    };
    let agent = Agent::new(&served)?;
    agent.serve(*listen, keys.as_ref(), || {
        // Who does not read it does not wait for it.
        let _ = out.write_all(READY_LINE.as_bytes()).and_then(|()| out.flush());
    })
}

/// The compiled program: one that is there, or one of our own that is removed again.
enum Object {
    There(PathBuf),
    Own(PathBuf),
}

impl Object {
    fn path(&self) -> &Path {
        match self {
            Self::There(path) | Self::Own(path) => path,
        }
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        if let Self::Own(path) = self {
            let _ = std::fs::remove_file(path);
        }
    }
}

fn pins_object(object: Option<&Path>) -> Result<Object, Error> {
    if let Some(object) = object {
        return Ok(Object::There(object.to_owned()));
    }
    let own = Object::Own(std::env::temp_dir().join(format!("punctual-gate-{}.o", std::process::id())));
    compile(own.path())?;
    Ok(own)
}
