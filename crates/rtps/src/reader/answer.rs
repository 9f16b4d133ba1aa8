//! What a reader sends: ACKNACK and NACK_FRAG.
use wire::message::encode;
use wire::message::{AckNack, NackFrag};
use wire::{Instant, Now, SequenceNumber, SequenceNumberSet};

use super::writer_proxy::WriterProxy;
use super::{Reader, Store};
use crate::Payload;
use crate::transmit::Transmit;

/// Bytes of a NACK_FRAG with 256 positions.
const MAX_NACK_FRAG_LEN: usize = 64;
/// NACK_FRAGs in one datagram.
const NACK_FRAGS: usize = 4;
/// GUID prefixes of RTI Connext begin so; it wants base 0 where all other vendors want 1 in the ACKNACK that asks for a first HEARTBEAT.
const RTI: [u8; 2] = [1, 1];

impl Reader {
    /// Fills `out` with the next datagram that is due at `now`; false if there is none.
    pub fn poll_transmit<P: Payload>(&mut self, now: Now, out: &mut Transmit<P>) -> bool {
        out.clear();
        let now = now.monotonic;
        for proxy in self.writers.iter_mut().filter(|proxy| proxy.announced.is_some()) {
            let may_ask_at = proxy.may_ask_at(&self.store);
            proxy.ripen(now, may_ask_at);
        }
        while let Some(proxy) = self.writers.iter_mut().find(|proxy| proxy.due() <= now) {
            if answer(self.config.guid, proxy, now, &mut self.store, out) {
                return true;
            }
        }
        false
    }
}

/// Builds the answer that is due, or puts it off; false if nothing is to be sent.
fn answer<P: Payload>(
    guid: wire::Guid,
    proxy: &mut WriterProxy,
    now: Instant,
    store: &mut Store,
    out: &mut Transmit<P>,
) -> bool {
    let Some(path) = proxy.path else {
        proxy.answer_at = Instant::NEVER;
        return false;
    };
    let asked = proxy.may_ask_at(store);
    // A full sink asks for nothing more; the writer's window then stops it.
    let may_ask = !proxy.blocked && now >= asked;
    let mut set = SequenceNumberSet::empty(match proxy.heard {
        false if proxy.guid.prefix.0.starts_with(&RTI) => SequenceNumber::ZERO,
        false if proxy.is_resumed() => SequenceNumber::FIRST,
        _ => proxy.next(),
    });
    if may_ask && proxy.heard {
        for number in proxy.missing() {
            if !set.insert(number) {
                break;
            }
        }
    }
    // It asks for a HEARTBEAT for itself until it knows.
    let is_final = proxy.heard && proxy.knows_history();
    let (reader_id, writer_id) = (guid.entity_id, proxy.guid.entity_id);
    let incomplete = may_ask && proxy.heard && proxy.incomplete().next().is_some();
    let asked_for = proxy.asked_for_fragments.take();
    let fragments = asked_for.and_then(|(number, last)| {
        let missing = proxy.missing_of(number, last)?;
        if !may_ask && !missing.bitmap().is_empty() {
            // It was asked for something else just now; this has to wait, but not to be forgotten.
            proxy.asked_for_fragments = Some((number, last));
            return None;
        }
        Some((number, missing))
    });
    if !proxy.answer && set.bitmap().is_empty() && !incomplete && fragments.is_none() {
        // What was missing has come meanwhile, or may not be asked for yet.
        proxy.answer_at = if proxy.has_questions() { asked } else { Instant::NEVER };
        return false;
    }
    let asks_nothing = set.bitmap().is_empty()
        && !incomplete
        && fragments.is_none_or(|(_, missing)| missing.bitmap().is_empty());
    if asks_nothing && proxy.heard && proxy.announced.is_none() {
        // The writer may ask again because it was answered.
        let said = Some((set.base(), fragments.map(|(number, missing)| (number, missing.base()))));
        let is_news = core::mem::take(&mut proxy.is_awaited) || proxy.said != said;
        let at = proxy.repeats.earliest(now, is_news);
        if at > now {
            proxy.asked_for_fragments = proxy.asked_for_fragments.or(asked_for);
            proxy.answer_at = at;
            return false;
        }
        proxy.repeats.answered(now, is_news);
        proxy.said = said;
    }
    store.count = store.count.wrapping_add(1);
    let acknack = AckNack { reader_id, writer_id, set, count: store.count, is_final };
    let first_count = store.count.wrapping_mul(NACK_FRAGS as i32 + 1);
    let (mut sent, mut asks) = (0, set.iter().last());
    out.add_path(path);
    out.scratch(|bytes| {
        encode::header(bytes, guid.prefix);
        encode::info_destination(bytes, proxy.guid.prefix);
        encode::acknack(bytes, &acknack);
        let asked = fragments.map(|(number, _)| number);
        // The lowest numbers first: order needs these, and the writer may not have sent the others to this reader yet.
        let mut from = SequenceNumber::ZERO;
        let more = core::iter::from_fn(|| {
            let later = proxy.incomplete().filter(|assembly| assembly.number >= from);
            let next = later.min_by_key(|assembly| assembly.number)?;
            from = next.number.next();
            Some((next.number, next.missing(u32::MAX)))
        });
        let more = more.filter(|(number, _)| incomplete && Some(*number) != asked).take(NACK_FRAGS);
        for (sequence_number, missing) in fragments.into_iter().chain(more) {
            if bytes.len() + MAX_NACK_FRAG_LEN > path.max_datagram as usize {
                break;
            }
            if !missing.bitmap().is_empty() {
                asks = asks.max(Some(sequence_number));
            }
            let count = first_count.wrapping_add(sent);
            sent += 1;
            encode::nack_frag(bytes, &NackFrag { reader_id, writer_id, sequence_number, missing, count });
        }
    });
    store.counters.acknacks += 1;
    store.counters.nack_frags += u64::from(sent.unsigned_abs());
    proxy.answer = false;
    proxy.hand_out(now);
    proxy.asked_in_doubt();
    proxy.hold.end();
    if let Some(until) = asks {
        proxy.asks(now, until);
    }
    proxy.answer_at = if !proxy.heard {
        now.after(proxy.next_hello())
    } else if proxy.has_questions() {
        // An answer that asks for nothing, because it may not yet, does not put off the question.
        let wait = proxy.ask_wait(store);
        let again = proxy.asked_at.map_or(now, |asked| asked.after(wait));
        if again > now { again } else { now.after(wait) }
    } else {
        Instant::NEVER
    };
    // Until the writer is heard, each wait ends with another question.
    proxy.answer |= !proxy.heard;
    true
}
