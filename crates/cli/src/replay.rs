//! `punctual replay`: writes the samples of a recording again.
mod contents;
mod voices;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use recording::{Item, ReadError, Recording};

use self::contents::Contents;
use self::voices::Voices;
use crate::domain::DomainOptions;
use crate::exit::{Failure, Outcome};
use crate::output::{print, progress};
use crate::span;
use crate::stop::Stop;

/// Command line of `punctual replay`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:\n  \
    punctual replay drive.mcap                    as it was: the same topics, types, QoS, and times between samples\n  \
    punctual replay drive.mcap --list             what is in it\n  \
    punctual replay drive.mcap 'arm/*' --rate 2   some topics, twice as fast\n  \
    punctual replay drive.mcap --start 10s --end 20s --loop\n\n\
    Of a file that is cut off, or of another tool, it says so and replays what is whole and understood. docs/record.md says more.")]
pub(crate) struct Arguments {
    /// The file.
    file: PathBuf,
    /// Topics, by name or pattern: `*`, `?` and `[a-z]` as in shells. Default: all.
    topics: Vec<String>,
    /// Leaves these topics out, by name or pattern.
    #[arg(long, value_name = "TOPIC")]
    exclude: Vec<String>,
    /// Shows what is in the file, and writes nothing.
    #[arg(long)]
    list: bool,
    /// How much faster than it was, as 2 or 0.5; `max` for as fast as possible.
    #[arg(short, long, default_value = "1", value_name = "FACTOR", value_parser = parse_rate)]
    rate: Rate,
    /// From its end on it begins again, until Ctrl-C.
    #[arg(long = "loop")]
    repeat: bool,
    /// Leaves out what came before this time from the beginning.
    #[arg(long, value_name = "TIME", value_parser = span::parse_finite)]
    start: Option<Duration>,
    /// Leaves out what came after this time from the beginning.
    #[arg(long, value_name = "TIME", value_parser = span::parse_finite)]
    end: Option<Duration>,
    /// How long it leaves to readers to match before the first sample.
    #[arg(long, default_value = "1s", value_name = "TIME", value_parser = span::parse, conflicts_with = "wait_for")]
    delay: dds::Duration,
    /// Waits until each topic has this many matched readers.
    #[arg(short, long, value_name = "COUNT")]
    wait_for: Option<u32>,
    /// Gives up if these readers do not come in this time.
    #[arg(long, default_value = "10s", value_name = "TIME", value_parser = span::parse)]
    timeout: dds::Duration,
    #[command(flatten)]
    domain: DomainOptions,
}

/// How fast.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Rate {
    Max,
    /// Faster than it was by this factor.
    Times(f64),
}

fn parse_rate(text: &str) -> Result<Rate, String> {
    if text == "max" {
        return Ok(Rate::Max);
    }
    let factor = text.parse::<f64>().ok().filter(|factor| (0.001..=1000.0).contains(factor));
    factor
        .map(Rate::Times)
        .ok_or_else(|| format!("{text:?} is no rate; give a factor from 0.001 to 1000, or max"))
}

impl Arguments {
    fn wants(&self, topic: &str) -> bool {
        let any =
            |patterns: &[String]| patterns.iter().any(|pattern| rtps::discovery::matches(pattern, topic));
        (self.topics.is_empty() || any(&self.topics)) && !any(&self.exclude)
    }

