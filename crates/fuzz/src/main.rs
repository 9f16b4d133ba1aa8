//! Runs fuzz targets from the command line, and repeats failures.
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use fuzz::failure::from_hex;
use fuzz::runner::{self, Plan, Report, Target};
use fuzz::targets;

#[global_allocator]
static METER: alloc_meter::Meter = alloc_meter::Meter;

const HELP: &str = "\
Throws mutated bytes at code that reads bytes from the network.

  punctual-fuzz TARGET [EXECUTIONS] [--seed N] [--first N]   runs that many cases (default 100000, seed 0, from case 0)
  punctual-fuzz TARGET [--seed N] --case N                   repeats one case
  punctual-fuzz TARGET --input HEX                           runs one input
  punctual-fuzz TARGET --file PATH                           runs the contents of a file
  punctual-fuzz TARGET --write-seeds FOLDER                  writes the seeds as files, for other fuzzers

It fails if the code panics, does not end, holds more than 16 KiB + 8 bytes per byte of input on the heap,
or takes more than 1 MiB at once.

Targets:";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match command(&arguments) {
        Ok(text) => {
            println!("{text}");
            ExitCode::SUCCESS
        }
        Err(text) => {
            eprintln!("{text}");
            ExitCode::FAILURE
        }
    }
}

fn command(arguments: &[String]) -> Result<String, String> {
    let names: Vec<&str> = targets::ALL.iter().map(|target| target.name).collect();
    let (name, rest) = match arguments {
        [] => return Ok(format!("{HELP} {}", names.join(", "))),
        [first, ..] if matches!(first.as_str(), "--help" | "-h" | "help") => {
            return Ok(format!("{HELP} {}", names.join(", ")));
        }
        [name, rest @ ..] => (name, rest),
    };
    let target = targets::find(name)
        .ok_or_else(|| format!("`{name}` is not a target; there are: {}", names.join(", ")))?;
    let mut plan = Plan::new(0, 100_000);
    let mut case = None;
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        if !word.starts_with("--") {
            plan.executions = number(word)?;
            continue;
        }
        let value = words.next().ok_or_else(|| format!("{word} needs a value"))?;
        match word.as_str() {
            "--seed" => plan.seed = number(value)?,
            "--first" => plan.first = number(value)?,
            "--case" => case = Some(number(value)?),
            "--input" => {
                let input = from_hex(value).ok_or("the input is not hexadecimal")?;
                return one_input(target, &input);
            }
            "--file" => {
                let input = std::fs::read(value).map_err(|error| format!("{value}: {error}"))?;
                return one_input(target, &input);
            }
            "--write-seeds" => return write_seeds(target, Path::new(value)),
            _ => return Err(format!("{word} is not understood; see --help")),
        }
    }
    let start = Instant::now();
    let result = match case {
        Some(case) => runner::repeat(target, plan.seed, case),
        None => runner::run(target, &plan),
    };
    let Report { executions, octets, peak, peak_percent } = result.map_err(|failure| failure.to_string())?;
    let rate = executions as f64 / start.elapsed().as_secs_f64();
    Ok(format!(
        "{name}: {executions} executions of {octets} bytes without failure, {rate:.0} per second; \
         at most {peak} bytes of the heap, {peak_percent} % of the budget"
    ))
}

fn number(text: &str) -> Result<u64, String> {
    text.replace('_', "").parse().map_err(|_| format!("{text} is not a number"))
}

fn one_input(target: &Target, input: &[u8]) -> Result<String, String> {
    let usage = runner::run_input(target, input).map_err(|cause| format!("{}: {cause}", target.name))?;
    Ok(format!("{}: no failure; {} bytes of the heap", target.name, usage.peak))
}

fn write_seeds(target: &Target, folder: &Path) -> Result<String, String> {
    let failed = |error| format!("{}: {error}", folder.display());
    std::fs::create_dir_all(folder).map_err(failed)?;
    let seeds = (target.seeds)();
    for (index, seed) in seeds.iter().enumerate() {
        std::fs::write(folder.join(format!("seed-{index:03}")), seed).map_err(failed)?;
    }
    Ok(format!("{} seeds in {}", seeds.len(), folder.display()))
}
