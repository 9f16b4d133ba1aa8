//! Our own parameter of announcements, see `docs/wire.md`.
use alloc::vec::Vec;

use super::{EndpointsSummary, SharedMemory};
use crate::admission::{
    Address, Contract, MOST_LOST, OfferedAssurance, OfferedRepairs, RequestedAssurance, RequestedLosses,
    Socket,
};
use crate::cursor::{Cursor, Endianness};
use crate::sequence_number::SequenceNumber;

/// Our vendor parameter (docs/wire.md): magic word, version, then (tag, length, value) triples. It is recognised by the magic
/// word alone. A parameter of another make or version, and a triple that is not as expected, count as absent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Extension {
    pub(super) receive_buffer: Option<u32>,
    pub(super) offered: Option<OfferedAssurance>,
    pub(super) requested: Option<RequestedAssurance>,
    pub(super) shared_memory: Option<SharedMemory>,
    pub(super) sending_ports: Option<[u16; 2]>,
    pub(super) endpoints: Option<[EndpointsSummary; 2]>,
    pub(super) largest_sample: Option<u32>,
}

const MAGIC: [u8; 4] = *b"PNCT";
const VERSION: u8 = 1;
/// Ends the triples: the parameter's padding.
const TAG_END: u8 = 0;
const TAG_RECEIVE_BUFFER: u8 = 1;
const TAG_OFFERED: u8 = 2;
const TAG_REQUESTED: u8 = 3;
const TAG_SHARED_MEMORY: u8 = 4;
const TAG_SENDING_PORTS: u8 = 5;
const TAG_ENDPOINTS: u8 = 6;
const TAG_LARGEST_SAMPLE: u8 = 7;
const TAG_REPAIRS: u8 = 8;
const TAG_LOSSES: u8 = 9;
const OFFERED_LEN: u8 = 71;
const REQUESTED_LEN: u8 = 17;
const SHARED_MEMORY_LEN: u8 = 28;
const ENDPOINTS_LEN: u8 = 48;
const REPAIRS_LEN: u8 = 26;
const LOSSES_LEN: u8 = 27;

impl Extension {
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&MAGIC);
        out.push(VERSION);
        if let Some(bytes) = self.receive_buffer {
            out.extend_from_slice(&[TAG_RECEIVE_BUFFER, 4]);
            out.extend_from_slice(&bytes.to_le_bytes());
        }
        if let Some(offered) = &self.offered {
            out.extend_from_slice(&[TAG_OFFERED, OFFERED_LEN]);
            put_offered(out, offered);
            if let Some(OfferedRepairs { source, kept }) = &offered.repairs {
                out.extend_from_slice(&[TAG_REPAIRS, REPAIRS_LEN]);
                put_socket(out, source);
                out.extend_from_slice(&kept.to_le_bytes());
            }
        }
        if let Some(requested) = &self.requested {
            out.extend_from_slice(&[TAG_REQUESTED, REQUESTED_LEN]);
            out.extend_from_slice(&requested.maximum_latency.to_le_bytes());
            out.extend_from_slice(&requested.maximum_separation.to_le_bytes());
            out.push(u8::from(requested.is_required));
            if let Some(RequestedLosses { frames, within, source }) = &requested.losses {
                out.extend_from_slice(&[TAG_LOSSES, LOSSES_LEN, *frames]);
                out.extend_from_slice(&within.to_le_bytes());
                put_socket(out, source);
            }
        }
        if let Some(memory) = &self.shared_memory {
            out.extend_from_slice(&[TAG_SHARED_MEMORY, SHARED_MEMORY_LEN]);
            out.extend_from_slice(&memory.host.to_le_bytes());
            out.extend_from_slice(&memory.network_namespace.to_le_bytes());
            out.extend_from_slice(&memory.nonce.to_le_bytes());
            out.extend_from_slice(&memory.user.to_le_bytes());
        }
        if let Some([v4, v6]) = self.sending_ports {
            out.extend_from_slice(&[TAG_SENDING_PORTS, 4]);
            out.extend_from_slice(&v4.to_le_bytes());
            out.extend_from_slice(&v6.to_le_bytes());
        }
        if let Some(bytes) = self.largest_sample {
            out.extend_from_slice(&[TAG_LARGEST_SAMPLE, 4]);
            out.extend_from_slice(&bytes.to_le_bytes());
        }
        if let Some(endpoints) = &self.endpoints {
            out.extend_from_slice(&[TAG_ENDPOINTS, ENDPOINTS_LEN]);
            for summary in endpoints {
                out.extend_from_slice(&summary.last.0.to_le_bytes());
                out.extend_from_slice(&summary.digest);
            }
        }
    }

    pub(super) fn decode(value: &[u8]) -> Self {
        let mut extension = Self::default();
        let (mut of_writer, mut of_reader) = (None, None);
        let mut fields = Cursor::new(value, Endianness::Little);
        if fields.array() != Some(MAGIC) || fields.u8() != Some(VERSION) {
            return extension;
        }
        while let Some((tag, value)) = triple(&mut fields) {
            match tag {
                TAG_RECEIVE_BUFFER => {
                    let bytes: Option<[u8; 4]> = value.try_into().ok();
                    extension.receive_buffer = bytes.map(u32::from_le_bytes).or(extension.receive_buffer);
                }
                TAG_OFFERED => extension.offered = offered(value).or(extension.offered),
                TAG_REQUESTED => extension.requested = requested(value).or(extension.requested),
                TAG_SHARED_MEMORY => {
                    extension.shared_memory = shared_memory(value).or(extension.shared_memory);
                }
                TAG_SENDING_PORTS => {
                    let ports: Option<[u8; 4]> = value.try_into().ok();
                    let read =
                        |[a, b, c, d]: [u8; 4]| [u16::from_le_bytes([a, b]), u16::from_le_bytes([c, d])];
                    extension.sending_ports = ports.map(read).or(extension.sending_ports);
                }
                TAG_LARGEST_SAMPLE => {
                    let bytes: Option<[u8; 4]> = value.try_into().ok();
                    extension.largest_sample = bytes.map(u32::from_le_bytes).or(extension.largest_sample);
                }
                TAG_ENDPOINTS => extension.endpoints = endpoints(value).or(extension.endpoints),
                TAG_REPAIRS => of_writer = repairs(value).or(of_writer),
                TAG_LOSSES => of_reader = losses(value).or(of_reader),
                _ => {}
            }
        }
        extension.offered.iter_mut().for_each(|offered| offered.repairs = of_writer);
        extension.requested.iter_mut().for_each(|requested| requested.losses = of_reader);
        extension
    }
}

