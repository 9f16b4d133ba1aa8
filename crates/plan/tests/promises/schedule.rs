//! When publishers hand over what: everything that a contract allows, everything that a guard lets a babbler send, and control at its
//! bucket.
use crate::draw::Draw;
use crate::guards::{Bucket, Guard, Rule};
use crate::messages::{LEAST_ON_WIRE, on_wire};
use crate::run::{Message, Port};

/// The most frames of a stream in a run.
const MOST_FRAMES: usize = 400;

/// What a publisher has promised. Samples are `separation` apart, but for that each may be handed over `jitter` late; all frames of one are
/// handed over within `emission`, in their order, and before those of the next.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Contract {
    pub(crate) separation: u64,
    pub(crate) jitter: u64,
    pub(crate) emission: u64,
}

impl Contract {
    /// Whether messages may come like that.
    pub(crate) fn allows(&self, messages: &[Message]) -> bool {
        let (mut earliest, mut last) = (0, 0);
        messages.iter().all(|message| {
            let (first, end) = (message.frames[0].0, message.frames.last().unwrap().0);
            // The sample is due as early as it may be, so that the next one can be.
            let due = first.saturating_sub(self.jitter).max(earliest);
            let ordered = last <= first && message.frames.is_sorted_by_key(|(at, _)| *at);
            (earliest, last) = (due + self.separation, end);
            ordered && due <= first && end - first <= self.emission
        })
    }
}

/// How a publisher uses its contract.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Habit {
    /// Everything as near to one instant as it may be.
    Crowded,
    /// At equal distances, at once.
    Regular,
    /// Anyhow.
    Loose,
}

/// Which messages it sends, of those that it may.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Choice {
    Always(usize),
    /// One before the instant, another from it on.
    Then(usize, usize),
    Any,
}

/// How the frames of a sample follow each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Pace {
    /// The time from the first to the last, if the contract allows so much.
    pub(crate) takes: u64,
    /// How many come with the first one, and at equal distances from it those behind; or all with the last one.
    pub(crate) with_first: usize,
    pub(crate) even: bool,
}

impl Pace {
    /// The first, and then all others as late as they may be.
    pub(crate) const LATE: Self = Self { takes: u64::MAX, with_first: 0, even: false };