    /// The times of the recording that are replayed.
    fn times(&self, contents: &Contents) -> std::ops::RangeInclusive<u64> {
        let from_first = |time: Duration| {
            contents.first.saturating_add(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
        };
        let start = self.start.map_or(contents.first, from_first);
        start..=self.end.map_or(u64::MAX, from_first)
    }
}

/// The recording from its beginning.
fn open(path: &Path) -> Result<Recording<std::fs::File>, Failure> {
    let file =
        std::fs::File::open(path).map_err(|error| Failure::Usage(format!("{}: {error}", path.display())))?;
    Ok(Recording::new(file))
}

fn unreadable(path: &Path, error: &ReadError) -> Failure {
    Failure::Usage(format!("{}: {error}", path.display()))
}

/// Replays.
///
/// # Errors
/// The file is no recording at all, or there is nothing in it to replay; what the middleware says.
pub(crate) fn run(arguments: &Arguments, stop: &Stop) -> Result<Outcome, Failure> {
    let path = &arguments.file;
    let contents = Contents::of(open(path)?, stop).map_err(|error| unreadable(path, &error))?;
    contents.tell(path);
    if arguments.list {
        contents.print();
        return Ok(if contents.is_whole() { Outcome::Done } else { Outcome::BadNews });
    }
    if stop.requested() {
        return Ok(Outcome::Done);
    }
    if !contents.channels.values().any(|of| of.samples > 0 && arguments.wants(&of.channel.topic)) {
        return Err(Failure::Usage(format!(
            "{}: nothing in it is to be replayed; --list shows what is there",
            path.display()
        )));
    }
    let participant = arguments.domain.join("punctual replay")?;
    let mut voices = Voices::default();
    for (number, of) in &contents.channels {
        if arguments.wants(&of.channel.topic) {
            voices.add(&participant, *number, &of.channel)?;
        }
    }
    if !wait(arguments, &voices, stop)? {
        return Ok(if stop.requested() { Outcome::Done } else { Outcome::BadNews });
    }
    let (mut begin, mut written) = (Instant::now(), 0_u64);
    loop {
        let round = replay(arguments, &contents, &mut voices, begin, stop)?;
        written += round;
        // The next round begins when this one has ended, whatever that took too long.
        begin = Instant::now();
        if !arguments.repeat || round == 0 || stop.requested() {
            break;
        }
    }
    progress("");
    let acknowledged = stop.requested() || voices.finish()?;
    print(format_args!("{written} samples of {} topics replayed", voices.topics()));
    if !acknowledged {
        print(format_args!("not every reader has acknowledged everything; `punctual why` may say more"));
    }
    voices.tell();
    Ok(if acknowledged && contents.is_whole() && voices.is_good() { Outcome::Done } else { Outcome::BadNews })
}

/// Until the first sample may be written; false if it is not to be.
fn wait(arguments: &Arguments, voices: &Voices, stop: &Stop) -> Result<bool, Failure> {
    let Some(count) = arguments.wait_for else { return stop.wait(arguments.delay).map(|stopped| !stopped) };
    const SLICE: dds::Duration = dds::Duration::from_millis(20);
    let start = Instant::now();
    loop {
        let Some(missing) = voices.without(count) else { return Ok(true) };
        if span::since(start) >= arguments.timeout {
            print(format_args!(
                "{missing:?} has fewer than {count} readers after {}; nothing was written. `punctual why {missing}` says why",
                arguments.timeout
            ));
            return Ok(false);
        }
        if stop.wait(SLICE)? {
            return Ok(false);
        }
    }
}

/// Replays once; how many samples.
fn replay(
    arguments: &Arguments,
    contents: &Contents,
    voices: &mut Voices,
    begin: Instant,
    stop: &Stop,
) -> Result<u64, Failure> {
    let times = arguments.times(contents);
    let mut recording = open(&arguments.file)?;
    let mut written = 0;
    // What ends the file early was told before.
    while let Ok(Some(item)) = recording.next() {
        let Item::Entry(entry) = item else { continue };
        if !times.contains(&entry.time) || !voices.has(entry.channel) {
            continue;
        }
        if let Rate::Times(factor) = arguments.rate {
            let since = Duration::from_nanos(entry.time - times.start()).div_f64(factor);
            let left = (begin + since).saturating_duration_since(Instant::now());
            if !left.is_zero() {
                progress(&format!("{written} samples, {:.1} s", since.as_secs_f64()));
                let left = i64::try_from(left.as_nanos()).unwrap_or(i64::MAX);
                if stop.wait(dds::Duration::from_nanos(left))? {
                    return Ok(written);
                }
            }
        }
        if stop.requested() {
            return Ok(written);
        }
        written += u64::from(voices.write(&entry)?);
    }
    Ok(written)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_factors_within_reason() {
        assert_eq!(parse_rate("max"), Ok(Rate::Max));
        assert_eq!(parse_rate("0.5"), Ok(Rate::Times(0.5)));
        for text in ["0", "-1", "nan", "inf", "1001", "fast"] {
            assert!(parse_rate(text).unwrap_err().contains("0.001 to 1000"), "{text}");
        }
    }
}