fn put_socket(out: &mut Vec<u8>, socket: &Socket) {
    out.extend_from_slice(&socket.address.bytes());
    out.extend_from_slice(&socket.port.to_le_bytes());
}

fn put_offered(out: &mut Vec<u8>, offered: &OfferedAssurance) {
    let OfferedAssurance { contract, source, .. } = offered;
    put_socket(out, source);
    for bytes in [contract.largest_message, contract.smallest_message, contract.datagram] {
        out.extend_from_slice(&bytes.to_le_bytes());
    }
    let times = [
        contract.minimum_separation,
        contract.maximum_separation,
        contract.jitter,
        contract.emission,
        contract.slack,
    ];
    for time in times {
        out.extend_from_slice(&time.to_le_bytes());
    }
    out.push(contract.importance);
}

/// `None` unless it has the length of this version and says what a contract may say.
fn offered(value: &[u8]) -> Option<OfferedAssurance> {
    if value.len() != usize::from(OFFERED_LEN) {
        return None;
    }
    let mut fields = Cursor::new(value, Endianness::Little);
    let source = Socket { address: Address::from_bytes(fields.array()?), port: fields.u16()? };
    let contract = Contract {
        largest_message: fields.u32()?,
        smallest_message: fields.u32()?,
        datagram: fields.u32()?,
        minimum_separation: fields.u64()?,
        maximum_separation: fields.u64()?,
        jitter: fields.u64()?,
        emission: fields.u64()?,
        slack: fields.u64()?,
        importance: fields.u8()?,
    };
    let separations = contract.minimum_separation..;
    let is_plausible = contract.minimum_separation > 0
        && contract.smallest_message <= contract.largest_message
        && (contract.maximum_separation == 0 || separations.contains(&contract.maximum_separation));
    is_plausible.then_some(OfferedAssurance { contract, source, repairs: None })
}

/// `None` unless it has the length of this version and asks for a time above zero.
fn requested(value: &[u8]) -> Option<RequestedAssurance> {
    if value.len() != usize::from(REQUESTED_LEN) {
        return None;
    }
    let mut fields = Cursor::new(value, Endianness::Little);
    let requested = RequestedAssurance {
        maximum_latency: fields.u64()?,
        maximum_separation: fields.u64()?,
        is_required: fields.u8()? != 0,
        losses: None,
    };
    (requested.maximum_latency > 0).then_some(requested)
}

