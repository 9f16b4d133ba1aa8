//! What is said of pairs, and what is still to be said: the last verdict of each pair, told again later where there was no room.
//!
//! Nothing that fails here ends the manager. Room is made by refused verdicts, the oldest first: who was refused has heard it.
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use control::action::{Pair, Token};
use dds::{Error, ReturnCode};
use tracing::error;
use wire::admission::{State, Verdict};

/// The wait before what found no room is told again.
const RETRY: Duration = Duration::from_millis(100);
/// Refused verdicts that make room for one other at most.
const MOST_FORGOTTEN: usize = 4;

/// Where verdicts are published.
pub(crate) trait Voice {
    /// Tells a verdict to both sides.
    ///
    /// # Errors
    /// There is no room for it now, or what else writing says.
    fn tell(&self, verdict: &Verdict) -> Result<(), Error>;

    /// Forgets the verdict of a pair.
    ///
    /// # Errors
    /// There is no room for that now, or what else disposing says.
    fn forget(&self, verdict: &Verdict) -> Result<(), Error>;

    /// True if all who read verdicts have acknowledged all of them.
    fn is_acknowledged(&self) -> bool;
}

/// A verdict that counts.
#[derive(Debug)]
struct Kept {
    verdict: Verdict,
    /// The number under which it stands among those that may make room.
    refused: Option<u64>,
    /// Those that wait for it to arrive, while it is not told.
    tokens: Vec<Token>,
}

/// All verdicts.
#[derive(Debug)]
pub(crate) struct Verdicts {
    /// Verdicts that are kept at most, unless more than that are no refusals.
    most: usize,
    kept: BTreeMap<Pair, Kept>,
    /// Refused ones that were told, the oldest first.
    refused: BTreeMap<u64, Pair>,
    next: u64,
    /// Those that found no room.
    untold: BTreeSet<Pair>,
    /// Verdicts that are to be forgotten, which found no room.
    unforgotten: BTreeMap<Pair, Verdict>,
    retry_at: Option<Duration>,
    /// Those that wait for what was told to arrive.
    unacknowledged: Vec<Token>,
}

impl Verdicts {
    /// No verdicts; `most` are kept.
    pub(crate) const fn new(most: usize) -> Self {
        Self {
            most,
            kept: BTreeMap::new(),
            refused: BTreeMap::new(),
            next: 0,
            untold: BTreeSet::new(),
            unforgotten: BTreeMap::new(),
            retry_at: None,
            unacknowledged: Vec::new(),
        }
    }

    /// Says the verdict of a pair, now or when there is room; a token is due when all have acknowledged it.
    pub(crate) fn say(&mut self, now: Duration, voice: &impl Voice, verdict: Verdict, token: Option<Token>) {
        let pair = verdict.pair();
        self.unforgotten.remove(&pair);
        let before = self.kept.insert(pair, Kept { verdict, refused: None, tokens: Vec::new() });
        let mut tokens = before.map(|before| self.unlist(&before)).unwrap_or_default();
        tokens.extend(token);
        if let Some(kept) = self.kept.get_mut(&pair) {
            kept.tokens = tokens;
        }
        if self.kept.len() > self.most {
            self.make_room(now, voice);
        }
        // What waits already was said earlier, and goes first.
        if self.untold.is_empty() || self.untold.contains(&pair) {
            self.tell(now, voice, pair);
        } else {
            self.untold.insert(pair);
        }
    }

    /// No reader asks for the pair any more.
    pub(crate) fn forget(&mut self, now: Duration, voice: &impl Voice, pair: Pair) {
        let Some(kept) = self.kept.remove(&pair) else { return };
        // Who waits for it to arrive waits no longer than a lease.
        self.unlist(&kept);
        self.untold.remove(&pair);
        self.dispose(now, voice, kept.verdict);
    }

    /// Whether something is said of a pair.
    pub(crate) fn has(&self, pair: Pair) -> bool {
        self.kept.contains_key(&pair)
    }

    /// The tokens of verdicts that have arrived everywhere.
    pub(crate) fn arrived(&mut self, voice: &impl Voice) -> Vec<Token> {
        match self.unacknowledged.is_empty() || !voice.is_acknowledged() {
            true => Vec::new(),
            false => std::mem::take(&mut self.unacknowledged),
        }
    }

    /// Whether an arrival is awaited with [`Self::arrived`].
    pub(crate) const fn is_waited_for(&self) -> bool {
        !self.unacknowledged.is_empty()
    }

    /// When [`Self::retry`] wants to be called.
    pub(crate) const fn poll_timeout(&self) -> Option<Duration> {
        self.retry_at
    }

    /// Tells again those that were told and are meant; one that finds no room was told before.
    pub(crate) fn repeat(&self, voice: &impl Voice, is_meant: impl Fn(&Verdict) -> bool) {
        let told =
            self.kept.iter().filter(|(pair, kept)| !self.untold.contains(pair) && is_meant(&kept.verdict));
        for (_, kept) in told {
            let _ = voice.tell(&kept.verdict);
        }
    }

