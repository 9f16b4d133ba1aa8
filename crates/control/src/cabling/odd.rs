//! What ports hear that cannot be, and is about no cable of the network file: it is told once, and is over when it has not been heard for a while.
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use super::{COUNTS, Cabling};
use crate::note::Note;

/// Most of it that is kept; hosts can make some of it.
const MOST: usize = 1_024;

/// Something that cannot be.
#[derive(Debug)]
pub(super) struct Odd {
    what: String,
    /// When it was last heard.
    at: Duration,
}

impl Odd {
    /// What it is, in words.
    pub(super) fn what(&self) -> &str {
        &self.what
    }
}

impl Cabling {
    /// Ports have heard what cannot be: what is to be told of that.
    pub(crate) fn note_odd(&mut self, now: Duration, subject: String, what: String) -> Vec<Note> {
        let is_known = self.odd.contains_key(&subject);
        if !is_known && self.odd.len() >= MOST {
            return Vec::new();
        }
        let before = self.odd.insert(subject.clone(), Odd { what: what.clone(), at: now });
        let is_new = before.is_none_or(|before| before.what != what);
        is_new.then_some(Note::Cabling { subject, what }).into_iter().collect()
    }

    /// What has not been heard again is over.
    pub(super) fn forget_odd(&mut self, now: Duration) -> Vec<Note> {
        let is_over = |odd: &Odd| now.saturating_sub(odd.at) > COUNTS;
        let over = self.odd.iter().filter(|(_, odd)| is_over(odd)).map(|(subject, _)| subject.clone());
        let over: Vec<String> = over.collect();
        over.into_iter()
            .map(|subject| {
                self.odd.remove(&subject);
                Note::CablingRight(subject)
            })
            .collect()
    }
}
