//! What the host does not give: routes, interfaces, buffers.
use super::{About, Finding, Scene};

/// Words of the host's report that mean trouble, and what to do.
const TROUBLE: [(&str, &str); 6] = [
    (
        "datagrams unreachable",
        "There is no route: `ip route` shows those that there are; `ip route add 224.0.0.0/4 dev NAME` makes one for multicast, --peer names hosts.",
    ),
    (
        "the receive buffer was full",
        "Let the system grant larger buffers: `sysctl -w net.core.rmem_max=8388608`.",
    ),
    (
        "not joined",
        "The system refuses the multicast group: see `ip link` for MULTICAST, net.ipv4.igmp_max_memberships, or use --no-multicast --peer.",
    ),
    (
        "datagrams refused for other reasons",
        "The system refuses to send: see the firewall (`nft list ruleset`).",
    ),
    ("the loopback interface is off", "Switch it on: `ip link set lo up`."),
    ("wake-ups refused", "Switch the loopback interface on: `ip link set lo up`."),
];

pub(super) fn findings(scene: &Scene) -> Vec<Finding> {
    let mut findings = Vec::new();
    for line in &scene.host {
        if let Some((_, todo)) = TROUBLE.iter().find(|(words, _)| line.contains(words)) {
            findings.push(Finding::problem(About::Host, format!("this host: {line}"), *todo));
        }
    }
    if let Some(line) = scene.host.iter().find(|line| line.contains("ip_local_reserved_ports")) {
        findings.push(Finding::note(
            About::Host,
            format!("this host: {line}"),
            "Nothing, as long as no port is taken; the line above says how to be sure.",
        ));
    }
    if let Some(line) = scene.host.iter().find(|line| line.starts_with("no shared memory, UDP is used")) {
        findings.push(Finding::note(
            About::Host,
            format!("this host: {line}"),
            "Nothing, if UDP is fast enough between processes of this host, or allow what is refused.",
        ));
    }
    let interfaces =
        || scene.host.iter().filter(|line| line.starts_with("interface ") && !line.contains("not used"));
    let without = interfaces().filter(|line| line.ends_with("no multicast")).count();
    if without > 0 && without == interfaces().count() {
        findings.push(Finding::note(
            About::Host,
            "this host: no interface that is used has multicast: only participants that are named are found",
            "Name hosts with --peer, or switch multicast on: `ip link set NAME multicast on`.",
        ));
    }
    findings
}
