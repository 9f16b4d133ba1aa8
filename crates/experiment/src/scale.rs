//! The scale of the experiment: the slower its links are, the longer are all its times, and the longer the machine may stand still.
use std::time::Duration;

use lab::probe;

use crate::setting::NETWORK;
use crate::stalls::Stalls;
use crate::text::milliseconds;

/// Megabits per second of the links in [`NETWORK`], which is that of scale 1.
const RATE: u64 = 100;
/// Tenths by which its times are longer than those of the paper.
const TIMES: u64 = 25;
/// The longest latency of the scale 1 that is asked for of a topic whose samples come often, in nanoseconds: that of ECG.
const WINDOW: u64 = 7_500_000;
/// Of a million samples, so many may meet a stall as the machine stands still when a scale is chosen: half of what makes a phase void; and
/// that, if no scale has fewer.
const FEW: u64 = 25_000;
const MOST: u64 = 50_000;
/// A core that was late by more than this in all, in nanoseconds, stood still at scale 1. Links, switches and gates of a lab make up for what
/// is shorter.
const STOOD_STILL: u64 = 300_000;

/// How much slower the links are than 100 Mb/s, and how much longer all times.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Scale(u64);

impl Scale {
    /// Those that there are, the fastest first: links of 100, 50 and 10 Mb/s.
    pub(crate) const ALL: [Self; 3] = [Self(1), Self(2), Self(10)];

    /// The one with links of so many megabits per second.
    pub(crate) fn of_rate(megabits: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|scale| scale.megabits() == u64::from(megabits))
    }

    /// Megabits per second of its links.
    pub(crate) const fn megabits(self) -> u64 {
        RATE / self.0
    }

    /// A time of scale 1 in this one, in any unit.
    pub(crate) const fn time(self, of_one: u64) -> u64 {
        of_one * self.0
    }

    /// By how much its times are longer than those of the paper, as text: 2.5, 5, 25.
    pub(crate) fn times(self) -> String {
        let tenths = TIMES * self.0;
        if tenths.is_multiple_of(10) {
            (tenths / 10).to_string()
        } else {
            format!("{}.{}", tenths / 10, tenths % 10)
        }
    }

    /// A core that was late by more than this in all, in nanoseconds, stood still.
    pub(crate) const fn stood_still(self) -> u64 {
        self.time(STOOD_STILL)
    }

    /// The seconds that a phase takes, if one of scale 1 takes so many.
    pub(crate) fn seconds(self, of_one: f64) -> f64 {
        // Samples are farther apart, but ten times as long is too long to wait.
        of_one * if self.0 > 2 { 3.0 } else { 1.0 }
    }

    /// The network file in this scale: rates are divided, times multiplied, whatever is in quotes and has such a unit.
    pub(crate) fn network(self) -> String {
        let line = |line: &str| {
            let parts = line.split('"').enumerate();
            let parts = parts.map(|(at, part)| if at % 2 == 1 { self.quoted(part) } else { part.to_owned() });
            parts.collect::<Vec<_>>().join("\"") + "\n"
        };
        NETWORK
            .lines()
            .map(|text| if text.starts_with('#') { format!("{text}\n") } else { line(text) })
            .collect()
    }

    fn quoted(self, text: &str) -> String {
        let scaled = || {
            let (number, unit) = text.split_once(' ')?;
            match unit {
                "us" | "ms" => {
                    Some(format!("{} {unit}", decimal(number)?.checked_mul(self.0).map(as_decimal)?))
                }
                "Mb/s" => Some(format!("{} {unit}", as_decimal(decimal(number)? / self.0))),
                _ => None,
            }
        };
        scaled().unwrap_or_else(|| text.to_owned())
    }

    /// The scale that suits a machine of which wakes were late as these in such a time, and why it is this one, in words: the fastest with which
    /// few samples would meet a stall; or else the one with which the fewest would, if that may still say something.
    ///
    /// # Errors
    /// None does: why, in words.
    pub(crate) fn suiting(wakes: &[probe::Stall], watched: Duration) -> Result<(Self, String), String> {
        let seen = Self::ALL.map(|scale| Seen::new(scale, wakes, watched));
        let few = seen.iter().find(|seen| seen.disturbed <= FEW);
        let fewest = seen.iter().min_by_key(|seen| seen.disturbed);
        let Some(best) = few.or(fewest) else { return Err("there is no scale".to_owned()) };
        let others = seen.iter().take_while(|other| few.is_none() || other.scale != best.scale);
        let others = others.filter(|other| other.scale != best.scale);
        let why = others.fold(best.often.clone(), |why, other| {
            let unfit = format!("{} times for more than {}", other.count, other.threshold());
            format!("{why}; {unfit} ms, which links of {} Mb/s bear less well", other.scale.megabits())
        });
        if best.disturbed <= MOST {
            Ok((best.scale, why))
        } else {
            Err(format!("{why}: all of that is too often"))
        }
    }

    /// Of a million samples, how many would meet a stall, at most: those that are under way when one begins, or come before it is over.
    fn disturbed_ppm(self, stalls: &Stalls, watched: Duration) -> u64 {
        let watched = u64::try_from(watched.as_nanos()).unwrap_or(u64::MAX).max(1);
        let met = stalls.apart().map(|stall| stall.to.abs_diff(stall.from).saturating_add(self.time(WINDOW)));
        let met = met.fold(0, u64::saturating_add);
        u64::try_from(u128::from(met) * 1_000_000 / u128::from(watched)).unwrap_or(u64::MAX)
    }
}

