//! LLDP: frames that any host may send, and that a switch hands to the manager.
use lldp::{ChassisId, Frame, Id, Organization, PortId, WriteError};

/// Frames with all that is read, and with little.
pub(super) fn seeds() -> Vec<Vec<u8>> {
    let (Some(local), Some(port)) = (ChassisId::local("0000000000000001"), PortId::local("7")) else {
        return Vec::new();
    };
    let mut full = Frame::new([2, 0, 0, 0, 0, 1], local, port.clone(), 120);
    full.port_description = Some("port".to_owned());
    full.system_name = Some("desk".to_owned());
    full.system_description = Some("a desk, \u{e4}".to_owned());
    full.organizations = vec![Organization { oui: [0, 0x12, 0x0f], subtype: 1, value: vec![3; 24] }; 3];
    let network = Id::new(5, &[1, 192, 0, 2, 1]).map(ChassisId);
    let small = network.map(|chassis| Frame::new([2; 6], chassis, port, 0));
    [Some(full), small].into_iter().flatten().filter_map(|frame| frame.write().ok()).collect()
}

/// Reads a frame. What is read is shown, written, and read again as the same.
pub fn lldp_frame(bytes: &[u8]) {
    let Ok(frame) = Frame::read(bytes) else { return };
    let shown = format!("{} {}", frame.chassis, frame.port);
    assert!(!shown.contains(char::is_control));
    match frame.write() {
        Ok(again) => assert_eq!(Frame::read(&again).as_ref(), Ok(&frame)),
        // Text that was no UTF-8 is longer once it is.
        Err(error) => assert_eq!(error, WriteError::Frame),
    }
}
