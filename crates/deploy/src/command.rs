//! The command line, and what each verb answers.
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::PathBuf;

use assembly::{Difference, Manifest, Placed, Plan, Step, Version, difference, steps};
use clap::{Args, Subcommand};

use crate::admit::{self, AdmitArguments};
use crate::export::{self, ExportArguments};
use crate::files::Loaded;
use crate::graph::{self, GraphArguments};
use crate::hosts::{self, At, ManagerArguments, NodeArguments};
use crate::import::{self, ImportArguments};
use crate::measure::{self, MeasureArguments};
use crate::{describe, launch, page, replay, shown, signatures, status};

/// It was done, and nothing is wrong.
pub(crate) const DONE: u8 = 0;
/// It was done, and the answer is bad news: a plan makes no sense, plans differ.
pub(crate) const BAD_NEWS: u8 = 1;
/// The command line is wrong, or names what is not there.
pub(crate) const WRONG: u8 = 2;
/// A file cannot be read or written.
pub(crate) const FAILED: u8 = 3;

/// Why there is no answer: the exit code, and what is told.
pub(crate) type Failure = (u8, String);

/// Checks, explains, draws, compares, launches and exports deployment plans of components.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:\n  \
    punctual deploy validate tracker.toml             what is wrong, with line, caret and remedy\n  \
    punctual deploy admit tracker.toml                whether its chains keep their limits, and what to change\n  \
    punctual deploy graph tracker.toml --html t.html  a picture of it, with bounds of its chains\n  \
    punctual deploy explain tracker.toml fix          what carries a connection, and which QoS holds from where\n  \
    punctual deploy import plan.cdp -o tracker.toml   a plan from descriptors in XML\n\n\
    Exit code: 0 done; 1 a plan makes no sense, or plans differ; 2 wrong command line; 3 a file cannot be read or written.\n\
    See docs/deploy-plan.md.")]
