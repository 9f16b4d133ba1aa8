//! The judge: from the topology, the agreements and the sessions that survive it computes what every domain should hold. It shares no code with
//! what it judges; all it has are numbers.
use std::collections::{BTreeMap, BTreeSet};

use crate::topologies::{hides, prices};

/// A tunnel and a class: the domain that chose it, its number, the code point.
pub(crate) type Carried = (u32, u64, u8);
/// A flow of a session: the domain of the caller, the number, the flow, the domain of callees.
pub(crate) type Flow = (u32, u64, u8, u32);

/// An agreement as the test made it, for one code point.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Agreed {
    pub(crate) rate: u64,
    pub(crate) burst: u64,
    pub(crate) delay: u64,
    pub(crate) jitter: u64,
    /// Packets of a million.
    pub(crate) loss: u32,
}

/// What the test made: domains, their inside, links.
#[derive(Default, Debug)]
pub(crate) struct Topology {
    /// Delay, jitter and packets of a million that are lost inside each domain, by code point.
    pub(crate) inside: BTreeMap<(u32, u8), (u64, u64, u32)>,
    /// By sender, receiver, link and code point.
    pub(crate) agreed: BTreeMap<(u32, u32, u32, u8), Agreed>,
}

/// A flow of a surviving session.
#[derive(Clone, Debug)]
pub(crate) struct SurvivingFlow {
    pub(crate) flow: Flow,
    pub(crate) carried: Carried,
    pub(crate) path: Vec<u32>,
    pub(crate) rate: u64,
    pub(crate) bucket: u64,
    pub(crate) largest: u32,
    pub(crate) limit: u64,
    pub(crate) delay: u64,
    pub(crate) most_loss: u32,
    pub(crate) loss: u32,
    pub(crate) price: Option<u64>,
}

/// What a domain holds of an aggregate.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Held {
    pub(crate) path: Vec<u32>,
    pub(crate) rate: u64,
    pub(crate) bucket: u64,
    pub(crate) largest: u32,
    /// Delay, jitter and loss before this domain.
    pub(crate) before: (u64, u64, u32),
    /// The links by which it comes and goes.
    pub(crate) links: (Option<u32>, Option<u32>),
}

/// Labels and links as a domain has them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Pinned {
    pub(crate) link_out: Option<u32>,
    pub(crate) label_in: u32,
    pub(crate) label_out: Option<u32>,
}

/// What all domains should hold: by domain and aggregate.
#[derive(PartialEq, Eq, Debug, Default)]
pub(crate) struct Expected {
    pub(crate) held: BTreeMap<(u32, Carried), Held>,
    pub(crate) open: BTreeMap<u32, BTreeSet<Flow>>,
}

/// Bytes at once after some nanoseconds of jitter: rounded up twice, to bits and to bytes.
pub(crate) fn burst(bucket: u64, rate: u64, jitter: u64) -> u64 {
    let bits = u128::from(rate) * u128::from(jitter);
    let bits = bits / 1_000_000_000 + u128::from(bits % 1_000_000_000 > 0);
    let bytes = bits / 8 + u128::from(bits % 8 > 0);
    bucket + bytes as u64
}

