//! A LAN with its own manager, as the back-end of a domain: it conforms, tells what that manager says, and leaves nothing there.
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use control::tunnels::{Packets, TunnelState, TunnelWish, TunnelsWanted};
use wan::{
    Addresses, AggregateId, Asking, Asn, BackendAnswer, BackendCommand, Class, Demand, Direction, FlowKind,
    FlowRequest, Holding, LegId, LinkId, Place, SessionId, TSpec, TunnelId,
};
use wan_server::conformance::{Course, conforms};
use wan_server::{Backend, BorderStation, EdgeStation, Lan, LanPlan, Service, prefix};

use crate::simulated_lan::{Door, Simulated};

const OWNER: u32 = 65_003;
const SECOND: Duration = Duration::from_secs(1);
const LIFETIME: Duration = Duration::from_secs(7);
const MS: u64 = 1_000_000;
const EDGES: Place = Place::Edges;

const fn border(link: u32) -> Place {
    Place::Border(LinkId(link))
}

fn service(limit: u64) -> Service {
    Service { rate: 4_000_000, burst: 40_000, least_packet: 100, largest_packet: 1_000, limit }
}

fn plan() -> LanPlan {
    let router = |link: u32, station: &str| BorderStation {
        link: LinkId(link),
        station: station.to_owned(),
        processing: MS,
    };
    let host = |station: &str, last: u8| EdgeStation {
        station: station.to_owned(),
        addresses: vec![prefix(&format!("10.3.0.{last}")).unwrap()],
    };
    LanPlan {
        owner: OWNER,
        manager: "127.0.0.1:8080".parse().unwrap(),
        keys: None,
        lifetime: u64::try_from(LIFETIME.as_nanos()).unwrap(),
        importance: 5,
        jitter: MS,
        services: BTreeMap::from([(Class::Ef, service(40 * MS)), (Class::Af4, service(40 * MS))]),
        borders: vec![router(1, "north"), router(2, "south"), router(3, "north")],
        edges: vec![host("display", 3), host("camera", 4)],
    }
}

struct Stage {
    simulated: Arc<Mutex<Simulated>>,
    lan: Lan,
}

impl Stage {
    fn new() -> Self {
        Self::of(plan(), Arc::new(Mutex::new(Simulated::new())))
    }

    fn of(plan: LanPlan, simulated: Arc<Mutex<Simulated>>) -> Self {
        let clock = Arc::clone(&simulated);
        let clock = Box::new(move || clock.lock().unwrap().now);
        let lan = Lan::new(plan, Box::new(Door(Arc::clone(&simulated))), clock, |_| {});
        Self { simulated, lan }
    }

    fn world<T>(&self, what: impl FnOnce(&mut Simulated) -> T) -> T {
        what(&mut self.simulated.lock().unwrap())
    }

    fn one(&mut self, command: BackendCommand) -> BackendAnswer {
        let mut answers = self.lan.execute(vec![command]);
        assert_eq!(answers.len(), 1, "{answers:?}");
        answers.remove(0)
    }

    /// A second passes, and the manager is asked again.
    fn second(&mut self) -> Vec<BackendAnswer> {
        self.world(|world| world.pass(SECOND));
        self.lan.again()
    }

    fn reserve(&mut self, number: u64, from: Place, to: Place, rate: u64) -> BackendAnswer {
        let demand = Demand {
            from,
            to,
            class: Class::Ef,
            rate,
            burst: 2_000,
            least_packet: 1_000,
            largest_packet: 1_000,
        };
        self.one(BackendCommand::Reserve { ticket: 1, aggregate: aggregate(number), demand })
    }

    fn open(&mut self, number: u64, into: u64, port: u16) -> BackendAnswer {
        let desired =
            TSpec { rate: 500_000, bucket: 1_000, peak: 500_000, least_unit: 1_000, largest_packet: 1_000 };
        let flow = FlowRequest {
            kind: FlowKind::Data,
            direction: Direction::Forward,
            protocol: 17,
            source_port: 0,
            destination_port: port,
            class: Class::Ef,
            desired,
            least_rate: 1,
            most_loss: wan::ANY_LOSS,
            limit: 1,
            copies: 1,
            asking: Asking::HopByHop,
        };
        let addresses = Addresses { sources: vec![ip("10.3.0.3")], destinations: vec![ip("10.1.0.5")] };
        self.one(BackendCommand::Open {
            ticket: 2,
            leg: leg(number),
            aggregate: aggregate(into),
            flow,
            addresses,
        })
    }

    fn release(&mut self, holding: Holding) -> Vec<BackendAnswer> {
        self.lan.execute(vec![BackendCommand::Release { ticket: 3, holding }])
    }

    fn admitted(&self) -> usize {
        let all = self.world(|world| world.tunnels(OWNER));
        all.iter().filter(|status| status.state == TunnelState::Admitted).count()
    }
}

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn aggregate(number: u64) -> AggregateId {
    AggregateId { tunnel: TunnelId { origin: Asn(65_001), number }, class: Class::Ef }
}

