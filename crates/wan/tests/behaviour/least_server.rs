//! The least server whose bound holds: judged by serving messages one after the other, in fractions, without rounding.
use testkit::random::Random;
use wan::{RateLatency, delay_bound, least_server};

/// Nanoseconds, as a fraction over the rate, that the latest of some messages takes: each is served after the one before, at the rate, and no
/// sooner than `latency` after it came. `None` if the server falls behind more with each message.
fn worst(rate: u128, latency: u128, bits: u128, separation: u128) -> Option<u128> {
    // All times are multiplied by the rate.
    let service = bits * 1_000_000_000;
    if service > separation * rate {
        return None;
    }
    let mut free = 0_u128;
    let mut worst = 0_u128;
    for message in 0..50_u128 {
        let came = message * separation * rate;
        let done = free.max(came + latency * rate) + service;
        worst = worst.max(done - came);
        free = done;
    }
    Some(worst)
}

#[test]
fn the_least_rate_keeps_the_limit_and_one_unit_less_misses() {
    let tier = tiers::current();
    let mut served = 0_u64;
    for case in 0..tier.number("property.cases") {
        let mut random = Random::of_case(tier.first_seed() ^ 11, case);
        let size = random.range(1, 65_000) as u32;
        let digits = [random.range(1, 10) as u32, random.range(1, 10) as u32];
        let [separation, limit] = digits.map(|digits| random.range(1, 10_u64.pow(digits)));
        let latency = random.below_u64(limit + limit / 4 + 1);
        let Some(server) = least_server(size, separation, limit, latency) else {
            assert!(
                latency >= limit || u128::from(size) * 8_000_000_000 > u128::from(u64::MAX) / 1_000,
                "case {case}"
            );
            continue;
        };
        served += 1;
        assert_eq!(server.latency, latency);
        let (rate, bits) = (u128::from(server.rate), u128::from(size) * 8);
        let met = |rate: u128| {
            let worst = worst(rate, latency.into(), bits, separation.into());
            worst.is_some_and(|worst| worst <= u128::from(limit) * rate)
        };
        assert!(met(rate), "case {case}: {size} bytes every {separation} ns within {limit} ns at {server:?}");
        assert!(!met(rate - 1) || rate == 1, "case {case}: one bit/s less than {server:?} would do");
        let bound = delay_bound(server, size, separation).unwrap();
        assert!(bound <= limit, "case {case}: the bound {bound} of {server:?} is above {limit}");
        let less = delay_bound(RateLatency { rate: server.rate - 1, ..server }, size, separation);
        assert!(server.rate == 1 || less.is_none_or(|less| less > limit), "case {case}: {less:?}");
    }
    assert!(served > tier.number("property.cases") / 2, "{served}");
}
