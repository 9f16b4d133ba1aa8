//! The ledger: Table II as a whole, removal, refusals with offers, multicast, buffers and separations.

use crate::networks::{GIGABIT, admit, flow, host, random_network, switch, table_two};
use crate::random::Random;
use latency::backlog::{backlog_from, backlog_within};
use latency::bound::planned_bound;
use latency::check::{Fault, check};
use latency::framing::{Framing, Ip};
use latency::ledger::{Ledger, Offer, Reason};
use latency::linear::linear_delay;
use latency::network::{Buffer, Flow, FlowError, Hop, Policing, Port, Subscriber};
use latency::policing::Counts;
use latency::split::Split;
use latency::units::{MICROSECOND, MILLISECOND, NANOSECOND, time_of};
use latency::words::reason;

fn levels(ledger: &Ledger, port: usize) -> Vec<u8> {
    ledger.entries(port).iter().map(|entry| entry.contender.level).collect()
}

fn latencies(ledger: &Ledger, ids: &[u64]) -> Vec<u64> {
    ids.iter().map(|id| ledger.bounds(*id).unwrap()[0].latency / NANOSECOND).collect()
}

#[test]
fn table_two_gated_is_admitted() {
    let (ports, flows) = table_two();
    for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0], [0, 2, 1]] {
        let mut ledger = Ledger::new(ports.clone(), Split::Load);
        for index in order {
            admit(&mut ledger, index as u64 + 1, &flows[index]);
        }
        let levels = levels(&ledger, 3);
        assert!(
            levels.is_sorted_by(|above, below| above > below),
            "{levels:?}: T1 above T2 above T3, admitted in order {order:?}"
        );
        assert_eq!(latencies(&ledger, &[1, 2, 3]), [1_631_312, 2_434_160, 2_969_392]);
    }
}

#[test]
fn table_two_with_our_own_framing() {
    let (ports, mut flows) = table_two();
    let mut ledger = Ledger::new(ports, Split::Load);
    for (index, flow) in flows.iter_mut().enumerate() {
        // The encapsulation header of the payload.
        flow.largest_message += 4;
        flow.smallest_message += 4;
        flow.framing = Framing::Rtps { datagram: 1_472, ip: Ip::V4 };
        admit(&mut ledger, index as u64 + 1, flow);
    }
    // Each comes at the highest level that is as good as any, so that the next one need not be overtaken by moves up.
    assert_eq!(levels(&ledger, 3), [7, 6, 5]);
    // The three take 3.098 ms, so T3 (limit 8 ms) meets T1 and T2 a second time.
    assert_eq!(latencies(&ledger, &[1, 2, 3]), [1_714_272, 2_559_056, 5_657_248]);
}

#[test]
fn removal_is_the_inverse_of_admission() {
    let (ports, flows) = table_two();
    let mut ledger = Ledger::new(ports, Split::Load);
    admit(&mut ledger, 1, &flows[0]);
    let before = ledger.clone();
    let more = flow(500, 5 * MILLISECOND, 9 * MILLISECOND, &[0, 3]);
    admit(&mut ledger, 2, &more);
    assert_ne!(before, ledger);
    assert_eq!(ledger.remove(2).unwrap().flow, more);
    let shares = |ledger: &Ledger| ledger.flow(1).unwrap().shares.clone();
    assert_eq!(shares(&before), shares(&ledger));
    assert_eq!(ledger.entries(0).len(), 1);
    assert_eq!(ledger.remove(2), None);
    ledger.remove(1);
    assert_eq!(ledger, Ledger::new(table_two().0, Split::Load));
}

