//! Writing and taking take nothing from the heap once they are warm.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops at once")]
mod link;

use dcps::reader::{Request, Sample};
use dcps::writer::{InstanceOf, WriteOptions};
use link::{Link, Payload, handle, ms};
use rtps::writer::Body;
use wire::qos::History;

#[global_allocator]
static METER: alloc_meter::Meter = alloc_meter::Meter;

/// Each round writes `payloads` and takes what has come; says how many allocations all rounds took, and how many samples came.
fn run(
    link: &mut Link,
    rounds: u32,
    payloads: &[Payload],
    ends: Option<u32>,
    out: &mut Vec<Sample>,
) -> (u64, usize) {
    let mut taken = 0;
    let ((), usage) = alloc_meter::measure(|| {
        for _ in 0..rounds {
            for payload in payloads {
                link.writer.write(link.now, Body::Shared(payload.clone()), &WriteOptions::default()).unwrap();
            }
            if let Some(id) = ends {
                link.writer.dispose(link.now, InstanceOf::Handle(handle_of(id)), None).unwrap();
            }
            link.wait(ms(1));
            taken += link.reader.access(link.now, &Request::TAKE, out).unwrap();
            for payload in out.drain(..).flat_map(|sample| [sample.payload, sample.key]).flatten() {
                link.reader.recycle(payload);
            }
        }
    });
    (usage.count, taken)
}

fn data(id: u32, value: u32) -> Payload {
    link::data(id, value).into()
}

/// `link::handle` without the heap: the key is its own hash.
fn handle_of(id: u32) -> dcps::InstanceHandle {
    let mut hash = [0; 16];
    let [a, b, c, d] = id.to_be_bytes();
    [hash[0], hash[1], hash[2], hash[3]] = [a, b, c, d];
    wire::cdr::KeyHash(hash).into()
}

fn none_once_warm(mut link: Link, payloads: &[Payload], ends: Option<u32>) {
    let mut out = Vec::with_capacity(64);
    let per_round = payloads.len() + usize::from(ends.is_some());
    run(&mut link, 2_000, payloads, ends, &mut out);
    assert_eq!(run(&mut link, 1_000, payloads, ends, &mut out), (0, 1_000 * per_round));
}

#[test]
fn handles_of_this_file_are_those_of_the_type() {
    assert_eq!(handle_of(0x0102_0304), handle(0x0102_0304));
}

#[test]
fn single_samples() {
    none_once_warm(Link::connected(|_, _| {}), &[data(1, 1)], None);
}

#[test]
fn samples_of_several_instances_with_keep_last_deadline_and_lifespan() {
    let link = Link::connected(|qos, reader| {
        qos.endpoint.history = History::KeepLast(2);
        reader.endpoint.history = History::KeepLast(1);
        qos.endpoint.deadline = ms(10);
        reader.endpoint.deadline = ms(20);
        qos.endpoint.lifespan = ms(1_000);
    });
    let payloads: Vec<_> = (0..8).map(|id| data(id, id)).collect();
    none_once_warm(link, &payloads, None);
}

#[test]
fn samples_and_disposes() {
    none_once_warm(Link::connected(|_, _| {}), &[data(1, 1), data(2, 2)], Some(1));
}

#[test]
fn fragmented_samples() {
    // Large samples are kept by handle: the writer copies none of them.
    let large = |id| {
        let mut payload = link::data(id, 1);
        payload.resize(10_000, 0);
        Payload::from(payload)
    };
    let link = Link::connected(|qos, _| qos.endpoint.history = History::KeepLast(1));
    none_once_warm(link, &[large(1), large(2)], None);
}

#[test]
fn batches() {
    let link = Link::connected(|qos, _| qos.endpoint.latency_budget = ms(1));
    let payloads: Vec<_> = (0..16).map(|id| data(id % 4, id)).collect();
    none_once_warm(link, &payloads, None);
}

#[test]
fn samples_encoded_in_place() {
    use wire::cdr::{DdsType, Encoding};
    let mut link = Link::connected(|_, _| {});
    let mut out = Vec::with_capacity(64);
    let mut rounds = |count: u32| {
        let ((), usage) = alloc_meter::measure(|| {
            for value in 0..count {
                let key = (value % 3).to_be_bytes();
                let reading = link::Reading { id: value % 3, value };
                // In the slab, and aside since it might not fit one.
                for max_len in [12, 100_000] {
                    let encode = |out: &mut Vec<u8>| reading.encode_payload(Encoding::XCDR1, out);
                    let (now, instance) = (link.now, InstanceOf::CanonicalKey(&key));
                    link.writer.write_with(now, instance, max_len, encode, &WriteOptions::default()).unwrap();
                }
                link.wait(ms(1));
                link.reader.access(link.now, &Request::TAKE, &mut out).unwrap();
                for payload in out.drain(..).filter_map(|sample| sample.payload) {
                    link.reader.recycle(payload);
                }
            }
        });
        usage.count
    };
    rounds(2_000);
    assert_eq!(rounds(1_000), 0);
}

#[test]
fn a_large_sample_leaves_nothing_behind_in_the_type() {
    use dcps::{CdrTypeSupport, TypeSupport};
    use derive::DdsType;
    use wire::cdr::{DdsType as _, Encoding};

    #[derive(DdsType)]
    struct Image {
        #[dds(key)]
        id: u32,
        pixels: Vec<u8>,
    }

    let payload = |len| {
        let mut out = Vec::new();
        Image { id: 1, pixels: vec![7; len] }.encode_payload(Encoding::XCDR1, &mut out).unwrap();
        out
    };
    let (small, large) = (payload(10_000), payload(1 << 20));
    let mut types = CdrTypeSupport::<Image>::new();
    let mut key = Vec::with_capacity(64);
    let mut usage = |payload: &[u8]| {
        key.clear();
        alloc_meter::measure(|| types.key(payload, false, &mut key)).1
    };
    usage(&small);
    assert_eq!(usage(&small).count, 0, "the memory of small samples is used again");
    assert!(usage(&large).kept <= 0);
    assert!(usage(large.get(..900_000).unwrap()).kept <= 0, "nor one that cannot be read");
}

#[test]
fn instances_that_were_full_one_after_the_other_do_not_keep_the_room_for_all() {
    let mut link = Link::connected(|qos, reader| {
        qos.endpoint.history = History::KeepLast(1);
        reader.byte_limit = 400_000;
    });
    let mut out = Vec::with_capacity(2_000);
    let fill = |link: &mut Link, id: u32, out: &mut Vec<Sample>| {
        for value in 0..1_000 {
            link.writer
                .write(link.now, Body::Copy(&link::data(id, value)), &WriteOptions::default())
                .unwrap();
            link.exchange();
        }
        assert_eq!(link.reader.access(link.now, &Request::TAKE, out), Ok(1_000));
        out.drain(..).filter_map(|sample| sample.payload).for_each(|payload| link.reader.recycle(payload));
    };
    (0..3).for_each(|id| fill(&mut link, id, &mut out));
    let ((), usage) = alloc_meter::measure(|| (3..40).for_each(|id| fill(&mut link, id, &mut out)));
    assert!(usage.kept < 200_000, "{} bytes are kept for 37 instances without samples", usage.kept);
}
