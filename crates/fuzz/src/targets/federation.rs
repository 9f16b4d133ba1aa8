//! A gateway of a federation behind a peer that says whatever it likes, and another one that keeps to the rules: the events of that one still come.
use federation::{Gateway, GatewayId, Header, Interest, KindId, Settings, To};

const OURS: GatewayId = GatewayId(1);
const LIAR: GatewayId = GatewayId(2);
const HONEST: GatewayId = GatewayId(3);
/// Bytes of a datagram's header, and where the numbers of both ends are in it.
const HEADER: usize = 40;
const FROM: core::ops::Range<usize> = 8..16;
const FROM_SESSION: core::ops::Range<usize> = 16..24;
const TO_SESSION: core::ops::Range<usize> = 32..40;
/// Nanoseconds that pass with each input.
const STEP: u64 = 5_000_000;
/// Datagrams of a gateway for one input, far above what its limits lead to.
const MOST_DATAGRAMS: usize = 2_000;

struct NoFields;
impl filter::Fields for NoFields {
    fn value(&self, _: u32) -> Option<filter::Value<'_>> {
        None
    }
}

const SETTINGS: Settings = Settings {
    datagram: 1_400,
    ttl: 3,
    event: 4 << 10,
    flight: 8 << 10,
    held: 16 << 10,
    repair: 10_000_000,
    repair_most: 200_000_000,
    lease: 60_000_000_000,
    gateways: 4,
    interests: 4,
};

fn any() -> Interest {
    Interest { kind: Some("Fix".to_owned()), ..Interest::default() }
}

fn gateway(id: GatewayId, peers: &[GatewayId]) -> (Gateway, Option<KindId>) {
    let mut gateway = Gateway::new(id, 7, SETTINGS);
    let _ = gateway.listen_to_group(5);
    for peer in peers {
        let _ = gateway.add_peer(0, *peer);
    }
    let _ = gateway.subscribe(any());
    let kind = gateway.offer("Fix", None).ok();
    (gateway, kind)
}

/// Datagrams of a true gateway in the place of the liar: greetings, records, events alone and in fragments, acknowledgements.
pub(super) fn seeds() -> Vec<Vec<u8>> {
    let ((mut ours, _), (mut peer, kind)) = (gateway(OURS, &[LIAR]), gateway(LIAR, &[OURS]));
    let (mut seeds, mut datagram) = (Vec::new(), Vec::new());
    for now in 0..40 {
        if let Some(kind) = kind.filter(|_| now % 8 == 4) {
            let body = vec![now as u8; 40 * now as usize];
            let _ = peer.publish(kind, "gps.out", Header::default(), &NoFields, &body);
            peer.suspend(OURS, now % 16 == 4);
        }
        let now = now * STEP;
        while peer.poll_transmit(now, &mut datagram).is_some() {
            ours.handle_datagram(now, &datagram, &mut |_| {});
            seeds.push(datagram.clone());
        }
        while ours.poll_transmit(now, &mut datagram).is_some() {
            peer.handle_datagram(now, &datagram, &mut |_| {});
        }
    }
    seeds
}

/// The gateway, and what is known of its connection with the liar.
struct Session {
    ours: Gateway,
    honest: Gateway,
    kind: Option<KindId>,
    now: u64,
    /// The numbers of the liar's end, and of the gateway's end.
    theirs: u64,
    mine: [u8; 8],
    delivered: u64,
}

impl Session {
    /// Sends what there is to send, and remembers the number of the gateway's end.
    fn exchange(&mut self) {
        let mut datagram = Vec::new();
        for _ in 0..4 {
            let mut count = 0;
            while let Some(to) = self.ours.poll_transmit(self.now, &mut datagram) {
                count += 1;
                assert!(count < MOST_DATAGRAMS, "it sends without an end");
                if to == To::Peer(HONEST) {
                    self.honest.handle_datagram(self.now, &datagram, &mut |_| {});
                } else if let Some(bytes) = datagram.get(FROM_SESSION) {
                    self.mine.copy_from_slice(bytes);
                }
            }
            while self.honest.poll_transmit(self.now, &mut datagram).is_some() {
                let delivered = &mut self.delivered;
                self.ours.handle_datagram(self.now, &datagram, &mut |event| {
                    *delivered += u64::from(event.origin == HONEST && event.body == b"honest");
                });
            }
        }
    }

    /// Connects the liar anew.
    fn greet(&mut self) {
        self.theirs += 1;
        let mut hello = b"PnFd\x01\0\0\0".to_vec();
        for number in [LIAR.0, self.theirs, OURS.0, 0] {
            hello.extend_from_slice(&number.to_le_bytes());
        }
        hello.extend_from_slice(&[1, 0, 12, 0]);
        hello.extend_from_slice(&7_u64.to_le_bytes());
        hello.extend_from_slice(&5_u32.to_le_bytes());
        self.ours.handle_datagram(self.now, &hello, &mut |_| {});
        self.exchange();
        let mut known = hello.get(..HEADER).unwrap_or_default().to_vec();
        if let Some(bytes) = known.get_mut(TO_SESSION) {
            bytes.copy_from_slice(&self.mine);
        }
        self.ours.handle_datagram(self.now, &known, &mut |_| {});
        self.exchange();
    }

    fn input(&mut self, bytes: &[u8]) {
        self.now += STEP;
        self.ours.handle_timeout(self.now);
        self.honest.handle_timeout(self.now);
        if !self.ours.is_up(LIAR) {
            self.greet();
        }
        let mut bytes = bytes.to_vec();
        if bytes.len() >= HEADER {
            // So that it is heard, in its own name: nothing proves names.
            bytes[FROM].copy_from_slice(&LIAR.0.to_le_bytes());
            bytes[FROM_SESSION].copy_from_slice(&self.theirs.to_le_bytes());
            bytes[TO_SESSION].copy_from_slice(&self.mine);
        }
        self.ours.handle_datagram(self.now, &bytes, &mut |event| {
            assert!(event.body.len() <= SETTINGS.event + 64 * 1024);
        });
        self.exchange();
        while self.ours.poll_notice().is_some() {}
        assert!(self.ours.kept_for(LIAR) <= SETTINGS.held + 512 * 1024, "too much is kept");
        assert!(self.ours.next_timeout().is_some());
        let before = self.delivered;
        if let Some(kind) = self.kind {
            let sent = self.honest.publish(kind, "gps.out", Header::default(), &NoFields, b"honest");
            let is_wanted = sent.is_ok_and(|sent| sent.subscribers > 0);
            self.exchange();
            // The liar may speak for other gateways, the honest one among them, but not between the two.
            assert!(!is_wanted || self.delivered == before + 1 || self.ours.counts().doubles > 0);
        }
    }
}

/// Runs bytes as datagrams of a peer.
pub(super) fn session() -> impl FnMut(&[u8]) {
    let ((ours, _), (honest, kind)) = (gateway(OURS, &[LIAR, HONEST]), gateway(HONEST, &[OURS]));
    let mut session = Session { ours, honest, kind, now: 0, theirs: 7, mine: [0; 8], delivered: 0 };
    session.exchange();
    move |bytes| session.input(bytes)
}
