//! Files of domains: each is refused with a place that exists, or its back-end conforms on ways through it.
use control::tunnels::{TunnelState, TunnelStatus, TunnelWish};
use diagnostics::Source;
use linux_edge::LinuxEdge;
use linux_edge::setup::setup;
use ovs_edge::OvsEdge;
use wan::{Class, Place};
use wan_server::conformance::{Course, conforms};
use wan_server::{Declared, DomainFile, Lan, LanManager, Within};

/// Valid files: the examples.
pub(super) fn seeds() -> Vec<Vec<u8>> {
    let files = [
        include_str!("../../../wan-server/examples/wan/west.toml"),
        include_str!("../../../wan-server/examples/wan/transit.toml"),
        include_str!("../../../wan-server/examples/wan/east.toml"),
        include_str!("../../../wan-server/examples/linux/west.toml"),
        include_str!("../../../wan-server/examples/linux/transit.toml"),
        include_str!("../../../wan-server/examples/access/site.toml"),
        include_str!("../../../wan-server/examples/lan/east.toml"),
        include_str!("../../../wan-server/examples/ovs/west.toml"),
        include_str!("../../../wan-server/examples/ovs/transit.toml"),
    ];
    let mut seeds: Vec<Vec<u8>> = files.map(|text| text.as_bytes().to_vec()).into();
    let bgp =
        "\n[bgp]\ncommand = [\"vtysh\", \"--vty_socket\", \"/run/frr\"]\ninterval = \"1 s\"\nef = \"4 ms\"\n";
    seeds.push(format!("{}{bgp}", files[0]).into_bytes());
    seeds
}

/// The manager of a LAN in which everything has room.
struct Agreeable;

impl LanManager for Agreeable {
    fn hold(&mut self, owner: u32, wanted: &[u8]) -> Result<Vec<u8>, String> {
        let wanted = web::tunnels_wanted(wanted)?;
        assert!(owner == 0 || wanted.tunnels.len() <= control::tunnels::MOST_TUNNELS);
        let status = |wish: &TunnelWish| TunnelStatus {
            id: wish.id.clone(),
            state: TunnelState::Admitted,
            reason: String::new(),
            bound: wish.limit,
            offered_limit: 0,
            grant: 1,
        };
        let tunnels: Vec<TunnelStatus> = wanted.tunnels.iter().map(status).collect();
        serde_json::to_vec(&serde_json::json!({ "epoch": 1, "tunnels": tunnels }))
            .map_err(|error| error.to_string())
    }
}

/// A file of a domain.
pub fn domain_file(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let source = Source { file: "file", text: &text };
    let file = match DomainFile::read("file", &text) {
        Ok(file) => file,
        Err(problem) => {
            let (line, column) = problem.place.unwrap_or_default();
            let found = text.split('\n').nth(line.wrapping_sub(1));
            assert!(
                found.is_some_and(|found| (1..=found.chars().count() + 1).contains(&column)),
                "{problem}"
            );
            assert!(!problem.what.is_empty() && source.show(&problem).contains('^'), "{problem}");
            return;
        }
    };
    let inside = match &file.inside {
        Within::Declared(inside) => inside,
        // Whatever a file says that is accepted, there are programs for it, and they are undone.
        Within::Linux(routers) => {
            let edge = LinuxEdge::new(routers.domain.clone());
            assert!(edge.is_ok_and(|edge| edge.holdings().is_empty()), "{text}");
            assert!(
                routers.namespaces.len() == routers.domain.routers.len()
                    && !setup(&routers.domain).is_empty()
            );
            return;
        }
        // Whatever a manager of the LAN says, the back-end answers each command.
        Within::Lan(plan) => {
            let clock = Box::new(std::time::Duration::default);
            let mut lan = Lan::new((**plan).clone(), Box::new(Agreeable), clock, |_| {});
            let borders = file.config.agreements.iter().map(|agreement| Place::Border(agreement.link));
            for (from, to) in
                borders.take(4).flat_map(|border| [(Place::Edges, border), (border, Place::Edges)])
            {
                let Some(service) = plan.services.get(&Class::Ef) else { continue };
                let packet = service.largest_packet;
                let course = Course { has_edges: false, ..Course::new(from, to, Class::Ef, packet) };
                // Where bursts are too small to say anything there is nothing to look at.
                if service.burst >= 8 * u64::from(packet) && service.rate >= 64 {
                    assert_eq!(conforms(&mut lan, course), Ok(()), "{text}");
                }
            }
            return;
        }
        Within::Ovs(switches) => {
            let count = switches.locations.len();
            let is_whole = |edge: OvsEdge| {
                let has_flows = |switch| !edge.wanted(switch).flows.is_empty();
                edge.held().holdings().is_empty() && (0..count).all(has_flows)
            };
            assert!(count == switches.domain.plan.routers.len(), "{text}");
            assert!(OvsEdge::new(switches.domain.clone()).is_ok_and(is_whole), "{text}");
            return;
        }
    };
    let borders = file.config.agreements.iter().map(|agreement| Place::Border(agreement.link));
    let places: Vec<Place> = std::iter::once(Place::Edges).chain(borders).take(4).collect();
    for (from, to) in places.iter().zip(places.iter().skip(1)) {
        let course = Course::new(*from, *to, Class::Ef, 1);
        // Where bursts or rates of the file are too small to say anything, or a class is not carried, there is nothing to look at.
        let terms = inside.links.iter().filter_map(|link| link.terms.get(&Class::Ef));
        let is_roomy = terms.clone().count() == inside.links.len()
            && terms.clone().all(|terms| terms.rate >= 8 && terms.burst > 1_000_000 + terms.rate)
            && terms.clone().map(|terms| terms.jitter).sum::<u64>() < 1_000_000_000;
        if is_roomy && from != to {
            assert_eq!(conforms(&mut Declared::new(inside.clone()), course), Ok(()), "{text}");
        }
    }
}
