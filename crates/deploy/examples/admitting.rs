//! How long the verdict of a large plan takes: 1,000 connections with a limit each in 200 chains over 96 lanes of 4 hosts. Once with all limits
//! kept, and once with a chain that is refused, so that single changes are tried. docs/measurements/components.md has the figures.
//!
//! `cargo build --release --package punctual-deploy --examples`, then `target/release/examples/admitting [rounds]`
use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, ExitCode, Output};
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;

const HOSTS: usize = 4;
const CORES: usize = 8;
const LANES: usize = 3;
const CHAINS: usize = 200;
/// Connections of each chain.
const HOPS: usize = 5;
/// Milliseconds between the instants of the chains' timers, in turn.
const PERIODS: [u64; 5] = [10, 20, 40, 50, 100];

const MANIFEST: &str = r#"{ "component": {
  "Begin": { "port": {
    "tick": { "kind": "timer", "execution": { "worst": "20 us", "steps": ["15 us", "out"] } },
    "out": { "kind": "publisher", "type": "E" } } },
  "Stage": { "port": {
    "in": { "kind": "consumer", "type": "E", "execution": { "worst": "20 us", "steps": ["15 us", "out"] } },
    "out": { "kind": "publisher", "type": "E" } } },
  "End": { "port": { "in": { "kind": "consumer", "type": "E", "execution": { "worst": "20 us" } } } }
} }"#;

/// The plan; the first chain has this limit, in milliseconds.
fn plan(first: u64) -> Result<String, std::fmt::Error> {
    let mut text = String::from("id = \"large\"\nmanifests = [\"large.json\"]\n");
    for host in 0..HOSTS {
        writeln!(text, "[host.h{host}]\ncores = {CORES}")?;
        writeln!(
            text,
            "costs = {{ wake = \"10 us\", switch = \"2 us\", dispatch = \"1 us\", slack = \"10 us\", stalls = [{{ length = \"50 us\", distance = \"100 ms\" }}] }}"
        )?;
        writeln!(text, "[container.c{host}]\nprocess = \"p{host}\"")?;
        for (core, lane) in (0..CORES).flat_map(|core| (0..LANES).map(move |lane| (core, lane))) {
            let priority = 40 + lane;
            writeln!(
                text,
                "lanes.l{core}-{lane} = {{ class = \"fifo\", priority = {priority}, cores = [{core}] }}"
            )?;
        }
    }
    for chain in 0..CHAINS {
        let (host, core, lane) = (chain % HOSTS, chain / HOSTS % CORES, chain / HOSTS / CORES % LANES);
        for stage in 0..=HOPS {
            let of_type = if stage == 0 {
                "Begin"
            } else if stage == HOPS {
                "End"
            } else {
                "Stage"
            };
            // The second half of a chain is in the next lane.
            let lane = (lane + stage / 3) % LANES;
            writeln!(
                text,
                "[component.n{chain}-{stage}]\ntype = \"{of_type}\"\nhost = \"h{host}\"\nprocess = \"p{host}\"\ncontainer = \"c{host}\"\nlane = \"l{core}-{lane}\""
            )?;
            if stage == 0 {
                writeln!(text, "port.tick.period = \"{} ms\"", PERIODS[chain % PERIODS.len()])?;
            }
        }
        for stage in 0..HOPS {
            let next = stage + 1;
            writeln!(
                text,
                "[connection.w{chain}-{stage}]\nfrom = \"n{chain}-{stage}.out\"\nto = [\"n{chain}-{next}.in\"]\nservice = \"channel\"\nqueue = {{ depth = 32, full = \"drop-oldest\" }}\nlatency = \"10 ms\""
            )?;
        }
        let path: String = (1..=HOPS).map(|stage| format!(", \"n{chain}-{stage}.in\"")).collect();
        let limit = if chain == 0 { first } else { 200 };
        writeln!(text, "[chain.ch{chain}]\npath = [\"n{chain}-0.tick\"{path}]\nreaction = \"{limit} ms\"")?;
    }
    Ok(text)
}

/// The processor time of all commands that have ended.
fn processor_time() -> Result<Duration, Box<dyn Error>> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let of = |time: TimeVal| -> Result<Duration, std::num::TryFromIntError> {
        Ok(Duration::from_secs(time.tv_sec().try_into()?) + Duration::from_micros(time.tv_usec().try_into()?))
    };
    Ok(of(usage.user_time())? + of(usage.system_time())?)
}

/// The time of a command and its processor time, and what it printed.
fn timed(folder: &Path, verb: &str) -> Result<([Duration; 2], Output), Box<dyn Error>> {
    let deploy = std::env::current_exe()?.with_file_name("deploy");
    let (begin, before) = (Instant::now(), processor_time()?);
    let output = Command::new(deploy).args([verb, "large.toml"]).current_dir(folder).output()?;
    Ok(([begin.elapsed(), processor_time()?.saturating_sub(before)], output))
}

fn measured(folder: &Path, rounds: usize) -> Result<(), Box<dyn Error>> {
    std::fs::write(folder.join("large.json"), MANIFEST)?;
    println!(
        "{} connections, {rounds} rounds in turn, files and all that is printed included",
        CHAINS * HOPS
    );
    println!(
        "| command | exit code | processor time: median, ms | least | most | elapsed: median, ms | least | most |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    let cases = [("validate", 200, 0), ("admit", 200, 0), ("admit, with a refused chain", 5, 1)];
    let mut all: [Vec<[Duration; 2]>; 3] = Default::default();
    for _ in 0..rounds {
        for ((what, first, code), all) in cases.into_iter().zip(&mut all) {
            std::fs::write(folder.join("large.toml"), plan(first)?)?;
            let (took, output) = timed(folder, what.split(',').next().unwrap_or(what))?;
            if output.status.code() != Some(code) {
                return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
            }
            all.push(took);
        }
    }
    for ((what, _, code), took) in cases.into_iter().zip(all) {
        let of = |which: usize| {
            let mut times: Vec<Duration> = took.iter().filter_map(|both| both.get(which).copied()).collect();
            times.sort_unstable();
            let at = |index: usize| times.get(index).map_or(0.0, |took| took.as_secs_f64() * 1e3);
            format!("{:.0} | {:.0} | {:.0}", at(times.len() / 2), at(0), at(times.len().saturating_sub(1)))
        };
        println!("| {what} | {code} | {} | {} |", of(1), of(0));
    }
    Ok(())
}

fn run() -> Result<(), Box<dyn Error>> {
    let rounds: usize = std::env::args().nth(1).map(|text| text.parse()).transpose()?.unwrap_or(9);
    let folder = std::env::temp_dir().join(format!("admitting-{}", std::process::id()));
    std::fs::create_dir(&folder)?;
    let measured = measured(&folder, rounds);
    std::fs::remove_dir_all(&folder)?;
    measured
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