/// How a machine stood still, as a scale sees it.
struct Seen {
    scale: Scale,
    /// Of a million samples, how many would meet a stall.
    disturbed: u64,
    count: usize,
    /// How often it stood still, in words.
    often: String,
}

impl Seen {
    fn new(scale: Scale, wakes: &[probe::Stall], watched: Duration) -> Self {
        let stalls = Stalls::of(wakes.to_vec(), 0, scale.stood_still());
        let longest = match stalls.longest {
            0 => String::new(),
            longest => format!(", {} ms at most", milliseconds(longest.cast_signed())),
        };
        let (count, disturbed) = (stalls.count, scale.disturbed_ppm(&stalls, watched));
        let seconds = watched.as_secs_f64();
        let mut seen = Self { scale, disturbed, count, often: String::new() };
        let threshold = seen.threshold();
        seen.often = format!(
            "in {seconds:.0} s this machine stood still {count} times for more than {threshold} ms{longest}"
        );
        seen
    }

    /// Milliseconds of what counts as a stall.
    fn threshold(&self) -> String {
        milliseconds(self.scale.stood_still().cast_signed())
    }
}

/// Thousandths of a decimal number with at most three digits behind its point.
fn decimal(text: &str) -> Option<u64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let part = format!("{part:0<3}");
    if part.len() != 3 || !part.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    whole.parse::<u64>().ok()?.checked_mul(1_000)?.checked_add(part.parse().ok()?)
}

fn as_decimal(thousandths: u64) -> String {
    let text = format!("{}.{:03}", thousandths / 1_000, thousandths % 1_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_fastest_scale_is_the_network_file() {
        assert_eq!(Scale::ALL[0].network(), NETWORK);
        assert_eq!(Scale::ALL.map(Scale::times), ["2.5", "5", "25"]);
    }

    #[test]
    fn times_and_rates_are_scaled_and_nothing_else() {
        let half = Scale::of_rate(50).unwrap();
        for (text, scaled) in [
            ("7.5 ms", "15 ms"),
            ("115 us", "230 us"),
            ("100 Mb/s", "50 Mb/s"),
            ("s1:1", "s1:1"),
            ("video", "video"),
        ] {
            assert_eq!(half.quoted(text), scaled);
        }
        assert_eq!(Scale::of_rate(10).unwrap().quoted("27.5 ms"), "275 ms");
        assert_eq!(Scale::of_rate(20), None);
    }

    /// Late by so many microseconds, so often in ten seconds.
    fn machine(late: u64, times: u64) -> Result<u64, String> {
        let every = 10_000_000_000 / times;
        let wake =
            |number: u64| probe::Stall { from: number * every, to: number * every + late * 1_000, core: 0 };
        let wakes: Vec<_> = (0..times).map(wake).collect();
        Scale::suiting(&wakes, Duration::from_secs(10)).map(|(scale, _)| scale.megabits())
    }

    #[test]
    fn the_scale_is_the_fastest_that_bears_how_the_machine_stands_still() {
        assert_eq!(machine(250, 400), Ok(100));
        // 301 us each: 8.1 ms of each second and stall are disturbed.
        assert_eq!([machine(301, 20), machine(301, 40)], [Ok(100), Ok(50)]);
        assert_eq!([machine(590, 40), machine(601, 40)], [Ok(50), Ok(10)]);
        assert_eq!(machine(2_900, 1_000), Ok(10));
        // Of long stalls the slower ones meet more; 13.5 ms of each are disturbed at the fastest.
        assert_eq!([machine(3_001, 18), machine(3_001, 36)], [Ok(100), Ok(100)]);
        let wrong = machine(3_001, 38).unwrap_err();
        let often = "in 10 s this machine stood still 38 times for more than 0.300 ms, 3.001 ms at most; 38 times for more than 0.600 ms";
        assert!(wrong.starts_with(often) && wrong.ends_with("too often"), "{wrong}");
    }
}