    /// When the frame comes.
    fn at(&self, index: usize, count: usize, first: u64, last: u64) -> u64 {
        if index + 1 >= count {
            return if count > 1 { last } else { first };
        }
        match index.checked_sub(self.with_first) {
            None | Some(0) => first,
            Some(behind) if self.even => {
                let steps = (count - 1).saturating_sub(self.with_first).max(1);
                first + (last - first) / steps as u64 * behind.min(steps) as u64
            }
            Some(_) => last,
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Intent {
    /// The instant at which most comes.
    pub(crate) instant: u64,
    pub(crate) before: u64,
    pub(crate) habit: Habit,
    pub(crate) choice: Choice,
    pub(crate) pace: Pace,
    /// Pauses that are longer than they have to be, by the number of the message.
    pub(crate) pauses: Vec<(usize, u64)>,
    /// Messages that are other ones, by their number.
    pub(crate) swaps: Vec<(usize, usize)>,
    pub(crate) seed: u64,
}

/// The messages of a publisher that keeps its contract, until `end`, on a link with a tag of so many bytes, over IPv6 or not.
pub(crate) fn conforming(
    contract: &Contract,
    messages: &[Vec<u64>],
    (tag, six): (u64, bool),
    intent: &Intent,
    end: u64,
) -> Vec<Message> {
    let Contract { separation, jitter, emission } = *contract;
    let mut draw = Draw::new(intent.seed);
    let instant = intent.instant;
    let several = messages.iter().any(|frames| frames.len() > 1);
    let emission = if several { emission.min(intent.pace.takes) } else { 0 };
    let early = jitter + if intent.habit == Habit::Regular { 0 } else { emission };
    let mut due = instant.saturating_sub(early).saturating_sub(intent.before * separation);
    let (mut all, mut frames, mut last) = (Vec::new(), 0, 0);
    while frames < MOST_FRAMES {
        let (mut first, mut rest) = match intent.habit {
            Habit::Regular => (due + jitter, due + jitter),
            Habit::Crowded => {
                let first = instant.clamp(due, due + jitter);
                (first, instant.clamp(first, first + emission))
            }
            Habit::Loose => {
                let late = if draw.one_in(2) { draw.range(0, jitter) } else { jitter * draw.below(2) };
                let spread = if draw.one_in(2) { draw.range(0, emission) } else { emission * draw.below(2) };
                (due + late, due + late + spread)
            }
        };
        // In order, and so that the next one is not held up for longer than it may be.
        first = first.max(last);
        rest = rest.max(first).min(first.max(due + separation + jitter));
        if first > end {
            break;
        }
        let number = all.len();
        let swap = intent.swaps.iter().find(|(at, _)| *at == number).map(|(_, kind)| *kind);
        let kind = swap.unwrap_or_else(|| match intent.choice {
            Choice::Always(kind) => kind,
            Choice::Then(kind, _) if first < instant => kind,
            Choice::Then(_, kind) => kind,
            Choice::Any => draw.place(messages.len()),
        });
        let datagrams = &messages[kind];
        let count = datagrams.len();
        let on_link = |(index, datagram): (usize, &u64)| {
            (intent.pace.at(index, count, first, rest), on_wire(*datagram, tag, six))
        };
        all.push(Message {
            frames: datagrams.iter().enumerate().map(|(at, it)| on_link((at, it))).collect(),
        });
        last = if count > 1 { rest } else { first };
        frames += datagrams.len();
        let pause = intent.pauses.iter().find(|(at, _)| *at == number).map_or(0, |(_, pause)| *pause);
        let more = if intent.habit == Habit::Loose && draw.one_in(6) { draw.below(separation) } else { 0 };
        due += separation + pause + more;
    }
    all
}

/// Frames that somebody sends who keeps no contract, each as soon as its guard lets it through. `port` is that of the host.
pub(crate) struct Babble {
    pub(crate) instant: u64,
    /// Bytes of each frame; the last one goes on.
    pub(crate) sizes: Vec<u64>,
    /// One frame comes so long before the rest.
    pub(crate) held: Option<u64>,
    /// Frames between those, of which the guard may drop what it wants.
    pub(crate) noise: bool,
    pub(crate) strict: bool,
    pub(crate) phase: u64,
}

pub(crate) fn babbling(rule: Rule, port: &Port, babble: &Babble, end: u64, draw: &mut Draw) -> Vec<Message> {
    let mut guard = Guard::new(rule, babble.strict, babble.phase);
    let mut now = babble.instant.saturating_sub(babble.held.unwrap_or(0));
    let mut all: Vec<Message> = Vec::new();
    let mut sizes = babble.sizes.iter().copied().chain(std::iter::repeat(*babble.sizes.last().unwrap()));
    let mut refused = 0;
    while all.len() < MOST_FRAMES && refused < 40 {
        let bytes = sizes.next().unwrap();
        let takes = bytes * port.byte;
        // The guard judges it when its last bit has come.
        let comes = now + takes + port.propagation;
        let Some(opens) = guard.opens(comes, bytes) else {
            refused += 1;
            continue;
        };
        let at = now + (opens - comes);
        if at > end {
            break;
        }
        if babble.noise && at > now + takes && draw.one_in(2) {
            // It is in vain, and closes some gates for longer.
            let between = draw.range(now, at - takes);
            guard.passes(between + takes + port.propagation, bytes, false);
            all.push(Message { frames: vec![(between, bytes)] });
            now = between + takes;
            continue;
        }
        guard.passes(opens, bytes, false);
        all.push(Message { frames: vec![(at, bytes)] });
        now = at + takes;
        if all.len() == 1 && babble.held.is_some() {
            now = now.max(babble.instant);
        }
    }
    all
}

/// Sizes that fill what may pass at once with as few frames as possible, or with as many.
pub(crate) fn filling(most: u64, largest: u64, draw: &mut Draw) -> Vec<u64> {
    let mut sizes = Vec::new();
    match draw.below(4) {
        0 => sizes.push(LEAST_ON_WIRE),
        1 => {
            let mut left = most;
            while left >= LEAST_ON_WIRE && sizes.len() < MOST_FRAMES {
                let mut bytes = left.min(largest);
                if left - bytes > 0 && left - bytes < LEAST_ON_WIRE {
                    bytes = (left - LEAST_ON_WIRE).max(LEAST_ON_WIRE).min(largest);
                }
                sizes.push(bytes);
                left -= bytes;
            }
            // The next message does the same.
            let message = sizes.clone();
            (0..3).for_each(|_| sizes.extend(&message));
        }
        2 => sizes.push(largest.min(most.max(LEAST_ON_WIRE))),
        _ => sizes.extend((0..64).map(|_| draw.range(LEAST_ON_WIRE, largest))),
    }
    if sizes.is_empty() {
        sizes.push(LEAST_ON_WIRE);
    }
    sizes
}

/// Control at a port: all that its bucket allows from an instant on.
pub(crate) fn control(
    (bytes, rate): (u64, u64),
    largest: u64,
    instant: u64,
    end: u64,
    draw: &mut Draw,
) -> Vec<Message> {
    let largest = largest.min(bytes);
    let mut bucket = Bucket::new(bytes, rate);
    let (mut all, mut now) = (Vec::new(), instant);
    let habit = draw.below(3);
    while all.len() < MOST_FRAMES / 4 {
        let size = match habit {
            0 => largest,
            1 => LEAST_ON_WIRE,
            _ => draw.range(LEAST_ON_WIRE, largest),
        };
        now = bucket.take(now, size);
        if now > end {
            break;
        }
        all.push(Message { frames: vec![(now, size)] });
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever is intended, the contract allows it; and it does not allow less separation.
    #[test]
    fn what_conforms_conforms() {
        for seed in 0..2_000 {
            let mut draw = Draw::new(seed);
            let jitter = draw.of(&[0, 100, 900, 2_500]);
            let emission = draw.of(&[0, 0, 300, 1_700]);
            let contract = Contract { separation: 1_000, jitter, emission };
            let messages = [vec![100, 200, 30], vec![20]];
            let intent = Intent {
                instant: 20_000,
                before: draw.below(4),
                habit: draw.of(&[Habit::Crowded, Habit::Regular, Habit::Loose]),
                choice: draw.of(&[Choice::Always(0), Choice::Then(1, 0), Choice::Any]),
                pace: Pace {
                    takes: draw.of(&[u64::MAX, 0, 150]),
                    with_first: draw.place(4),
                    even: draw.one_in(2),
                },
                pauses: vec![(2, 77)],
                swaps: vec![(3, 1)],
                seed,
            };
            let sent = conforming(&contract, &messages, (0, false), &intent, 26_000);
            assert!(contract.allows(&sent), "seed {seed}: {sent:?}");
            assert!(sent.len() > 3);
        }
        let strict = Contract { separation: 1_000, jitter: 10, emission: 0 };
        let at = |at| Message { frames: vec![(at, 84)] };
        assert!(strict.allows(&[at(0), at(1_010), at(2_000)]));
        assert!(
            !strict.allows(&[at(100), at(1_089)])
                && !strict.allows(&[at(0), at(1_011), at(2_000), at(2_999)])
        );
    }
}