fn leg(number: u64) -> LegId {
    LegId { session: SessionId { origin: Asn(65_003), number }, flow: 0, peer: Asn(65_001) }
}

fn is_reserved(answer: &BackendAnswer) -> bool {
    matches!(answer, BackendAnswer::Reserved { .. })
}

#[test]
fn a_lan_under_a_manager_conforms_and_nothing_is_left_there() {
    for (from, to, addresses, has_edges) in [
        (EDGES, border(1), ["10.3.0.3", "10.1.0.5"], true),
        (EDGES, EDGES, ["10.3.0.3", "10.3.0.4"], true),
        (border(1), EDGES, ["10.1.0.5", "10.3.0.3"], false),
        (border(1), border(2), ["10.1.0.5", "10.2.0.5"], false),
        (border(1), border(3), ["10.1.0.5", "10.2.0.5"], false),
    ] {
        for class in [Class::Ef, Class::Af4] {
            for packet in [100, 1_000] {
                let mut stage = Stage::new();
                let addresses = addresses.map(ip);
                let course = Course { addresses, has_edges, ..Course::new(from, to, class, packet) };
                assert_eq!(conforms(&mut stage.lan, course), Ok(()), "{course:?}");
                assert!(stage.world(|world| world.tunnels(OWNER).is_empty()), "{course:?}");
                stage.world(|world| world.pass(SECOND));
                assert_eq!(stage.world(|world| world.left()), (0, 0), "{course:?}");
            }
        }
    }
}

#[test]
fn what_comes_in_has_a_tunnel_to_each_host_and_what_hosts_send_one_for_each_flow() {
    let mut stage = Stage::new();
    let in_budget = stage.reserve(1, border(1), EDGES, 1_000_000);
    assert_eq!(in_budget, BackendAnswer::Reserved { ticket: 1, delay: 41 * MS, jitter: 41 * MS, loss: 0 });
    assert_eq!(stage.admitted(), 2);
    // A second aggregate goes through the same ones, also one of another link at the same router.
    assert!(is_reserved(&stage.reserve(2, border(1), EDGES, 1_000_000)));
    assert!(is_reserved(&stage.reserve(3, border(3), EDGES, 1_000_000)));
    assert_eq!(stage.admitted(), 2);
    let full = stage.reserve(4, border(3), EDGES, 1_000_001);
    assert_eq!(full, BackendAnswer::Refused { ticket: 1, missing: 1, offer: 1_000_000 });
    assert!(is_reserved(&stage.reserve(5, EDGES, border(2), 1_000_000)));
    assert_eq!(stage.admitted(), 2, "nothing is let in yet");
    assert_eq!(stage.open(1, 5, 7_400), BackendAnswer::Done { ticket: 2 });
    assert_eq!(stage.open(2, 5, 7_401), BackendAnswer::Done { ticket: 2 });
    assert_eq!(stage.admitted(), 4);
    let BackendAnswer::Failed { fault, .. } = stage.open(3, 5, 7_401) else { panic!() };
    assert!(fault.what.as_str().contains("another flow"), "{fault:?}");
    for bound in stage.world(|world| world.tunnels(OWNER)) {
        assert!(bound.bound <= 40 * MS, "{bound:?}");
    }
    stage.release(Holding::Flow(leg(1)));
    assert_eq!(stage.admitted(), 3);
    for number in [1, 2] {
        assert_eq!(stage.release(Holding::Aggregate(aggregate(number))), [BackendAnswer::Done { ticket: 3 }]);
        assert_eq!(stage.admitted(), 3, "another one goes there still");
    }
    stage.release(Holding::Aggregate(aggregate(3)));
    stage.release(Holding::Aggregate(aggregate(5)));
    stage.world(|world| world.pass(SECOND));
    assert_eq!((stage.admitted(), stage.world(|world| world.left())), (0, (0, 0)));
}

#[test]
fn what_the_manager_of_the_lan_refuses_is_told_with_its_reason_and_takes_nothing() {
    let mut hasty = plan();
    hasty.services.insert(Class::Ef, service(100_000));
    let mut stage = Stage::of(hasty, Arc::new(Mutex::new(Simulated::new())));
    let BackendAnswer::Failed { fault, .. } = stage.reserve(1, border(1), EDGES, 1_000_000) else { panic!() };
    assert!(fault.device.as_str().starts_with("LAN from north to "), "{fault:?}");
    assert!(
        fault.what.as_str().contains("north to s1") || fault.what.as_str().contains("s1 to s2"),
        "{fault:?}"
    );
    assert!(fault.what.as_str().contains("can be had"), "{fault:?}");
    assert!(stage.world(|world| world.tunnels(OWNER).is_empty()));
    assert_eq!(
        stage.one(BackendCommand::Observe { ticket: 9 }),
        BackendAnswer::Observed { ticket: 9, holdings: vec![] }
    );
    // A flow of a host as well.
    assert!(is_reserved(&stage.reserve(2, EDGES, border(1), 1_000_000)));
    let BackendAnswer::Failed { fault, .. } = stage.open(1, 2, 7_400) else { panic!() };
    assert!(fault.device.as_str() == "LAN from display to north", "{fault:?}");
    assert!(stage.world(|world| world.tunnels(OWNER).is_empty()));
}