/// To the bit: what is admitted and taken out again leaves no trace, and where others have moved `undo` moves them back.
#[test]
fn admitting_and_taking_back_leaves_no_trace() {
    let (mut taken_out, mut undone) = (0, 0);
    for seed in tiers::current().seeds("property.cases").step_by(5) {
        let mut random = Random::new(seed);
        let (mut ledger, flows) = random_network(&mut random);
        for (id, flow) in &flows {
            ledger.remove(*id).unwrap();
            let before = ledger.clone();
            if let Ok(plan) = ledger.admit_as_asked(*id, flow) {
                assert_ne!(ledger, before, "seed {seed}");
                if plan.phases.is_empty() && random.range(0, 1) == 0 {
                    ledger.remove(*id).unwrap();
                    taken_out += 1;
                } else {
                    undone += u64::from(!plan.phases.is_empty());
                    assert!(ledger.undo(&plan));
                    assert!(!ledger.undo(&plan), "not twice");
                }
                assert_eq!(ledger, before, "seed {seed}, flow {id}");
                assert!(ledger.admit_as_asked(*id, flow).is_ok());
            }
        }
    }
    assert!(taken_out > 0 && undone > 0, "{taken_out} taken out, {undone} undone with moves");
}

#[test]
fn a_plan_for_another_state_is_not_committed() {
    let (ports, flows) = table_two();
    let mut ledger = Ledger::new(ports, Split::Load);
    let late = ledger.plan(1, &flows[0]).unwrap();
    admit(&mut ledger, 2, &flows[1]);
    let before = ledger.clone();
    assert!(!ledger.commit(late));
    assert_eq!(before, ledger);
    let plan = ledger.plan(1, &flows[0]).unwrap();
    assert!(ledger.commit(plan.clone()));
    assert!(!ledger.commit(plan), "not twice");
    assert_eq!(ledger.plan(1, &flows[0]).unwrap_err().reason, Reason::Known);
}

/// A refusal names port, level, flow and the time missed; its offers are admitted.
#[test]
fn offers_are_kept() {
    let (mut ports, flows) = table_two();
    ports.push(host());
    let mut ledger = Ledger::new(ports, Split::Load);
    for (index, flow) in flows.iter().enumerate() {
        admit(&mut ledger, index as u64 + 1, flow);
    }
    let asked = flow(80_000, 8 * MILLISECOND, MILLISECOND, &[4, 3]);
    let refusal = ledger.plan(9, &asked).unwrap_err();
    assert!(matches!(refusal.reason, Reason::Delay { by: Some(1..), .. }), "{refusal:?}");
    let Offer { latency, separation } = refusal.offer;
    let tried = latency.map(|limit| {
        let mut flow = asked.clone();
        flow.subscribers[0].limit = limit;
        ledger.plan(9, &flow).is_ok()
    });
    assert!(tried.unwrap_or(true), "{refusal:?}");
    let tried = separation.map(|separation| ledger.plan(9, &Flow { separation, ..asked.clone() }).is_ok());
    assert!(tried.unwrap_or(true), "{refusal:?}");
    assert!(latency.is_some() || separation.is_some(), "{refusal:?}");
}

/// Gaps 10 and 15: one tree with a shared port; the tighter subscriber sets the share there, and the flow counts once.
#[test]
fn a_tree_is_one_flow_at_a_shared_port() {
    let ports = vec![host(), switch(), switch(), switch()];
    let mut tree = flow(10_000, MILLISECOND, 300 * MICROSECOND, &[0, 1, 2]);
    tree.tree.push(Hop { port: 3, parent: Some(1) });
    tree.subscribers.push(Subscriber { hop: 3, limit: MILLISECOND, maximum_separation: None });
    let mut ledger = Ledger::new(ports, Split::Even);
    admit(&mut ledger, 1, &tree);
    assert_eq!(ledger.entries(1).len(), 1);
    let bounds = ledger.bounds(1).unwrap();
    assert_eq!(bounds.len(), 2);
    assert_eq!(bounds[0], bounds[1]);
    let shares = &ledger.flow(1).unwrap().shares;
    assert!(shares[0] + shares[1] + shares[2] <= 300 * MICROSECOND);
    assert!(shares[0] + shares[1] + shares[3] <= MILLISECOND && shares[3] > shares[2]);
}

