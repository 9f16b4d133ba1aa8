//! The verb `lab` of the command line.
use std::ffi::OsString;
use std::io::Write;
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::{Args, Subcommand};
use network::Network;
use system::Error;

use crate::lab::{Lab, Options};
use crate::layout::{Carrying, Layout};
use crate::list::{Condition, list};
use crate::wan::{How, WanFile, WanLab, WanLayout, cut};

/// It was done.
pub const DONE: u8 = 0;
/// It was done, and the answer is bad news: there is no such lab.
pub const BAD_NEWS: u8 = 1;
/// The network file or an argument is wrong.
pub const WRONG: u8 = 2;
/// It could not be done.
pub const FAILED: u8 = 3;

/// Builds and removes real test networks on this machine.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:\n  \
    punctual lab up line.toml                       builds the network of a file; it is called as the file, line\n  \
    punctual lab run line a -- punctual ls          runs a program on host a\n  \
    punctual lab list                               the labs of this machine\n  \
    punctual lab down line                          removes it\n\n\
    Needs root. Exit code: 0 done; 1 there is no such lab; 2 wrong command line or network file; 3 it could not be done;\n\
    `lab run` has the exit code of its program. See docs/lab.md.")]
pub struct LabArguments {
    #[command(subcommand)]
    verb: LabVerb,
}

#[derive(Subcommand, Clone, Debug)]
enum LabVerb {
    /// Builds the network of a file.
    #[command(after_help = "Examples:\n  \
        punctual lab up line.toml                    the lab is called line\n  \
        punctual lab up line.toml --name second      the same network once more, beside it\n  \
        punctual lab up midas.toml --emulated        with links that are exact")]
    Up {
        /// The network file (TOML), as for `punctual plan`
        network: PathBuf,
        /// What the lab is called; else as the file
        #[arg(long)]
        name: Option<String>,
        /// Carries frames by a program in place of the kernel's shapers: links are exact then, and not faster than some 100 Mb/s
        #[arg(long)]
        emulated: bool,
        /// A folder that `punctual grm keys` has made: switches and gates speak TLS with the manager
        #[arg(long, value_name = "FOLDER")]
        keys: Option<PathBuf>,
    },
    /// Runs a program on a host of a lab.
    #[command(after_help = "Examples:\n  \
        punctual lab run line a -- punctual ls            who is heard at host a\n  \
        punctual lab run line a -- ping -c 3 10.1.0.2     any program of this machine\n\n\
        The exit code is that of the program.")]
    Run {
        /// The lab
        name: String,
        /// The host
        host: String,
        /// The program with its arguments
        #[arg(last = true, required = true)]
        command: Vec<OsString>,
    },
    /// Removes a lab, however much of it is there.
    #[command(after_help = "Examples:\n  \
        punctual lab down line     this one\n  \
        punctual lab down --all    all of this machine")]
    Down {
        /// The lab
        #[arg(required_unless_present = "all")]
        name: Option<String>,
        /// Removes all labs of this machine
        #[arg(long, conflicts_with = "name")]
        all: bool,
    },
    /// Lists the labs of this machine.
    #[command(after_help = "Examples:\n  \
        punctual lab list           their names, and which are alive\n  \
        punctual lab list --json    for programs")]
    List {
        /// Writes the list as JSON
        #[arg(long)]
        json: bool,
    },
    /// Builds and cuts a network of several domains.
    #[command(
        subcommand,
        after_help = "Examples:\n  \
            punctual lab wan up line.toml                        builds the domains of a file; the lab is called line\n  \
            punctual lab wan cut line 1 --how silent             cuts its link 1\n\n\
            What files say: docs/lab.md."
    )]
    Wan(WanVerb),
    /// Is the links of a lab; labs start it.
    #[command(hide = true)]
    Links {
        /// What they are (JSON)
        description: PathBuf,
        /// Where it tells what the queues have counted
        #[arg(long, value_name = "PATH")]
        socket: PathBuf,
    },
}

