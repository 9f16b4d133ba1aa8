//! Both ends of a link that loses, delays and is cut: the judge keeps what was sent and what came back, and says itself what had to be told.
use std::collections::BTreeMap;

use linux_edge::keep_alive::{News, Settings, Watch};
use testkit::random::Random;

const MILLISECOND: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MILLISECOND;
const INTERVAL: u64 = 100 * MILLISECOND;

/// What the judge knows of a keep-alive: when it was sent, and when it came back.
struct Sent {
    at: u64,
    back: Option<u64>,
}

struct End {
    watch: Watch,
    sent: BTreeMap<u64, Sent>,
    is_up: bool,
    /// When it was told to be cut last.
    changed: u64,
    told: Vec<(u64, News)>,
}

/// A link with two ends. A direction is named by the end that sends on it.
struct Link {
    random: Random,
    now: u64,
    ends: [End; 2],
    patience: u64,
    cut: [bool; 2],
    lost: u64,
    slowest: u64,
    /// Keep-alives under way: when they are back, to which end.
    flying: BTreeMap<(u64, u64), usize>,
    /// Tokens that nobody has sent, and those of before, come in too.
    is_hostile: bool,
}

impl Link {
    fn new(seed: u64, slowest: u64) -> Self {
        let settings = Settings::new(INTERVAL, slowest);
        let end = || End {
            watch: Watch::new(0, settings),
            sent: BTreeMap::new(),
            is_up: true,
            changed: 0,
            told: Vec::new(),
        };
        Self {
            random: Random::of_case(seed, 99),
            now: 0,
            ends: [end(), end()],
            patience: INTERVAL + 2 * slowest,
            cut: [false; 2],
            lost: 0,
            slowest,
            flying: BTreeMap::new(),
            is_hostile: false,
        }
    }

    /// When a packet that leaves an end now is at the other one, if it gets there.
    fn passes(&mut self, from: usize, leaves: u64) -> Option<u64> {
        let delay = self.random.range(0, self.slowest);
        let is_lost = self.cut[from] || self.random.below_u64(1_000) < self.lost;
        (!is_lost).then_some(leaves + delay)
    }

    fn run(&mut self, time: u64) {
        let end = self.now + time;
        loop {
            let due = self.ends.iter().map(|end| end.watch.due()).min().unwrap();
            let back = self.flying.keys().next().map_or(u64::MAX, |(at, _)| *at);
            let next = due.min(back);
            if next > end {
                break;
            }
            assert!(next >= self.now, "time goes back");
            self.now = next;
            // What has come is told before time is.
            while let Some(entry) = self.flying.first_entry().filter(|entry| entry.key().0 <= self.now) {
                let ((_, token), at) = entry.remove_entry();
                let end = &mut self.ends[at];
                end.watch.received(self.now, token);
                end.sent.get_mut(&token).unwrap().back = Some(self.now);
                if self.is_hostile {
                    end.watch.received(self.now, token);
                    end.watch.received(self.now, self.random.bits());
                }
            }
            for at in 0..2 {
                if self.ends[at].watch.due() <= self.now {
                    self.tick(at);
                }
            }
        }
        self.now = end;
    }

    fn tick(&mut self, at: usize) {
        let token = self.random.bits();
        let (sends, news) = self.ends[at].watch.tick(self.now, token);
        self.judge(at, news);
        let Some(token) = sends else { return };
        self.ends[at].sent.insert(token, Sent { at: self.now, back: None });
        // It is answered by the kernel of the other end, if it gets there, whatever that end knows of the link.
        if let Some(there) = self.passes(at, self.now)
            && let Some(back) = self.passes(1 - at, there)
        {
            self.flying.insert((back, token), at);
        }
    }

    fn judge(&mut self, at: usize, news: Option<News>) {
        let (now, patience) = (self.now, self.patience);
        let end = &mut self.ends[at];
        // What was longer ago decides nothing any more.
        end.sent.retain(|_, sent| sent.at + 3 * SECOND >= now);
        // The three that are late: after the newest one that is back, and since the last cut.
        let since = end.sent.values().filter(|sent| sent.at >= end.changed);
        let newest = since.clone().filter(|sent| sent.back.is_some()).map(|sent| sent.at).max();
        let is_late = |sent: &&Sent| Some(sent.at) > newest && sent.at + patience <= now;
        let is_cut = since.filter(is_late).count() >= 3;
        match news {
            Some(News::Silent) => assert!(end.is_up && is_cut, "a cut that is none at {now}"),
            Some(News::Up) => {
                assert!(!end.is_up, "up once more at {now}");
                // All of a second at least have come back, and in time.
                let of_hold =
                    end.sent.values().filter(|sent| sent.at + SECOND >= now && sent.at + patience <= now);
                assert!(of_hold.clone().count() >= 5);
                let late: Vec<u64> = of_hold
                    .filter(|sent| sent.back.is_none_or(|back| back > sent.at + patience))
                    .map(|sent| sent.at)
                    .collect();
                assert!(late.is_empty(), "{late:?} did not come back before {now}");
            }
            Some(News::InterfaceDown | News::Interface) => panic!("nobody said so"),
            None => assert!(!end.is_up || !is_cut, "a cut at {now} that is not told"),
        }
        if let Some(news) = news {
            end.is_up = news == News::Up;
            if !end.is_up {
                end.changed = now;
            }
            end.told.push((now, news));
        }
    }

