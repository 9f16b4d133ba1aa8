//! Which of several processes leads, as a state machine: a key in a shared store, bound to a lease that its holder renews.
//!
//! [`Leadership`] says what is to be asked of the store, and hears the answers; times are durations since any fixed moment of a clock that never
//! goes back. The manager that created the key leads, for as long as the lease lives. The store counts the lease from when it hears a renewal; the leader
//! counts from when it sent it, which is earlier, and gives it up a quarter of its length before it can end. So it has stopped before another
//! one can lead, as long as its clock is not slower than three quarters of the store's. Even if it is, each of its writes says which key it
//! created, and the store takes no write of one whose key is gone.
use core::time::Duration;

/// How often one that stands by looks whether there is a leader.
pub const LOOK: Duration = Duration::from_millis(100);
/// How often a leader looks whether its key is still there: it goes before its lease if it is deleted.
const LOOK_AFTER: Duration = Duration::from_secs(1);
/// The wait before what had no answer is asked again.
const AGAIN: Duration = Duration::from_millis(100);
/// The lease that is asked for: stores give the shortest that they have if that is longer.
pub const SECONDS: u64 = 1;
/// Of this many parts of a lease the leader does not use the last one.
const PARTS: u32 = 4;
/// A lease is renewed after one of this many parts.
const RENEWALS: u32 = 5;
/// A lease that is longer is taken for this: no takeover should take longer than that.
const LONGEST: Duration = Duration::from_secs(60);

/// What the store is asked. There is one question at a time; each wants an answer, if only that there is none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ask {
    /// Who holds the key?
    Look,
    /// Give me a lease of [`SECONDS`].
    Grant,
    /// Create the key under this lease, if there is none.
    Campaign(i64),
    /// Renew this lease.
    Renew(i64),
    /// End this lease, and what is bound to it.
    Revoke(i64),
}

/// What came of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// The key's revision of creation, and its value; none if there is no key.
    Holder(Option<(i64, String)>),
    /// A lease, and its length.
    Granted(i64, Duration),
    /// The key was created, at this revision.
    Won(i64),
    /// The lease has this length from now on; none: it has ended.
    Renewed(Option<Duration>),
    /// It was ended.
    Revoked,
    /// It is not known what came of it.
    Unknown,
}

/// What this process is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Standing {
    /// It led, or has not begun: it looks who leads and does not try to, until [`Leadership::stand_by`].
    Idle,
    /// Another one leads, or none does yet.
    StandsBy,
    /// It leads: its key was created at this revision.
    Leads(i64),
    /// It led, and cannot make sure in time that it does.
    Unsure(i64),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Idle,
    StandsBy,
    /// None led a moment ago.
    Wants,
    /// It has a lease, asked for at the time.
    Candidate {
        lease: i64,
        until: Duration,
        renew_at: Duration,
    },
    Leads {
        lease: i64,
        revision: i64,
        until: Duration,
        renew_at: Duration,
        look_at: Duration,
    },
    /// The lease is of no use any more.
    Gives {
        lease: i64,
        wants: bool,
    },
}

/// See the module above.
#[derive(Debug)]
pub struct Leadership {
    state: State,
    /// What was asked, when, and has no answer.
    asked: Option<(Ask, Duration)>,
    /// When the next question is due.
    due: Duration,
    holder: Option<String>,
}

impl Leadership {
    /// One that wants to lead.
    pub const fn new(now: Duration) -> Self {
        Self { state: State::StandsBy, asked: None, due: now, holder: None }
    }

    /// What this process is at this moment.
    pub fn standing(&self, now: Duration) -> Standing {
        match self.state {
            State::Leads { revision, until, .. } if now < until => Standing::Leads(revision),
            State::Leads { revision, .. } => Standing::Unsure(revision),
            State::Idle | State::Gives { wants: false, .. } => Standing::Idle,
            State::StandsBy | State::Wants | State::Candidate { .. } | State::Gives { wants: true, .. } => {
                Standing::StandsBy
            }
        }
    }

    /// Until when it leads, unless it makes sure again before.
    pub const fn leads_until(&self) -> Option<Duration> {
        match self.state {
            State::Leads { until, .. } => Some(until),
            _ => None,
        }
    }

    /// What the leader says of itself, as it was read last.
    pub fn holder(&self) -> Option<&str> {
        self.holder.as_deref()
    }

    /// The owner acts no longer, and wants to lead.
    pub fn stand_by(&mut self, now: Duration) {
        match &mut self.state {
            State::Idle => {
                self.state = State::StandsBy;
                self.due = now;
            }
            State::Gives { wants, .. } => *wants = true,
            _ => {}
        }
    }

    /// The owner acts no longer, and does not want to: what it has is given back, so that another one can lead at once.
    pub fn resign(&mut self, now: Duration) {
        self.due = now;
        self.state = match self.state {
            State::Candidate { lease, .. } | State::Leads { lease, .. } | State::Gives { lease, .. } => {
                State::Gives { lease, wants: false }
            }
            State::Idle | State::StandsBy | State::Wants => State::Idle,
        };
    }