#[derive(Subcommand, Clone, Debug)]
enum WanVerb {
    /// Builds the domains of a file, with a router each.
    #[command(after_help = "Examples:\n  \
        punctual lab wan up line.toml               the lab is called line\n  \
        punctual lab run line a -- ping 10.3.0.2    from a host of it\n  \
        punctual lab down line                      removes it")]
    Up {
        /// The file (TOML)
        file: PathBuf,
        /// What the lab is called; else as the file
        #[arg(long)]
        name: Option<String>,
    },
    /// Cuts a link between domains, or joins it again.
    #[command(after_help = "Examples:\n  \
        punctual lab wan cut line 1 --how silent    nothing passes, and both ends believe that the link is up\n  \
        punctual lab wan cut line 1 --how joined    it works again")]
    Cut {
        /// The lab
        name: String,
        /// The number of the link in the file
        link: u32,
        /// How
        #[arg(long, value_enum)]
        how: How,
    },
}

/// Does what `lab` is asked for; the result is the exit code.
pub fn run_lab(arguments: &LabArguments, out: &mut dyn Write, told: &mut dyn Write) -> u8 {
    let done = match &arguments.verb {
        LabVerb::Up { network, name, emulated, keys } => {
            let carrying = if *emulated { Carrying::Emulated } else { Carrying::Kernel };
            let options = Options { carrying, keys: keys.clone(), ..Options::default() };
            up(network, name.as_deref(), &options, out, told)
        }
        LabVerb::Run { name, host, command } => run(name, host, command).map(|()| DONE),
        LabVerb::Down { name, all } => down(name.as_deref(), *all, out),
        LabVerb::List { json } => show(*json, out),
        LabVerb::Wan(WanVerb::Up { file, name }) => wan_up(file, name.as_deref(), out),
        LabVerb::Wan(WanVerb::Cut { name, link, how }) => {
            cut(name, *link, *how).map(|()| DONE).map_err(failed)
        }
        LabVerb::Links { description, socket } => {
            links(description, socket, out).map(|()| DONE).map_err(failed)
        }
    };
    code(done, told)
}

type Done = Result<u8, (u8, Error)>;

fn failed(error: Error) -> (u8, Error) {
    (FAILED, error)
}

fn code(done: Done, told: &mut dyn Write) -> u8 {
    done.unwrap_or_else(|(code, error)| {
        // If even that cannot be written, the exit code says it.
        let _ = writeln!(told, "punctual: {error}");
        code
    })
}

fn up(path: &Path, name: Option<&str>, options: &Options, out: &mut dyn Write, told: &mut dyn Write) -> Done {
    let wrong = |error: Error| (WRONG, error);
    let network = Network::open(path).map_err(|problem| wrong(Error::new(problem.to_string(), "")))?;
    let name = name.map_or_else(|| name_of(path), str::to_owned);
    // What cannot be built at all is the file's fault, not the machine's.
    Layout::new(&network, &name, options.carrying).map_err(wrong)?;
    on_interrupt(options);
    let lab = Lab::up_with(&network, &name, options).map_err(failed)?;
    for warning in lab.warnings() {
        let _ = writeln!(told, "punctual: {warning}");
    }
    let record = lab.keep();
    if !record.real_time {
        let text = "switches have no real-time priority: under load they are late and lose frames; \
                    as root with CAP_SYS_NICE they get it";
        let _ = writeln!(told, "punctual: {text}");
    }
    let _ = writeln!(
        out,
        "lab {}: {} hosts, {} switches",
        record.name,
        record.hosts.len(),
        record.switches.len()
    );
    for host in &record.hosts {
        let manager = if host.manager { "  manager" } else { "" };
        let addresses: Vec<String> = host.addresses.iter().map(ToString::to_string).collect();
        let _ = writeln!(out, "  {}  {}{manager}", host.name, addresses.join(" "));
    }
    Ok(DONE)
}