#[test]
fn a_manager_of_the_lan_that_is_away_takes_nothing_and_lets_nothing_new_in() {
    let mut stage = Stage::new();
    assert!(is_reserved(&stage.reserve(1, border(1), EDGES, 1_000_000)));
    assert!(is_reserved(&stage.reserve(2, border(2), EDGES, 1_000_000)));
    let before = stage.world(|world| world.left());
    stage.world(Simulated::kill);
    for _ in 0..20 {
        assert_eq!(stage.second(), [], "rules stand while it is away");
    }
    let BackendAnswer::Failed { fault, .. } = stage.reserve(3, border(1), border(2), 1_000_000) else {
        panic!()
    };
    assert!(fault.device.as_str().contains("manager of the LAN"), "{fault:?}");
    assert_eq!(stage.release(Holding::Aggregate(aggregate(2))), [], "it is not done yet");
    stage.world(Simulated::start);
    assert_eq!(stage.second(), [BackendAnswer::Done { ticket: 3 }]);
    for _ in 0..20 {
        assert_eq!(stage.second(), []);
    }
    assert_eq!(stage.admitted(), 2);
    let (rules, grants) = stage.world(|world| world.left());
    assert_eq!((rules * 2, grants * 2), before, "half of it is left");
}

#[test]
fn what_the_lan_takes_away_is_told_once() {
    let mut stage = Stage::new();
    assert!(is_reserved(&stage.reserve(1, border(1), EDGES, 1_000_000)));
    assert!(is_reserved(&stage.reserve(2, EDGES, border(1), 1_000_000)));
    assert_eq!(stage.open(1, 2, 7_400), BackendAnswer::Done { ticket: 2 });
    // So much that nothing else has a place on the link of the router.
    let greedy = TunnelWish {
        id: "aa".into(),
        from: "north".into(),
        to: "camera".into(),
        packets: Packets::Codepoint(10),
        rate: 395_000_000,
        burst: 10_000,
        least_packet: 1_000,
        largest_packet: 1_000,
        jitter: 0,
        limit: 40 * MS,
        importance: 9,
    };
    let wanted = TunnelsWanted { lifetime: 3_600_000_000_000, keep_others: false, tunnels: vec![greedy] };
    stage.world(|world| world.hold(1, &wanted)).unwrap();
    let mut told = Vec::new();
    for _ in 0..10 {
        told.extend(stage.second());
    }
    let [BackendAnswer::Lost { holding, fault }] = &told[..] else { panic!("{told:?}") };
    assert_eq!(*holding, Holding::Aggregate(aggregate(1)));
    assert!(
        fault.device.as_str().starts_with("LAN from north to ") && !fault.what.as_str().is_empty(),
        "{fault:?}"
    );
    assert_eq!(stage.release(*holding), [BackendAnswer::Done { ticket: 3 }]);
    assert_eq!(stage.admitted(), 1, "the flow of the host stays");
}

#[test]
fn the_next_manager_of_the_domain_takes_up_what_there_is_and_leaves_the_rest_to_end() {
    let mut stage = Stage::new();
    assert!(is_reserved(&stage.reserve(1, border(1), EDGES, 1_000_000)));
    assert!(is_reserved(&stage.reserve(2, EDGES, border(1), 1_000_000)));
    for (number, port) in [(1, 7_400), (2, 7_401)] {
        assert_eq!(stage.open(number, 2, port), BackendAnswer::Done { ticket: 2 });
    }
    let grants = |stage: &Stage| -> Vec<u64> {
        stage.world(|world| world.tunnels(OWNER)).iter().map(|status| status.grant).collect()
    };
    let before = grants(&stage);
    let Stage { simulated, lan } = stage;
    drop(lan);
    simulated.lock().unwrap().pass(2 * SECOND);
    let mut stage = Stage::of(plan(), simulated);
    assert_eq!(grants(&stage), before, "a start takes nothing away");
    // One after the other is asked for again, and none goes meanwhile.
    assert!(is_reserved(&stage.reserve(2, EDGES, border(1), 1_000_000)));
    assert_eq!(grants(&stage), before);
    assert_eq!(stage.open(1, 2, 7_400), BackendAnswer::Done { ticket: 2 });
    assert!(is_reserved(&stage.reserve(1, border(1), EDGES, 1_000_000)));
    assert_eq!(grants(&stage), before, "they are the same grants");
    for _ in 0..9 {
        assert_eq!(stage.second(), []);
    }
    assert_eq!(stage.admitted(), 3, "the flow that nobody has asked for is gone");
    // One that does not come back leaves nothing for longer than a lifetime.
    let Stage { simulated, lan } = stage;
    drop(lan);
    let mut simulated = simulated.lock().unwrap();
    simulated.pass(LIFETIME + SECOND);
    assert_eq!((simulated.tunnels(OWNER).len(), simulated.left()), (0, (0, 0)));
}
