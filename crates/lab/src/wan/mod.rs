//! Labs of several domains: each has a plain Linux router in a namespace, hosts, and links to other domains. Routers are set up as
//! `linux_edge` says, so that a resource manager can let flows in.
mod cut;
pub mod file;
pub mod layout;
mod links;
mod open_vswitch;

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use linux_edge::Executor;
use linux_edge::execute::Running;
use system::{Error, check_packages};

pub use cut::{How, cut};
pub use file::WanFile;
pub use layout::WanLayout;
pub use open_vswitch::domain as switches;

use crate::inside::inside;
use crate::lab::reap;
use crate::layout::Host;
use crate::place::{PLACE, Place, Record};
use crate::remove::{down_held, processes};
use crate::tools::{Tools, check_rights};
use file::Devices;
use layout::{border_interface, wire_interface};

/// Programs of these labs beside those of routers.
const PROGRAMS: [(&str, &str); 1] = [("ethtool", "ethtool")];
/// The file that the lab was built from, in its folder.
const FILE: &str = "wan.toml";
/// Frames are what they are on a wire.
const OFFLOADS: &str = "tx off rx off tso off gso off gro off";

/// A lab of domains that works. It is removed when this is dropped, unless it is [kept](WanLab::keep).
#[derive(Debug)]
pub struct WanLab {
    record: Record,
    layout: WanLayout,
    /// The emulator of its links, if they are emulated.
    children: Vec<Child>,
    kept: bool,
}

impl WanLab {
    /// Builds it.
    ///
    /// # Errors
    /// What is missing or went wrong; nothing is left of the lab then.
    pub fn up(file: &WanFile, name: &str, interrupted: &Arc<AtomicBool>) -> Result<Self, Error> {
        let layout = WanLayout::new(file, name)?;
        check_rights()?;
        let programs: Vec<_> = PROGRAMS.into_iter().chain(linux_edge::execute::PROGRAMS).collect();
        check_packages("a lab of domains", &programs, &[])?;
        if file.devices == Devices::OpenVswitch {
            crate::tools::check_programs(false)?;
            check_packages("a lab of switches", &ovs_edge::execute::PROGRAMS, &[])?;
        }
        let mut record = Record::of_domains(name, &layout);
        let place = Place::reserve(&record)?;
        let path = place.path().join(FILE);
        let written = std::fs::write(&path, &file.text).map_err(Error::system(path.display()));
        let mut children = Vec::new();
        let built = written
            .and_then(|()| build(&layout, name, place.path(), interrupted))
            .and_then(|()| links::emulate(&layout, name, place.path(), &mut children))
            .and_then(|()| {
                record.complete = true;
                record.processes = processes(name, &record.namespaces);
                place.write(&record)
            });
        match built {
            Ok(()) => Ok(Self { record, layout, children, kept: false }),
            Err(error) => {
                let removed = down_held(name, place);
                children.iter_mut().for_each(reap);
                Err(match removed {
                    Ok(()) => error,
                    Err(left) => Error::new(
                        format!("{error}\nand not everything could be removed: {left}"),
                        format!("punctual lab down {name}"),
                    ),
                })
            }
        }
    }

    /// What it is made of.
    pub fn layout(&self) -> &WanLayout {
        &self.layout
    }

    /// What is written down about it.
    pub fn record(&self) -> &Record {
        &self.record
    }

    /// The back-end of a domain, by its place in the file.
    ///
    /// # Errors
    /// There is no such domain, or its router does not answer.
    pub fn backend(&self, domain: usize) -> Result<Running, Error> {
        let missing = || Error::new(format!("the lab has no domain {domain}"), "");
        let (of, routers) =
            self.layout.domains.get(domain).zip(self.layout.routers.get(domain)).ok_or_else(missing)?;
        Running::start(of.clone(), executor(routers)).map(|(running, _)| running)
    }

    /// The same of a domain of switches.
    ///
    /// # Errors
    /// There is no such domain, or one of its switches does not answer.
    pub fn switches(&self, domain: usize) -> Result<ovs_edge::execute::Running, Error> {
        let of = open_vswitch::domain(&self.layout, domain);
        let missing = || Error::new(format!("the lab has no domain {domain}"), "");
        let (of, executor) = (of.ok_or_else(missing)?, self.switch_executor(domain));
        let started = ovs_edge::execute::Running::start(of, executor);
        started.map(|(running, _)| running).map_err(|fault| Error::new(format!("{fault:?}"), ""))
    }

    /// What carries programs out at the switches of a domain.
    pub fn switch_executor(&self, domain: usize) -> ovs_edge::execute::Executor {
        let place = Path::new(PLACE).join(&self.record.name);
        ovs_edge::execute::Executor::new(open_vswitch::locations(&place, &self.layout, domain))
    }

    /// Does something on a thread that is on a host: what it opens stays there.
    ///
    /// # Errors
    /// There is no such host.
    pub fn on<T: Send>(&self, host: &str, act: impl FnOnce() -> T + Send) -> Result<T, Error> {
        inside(&self.host(host)?.namespace, || Ok(act()))
    }

    /// A command for a program on a host: it has the network as that host does, and ends with the lab.
    ///
    /// # Errors
    /// There is no such host.
    pub fn command(&self, host: &str, program: impl AsRef<OsStr>) -> Result<Command, Error> {
        Ok(Tools::new(&self.record.name).command_in(&self.host(host)?.namespace, program))
    }

    /// A command for a program beside the hosts, as managers of the domains are: it has the network of the caller, and ends with the lab.
    pub fn command_outside(&self, program: impl AsRef<OsStr>) -> Command {
        Tools::new(&self.record.name).command(program)
    }

