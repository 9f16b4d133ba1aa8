//! How long it takes to launch a hundred components in one process, in four, and in a hundred: from the start of `punctual deploy launch` until
//! all of them are active. Each gives its events to the next; between processes they go by DDS. docs/measurements/components.md has the figures.
//!
//! `cargo build --release --package punctual-deploy --examples`, then
//! `unshare -n sh -c 'ip link set lo up; target/release/examples/launching [rounds]'`
use std::error::Error;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use component_server::Program;
use container::{Component, Consumer, Context, Event, Handle, Lifecycle, Outcome, Publisher};
use dds::DdsType;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// Components of each plan.
const COMPONENTS: usize = 100;
/// How many processes they are in.
const PROCESSES: [usize; 3] = [1, 4, 100];

#[derive(DdsType, Clone, Debug)]
struct Number {
    value: u64,
}
impl Event for Number {}

/// Gives on what it gets.
#[derive(Component)]
struct Stage {
    input: Consumer<Number>,
    output: Publisher<Number>,
}

impl Lifecycle for Stage {}

impl Handle<stage::Input> for Stage {
    fn handle(&mut self, number: &Number, at: &Context) -> Outcome {
        self.output.push(at, &Number { value: number.value + 1 })
    }
}

fn program() -> Program {
    Program::new("launching").component::<Stage>().topic::<Number>("Number")
}

/// The plan of so many processes, in turn of as many components each.
fn plan(processes: usize) -> Result<String, Box<dyn Error>> {
    let mut text = String::from(
        "id = \"launching\"\nmanifests = [\"launching.json\"]\n[host.here]\ncores = 1\n[artefact.own]\n",
    );
    writeln!(text, "location = [{:?}]", std::env::current_exe()?)?;
    for process in 0..processes {
        writeln!(text, "[process.p{process}]\nhost = \"here\"\nartefact = \"own\"")?;
    }
    for stage in 0..COMPONENTS {
        let process = stage * processes / COMPONENTS;
        writeln!(text, "[component.s{stage}]\ntype = \"Stage\"\nprocess = \"p{process}\"")?;
        if stage > 0 {
            let before = stage - 1;
            writeln!(text, "[connection.c{stage}]\nfrom = \"s{before}.output\"\nto = [\"s{stage}.input\"]")?;
        }
    }
    Ok(text)
}

/// Launches the plan in a folder, and ends it once all is active.
fn launched(folder: &Path) -> Result<Duration, Box<dyn Error>> {
    let deploy = std::env::current_exe()?.with_file_name("deploy");
    let begin = Instant::now();
    let mut child = Command::new(&deploy)
        .args(["launch", "plan.toml"])
        .current_dir(folder)
        .env("XDG_RUNTIME_DIR", folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("{}: {error}", deploy.display()))?;
    let lines = BufReader::new(child.stdout.take().ok_or("no output")?).lines();
    let is_active = lines.map_while(Result::ok).any(|line| line.starts_with("launched: "));
    let took = begin.elapsed();
    kill(Pid::from_raw(i32::try_from(child.id())?), Signal::SIGINT)?;
    child.wait()?;
    if is_active { Ok(took) } else { Err("the plan was not launched".into()) }
}

fn run() -> Result<(), Box<dyn Error>> {
    let rounds: usize = std::env::args().nth(1).map(|text| text.parse()).transpose()?.unwrap_or(5);
    let folder = std::env::temp_dir().join(format!("launching-{}", std::process::id()));
    std::fs::create_dir(&folder)?;
    std::fs::write(folder.join("launching.json"), program().manifest())?;
    let mut all: [Vec<Duration>; PROCESSES.len()] = Default::default();
    let mut measure = || -> Result<(), Box<dyn Error>> {
        for _ in 0..rounds {
            for (processes, took) in PROCESSES.into_iter().zip(&mut all) {
                std::fs::write(folder.join("plan.toml"), plan(processes)?)?;
                took.push(launched(&folder)?);
            }
        }
        Ok(())
    };
    let measured = measure();
    std::fs::remove_dir_all(&folder)?;
    measured?;
    println!("{COMPONENTS} components, from the command until all are active, {rounds} rounds in turn");
    println!("| processes | median, ms | least, ms | most, ms |");
    println!("|---|---|---|---|");
    for (processes, took) in PROCESSES.into_iter().zip(&mut all) {
        took.sort_unstable();
        let of = |index: usize| took.get(index).map_or(0.0, |took| took.as_secs_f64() * 1e3);
        let (median, least, most) = (of(took.len() / 2), of(0), of(took.len().saturating_sub(1)));
        println!("| {processes} | {median:.1} | {least:.1} | {most:.1} |");
    }
    Ok(())
}

fn main() -> ExitCode {
    if std::env::args().nth(1).is_some_and(|argument| argument.starts_with("--")) {
        return program().main();
    }
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
