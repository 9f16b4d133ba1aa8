//! What managers would tell the back-ends of a line of domains to carry one flow.
use std::net::IpAddr;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lab::wan::{WanFile, WanLab};
use linux_edge::budget::border;
use linux_edge::domain::Domain;
use linux_edge::execute::Running;
use wan::{
    Addresses, AggregateId, Asking, Asn, BackendAnswer, BackendCommand, Class, Demand, Direction, FlowKind,
    FlowRequest, Holding, LegId, LinkId, Place, SessionId, TSpec, TunnelId,
};

static ONE: Mutex<()> = Mutex::new(());

/// A line of domains with a link of this rate from each to the next; every other one has two routers. The first has the hosts `a` and `flood`, the last `c`.
pub(crate) fn line(domains: u32, rate: &str) -> String {
    let mut text =
        "ceilings = { control = { share = \"5 %\", burst = 1000 }, ef = { share = \"60 %\", burst = 6000 }, \
                    af4 = { share = \"20 %\", burst = 20000 } }\n"
            .to_owned();
    for domain in 1..=domains {
        let hosts = match domain {
            1 => "\"a\", \"flood\"",
            _ if domain == domains => "\"c\"",
            _ => "",
        };
        let (asn, routers) = (65_000 + domain, 1 + domain % 2);
        text += &format!("[[domain]]\nasn = {asn}\nhosts = [{hosts}]\nrouters = {routers}\n");
    }
    for link in 1..domains {
        let (one, other) = (65_000 + link, 65_001 + link);
        text += &format!("[[link]]\nnumber = {link}\nbetween = [{one}, {other}]\nrate = \"{rate}\"\n");
    }
    text
}

/// The turn of a test, and its lab; `None` if none can be built here.
pub(crate) fn up(text: &str) -> Option<(MutexGuard<'static, ()>, WanLab)> {
    let turn = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Err(error) = lab::check_rights() {
        assert!(std::env::var_os("CI").is_none(), "{error}");
        eprintln!("passed over: {error}");
        return None;
    }
    let file = WanFile::read("test.toml", text).unwrap();
    Some((turn, WanLab::up(&file, &lab_turn::name(), &Arc::new(AtomicBool::new(false))).unwrap()))
}

/// The back-end of a domain: of routers or of switches.
pub(crate) trait Carries {
    fn told(&mut self, command: BackendCommand) -> Option<BackendAnswer>;
    fn domain(&self) -> &Domain;
}

impl Carries for Running {
    fn told(&mut self, command: BackendCommand) -> Option<BackendAnswer> {
        self.handle(command).unwrap()
    }

    fn domain(&self) -> &Domain {
        self.edge().domain()
    }
}

impl Carries for ovs_edge::execute::Running {
    fn told(&mut self, command: BackendCommand) -> Option<BackendAnswer> {
        self.handle(command).unwrap()
    }

    fn domain(&self) -> &Domain {
        &self.edge().domain().plan
    }
}

/// One flow from the first domain to the last.
pub(crate) struct Session {
    pub(crate) number: u64,
    pub(crate) class: Class,
    pub(crate) traffic: TSpec,
    pub(crate) addresses: Addresses,
    pub(crate) port: u16,
}

impl Session {
    fn aggregate(&self) -> AggregateId {
        AggregateId { tunnel: TunnelId { origin: Asn(65_001), number: self.number }, class: self.class }
    }

    fn leg(&self) -> LegId {
        LegId { session: SessionId { origin: Asn(65_001), number: self.number }, flow: 0, peer: Asn(65_999) }
    }

    fn places(at: usize, count: usize) -> (Place, Place) {
        let link = |number: usize| Place::Border(LinkId(u32::try_from(number).unwrap()));
        let from = if at == 0 { Place::Edges } else { link(at) };
        let to = if at + 1 == count { Place::Edges } else { link(at + 1) };
        (from, to)
    }

    /// Reserves it in all domains and lets it in; nanoseconds from edge to edge at most.
    pub(crate) fn open(&self, backends: &mut [impl Carries]) -> u64 {
        let count = backends.len();
        let (mut delay, mut jitter) = (0, 0);
        for (at, backend) in backends.iter_mut().enumerate() {
            let (from, to) = Self::places(at, count);
            let TSpec { rate, least_unit, largest_packet, .. } = self.traffic;
            let burst = self.traffic.burst_after(jitter);
            let demand =
                Demand { from, to, class: self.class, rate, burst, least_packet: least_unit, largest_packet };
            let command = BackendCommand::Reserve { ticket: 1, aggregate: self.aggregate(), demand };
            let Some(BackendAnswer::Reserved { delay: own, jitter: varies, .. }) = backend.told(command)
            else {
                panic!("domain {at} refuses {demand:?}");
            };
            delay += own;
            jitter += varies;
            if let Place::Border(link) = to {
                let link = border(backend.domain(), link, self.class).unwrap();
                delay += link.delay;
                jitter += link.jitter;
            }
        }
        let label = |at: usize| u32::try_from(self.number).unwrap() * 100 + u32::try_from(at).unwrap();
        for (at, backend) in backends.iter_mut().enumerate().rev() {
            let label_in = (at > 0).then(|| label(at));
            let label_out = (at + 1 < count).then(|| label(at + 1));
            backend.told(BackendCommand::Commit { aggregate: self.aggregate(), label_in, label_out });
        }
        let flow = FlowRequest {
            kind: FlowKind::Data,
            direction: Direction::Forward,
            protocol: 17,
            source_port: self.port,
            destination_port: self.port,
            class: self.class,
            desired: self.traffic,
            least_rate: 1,
            most_loss: wan::ANY_LOSS,
            limit: u64::MAX,
            copies: 1,
            asking: Asking::HopByHop,
        };
        let (leg, aggregate, addresses) = (self.leg(), self.aggregate(), self.addresses.clone());
        let command = BackendCommand::Open { ticket: 2, leg, aggregate, flow, addresses };
        assert_eq!(backends[0].told(command), Some(BackendAnswer::Done { ticket: 2 }));
        delay
    }

    /// Shuts and releases it.
    pub(crate) fn close<B: Carries>(&self, backends: &mut [B]) {
        let release = |backend: &mut B, holding: Holding| {
            let done = backend.told(BackendCommand::Release { ticket: 3, holding });
            assert_eq!(done, Some(BackendAnswer::Done { ticket: 3 }));
        };
        release(&mut backends[0], Holding::Flow(self.leg()));
        for backend in backends {
            release(backend, Holding::Aggregate(self.aggregate()));
        }
    }
}

/// What a back-end holds, in order.
pub(crate) fn holdings(backend: &mut impl Carries) -> Vec<Holding> {
    let answer = backend.told(BackendCommand::Observe { ticket: 4 });
    let Some(BackendAnswer::Observed { mut holdings, .. }) = answer else { panic!("{answer:?}") };
    holdings.sort_unstable();
    holdings
}

/// The addresses of two hosts of a lab in one version of IP.
pub(crate) fn between(lab: &WanLab, from: &str, to: &str, four: bool) -> Addresses {
    let of = |name: &str| -> IpAddr {
        let host = lab.record().hosts.iter().find(|host| host.name == name).unwrap();
        *host.addresses.iter().find(|address| address.is_ipv4() == four).unwrap()
    };
    Addresses { sources: vec![of(from)], destinations: vec![of(to)] }
}