    /// How many verdicts wait for room.
    pub(crate) fn waiting(&self) -> usize {
        self.untold.len() + self.unforgotten.len()
    }

    /// Tells what found no room, as far as there is room now: what is over first, then what is not a refusal.
    pub(crate) fn retry(&mut self, now: Duration, voice: &impl Voice) {
        if self.retry_at.is_none_or(|at| at > now) {
            return;
        }
        self.retry_at = None;
        while let Some((_, verdict)) = self.unforgotten.pop_first() {
            if !self.dispose(now, voice, verdict) {
                return;
            }
        }
        let is_refused = |pair: &Pair| self.kept.get(pair).is_some_and(|kept| is_refusal(&kept.verdict));
        let (last, first): (Vec<Pair>, Vec<Pair>) = self.untold.iter().partition(|pair| is_refused(pair));
        for pair in first.into_iter().chain(last) {
            if !self.tell(now, voice, pair) {
                return;
            }
        }
    }

    /// True if it was told.
    fn tell(&mut self, now: Duration, voice: &impl Voice, pair: Pair) -> bool {
        let Some(kept) = self.kept.get(&pair) else {
            self.untold.remove(&pair);
            return true;
        };
        let (mut told, refused) = (voice.tell(&kept.verdict), is_refusal(&kept.verdict));
        for _ in 0..MOST_FORGOTTEN {
            if !told.as_ref().is_err_and(is_for_room) || !self.make_room(now, voice) {
                break;
            }
            told = self.kept.get(&pair).map_or(Ok(()), |kept| voice.tell(&kept.verdict));
        }
        match told {
            Err(error) if is_for_room(&error) => {
                self.untold.insert(pair);
                self.retry_at.get_or_insert(now.saturating_add(RETRY));
                return false;
            }
            // Telling it again changes nothing: what is said next of the pair is another verdict.
            Err(error) => error!("a verdict cannot be told: {error}"),
            Ok(()) => {}
        }
        self.untold.remove(&pair);
        let Some(kept) = self.kept.get_mut(&pair) else { return true };
        self.unacknowledged.append(&mut kept.tokens);
        if refused {
            kept.refused = Some(self.next);
            self.refused.insert(self.next, pair);
            self.next += 1;
        }
        true
    }

    /// The oldest refused verdict goes. False if there is none, or it cannot go now.
    fn make_room(&mut self, now: Duration, voice: &impl Voice) -> bool {
        let Some((_, pair)) = self.refused.pop_first() else { return false };
        let Some(kept) = self.kept.remove(&pair) else { return true };
        self.dispose(now, voice, kept.verdict)
    }

    /// True if nothing of it is left.
    fn dispose(&mut self, now: Duration, voice: &impl Voice, verdict: Verdict) -> bool {
        match voice.forget(&verdict) {
            Err(error) if is_for_room(&error) => {
                self.unforgotten.insert(verdict.pair(), verdict);
                self.retry_at.get_or_insert(now.saturating_add(RETRY));
                return false;
            }
            Err(error) => error!("a verdict that is over cannot be withdrawn: {error}"),
            Ok(()) => {}
        }
        true
    }

    /// Takes a verdict off the list of those that may make room; those that wait for it.
    fn unlist(&mut self, kept: &Kept) -> Vec<Token> {
        if let Some(number) = kept.refused {
            self.refused.remove(&number);
        }
        kept.tokens.clone()
    }
}

/// Whether something failed for want of room, which may come.
const fn is_for_room(error: &Error) -> bool {
    matches!(error.code, ReturnCode::OutOfResources | ReturnCode::Timeout)
}