/// Gap 11: with a limit above the separation MIDAS's contraction is negative at the second switch and lowers the
/// bound; jitter grows instead and the bound with it.
#[test]
fn a_limit_above_the_separation_does_not_lower_the_next_hop() {
    let ports = vec![host(), switch(), switch(), host(), switch()];
    let mut bounds = Vec::new();
    for limit in [2, 40] {
        let mut ledger = Ledger::new(ports.clone(), Split::Even);
        admit(&mut ledger, 1, &flow(50_000, 5 * MILLISECOND, limit * MILLISECOND, &[0, 1, 2]));
        admit(&mut ledger, 2, &flow(20_000, 5 * MILLISECOND, 90 * MILLISECOND, &[3, 2]));
        bounds.push(latencies(&ledger, &[2])[0]);
    }
    assert!(bounds[0] <= bounds[1], "{bounds:?}");
}

#[test]
fn a_buffer_that_is_too_small_refuses() {
    let (mut ports, flows) = table_two();
    ports[3].buffer = Buffer::Shared(100_000);
    let mut ledger = Ledger::new(ports.clone(), Split::Load);
    admit(&mut ledger, 1, &flows[0]);
    let reason = ledger.plan(2, &flows[1]).unwrap_err().reason;
    assert!(
        matches!(reason, Reason::Buffer { port: 3, reserved: 100_000, needed: Some(100_001..), .. }),
        "{reason:?}"
    );
    // Queues of their own: T1's frames leave as they come, T2 waits for all of them.
    ports[3].buffer = Buffer::PerQueue(110_000);
    let mut ledger = Ledger::new(ports, Split::Load);
    admit(&mut ledger, 1, &flows[0]);
    admit(&mut ledger, 2, &flows[1]);
}

#[test]
fn the_separation_at_a_subscriber_includes_the_variation_of_the_latency() {
    let (ports, [mut t1, ..]) = table_two();
    let ledger = Ledger::new(ports, Split::Load);
    t1.maximum_separation = Some(10 * MILLISECOND);
    // The least latency: the message at the first port, its last frame (832 bytes) at the second. The greatest: the limit.
    let most = 12 * MILLISECOND - (1_606_704 + 7_184) * NANOSECOND;
    t1.subscribers[0].maximum_separation = Some(most);
    assert_eq!(ledger.plan(1, &t1).map(|_| ()), Ok(()));
    t1.subscribers[0].maximum_separation = Some(most - 1);
    let refusal = ledger.plan(1, &t1).unwrap_err();
    assert_eq!(refusal.reason, Reason::Separation { subscriber: 0, by: Some(1) });
    t1.maximum_separation = None;
    assert_eq!(ledger.plan(1, &t1).unwrap_err().reason, Reason::Separation { subscriber: 0, by: None });
}

/// The earliest message has nothing around it that may be left out.
///
/// A sample of 100 bytes weighs 42 + 24 + 48 + 100 = 214 bytes on the wire: Ethernet, IPv4 and UDP, what is around any frame, and the RTPS
/// header, an INFO_TS without a time and a DATA header. So it may be at the subscriber twice 1.712 us after it was sent: the frame leaves the
/// host, and then the switch. With a time, an INFO_DST, padding and a HEARTBEAT it is 59 bytes more. A subscriber that has got one so soon
/// gets the next one, sent the longest separation later, at the limit.
#[test]
fn the_earliest_message_has_nothing_around_it_that_may_be_left_out() {
    let (ports, [t1, ..]) = table_two();
    let ledger = Ledger::new(ports, Split::Load);
    let mut flow = Flow {
        largest_message: 100,
        smallest_message: 100,
        framing: Framing::Rtps { datagram: 1_472, ip: Ip::V4 },
        maximum_separation: Some(10 * MILLISECOND),
        ..t1
    };
    let most = 10 * MILLISECOND + flow.subscribers[0].limit - 2 * 1_712 * NANOSECOND;
    flow.subscribers[0].maximum_separation = Some(most);
    assert_eq!(ledger.plan(1, &flow).map(|_| ()), Ok(()));
    flow.subscribers[0].maximum_separation = Some(most - 1);
    let refusal = ledger.plan(1, &flow).unwrap_err();
    assert_eq!(refusal.reason, Reason::Separation { subscriber: 0, by: Some(1) });
}

