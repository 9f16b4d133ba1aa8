//! Every target withstands as many mutated inputs as the tier says.
use std::sync::Mutex;

use fuzz::runner::{self, Plan, Target};
use fuzz::targets;

#[global_allocator]
static METER: alloc_meter::Meter = alloc_meter::Meter;

/// A run uses all cores, so they take turns.
static TURN: Mutex<()> = Mutex::new(());

/// Runs a share of the executions that the tier gives to targets without state.
fn withstands(name: &str, percent: u64) {
    let _turn = TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let tier = tiers::current();
    let executions = tier.number("fuzz.stateless_executions") * percent / 100;
    run(targets::find(name).unwrap(), &Plan::new(tier.first_seed(), executions));
}

fn run(target: &Target, plan: &Plan) {
    for seed in (target.seeds)() {
        if let Err(cause) = runner::run_input(target, &seed) {
            panic!("{}: a seed itself fails: {cause}", target.name);
        }
    }
    match runner::run(target, plan) {
        Ok(report) => assert_eq!(report.executions, plan.executions),
        Err(failure) => panic!("{failure}"),
    }
}

#[test]
fn rtps_messages() {
    withstands("rtps_message", 50);
}

#[test]
fn parameter_lists() {
    withstands("parameter_list", 50);
}