const fn is_refusal(verdict: &Verdict) -> bool {
    matches!(verdict.state, State::Refused)
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};

    use wire::Guid;

    use super::*;

    /// Has room for so many verdicts; who is told what.
    struct Room {
        most: Cell<usize>,
        told: RefCell<BTreeMap<Pair, State>>,
        is_acknowledged: Cell<bool>,
    }

    impl Room {
        fn of(most: usize) -> Self {
            Self {
                most: Cell::new(most),
                told: RefCell::new(BTreeMap::new()),
                is_acknowledged: Cell::new(true),
            }
        }

        fn count(&self, state: State) -> usize {
            self.told.borrow().values().filter(|told| **told == state).count()
        }
    }

    fn full() -> Error {
        Error::new(ReturnCode::OutOfResources, "write", "no room", "wait")
    }

    impl Voice for Room {
        fn tell(&self, verdict: &Verdict) -> Result<(), Error> {
            let mut told = self.told.borrow_mut();
            if !told.contains_key(&verdict.pair()) && told.len() >= self.most.get() {
                return Err(full());
            }
            told.insert(verdict.pair(), verdict.state);
            Ok(())
        }

        fn forget(&self, verdict: &Verdict) -> Result<(), Error> {
            // Nothing can be said at all.
            if self.most.get() == 0 {
                return Err(full());
            }
            self.told.borrow_mut().remove(&verdict.pair());
            Ok(())
        }

        fn is_acknowledged(&self) -> bool {
            self.is_acknowledged.get()
        }
    }

    fn verdict(number: u32, state: State) -> Verdict {
        let mut writer = [1; 16];
        writer[..4].copy_from_slice(&number.to_be_bytes());
        Verdict { writer, reader: [2; 16], state, ..Verdict::default() }
    }

    fn pair(number: u32) -> Pair {
        (Guid::from_bytes(verdict(number, State::Pending).writer), Guid::from_bytes([2; 16]))
    }

    const NOW: Duration = Duration::from_secs(100);

    #[test]
    fn ten_thousand_refusals_and_admissions_find_room_one_after_the_other() {
        let (room, mut verdicts) = (Room::of(1_000), Verdicts::new(20_000));
        for number in 0..10_000 {
            let state = if number % 20 == 0 { State::Admitted } else { State::Refused };
            verdicts.say(NOW, &room, verdict(number, state), None);
        }
        assert_eq!((room.count(State::Admitted), room.count(State::Refused)), (500, 500));
        assert_eq!(verdicts.waiting(), 0);
        // The newest refusals are there.
        assert!(room.told.borrow().contains_key(&pair(9_999)));
    }

    #[test]
    fn refusals_do_not_become_more_than_there_may_be() {
        let (room, mut verdicts) = (Room::of(usize::MAX), Verdicts::new(100));
        for number in 0..10_000 {
            verdicts.say(NOW, &room, verdict(number, State::Refused), None);
        }
        assert_eq!(
            (room.count(State::Refused), verdicts.kept.len(), verdicts.refused.len()),
            (100, 100, 100)
        );
    }

    #[test]
    fn what_finds_no_room_is_told_later_and_answered_then() {
        let (room, mut verdicts) = (Room::of(2), Verdicts::new(100));
        for number in 0..4 {
            verdicts.say(NOW, &room, verdict(number, State::Admitted), Some(Token(number.into())));
        }
        assert_eq!(verdicts.arrived(&room), [Token(0), Token(1)]);
        assert_eq!(verdicts.waiting(), 2);
        let at = verdicts.poll_timeout().unwrap();
        assert!(at > NOW);
        room.most.set(3);
        verdicts.retry(at, &room);
        assert_eq!((room.count(State::Admitted), verdicts.waiting()), (3, 1));
        verdicts.forget(at, &room, pair(0));
        verdicts.retry(verdicts.poll_timeout().unwrap(), &room);
        assert_eq!(verdicts.waiting(), 0);
        room.is_acknowledged.set(false);
        assert!(verdicts.arrived(&room).is_empty());
        room.is_acknowledged.set(true);
        assert_eq!(verdicts.arrived(&room), [Token(2), Token(3)]);
        assert_eq!(verdicts.poll_timeout(), None);
    }

    /// Takes nothing that has a reason.
    struct Picky(RefCell<usize>);

    impl Voice for Picky {
        fn tell(&self, verdict: &Verdict) -> Result<(), Error> {
            if !verdict.reason.is_empty() {
                return Err(Error::new(ReturnCode::BadParameter, "write", "too long", "shorten it"));
            }
            *self.0.borrow_mut() += 1;
            Ok(())
        }

        fn forget(&self, _: &Verdict) -> Result<(), Error> {
            Ok(())
        }

        fn is_acknowledged(&self) -> bool {
            true
        }
    }

    #[test]
    fn one_that_can_never_be_told_holds_up_no_other() {
        let (picky, mut verdicts) = (Picky(RefCell::new(0)), Verdicts::new(10));
        let bad = Verdict { reason: "x".to_owned(), ..verdict(1, State::Refused) };
        verdicts.say(NOW, &picky, bad, None);
        verdicts.say(NOW, &picky, verdict(2, State::Admitted), None);
        assert_eq!((*picky.0.borrow(), verdicts.waiting(), verdicts.poll_timeout()), (1, 0, None));
    }

    #[test]
    fn a_verdict_that_is_over_and_finds_no_room_is_forgotten_later() {
        let (room, mut verdicts) = (Room::of(2), Verdicts::new(100));
        verdicts.say(NOW, &room, verdict(1, State::Admitted), None);
        verdicts.say(NOW, &room, verdict(2, State::Refused), None);
        room.most.set(0);
        verdicts.forget(NOW, &room, pair(1));
        verdicts.say(NOW, &room, verdict(3, State::Revoked), None);
        assert_eq!((room.count(State::Admitted), verdicts.waiting()), (1, 3));
        room.most.set(2);
        verdicts.retry(NOW + RETRY, &room);
        assert_eq!((room.count(State::Admitted), room.count(State::Revoked), verdicts.waiting()), (0, 1, 0));
    }
}
