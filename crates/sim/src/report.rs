//! What a run has shown, as tables for people.
use std::fmt::Write as _;

use crate::coverage::Situation;
use crate::runner::{COVERAGE_SEEDS, Summary};
use crate::scenario::Scenario;
use crate::violation::Invariant;

/// How many failures of each rule are shown.
const SHOWN: usize = 5;

/// The command that repeats a seed.
pub fn replay_command(scenario: &dyn Scenario, seed: u64) -> String {
    format!("cargo run -p punctual-sim -- replay --scenario {} --seed {seed}", scenario.name())
}

/// Totals, coverage and failures of a run.
pub fn table(scenario: &dyn Scenario, summary: &Summary) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = write_table(&mut text, scenario, summary);
    text
}

fn write_table(text: &mut String, scenario: &dyn Scenario, summary: &Summary) -> std::fmt::Result {
    let name = scenario.name();
    writeln!(text, "scenario {name}: {}", scenario.about())?;
    writeln!(text)?;
    writeln!(text, "  {:<38} {:>10} {:>14}", "reached", "seeds", "times")?;
    for situation in Situation::ALL {
        let required = scenario.required().contains(situation);
        let (seeds, times) = summary.reached.get(situation).copied().unwrap_or_default();
        if required || seeds > 0 {
            let note = match (required, seeds, summary.seeds >= COVERAGE_SEEDS) {
                (true, 0, true) => "  NEVER REACHED",
                (true, 0, false) => "  not in so few seeds",
                _ => "",
            };
            writeln!(text, "  {:<38} {seeds:>10} {times:>14}{note}", situation.label())?;
        }
    }
    writeln!(text)?;
    let seconds = summary.virtual_nanos / 1_000_000_000;
    writeln!(text, "  seeds              {:>14}  ({} of them run twice)", summary.seeds, summary.compared)?;
    writeln!(text, "  samples written    {:>14}", summary.written)?;
    writeln!(text, "  samples delivered  {:>14}", summary.delivered)?;
    writeln!(text, "  events             {:>14}", summary.events)?;
    writeln!(text, "  virtual time       {seconds:>14} s")?;
    let real = summary.elapsed.as_secs_f64();
    let each = real * 1_000.0 / summary.seeds.max(1) as f64;
    let (slowest, which) = summary.slowest;
    writeln!(
        text,
        "  real time          {real:>14.1} s  ({each:.1} ms per seed, at most {} ms: seed {which})",
        slowest.as_millis()
    )?;
    writeln!(text, "  rules broken       {:>14}", summary.failures.len())?;
    for rule in Invariant::ALL {
        let seeds: Vec<_> = summary.failures.iter().filter(|(_, broken)| broken.invariant == *rule).collect();
        if !seeds.is_empty() {
            writeln!(text)?;
            writeln!(text, "  {}: {} seeds", rule.name(), seeds.len())?;
        }
        for (seed, violation) in seeds.into_iter().take(SHOWN) {
            writeln!(text, "    seed {seed}: {violation}")?;
            writeln!(text, "      {}", replay_command(scenario, *seed))?;
        }
    }
    for situation in summary.unreached(scenario) {
        writeln!(text)?;
        writeln!(text, "  never reached in {} seeds: {}", summary.seeds, situation.label())?;
    }
    Ok(())
}
