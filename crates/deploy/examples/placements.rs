//! What it costs to have a service at each component, at each container or at the process: latency to the last consumer, threads, memory, and
//! lines of the plan, in turn in one run. docs/measurements/components.md has the figures.
//!
//! `cargo run --release --package punctual-deploy --example placements -- [events] [rounds]`
use std::error::Error;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Release};

use assembly::{Catalogue, Manifest, Named, Placement, Plan};
use component_server::Program;
use container::{Component, Consumer, Context, Event, Handle, Lifecycle, Outcome, Publisher, Tick, Timer};
use diagnostics::Source;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// Containers of the process, and consumers of each.
const CONTAINERS: usize = 4;
const CONSUMERS: usize = 8;

/// An event of 256 bytes.
#[derive(Clone)]
struct Sample([u8; 256]);
impl Event for Sample {}

/// Consumers that have not had the last event, and one more until it is noted how long it took.
static PENDING: AtomicU64 = AtomicU64::new(0);
/// When the last event was pushed, by the clock of contexts; 0 is not yet.
static PUSHED: AtomicU64 = AtomicU64::new(0);
/// Nanoseconds from the last push to the last consumer.
static TOOK: AtomicU64 = AtomicU64::new(0);

/// Pushes an event each period once all have had the one before, and prints how long it took at the end.
#[derive(Component)]
struct Origin {
    tick: Timer,
    out: Publisher<Sample>,
    #[setting]
    events: u32,
    took: Vec<u64>,
}

impl Lifecycle for Origin {}

impl Handle<origin::Tick> for Origin {
    fn handle(&mut self, _: &Tick, at: &Context) -> Outcome {
        if PENDING.load(Acquire) > 0 || self.took.len() > self.events as usize {
            return Ok(());
        }
        if PUSHED.load(Acquire) > 0 {
            self.took.push(TOOK.load(Acquire));
        }
        if self.took.len() > self.events as usize {
            // The first tenth is for caches and threads to get warm.
            let mut warm = self.took.split_off(self.took.len() / 10);
            warm.sort_unstable();
            let of = |share: usize| warm.get((warm.len() - 1) * share / 100).copied().unwrap_or(0);
            println!("{} {}", of(50), of(99));
            return Ok(());
        }
        PENDING.store((CONTAINERS * CONSUMERS + 1) as u64, Release);
        PUSHED.store(at.now(), Release);
        self.out.push(at, &Sample([1; 256]))
    }
}

#[derive(Component)]
struct Taker {
    input: Consumer<Sample>,
    sum: u64,
}

impl Lifecycle for Taker {}

impl Handle<taker::Input> for Taker {
    fn handle(&mut self, sample: &Sample, at: &Context) -> Outcome {
        self.sum = self.sum.wrapping_add(sample.0.iter().map(|byte| u64::from(*byte)).sum());
        if PENDING.fetch_sub(1, AcqRel) == 2 {
            TOOK.store(at.now().saturating_sub(PUSHED.load(Acquire)), Release);
            PENDING.store(0, Release);
        }
        Ok(())
    }
}

fn program() -> Program {
    Program::new("placements").component::<Origin>().component::<Taker>()
}

/// The plan of one process whose components are served by services at this place. Says also how many services there are.
fn plan(placement: Placement, events: usize) -> Result<(String, usize), Box<dyn Error>> {
    let mut text = String::from("id = \"placements\"\n[host.here]\n[process.p]\nhost = \"here\"\n");
    let mut places: Named<Vec<String>> = Named::new();
    for container in 0..CONTAINERS {
        writeln!(
            text,
            "[container.k{container}]\nprocess = \"p\"\nlanes.work = {{ threads = 1 }}\nlane = \"work\""
        )?;
        for consumer in 0..CONSUMERS {
            let name = format!("c{container}-{consumer}");
            writeln!(
                text,
                "[component.{name}]\ntype = \"Taker\"\nprocess = \"p\"\ncontainer = \"k{container}\""
            )?;
            let place = match placement {
                Placement::Component => name.clone(),
                Placement::Container => format!("k{container}"),
                Placement::Server => "p".to_owned(),
            };
            places.entry(place).or_default().push(format!("\"{name}.input\""));
        }
    }
    writeln!(text, "[component.origin]\ntype = \"Origin\"\nprocess = \"p\"\nsettings.events = {events}")?;
    writeln!(text, "port.tick.period = \"500 us\"")?;
    for (place, to) in &places {
        writeln!(
            text,
            "[service.at-{place}]\nkind = \"channel\"\nplacement = \"{placement}\"\nat = \"{place}\""
        )?;
        writeln!(text, "[connection.to-{place}]\nfrom = \"origin.out\"\nto = [{}]", to.join(", "))?;
        writeln!(text, "service = \"at-{place}\"")?;
    }
    Ok((text, places.len()))
}

