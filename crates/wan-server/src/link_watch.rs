//! Looks at links of routers and switches: the state of their interfaces, as the kernel tells it, and keep-alives, which the other end sends back
//! (`keeper.rs`). A thread for each router does so in its network namespace, before all normal threads.
use std::collections::BTreeMap;
use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::Ipv6Addr;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::thread;
use std::time::Duration;

use linux_edge::budget::control_delay;
use linux_edge::domain::{Domain, End, Wire};
use linux_edge::keep_alive::{News, Settings, Watch};
use nix::ifaddrs::getifaddrs;
use nix::net::if_::{InterfaceFlags, if_nametoindex};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sched::{CloneFlags, setns};
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, socket,
};
use wan::LinkId;

use crate::keeper::{Answers, Keeper};
use crate::running_manager::Clock;

/// Where namespaces have their names.
const NAMESPACES: &str = "/run/netns";
/// Messages of the kernel about interfaces: RTMGRP_LINK of rtnetlink(7).
const LINKS: u32 = 1;
/// From one look to the next at least: no neighbour has the processor for itself.
const PAUSE: Duration = Duration::from_millis(1);
/// What did not work is tried again then.
const AGAIN: Duration = Duration::from_secs(1);
/// A link is looked at before threads of programs run.
const PRIORITY: u8 = 40;
/// What is waited for if nothing is due.
const IDLE: Duration = Duration::from_secs(3_600);

/// The links of a domain that are looked at.
pub(crate) struct Links<'a> {
    pub(crate) domain: &'a Domain,
    /// The network namespace of each router or switch; none for the one that the manager runs in.
    pub(crate) namespaces: Vec<Option<String>>,
    /// Nanoseconds from one keep-alive to the next; 0: they are not looked at.
    pub(crate) keep_alive: u64,
    /// Switches send keep-alives back, and not kernels.
    pub(crate) of_switches: bool,
}

/// A link of a domain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Link {
    /// To a neighbour.
    Border(LinkId),
    /// Between two routers of the domain, by its place.
    Inner(usize),
}

/// What has become of a link.
#[derive(Clone, Debug)]
pub(crate) struct LinkNews {
    pub(crate) link: Link,
    pub(crate) news: News,
    /// At which router and interface that was seen.
    pub(crate) place: String,
    /// Its ends in this domain: routers by their places, and interfaces.
    pub(crate) ends: Vec<(usize, String)>,
}

/// A link that is looked at from one end.
struct Watched {
    link: Link,
    /// Its ends in this domain; it is looked at from the first.
    ends: Vec<(usize, String)>,
    interface: String,
    answers: Answers,
    watch: Watch,
    /// The number of the interface; none while it is down.
    index: Option<u32>,
    socket: Option<Keeper>,
    /// Why there is no socket, and when it is tried again.
    trouble: Option<(u64, String)>,
}

/// All links of a router that are looked at there.
struct Router {
    name: String,
    namespace: Option<String>,
    links: Vec<Watched>,
}

/// Looks at all links until the manager ends.
pub(crate) fn run(
    links: &Links<'_>,
    clock: Clock,
    tell: impl Fn(LinkNews) -> bool + Send + Clone + 'static,
    odd: fn(&str),
) -> io::Result<()> {
    if links.keep_alive == 0 {
        return Ok(());
    }
    for router in of_routers(links, clock.now()) {
        let tell = tell.clone();
        let work = move || {
            let name = router.name.clone();
            if let Err(error) = look(router, clock, tell, odd) {
                odd(&format!("links of {name} are not looked at: {error}"));
            }
        };
        thread::Builder::new().name("links".to_owned()).spawn(work).map(drop)?;
    }
    Ok(())
}

