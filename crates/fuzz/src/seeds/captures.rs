//! Messages of other vendors' programs, from the captures that the tests of `wire` read.
use std::collections::BTreeSet;
use std::path::Path;

use wire::message::{Message, Submessage};

use crate::structure::Structure;

/// Longer messages are left out: a mutation rarely hits what matters in them.
const MAX_LEN: usize = 2048;

/// One message for each sequence of submessages that the captures in a folder have; nothing if there is no such folder.
pub(super) fn messages(folder: &Path) -> Vec<Vec<u8>> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut files: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "pcap"));
    files.sort();
    let mut seen = BTreeSet::new();
    let mut messages = Vec::new();
    for path in files {
        let Ok(bytes) = std::fs::read(path) else { continue };
        for message in packets(&bytes).filter_map(rtps).filter(|message| message.len() <= MAX_LEN) {
            if seen.insert(signature(message)) {
                messages.push(message.to_vec());
            }
        }
    }
    messages
}

/// The payloads of built-in writers in a message.
pub(super) fn announcements(message: &[u8]) -> Vec<Vec<u8>> {
    let submessages = Message::parse(message).into_iter().flat_map(|message| message.submessages());
    submessages
        .filter_map(|submessage| match submessage {
            Ok(Submessage::Data(data)) if data.writer_id.is_builtin() => Some(data.payload?.bytes.to_vec()),
            _ => None,
        })
        .collect()
}

/// The packets of a pcap file: 24 bytes of header, then records with 16 bytes of header each.
fn packets(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let little = matches!(bytes.first_chunk(), Some([0xd4, 0xc3, 0xb2, 0xa1] | [0x4d, 0x3c, 0xb2, 0xa1]));
    let mut rest = bytes.get(24..).unwrap_or(&[]);
    std::iter::from_fn(move || {
        let (header, after) = rest.split_at_checked(16)?;
        let len = *header.get(8..12)?.first_chunk::<4>()?;
        let len = if little { u32::from_le_bytes(len) } else { u32::from_be_bytes(len) };
        let (packet, after) = after.split_at_checked(usize::try_from(len).ok()?)?;
        rest = after;
        Some(packet)
    })
}

/// What follows the headers of link, network and transport, whatever these are.
fn rtps(packet: &[u8]) -> Option<&[u8]> {
    let start = packet.windows(4).position(|bytes| bytes == b"RTPS")?;
    packet.get(start..)
}

/// Vendor, and kind and flags of each submessage.
fn signature(message: &[u8]) -> Vec<u8> {
    let mut parts = Vec::new();
    Structure::Message.parts(message, &mut parts);
    let mut signature = message.get(6..8).unwrap_or(&[]).to_vec();
    signature.extend(parts.iter().flat_map(|part| message.get(part.start..part.start + 2).unwrap_or(&[])));
    signature
}

#[cfg(test)]
mod tests {
    use super::*;

    fn capture(packets: &[&[u8]]) -> Vec<u8> {
        let mut bytes = vec![0xd4, 0xc3, 0xb2, 0xa1];
        bytes.resize(24, 0);
        for packet in packets {
            let len = u32::try_from(packet.len()).unwrap().to_le_bytes();
            bytes.extend([[0; 8].as_slice(), &len, &len, packet].concat());
        }
        bytes
    }

    #[test]
    fn messages_are_found_behind_other_headers_and_in_truncated_files() {
        let file = capture(&[b"headersRTPS\x02\x05", b"other", b"RTPS...."]);
        let found: Vec<_> = packets(&file).filter_map(rtps).collect();
        assert_eq!(found, [b"RTPS\x02\x05".as_slice(), b"RTPS...."]);
        assert_eq!(packets(&file[..file.len() - 1]).count(), 2);
        assert_eq!(packets(&file[..10]).count(), 0);
    }

    #[test]
    fn announcements_are_taken_out_of_messages() {
        let found: Vec<_> =
            super::super::messages::messages().iter().flat_map(|bytes| announcements(bytes)).collect();
        assert_eq!(found.len(), 4);
        assert!(found.iter().all(|payload| payload.starts_with(&[0, 3]) || payload.starts_with(&[0, 1])));
    }

    #[test]
    fn equal_sequences_of_submessages_have_one_signature() {
        let message =
            |octet| [b"RTPS\x02\x05\x01\x10____________".as_slice(), &[7, 1, 4, 0, octet, 0, 0, 0]].concat();
        assert_eq!(signature(&message(1)), signature(&message(2)));
        assert_eq!(signature(&message(1)), [1, 0x10, 7, 1]);
    }
}
