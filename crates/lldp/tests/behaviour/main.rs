//! What is written is read, what other stations write is read as they mean it, and what is wrong is refused.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
use lldp::{ChassisId, Frame, Id, NEAREST_BRIDGE, Organization, PortId, ReadError, WriteError};

fn full() -> Frame {
    let mut frame =
        Frame::new([2, 0, 0, 0, 0, 7], ChassisId::mac([2, 0, 0, 0, 0, 1]), PortId::local("3").unwrap(), 120);
    frame.system_name = Some("camera".to_owned());
    frame.system_description = Some("a camera".to_owned());
    frame.port_description = Some("eth0".to_owned());
    frame.organizations.push(Organization { oui: [0, 0x12, 0x0f], subtype: 1, value: vec![1, 2, 3] });
    frame
}

#[test]
fn what_is_written_is_read() {
    let frame = full();
    let mut bytes = frame.write().unwrap();
    assert_eq!(Frame::read(&bytes).unwrap(), frame);
    // A short frame is padded on the wire.
    bytes.resize(bytes.len() + 40, 0);
    assert_eq!(Frame::read(&bytes).unwrap(), frame);
    let short = Frame::new([2; 6], ChassisId::local("s1").unwrap(), PortId::local("1").unwrap(), 0);
    assert_eq!(Frame::read(&short.write().unwrap()).unwrap(), short);
}

/// A frame byte by byte, as a station with an address, a port with a name and capabilities sends it.
#[test]
fn a_frame_of_another_station_is_read() {
    let mut bytes = NEAREST_BRIDGE.to_vec();
    bytes.extend([0x02, 0x11, 0x22, 0x33, 0x44, 0x55, 0x88, 0xcc]);
    bytes.extend([0x02, 0x07, 0x04, 0x02, 0x11, 0x22, 0x33, 0x44, 0x55]);
    bytes.extend([0x04, 0x05, 0x05, b'e', b't', b'h', b'0']);
    bytes.extend([0x06, 0x02, 0x00, 0x78]);
    bytes.extend([0x0a, 0x04, b'd', b'e', b's', b'k']);
    bytes.extend([0x0e, 0x04, 0x00, 0x80, 0x00, 0x80]);
    bytes.extend([0x10, 0x0c, 0x05, 0x01, 0x0a, 0x00, 0x00, 0x01, 0x02, 0, 0, 0, 1, 0]);
    bytes.extend([0x00, 0x00]);
    let frame = Frame::read(&bytes).unwrap();
    assert_eq!((frame.to, frame.from), (NEAREST_BRIDGE, [0x02, 0x11, 0x22, 0x33, 0x44, 0x55]));
    assert_eq!(
        (frame.chassis.to_string(), frame.port.to_string()),
        ("02:11:22:33:44:55".into(), "eth0".into())
    );
    assert_eq!((frame.ttl, frame.system_name.as_deref()), (120, Some("desk")));
}

#[test]
fn identifiers_are_shown_by_their_kind() {
    let shown = |subtype, value: &[u8]| ChassisId(Id::new(subtype, value).unwrap()).to_string();
    assert_eq!(shown(5, &[1, 192, 0, 2, 7]), "192.0.2.7");
    let mut address = vec![2];
    address.extend([0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    assert_eq!(shown(5, &address), "2001:db8::1");
    assert_eq!(shown(7, b"rack 3"), "rack 3");
    assert_eq!(shown(7, &[b'a', 7]), "6107", "what cannot be shown is shown as digits");
    assert_eq!(shown(4, &[1, 2]), "0102");
    assert_eq!(PortId(Id::new(6, b"ab").unwrap()).to_string(), "6162");
    assert!(Id::new(7, b"").is_none() && Id::new(7, &[b'a'; 256]).is_none());
}

#[test]
fn what_is_wrong_is_refused() {
    let good = full().write().unwrap();
    for end in 0..14 {
        assert_eq!(Frame::read(&good[..end]), Err(ReadError::Other));
    }
    let mut other = good.clone();
    other[13] = 0xcd;
    assert_eq!(Frame::read(&other), Err(ReadError::Other));
    assert_eq!(Frame::read(&good[..good.len() - 3]), Err(ReadError::Cut));
    // The port before the chassis, the chassis twice, no time to live.
    let head = &good[..14];
    let (chassis, port, ttl) = ([2_u8, 2, 7, b'a'], [4_u8, 2, 7, b'b'], [6_u8, 2, 0, 9]);
    for parts in [[port, chassis, ttl], [chassis, chassis, port], [chassis, port, chassis]] {
        assert_eq!(Frame::read(&[head, &parts.concat()].concat()), Err(ReadError::Order));
    }
    let again = [head, &[chassis, port, ttl, ttl].concat()].concat();
    assert_eq!(Frame::read(&again), Err(ReadError::Order));
    assert!(Frame::read(&[head, &[chassis, port, ttl].concat()].concat()).is_ok(), "the end may be missing");
    let empty = [head, &[2, 1, 7], &port, &ttl].concat();
    assert_eq!(Frame::read(&empty), Err(ReadError::Length(1)));
    let short = [head, &chassis, &port, &[6, 1, 0]].concat();
    assert_eq!(Frame::read(&short), Err(ReadError::Length(3)));
    let organization = [head, &chassis, &port, &ttl, &[0xfe, 3, 1, 2, 3]].concat();
    assert_eq!(Frame::read(&organization), Err(ReadError::Length(127)));
}

#[test]
fn text_is_as_long_and_as_plain_as_it_may_be() {
    let head = full().write().unwrap()[..14].to_vec();
    let long = ["\u{7}ä".as_bytes(), &[b'x'; 300]].concat();
    let mut bytes = [head.as_slice(), &[2, 2, 7, b'a', 4, 2, 7, b'b', 6, 2, 0, 9]].concat();
    bytes.extend((5_u16 << 9 | u16::try_from(long.len()).unwrap()).to_be_bytes());
    bytes.extend(&long);
    let frame = Frame::read(&bytes).unwrap();
    let name = frame.system_name.clone().unwrap();
    assert!(name.starts_with('ä') && name.len() == 255, "{name:?}");
    assert_eq!(Frame::read(&frame.write().unwrap()).unwrap(), frame);
}

#[test]
fn what_is_too_long_is_not_written() {
    let mut frame = full();
    frame.system_name = Some("x".repeat(256));
    assert_eq!(frame.write(), Err(WriteError::Field));
    let mut frame = full();
    frame.organizations = vec![Organization { oui: [0; 3], subtype: 0, value: vec![0; 508] }];
    assert_eq!(frame.write(), Err(WriteError::Field));
    frame.organizations = vec![Organization { oui: [0; 3], subtype: 0, value: vec![0; 500] }; 3];
    assert_eq!(frame.write(), Err(WriteError::Frame));
}