pub struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand, Clone, Debug)]
enum Verb {
    /// Says what is wrong with a plan, where, and what to do
    #[command(after_help = "Examples:\n  \
        punctual deploy validate tracker.toml               one plan, with the manifests that it names\n  \
        punctual deploy validate tracker.toml plant.toml    what both need of their hosts at the same time, too")]
    Validate {
        /// Plans (TOML or JSON); several are to run at the same time
        #[arg(required = true, value_name = "PLAN")]
        plans: Vec<PathBuf>,
    },
    /// Says for each connection what carries it and why, and for each quality of service the value that holds and where it is said
    #[command(after_help = "Examples:\n  \
        punctual deploy explain tracker.toml          all connections\n  \
        punctual deploy explain tracker.toml fix      one of them")]
    Explain {
        /// The plan (TOML or JSON)
        plan: PathBuf,
        /// A connection; else all
        connection: Option<String>,
        /// Also the qualities of which nothing is said, with their defaults
        #[arg(long)]
        all: bool,
    },
    /// Says what each host, process and container has to install, in which order, and what it provides and needs
    #[command(after_help = "Examples:\n  \
        punctual deploy split tracker.toml                what each host has to do\n  \
        punctual deploy split tracker.toml --host n1      one of them")]
    Split {
        /// The plan (TOML or JSON)
        plan: PathBuf,
        /// One host; else all
        #[arg(long, value_name = "NAME")]
        host: Option<String>,
    },
    /// Says what differs between two plans, and the steps from one to the other
    #[command(after_help = "Examples:\n  \
        punctual deploy diff running.toml next.toml       what would be done, step by step\n  \
        punctual deploy diff next.toml --manager east --keys keys    from the plan that holds on several hosts")]
    Diff {
        /// The plan that is there, and the one that is to be; with --manager the latter alone
        #[arg(required = true, num_args = 1..=2, value_name = "PLAN")]
        plans: Vec<PathBuf>,
        #[command(flatten)]
        at: At,
    },
    /// Says whether chains keep their limits, what is missing, and what to change
    Admit(AdmitArguments),
    /// Says how long handlers of a running deployment took, and writes it into its plan
    Measure(MeasureArguments),
    /// Draws plans, with bounds of their chains, as SVG or as a page
    Graph(GraphArguments),
    /// Writes the manifest of a program of component types
    #[command(after_help = "Examples:\n  \
        punctual deploy describe bin/sense -o sense.json     for the manifests of a plan")]
    Describe {
        /// The program
        artefact: PathBuf,
        /// Writes it here, and not to standard output
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Gives a component what was recorded of it, in virtual time, and compares what it publishes
    #[command(after_help = "Examples:\n  \
        PUNCTUAL_RECORD=gps=gps.mcap punctual deploy launch tracker.toml   records a component while the plan runs\n  \
        punctual deploy replay bin/tracker gps.mcap                          gives it the same again\n\n\
        Exit code: 0 all that it publishes is the same, byte for byte; 1 it is not.")]
    Replay {
        /// The program that has the component
        artefact: PathBuf,
        /// The recording (MCAP)
        recording: PathBuf,
    },
    /// Starts the processes of a plan that are of this host, and looks after them until it is told to stop
    #[command(after_help = "Examples:\n  \
        punctual deploy launch tracker.toml               Ctrl-C, or punctual deploy stop, ends all of it in reverse order\n  \
        punctual deploy launch tracker.toml --host n1     of a plan with several hosts, what is on this one\n  \
        punctual deploy launch plant.toml --manager east --keys keys    on all of its hosts; the command returns then\n  \
        PUNCTUAL_MEASURE=1 punctual deploy launch tracker.toml --unproved      with processor times of handlers, for deploy measure\n  \
        PUNCTUAL_RECORD=gps=/tmp/gps.mcap punctual deploy launch tracker.toml  with a recording of the component gps, for deploy replay\n\n\
        Processes of the plan inherit the environment of launch. Several components are recorded by PUNCTUAL_RECORD=ONE=FILE:OTHER=FILE.\n\n\
        Exit code: 0 it was stopped; 1 it was not launched, and nothing is left of it.")]
    Launch {
        /// The plan (TOML or JSON)
        plan: PathBuf,
        /// Which host of the plan this is; may be left out if there is one only
        #[arg(long, value_name = "NAME", conflicts_with = "manager")]
        host: Option<String>,
        #[command(flatten)]
        at: At,
        /// Launches and applies also plans with chains that are refused or have no bound
        #[arg(long)]
        unproved: bool,
    },
    /// Says what runs: processes, containers and components with their states, counts and rates
    #[command(after_help = "Examples:\n  \
        punctual deploy status                    all that runs\n  \
        punctual deploy status tracker-1 --json   one deployment, for programs\n\n\
        Exit code: 0 all processes run; 1 some do not.")]
    Status {
        /// The deployment: the id of its plan, or the plan's file
        #[arg(value_name = "DEPLOYMENT")]
        deployment: Option<String>,
        #[command(flatten)]
        at: At,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Serves a live page of what runs: rates, latencies against their bounds, restarts
    #[command(after_help = "Examples:\n  \
        punctual deploy page                        all that runs on this host, at http://127.0.0.1:8090/\n  \
        punctual deploy page tracker-1 --listen 127.0.0.1:8091     one deployment, elsewhere\n  \
        punctual deploy page --manager east --keys keys            all hosts of an execution manager\n\n\
        The page is read, and changes nothing. From another host: ssh -L 8090:127.0.0.1:8090 HOST.")]
    Page {
        /// The deployment: the id of its plan, or the plan's file; else all
        #[arg(value_name = "DEPLOYMENT")]
        deployment: Option<String>,
        #[command(flatten)]
        at: At,
        /// Where the page is: an address of loopback
        #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8090")]
        listen: SocketAddr,
    },
    /// Goes on from what runs to another plan: all of it, or nothing
    #[command(after_help = "Examples:\n  \
        punctual deploy apply next.toml     what is the same in both goes on undisturbed; diff says what is not\n\n\
        Exit code: 0 it is applied; 1 it is not, and the plan before goes on.")]
    Apply {
        /// The plan (TOML or JSON), with the id of what runs
        plan: PathBuf,
        #[command(flatten)]
        at: At,
        /// Also a plan with chains that are refused or have no bound; on one host, its launch says so
        #[arg(long, requires = "manager")]
        unproved: bool,
    },
    /// Goes on to another mode of the plan: all of it, or nothing
    #[command(after_help = "Examples:\n  \
        punctual deploy mode tracker-1 landing     components that both modes have go on undisturbed\n\n\
        Exit code: 0 the mode holds; 1 it does not, and the mode before goes on.")]
    Mode {
        /// The deployment: the id of its plan, or the plan's file
        #[arg(value_name = "DEPLOYMENT")]
        deployment: String,
        /// A mode of its plan
        #[arg(value_name = "MODE")]
        mode: String,
        #[command(flatten)]
        at: At,
    },
    /// Lets a connection of what runs carry nothing until it is resumed
    #[command(after_help = "Examples:\n  \
        punctual deploy suspend tracker-1 position     what is published there from now on is dropped\n\n\
        Exit code: 0 it is suspended; 1 it is not, since it cannot be, or is already.")]
    Suspend(ConnectionArguments),
    /// Lets a connection go on that is suspended
    #[command(after_help = "Examples:\n  \
        punctual deploy resume tracker-1 position      what is published from now on arrives\n\n\
        Exit code: 0 it is resumed; 1 it is not, since it was not suspended.")]
    Resume(ConnectionArguments),
    /// Ends what was launched, in reverse order
    #[command(after_help = "Examples:\n  \
        punctual deploy stop tracker-1       by the id of the plan, or by its file")]
    Stop {
        /// The deployment: the id of its plan, or the plan's file
        #[arg(value_name = "DEPLOYMENT")]
        deployment: String,
        #[command(flatten)]
        at: At,
    },
    /// Runs the execution manager: it leads the node managers of several hosts, and answers commands with --manager
    Manager(ManagerArguments),
    /// Runs the node manager of this host: it does what the execution manager wants
    Node(NodeArguments),
    /// Signs programs, for hosts that start no others
    #[command(after_help = "Examples:\n  \
        punctual deploy sign programs/tracker --keys keys     writes tracker.signature and tracker.signer.pem beside it")]
    Sign {
        /// The programs
        #[arg(required = true)]
        programs: Vec<PathBuf>,
        /// The folder with authority.pem, operator-NAME.pem and operator-NAME.key
        #[arg(long, value_name = "FOLDER")]
        keys: PathBuf,
        /// The operator whose key it is, if the folder has several
        #[arg(long, value_name = "NAME")]
        operator: Option<String>,
    },
    /// Writes the processes of a plan as units of systemd or manifests of Kubernetes, which start and restart them then
    Export(ExportArguments),
    /// Makes a plan of descriptors in XML, and lists what has no place in one
    Import(ImportArguments),
    /// Prints the JSON schema of plans or manifests
    #[command(after_help = "Examples:\n  \
        punctual deploy schema plan > deploy-plan.schema.json     for an editor that completes keys")]
    Schema {
        /// Of what
        #[arg(value_parser = ["plan", "manifest"])]
        of: String,
    },
}

/// A connection of a deployment.
#[derive(Args, Clone, Debug)]
pub(crate) struct ConnectionArguments {
    /// The deployment: the id of its plan, or the plan's file
    #[arg(value_name = "DEPLOYMENT")]
    deployment: String,
    /// A connection of its plan
    #[arg(value_name = "CONNECTION")]
    connection: String,
    #[command(flatten)]
    at: At,
}

/// Suspends a connection, or resumes it.
fn suspend(of: &ConnectionArguments, is_suspended: bool, out: &mut dyn Write) -> Result<u8, Failure> {
    let ConnectionArguments { deployment, connection, at } = of;
    match at.manager() {
        Some(_) => hosts::suspend(at, deployment, connection, is_suspended, out),
        None => status::suspend(deployment, connection, is_suspended, out),
    }
}

/// Does what the command line says; the result is the exit code.
pub fn run(arguments: &Arguments, out: &mut dyn Write, told: &mut dyn Write) -> u8 {
    let done = match &arguments.verb {
        Verb::Validate { plans } => validate(plans, out, told),
        Verb::Explain { plan, connection, all } => explain(plan, connection.as_deref(), *all, out),
        Verb::Split { plan, host } => split(plan, host.as_deref(), out),
        Verb::Diff { plans, at } => match (plans.as_slice(), at.manager()) {
            ([new], Some(_)) => hosts::diff(at, new, out),
            ([old, new], None) => diff(old, new, out),
            ([_], None) => Err((WRONG, "name two plans, or one and --manager".to_owned())),
            _ => Err((WRONG, "with --manager one plan is named: that which is to be".to_owned())),
        },
        Verb::Admit(arguments) => admit::run(arguments, out, told),
        Verb::Measure(arguments) => measure::run(arguments, out),
        Verb::Graph(arguments) => graph::run(arguments, out),
        Verb::Replay { artefact, recording } => replay::run(artefact, recording, out),
        Verb::Describe { artefact, output } => describe::run(artefact, output.as_ref(), out),
        Verb::Launch { plan, at, unproved, .. } if at.manager().is_some() => {
            hosts::launch(at, plan, *unproved, out)
        }
        Verb::Launch { plan, host, unproved, .. } => launch::run(plan, host.as_deref(), *unproved, out, told),
        Verb::Status { deployment, at, json } if at.manager().is_some() => {
            hosts::status(at, deployment.as_deref(), *json, out, told)
        }
        Verb::Status { deployment, json, .. } => status::status(deployment.as_deref(), *json, out, told),
        Verb::Page { deployment, at, listen } => page::run(deployment.as_deref(), at, *listen, out),
        Verb::Apply { plan, at, unproved } if at.manager().is_some() => {
            hosts::apply(at, plan, *unproved, out)
        }
        Verb::Apply { plan, .. } => status::apply(plan, out),
        Verb::Mode { deployment, mode, at } if at.manager().is_some() => {
            hosts::mode(at, deployment, mode, out)
        }
        Verb::Mode { deployment, mode, .. } => status::mode(deployment, mode, out),
        Verb::Suspend(arguments) => suspend(arguments, true, out),
        Verb::Resume(arguments) => suspend(arguments, false, out),
        Verb::Stop { deployment, at } if at.manager().is_some() => hosts::stop(at, deployment, out),
        Verb::Stop { deployment, .. } => status::stop(deployment, out),
        Verb::Manager(arguments) => hosts::manager(arguments, out, told),
        Verb::Node(arguments) => hosts::node(arguments, out, told),
        Verb::Sign { programs, keys, operator } => signatures::sign(programs, keys, operator.as_deref(), out),
        Verb::Export(arguments) => export::run(arguments, out, told),
        Verb::Import(arguments) => import::run(arguments, out, told),
        Verb::Schema { of } => {
            let schema = if of == "plan" { Plan::schema() } else { Manifest::schema() };
            print(out, format_args!("{schema}\n")).map(|()| DONE)
        }
    };
    done.unwrap_or_else(|(code, error)| {
        // If even that cannot be written, the exit code says it.
        let _ = writeln!(told, "punctual: {error}");
        code
    })
}

/// Writes; that the reader of a pipe has gone is no failure.
pub(crate) fn print(out: &mut dyn Write, text: std::fmt::Arguments<'_>) -> Result<(), Failure> {
    match out.write_fmt(text) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err((FAILED, error.to_string())),
        _ => Ok(()),
    }
}

fn validate(paths: &[PathBuf], out: &mut dyn Write, told: &mut dyn Write) -> Result<u8, Failure> {
    let mut wrong = false;
    let mut whole = Vec::new();
    for path in paths {
        let loaded = match Loaded::open(path)? {
            Ok(loaded) => loaded,
            Err(problems) => {
                wrong = true;
                print(told, format_args!("{problems}"))?;
                continue;
            }
        };
        let problems = loaded.plan.check(loaded.source(), &loaded.places, &loaded.types);
        if problems.is_empty() {
            shown::summary(&loaded, out)?;
            for note in loaded.plan.notes(loaded.source(), &loaded.places, &loaded.types) {
                print(out, format_args!("note: {}\n", loaded.source().show(&note)))?;
            }
            whole.push(loaded);
        } else {
            wrong = true;
            print(told, format_args!("{}", loaded.show(&problems)))?;
        }
    }
    let placed: Vec<Placed<'_>> = whole
        .iter()
        .map(|loaded| Placed { plan: &loaded.plan, source: loaded.source(), places: &loaded.places })
        .collect();
    if placed.len() > 1 {
        for problem in Plan::check_together(&placed) {
            wrong = true;
            let source = whole.iter().map(Loaded::source).find(|source| source.file == problem.file);
            let text = source.map_or_else(|| problem.to_string(), |source| source.show(&problem));
            print(told, format_args!("{text}\n"))?;
        }
    }
    Ok(if wrong { BAD_NEWS } else { DONE })
}

fn explain(
    path: &std::path::Path,
    connection: Option<&str>,
    all: bool,
    out: &mut dyn Write,
) -> Result<u8, Failure> {
    let loaded = Loaded::sound(path)?;
    if let Some(name) = connection.filter(|name| !loaded.plan.connections.contains_key(*name)) {
        return Err((WRONG, shown::no_such("connection", name, loaded.plan.connections.keys())));
    }
    for explained in loaded.plan.explain(&loaded.types, connection) {
        shown::explained(&explained, all, out)?;
    }
    Ok(DONE)
}

fn split(path: &std::path::Path, host: Option<&str>, out: &mut dyn Write) -> Result<u8, Failure> {
    let loaded = Loaded::sound(path)?;
    let parts = loaded.plan.split(&loaded.types);
    let names: Vec<&String> = parts.iter().filter_map(|part| part.host.as_ref()).collect();
    if let Some(name) = host.filter(|name| !names.iter().any(|known| known == name)) {
        return Err((WRONG, shown::no_such("host", name, names)));
    }
    for part in parts.iter().filter(|part| host.is_none() || part.host.as_deref() == host) {
        shown::host(part, out)?;
    }
    Ok(DONE)
}

fn diff(old: &std::path::Path, new: &std::path::Path, out: &mut dyn Write) -> Result<u8, Failure> {
    let (old, new) = (Loaded::sound(old)?, Loaded::sound(new)?);
    let [old, new] = [&old, &new].map(|loaded| Version::new(&loaded.plan, &loaded.types));
    told_difference(&difference(old, new), &steps(old, new), out)
}

/// What differs between two plans, and the steps from one to the other.
pub(crate) fn told_difference(
    differences: &[Difference],
    steps: &[Step],
    out: &mut dyn Write,
) -> Result<u8, Failure> {
    for one in differences {
        shown::difference(one, out)?;
    }
    if !steps.is_empty() {
        print(out, format_args!("\nSteps\n"))?;
    }
    for (index, step) in steps.iter().enumerate() {
        print(out, format_args!("{:>4}  {step}\n", index + 1))?;
    }
    if differences.is_empty() && steps.is_empty() {
        print(out, format_args!("the plans do the same\n"))?;
        return Ok(DONE);
    }
    Ok(BAD_NEWS)
}