/// `None` unless it has the length of this version and names a socket.
fn repairs(value: &[u8]) -> Option<OfferedRepairs> {
    if value.len() != usize::from(REPAIRS_LEN) {
        return None;
    }
    let mut fields = Cursor::new(value, Endianness::Little);
    let source = Socket { address: Address::from_bytes(fields.array()?), port: fields.u16()? };
    Some(OfferedRepairs { source, kept: fields.u64()? }).filter(|_| source.addr().is_some())
}

/// `None` unless it has the length of this version and as many frames as there may be.
fn losses(value: &[u8]) -> Option<RequestedLosses> {
    if value.len() != usize::from(LOSSES_LEN) {
        return None;
    }
    let mut fields = Cursor::new(value, Endianness::Little);
    let (frames, within) = (fields.u8()?, fields.u64()?);
    let source = Socket { address: Address::from_bytes(fields.array()?), port: fields.u16()? };
    (1..=MOST_LOST).contains(&frames).then_some(RequestedLosses { frames, within, source })
}

/// `None` unless it has the length of this version.
fn shared_memory(value: &[u8]) -> Option<SharedMemory> {
    if value.len() != usize::from(SHARED_MEMORY_LEN) {
        return None;
    }
    let mut fields = Cursor::new(value, Endianness::Little);
    Some(SharedMemory {
        host: fields.u64()?,
        network_namespace: fields.u64()?,
        nonce: fields.u64()?,
        user: fields.u32()?,
    })
}

/// `None` unless it has the length of this version and numbers that a writer can have.
fn endpoints(value: &[u8]) -> Option<[EndpointsSummary; 2]> {
    if value.len() != usize::from(ENDPOINTS_LEN) {
        return None;
    }
    let mut fields = Cursor::new(value, Endianness::Little);
    let mut summary = || {
        let last = SequenceNumber(i64::from_le_bytes(fields.array()?));
        Some(EndpointsSummary { last, digest: fields.array()? }).filter(|_| last >= SequenceNumber::ZERO)
    };
    Some([summary()?, summary()?])
}

