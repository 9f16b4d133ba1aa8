//! Numbers of the liveliness writer: of messages and of probes, for each remote participant by itself.
//!
//! Every reader of a participant sees rising numbers, whichever of its addresses they go to. A stranger that claims the name of a
//! participant at another address is probed with numbers of its own, so that it cannot make those of the participant rise. A peer
//! may have to count through every number that it is told to skip, so that probes are few, and fewer after many.
use core::net::{IpAddr, SocketAddr};

use wire::{Duration, GuidPrefix, Instant, SequenceNumber};

use super::probe::Window;
use super::recent::{Key, Recent};
use super::sip_hash::sip_hash;
use wire::sorted::SortedMap;

/// A name at an IP address is probed at most so often.
const PERIOD: Duration = Duration::from_millis(20);
/// And at most so often once its numbers are beyond this.
const RARE_PERIOD: Duration = Duration::from_secs(1);
const MANY: i64 = 1 << 16;
/// So many probes may be sent at once, if it is known that the participant is there.
const BURST: u32 = 8;
/// Most names at IP addresses whose numbers are remembered, of one IP address and of all.
const MARKS_PER_ADDRESS: usize = 512;
const MAX_MARKS: usize = 4_096;

/// A name at an IP address.
#[derive(Clone, Copy, Debug)]
struct Mark {
    /// The last number of a probe that went there.
    last: i64,
    /// When the probes that were sent are paid for, at one for each period.
    paid: Instant,
}

#[derive(Debug)]
pub(super) struct Numbers {
    key: [u64; 2],
    /// The last number used towards each validated participant.
    known: SortedMap<GuidPrefix, i64>,
    marks: Recent<Mark>,
}

fn place(prefix: GuidPrefix, ip: IpAddr) -> Key {
    (prefix, SocketAddr::new(ip, 0))
}

impl Mark {
    const fn period(&self) -> Duration {
        if self.last < MANY { PERIOD } else { RARE_PERIOD }
    }
}

impl Numbers {
    /// `secret`: 64 random bits that only this participant knows.
    pub(super) fn new(secret: u64) -> Self {
        let key = [secret, secret.rotate_left(31) ^ 0x9e37_79b9_7f4a_7c15];
        Self { key, known: SortedMap::new(), marks: Recent::default() }
    }

    /// The number of the next message to a validated participant.
    pub(super) fn next(&mut self, prefix: GuidPrefix) -> SequenceNumber {
        let last = self.known.get_or_insert_with(prefix, || 0);
        *last = last.saturating_add(1);
        SequenceNumber(*last)
    }

    /// When a name at an IP address may be probed. `burst`: several times in a row.
    pub(super) fn probed_after(&self, prefix: GuidPrefix, ip: IpAddr, burst: bool) -> Instant {
        let Some(mark) = self.marks.get(place(prefix, ip)) else { return Instant::START };
        let ahead = if burst { mark.period().scaled(BURST - 1, 1) } else { Duration::ZERO };
        let nanos = u64::try_from(ahead.as_nanos()).unwrap_or(0);
        Instant::from_nanos(mark.paid.as_nanos().saturating_sub(nanos))
    }

    /// The window of a probe that leaves now. `is_known`: the address is one of the participant that is validated under this name, so that
    /// its reader may see it.
    pub(super) fn window(
        &mut self,
        now: Instant,
        prefix: GuidPrefix,
        to: SocketAddr,
        is_known: bool,
    ) -> Window {
        let at = place(prefix, to.ip());
        let mark = self.marks.remove(at).unwrap_or(Mark { last: 0, paid: now });
        let known = self.known.get(&prefix).copied().unwrap_or(0);
        let first = SequenceNumber(mark.last.max(known)).next();
        let window = Window::new(first, self.random(prefix, to, first));
        let last = window.last().0;
        if is_known {
            self.known.insert(prefix, last);
        }
        self.remember(at, Mark { last, paid: mark.paid.max(now).after(mark.period()) });
        window
    }

    /// The participant of this name is validated, and reached at this address.
    pub(super) fn validated(&mut self, prefix: GuidPrefix, ip: IpAddr) {
        let last = self.marks.get(place(prefix, ip)).map_or(0, |mark| mark.last);
        let known = self.known.get_or_insert_with(prefix, || 0);
        *known = last.max(*known);
    }

    /// The participant is not validated any more: it may come back at one of these addresses.
    pub(super) fn lost(&mut self, now: Instant, prefix: GuidPrefix, reached: impl Iterator<Item = IpAddr>) {
        let Some(last) = self.known.remove(&prefix) else { return };
        for ip in reached {
            let at = place(prefix, ip);
            let mark = self.marks.remove(at).unwrap_or(Mark { last, paid: now });
            self.remember(at, Mark { last: last.max(mark.last), ..mark });
        }
    }

    fn remember(&mut self, at: Key, mark: Mark) {
        if self.marks.count_at(at.1.ip()) >= MARKS_PER_ADDRESS
            && let Some(oldest) = self.marks.oldest_at(at.1.ip())
        {
            self.marks.remove(oldest);
        }
        if self.marks.len() >= MAX_MARKS
            && let Some(oldest) = self.marks.oldest()
        {
            self.marks.remove(oldest);
        }
        self.marks.insert(at, mark);
    }

