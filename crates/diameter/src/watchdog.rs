//! Whether a peer is alive: the watchdog of RFC 3539, 3.4.1.
//!
//! The owner tells what happens and does what is returned. Times are nanoseconds of any clock that does not go back.

/// The shortest interval that RFC 3539 allows.
pub const SHORTEST_INTERVAL: u64 = 6_000_000_000;
/// How far an interval may be away from what is configured, in both directions.
const JITTER: u64 = 2_000_000_000;

/// What is known of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// There has been none yet.
    Initial,
    /// It works.
    Okay,
    /// The peer has not answered: requests go elsewhere, and the connection is watched.
    Suspect,
    /// There is none.
    Down,
    /// It is there again, and has to prove itself by three answers before requests go there.
    Reopen,
}

/// What the owner has to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// Send a Device-Watchdog-Request.
    SendWatchdog,
    /// Hand requests without answer to another peer, and send no more here.
    Failover,
    /// Requests may be sent here again.
    Failback,
    /// Close the connection, and tell the watchdog that it is down.
    Close,
    /// Open a connection, if there is none on its way.
    AttemptOpen,
}

/// The watchdog of one peer.
#[derive(Clone, Debug)]
pub struct Watchdog {
    state: State,
    pending: bool,
    /// Answers since the connection was opened again; -1 after one that was overdue.
    answers: i8,
    interval: u64,
    due: u64,
    random: u64,
}

impl Watchdog {
    /// A watchdog without a connection. Intervals below [`SHORTEST_INTERVAL`] are made as long as that. `random` makes the
    /// intervals of peers differ.
    pub fn new(now: u64, interval: u64, random: u64) -> Self {
        let interval = interval.max(SHORTEST_INTERVAL);
        let mut watchdog =
            Self { state: State::Initial, pending: false, answers: 0, interval, due: 0, random };
        watchdog.set(now);
        watchdog
    }

    /// The state.
    pub const fn state(&self) -> State {
        self.state
    }

    /// When [`Self::on_timer`] is to be called.
    pub const fn due(&self) -> u64 {
        self.due
    }

    /// The next interval: as configured, and up to two seconds more or less.
    fn set(&mut self, now: u64) {
        // SplitMix64, one step.
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let jitter = (mixed ^ (mixed >> 31)) % (2 * JITTER + 1);
        self.due = now.saturating_add(self.interval - JITTER).saturating_add(jitter);
    }

    /// A connection is open.
    pub fn on_up(&mut self, now: u64) -> Option<Action> {
        self.set(now);
        match self.state {
            State::Initial => {
                self.state = State::Okay;
                self.pending = false;
                None
            }
            _ => {
                self.state = State::Reopen;
                self.answers = 0;
                self.pending = true;
                Some(Action::SendWatchdog)
            }
        }
    }

    /// The connection is gone.
    pub fn on_down(&mut self, now: u64) -> Option<Action> {
        let failover = self.state == State::Okay;
        if self.state != State::Initial {
            self.state = State::Down;
        }
        self.pending = false;
        self.set(now);
        failover.then_some(Action::Failover)
    }

    /// A Device-Watchdog-Answer has come.
    pub fn on_answer(&mut self, now: u64) -> Option<Action> {
        match self.state {
            State::Okay => {
                self.pending = false;
                self.set(now);
                None
            }
            State::Suspect => {
                self.pending = false;
                self.state = State::Okay;
                self.set(now);
                Some(Action::Failback)
            }
            State::Reopen => {
                self.pending = false;
                self.answers = self.answers.saturating_add(1);
                if self.answers < 3 {
                    return None;
                }
                self.state = State::Okay;
                Some(Action::Failback)
            }
            State::Initial | State::Down => None,
        }
    }

    /// Any other message has come.
    pub fn on_message(&mut self, now: u64) -> Option<Action> {
        match self.state {
            State::Okay => {
                self.set(now);
                None
            }
            State::Suspect => {
                self.state = State::Okay;
                self.set(now);
                Some(Action::Failback)
            }
            State::Initial | State::Down | State::Reopen => None,
        }
    }