    /// How often both ends have told that.
    fn told(&self, news: News) -> usize {
        self.ends.iter().flat_map(|end| &end.told).filter(|(_, of)| *of == news).count()
    }

    fn is_up(&self) -> [bool; 2] {
        [0, 1].map(|at| self.ends[at].watch.is_up())
    }
}

/// The longest time from a cut until both ends know.
fn soon(slowest: u64) -> u64 {
    4 * INTERVAL + 2 * slowest + 2 * slowest
}

#[test]
fn a_cut_of_any_direction_is_told_at_both_ends_within_a_second_and_nothing_else_is() {
    let (mut cuts, mut alone) = (0, 0);
    for seed in tiers::current().seeds("control.hostile") {
        let slowest = [0, MILLISECOND, 40 * MILLISECOND, 140 * MILLISECOND][seed as usize % 4];
        let mut link = Link::new(seed, slowest);
        link.is_hostile = seed % 2 == 0;
        link.run(SECOND);
        for _ in 0..6 {
            link.lost = link.random.range(0, 400);
            let time = link.random.range(1, 4) * SECOND;
            let before = link.told(News::Silent);
            link.run(time);
            alone += link.told(News::Silent) - before;
            let cut = *link.random.pick(&[[true, true], [true, false], [false, true]]).unwrap();
            link.cut = cut;
            let began = link.now;
            link.run(soon(slowest));
            assert!(soon(slowest) <= SECOND, "{slowest}");
            assert_eq!(link.is_up(), [false, false], "seed {seed}: {cut:?} at {began}");
            cuts += 1;
            link.cut = [false; 2];
            link.lost = 0;
            let time = link.random.range(0, 3) * SECOND;
            link.run(time);
        }
        link.run(62 * SECOND);
        assert_eq!(link.is_up(), [true, true], "seed {seed}: it works again");
    }
    assert!(cuts > 0 && alone > 0);
}

#[test]
fn losses_that_are_never_three_in_a_row_and_answers_that_are_late_cut_nothing() {
    for seed in 0..200 {
        let mut link = Link::new(seed, 0);
        link.run(INTERVAL);
        // A direction fails for less than three keep-alives at a time, again and again.
        for _ in 0..40 {
            link.cut = [link.random.chance(50), link.random.chance(50)];
            link.run(2 * INTERVAL);
            link.cut = [false; 2];
            link.run(INTERVAL);
        }
        assert!(link.ends.iter().all(|end| end.told.is_empty()), "seed {seed}");
    }
}

#[test]
fn a_link_that_flaps_is_down_until_it_is_calm() {
    let mut link = Link::new(1, MILLISECOND);
    // It works for a second and a half, and then does not for half a second, for two minutes.
    for _ in 0..60 {
        link.run(1_500 * MILLISECOND);
        link.cut = [true, true];
        link.run(500 * MILLISECOND);
        link.cut = [false, false];
    }
    for end in &link.ends {
        let ups = end.told.iter().filter(|(_, news)| *news == News::Up).count();
        assert!(ups <= 1, "{:?}", end.told);
    }
    link.run(62 * SECOND);
    assert_eq!(link.is_up(), [true, true]);
    // What it did is forgotten after a minute of calm.
    link.run(62 * SECOND);
    link.cut = [true, false];
    link.run(SECOND);
    link.cut = [false, false];
    link.run(2 * SECOND);
    assert_eq!(link.is_up(), [true, true]);
}

#[test]
fn an_interface_that_is_down_is_told_at_once_and_up_only_when_packets_pass() {
    let mut watch = Watch::new(0, Settings::new(INTERVAL, 0));
    assert_eq!(watch.tick(0, 7).0, Some(7));
    assert_eq!(watch.interface(1, true), None);
    assert_eq!(watch.interface(2, false), Some(News::InterfaceDown));
    assert_eq!(watch.interface(3, false), None);
    // Nothing is sent, and what comes back late is of before.
    watch.received(4, 7);
    assert_eq!((watch.due(), watch.tick(SECOND, 8)), (u64::MAX, (None, None)));
    assert_eq!(watch.interface(SECOND, true), Some(News::Interface));
    assert!(!watch.is_up());
    let mut now = SECOND;
    let mut told = None;
    for token in 100..113 {
        let (sends, news) = watch.tick(now, token);
        assert_eq!(sends, Some(token));
        told = told.or(news.map(|news| (now, news)));
        watch.received(now, token);
        now += INTERVAL;
    }
    assert_eq!(told, Some((2 * SECOND, News::Up)));
}

/// What this end did not send, because it stood still, is no sign of a cut.
#[test]
fn an_end_that_stands_still_does_not_take_that_for_a_cut() {
    let mut watch = Watch::new(0, Settings::new(INTERVAL, 0));
    for (token, now) in [(1, 0), (2, 5 * SECOND), (3, 9 * SECOND), (4, 9 * SECOND + 250 * MILLISECOND)] {
        assert_eq!(watch.tick(now, token), (Some(token), None));
        watch.received(now + 200 * MILLISECOND, token);
    }
    assert!(watch.is_up());
}
