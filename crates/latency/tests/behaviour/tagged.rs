//! Flows in VLANs: their frames are four bytes longer on every link, beside flows whose frames are not.

use crate::networks::{flow, host, switch};
use latency::check::check;
use latency::ledger::Ledger;
use latency::network::{Flow, Policing, Port};
use latency::path::least_latency;
use latency::policing::{Counts, Enforcement};
use latency::port::Arrival;
use latency::split::Split;
use latency::units::MILLISECOND;

/// A message of ten full frames in a VLAN, and the same without a tag.
fn both(policing: Policing) -> [Flow; 2] {
    let plain = Flow { policing, ..flow(14_720, 10 * MILLISECOND, 5 * MILLISECOND, &[0, 2]) };
    [Flow { tag: 4, ..plain.clone() }, plain]
}

fn ports() -> Vec<Port> {
    let wide = |port: Port| Port { largest_frame: port.largest_frame + 4, ..port };
    vec![wide(host()), wide(host()), Port { best_effort: 1_542, ..wide(switch()) }]
}

/// What a flow that is alone offers to the port of the switch, and what holds it to its contract.
fn offered(flow: &Flow) -> (Arrival, Enforcement) {
    let mut ledger = Ledger::new(ports(), Split::Load);
    ledger.admit(1, flow).unwrap();
    let certificate = ledger.certificate(1).unwrap();
    assert_eq!(check(&certificate, ledger.ports()), Ok(()));
    (ledger.entries(2)[0].contender.arrival, ledger.flow(1).unwrap().enforcement)
}

fn bits(arrival: Arrival) -> u64 {
    match arrival {
        Arrival::Messages { bits, .. } => bits,
        Arrival::Bucket { burst, .. } => burst,
    }
}

#[test]
fn the_tag_of_every_frame_is_counted_on_every_link() {
    let [tagged, plain] = both(Policing::Trusted).map(|flow| bits(offered(&flow).0));
    assert_eq!((plain, tagged), ((14_720 + 10 * 66) * 8, (14_720 + 10 * 70) * 8));
}

/// The tag is certain, so that the earliest instant at which a message can be there is later by it: ten frames on the first link, one on
/// the second.
#[test]
fn the_least_latency_has_the_tag_too() {
    let ports = ports();
    let [tagged, plain] =
        both(Policing::Trusted).map(|flow| least_latency(&flow, [&ports[0], &ports[2]].into_iter()).unwrap());
    assert_eq!(tagged - plain, (10 + 1) * 4 * 8 * 1_000);
}

/// A gate lets through all that conforms, and may take frames for smaller than they are: what an interface does not show it counts as nothing.
#[test]
fn a_gate_has_room_for_tags_and_others_are_charged_for_more() {
    let [(tagged, of_tagged), (_, of_plain)] =
        both(Policing::Gate { tick: 1_000 }).map(|flow| offered(&flow));
    let (Enforcement::Gate(gate), Enforcement::Gate(bare)) = (of_tagged, of_plain) else { panic!() };
    assert_eq!(gate.octets - bare.octets, 10 * 4);
    assert_eq!(bits(tagged), (gate.octets * 8 * 88).div_ceil(84));
}

#[test]
fn a_meter_has_room_for_tags_and_others_are_charged_as_if_it_did_not_see_them() {
    let meters = Policing::Meter { rate_step: 1, burst_step: 1, counts: Counts::Wire };
    let [(tagged, of_tagged), (_, of_plain)] = both(meters).map(|flow| offered(&flow));
    let (Enforcement::Meter(meter), Enforcement::Meter(bare)) = (of_tagged, of_plain) else { panic!() };
    assert!(meter.burst >= bare.burst + 10 * 4 * 8 && meter.rate > bare.rate, "{meter:?} {bare:?}");
    assert!(bits(tagged) >= (meter.burst * 88).div_ceil(84), "{tagged:?} {meter:?}");
}

/// Evidence of a flow without the tag, for one that has it.
#[test]
fn evidence_that_leaves_the_tag_out_is_refused() {
    for policing in [Policing::Trusted, Policing::Gate { tick: 1_000 }] {
        let [tagged, plain] = both(policing);
        let mut ledger = Ledger::new(ports(), Split::Load);
        ledger.admit(1, &plain).unwrap();
        let mut certificate = ledger.certificate(1).unwrap();
        assert_eq!(check(&certificate, ledger.ports()), Ok(()));
        certificate.flow.tag = tagged.tag;
        assert!(check(&certificate, ledger.ports()).is_err(), "{policing:?}");
    }
}

/// A frame of a VLAN that is larger than the link carries is none that can be promised anything.
#[test]
fn a_link_that_carries_no_tagged_full_frames_is_refused() {
    let [tagged, plain] = both(Policing::Trusted);
    let narrow = vec![host(), host(), switch()];
    assert!(Ledger::new(narrow.clone(), Split::Load).admit(1, &plain).is_ok());
    assert!(Ledger::new(narrow, Split::Load).admit(1, &tagged).is_err());
}
