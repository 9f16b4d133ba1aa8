//! Capture files in the classic pcap format: enough to write UDP datagrams for a dissector, and to read those of a recording.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, dead_code, unreachable_pub)]
use wire::cursor::{Cursor, Endianness};

/// Link type of Ethernet.
const ETHERNET: u32 = 1;

/// A file with one UDP datagram from 192.0.2.7:7411 to 239.255.0.1:7400 per payload.
pub fn write(payloads: &[Vec<u8>]) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xa1b2_c3d4_u32, 2 | 4 << 16, 0, 0, 65_535, ETHERNET] {
        file.extend_from_slice(&word.to_le_bytes());
    }
    for (index, payload) in payloads.iter().enumerate() {
        let frame = frame(payload);
        for word in [1_700_000_000 + index as u32, 0, frame.len() as u32, frame.len() as u32] {
            file.extend_from_slice(&word.to_le_bytes());
        }
        file.extend_from_slice(&frame);
    }
    file
}

fn frame(payload: &[u8]) -> Vec<u8> {
    let udp_len = u16::try_from(payload.len() + 8).unwrap();
    let mut ip = vec![0x45, 0];
    ip.extend_from_slice(&(udp_len + 20).to_be_bytes());
    ip.extend_from_slice(&[0, 0, 0x40, 0, 1, 17, 0, 0, 192, 0, 2, 7, 239, 255, 0, 1]);
    let sum: u32 = ip.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
    let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    let mut frame = vec![0x01, 0x00, 0x5e, 0x7f, 0x00, 0x01, 2, 0, 0, 0, 0, 7, 0x08, 0x00];
    frame.extend_from_slice(&ip);
    for half in [7411, 7400, udp_len, 0] {
        frame.extend_from_slice(&half.to_be_bytes());
    }
    frame.extend_from_slice(payload);
    frame
}

/// The payloads of all UDP datagrams over IPv4 in a file. Anything else in it is skipped.
pub fn read(file: &[u8]) -> Vec<Vec<u8>> {
    let endianness = match file[..4] {
        [0xa1, 0xb2, 0xc3, 0xd4] | [0xa1, 0xb2, 0x3c, 0x4d] => Endianness::Big,
        [0xd4, 0xc3, 0xb2, 0xa1] | [0x4d, 0x3c, 0xb2, 0xa1] => Endianness::Little,
        _ => panic!("not a pcap file"),
    };
    let mut cursor = Cursor::new(file, endianness);
    cursor.take(20).unwrap();
    assert_eq!(cursor.u32().unwrap() & 0xffff, ETHERNET, "link type");
    let mut payloads = Vec::new();
    while cursor.remaining() > 0 {
        cursor.take(8).unwrap();
        let len = cursor.u32().unwrap();
        assert_eq!(cursor.u32().unwrap(), len, "a frame was cut by the recording");
        payloads.extend(udp(cursor.take(len as usize).unwrap()));
    }
    payloads
}

fn udp(frame: &[u8]) -> Option<Vec<u8>> {
    let mut cursor = Cursor::new(frame, Endianness::Big);
    cursor.take(12)?;
    if cursor.u16()? != 0x0800 {
        return None;
    }
    let ip = cursor.rest();
    let header = usize::from(ip.first()? & 0x0f) * 4;
    let fragment = u16::from_be_bytes([*ip.get(6)?, *ip.get(7)?]);
    assert_eq!(fragment & 0x3fff, 0, "a recording with IP fragments");
    if *ip.get(9)? != 17 {
        return None;
    }
    cursor.take(header)?;
    let len = cursor.rest().get(4..6).map(|len| usize::from(u16::from_be_bytes([len[0], len[1]])))?;
    cursor.take(8)?;
    cursor.take(len.checked_sub(8)?).map(<[u8]>::to_vec)
}
