//! Names: every part of a plan that is named exists, and names the parts that it has to.
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;

use super::Checker;
use crate::plan::{
    Container, Lane, LaneDispatch, MOST_MODES, Named, Placement, Restart, RestartPolicy, SchedulingClass,
    Service, ServiceKind,
};
use crate::shape::meant;

impl Checker<'_> {
    pub(super) fn names(&mut self) {
        let plan = self.plan;
        for (name, artefact) in &plan.artefacts {
            let path = format!("artefact.{name}");
            if artefact.location.is_empty() {
                self.wrong(
                    &format!("{path}.location"),
                    "an artefact without a location",
                    "name a path or an address",
                );
            }
            let hex = artefact.digest.as_deref().map(|digest| digest.strip_prefix("sha256:"));
            let is_digest = |hex: &str| hex.len() == 64 && hex.bytes().all(|byte| byte.is_ascii_hexdigit());
            if hex.is_some_and(|hex| !hex.is_some_and(is_digest)) {
                let remedy = "write sha256: and 64 hexadecimal digits, as the command sha256sum prints them";
                self.wrong(&format!("{path}.digest"), "this is no digest", remedy);
            }
        }
        self.processes();
        for (name, container) in &plan.containers {
            self.container(name, container);
        }
        for (name, service) in &plan.services {
            self.service(name, service);
        }
        for (index, other) in plan.depends_on.iter().enumerate() {
            if Some(other) == plan.id.as_ref().or(plan.name.as_ref()) {
                let what = "a plan cannot run before itself";
                self.wrong(
                    &format!("depends-on.{index}"),
                    what,
                    "take it out, or name another plan by its id",
                );
            }
        }
        self.localities();
        if let Some(name) = plan.modes.keys().nth(MOST_MODES) {
            let what = format!("there are {} modes, and {MOST_MODES} are the most", plan.modes.len());
            let remedy = "make several plans: each mode, and each way from one to another, is proved";
            self.wrong(&format!("mode.{name}"), what, remedy);
        }
        for (name, mode) in &plan.modes {
            for (index, component) in mode.components.iter().enumerate() {
                self.needs(
                    &format!("mode.{name}.components.{index}"),
                    "component",
                    component,
                    &plan.components,
                );
            }
        }
        match &plan.start_mode {
            Some(mode) => self.needs("start-mode", "mode", mode, &plan.modes),
            None if !plan.modes.is_empty() => {
                self.wrong(
                    "mode",
                    "there are modes, and none to begin in",
                    "add start-mode = \"NAME\" at the top",
                );
            }
            None => {}
        }
    }

    fn processes(&mut self) {
        let plan = self.plan;
        for (name, process) in &plan.processes {
            let path = format!("process.{name}");
            if let Some(host) = &process.host {
                self.host(&format!("{path}.host"), host);
            }
            if let Some(artefact) = &process.artefact {
                self.needs(&format!("{path}.artefact"), "artefact", artefact, &plan.artefacts);
            }
            self.cores(&format!("{path}.cores"), &process.cores, process.host.as_deref());
            self.restart(&path, process.restart.as_ref());
            let is_path = |group: &String| group.split('/').all(|name| !matches!(name, "" | "." | ".."));
            if process.cgroup.as_ref().is_some_and(|group| !is_path(group) || group.contains(['\n', '\0'])) {
                let what = "no path of a control group";
                let remedy = "write it from the root of control groups on, as in \"punctual/sense\"";
                self.wrong(&format!("{path}.cgroup"), what, remedy);
            }
            for (index, other) in process.depends_on.iter().enumerate() {
                self.needs_process(&format!("{path}.depends-on.{index}"), other);
            }
        }
        let circle = plan.circle_of_processes();
        if let Some(first) = circle.first() {
            let what = format!("no process of these can begin first: {}", circle.join(", then "));
            let remedy = "take one of them out of depends-on of another";
            self.wrong(&format!("process.{first}.depends-on"), what, remedy);
        }
        // All components of a process are where it is.
        let mut hosts: BTreeMap<&str, (&str, &str)> = BTreeMap::new();
        for (name, component) in &plan.components {
            let process = component.process.as_str();
            let own = component.host.as_deref();
            let of_process = plan.processes.get(process).and_then(|process| process.host.as_deref());
            let path = format!("component.{name}");
            if let Some(own) = own {
                self.host(&format!("{path}.host"), own);
                match (of_process, hosts.get(process)) {
                    (Some(host), _) if host != own => self.wrong(
                        &format!("{path}.host"),
                        format!("\"{name}\" is on {own}, and its process \"{process}\" is on {host}"),
                        "take the host out here, or put the component into another process",
                    ),
                    (None, Some((host, other))) if *host != own => self.wrong(
                        &format!("{path}.host"),
                        format!("\"{name}\" is on {own}, and \"{other}\" of the same process \"{process}\" is on {host}"),
                        "a process is on one host: name another process",
                    ),
                    _ => {}
                }
                hosts.entry(process).or_insert((own, name));
            }
            if self.layout.place(component).host.is_none() {
                let remedy = format!("add host = \"NAME\" here or to [process.{process}]");
                self.wrong(&path, format!("it is not said on which host \"{name}\" is"), remedy);
            }
        }
    }

    /// Hosts have to be known if the plan lists them; otherwise the network file does.
    fn host(&mut self, path: &str, host: &str) {
        if !self.plan.hosts.is_empty() {
            self.needs(path, "host", host, &self.plan.hosts);
        }
    }

    fn cores(&mut self, path: &str, cores: &[u16], host: Option<&str>) {
        let known = host.and_then(|host| self.plan.hosts.get(host)).and_then(|host| host.cores);
        for (index, core) in cores.iter().enumerate() {
            let path = format!("{path}.{index}");
            if let (Some(known), Some(host)) = (known, host)
                && *core >= known
            {
                let what = format!("there is no core {core} on {host}");
                self.wrong(&path, what, format!("its cores are 0 to {}", known.saturating_sub(1)));
            }
            if cores.iter().take(index).any(|other| other == core) {
                self.wrong(&path, format!("core {core} is listed twice"), "remove one of both");
            }
        }
    }

    pub(super) fn restart(&mut self, path: &str, restart: Option<&Restart>) {
        let Some(restart) = restart else { return };
        let path = format!("{path}.restart");
        let has_more = restart.limit.is_some() || restart.within.is_some() || restart.delay.is_some();
        if restart.policy == RestartPolicy::Never && has_more {
            self.wrong(&path, "what is never started again has no limits", "leave the other keys out");
        }
        if restart.within.is_some() != restart.limit.is_some() {
            self.wrong(&path, "limit and within belong together", "say how often, and within which time");
        }
    }

    fn container(&mut self, name: &str, container: &Container) {
        let path = format!("container.{name}");
        self.needs_process(&format!("{path}.process"), &container.process);
        let host = self.layout.host_of(&container.process);
        if let Some(lane) = &container.lane {
            self.lane_of(&format!("{path}.lane"), lane, name, &container.lanes);
        }
        for (lane_name, lane) in &container.lanes {
            let path = format!("{path}.lanes.{lane_name}");
            self.cores(&format!("{path}.cores"), &lane.cores, host);
            self.lane(&path, lane);
        }
        for dispatch in [LaneDispatch::Own, LaneDispatch::EarliestDeadline] {
            let mut of_kind = container.lanes.iter().filter(|(_, lane)| lane.dispatch == dispatch);
            if let (Some((first, _)), Some((second, _))) = (of_kind.next(), of_kind.next()) {
                let what = format!(
                    "\"{first}\" has the dispatch {dispatch}, too, and a container has one such lane"
                );
                self.wrong(&format!("{path}.lanes.{second}.dispatch"), what, "give its ports the other lane");
            }
        }
    }

    /// Tells if a container has no such lane.
    pub(super) fn lane_of(&mut self, path: &str, lane: &str, container: &str, lanes: &Named<Lane>) {
        if !lanes.contains_key(lane) {
            let known = lanes.keys().map(String::as_str);
            let remedy = meant(lane, known, format!("add [container.{container}.lanes.{lane}]"));
            self.wrong(path, format!("the container \"{container}\" has no lane \"{lane}\""), remedy);
        }
    }

    fn lane(&mut self, path: &str, lane: &Lane) {
        let is_real_time = matches!(lane.class, SchedulingClass::Fifo | SchedulingClass::RoundRobin);
        if is_real_time != lane.priority.is_some() {
            let what =
                format!("the class {} with{} a priority", lane.class, if is_real_time { "out" } else { "" });
            self.wrong(
                path,
                what,
                "the classes fifo and round-robin have a priority from 1 to 99, others have none",
            );
        }
        if lane.dispatch == LaneDispatch::Own && lane.threads != 1 {
            let remedy = "take threads out: there are as many as ports";
            self.wrong(&format!("{path}.threads"), "each port has one thread of its own", remedy);
        }
        let is_deadline = lane.class == SchedulingClass::Deadline;
        match (lane.runtime, lane.period) {
            (Some(runtime), Some(period)) if is_deadline && runtime <= period && runtime > 0 => {}
            (None, None) if !is_deadline => {}
            _ => self.wrong(
                path,
                format!("runtime and period do not suit the class {}", lane.class),
                "the class deadline has a runtime above 0 and a period that is not shorter; others have neither",
            ),
        }
    }

    fn service(&mut self, name: &str, service: &Service) {
        let path = format!("service.{name}");
        let plan = self.plan;
        if ServiceKind::named(name).is_some() {
            let what = format!("\"{name}\" is a kind of service, and no connection could name this one");
            self.wrong(&path, what, "name it otherwise");
        }
        if plan.components.contains_key(name) {
            let what = format!("a component is called \"{name}\", too");
            self.wrong(&path, what, "components and services have different names");
        }
        let at = format!("{path}.at");
        match (&service.at, service.placement) {
            (Some(component), Placement::Component) => {
                self.needs(&at, "component", component, &plan.components)
            }
            (Some(container), Placement::Container) => {
                self.needs(&at, "container", container, &plan.containers)
            }
            (Some(process), Placement::Server) => self.needs_process(&at, process),
            (None, _) if service.kind == ServiceKind::Dds => {}
            (None, placement) => {
                let who = if placement == Placement::Server { "process" } else { placement.name() };
                self.wrong(&path, format!("it is not said which {who} has it"), "add at = \"NAME\"");
            }
        }
        if service.kind == ServiceKind::Direct {
            let what = "direct is no service: the thread that pushes calls the handlers";
            self.wrong(&format!("{path}.kind"), what, "let the connections say service = \"direct\"");
        }
        let has_gateways = service.ttl.is_some()
            || service.interface.is_some()
            || service.transport.is_some()
            || service.lease.is_some()
            || service.address.is_some()
            || service.loopback.is_some()
            || !service.groups.is_empty()
            || !service.peers.is_empty();
        if has_gateways && service.kind != ServiceKind::Federated {
            let what = format!("a service of the kind {} has no gateways", service.kind);
            let remedy = "peers, transport, address, ttl, lease, groups, interface and loopback are for the kind federated";
            self.wrong(&path, what, remedy);
        }
        if service.groups.len() > crate::gateways::MOST_GROUPS {
            let what = format!("more than {} types have groups", crate::gateways::MOST_GROUPS);
            self.wrong(&format!("{path}.groups"), what, "let several types have one: * is for all others");
        }
        for (event, group) in &service.groups {
            if crate::gateways::group(group).is_none() {
                let what = format!("\"{group}\" is no multicast address");
                self.wrong(
                    &format!("{path}.groups.{event}"),
                    what,
                    "write one such as \"239.255.0.1\" or \"ff05::1\", with a port or without",
                );
            }
        }
        if let Some(address) = &service.address
            && crate::gateways::own_address(address).is_none()
        {
            let remedy =
                "write address and port of the gateway, such as \"192.0.2.1:7390\" or \"[2001:db8::1]:7390\"";
            self.wrong(&format!("{path}.address"), format!("\"{address}\" is no address of a host"), remedy);
        }
        for (index, peer) in service.peers.iter().enumerate() {
            let path = format!("{path}.peers.{index}");
            self.needs(&path, "service", peer, &plan.services);
            if plan.services.get(peer).is_some_and(|peer| peer.kind != ServiceKind::Federated) {
                self.wrong(&path, format!("\"{peer}\" is not federated"), "peers are of the kind federated");
            }
        }
    }
}