/// Links by the router that looks at them: border links at their end here, inner links at the first of their ends.
fn of_routers(links: &Links<'_>, now: u64) -> Vec<Router> {
    let domain = links.domain;
    let mut found: Vec<Router> = Vec::new();
    for (router, namespace) in domain.routers.iter().zip(&links.namespaces) {
        found.push(Router { name: router.name.clone(), namespace: namespace.clone(), links: Vec::new() });
    }
    let mut add = |link: Link, ends: &[&End], neighbour: Ipv6Addr, wire: &Wire| {
        // The other end's port and router are taken to be as this one's.
        let one_way = control_delay(domain, wire).saturating_add(wire.propagation);
        let watch = Watch::new(now, Settings::new(links.keep_alive, one_way));
        let ends: Vec<(usize, String)> = ends.iter().map(|end| (end.router, end.interface.clone())).collect();
        let Some((router, interface)) = ends.first().cloned() else { return };
        if let Some(of) = found.get_mut(router) {
            let (index, socket, trouble) = (None, None, None);
            let answers = if links.of_switches { Answers::Switch } else { Answers::Kernel(neighbour) };
            of.links.push(Watched { link, ends, interface, answers, watch, index, socket, trouble });
        }
    };
    for border in &domain.borders {
        add(Link::Border(border.link), &[&border.end], border.neighbour, &border.wire);
    }
    for (place, link) in domain.links.iter().enumerate() {
        let [one, other] = &link.ends;
        add(Link::Inner(place), &[one, other], other.address, &link.wire);
    }
    found.retain(|router| !router.links.is_empty());
    found
}

/// Looks at the links of one router, on this thread, which has to end afterwards.
fn look(mut router: Router, clock: Clock, tell: impl Fn(LinkNews) -> bool, odd: fn(&str)) -> io::Result<()> {
    if let Some(namespace) = &router.namespace {
        setns(File::open(format!("{NAMESPACES}/{namespace}"))?, CloneFlags::CLONE_NEWNET)?;
    }
    // Without the right to it, a machine that is busy for longer than three keep-alives is taken for a cut.
    let _ = udp::thread::set_real_time(PRIORITY);
    let kernel = kernel()?;
    let mut secrets = Secrets { state: RandomState::new(), count: 0 };
    let mut is_changed = true;
    let mut trouble = None;
    loop {
        match router.round(&kernel, clock, is_changed, &mut secrets, &tell, odd) {
            Ok(None) => return Ok(()),
            Ok(Some(changed)) => {
                is_changed = changed;
                trouble = None;
                thread::sleep(PAUSE);
            }
            Err(error) => {
                let said = format!("links of {} are not looked at for now: {error}", router.name);
                if trouble.as_ref() != Some(&said) {
                    odd(&said);
                }
                (trouble, is_changed) = (Some(said), true);
                thread::sleep(AGAIN);
            }
        }
    }
}

/// What cannot be guessed.
struct Secrets {
    state: RandomState,
    count: u64,
}

impl Secrets {
    fn next(&mut self) -> u64 {
        self.count = self.count.wrapping_add(1);
        self.state.hash_one(self.count)
    }
}

impl Router {
    /// Looks once, and waits until there is something to look at: whether interfaces have changed; `None` if it is not wanted any more.
    fn round(
        &mut self,
        kernel: &OwnedFd,
        clock: Clock,
        is_changed: bool,
        secrets: &mut Secrets,
        tell: &impl Fn(LinkNews) -> bool,
        odd: fn(&str),
    ) -> io::Result<Option<bool>> {
        let mut news = Vec::new();
        if is_changed {
            let states = interfaces()?;
            for of in &mut self.links {
                let works = states.get(&of.interface).copied().unwrap_or(false);
                news.extend(of.interface(clock.now(), works).into_iter().map(|told| (of.link, told)));
            }
        }
        for of in &mut self.links {
            if !of.has_socket(clock.now(), secrets, odd) {
                continue;
            }
            let now = clock.now();
            of.receive(now);
            let (token, told) = of.watch.tick(now, secrets.next());
            if let Some(token) = token {
                of.send(token);
            }
            if told == Some(News::Silent) {
                // In case it is the socket that hears nothing.
                of.socket = None;
            }
            news.extend(told.map(|told| (of.link, told)));
        }
        for (link, news) in news {
            let ends = self.links.iter().find(|of| of.link == link).map(|of| of.ends.clone());
            let ends = ends.unwrap_or_default();
            let interface = ends.first().map(|(_, interface)| interface.as_str());
            let place = format!("{}, {}", self.name, interface.unwrap_or_default());
            if !tell(LinkNews { link, news, place, ends }) {
                return Ok(None);
            }
        }
        let due = self.links.iter().map(Watched::due).min().unwrap_or(u64::MAX);
        let wait = Duration::from_nanos(due.saturating_sub(clock.now())).min(IDLE);
        wait_for(kernel, &self.links, wait).map(Some)
    }
}

