//! What follows from the time alone.
use super::{Act, KEPT, Sessions};
use crate::flows::{LOOKED_FOR, SKEW, SLACK};
use crate::notification;
use crate::record::{State, Why};
use crate::uuid::Uuid;

impl Sessions {
    /// It is so late.
    pub fn tick(&mut self, now: u64) {
        let due: Vec<Uuid> = self.all.keys().copied().collect();
        for id in due {
            self.look_at(now, id);
        }
    }

    fn look_at(&mut self, now: u64, id: Uuid) {
        let busy = self.deleting.contains_key(&id) || self.extending.contains(&id);
        let awaits = self.awaits(id);
        let Some(session) = self.all.get_mut(&id) else { return };
        match session.state {
            State::Available { since, until } if until <= now && !busy => {
                session.state =
                    State::Unavailable { why: Why::DurationExpired, since: Some(since), at: until };
                session.stopping = true;
                let stop = session.name().map(|name| Act::Stop(id, name.to_owned()));
                let notice = notification::of(session, now, &self.url).map(Act::Notify);
                self.acts.extend(stop.into_iter().chain(notice));
                self.changed.insert(id);
            }
            State::Unavailable { at, .. } => {
                if session.lost.is_some_and(|lost| lost + LOOKED_FOR <= now) && !awaits {
                    session.lost = None;
                    self.changed.insert(id);
                }
                // By then the manager has ended it by itself.
                let ends = session.admitted.as_ref().map_or(0, |admitted| admitted.ends / 1_000_000);
                if session.stopping && ends.max(at) + (SLACK + SKEW) / 1_000_000 + LOOKED_FOR <= now {
                    session.stopping = false;
                    self.changed.insert(id);
                }
                if !session.stopping && session.lost.is_none() && (session.hidden || at + KEPT <= now) {
                    self.forget(id);
                }
            }
            State::Available { .. } | State::Requested => {}
        }
    }
}
