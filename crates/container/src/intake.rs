//! What comes to an end of a connection from elsewhere: handed on at once, or kept while a process hands its place over to another one.
use std::collections::VecDeque;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{AcqRel, Acquire};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The GUID of the writer that has published.
pub(crate) type Source = [u8; 16];

/// Events that are kept at most once all that come are needed.
const MOST: usize = 16_384;
/// Events that are kept before that: those that reach the two processes at different times.
const FEW: usize = 64;
/// Sources beyond which those that are gone are forgotten.
const MANY: usize = 64;
/// How long a thread that waits for handlers sleeps between two looks.
const NAP: Duration = Duration::from_micros(20);

/// What came, in its order.
struct Line<F> {
    is_held: bool,
    /// A thread takes what comes; others leave it to that thread, so that the order stays.
    is_taken_from: bool,
    /// More may have come for that thread.
    more: bool,
    kept: VecDeque<(Source, i64, F)>,
    most: usize,
    /// The last event of each source that was handed on.
    last: Vec<(Source, i64)>,
    /// The last event of each source that gave way to later ones.
    lost: Vec<(Source, i64)>,
}

/// Events of another process that the former one has not handled, and that are not here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Missed {
    pub(crate) source: Source,
    /// The last event that was handled.
    pub(crate) after: i64,
    /// The first one that is here, or the last one that is not.
    pub(crate) next: i64,
}

fn last_of(of: &[(Source, i64)], source: &Source) -> Option<i64> {
    of.iter().find(|(known, _)| known == source).map(|(_, number)| *number)
}

fn note(of: &mut Vec<(Source, i64)>, source: Source, number: i64) {
    match of.iter_mut().find(|(known, _)| *known == source) {
        Some((_, last)) => *last = number,
        None => of.push((source, number)),
    }
}

impl<F> Line<F> {
    fn new(is_held: bool, most: usize) -> Self {
        let (kept, last, lost) = (VecDeque::new(), Vec::new(), Vec::new());
        Self { is_held, is_taken_from: false, more: false, kept, most, last, lost }
    }

    /// An event has come: it is to be handed on now, or it is kept.
    fn came(&mut self, source: Source, number: i64, event: F) -> Option<F> {
        // The former process may have got it earlier.
        if last_of(&self.last, &source).is_some_and(|last| number <= last) {
            return None;
        }
        if !self.is_held {
            note(&mut self.last, source, number);
            return Some(event);
        }
        if self.kept.len() >= self.most
            && let Some((source, number, _)) = self.kept.pop_front()
        {
            note(&mut self.lost, source, number);
        }
        self.kept.push_back((source, number, event));
        None
    }

    /// Events up to these positions are handled; the others that have come are handed on by [`Line::next`]. `is_whole` says that each source is
    /// reliable: then its events follow each other.
    fn begin(&mut self, positions: &[(Source, i64)], is_whole: bool) -> Result<(), Missed> {
        // Without a position no process has handled anything in between: what gave way is lost to the process that holds it.
        for (source, next) in self.lost.iter().filter(|_| !positions.is_empty()) {
            let after = last_of(positions, source).unwrap_or_default();
            if *next > after {
                return Err(Missed { source: *source, after, next: *next });
            }
        }
        for (source, after) in positions {
            let mut later = self.kept.iter().filter(|(of, number, _)| of == source && number > after);
            if let Some((_, next, _)) = later.next()
                && is_whole
                && *next > after.saturating_add(1)
            {
                return Err(Missed { source: *source, after: *after, next: *next });
            }
        }
        let is_new = |source: &Source, number: i64| last_of(positions, source).is_none_or(|it| number > it);
        self.kept.retain(|(source, number, _)| is_new(source, *number));
        for (source, after) in positions {
            note(&mut self.last, *source, *after);
        }
        Ok(())
    }

    /// The next event that has waited; when there is none any more, events are handed on as they come.
    fn next(&mut self) -> Option<F> {
        let Some((source, number, event)) = self.kept.pop_front() else {
            self.is_held = false;
            self.lost.clear();
            return None;
        };
        note(&mut self.last, source, number);
        Some(event)
    }
}

/// The way of events into the process by one end of a connection.
pub(crate) struct Intake<F> {
    line: Mutex<Line<F>>,
    /// Threads that hand an event on.
    inside: AtomicUsize,
}

impl<F> Intake<F> {
    pub(crate) fn new(is_held: bool) -> Self {
        Self { line: Mutex::new(Line::new(is_held, FEW)), inside: AtomicUsize::new(0) }
    }

