//! Peers and strangers that say what no gateway says.
use federation::{Gateway, GatewayId, Interest, Settings};

/// A gateway with the peer 2, whose datagrams the test writes by itself.
struct Liar {
    gateway: Gateway,
    /// The number of the gateway's end.
    session: u64,
    now: u64,
}

fn datagram(from: u64, from_session: u64, to: u64, to_session: u64, parts: &[(u8, u8, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = b"PnFd\x02\0\0\0".to_vec();
    for number in [from, from_session, to, to_session] {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
    for (kind, flags, body) in parts {
        bytes.extend_from_slice(&[*kind, *flags]);
        bytes.extend_from_slice(&u16::try_from(body.len()).unwrap().to_le_bytes());
        bytes.extend_from_slice(body);
    }
    bytes
}

fn data(stream: u32, number: u64, is_last: bool, bytes: &[u8]) -> (u8, u8, Vec<u8>) {
    let mut body = stream.to_le_bytes().to_vec();
    body.extend_from_slice(&number.to_le_bytes());
    body.extend_from_slice(bytes);
    (2, u8::from(is_last), body)
}

/// An event of gateway 2, for these.
fn event(number: u64, destinations: &[u64]) -> Vec<u8> {
    let mut bytes = vec![2, 9];
    bytes.extend_from_slice(&u16::try_from(destinations.len()).unwrap().to_le_bytes());
    destinations.iter().for_each(|id| bytes.extend_from_slice(&id.to_le_bytes()));
    for field in [2, 5, number] {
        bytes.extend_from_slice(&u64::to_le_bytes(field));
    }
    bytes.push(0);
    bytes.extend_from_slice(&u64::MAX.to_le_bytes());
    bytes.extend_from_slice(b"\x03Fix\x01x");
    bytes
}

impl Liar {
    fn new(settings: Settings) -> Self {
        let mut gateway = Gateway::new(GatewayId(1), 1, settings);
        gateway.add_peer(0, GatewayId(2)).unwrap();
        gateway.add_peer(0, GatewayId(3)).unwrap();
        gateway.subscribe(Interest::default()).unwrap();
        let mut liar = Self { gateway, session: 1, now: 0 };
        let hello = (1, 0, 5_u64.to_le_bytes().to_vec());
        liar.say(vec![hello]);
        liar.say(Vec::new());
        assert!(liar.gateway.is_up(GatewayId(2)));
        liar
    }

    fn say(&mut self, parts: Vec<(u8, u8, Vec<u8>)>) -> usize {
        let bytes = datagram(2, 5, 1, self.session, &parts);
        self.take(&bytes)
    }

    /// Gives the gateway bytes; says how many events came of them.
    fn take(&mut self, bytes: &[u8]) -> usize {
        let mut count = 0;
        self.gateway.handle_datagram(self.now, bytes, &mut |_| count += 1);
        count
    }

    fn answers(&mut self) -> (usize, usize) {
        let (mut count, mut bytes, mut datagram) = (0, 0, Vec::new());
        while self.gateway.poll_transmit(self.now, &mut datagram).is_some() {
            count += 1;
            bytes += datagram.len();
            assert!(count < 1_000);
        }
        (count, bytes)
    }
}

#[test]
fn strangers_and_earlier_connections_are_not_heard() {
    let mut liar = Liar::new(Settings::default());
    liar.answers();
    let part = [data(0, 0, true, &event(0, &[1]))];
    let refused = liar.gateway.counts().refused;
    for bytes in [
        datagram(9, 5, 1, 1, &part),
        datagram(1, 1, 1, 1, &part),
        datagram(2, 5, 8, 1, &part),
        b"PnFd\x01".to_vec(),
        Vec::new(),
    ] {
        assert_eq!(liar.take(&bytes), 0);
    }
    assert_eq!(liar.gateway.counts().refused, refused + 5);
    // Of another start of either end, or to the group of a peer that is none.
    for (from_session, to, to_session) in [(4, 1, 1), (6, 1, 1), (5, 1, 2), (5, 1, 0), (5, 0, 0)] {
        assert_eq!(liar.take(&datagram(2, from_session, to, to_session, &part)), 0);
    }
    assert_eq!(liar.answers().0, 0);
    assert_eq!(liar.take(&datagram(2, 5, 1, 1, &part)), 1);
    assert_eq!(liar.take(&datagram(2, 5, 1, 1, &part)), 0);
}

#[test]
fn an_event_of_known_number_comes_once_whatever_carries_it() {
    let mut liar = Liar::new(Settings::default());
    let all = (0..4).map(|number| data(0, number, true, &event(7, &[1, 1, 1]))).collect();
    assert_eq!(liar.say(all), 1);
    assert_eq!(liar.gateway.counts().doubles, 3);
}

#[test]
fn one_transfer_leads_to_one_however_often_a_destination_is_named() {
    let mut liar = Liar::new(Settings { ttl: 5, ..Settings::default() });
    let hello = datagram(3, 4, 1, liar.session, &[(1, 0, 4_u64.to_le_bytes().to_vec())]);
    liar.take(&hello);
    // The record of 3, which names 1.
    let mut record = vec![1];
    for number in [3, 4, 1] {
        record.extend_from_slice(&u64::to_le_bytes(number));
    }
    record.extend_from_slice(b"\x01\0\x01\0\0\0\0\0\0\0\0\0");
    liar.take(&datagram(3, 4, 1, liar.session, &[data(0, 0, true, &record)]));
    liar.answers();
    let before = liar.gateway.counts();
    assert_eq!(liar.say(vec![data(0, 0, true, &event(1, &[3; 100]))]), 0);
    let (count, bytes) = liar.answers();
    assert_eq!(liar.gateway.counts().transfers, before.transfers + 1);
    assert!(count <= 2 && bytes < 400, "{count} datagrams, {bytes} bytes");
    // No gateway knows 77, and no way goes on for ever.
    liar.say(vec![data(0, 1, true, &event(2, &[77]))]);
    assert_eq!(liar.gateway.counts().given_up, before.given_up + 1);
    // It has come as far as it may.
    let mut at_end = event(3, &[3]);
    at_end[1] = 1;
    liar.say(vec![data(0, 2, true, &at_end)]);
    assert_eq!(liar.gateway.counts().given_up, before.given_up + 2);
    assert_eq!(liar.gateway.counts().transfers, before.transfers + 1);
}

#[test]
fn what_never_ends_and_what_comes_too_soon_is_kept_within_limits() {
    let settings = Settings { event: 10_000, flight: 5_000, ..Settings::default() };
    let mut liar = Liar::new(settings);
    let part = vec![7; 1_000];
    let refused = liar.gateway.counts().refused;
    for number in 0..200 {
        liar.say(vec![data(0, number, false, &part)]);
    }
    assert!(liar.gateway.counts().refused > refused);
    for number in 0..10_000 {
        liar.say(vec![data(0, 300 + number * 7, true, &part)]);
    }
    // Beats and acknowledgements of what never was.
    let mut body = 0_u32.to_le_bytes().to_vec();
    body.extend_from_slice(&u64::MAX.to_le_bytes());
    liar.say(vec![(4, 0, body.clone()), (3, 0, body)]);
    let (count, bytes) = liar.answers();
    assert!(count <= 4 && bytes < 4_000, "{count} datagrams, {bytes} bytes");
}
