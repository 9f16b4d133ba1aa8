//! Neighbours that say anything: no message stops a manager, or makes it reserve more than is agreed.
use testkit::random::Random;
use wan::{Asking, Asn, Body, LinkId, Message, Refusal, SessionBody};

use crate::seeds::request;
use crate::topologies::SECOND;
use crate::world::World;

/// A number at an edge, or any.
fn number(random: &mut Random) -> u64 {
    let any = random.bits();
    *random.pick(&[0, 1, 7, u64::from(u32::MAX), 1 << 50, u64::MAX / 8, u64::MAX - 1, u64::MAX, any]).unwrap()
}

fn path(random: &mut Random, path: &mut Vec<Asn>) {
    let at = random.below(path.len() + 1);
    match random.below(4) {
        0 => path.insert(at, Asn(random.range(1, 7) as u32)),
        1 => path.truncate(at),
        2 => path.extend((0..300).map(Asn)),
        _ => path.reverse(),
    }
}

fn refusal(random: &mut Random, refusal: &mut Refusal) {
    refusal.asn = Asn(random.range(0, 9) as u32);
    let (missing, offer) = (number(random), number(random));
    refusal.reason = wan::Reason::Rate { missing, offer };
}

/// Changes a message in one place.
fn spoil(random: &mut Random, message: &mut Message) {
    let value = number(random);
    match &mut message.body {
        Body::Reserve(reserve) => match random.below(16) {
            0 => reserve.id.number = value,
            1 => reserve.echo = value,
            2 => path(random, &mut reserve.path),
            3 => reserve.position = value as u8,
            4 => reserve.link = Some(LinkId(random.range(0, 9) as u32)),
            5 => reserve.traffic = None,
            6 => reserve.limit = value,
            7 => reserve.delay = value,
            8 => reserve.jitter = value,
            9 => reserve.lifetime = value,
            10 => reserve.loss = value as u32,
            11 => reserve.most_loss = value as u32,
            12 => reserve.label = Some(value as u32),
            13 => {
                reserve.asking =
                    if reserve.asking == Asking::Direct { Asking::HopByHop } else { Asking::Direct }
            }
            14 => (reserve.asking, reserve.position) = (Asking::Direct, value as u8),
            _ => {
                if let Some(traffic) = &mut reserve.traffic {
                    let of = [&mut traffic.rate, &mut traffic.bucket, &mut traffic.peak];
                    let at = random.below(3);
                    of.into_iter().nth(at).into_iter().for_each(|field| *field = value);
                }
            }
        },
        Body::Response(response) => match (&mut response.verdict, random.below(8)) {
            (_, 0) => response.echo = value,
            (Ok(granted), 1) => granted.reserved.rate = value,
            (Ok(granted), 2) => granted.delay = value,
            (Ok(granted), 3) => granted.label = value as u32,
            (Ok(granted), 4) => granted.loss = value as u32,
            (Ok(granted), 5) => granted.price = Some(value),
            (Ok(granted), 6) => granted.link = Some(LinkId(random.range(0, 9) as u32)),
            (Err(said), 1 | 2) => refusal(random, said),
            _ => response.id.number = value,
        },
        Body::Notify(notify) => refusal(random, &mut notify.refusal),
        Body::Query(query) => match random.below(5) {
            0 => query.delay = value,
            1 => query.jitter = value,
            2 => query.available = value,
            3 => query.loss = value as u32,
            _ => path(random, &mut query.path),
        },
        Body::QueryResponse(response) => match random.below(2) {
            0 => response.position = value as u8,
            _ => path(random, &mut response.path),
        },
        Body::Session(id, body) => match (body, random.below(3)) {
            (_, 0) => id.number = value,
            (SessionBody::Establish(asked), 1) => {
                asked.flows.iter_mut().for_each(|flow| flow.desired.rate = value)
            }
            (SessionBody::Establish(asked), _) => asked.callees.clear(),
            (SessionBody::Established(Ok(rates)) | SessionBody::Commit { rates, .. }, 1) => rates.push(value),
            (SessionBody::Established(Ok(rates)) | SessionBody::Commit { rates, .. }, _) => rates.fill(value),
            (SessionBody::Committed { echo }, _) => *echo = value,
            (SessionBody::Rerouted { flow, .. }, 1) => *flow = value as u8,
            (SessionBody::Rerouted { delay, .. }, _) => *delay = value,
            (SessionBody::Copies { flow, .. }, 1) => *flow = value as u8,
            (SessionBody::Copies { said: Ok(delay), .. }, _) => *delay = value,
            (SessionBody::Copies { said: Err(said), .. }, _) => refusal(random, said),
            (SessionBody::Ended(said) | SessionBody::Established(Err(said)), _) => refusal(random, said),
            (SessionBody::Stop(_), 1) => id.origin = Asn(value as u32),
            (SessionBody::Stop(said), _) => refusal(random, said),
        },
    }
}

fn play(seed: u64) -> u64 {
    let mut world = World::new(seed);
    world.context = format!("seed {seed}");
    world.spoils = Some(spoil);
    for _ in 0..10 {
        let at = world.random.below(world.domains.len());
        let request = request(&mut world, at);
        world.request(at, request);
        let query = wan::Input::Query { ticket: 1, destination: Asn(2), class: wan::Class::Ef };
        world.input(at, query);
        // Flows that go another way are told of, too.
        if world.random.one_in(3) {
            world.fail_link(at);
        }
        world.run(SECOND);
    }
    world.run(10 * SECOND);
    world.counts.spoilt
}

#[test]
fn hostile_neighbours_stop_no_manager_and_get_no_more_than_is_agreed() {
    let tier = tiers::current();
    let mut spoilt = 0;
    for seed in tier.seeds("control.hostile") {
        let played = std::panic::catch_unwind(|| play(seed));
        spoilt += played.unwrap_or_else(|_| panic!("seed {seed}: PUNCTUAL_SEED={seed} repeats it"));
    }
    assert!(spoilt > 0);
}
