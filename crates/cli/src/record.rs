//! `punctual record`: writes the samples of topics into a file.
mod file;
mod tracks;

use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use dds::{Duration, WaitSet};

use self::file::File;
use self::tracks::Tracks;
use crate::domain::DomainOptions;
use crate::exit::{Failure, Outcome};
use crate::output::{print, progress};
use crate::span;
use crate::stop::Stop;

/// Command line of `punctual record`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:\n  \
    punctual record -o drive.mcap                     all topics, until Ctrl-C\n  \
    punctual record 'arm/*' Square -o arm.mcap        some topics\n  \
    punctual record -o drive.mcap --exclude '*Image*' --duration 1min\n  \
    punctual record -o hot.mcap --filter 'Readings=celsius > 90'   of a topic only what passes\n\n\
    The file is MCAP, which other tools read, too: samples as they were on the wire, types in IDL, the QoS of writers. Types are asked of the\n\
    writers' participants. At Ctrl-C the file ends with an index; if the process is killed, all but the last second can be read.\n\
    docs/record.md says more.")]
pub(crate) struct Arguments {
    /// Topics, by name or pattern: `*`, `?` and `[a-z]` as in shells. Default: all.
    topics: Vec<String>,
    /// The file, which must not be there yet.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Writes over a file that is there.
    #[arg(long)]
    overwrite: bool,
    /// Leaves these topics out, by name or pattern.
    #[arg(long, value_name = "TOPIC")]
    exclude: Vec<String>,
    /// Of this topic (name or pattern), only samples for which this filter expression of DDS is true; several for several topics. Writers that
    /// know such filters do not send the rest.
    #[arg(long, value_name = "TOPIC=EXPR", value_parser = filter)]
    filter: Vec<Filter>,
    /// Ends after this time.
    #[arg(long, value_name = "TIME", value_parser = span::parse)]
    duration: Option<Duration>,
    #[command(flatten)]
    domain: DomainOptions,
}

/// How long it waits at most before it looks for new writers.
const LOOK: Duration = Duration::from_millis(200);
/// How often what was recorded becomes readable for others.
const FLUSH: std::time::Duration = std::time::Duration::from_secs(1);

/// A filter for samples of some topics.
#[derive(Clone, Debug)]
struct Filter {
    topics: String,
    expression: String,
}

fn filter(text: &str) -> Result<Filter, String> {
    let parts = text.split_once('=').filter(|(topics, _)| !topics.trim().is_empty());
    let (topics, expression) = parts.ok_or("give a topic and an expression, as 'Readings=celsius > 90'")?;
    ::filter::Expression::parse(expression).map_err(|error| format!("{expression:?}: {error}"))?;
    Ok(Filter { topics: topics.trim().to_owned(), expression: expression.to_owned() })
}

impl Arguments {
    /// True for a topic that is recorded.
    fn wants(&self, topic: &str) -> bool {
        let any =
            |patterns: &[String]| patterns.iter().any(|pattern| rtps::discovery::matches(pattern, topic));
        (self.topics.is_empty() || any(&self.topics)) && !any(&self.exclude)
    }

    /// The filter for samples of a topic: the first one that names it.
    fn filter(&self, topic: &str) -> Option<&str> {
        let of_topic = |filter: &&Filter| rtps::discovery::matches(&filter.topics, topic);
        self.filter.iter().find(of_topic).map(|filter| filter.expression.as_str())
    }
}

/// Records.
///
/// # Errors
/// The file cannot be written, as when the disk is full: what was written until then stays.
pub(crate) fn run(arguments: &Arguments, stop: &Stop) -> Result<Outcome, Failure> {
    // The participant first: without one no file is made.
    let participant = arguments.domain.join("punctual record")?;
    let mut file = File::create(&arguments.output, arguments.overwrite)?;
    let mut tracks = Tracks::new(&participant, stop)?;
    let (start, mut flushed) = (Instant::now(), Instant::now());
    loop {
        tracks.find(&participant, |topic| arguments.wants(topic), |topic| arguments.filter(topic))?;
        tracks.record(&participant, |topic| arguments.wants(topic), &mut file)?;
        if flushed.elapsed() >= FLUSH {
            file.flush()?;
            flushed = Instant::now();
        }
        progress(&format!("{} samples of {} topics", file.samples(), tracks.topics()));
        let left = arguments.duration.map_or(Duration::INFINITE, |duration| {
            Duration::from_nanos(duration.as_nanos().saturating_sub(span::since(start).as_nanos()))
        });
        if stop.requested() || left <= Duration::ZERO {
            break;
        }
        wait(&tracks, left.min(LOOK));
    }
    tracks.record(&participant, |topic| arguments.wants(topic), &mut file)?;
    progress("");
    let samples = file.finish()?;
    let lost = tracks.lost();
    if lost > 0 {
        eprintln!("punctual: {lost} samples did not arrive, or could not be held");
    }
    print(format_args!("{samples} samples of {} topics in {}", tracks.topics(), arguments.output.display()));
    Ok(if samples == 0 && !stop.requested() { Outcome::BadNews } else { Outcome::Done })
}

/// Until something comes, or it is time to look for writers.
fn wait(tracks: &Tracks, time: Duration) {
    let waits: &WaitSet = tracks.waits();
    // Whether something came or time is up is seen by who asks.
    let _ = waits.wait(time);
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser, Debug)]
    struct Line {
        #[command(flatten)]
        arguments: Arguments,
    }

    fn wants(line: &str, topic: &str) -> bool {
        let line = Line::parse_from(format!("record -o x {line}").split_whitespace());
        line.arguments.wants(topic)
    }

    #[test]
    fn topics_are_chosen_by_patterns() {
        assert!(wants("", "Square"));
        assert!(wants("arm/* Square", "arm/joint") && wants("arm/* Square", "Square"));
        assert!(!wants("arm/* Square", "Circle") && !wants("arm/*", "larm/x"));
        assert!(wants("--exclude *Image*", "Square") && !wants("--exclude *Image*", "RawImages"));
        assert!(!wants("S* --exclude Square", "Square"));
    }

    #[test]
    fn filters_are_of_the_first_pattern_that_fits_and_make_sense() {
        let read = |words: &[&str]| Line::try_parse_from(["record", "-o", "x"].iter().chain(words));
        let line = read(&["--filter", "arm/*=x = 1", "--filter", "*=y > 2"]).unwrap();
        let of = |topic: &str| line.arguments.filter(topic).map(str::to_owned);
        assert_eq!((of("arm/joint").as_deref(), of("Square").as_deref()), (Some("x = 1"), Some("y > 2")));
        assert_eq!(read(&["--filter", "S=x = 1"]).unwrap().arguments.filter("T"), None);
        for (wrong, said) in
            [("Square", "give a topic"), ("=x = 1", "give a topic"), ("Square=x >", "at byte")]
        {
            let error = read(&["--filter", wrong]).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }
}
