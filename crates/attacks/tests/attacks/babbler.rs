//! A host that sends far more than its own admitted flow may, under that flow's addresses, ports and class: the flow of others keeps all its samples, and
//! the manager names the flow that babbles.
use crate::claims::flood;
use crate::managed::Managed;
use crate::wires::frame_of;

#[test]
fn a_host_that_sends_more_than_was_admitted_harms_no_other_flow_and_is_named() {
    let Some(_turn) = lab_turn::turn() else { return };
    let mut managed = Managed::secured();
    let [writer, _reader] = managed.pair("Babble", ["stranger", "display"]);
    flood(&managed, &frame_of(&managed.host("stranger"), writer.guid()));
    let dropped = "frames dropped that were larger, or came earlier, than the contract says";
    managed.is_told("the babbler", &[dropped, "\"Babble\" from stranger to display"]);
    managed.assert_unharmed("beside a babbler");
    assert!(managed.managers_live());
}
