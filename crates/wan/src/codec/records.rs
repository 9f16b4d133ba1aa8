//! Records of a store as bytes. Each record has one encoding, and tells what it is about.
use alloc::vec::Vec;

use super::{DecodeError, Reader, Wire, Writer};
use crate::record::{Asked, HeldAggregate, HostedSession, Key, OpenLeg, OwnSession, Record};
use crate::request::{ANY_LOSS, FlowRequest, MOST_CALLEES, MOST_FLOWS, SessionRequest};
use crate::words::Asking;

/// The first byte of a record. A manager reads what the one before it has written, so this is not that of messages.
const VERSION: u8 = 4;
/// The first one whose aggregates say what may be lost inside the domain.
const WITH_LOSSES_INSIDE: u8 = 4;
/// The first one whose records say how domains are asked, and which session another one has taken the place of.
const WITH_ASKING: u8 = 4;
/// The first one whose records say what may be lost, what it costs, and how many copies there are.
const WITH_LOSSES: u8 = 3;
/// The first one whose sessions say until when they are granted.
const WITH_GRANTS: u8 = 2;
/// The oldest one: its sessions say nothing of grants. They are read, as of sessions that no AAA server was asked for.
const OLDEST: u8 = 1;

/// Each flow may go to as many domains as there are callees.
const MOST_LEGS: usize = MOST_FLOWS * MOST_CALLEES;

impl Record {
    /// The bytes of a record with its key; `None` if a list in it is longer than any manager makes it.
    pub fn encode(&self, key: Key) -> Option<Vec<u8>> {
        let mut writer = Writer { bytes: alloc::vec![VERSION], fits: true };
        key.put(&mut writer);
        self.put(&mut writer);
        writer.fits.then_some(writer.bytes)
    }

    /// Reads a record and its key, which have all of the bytes.
    ///
    /// # Errors
    /// The bytes are no record, or that of another key.
    pub fn decode(bytes: &[u8]) -> Result<(Key, Self), DecodeError> {
        let mut reader = Reader { bytes, offset: 0, record: None };
        match u8::get(&mut reader)? {
            version @ OLDEST..=VERSION => reader.record = Some(version),
            _ => return Err(reader.wrong("another version")),
        }
        let (key, record) = (Key::get(&mut reader)?, Self::get(&mut reader)?);
        let belong = matches!(
            (&key, &record),
            (Key::Aggregate(_), Self::Aggregate(_))
                | (Key::Own(_), Self::Own(_))
                | (Key::Hosted(_), Self::Hosted(_))
        );
        if !belong {
            return Err(reader.wrong("key and record do not belong together"));
        }
        if reader.offset < bytes.len() {
            return Err(reader.wrong("bytes after the end"));
        }
        Ok((key, record))
    }
}

/// A list that may be longer than those of messages.
fn put_long<T: Wire>(list: &[T], most: usize, writer: &mut Writer) {
    writer.fits &= list.len() <= most;
    u16::try_from(list.len()).unwrap_or(u16::MAX).put(writer);
    list.iter().take(most).for_each(|one| one.put(writer));
}

fn get_long<T: Wire>(most: usize, reader: &mut Reader<'_>) -> Result<Vec<T>, DecodeError> {
    let count = usize::from(u16::get(reader)?);
    if count > most {
        return Err(reader.wrong("a list is too long"));
    }
    let mut list = Vec::new();
    for _ in 0..count {
        list.push(T::get(reader)?);
    }
    Ok(list)
}

/// A field that records have since a version, and what is meant where they do not have it. Messages have it.
fn since<T: Wire>(version: u8, otherwise: T, reader: &mut Reader<'_>) -> Result<T, DecodeError> {
    if reader.record.is_some_and(|record| record < version) { Ok(otherwise) } else { T::get(reader) }
}

structures! {
    SessionRequest { user, service, caller, callees, flows, lasts }
}

choices! {
    Key { 1 Aggregate(id), 2 Own(id), 3 Hosted(id) }
    Record { 1 Aggregate(held), 2 Own(session), 3 Hosted(session) }
}

impl Wire for FlowRequest {
    fn put(&self, writer: &mut Writer) {
        self.kind.put(writer);
        self.direction.put(writer);
        self.protocol.put(writer);
        self.source_port.put(writer);
        self.destination_port.put(writer);
        self.class.put(writer);
        self.desired.put(writer);
        self.least_rate.put(writer);
        self.limit.put(writer);
        self.most_loss.put(writer);
        self.copies.put(writer);
        self.asking.put(writer);
    }

