//! What the rules of routers say about themselves, in comments, so that a back-end that starts again knows what it holds.
//!
//! Fields are hexadecimal numbers with blanks between them; a comment of nftables has 128 bytes at most.
use wan::{AggregateId, Asn, Class, Demand, LegId, LinkId, Place, SessionId, TSpec, TunnelId};

use crate::policing::Contract;

/// What an aggregate has been committed with: its label that comes in, and the one that goes out.
pub type Labels = (Option<u32>, Option<u32>);

/// An aggregate that is held.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AggregateRecord {
    /// Which.
    pub id: AggregateId,
    /// The number of its marks, tables and classes.
    pub slot: u16,
    /// What it holds.
    pub demand: Demand,
    /// Its labels, once it is forwarded.
    pub labels: Option<Labels>,
}

/// A flow that is let in, without its tuples.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FlowRecord {
    /// Which.
    pub leg: LegId,
    /// What carries it.
    pub aggregate: AggregateId,
    /// The number of its chain and its classes.
    pub slot: u16,
    /// Bits per second of IP packets.
    pub rate: u64,
    /// Bytes at once.
    pub bucket: u64,
    /// Bytes: a smaller packet counts as this.
    pub least: u32,
    /// Bytes of the largest packet.
    pub largest: u32,
}

/// The number of a class in marks and records.
pub fn code(class: Class) -> u8 {
    match class {
        Class::BestEffort => 0,
        Class::Af1 => 1,
        Class::Af4 => 2,
        Class::Ef => 3,
        Class::Control => 4,
    }
}

fn class_of(code: u64) -> Option<Class> {
    [Class::BestEffort, Class::Af1, Class::Af4, Class::Ef, Class::Control]
        .get(usize::try_from(code).ok()?)
        .copied()
}

/// The mark of the packets of an aggregate.
pub fn mark(slot: u16, class: Class) -> u32 {
    u32::from(slot) << 8 | u32::from(code(class))
}

fn place(place: Place) -> String {
    match place {
        Place::Edges => "e".to_owned(),
        Place::Border(link) => format!("{:x}", link.0),
    }
}

fn label(label: Option<u32>) -> String {
    label.map_or("n".to_owned(), |label| format!("{label:x}"))
}

fn aggregate(id: AggregateId) -> String {
    format!("{:x} {:x} {:x}", id.tunnel.origin.0, id.tunnel.number, code(id.class))
}

/// The fields of a record.
struct Fields<'a>(core::str::Split<'a, char>);

impl<'a> Fields<'a> {
    fn new(kind: &str, text: &'a str) -> Option<Self> {
        let mut fields = Self(text.split(' '));
        (fields.0.next() == Some(kind)).then_some(fields)
    }

    fn number(&mut self) -> Option<u64> {
        u64::from_str_radix(self.0.next()?, 16).ok()
    }

    fn small<T: TryFrom<u64>>(&mut self) -> Option<T> {
        T::try_from(self.number()?).ok()
    }

    fn or<T>(&mut self, word: &str, none: T, some: impl FnOnce(u32) -> T) -> Option<T> {
        match self.0.next()? {
            text if text == word => Some(none),
            text => u32::from_str_radix(text, 16).ok().map(some),
        }
    }

    fn aggregate(&mut self) -> Option<AggregateId> {
        let tunnel = TunnelId { origin: Asn(self.small()?), number: self.number()? };
        Some(AggregateId { tunnel, class: class_of(self.number()?)? })
    }

    fn end<T>(mut self, record: T) -> Option<T> {
        self.0.next().is_none().then_some(record)
    }
}

impl AggregateRecord {
    /// As a comment.
    pub fn text(&self) -> String {
        let Demand { from, to, rate, burst, least_packet, largest_packet, .. } = self.demand;
        let labels =
            self.labels.map_or("- -".to_owned(), |(with, out)| format!("{} {}", label(with), label(out)));
        let (id, slot, from, to) = (aggregate(self.id), self.slot, place(from), place(to));
        format!("a {id} {slot:x} {from} {to} {rate:x} {burst:x} {least_packet:x} {largest_packet:x} {labels}")
    }