#[test]
fn flows_that_fit_no_model_are_refused() {
    let (ports, [good, ..]) = table_two();
    let ledger = Ledger::new(ports, Split::Load);
    let error = |change: &dyn Fn(&mut Flow)| {
        let mut flow = good.clone();
        change(&mut flow);
        match ledger.plan(1, &flow).unwrap_err().reason {
            Reason::Flow(error) => error,
            reason => panic!("{reason:?}"),
        }
    };
    assert_eq!(error(&|flow| flow.separation = 0), FlowError::Number);
    assert_eq!(error(&|flow| flow.smallest_message += 1), FlowError::Number);
    assert_eq!(error(&|flow| flow.policing = Policing::Gate { tick: 0 }), FlowError::Number);
    assert_eq!(error(&|flow| flow.tree[0].parent = Some(0)), FlowError::Tree { hop: 0 });
    assert_eq!(error(&|flow| flow.tree[1].parent = Some(1)), FlowError::Tree { hop: 1 });
    assert_eq!(error(&|flow| flow.tree[1].parent = None), FlowError::Tree { hop: 1 });
    assert_eq!(error(&|flow| flow.tree[1].port = 4), FlowError::Port { hop: 1 });
    assert_eq!(error(&|flow| flow.tree[1].port = 0), FlowError::Loop);
    assert_eq!(error(&|flow| flow.tree.clear()), FlowError::Loop);
    assert_eq!(error(&|flow| flow.subscribers.clear()), FlowError::Subscriber { subscriber: 0 });
    assert_eq!(error(&|flow| flow.subscribers[0].hop = 2), FlowError::Subscriber { subscriber: 0 });
    let jumbo = Framing::Udp { datagram: 9_000, ip: Ip::V4 };
    assert_eq!(error(&|flow| flow.framing = jumbo), FlowError::Framing { hop: 0 });
}

/// Gap 19: an urgent flow is refused for the sake of one below it, which the refusal names.
#[test]
fn lower_levels_are_tested_again() {
    let (mut ports, flows) = table_two();
    ports.push(host());
    let mut ledger = Ledger::new(ports, Split::Load);
    for (index, flow) in flows.iter().enumerate() {
        admit(&mut ledger, index as u64 + 1, flow);
    }
    let urgent = flow(60_000, 20 * MILLISECOND, 1_100 * MICROSECOND, &[4, 3]);
    let refusal = ledger.plan(4, &urgent).unwrap_err();
    let Reason::Delay { port: 3, flow: 1..=3, by: Some(1..), .. } = refusal.reason else {
        panic!("{refusal:?}")
    };
}

/// Whatever rates are, what opens a host's port keeps its share when others go below it.
#[test]
fn the_first_flow_of_a_host_has_the_exact_share() {
    for rate in [GIGABIT, 1_500_000_000] {
        let ports = vec![Port { rate, ..switch() }, switch()];
        let mut ledger = Ledger::new(ports.clone(), Split::Load);
        let mut first = flow(20_000, 3 * MILLISECOND, 600 * MICROSECOND, &[0, 1]);
        first.jitter = 100 * MICROSECOND;
        admit(&mut ledger, 1, &first);
        let frames = first.frames(&ports[0]).unwrap();
        let alone = time_of(frames.bits + 1_538 * 8, rate).unwrap();
        let share = ledger.flow(1).unwrap().shares[0];
        assert!((alone..=alone + 2).contains(&share), "{share} and not {alone}");
        for (id, bytes) in [(2, 40_000), (3, 1), (4, 700)] {
            let plan = ledger.plan(id, &flow(bytes, 4 * MILLISECOND, 3 * MILLISECOND, &[0, 1])).unwrap();
            assert_eq!(plan.phases, []);
            assert!(ledger.commit(plan));
            assert_eq!(ledger.audit(0), Ok(()), "after flow {id} at {rate} b/s");
        }
        assert_eq!(levels(&ledger, 0)[0], 7);
    }
    // Messages that may meet are left to the linear test.
    let mut ledger = Ledger::new(vec![switch(), switch()], Split::Load);
    let mut late = flow(20_000, 3 * MILLISECOND, 9 * MILLISECOND, &[0, 1]);
    late.jitter = 3 * MILLISECOND;
    admit(&mut ledger, 1, &late);
    let contender = ledger.entries(0)[0].contender;
    let linear = linear_delay(&ledger.ports()[0].planning_server(), &[contender], contender.level);
    assert_eq!(Some(ledger.flow(1).unwrap().shares[0]), linear);
}

