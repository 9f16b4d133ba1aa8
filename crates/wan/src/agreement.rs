//! Service level agreements: what one domain may send another over one border link. Each is known to these two alone.
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::request::ANY_LOSS;
use crate::words::{Asn, Class, LinkId, Reason};

/// What is agreed for one class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Terms {
    /// Bits per second that the sending domain may send.
    pub rate: u64,
    /// Bytes at once.
    pub burst: u64,
    /// Nanoseconds over the link, whatever else is admitted within rate and burst.
    pub delay: u64,
    /// Nanoseconds by which that varies.
    pub jitter: u64,
    /// Packets of a million that may be lost, of those of any flow that keeps to its traffic.
    pub loss: u32,
}

/// What happens to traffic beyond the terms.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Excess {
    /// It is dropped.
    Drop,
    /// It is marked down, and dropped before all else.
    Demote,
}

/// A service level agreement for traffic in one direction over one link.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Agreement {
    /// Who sends. Its ledger alone counts the link.
    pub from: Asn,
    /// Who receives.
    pub to: Asn,
    /// The border link.
    pub link: LinkId,
    /// For each class that may be sent.
    pub terms: BTreeMap<Class, Terms>,
    /// Valid from, in nanoseconds.
    pub begins: u64,
    /// Valid until.
    pub ends: u64,
    /// For a million bits per second and hour, in the smallest coin.
    pub price: u64,
    /// The sending domain tells the price to no domain before it, and to no caller. A sum that it belongs to is not told either.
    pub hides_price: bool,
    /// Domains that may be reached by it.
    pub destinations: Vec<Asn>,
    /// Of traffic beyond the terms.
    pub excess: Excess,
    /// Domains that may ask the receiving domain themselves for traffic over this link, in the place of the sending domain. Both domains of the
    /// agreement let them.
    pub direct: Vec<Asn>,
}

/// Packets of a million that may be lost up to the end of a part of a path that loses `own` at most, where `before` of them may be lost until its
/// beginning. It is the sum of both: it holds however losses depend on each other, and never is below what is lost of what has arrived.
pub(crate) fn loss_after(before: u32, own: u32) -> u32 {
    before.saturating_add(own).min(ANY_LOSS)
}

impl Agreement {
    /// The terms under which traffic of a class may go to a destination now, or why it may not.
    pub(crate) fn applies(&self, now: u64, class: Class, destination: Asn) -> Result<Terms, Reason> {
        if now < self.begins || self.ends <= now {
            return Err(Reason::NoAgreement);
        }
        if !self.destinations.contains(&destination) {
            return Err(Reason::DestinationNotAgreed(destination));
        }
        self.terms.get(&class).copied().ok_or(Reason::ClassNotAgreed)
    }
}