    /// The time of [`Self::due`] has come.
    pub fn on_timer(&mut self, now: u64) -> Option<Action> {
        if now < self.due {
            return None;
        }
        self.set(now);
        match (self.state, self.pending) {
            (State::Initial | State::Down, _) => Some(Action::AttemptOpen),
            (State::Okay | State::Reopen, false) => {
                self.pending = true;
                Some(Action::SendWatchdog)
            }
            (State::Okay, true) => {
                self.state = State::Suspect;
                Some(Action::Failover)
            }
            (State::Suspect, _) => Some(Action::Close),
            (State::Reopen, true) if self.answers < 0 => Some(Action::Close),
            (State::Reopen, true) => {
                self.answers = -1;
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn timer(watchdog: &mut Watchdog, now: &mut u64) -> Option<Action> {
        assert_eq!(watchdog.on_timer(watchdog.due() - 1), None);
        let waited = watchdog.due() - *now;
        assert!((28 * SECOND..=32 * SECOND).contains(&waited), "{waited}");
        *now = watchdog.due();
        watchdog.on_timer(*now)
    }

    /// The rows of the table in RFC 3539, 3.4.1, one after the other.
    #[test]
    fn the_table_is_followed() {
        let mut now = 5;
        let mut dog = Watchdog::new(now, 30 * SECOND, 7);
        assert_eq!(timer(&mut dog, &mut now), Some(Action::AttemptOpen));
        assert_eq!((dog.on_up(now), dog.state()), (None, State::Okay));
        assert_eq!(timer(&mut dog, &mut now), Some(Action::SendWatchdog));
        assert_eq!(dog.on_answer(now), None);
        assert_eq!(timer(&mut dog, &mut now), Some(Action::SendWatchdog));
        assert_eq!((timer(&mut dog, &mut now), dog.state()), (Some(Action::Failover), State::Suspect));
        assert_eq!((dog.on_answer(now), dog.state()), (Some(Action::Failback), State::Okay));
        assert_eq!(timer(&mut dog, &mut now), Some(Action::SendWatchdog));
        assert_eq!(timer(&mut dog, &mut now), Some(Action::Failover));
        assert_eq!((dog.on_message(now), dog.state()), (Some(Action::Failback), State::Okay));
        assert_eq!(timer(&mut dog, &mut now), Some(Action::Failover), "the request is still open");
        assert_eq!(timer(&mut dog, &mut now), Some(Action::Close));
        assert_eq!((dog.on_down(now), dog.state()), (None, State::Down));
        assert_eq!(timer(&mut dog, &mut now), Some(Action::AttemptOpen));
        assert_eq!((dog.on_up(now), dog.state()), (Some(Action::SendWatchdog), State::Reopen));
        assert_eq!(dog.on_message(now), None);
        assert_eq!((dog.on_answer(now), dog.on_answer(now)), (None, None));
        assert_eq!(timer(&mut dog, &mut now), Some(Action::SendWatchdog));
        assert_eq!((dog.on_answer(now), dog.state()), (Some(Action::Failback), State::Okay));
        assert_eq!((dog.on_down(now), dog.state()), (Some(Action::Failover), State::Down));
        assert_eq!(dog.on_up(now), Some(Action::SendWatchdog));
        assert_eq!(timer(&mut dog, &mut now), None);
        assert_eq!(timer(&mut dog, &mut now), Some(Action::Close));
    }

    #[test]
    fn intervals_are_no_shorter_than_allowed_and_differ() {
        let dues: alloc::vec::Vec<u64> = (0..100).map(|seed| Watchdog::new(0, 1, seed).due()).collect();
        assert!(dues.iter().all(|due| (4 * SECOND..=8 * SECOND).contains(due)));
        assert!(dues.iter().min() < Some(&(5 * SECOND)) && dues.iter().max() > Some(&(7 * SECOND)));
    }
}
