//! `punctual grm discover`: which switches, links and hosts there are, as a proposal for a network file.
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use tracing::Level;

use super::{OPENFLOW, load_keys, parse_listen};
use crate::exit::{Failure, Outcome};
use crate::stop::Stop;

/// Command line of `punctual grm discover`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    punctual grm discover --listen 192.0.2.1 -o ward.toml      looks for half a minute, and writes a network file\n  \
    punctual plan ward.toml                                    what it says\n\n\
    Switches are to have this host as their controller, and no manager may run meanwhile. Hosts are found when they speak ARP or LLDP: a `ping` to any\n\
    address makes one do so. The file is a proposal: models of switches cannot be asked for, and are marked. See docs/grm.md.\n\n\
    Exit code: 0 a file is written; 1 no switch with a host was found, or what was found is no network.")]
pub(super) struct Arguments {
    /// Where switches connect; may be repeated. Default: port 6653 of all addresses of this host.
    #[arg(long, value_name = "ADDRESS[:PORT]", value_parser = parse_listen)]
    listen: Vec<SocketAddr>,
    /// How long it looks.
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=3_600))]
    seconds: u64,
    /// The file to write. Default: standard output.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The model that the file gives all switches.
    #[arg(long, value_name = "NAME", default_value = "open-vswitch")]
    model: String,
    /// The folder with authority.pem, manager.pem and manager.key: switches connect by TLS 1.3, and show who they are.
    #[arg(long, value_name = "FOLDER")]
    keys: Option<PathBuf>,
}

/// Looks, and writes what was found.
pub(super) fn run(arguments: &Arguments, stop: &Stop) -> Result<Outcome, Failure> {
    crate::log::to_stderr(Level::INFO);
    let mut listen = arguments.listen.clone();
    if listen.is_empty() {
        listen.push((Ipv4Addr::UNSPECIFIED, OPENFLOW).into());
    }
    let keys = load_keys(arguments.keys.as_deref())?;
    let time = Duration::from_secs(arguments.seconds);
    let found = controller::discover(&listen, keys, time, &|| stop.requested())
        .map_err(|error| Failure::System(error.to_string()))?;
    tracing::info!(
        "found: {} switches, {} links between them, {} hosts",
        found.switches.len(),
        found.links.len(),
        found.hosts.len()
    );
    found.odd.iter().for_each(|odd| tracing::warn!("{odd}"));
    let text = match controller::proposal(&found, &arguments.model) {
        Ok(text) => text,
        Err(why) => {
            eprintln!("{why}");
            return Ok(Outcome::BadNews);
        }
    };
    write(arguments.output.as_deref(), &text)?;
    Ok(Outcome::Done)
}

fn write(file: Option<&Path>, text: &str) -> Result<(), Failure> {
    let Some(file) = file else {
        crate::output::print(format_args!("{}", text.trim_end()));
        return Ok(());
    };
    std::fs::write(file, text)
        .map_err(|error| Failure::System(format!("{} cannot be written: {error}", file.display())))
}
