//! Keep-alives of links between switches: frames that any station on the link may send.
use ovs_edge::keep_alive::{BYTES, REPLY, request, token};

/// Who sends keep-alives in this target.
const IDENTITY: [u8; 4] = [1, 2, 3, 4];

/// One that was sent, one that came back, and one that came back to another sender.
pub(super) fn seeds() -> Vec<Vec<u8>> {
    let back = |identity| {
        let mut frame = request([2, 0, 0, 0, 0, 9], identity, 77);
        if let Some(to) = frame.first_chunk_mut() {
            *to = REPLY;
        }
        frame.to_vec()
    };
    vec![request([2, 0, 0, 0, 0, 9], IDENTITY, 77).to_vec(), back(IDENTITY), back([4; 4])]
}

/// Reads a frame. What is a keep-alive is one that was sent by this sender, but for where it goes and comes from.
pub fn keep_alive_frame(bytes: &[u8]) {
    let Some(token) = token(bytes, IDENTITY) else { return };
    assert!(bytes.len() == BYTES && bytes.starts_with(&REPLY));
    let own = bytes.get(6..).and_then(|rest| rest.first_chunk()).copied().unwrap_or_default();
    let sent = request(own, IDENTITY, token);
    // What fills a frame up may be anything.
    assert_eq!(sent.get(6..46), bytes.get(6..46));
}