/// A plan that makes no sense is not measured.
fn check(text: &str) -> Result<(), Box<dyn Error>> {
    let source = Source { file: "the plan", text };
    let manifest = program().manifest();
    let all = |problems: Vec<diagnostics::Problem>| {
        problems.iter().map(|problem| source.show(problem)).collect::<Vec<_>>().join("\n")
    };
    let manifest = Manifest::read(Source { file: "the manifest", text: &manifest }).map_err(all)?;
    let types = Catalogue::of([("placements".to_owned(), manifest)]).map_err(|_| "two types of one name")?;
    let (plan, places) = Plan::read(source).map_err(all)?;
    let problems = plan.check(source, &places, &types);
    if problems.is_empty() { Ok(()) } else { Err(all(problems).into()) }
}

/// What one process has shown.
#[derive(Clone, Copy, Default)]
struct Shown {
    median: u64,
    most: u64,
    threads: u64,
    kibibytes: u64,
}

fn line_of(child: &mut Child) -> Result<String, Box<dyn Error>> {
    let mut line = String::new();
    BufReader::new(child.stdout.take().ok_or("no output")?).read_line(&mut line)?;
    Ok(line)
}

fn measured(path: &Path) -> Result<Shown, Box<dyn Error>> {
    let order = format!("--serve=p@{}", path.display());
    let mut child = Command::new(std::env::current_exe()?).arg(order).stdout(Stdio::piped()).spawn()?;
    let shown = line_of(&mut child).and_then(|line| {
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id()))?;
        let number = |key: &str| -> Option<u64> {
            status.lines().find_map(|line| line.strip_prefix(key))?.split_whitespace().next()?.parse().ok()
        };
        let (median, most) = line.trim().split_once(' ').ok_or("the process has ended")?;
        Ok(Shown {
            median: median.parse()?,
            most: most.parse()?,
            threads: number("Threads:").ok_or("no threads")?,
            kibibytes: number("VmRSS:").ok_or("no memory")?,
        })
    });
    kill(Pid::from_raw(i32::try_from(child.id())?), Signal::SIGTERM)?;
    child.wait()?;
    shown
}

fn median(all: &[Shown], of: impl Fn(&Shown) -> u64) -> u64 {
    let mut values: Vec<u64> = all.iter().map(of).collect();
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or(0)
}

fn run() -> Result<(), Box<dyn Error>> {
    let number = |place: usize, default: usize| -> Result<usize, Box<dyn Error>> {
        Ok(std::env::args().nth(place).map(|text| text.parse()).transpose()?.unwrap_or(default))
    };
    let (events, rounds) = (number(1, 2_000)?, number(2, 5)?);
    let path = std::env::temp_dir().join(format!("placements-{}.toml", std::process::id()));
    let placements = [Placement::Component, Placement::Container, Placement::Server];
    let mut shown: [Vec<Shown>; 3] = Default::default();
    for _ in 0..rounds {
        for (placement, shown) in placements.into_iter().zip(&mut shown) {
            let (text, _) = plan(placement, events)?;
            check(&text)?;
            std::fs::write(&path, text)?;
            shown.push(measured(&path)?);
        }
    }
    std::fs::remove_file(&path)?;
    println!(
        "{CONTAINERS} containers with {CONSUMERS} consumers each; {events} events of 256 bytes, medians of {rounds} rounds in turn"
    );
    println!(
        "| the service is at | services | lines of the plan | threads | resident, KiB | last of all consumers, median, us | 99 %, us |"
    );
    println!("|---|---|---|---|---|---|---|");
    for (placement, shown) in placements.into_iter().zip(&shown) {
        let (text, services) = plan(placement, 0)?;
        let us = |nanos: u64| format!("{}.{}", nanos / 1_000, nanos % 1_000 / 100);
        println!(
            "| {placement} | {services} | {} | {} | {} | {} | {} |",
            text.lines().count(),
            median(shown, |it| it.threads),
            median(shown, |it| it.kibibytes),
            us(median(shown, |it| it.median)),
            us(median(shown, |it| it.most)),
        );
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
