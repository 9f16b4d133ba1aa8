//! The ledger of border links that this domain sends on: what they carry at most, and what they carry.
use alloc::collections::{BTreeMap, BTreeSet};

use crate::agreement::Terms;
use crate::config::Config;
use crate::words::{Asn, Class, LinkId, Reason, Refusal};

/// What is known of border links beyond their agreements. It can only lower what they carry.
#[derive(Debug, Default)]
pub(crate) struct Border {
    down: BTreeSet<LinkId>,
    measured: BTreeMap<(LinkId, Class), u64>,
}

/// What one aggregate takes of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Load {
    /// Bits per second.
    pub(crate) rate: u64,
    /// Bytes at once.
    pub(crate) burst: u64,
}

impl Load {
    pub(crate) fn plus(self, other: Self) -> Self {
        Self { rate: self.rate.saturating_add(other.rate), burst: self.burst.saturating_add(other.burst) }
    }

    pub(crate) fn at_least(self, other: Self) -> Self {
        Self { rate: self.rate.max(other.rate), burst: self.burst.max(other.burst) }
    }
}

impl Border {
    pub(crate) fn set_link(&mut self, link: LinkId, is_up: bool) {
        if is_up {
            self.down.remove(&link)
        } else {
            self.down.insert(link)
        };
    }

    pub(crate) fn is_up(&self, link: LinkId) -> bool {
        !self.down.contains(&link)
    }

    pub(crate) fn measured(&mut self, link: LinkId, class: Class, rate: u64) {
        self.measured.insert((link, class), rate);
    }

    /// What a link carries for a class toward a destination, in the terms of its agreement, or why it does not.
    pub(crate) fn terms(
        &self,
        now: u64,
        config: &Config,
        (next, link): (Asn, LinkId),
        class: Class,
        destination: Asn,
    ) -> Result<Terms, Refusal> {
        let refusal = |reason| Refusal { asn: config.asn, link: Some(link), reason };
        if self.down.contains(&link) {
            return Err(refusal(Reason::LinkDown));
        }
        let agreement = config.toward(next).find(|agreement| agreement.link == link);
        let agreement = agreement.ok_or_else(|| refusal(Reason::NoAgreement))?;
        let terms = agreement.applies(now, class, destination).map_err(refusal)?;
        let measured = self.measured.get(&(link, class)).copied().unwrap_or(u64::MAX);
        Ok(Terms { rate: terms.rate.min(measured), ..terms })
    }

    /// Whether a load fits beside others, or what is missing.
    pub(crate) fn fits(terms: &Terms, others: Load, load: Load) -> Result<(), Reason> {
        let room = terms.rate.saturating_sub(others.rate);
        if load.rate > room {
            return Err(Reason::Rate { missing: load.rate - room, offer: room });
        }
        let room = terms.burst.saturating_sub(others.burst);
        if load.burst > room {
            return Err(Reason::Burst { missing: load.burst - room, offer: room });
        }
        Ok(())
    }
}