fn wan_up(path: &Path, name: Option<&str>, out: &mut dyn Write) -> Done {
    let wrong = |error: Error| (WRONG, error);
    let text = std::fs::read_to_string(path).map_err(Error::system(path.display())).map_err(wrong)?;
    let file = WanFile::read(&path.display().to_string(), &text).map_err(wrong)?;
    let name = name.map_or_else(|| name_of(path), str::to_owned);
    WanLayout::new(&file, &name).map_err(wrong)?;
    let interrupted = on_interrupt(&Options::default());
    let record = WanLab::up(&file, &name, &interrupted).map_err(failed)?.keep();
    let (domains, links) = (file.domains.len(), record.borders.len());
    let _ =
        writeln!(out, "lab {}: {domains} domains, {links} links, {} hosts", record.name, record.hosts.len());
    for host in &record.hosts {
        let addresses: Vec<String> = host.addresses.iter().map(ToString::to_string).collect();
        let _ = writeln!(out, "  {}  {}", host.name, addresses.join(" "));
    }
    Ok(DONE)
}

/// What a lab is called if nothing else is said: as its file.
fn name_of(path: &Path) -> String {
    path.file_stem().map(|stem| stem.to_string_lossy().to_lowercase()).unwrap_or_default()
}

/// What becomes true with Ctrl-C. Handled once for each process; without it the lab is left over, and `down` removes it.
fn on_interrupt(options: &Options) -> Arc<AtomicBool> {
    let interrupted = Arc::clone(&options.interrupted);
    let _ = ctrlc::set_handler(move || interrupted.store(true, Ordering::Relaxed));
    Arc::clone(&options.interrupted)
}

fn run(name: &str, host: &str, command: &[OsString]) -> Result<(), (u8, Error)> {
    crate::tools::check_rights().map_err(failed)?;
    let lab = Lab::find(name).map_err(failed)?;
    let Some((program, arguments)) = command.split_first() else { return Ok(()) };
    let mut command = lab.command(host, program).map_err(failed)?;
    let error = command.args(arguments).exec();
    Err(failed(Error::new(format!("ip: {error}"), "apt-get install iproute2")))
}

fn down(name: Option<&str>, all: bool, out: &mut dyn Write) -> Done {
    crate::tools::check_rights().map_err(failed)?;
    let names = match name {
        Some(name) if !all => vec![name.to_owned()],
        _ => crate::place::names().map_err(failed)?,
    };
    let mut code = DONE;
    for name in &names {
        let removed = crate::remove::down(name).map_err(failed)?;
        if !removed && !all {
            let _ = writeln!(out, "there is no lab \"{name}\"");
            code = BAD_NEWS;
        } else {
            let _ = writeln!(out, "removed {name}");
        }
    }
    Ok(code)
}

fn show(json: bool, out: &mut dyn Write) -> Done {
    let labs = list().map_err(failed)?;
    if json {
        let text = serde_json::to_string_pretty(&labs);
        let text = text.map_err(|error| failed(Error::new(error.to_string(), "")))?;
        let _ = writeln!(out, "{text}");
        return Ok(DONE);
    }
    if labs.is_empty() {
        let _ = writeln!(out, "no labs");
    }
    for lab in labs {
        let condition = match lab.condition {
            Condition::Alive => "alive".to_owned(),
            Condition::Changing => "being built or removed".to_owned(),
            Condition::LeftOver => format!("left over: punctual lab down {} removes it", lab.name),
        };
        let (hosts, switches) = (lab.hosts.len(), lab.switches.len());
        let _ =
            writeln!(out, "{}  {}  {hosts} hosts, {switches} switches  {condition}", lab.name, age(lab.age));
    }
    Ok(DONE)
}

fn age(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7_200 => format!("{} min", seconds / 60),
        _ => format!("{} h", seconds / 3_600),
    }
}

fn links(description: &Path, socket: &Path, out: &mut dyn Write) -> Result<(), Error> {
    let text = std::fs::read(description).map_err(Error::system(description.display()))?;
    let wrong = |error: serde_json::Error| Error::new(format!("{}: {error}", description.display()), "");
    let description = serde_json::from_slice(&text).map_err(wrong)?;
    let listener = UnixListener::bind(socket).map_err(Error::system(socket.display()))?;
    crate::emulator::run(&description, &listener, || ready(out))
}

fn ready(out: &mut dyn Write) {
    // Who does not read it does not wait for it.
    let _ = out.write_all(gate_agent::READY_LINE.as_bytes()).and_then(|()| out.flush());
}