    /// What only we know of a probe.
    fn random(&self, GuidPrefix(prefix): GuidPrefix, to: SocketAddr, first: SequenceNumber) -> u64 {
        let ip = match to.ip() {
            IpAddr::V4(ip) => ip.to_ipv6_mapped(),
            IpAddr::V6(ip) => ip,
        };
        let ip = ip.to_bits();
        let [a, b, c, d, e, f, g, h, i, j, k, l] = prefix;
        let words = [
            u64::from_le_bytes([a, b, c, d, e, f, g, h]),
            u64::from(u32::from_le_bytes([i, j, k, l])) | u64::from(to.port()) << 32,
            (ip >> 64) as u64,
            ip as u64,
            first.0.cast_unsigned(),
        ];
        sip_hash(self.key, &words)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    const ONE: GuidPrefix = GuidPrefix([1; 12]);
    const OTHER: GuidPrefix = GuidPrefix([2; 12]);

    fn at(host: u8, port: u16) -> SocketAddr {
        SocketAddr::from(([10, 0, 0, host], port))
    }

    fn ms(millis: i64) -> Instant {
        Instant::START.after(Duration::from_millis(millis))
    }

    fn first(window: &Window) -> i64 {
        window.heartbeat(0).first.0
    }

    #[test]
    fn each_name_at_each_ip_address_has_numbers_of_its_own() {
        let mut numbers = Numbers::new(7);
        for probe in 0..3 {
            let expected = 1 + 64 * probe;
            assert_eq!(first(&numbers.window(ms(0), ONE, at(1, 7410), false)), 2 * expected - 1);
            assert_eq!(first(&numbers.window(ms(0), ONE, at(1, 9), false)), 2 * expected + 63);
            assert_eq!(first(&numbers.window(ms(0), ONE, at(2, 7410), false)), expected);
            assert_eq!(first(&numbers.window(ms(0), OTHER, at(1, 7410), false)), expected);
        }
    }

    #[test]
    fn a_reader_sees_rising_numbers_wherever_it_is_reached() {
        let mut numbers = Numbers::new(7);
        numbers.window(ms(0), ONE, at(1, 7410), false);
        numbers.validated(ONE, at(1, 0).ip());
        assert_eq!(numbers.next(ONE), SequenceNumber(65));
        // A claim from elsewhere does not raise them, and is above them.
        for _ in 0..100 {
            assert!(first(&numbers.window(ms(0), ONE, at(9, 9), false)) > 65);
        }
        assert_eq!(numbers.next(ONE), SequenceNumber(66));
        // One at an address of the participant does.
        assert_eq!(first(&numbers.window(ms(0), ONE, at(2, 9), true)), 67);
        assert_eq!(numbers.next(ONE), SequenceNumber(131));
        // It is forgotten, and comes back.
        numbers.lost(ms(0), ONE, [at(1, 0).ip(), at(3, 0).ip()].into_iter());
        assert_eq!(first(&numbers.window(ms(0), ONE, at(3, 7410), false)), 132);
        assert_eq!(first(&numbers.window(ms(0), ONE, at(1, 7410), false)), 132);
    }

    #[test]
    fn windows_differ_by_name_address_number_and_secret() {
        let window = |secret, prefix, to| Numbers::new(secret).window(ms(0), prefix, to, false);
        let one = window(1, ONE, at(1, 7410));
        for other in [window(2, ONE, at(1, 7410)), window(1, OTHER, at(1, 7410)), window(1, ONE, at(1, 9))] {
            assert_ne!(other, one);
        }
        assert_ne!(window(1, ONE, at(2, 7410)), one);
        let mut numbers = Numbers::new(1);
        let [a, b] = [0; 2].map(|_| numbers.window(ms(0), ONE, at(1, 7410), false).gap().list);
        assert_ne!(a.bitmap(), b.bitmap());
    }

    #[test]
    fn what_a_peer_has_to_skip_is_bounded() {
        let mut numbers = Numbers::new(7);
        let mut sent = Vec::new();
        for now in 0..200_000 {
            if numbers.probed_after(ONE, at(1, 0).ip(), false) <= ms(now) {
                sent.push((now, first(&numbers.window(ms(now), ONE, at(1, 7410), false))));
            }
        }
        assert!(sent.windows(2).all(|pair| pair[1].1 == pair[0].1 + 64 && pair[1].0 >= pair[0].0 + 20));
        let (slow, last) = (sent.iter().filter(|(at, _)| *at >= 21_000).count(), sent.last().unwrap().1);
        assert!((100..=180).contains(&slow) && last < MANY + 64 * 200, "{slow} {last}");
        // Some in a row, where it is known that the participant is there.
        let mut burst = 0;
        while numbers.probed_after(ONE, at(1, 0).ip(), true) <= ms(300_000) && burst < 100 {
            numbers.window(ms(300_000), ONE, at(1, 7410), true);
            burst += 1;
        }
        assert_eq!(burst, BURST);
    }

    #[test]
    fn a_flood_from_one_address_forgets_its_own_numbers() {
        let mut numbers = Numbers::new(7);
        numbers.window(ms(0), ONE, at(1, 7410), false);
        for name in 0..10_000_u32 {
            let mut prefix = GuidPrefix([9; 12]);
            prefix.0[..4].copy_from_slice(&name.to_le_bytes());
            numbers.window(ms(0), prefix, at(2, 7410), false);
        }
        assert_eq!(numbers.marks.len(), MARKS_PER_ADDRESS + 1);
        assert_eq!(first(&numbers.window(ms(0), ONE, at(1, 7410), false)), 65);
    }
}