impl Topology {
    /// Replays sessions from nothing. Which links a tunnel takes is read from its domains, since history chose them, and judged.
    pub(crate) fn replay(
        &self,
        flows: &[SurvivingFlow],
        pinned: impl Fn(u32, Carried) -> Option<Pinned>,
        context: &str,
    ) -> Expected {
        let mut expected = Expected::default();
        let mut sums: BTreeMap<Carried, (Vec<u32>, u64, u64, u32)> = BTreeMap::new();
        for flow in flows {
            expected.open.entry(flow.carried.0).or_default().insert(flow.flow);
            let sum = sums.entry(flow.carried).or_insert_with(|| (flow.path.clone(), 0, 0, 0));
            assert_eq!(sum.0, flow.path, "{context}: a tunnel with two paths");
            sum.1 += flow.rate;
            sum.2 += flow.bucket;
            sum.3 = sum.3.max(flow.largest);
        }
        let mut sums_of: BTreeMap<Carried, (u64, u32, BTreeSet<Option<u64>>)> = BTreeMap::new();
        for (carried, (path, rate, bucket, largest)) in sums {
            let (mut before, mut link_in) = ((0, 0, 0), None);
            let mut label: Option<Option<u32>> = None;
            for (at, domain) in path.iter().enumerate() {
                let pin = pinned(*domain, carried);
                let pin =
                    pin.unwrap_or_else(|| panic!("{context}: domain {domain} does not hold {carried:?}"));
                if let Some(label) = label {
                    assert_eq!(
                        label,
                        Some(pin.label_in),
                        "{context}: the label before {domain} of {carried:?}"
                    );
                }
                label = Some(pin.label_out);
                let links = (link_in, pin.link_out);
                let held = Held { path: path.clone(), rate, bucket, largest, before, links };
                expected.held.insert((*domain, carried), held);
                let inside = self.inside[&(*domain, carried.2)];
                before = (before.0 + inside.0, before.1 + inside.1, before.2 + inside.2);
                link_in = pin.link_out;
                match path.get(at + 1) {
                    None => assert_eq!(
                        (pin.link_out, pin.label_out),
                        (None, None),
                        "{context}: {carried:?} goes on"
                    ),
                    Some(next) => {
                        let link =
                            pin.link_out.unwrap_or_else(|| panic!("{context}: {carried:?} ends too early"));
                        let agreed = self.agreed.get(&(*domain, *next, link, carried.2));
                        let agreed =
                            agreed.unwrap_or_else(|| panic!("{context}: {carried:?} without agreement"));
                        before = (before.0 + agreed.delay, before.1 + agreed.jitter, before.2 + agreed.loss);
                    }
                }
            }
            let prices = self.prices_of(&path, carried.2);
            sums_of.insert(carried, (before.0, before.2, prices));
        }
        for flow in flows {
            // A link that failed may have been replaced by a faster one, and by no slower one.
            let (delay, loss, prices) = &sums_of[&flow.carried];
            assert!(flow.delay >= *delay, "{context}: {delay} ns, and not what was told of {flow:?}");
            assert!(flow.delay <= flow.limit, "{context}: {flow:?} is too late");
            assert!(flow.loss >= *loss, "{context}: {loss} may be lost, and not what was told of {flow:?}");
            assert!(flow.loss <= flow.most_loss, "{context}: too much of {flow:?} may be lost");
            assert!(prices.contains(&flow.price), "{context}: {prices:?}, and not the price of {flow:?}");
        }
        self.is_within(&expected.held, context);
        expected
    }

    /// What a path may have cost when it was granted: a link of it may have been replaced since by one beside it.
    fn prices_of(&self, path: &[u32], class: u8) -> BTreeSet<Option<u64>> {
        let mut sums = BTreeSet::from([Some(0)]);
        for pair in path.windows(2) {
            let links =
                self.agreed.keys().filter(|(from, to, _, of)| (*from, *to, *of) == (pair[0], pair[1], class));
            let told = links
                .map(|(from, to, link, _)| (!hides(*from, *to, *link)).then(|| prices(*from, *to, *link)));
            let told: Vec<Option<u64>> = told.collect();
            let with = |sum: &Option<u64>| {
                let sum = *sum;
                told.iter().map(move |one| Some(sum? + (*one)?)).collect::<Vec<_>>()
            };
            sums = sums.iter().flat_map(with).collect();
        }
        sums
    }

    /// What domains hold fits what is agreed on every link, in every class.
    pub(crate) fn is_within(&self, held: &BTreeMap<(u32, Carried), Held>, context: &str) {
        let mut sums: BTreeMap<(u32, u32, u32, u8), (u64, u64)> = BTreeMap::new();
        for ((domain, carried), held) in held {
            let at = held.path.iter().position(|other| other == domain).unwrap();
            let Some(link) = held.links.1 else { continue };
            let sum = sums.entry((*domain, held.path[at + 1], link, carried.2)).or_default();
            let inside = self.inside[&(*domain, carried.2)];
            sum.0 += held.rate;
            sum.1 += burst(held.bucket, held.rate, held.before.1 + inside.1);
        }
        for (at, (rate, burst)) in sums {
            let agreed =
                self.agreed.get(&at).unwrap_or_else(|| panic!("{context}: nothing is agreed for {at:?}"));
            assert!(rate <= agreed.rate, "{context}: {rate} bit/s of {} are reserved on {at:?}", agreed.rate);
            assert!(
                burst <= agreed.burst,
                "{context}: {burst} bytes of {} are reserved on {at:?}",
                agreed.burst
            );
        }
    }

    /// Numbers that only the two domains of an agreement may ever see.
    pub(crate) fn secrets_from(&self, domain: u32) -> BTreeSet<u64> {
        let far = self.agreed.iter().filter(|((from, to, ..), _)| *from != domain && *to != domain);
        far.flat_map(|(_, agreed)| [agreed.rate, agreed.burst, agreed.delay, agreed.jitter]).collect()
    }
}