    /// From a comment.
    pub fn read(text: &str) -> Option<Self> {
        let mut fields = Fields::new("a", text)?;
        let (id, slot) = (fields.aggregate()?, fields.small()?);
        let place =
            |fields: &mut Fields<'_>| fields.or("e", Place::Edges, |link| Place::Border(LinkId(link)));
        let (from, to) = (place(&mut fields)?, place(&mut fields)?);
        let (rate, burst) = (fields.number()?, fields.number()?);
        let (least_packet, largest_packet) = (fields.small()?, fields.small()?);
        let demand = Demand { from, to, class: id.class, rate, burst, least_packet, largest_packet };
        let labels = if text.ends_with(" - -") {
            fields.0.by_ref().take(2).for_each(drop);
            None
        } else {
            let mut label = || fields.or("n", None, Some);
            Some((label()?, label()?))
        };
        fields.end(Self { id, slot, demand, labels })
    }
}

impl FlowRecord {
    /// Whether this is the traffic that it may send.
    pub(crate) fn sends(&self, traffic: &TSpec) -> bool {
        let TSpec { rate, bucket, least_unit, largest_packet, .. } = *traffic;
        (self.rate, self.bucket, self.least, self.largest) == (rate, bucket, least_unit, largest_packet)
    }

    /// What each of so many policers lets through of it.
    pub fn contract(&self, parts: usize) -> Contract {
        let parts = (parts as u64).max(1);
        let (least, largest) = (self.least, self.largest);
        Contract { rate: self.rate / parts, bucket: self.bucket / parts, least, largest }
    }

    /// As a comment.
    pub fn text(&self) -> String {
        let LegId { session, flow, peer } = self.leg;
        let Self { slot, rate, bucket, least, largest, .. } = self;
        let (origin, number, id) = (session.origin.0, session.number, aggregate(self.aggregate));
        format!(
            "f {origin:x} {number:x} {flow:x} {:x} {id} {slot:x} {rate:x} {bucket:x} {least:x} {largest:x}",
            peer.0
        )
    }

    /// From a comment.
    pub fn read(text: &str) -> Option<Self> {
        let mut fields = Fields::new("f", text)?;
        let session = SessionId { origin: Asn(fields.small()?), number: fields.number()? };
        let leg = LegId { session, flow: fields.small()?, peer: Asn(fields.small()?) };
        let (aggregate, slot) = (fields.aggregate()?, fields.small()?);
        let (rate, bucket) = (fields.number()?, fields.number()?);
        let (least, largest) = (fields.small()?, fields.small()?);
        fields.end(Self { leg, aggregate, slot, rate, bucket, least, largest })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_records_fit_and_are_read_as_they_were() {
        let tunnel = TunnelId { origin: Asn(u32::MAX), number: u64::MAX };
        let id = AggregateId { tunnel, class: Class::Ef };
        let border = Place::Border(LinkId(u32::MAX));
        let demand = Demand {
            from: border,
            to: border,
            class: Class::Ef,
            rate: 1 << 50,
            burst: 1 << 46,
            least_packet: u32::MAX,
            largest_packet: u32::MAX,
        };
        for labels in [
            None,
            Some((None, Some(7))),
            Some((Some(u32::MAX), None)),
            Some((Some(u32::MAX), Some(u32::MAX))),
        ] {
            let record = AggregateRecord { id, slot: u16::MAX, demand, labels };
            assert!(record.text().len() <= 127, "{}", record.text().len());
            assert_eq!(AggregateRecord::read(&record.text()), Some(record));
        }
        let session = SessionId { origin: Asn(u32::MAX), number: u64::MAX };
        let leg = LegId { session, flow: u8::MAX, peer: Asn(u32::MAX) };
        let (rate, bucket) = (1 << 50, 1 << 45);
        let record =
            FlowRecord { leg, aggregate: id, slot: u16::MAX, rate, bucket, least: 9_216, largest: 9_216 };
        assert!(record.text().len() <= 127, "{}", record.text().len());
        assert_eq!(FlowRecord::read(&record.text()), Some(record.clone()));
        for text in ["", "f", "a 1", "f x", &format!("{} 1", record.text()), "a 1 1 9 1 e e 1 1 1 1 n n"] {
            assert_eq!((FlowRecord::read(text), AggregateRecord::read(text)), (None, None), "{text}");
        }
    }
}
