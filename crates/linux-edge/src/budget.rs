//! How long a class takes through the domain at most: a bound that holds whatever is admitted later up to the ceilings of the classes.
//!
//! At each port all classes are taken to arrive as much as their ceilings allow, and best effort to be there always. The ledger holds
//! them to that, with the bursts that earlier ports of the domain may make of them; so the delays of ports depend on the description alone.
use latency::bound::level_bound;
use latency::port::{Arrival, Contender, Control, Server};
use latency::units::NANOSECOND;
use wan::{Class, LinkId};

use crate::domain::{AROUND, Ceiling, Domain, LEAST_FRAME, WHOLE, Wire};
use crate::routes::PortId;

/// Nanoseconds by which the kernel's timers may be late before a port falls behind its rate. What ports save for that they may send at once,
/// so frames wait as much longer.
pub const LATE: u64 = 100_000;
/// Bytes of a keep-alive or its answer: headers of IPv6 and ICMPv6, and a token.
pub const KEEP_ALIVE: u64 = 40 + 8 + 8;
/// Bytes that a port saves at least.
const LEAST_SAVED: u64 = 100;

/// How long packets take that arrive, and how many do not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Budget {
    /// Nanoseconds at most.
    pub delay: u64,
    /// Nanoseconds: the most less the least.
    pub jitter: u64,
    /// Packets of a million that accesses lose, at most; queues lose none of what is admitted.
    pub loss: u32,
}

/// Bytes that a port may send at once beside a frame.
pub fn saved(wire: &Wire) -> u64 {
    (wire.served() / 8).saturating_mul(LATE).div_ceil(1_000_000_000).max(LEAST_SAVED)
}

/// The number of a class that is reserved, a bigger one served first.
pub fn level(class: Class) -> Option<u8> {
    match class {
        Class::Ef => Some(2),
        Class::Af4 => Some(1),
        Class::Af1 => Some(0),
        Class::BestEffort | Class::Control => None,
    }
}

/// What a class may send on a wire: bits per second and bytes at once, on the wire.
pub fn allowed(wire: &Wire, ceiling: &Ceiling) -> (u64, u64) {
    let rate = u128::from(wire.served()) * u128::from(ceiling.share) / u128::from(WHOLE);
    (u64::try_from(rate).unwrap_or(u64::MAX), ceiling.burst.saturating_mul(u64::from(wire.bursts)))
}

/// Nanoseconds from the queue of a port to the end of the transmission, at most; `None` without a bound.
///
/// The largest packet of the link may have just begun below each class. That may be one beyond a contract, which is served with best effort: no class waits
/// for more than one of both together.
pub fn port_delay(domain: &Domain, wire: &Wire, class: Class) -> Option<u64> {
    let largest = (u64::from(wire.mtu) + AROUND) * 8;
    let bucket = |class: Class| {
        let (rate, burst) = allowed(wire, domain.ceilings.get(&class)?);
        Some((burst.checked_mul(8)?, rate))
    };
    let mut server = Server::new(wire.served(), largest);
    server.ahead = saved(wire) * 8;
    if let Some((burst, rate)) = bucket(Class::Control) {
        server.control = Some(Control { burst, rate });
        server.control_frame = largest;
    }
    let contender = |class: Class| {
        let (burst, rate) = bucket(class)?;
        let arrival = Arrival::Bucket { burst, rate };
        let (smallest_frame, largest_frame) = (LEAST_FRAME * 8, largest);
        Some(Contender { level: level(class)?, arrival, smallest_frame, largest_frame, ingress: None })
    };
    let contenders: Vec<Contender> =
        [Class::Ef, Class::Af4, Class::Af1].into_iter().filter_map(contender).collect();
    Some(level_bound(&server, &contenders, level(class)?)?.delay.div_ceil(NANOSECOND))
}

/// Nanoseconds that control takes from router to router at most, beside propagation: all that it may send at once waits for a frame of any other class.
pub fn control_delay(domain: &Domain, wire: &Wire) -> u64 {
    let burst = domain.ceilings.get(&Class::Control).map_or(0, |ceiling| allowed(wire, ceiling).1);
    let bytes = u128::from(burst) + u128::from(u64::from(wire.mtu) + AROUND + saved(wire));
    let delay = (bytes * 8 * 1_000_000_000).div_ceil(u128::from(wire.served().max(1)));
    u64::try_from(delay).unwrap_or(u64::MAX).saturating_add(domain.processing)
}

/// Keep-alives of a neighbour each second, and at once, that are answered in the class of control: half of what it may have at the port, the other half
/// being for those of this domain. `None` if that is not one.
pub fn answered(domain: &Domain, wire: &Wire) -> Option<(u64, u64)> {
    const MOST: u64 = 100;
    let (rate, burst) = allowed(wire, domain.ceilings.get(&Class::Control)?);
    let bytes = KEEP_ALIVE + AROUND;
    let (rate, burst) = ((rate / 2 / (bytes * 8)).min(MOST), (burst / 2 / bytes).min(MOST));
    (rate > 0 && burst > 0).then_some((rate, burst))
}

/// The wire of a port.
pub fn wire(domain: &Domain, port: PortId) -> Option<Wire> {
    match port {
        PortId::Core(link, end) => domain.links.get(link).map(|link| link.wire_from(end)),
        PortId::Edge(edge) => domain.edges.get(edge).map(|edge| edge.wire),
        PortId::Border(border) => domain.borders.get(border).map(|border| border.wire),
    }
}

/// What the agreement about a border link may say of a class: the delay of its port and of the way over it, whatever else is admitted up to
/// the ceilings. `None` if there is no such link, or the class has no bound there.
pub fn border(domain: &Domain, link: LinkId, class: Class) -> Option<Budget> {
    let wire = &domain.border(link)?.wire;
    let delay = port_delay(domain, wire, class)?;
    Some(Budget { delay: delay.checked_add(wire.propagation)?, jitter: delay, loss: 0 })
}
