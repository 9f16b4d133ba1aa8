//! Records of a store as bytes. Each record has one encoding, and tells what it is about.
use alloc::vec::Vec;

use super::{DecodeError, Reader, Wire, Writer};
use crate::record::{Asked, HeldAggregate, HostedSession, Key, OpenLeg, OwnSession, Record};
use crate::request::{MOST_CALLEES, MOST_FLOWS, SessionRequest};

/// The first byte of a record. A manager reads what the one before it has written, so this is not that of messages.
const VERSION: u8 = 3;
/// That of records whose flows say nothing of copies: each has one.
const BEFORE_COPIES: u8 = 2;
/// That of records that say nothing of grants. They are read, as of sessions that no AAA server was asked for.
const BEFORE_GRANTS: u8 = 1;

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
        let mut reader = Reader { bytes, offset: 0, is_before_grants: false, is_before_copies: false };
        match u8::get(&mut reader)? {
            VERSION => {}
            BEFORE_COPIES => reader.is_before_copies = true,
            BEFORE_GRANTS => (reader.is_before_grants, reader.is_before_copies) = (true, true),
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

structures! {
    Asked { id, path, position, link_in, traffic, limit, delay, jitter, lifetime }
    HeldAggregate { asked, link_out, delay, jitter, label_in, label_out }
    OpenLeg { leg, aggregate, path, flow, delay }
    SessionRequest { user, service, caller, callees, flows, lasts }
}

choices! {
    Key { 1 Aggregate(id), 2 Own(id), 3 Hosted(id) }
    Record { 1 Aggregate(held), 2 Own(session), 3 Hosted(session) }
}

impl Wire for OwnSession {
    fn put(&self, writer: &mut Writer) {
        self.request.put(writer);
        self.rates.put(writer);
        put_long(&self.peers, MOST_CALLEES, writer);
        put_long(&self.legs, MOST_LEGS, writer);
        self.ends.put(writer);
        self.grant.put(writer);
    }

    fn get(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            request: Wire::get(reader)?,
            rates: Wire::get(reader)?,
            peers: get_long(MOST_CALLEES, reader)?,
            legs: get_long(MOST_LEGS, reader)?,
            ends: Wire::get(reader)?,
            grant: if reader.is_before_grants { None } else { Wire::get(reader)? },
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
