//! Cables between interfaces of a test's namespace, and what slows them.
use udp::{Change, InterfaceWatch};

use crate::PATIENCE;
use crate::namespace::{ip, run};

/// Two virtual interfaces connected to each other and ready, the near one with this address, MTU 1500.
pub(crate) fn veth(near: &str, far: &str, address: &str) {
    let mut watch = InterfaceWatch::new().unwrap();
    ip(&format!("link add {near} type veth peer name {far}"));
    let nodad = if address.contains(':') { " nodad" } else { "" };
    ip(&format!("address add {address} dev {near}{nodad}"));
    ip(&format!("link set {near} up"));
    ip(&format!("link set {far} up"));
    // The system finds out by and by that the cable is plugged in.
    let is_up =
        |watch: &InterfaceWatch, name: &str| watch.known().iter().any(|found| found.name == name && found.up);
    while !(is_up(&watch, near) && is_up(&watch, far)) {
        let change = watch.next(Some(PATIENCE)).unwrap();
        assert!(matches!(change, Change::Interfaces(_)), "the interfaces never became ready: {change:?}");
    }
}

/// The command `tc` with these arguments, in the calling thread's namespace.
pub(crate) fn tc(arguments: &str) {
    run("tc", arguments);
}