    fn host(&self, host: &str) -> Result<&Host, Error> {
        let found = self.record.hosts.iter().find(|other| other.name == host);
        found.ok_or_else(|| Error::new(format!("the lab has no host \"{}\"", host.escape_default()), ""))
    }

    /// Lets the lab stay when this is dropped, and when the process ends.
    pub fn keep(mut self) -> Record {
        self.kept = true;
        self.record.clone()
    }

    /// Removes it now.
    ///
    /// # Errors
    /// Something cannot be removed.
    pub fn down(mut self) -> Result<(), Error> {
        self.kept = true;
        self.remove()
    }

    fn remove(&mut self) -> Result<(), Error> {
        let removed = crate::remove::down(&self.record.name);
        self.children.iter_mut().for_each(reap);
        removed.map(drop)
    }
}

impl Drop for WanLab {
    fn drop(&mut self) {
        if !self.kept
            && let Err(error) = self.remove()
        {
            eprintln!("lab {}: {error}", self.record.name);
        }
    }
}

/// What carries programs out at routers in these namespaces.
fn executor(routers: &[String]) -> Executor {
    Executor::new(routers.iter().cloned().map(Some).collect())
}

fn build(layout: &WanLayout, name: &str, place: &Path, interrupted: &Arc<AtomicBool>) -> Result<(), Error> {
    let go_on = || match interrupted.load(Ordering::Relaxed) {
        true => Err(Error::new("interrupted; nothing is left of the lab", "")),
        false => Ok(()),
    };
    let tools = Tools::new(name);
    let mut lines = String::new();
    // Writing to a text cannot fail.
    for namespace in layout.namespaces() {
        let _ = writeln!(lines, "netns add {namespace}");
    }
    let mut ends: Vec<(&str, String)> = Vec::new();
    for (number, namespaces) in &layout.links {
        let interface = border_interface(*number);
        if layout.emulated.iter().any(|of| of.number == *number) {
            for (side, namespace) in namespaces.iter().enumerate() {
                let (wires, wire) = (&layout.wires, wire_interface(*number, side));
                let _ = writeln!(
                    lines,
                    "link add name {interface} netns {namespace} type veth peer name {wire} netns {wires}"
                );
                ends.push((wires, wire));
            }
            continue;
        }
        let [one, other] = namespaces;
        let _ = writeln!(
            lines,
            "link add name {interface} netns {one} type veth peer name {interface} netns {other}"
        );
    }
    for (domain, routers) in layout.domains.iter().zip(&layout.routers) {
        for link in &domain.links {
            let [one, other] = &link.ends;
            let Some((first, second)) = routers.get(one.router).zip(routers.get(other.router)) else {
                continue;
            };
            let _ = writeln!(
                lines,
                "link add name {} netns {first} type veth peer name {} netns {second}",
                one.interface, other.interface
            );
            ends.push((first, one.interface.clone()));
            ends.push((second, other.interface.clone()));
        }
    }
    for (number, namespaces) in &layout.links {
        ends.extend(namespaces.iter().map(|namespace| (namespace.as_str(), border_interface(*number))));
    }
    for (host, domain, edge) in &layout.hosts {
        let Some(router) = layout.routers.get(*domain).and_then(|routers| routers.first()) else { continue };
        let namespace = &host.namespace;
        let _ = writeln!(
            lines,
            "link add name edge{edge} netns {router} type veth peer name eth0 netns {namespace}"
        );
        ends.push((router, format!("edge{edge}")));
        ends.push((namespace, "eth0".to_owned()));
    }
    tools.batch("ip", None, &lines)?;
    go_on()?;
    if !layout.emulated.is_empty() {
        links::wires(&tools, layout)?;
    }
    for (namespace, interface) in &ends {
        tools.run_in(namespace, &format!("ethtool -K {interface} {OFFLOADS}"))?;
        if *namespace == layout.wires {
            continue;
        }
        // Addresses that are looked for at the link first are of no use for a second or two.
        let settings =
            ["accept_dad", "router_solicitations"].map(|name| format!("net.ipv6.conf.{interface}.{name}=0"));
        tools.run_in(namespace, &format!("sysctl -qw {}", settings.join(" ")))?;
    }
    for (host, domain, edge) in &layout.hosts {
        let gateways = layout.domains.get(*domain).and_then(|domain| domain.edges.get(*edge));
        let gateways = gateways.map(|edge| edge.addresses.as_slice()).unwrap_or_default();
        let mut lines = format!("link set dev lo up\nlink set dev eth0 address {} up\n", host.mac);
        for (address, gateway) in host.addresses.iter().zip(gateways) {
            let (all, nodad) = if address.is_ipv4() { ("0.0.0.0/0", "") } else { ("::/0", " nodad") };
            let _ = writeln!(lines, "addr add {address}/{} dev eth0{nodad}", gateway.length);
            let _ = writeln!(lines, "route add {all} via {}", gateway.address);
        }
        tools.batch("ip", Some(&host.namespace), &lines)?;
    }
    go_on()?;
    for (domain, routers) in layout.domains.iter().zip(&layout.routers) {
        for namespace in routers {
            tools.run(&format!("ip -n {namespace} link set dev lo up"))?;
        }
        if layout.devices == Devices::Linux {
            executor(routers).set_up(domain)?;
        }
        go_on()?;
    }
    if layout.devices == Devices::OpenVswitch {
        for domain in 0..layout.domains.len() {
            open_vswitch::start(&tools, place, layout, domain)?;
            go_on()?;
        }
    }
    Ok(())
}