/// Waits for the kernel, answers, or time: whether the kernel has said something of interfaces.
fn wait_for(kernel: &OwnedFd, links: &[Watched], wait: Duration) -> io::Result<bool> {
    let sockets = links.iter().filter_map(|of| of.socket.as_ref()).map(AsFd::as_fd);
    let mut fds: Vec<PollFd<'_>> =
        std::iter::once(kernel.as_fd()).chain(sockets).map(|fd| PollFd::new(fd, PollFlags::POLLIN)).collect();
    // A millisecond later rather than again and again until it is time.
    let timeout = PollTimeout::try_from(wait + Duration::from_millis(1)).unwrap_or(PollTimeout::MAX);
    match poll(&mut fds, timeout) {
        Ok(_) | Err(nix::errno::Errno::EINTR) => {}
        Err(error) => return Err(error.into()),
    }
    let has_said = fds.first().and_then(PollFd::any).unwrap_or(false);
    if has_said {
        // What it says is asked for as a whole. If some of it was lost, that is said as an error, and changes nothing.
        let mut message = [0; 8_192];
        while matches!(recv(kernel.as_raw_fd(), &mut message, MsgFlags::MSG_DONTWAIT), Ok(count) if count > 0)
        {
        }
    }
    Ok(has_said)
}

/// A socket by which the kernel tells that interfaces have changed.
fn kernel() -> io::Result<OwnedFd> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let kernel = socket(AddressFamily::Netlink, SockType::Raw, flags, SockProtocol::NetlinkRoute)?;
    bind(kernel.as_raw_fd(), &NetlinkAddr::new(0, LINKS))?;
    Ok(kernel)
}

/// Which interfaces are up, and have a carrier.
fn interfaces() -> io::Result<BTreeMap<String, bool>> {
    let works = InterfaceFlags::IFF_UP | InterfaceFlags::IFF_RUNNING;
    Ok(getifaddrs()?.map(|of| (of.interface_name, of.flags.contains(works))).collect())
}

impl Watched {
    /// The state of its interface, as the kernel tells it.
    fn interface(&mut self, now: u64, works: bool) -> Vec<News> {
        let index = if works { if_nametoindex(self.interface.as_str()).ok() } else { None };
        let mut news = Vec::new();
        // One that comes again may be another one of the same name, which the socket is not bound to.
        if index != self.index || index.is_none() {
            if self.index.is_some() {
                news.extend(self.watch.interface(now, false));
            }
            (self.index, self.socket, self.trouble) = (index, None, None);
        }
        let told = self.watch.interface(now, index.is_some());
        // It may have been down and up again since the last look, or before the first: then the kernel has forgotten routes all the same.
        news.extend(told.or(index.map(|_| News::Interface)));
        news
    }

    /// Whether it can be looked at: its interface is down, or there is a socket for it. A link that cannot be looked at is as it was before.
    fn has_socket(&mut self, now: u64, secrets: &mut Secrets, odd: fn(&str)) -> bool {
        if self.index.is_none() || self.socket.is_some() {
            return true;
        }
        if self.trouble.as_ref().is_some_and(|(again, _)| now < *again) {
            return false;
        }
        let [_, _, _, _, identity @ ..] = secrets.next().to_be_bytes();
        match Keeper::open(&self.interface, self.answers, identity) {
            Ok(keeper) => {
                (self.socket, self.trouble) = (Some(keeper), None);
                true
            }
            Err(error) => {
                let what = format!("keep-alives cannot be sent at {}: {error}", self.interface);
                if self.trouble.as_ref().is_none_or(|(_, said)| *said != what) {
                    odd(&what);
                }
                let again = now.saturating_add(u64::try_from(AGAIN.as_nanos()).unwrap_or(u64::MAX));
                self.trouble = Some((again, what));
                false
            }
        }
    }

    /// When it has to be looked at.
    fn due(&self) -> u64 {
        match &self.trouble {
            Some((again, _)) => *again,
            // Right after a cut it gets another socket.
            None if self.index.is_some() && self.socket.is_none() => 0,
            None => self.watch.due(),
        }
    }

    fn send(&self, token: u64) {
        if let Some(keeper) = &self.socket {
            keeper.send(token);
        }
    }

    /// What has come.
    fn receive(&mut self, now: u64) {
        if let Some(keeper) = &self.socket {
            keeper.receive(|token| self.watch.received(now, token));
        }
    }
}
