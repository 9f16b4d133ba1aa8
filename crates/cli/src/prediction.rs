//! `punctual predict`: percentiles of the latency of topics, stage by stage, with intervals.
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;
use network::load;
use predict::{
    Calibration, FINE, Overload, Predicted, Prediction, calibrate, known_stages, predict, read_path,
    read_records,
};

use crate::exit::{Failure, Outcome};
use crate::output::print;

/// Command line of `punctual predict`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:\n  \
    punctual predict ward.toml                                    by the stages that the file says\n  \
    punctual predict ward.toml --calibrate host.jsonl             by measurements, with intervals\n  \
    punctual predict ward.toml --calibrate host.jsonl --into ward.xml    writes the QoS that it supports\n\n\
    What a file may say and what a record is: docs/predict.md. A prediction is no bound: punctual plan gives bounds.\n\
    Exit code 1: a topic has no prediction, since something has more to do than it has time.")]
pub(crate) struct Arguments {
    /// The file that describes stages, hops and topics.
    #[arg(value_name = "FILE")]
    path: PathBuf,
    /// Takes what stages cost, and intervals, from measurements: lines of JSON as `punctual perf sub --json` prints them.
    #[arg(long, value_name = "RECORDS")]
    calibrate: Option<PathBuf>,
    /// Writes a QoS file with LATENCY_BUDGET and DEADLINE of the topics, as far as intervals support them.
    #[arg(long, value_name = "PROFILE", requires = "calibrate")]
    into: Option<PathBuf>,
    /// Prints JSON.
    #[arg(long)]
    json: bool,
}

/// Predicts.
///
/// # Errors
/// What is wrong with a file, with its place, or a file that cannot be read or written.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let usage = |problem: diagnostics::Problem| Failure::Usage(problem.to_string());
    let text = load(&arguments.path).map_err(Failure::Usage)?;
    let name = arguments.path.to_string_lossy();
    let path = read_path(&name, &text).map_err(usage)?;
    let calibration = match &arguments.calibrate {
        None => None,
        Some(records) => {
            let text = load(records).map_err(Failure::Usage)?;
            let name = records.to_string_lossy();
            let records = read_records(&name, &text).map_err(usage)?;
            let calibration = calibrate(&records)
                .map_err(|few| Failure::Usage(format!("{}: {few}", diagnostics::printable(&name))))?;
            Some(calibration)
        }
    };
    let stages = known_stages(&path, calibration.as_ref())
        .map_err(|what| Failure::Usage(format!("{}: {what}", diagnostics::printable(&name))))?;
    let predicted: Vec<Predicted<'_>> = path
        .topics
        .iter()
        .enumerate()
        .map(|(number, topic)| (topic, predict(&path, &stages, number, FINE)))
        .collect();
    if arguments.json {
        print(format_args!("{}", predict::json(&predicted, calibration.as_ref())));
    } else {
        print(format_args!("{}", predict::text(&predicted, calibration.as_ref()).trim_end()));
    }
    if predicted.iter().any(|(_, prediction)| prediction.is_err()) {
        return Ok(Outcome::BadNews);
    }
    if let (Some(into), Some(calibration)) = (&arguments.into, &calibration) {
        let share = predict::host_share(&path, &stages, &calibration.intervals);
        write(into, &predicted, (calibration, share), arguments.json)?;
    }
    Ok(Outcome::Done)
}

/// Writes the QoS file, and says what is not in it.
fn write(
    into: &Path,
    predicted: &[(&predict::Topic, Result<Prediction, Overload>)],
    (calibration, share): (&Calibration, Option<u64>),
    is_quiet: bool,
) -> Result<(), Failure> {
    let mut topics = Vec::new();
    let mut said = Vec::new();
    for (topic, prediction) in predicted {
        let Ok(prediction) = prediction else { continue };
        let supported = predict::supported(topic, prediction, &calibration.intervals);
        let times = [("latency_budget", supported.latency_budget), ("deadline", supported.deadline)];
        let policies: BTreeMap<String, (String, String)> = times
            .into_iter()
            .filter_map(|(policy, time)| {
                Some((policy.to_owned(), (time?.to_string(), "predicted".to_owned())))
            })
            .collect();
        said.extend(supported.left_out);
        if !policies.is_empty() {
            topics.push((topic.name.as_str(), policies));
        }
    }
    if topics.is_empty() {
        return Err(Failure::Usage(format!(
            "{} is not written, since intervals support no policy: {}; measure more records with 1,000 samples or more",
            into.display(),
            said.join("; ")
        )));
    }
    let topics: Vec<_> = topics.iter().map(|(name, policies)| (*name, policies)).collect();
    if share.is_none() {
        said.push("the share of a host, since too few records have p99".to_owned());
    }
    let share = share.map(|share| format!("punctual.host-share={}us;", share.div_ceil(1_000)));
    let text = advice::policy_file("predicted", "predicted", share.as_deref(), &topics);
    std::fs::write(into, text).map_err(|error| Failure::System(format!("{}: {error}", into.display())))?;
    if !is_quiet {
        print(format_args!("written: {}, profile predicted::predicted", into.display()));
        said.iter().for_each(|line| print(format_args!("  left out: {line}")));
    }
    Ok(())
}