/// Table II at a tenth of the rate, with hosts that take a while to hand over a message and a switch whose time from
/// reception to queue varies. In the first case shares by the linear test at the hosts refuse the last flow, in the second
/// a variation that counts twice does.
#[test]
fn table_two_with_hosts_and_a_switch_that_vary() {
    for (variation, emission) in [(50, 250), (100, 100)] {
        let slow = Port { rate: GIGABIT / 10, ..switch() };
        let last = Port {
            most_multiplexing: variation * MICROSECOND,
            queues: 3,
            buffer: Buffer::PerQueue(92_280),
            ..slow
        };
        let mut ledger = Ledger::new(vec![slow, slow, slow, last], Split::Load);
        let flows = [(48_048, 7_500, 5_000), (24_000, 7_500, 7_500), (16_000, 27_500, 20_000)];
        for (index, (bytes, separation, limit)) in flows.into_iter().enumerate() {
            let mut flow = flow(bytes, separation * MICROSECOND, limit * MICROSECOND, &[index, 3]);
            flow.framing = Framing::Rtps { datagram: 1_472, ip: Ip::V4 };
            flow.policing = Policing::Gate { tick: MICROSECOND };
            flow.emission = emission * MICROSECOND;
            admit(&mut ledger, index as u64 + 1, &flow);
        }
    }
}

/// More flows than levels are found for by search: others keep their places.
#[test]
fn a_port_of_many_flows() {
    let mut ports = vec![switch()];
    ports.extend((0..60).map(|_| host()));
    let mut ledger = Ledger::new(ports, Split::Load);
    let flow = |host: usize| {
        let limit = if host.is_multiple_of(3) { 2 } else { 9 };
        flow(1_000 + 10 * host as u32, 10 * MILLISECOND, limit * MILLISECOND, &[host, 0])
    };
    for host in 1..=60 {
        admit(&mut ledger, host as u64, &flow(host));
    }
    let hasty = Flow {
        subscribers: vec![Subscriber { hop: 1, limit: 15 * MICROSECOND, maximum_separation: None }],
        ..flow(1)
    };
    ledger.remove(1);
    let refusal = ledger.plan(1, &hasty).unwrap_err();
    assert!(matches!(refusal.reason, Reason::Delay { by: Some(1..), .. }), "{refusal:?}");
    assert!(refusal.offer.latency.is_some());
}

#[test]
fn admissions_and_removals_in_any_order_keep_all_shares() {
    for seed in tiers::current().seeds("property.cases").step_by(10) {
        let mut random = Random::new(seed);
        let (mut ledger, flows) = random_network(&mut random);
        let empty = Ledger::new(ledger.ports().to_vec(), ledger.split());
        for _ in 0..10 {
            let id = random.range(0, 9);
            match (ledger.remove(id), flows.get(&id)) {
                (None, Some(flow)) => {
                    if let Ok(plan) = ledger.plan_as_asked(id, flow) {
                        assert!(ledger.commit(plan));
                    }
                }
                (removed, flow) => assert_eq!(removed.as_ref().map(|removed| &removed.flow), flow),
            }
            for port in 0..ledger.ports().len() {
                assert_eq!(ledger.audit(port), Ok(()), "seed {seed}, port {port}");
            }
        }
        for id in flows.keys() {
            ledger.remove(*id);
        }
        assert_eq!(ledger, empty, "seed {seed}");
    }
}

