//! A bound with losses on a real switch: frames of samples, and of repairs and HEARTBEATs that go alone, are lost by count, and every sample comes within the
//! bound all the same, by flows of repairs and questions that gates find no fault with.
use std::time::Duration;

use dds::assurance::State;
use dds::qos::RequestedAssurance;
use gate::protocol::ContractState;
use lab::probe::Probes;

use crate::ward::{NETWORK, Ward, patiently, with_gates};
use crate::{MILLISECOND, listed};

const SEPARATION: i64 = 40 * MILLISECOND;
const SAMPLES: usize = 90;
/// What the writer keeps above its separation: a machine that stands still for longer breaks the contract.
const STILL: Duration = Duration::from_millis(1);

/// Loses frames that arrive at a host from this port, by their count: of each `of` the one with this number.
fn lose(ward: &Ward, host: &str, port: u16, of: u32, which: u32) {
    let rule =
        format!("add rule netdev lossy in udp sport {port} numgen inc mod {of} == {which} counter drop");
    let chain = "add chain netdev lossy in { type filter hook ingress device eth0 priority 0; }";
    for line in ["add table netdev lossy", chain, &rule] {
        let mut command = ward.lab.command(host, "nft").unwrap();
        assert!(command.arg(line).status().unwrap().success(), "{line}");
    }
}

/// Frames that were lost at a host.
fn lost(ward: &Ward, host: &str) -> Vec<u64> {
    let output =
        ward.lab.command(host, "nft").unwrap().args(["list", "table", "netdev", "lossy"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let counts = text.split("counter packets ").skip(1);
    counts.map(|rest| rest.split(' ').next().unwrap().parse().unwrap()).collect()
}

/// Frames that gates have let through and dropped, of samples, of repairs and of questions.
fn counted(ward: &Ward) -> [ContractState; 3] {
    let contracts: Vec<ContractState> = listed(ward);
    let display = ward.lab.host_address("display").unwrap();
    let is_question = |state: &&ContractState| state.key.source == display;
    // Gates count in steps of their own.
    let apart = |state: &ContractState| state.contract.separation.abs_diff(SEPARATION.unsigned_abs());
    let of_camera = contracts.iter().filter(|state| !is_question(state));
    let samples = of_camera.min_by_key(|state| apart(state)).unwrap().key;
    let is_sample = |state: &&ContractState| state.key == samples;
    let one = |is: &dyn Fn(&&ContractState) -> bool| *contracts.iter().find(is).unwrap();
    [
        one(&|state| is_sample(state) && !is_question(state)),
        one(&|state| !is_sample(state) && !is_question(state)),
        one(&|state| is_question(state)),
    ]
}

#[test]
fn every_sample_comes_within_the_bound_although_frames_of_each_kind_are_lost() {
    let Some(_turn) = lab_turn::turn() else { return };
    let ward = Ward::told(&with_gates(NETWORK), &["--reaction", "10ms"]);
    let writer = ward.writer("camera", "Picture", 400, SEPARATION);
    let wanted = RequestedAssurance::within(dds::Duration::from_millis(600))
        .losses(2, dds::Duration::from_millis(1_200));
    let reader = ward.reader_with_losses("display", "Picture", wanted);
    let pair = patiently("the verdict", || {
        reader.pairs().into_iter().find(|pair| matches!(pair.state, State::Admitted | State::Refused))
    });
    assert_eq!(pair.state, State::Admitted, "{}", pair.reason);
    assert_eq!(pair.losses, Some((2, dds::Duration::from_millis(1_200))));
    patiently("the writer's match", || (writer.matched() == 1).then_some(()));
    let [samples, repairs, _] = counted(&ward);
    assert_eq!((ward.flow_entries(), listed(&ward).len()), (3, 3));
    // One sample in more than the stated time, and of what is beside the samples the first, the fourth and so on: no two in a row.
    lose(&ward, "display", samples.key.source_port, 32, 3);
    lose(&ward, "display", repairs.key.source_port, 3, 0);
    let probes = Probes::start(STILL).unwrap();
    for _ in 0..SAMPLES {
        writer.write();
        std::thread::sleep(Duration::from_millis(41));
    }
    let mut received = 0;
    patiently("the samples", || {
        received += reader.take();
        (received >= SAMPLES).then_some(())
    });
    assert_eq!(received, SAMPLES);
    let lost = lost(&ward, "display");
    assert!(lost.len() == 2 && lost[0] >= 2 && lost[1] >= 1, "{lost:?}");
    let stalls = probes.stop();
    let kinds = counted(&ward);
    assert!(kinds[1..].iter().all(|beside| beside.counters.frames > 0), "{kinds:?}");
    let status = patiently("what the reader has seen", || {
        let status = ward.status();
        status.contains(&format!("measured: {SAMPLES} samples")).then_some(status)
    });
    assert!(status.contains("with 2 frames lost within") && status.contains(" late, 0 lost"), "{status}");
    // A machine that stands still brings frames too close together for a gate, and samples too late.
    if stalls.is_empty() {
        assert!(kinds.iter().all(|kind| kind.counters.dropped() == 0), "{kinds:?}");
        assert!(status.contains("samples, 0 late, 0 lost"), "{status}");
    } else {
        println!("the machine stood still {} times: gates and lateness are not looked at", stalls.len());
    }
    drop(reader);
    patiently("the end of all three", || {
        (ward.flow_entries() == 0 && listed(&ward).is_empty()).then_some(())
    });
    drop(writer);
}