fn triple<'a>(fields: &mut Cursor<'a>) -> Option<(u8, &'a [u8])> {
    let tag = fields.u8().filter(|tag| *tag != TAG_END)?;
    let len = fields.u8()?;
    Some((tag, fields.take(usize::from(len))?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_tags_and_padding_are_skipped() {
        let value = [b'P', b'N', b'C', b'T', 1, 9, 2, 7, 7, 1, 4, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        assert_eq!(Extension::decode(&value).receive_buffer, Some(0x1_0000));
    }

    #[test]
    fn assurance_of_both_kinds_survives_and_nonsense_is_absent() {
        let contract = Contract {
            largest_message: 48_052,
            smallest_message: 4,
            datagram: 1_472,
            minimum_separation: 7_500_000,
            maximum_separation: 8_000_000,
            jitter: 1,
            emission: 300_000,
            slack: 20_000,
            importance: 200,
        };
        let source = Socket::from("[fd00::7]:40000".parse::<core::net::SocketAddr>().unwrap());
        let requested =
            RequestedAssurance { maximum_latency: 5_000_000, is_required: true, ..Default::default() };
        let encoded = |extension: &Extension| {
            let mut bytes = Vec::new();
            extension.encode(&mut bytes);
            bytes
        };
        let whole = Extension {
            receive_buffer: Some(7),
            offered: Some(OfferedAssurance { contract, source, repairs: None }),
            requested: Some(requested),
            shared_memory: Some(SharedMemory { host: 1 << 63, network_namespace: 2, nonce: 3, user: 4 }),
            sending_ports: Some([7_411, 7_412]),
            endpoints: None,
            largest_sample: None,
        };
        assert_eq!(Extension::decode(&encoded(&whole)), whole);
        let wrong = [
            Contract { minimum_separation: 0, ..contract },
            Contract { smallest_message: 48_053, ..contract },
            Contract { maximum_separation: 7_499_999, ..contract },
        ];
        for contract in wrong {
            let offered = Some(OfferedAssurance { contract, source, repairs: None });
            assert_eq!(Extension::decode(&encoded(&Extension { offered, ..whole })).offered, None);
        }
        let none = RequestedAssurance { maximum_latency: 0, ..requested };
        let read = Extension::decode(&encoded(&Extension { requested: Some(none), ..whole }));
        assert_eq!((read.requested, read.offered), (None, whole.offered));
        // What is cut off is absent, and what stands before it is read.
        let bytes = encoded(&whole);
        let after_memory = bytes.len() - (2 + 4);
        let after_request = after_memory - 2 - usize::from(SHARED_MEMORY_LEN);
        for len in 11..bytes.len() {
            let read = Extension::decode(&bytes[..len]);
            let found =
                [read.requested.is_some(), read.shared_memory.is_some(), read.sending_ports.is_some()];
            assert_eq!(found, [len >= after_request, len >= after_memory, false], "{len}");
        }
    }

    #[test]
    fn losses_survive_and_an_older_peer_reads_the_rest_without_them() {
        let source = Socket { address: [10, 1, 2, 3].into(), port: 40_001 };
        let contract = Contract { minimum_separation: 1, ..Contract::default() };
        let repairs = Some(OfferedRepairs { source, kept: u64::MAX });
        let offered = OfferedAssurance { contract, source, repairs };
        let losses = Some(RequestedLosses { frames: 4, within: 1_000_000_000, source });
        let requested = RequestedAssurance { maximum_latency: 7, losses, ..RequestedAssurance::default() };
        let whole = Extension { offered: Some(offered), requested: Some(requested), ..Extension::default() };
        let mut bytes = Vec::new();
        whole.encode(&mut bytes);
        assert_eq!(Extension::decode(&bytes), whole);
        // Each has a tag of its own, which others pass over.
        let at = |tag: u8, len: u8| bytes.windows(2).position(|pair| pair == [tag, len]).unwrap();
        let (of_writer, of_reader) = (at(TAG_REPAIRS, REPAIRS_LEN), at(TAG_LOSSES, LOSSES_LEN));
        let mut older = bytes.clone();
        (older[of_writer], older[of_reader]) = (200, 201);
        let read = Extension::decode(&older);
        assert_eq!(read.offered, Some(OfferedAssurance { repairs: None, ..offered }));
        assert_eq!(read.requested, Some(RequestedAssurance { losses: None, ..requested }));
        // Too many frames, none, and no socket count as absent.
        for (place, wrong) in [(of_reader + 2, 5), (of_reader + 2, 0), (of_writer + 18, 0)] {
            let mut bad = bytes.clone();
            bad[place] = wrong;
            if place == of_writer + 18 {
                bad[place + 1] = wrong;
            }
            let read = Extension::decode(&bad);
            let (writer, reader) = (read.offered.unwrap().repairs, read.requested.unwrap().losses);
            assert_eq!(
                (writer.is_none(), reader.is_none()),
                (place == of_writer + 18, place == of_reader + 2)
            );
        }
    }

    #[test]
    fn sending_ports_survive_behind_everything_else() {
        let memory = SharedMemory { host: 1, network_namespace: 2, nonce: 3, user: 4 };
        let whole = Extension {
            shared_memory: Some(memory),
            sending_ports: Some([40_000, 513]),
            ..Extension::default()
        };
        let mut bytes = Vec::new();
        whole.encode(&mut bytes);
        assert_eq!(bytes[bytes.len() - 6..], [5, 4, 0x40, 0x9c, 1, 2]);
        assert_eq!(Extension::decode(&bytes), whole);
        bytes.pop();
        assert_eq!(Extension::decode(&bytes).sending_ports, None);
    }

    #[test]
    fn what_endpoints_amount_to_survives_and_numbers_below_zero_are_absent() {
        let summary = |last, byte| EndpointsSummary { last: SequenceNumber(last), digest: [byte; 16] };
        let whole =
            Extension { endpoints: Some([summary(0, 1), summary(i64::MAX, 2)]), ..Extension::default() };
        let mut bytes = Vec::new();
        whole.encode(&mut bytes);
        assert_eq!(bytes[5..7], [6, 48]);
        assert_eq!(Extension::decode(&bytes), whole);
        assert_eq!(Extension::decode(&bytes[..bytes.len() - 1]).endpoints, None);
        bytes[14] = 0x80;
        assert_eq!(Extension::decode(&bytes).endpoints, None);
    }

    #[test]
    fn what_is_not_ours_or_broken_is_absent() {
        let good = [b'P', b'N', b'C', b'T', 1, 1, 4, 0, 0, 1, 0, 0];
        assert!(Extension::decode(&good).receive_buffer.is_some());
        for len in 0..11 {
            assert_eq!(Extension::decode(&good[..len]), Extension::default());
        }
        for at in 0..7 {
            let mut bad = good;
            bad[at] ^= 0x40;
            assert_eq!(Extension::decode(&bad), Extension::default(), "octet {at}");
        }
    }
}