/// Ports with many flows, where running sums decide mostly: whatever is admitted keeps all shares and fits the buffers by
/// the tests that look at every flow.
#[test]
fn full_ports_keep_all_shares_and_buffers() {
    let mut admitted = 0;
    for seed in tiers::current().seeds("property.cases").step_by(150) {
        let mut random = Random::new(seed);
        let buffer = random.range(50_000, 400_000);
        let per_queue = random.range(0, 1) == 0;
        let port = Port {
            queues: random.range(1, 8) as u8,
            buffer: if per_queue { Buffer::PerQueue(buffer) } else { Buffer::Shared(buffer) },
            ..switch()
        };
        let ports: Vec<Port> = (0..10).map(|_| host()).chain([port, port]).collect();
        let split = [Split::Last, Split::Load, Split::Even][random.range(0, 2) as usize];
        let mut ledger = Ledger::new(ports, split);
        for id in 0..100 {
            let bytes =
                [random.range(10, 1_400), random.range(1_000, 20_000)][usize::from(random.range(0, 5) == 0)];
            let (separation, limit) = (random.range(1, 50) * MILLISECOND, random.range(1, 20) * MILLISECOND);
            let mut new = flow(bytes as u32, separation, limit, &[(id % 10) as usize, 10, 11]);
            new.jitter = random.range(0, 1) * random.range(0, 200) * MICROSECOND;
            let counts = [Counts::Wire, Counts::Frame][(id % 2) as usize];
            new.policing =
                [Policing::Trusted, Policing::Meter { rate_step: 1_000, burst_step: 1_000, counts }]
                    [usize::from(random.range(0, 3) == 0)];
            admitted += u64::from(ledger.admit_as_asked(id, &new).is_ok());
            if random.range(0, 9) == 0 {
                ledger.remove(random.range(0, id));
            }
        }
        for port in 0..ledger.ports().len() {
            assert_eq!(ledger.audit(port), Ok(()), "seed {seed}, port {port}");
            let contenders: Vec<_> = ledger.entries(port).iter().map(|entry| entry.contender).collect();
            let server = ledger.ports()[port].planning_server();
            let held = |level| {
                let all = backlog_from(&server, &contenders, level);
                let own = planned_bound(&server, &contenders, level)
                    .and_then(|bound| backlog_within(&server, &contenders, level, bound.delay));
                all.into_iter().chain(own.filter(|_| per_queue)).min().unwrap()
            };
            if port >= 10 && !contenders.is_empty() {
                let levels: Vec<u8> = contenders.iter().map(|flow| flow.level).collect();
                let lowest = *levels.iter().min().unwrap();
                for level in levels.into_iter().filter(|level| per_queue || *level == lowest) {
                    assert!(held(level) <= buffer * 8, "seed {seed}, port {port}, level {level}");
                }
            }
        }
    }
    assert!(admitted > 50, "{admitted}");
}

/// A link that its other end may stop has no bound: no flow is admitted along it, and evidence of former times does not hold.
#[test]
fn nothing_is_promised_where_pause_frames_may_stop_a_link() {
    let (mut ports, flows) = table_two();
    let mut before = Ledger::new(ports.clone(), Split::Load);
    admit(&mut before, 1, &flows[0]);
    let certificate = before.certificate(1).unwrap();
    ports[3].imperfections.pauses = true;
    assert_eq!(check(&certificate, &ports), Err(Fault::Server { hop: 1 }));
    let ledger = Ledger::new(ports, Split::Load);
    let refusal = ledger.plan(1, &flows[0]).unwrap_err();
    assert_eq!(refusal.reason, Reason::Flow(FlowError::Paused { port: 3 }));
    assert_eq!(refusal.offer, Offer::default());
    let said = reason(&refusal.reason, |port| format!("port {port}"), |_| String::new());
    assert_eq!(
        said,
        "PAUSE frames may stop port 3, so that it has no bound there: switch them off at one end"
    );
}