    fn line(&self) -> MutexGuard<'_, Line<F>> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Events may have come: `take` takes the next one. They are handed on by this thread unless they are kept, or left to another thread that
    /// does so already. `is_there` says which sources there still are.
    pub(crate) fn receive(
        &self,
        mut take: impl FnMut() -> Option<(Source, i64, F)>,
        hand_on: impl Fn(F),
        is_there: impl Fn() -> Vec<Source>,
    ) {
        {
            let mut line = self.line();
            line.more = true;
            if line.is_taken_from {
                return;
            }
            line.is_taken_from = true;
        }
        let _taking = Taking(self);
        loop {
            while let Some((source, number, event)) = take() {
                self.came(source, number, event, &hand_on, &is_there);
            }
            let mut line = self.line();
            if !line.more {
                line.is_taken_from = false;
                return;
            }
            line.more = false;
        }
    }

    fn came(
        &self,
        source: Source,
        number: i64,
        event: F,
        hand_on: &impl Fn(F),
        is_there: &impl Fn() -> Vec<Source>,
    ) {
        let mut line = self.line();
        if line.last.len() > MANY && last_of(&line.last, &source).is_none() {
            let there = is_there();
            line.last.retain(|(source, _)| there.contains(source));
        }
        let Some(event) = line.came(source, number, event) else { return };
        // A thread that holds back events sees that this one is inside: it holds the line for that.
        self.inside.fetch_add(1, AcqRel);
        drop(line);
        let _out = Out(&self.inside);
        hand_on(event);
    }

    /// What comes from now on is kept: all of it, if it is needed for sure.
    pub(crate) fn hold(&self, all: bool) {
        let mut line = self.line();
        line.is_held = true;
        line.most = if all { MOST } else { FEW };
    }

    /// Waits until no thread hands an event on any more. Says whether that came about within the limit.
    pub(crate) fn wait(&self, limit: Duration) -> bool {
        let begun = Instant::now();
        while self.inside.load(Acquire) > 0 {
            if begun.elapsed() > limit {
                return false;
            }
            std::thread::sleep(NAP);
        }
        true
    }

    /// The last event of each source that was handed on.
    pub(crate) fn positions(&self) -> Vec<(Source, i64)> {
        self.line().last.clone()
    }

    /// Whether an event of a source was handed on, or a later one.
    pub(crate) fn has_come(&self, source: &Source, number: i64) -> bool {
        last_of(&self.line().last, source).is_some_and(|last| last >= number)
    }

    /// What a source has published up to this event, and has not come yet, is dropped when it comes.
    pub(crate) fn skip(&self, source: Source, number: i64) {
        let mut line = self.line();
        if last_of(&line.last, &source).is_none_or(|last| last < number) {
            note(&mut line.last, source, number);
        }
    }

    /// Whether no thread takes what comes, or hands it on.
    pub(crate) fn is_at_rest(&self) -> bool {
        !self.line().is_taken_from && self.inside.load(Acquire) == 0
    }

    /// Hands on what has waited, after these positions, and from then on what comes.
    pub(crate) fn release(
        &self,
        positions: &[(Source, i64)],
        is_whole: bool,
        mut hand_on: impl FnMut(F),
    ) -> Result<(), Missed> {
        self.line().begin(positions, is_whole)?;
        loop {
            // What comes meanwhile is behind what waits.
            let next = self.line().next();
            match next {
                Some(event) => hand_on(event),
                None => return Ok(()),
            }
        }
    }
}

/// Lets another thread take if this one ends by a panic.
struct Taking<'a, F>(&'a Intake<F>);

impl<F> Drop for Taking<'_, F> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.line().is_taken_from = false;
        }
    }
}

struct Out<'a>(&'a AtomicUsize);