    fn get(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            kind: Wire::get(reader)?,
            direction: Wire::get(reader)?,
            protocol: Wire::get(reader)?,
            source_port: Wire::get(reader)?,
            destination_port: Wire::get(reader)?,
            class: Wire::get(reader)?,
            desired: Wire::get(reader)?,
            least_rate: Wire::get(reader)?,
            limit: Wire::get(reader)?,
            most_loss: since(WITH_LOSSES, ANY_LOSS, reader)?,
            copies: since(WITH_LOSSES, 1, reader)?,
            asking: since(WITH_ASKING, Asking::HopByHop, reader)?,
        })
    }
}

impl Wire for Asked {
    fn put(&self, writer: &mut Writer) {
        self.id.put(writer);
        self.path.put(writer);
        self.position.put(writer);
        self.link_in.put(writer);
        self.traffic.put(writer);
        self.limit.put(writer);
        self.delay.put(writer);
        self.jitter.put(writer);
        self.lifetime.put(writer);
        self.most_loss.put(writer);
        self.loss.put(writer);
        self.asking.put(writer);
    }

    fn get(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            id: Wire::get(reader)?,
            path: Wire::get(reader)?,
            position: Wire::get(reader)?,
            link_in: Wire::get(reader)?,
            traffic: Wire::get(reader)?,
            limit: Wire::get(reader)?,
            delay: Wire::get(reader)?,
            jitter: Wire::get(reader)?,
            lifetime: Wire::get(reader)?,
            most_loss: since(WITH_LOSSES, ANY_LOSS, reader)?,
            loss: since(WITH_LOSSES, 0, reader)?,
            asking: since(WITH_ASKING, Asking::HopByHop, reader)?,
        })
    }
}

impl Wire for HeldAggregate {
    fn put(&self, writer: &mut Writer) {
        self.asked.put(writer);
        self.link_out.put(writer);
        self.delay.put(writer);
        self.jitter.put(writer);
        self.label_in.put(writer);
        self.label_out.put(writer);
        self.loss.put(writer);
    }

    fn get(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            asked: Wire::get(reader)?,
            link_out: Wire::get(reader)?,
            delay: Wire::get(reader)?,
            jitter: Wire::get(reader)?,
            label_in: Wire::get(reader)?,
            label_out: Wire::get(reader)?,
            // A back-end that loses something says so when it is told of the aggregate again.
            loss: since(WITH_LOSSES_INSIDE, 0, reader)?,
        })
    }
}

impl Wire for OpenLeg {
    fn put(&self, writer: &mut Writer) {
        self.leg.put(writer);
        self.aggregate.put(writer);
        self.path.put(writer);
        self.flow.put(writer);
        self.delay.put(writer);
        self.loss.put(writer);
        self.price.put(writer);
    }

    fn get(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            leg: Wire::get(reader)?,
            aggregate: Wire::get(reader)?,
            path: Wire::get(reader)?,
            flow: Wire::get(reader)?,
            delay: Wire::get(reader)?,
            loss: since(WITH_LOSSES, ANY_LOSS, reader)?,
            price: since(WITH_LOSSES, None, reader)?,
        })
    }
}

impl Wire for OwnSession {
    fn put(&self, writer: &mut Writer) {
        self.request.put(writer);
        self.rates.put(writer);
        put_long(&self.peers, MOST_CALLEES, writer);
        put_long(&self.legs, MOST_LEGS, writer);
        self.ends.put(writer);
        self.grant.put(writer);
        self.replaces.put(writer);
    }

    fn get(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            request: Wire::get(reader)?,
            rates: Wire::get(reader)?,
            peers: get_long(MOST_CALLEES, reader)?,
            legs: get_long(MOST_LEGS, reader)?,
            ends: Wire::get(reader)?,
            grant: since(WITH_GRANTS, None, reader)?,
            replaces: since(WITH_ASKING, None, reader)?,
        })
    }
}

impl Wire for HostedSession {
    fn put(&self, writer: &mut Writer) {
        self.caller.put(writer);
        self.callees.put(writer);
        self.flows.put(writer);
        self.rates.put(writer);
        put_long(&self.legs, MOST_LEGS, writer);
    }

    fn get(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            caller: Wire::get(reader)?,
            callees: Wire::get(reader)?,
            flows: Wire::get(reader)?,
            rates: Wire::get(reader)?,
            legs: get_long(MOST_LEGS, reader)?,
        })
    }
}
