//! Keep-alives of links between switches: frames that a program sends at an interface beside the switch, and that the switch at the other end sends back
//! by a flow of its set-up. So they say whether that switch forwards, and no program runs at the other end.
//!
//! A frame is a packet of IPv4 of an experimental protocol (RFC 3692), in the class of control, with a time to live of 255, between dummy addresses
//! (RFC 7600). Each has a token that its sender alone knows, and the identity of its sender.
use linux_edge::budget::allowed;
use linux_edge::domain::{Domain, ETHERNET, LEAST_FRAME, Wire};
use wan::Class;

/// Bytes of one without check sequence: the smallest that Ethernet has.
pub const BYTES: usize = 60;
/// Where it is sent, and where it is sent back to: addresses that are administered locally, and of no station.
pub const REQUEST: [u8; 6] = [2, 0, 0, 0, 0, 0xfd];
/// See [`REQUEST`].
pub const REPLY: [u8; 6] = [2, 0, 0, 0, 0, 0xfe];
/// Where the identity is, and where the token: behind headers of Ethernet and IPv4.
pub const IDENTITY: usize = 34;
const TOKEN: usize = IDENTITY + 4;
const IPV4: [u8; 2] = [8, 0];
/// What else tells one from other packets, as fields of OpenFlow.
pub(crate) const FIELDS: &str = "ip,nw_proto=253,nw_ttl=255,nw_tos=192";
/// The header of IPv4, with its check sum.
const HEADER: [u8; 20] = [0x45, 0xc0, 0, 46, 0, 0, 0x40, 0, 255, 253, 0xfa, 0x01, 192, 0, 0, 8, 192, 0, 0, 8];

/// One with this token, from an interface with this address of Ethernet.
pub fn request(own: [u8; 6], identity: [u8; 4], token: u64) -> [u8; BYTES] {
    let mut frame = [0; BYTES];
    let parts: [(usize, &[u8]); 6] = [
        (0, &REQUEST),
        (6, &own),
        (12, &IPV4),
        (14, &HEADER),
        (IDENTITY, &identity),
        (TOKEN, &token.to_be_bytes()),
    ];
    for (at, part) in parts {
        if let Some(place) = frame.get_mut(at..at + part.len()) {
            place.copy_from_slice(part);
        }
    }
    frame
}

/// The token of a frame, if it is one that was sent from here and sent back.
pub fn token(frame: &[u8], identity: [u8; 4]) -> Option<u64> {
    let is = |at: usize, part: &[u8]| frame.get(at..at + part.len()) == Some(part);
    let is_own = frame.len() == BYTES && is(0, &REPLY) && is(12, &IPV4) && is(IDENTITY, &identity);
    let token = frame.get(TOKEN..)?.first_chunk()?;
    (is_own && is(14, &HEADER)).then(|| u64::from_be_bytes(*token))
}

/// The meter of those that a port sends back: thousands of bits per second, and at once. They take half of what control may take there, the other half
/// being for those that are sent from here. `None` if that is not enough for two.
///
/// A meter counts bits. The smallest frames that it may see have headers alone, and take more of the wire than it counts: so many of these fit as well.
pub fn sent_back(domain: &Domain, wire: &Wire) -> Option<(u64, u64)> {
    const KILO: u64 = 1_000;
    let least = (ETHERNET + 20) * 8;
    let (rate, burst) = allowed(wire, domain.ceilings.get(&Class::Control)?);
    let frames = (rate / 2 / (LEAST_FRAME * 8), burst / 2 / LEAST_FRAME);
    let rate = frames.0 * least / KILO;
    // Meters count in whole milliseconds, and one may be counted before it is over: so many bits.
    let burst = (frames.1 * least).saturating_sub(rate) / KILO;
    (rate > 0 && burst > 0 && burst * KILO >= BYTES as u64 * 8 * 2).then_some((rate, burst))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sent_back_is_known_and_nothing_else_is() {
        let (own, identity) = ([2, 9, 9, 9, 9, 9], [1, 2, 3, 4]);
        let sent = request(own, identity, 77);
        let sum =
            sent[14..34].chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum::<u32>();
        assert_eq!((sum & 0xffff) + (sum >> 16), 0xffff, "the check sum of its header");
        assert_eq!(token(&sent, identity), None, "what was sent has not come back");
        let mut back = sent;
        back[..6].copy_from_slice(&REPLY);
        assert_eq!(token(&back, identity), Some(77));
        assert_eq!(token(&back, [1, 2, 3, 5]), None);
        for length in 0..BYTES {
            assert_eq!(token(&back[..length], identity), None);
        }
        for at in (0..6).chain(12..38) {
            let mut other = back;
            other[at] ^= 1;
            assert_eq!(token(&other, identity), None, "byte {at}");
        }
        assert_eq!(token(&[&back[..], &[0]].concat(), identity), None);
    }
}