impl Drop for Out<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Source = [1; 16];
    const B: Source = [2; 16];

    fn rest(line: &mut Line<i64>) -> Vec<i64> {
        std::iter::from_fn(|| line.next()).collect()
    }

    #[test]
    fn each_event_is_handed_on_once_by_one_of_both() {
        for handed_over_at in 0..40 {
            for lead in 0..8 {
                let (mut former, mut next) = (Line::new(false, MOST), Line::new(true, MOST));
                let (mut seen, mut seen_by_next) = (Vec::new(), Vec::new());
                for number in 1..=20_i64 {
                    // Both get events of two sources, the one earlier than the other.
                    for source in [A, B] {
                        let event = number * 2 + i64::from(source == B);
                        if number * 2 >= handed_over_at {
                            former.is_held = true;
                        }
                        seen.extend(former.came(source, number, event));
                        let _ = next.came(source, number, event);
                    }
                    if number * 2 == handed_over_at + lead {
                        break;
                    }
                }
                let positions = former.last.clone();
                next.begin(&positions, true).unwrap();
                seen_by_next.extend(rest(&mut next));
                assert!(!next.is_held);
                let all: Vec<i64> = seen.iter().chain(&seen_by_next).copied().collect();
                let expected: Vec<i64> = (2..2 + all.len() as i64).collect();
                assert_eq!(all, expected, "{handed_over_at} {lead}");
                // If it is taken back, the former one goes on.
                former.begin(&[], true).unwrap();
                assert_eq!(rest(&mut former), seen_by_next);
            }
        }
    }

    #[test]
    fn what_is_skipped_does_not_come_later() {
        let intake: Intake<i64> = Intake::new(false);
        let (all, handed_on) =
            (std::cell::RefCell::new(VecDeque::new()), std::cell::RefCell::new(Vec::new()));
        let receive = || {
            intake.receive(
                || all.borrow_mut().pop_front(),
                |event| handed_on.borrow_mut().push(event),
                Vec::new,
            );
        };
        all.borrow_mut().extend([(A, 1, 1), (A, 2, 2)]);
        receive();
        intake.skip(A, 4);
        // It has come so far already.
        intake.skip(A, 1);
        all.borrow_mut().extend([(A, 3, 3), (A, 4, 4), (B, 3, 13), (A, 5, 5)]);
        receive();
        assert_eq!(*handed_on.borrow(), [1, 2, 13, 5]);
    }

    #[test]
    fn what_is_not_there_is_told() {
        let mut next = Line::new(true, 3);
        for number in 1..=6 {
            let _ = next.came(A, number, number);
        }
        // 1 to 3 gave way.
        assert_eq!(next.begin(&[(A, 2)], true), Err(Missed { source: A, after: 2, next: 3 }));
        assert_eq!(next.begin(&[(B, 9)], true), Err(Missed { source: A, after: 0, next: 3 }));
        next.begin(&[(A, 3)], true).unwrap();
        assert_eq!(rest(&mut next), [4, 5, 6]);
        // A process that takes its place back has what is left.
        let mut former = Line::new(false, 3);
        assert_eq!(former.came(A, 1, 1), Some(1));
        former.is_held = true;
        for number in 2..=6 {
            let _ = former.came(A, number, number);
        }
        former.begin(&[], true).unwrap();
        assert_eq!(rest(&mut former), [4, 5, 6]);
        // A reliable source leaves nothing out; any other may.
        let mut next = Line::new(true, 3);
        let _ = next.came(A, 5, 5);
        assert_eq!(next.begin(&[(A, 3)], true), Err(Missed { source: A, after: 3, next: 5 }));
        next.begin(&[(A, 3)], false).unwrap();
        assert_eq!(rest(&mut next), [5]);
        assert_eq!(next.came(A, 6, 6), Some(6));
    }

    #[test]
    fn whoever_holds_waits_for_those_inside() {
        let intake = std::sync::Arc::new(Intake::new(false));
        let (tell, told) = std::sync::mpsc::channel();
        let (go, gone) = std::sync::mpsc::channel::<()>();
        let inside = std::sync::Arc::clone(&intake);
        let thread = std::thread::spawn(move || {
            let hand_on = |_| {
                tell.send(()).unwrap();
                gone.recv().unwrap();
            };
            let mut events = vec![(A, 1, 1)];
            inside.receive(|| events.pop(), hand_on, Vec::new);
        });
        told.recv().unwrap();
        intake.hold(true);
        assert!(!intake.wait(Duration::ZERO));
        // The thread inside would take what comes now; here it is to be seen that it would be kept.
        intake.came(A, 2, 2, &|_| panic!("it is held"), &Vec::new);
        go.send(()).unwrap();
        assert!(intake.wait(Duration::from_secs(100)));
        assert_eq!(intake.positions(), [(A, 1)]);
        thread.join().unwrap();
        let mut seen = Vec::new();
        intake.release(&[], true, |event| seen.push(event)).unwrap();
        assert_eq!(seen, [2]);
    }

    #[test]
    fn sources_that_are_gone_are_forgotten() {
        let intake = Intake::new(false);
        for number in 0..10 * MANY {
            let mut source = A;
            source[..8].copy_from_slice(&number.to_le_bytes());
            let mut events = vec![(source, 1, ())];
            intake.receive(|| events.pop(), |()| {}, || vec![source]);
            assert!(intake.positions().len() <= MANY + 1);
        }
    }

    /// Two threads are told of what comes, as by a network and by shared memory: one of them takes it all.
    #[test]
    fn the_order_stays_whichever_thread_is_told() {
        let intake = Intake::new(false);
        let coming = Mutex::new((1..=10_000_i64).collect::<VecDeque<_>>());
        let seen = Mutex::new(Vec::new());
        let told = || {
            while !coming.lock().unwrap().is_empty() {
                let take = || coming.lock().unwrap().pop_front().map(|number| (A, number, number));
                intake.receive(take, |event| seen.lock().unwrap().push(event), Vec::new);
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(told);
            scope.spawn(told);
        });
        assert_eq!(*seen.lock().unwrap(), (1..=10_000).collect::<Vec<_>>());
        assert_eq!(intake.positions(), [(A, 10_000)]);
    }
}