    /// The store has refused a write of this process, because its key is not there: it does not lead.
    pub fn is_fenced(&mut self, now: Duration, of: i64) {
        if let State::Leads { lease, revision, .. } = self.state
            && revision == of
        {
            self.state = State::Gives { lease, wants: false };
            self.due = now;
        }
    }

    /// Whether a lease is still to be given back.
    pub const fn holds_lease(&self) -> bool {
        matches!(self.state, State::Candidate { .. } | State::Leads { .. } | State::Gives { .. })
    }

    /// When [`Self::poll_ask`] has something, if nothing happens before.
    pub fn poll_timeout(&self) -> Option<Duration> {
        self.asked.is_none().then_some(match self.state {
            State::Leads { renew_at, look_at, .. } => renew_at.min(look_at).max(self.due),
            _ => self.due,
        })
    }

    /// What to ask now.
    pub fn poll_ask(&mut self, now: Duration) -> Option<Ask> {
        if self.asked.is_some() || now < self.due {
            return None;
        }
        let ask = match self.state {
            State::Idle | State::StandsBy => Ask::Look,
            State::Wants => Ask::Grant,
            // A lease that may end before the key is created is not worth it.
            State::Candidate { lease, until, .. } if now >= until => {
                self.state = State::Gives { lease, wants: true };
                Ask::Revoke(lease)
            }
            State::Candidate { lease, .. } => Ask::Campaign(lease),
            State::Leads { lease, renew_at, .. } if now >= renew_at => Ask::Renew(lease),
            State::Leads { look_at, .. } if now >= look_at => Ask::Look,
            State::Leads { .. } => return None,
            State::Gives { lease, .. } => Ask::Revoke(lease),
        };
        self.asked = Some((ask, now));
        Some(ask)
    }

    /// The answer to what was asked last.
    pub fn answered(&mut self, now: Duration, answer: Answer) {
        let Some((ask, sent)) = self.asked.take() else { return };
        self.due = now;
        if let Answer::Holder(holder) = &answer {
            self.holder = holder.as_ref().map(|(_, value)| value.clone());
        }
        match (ask, answer) {
            (Ask::Look, Answer::Holder(holder)) => self.looked(now, holder.map(|(revision, _)| revision)),
            (Ask::Grant, Answer::Granted(lease, length)) => {
                // The owner may have resigned meanwhile.
                self.state = match self.state {
                    State::Wants => {
                        let (until, renew_at) = times(sent, length);
                        State::Candidate { lease, until, renew_at }
                    }
                    _ => State::Gives { lease, wants: false },
                };
            }
            (Ask::Campaign(lease), Answer::Won(revision)) => {
                if let State::Candidate { until, renew_at, .. } = self.state {
                    let look_at = now.saturating_add(LOOK_AFTER);
                    self.state = State::Leads { lease, revision, until, renew_at, look_at };
                }
            }
            // Another one was faster, or this one was, and has not heard of it: then the lease takes the key with it.
            (Ask::Campaign(lease), Answer::Holder(_)) => {
                if let State::Candidate { .. } = self.state {
                    self.state = State::Gives { lease, wants: true };
                }
            }
            (Ask::Renew(_), Answer::Renewed(Some(length))) => {
                if let State::Leads { until, renew_at, .. } = &mut self.state {
                    (*until, *renew_at) = times(sent, length);
                }
            }
            (Ask::Renew(_), Answer::Renewed(None)) => {
                if let State::Leads { .. } = self.state {
                    self.state = State::Idle;
                }
            }
            (Ask::Revoke(_), Answer::Revoked) => {
                if let State::Gives { wants, .. } = self.state {
                    self.state = if wants { State::StandsBy } else { State::Idle };
                }
            }
            // A lease that may have been granted ends by itself; what may have been created is bound to a lease.
            _ => self.due = now.saturating_add(AGAIN),
        }
    }

    fn looked(&mut self, now: Duration, holder: Option<i64>) {
        match &mut self.state {
            State::Leads { lease, revision, look_at, .. } => {
                if holder == Some(*revision) {
                    *look_at = now.saturating_add(LOOK_AFTER);
                } else {
                    self.state = State::Gives { lease: *lease, wants: false };
                }
            }
            State::StandsBy if holder.is_none() => self.state = State::Wants,
            _ => self.due = now.saturating_add(LOOK),
        }
    }
}

/// Until when a lease is used that was asked for then, and when it is to be renewed.
fn times(sent: Duration, length: Duration) -> (Duration, Duration) {
    let length = length.min(LONGEST);
    let used = length.saturating_sub(length / PARTS);
    (sent.saturating_add(used), sent.saturating_add(length / RENEWALS))
}
