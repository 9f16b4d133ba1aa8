//! The file of the manager of a domain of a lab: what an operator would write about the routers that the lab has built, the agreements with its
//! neighbours, and who may ask for what. Domains are in a line, in the order of the file of the lab.
use std::fmt::Write as _;
use std::net::SocketAddr;

use lab::wan::{WanFile, WanLayout};
use linux_edge::budget::{allowed, border};
use linux_edge::domain::{Ceiling, Domain};
use wan::{Class, LinkId, Prefix};

/// Names in the file.
pub(crate) const USER: &str = "ann";
pub(crate) const SERVICE: &str = "alarms";
/// Classes in which sessions reserve.
const CLASSES: [(Class, &str); 3] = [(Class::Ef, "ef"), (Class::Af4, "af4"), (Class::Af1, "af1")];
/// What is no limit of these files.
const PLENTY: &str = "10 Gbit/s";

/// A line of the domains of a lab, and where their managers listen.
pub(crate) struct Line<'l> {
    pub(crate) file: &'l WanFile,
    pub(crate) layout: &'l WanLayout,
    pub(crate) managers: &'l [SocketAddr],
}

/// Writes lines to a text, which cannot fail.
macro_rules! line {
    ($out:ident, $($words:tt)*) => { let _ = writeln!($out, $($words)*); };
}

impl Line<'_> {
    /// The text of the file of a domain, by its place in the line.
    pub(crate) fn text(&self, at: usize) -> String {
        let mut out = String::new();
        let Some(own) = self.layout.domains.get(at) else { return out };
        let asns: Vec<u32> = self.layout.domains.iter().map(|domain| domain.asn.0).collect();
        if let Some(listen) = self.managers.get(at) {
            line!(out, "asn = {}\nlisten = \"{listen}\"", own.asn.0);
        }
        for (other, (asn, manager)) in asns.iter().zip(self.managers).enumerate() {
            let prefixes = quoted(&prefixes(other));
            line!(out, "\n[[domain]]\nasn = {asn}\nprefixes = [{prefixes}]");
            if other != at {
                line!(out, "manager = \"{manager}\"");
            }
        }
        for link in &self.file.links {
            let places = link.between.map(|asn| asns.iter().position(|other| *other == asn));
            let [Some(one), Some(other)] = places else { continue };
            for (from, to) in [(one, other), (other, one)] {
                if from == at || to == at {
                    self.agreement(&mut out, link.number, from, to, &asns);
                }
            }
        }
        for (other, _) in asns.iter().enumerate().filter(|(other, _)| *other != at) {
            let way: Vec<usize> =
                if other > at { (at + 1..=other).collect() } else { (other..at).rev().collect() };
            let domains: Vec<String> =
                way.iter().filter_map(|at| asns.get(*at).map(u32::to_string)).collect();
            line!(out, "\n[[path]]\ndomains = [{}]", domains.join(", "));
            for (class, name) in classes(own) {
                let delays = way.iter().map(|at| self.through(*at, class));
                line!(out, "{name} = [{}]", quoted(&delays.collect::<Vec<_>>()));
            }
        }
        let others: Vec<String> = asns.iter().map(u32::to_string).collect();
        let (others, names) = (others.join(", "), classes(own).map(|(_, name)| name.to_owned()));
        let names = quoted(&names.collect::<Vec<_>>());
        line!(
            out,
            "\n[[user]]\nname = \"{USER}\"\nid = 1\nclasses = [{names}]\ndestinations = [{others}]\nquota = \"{PLENTY}\"\n\
             most-sessions = 5000\n\n\
             [[network-service]]\nname = \"gold\"\nid = 1\ndestinations = [{others}]\nbandwidth = \"{PLENTY}\"\n\n\
             [[session-service]]\nname = \"{SERVICE}\"\nid = 1\nnetwork-service = \"gold\"\nclasses = [{names}]\nmost-rate = \"{PLENTY}\"\n"
        );
        for prefix in prefixes(at) {
            line!(out, "[[callee]]\nprefix = \"{prefix}\"");
            for (_, name) in classes(own) {
                line!(out, "{name} = \"{PLENTY}\"");
            }
        }
        line!(
            out,
            "\n[limits]\nrefresh = \"2 s\"\nlifetime = \"30 s\"\nguard = \"3 s\"\npatience = \"10 s\"\n"
        );
        self.inside(&mut out, at, own);
        out
    }

    /// What a domain takes from another one over a link, and where to: all that lies behind.
    fn agreement(&self, out: &mut String, link: u32, from: usize, to: usize, asns: &[u32]) {
        let behind = |other: usize| if to > from { other >= to } else { other <= to };
        let reached = asns.iter().enumerate().filter(|(other, _)| behind(*other));
        let destinations: Vec<String> = reached.map(|(_, asn)| asn.to_string()).collect();
        let [Some(sender), Some(taker)] = [from, to].map(|at| self.layout.domains.get(at)) else { return };
        line!(
            out,
            "\n[[agreement]]\nfrom = {}\nto = {}\nlink = {link}\ndestinations = [{}]",
            sender.asn.0,
            taker.asn.0,
            destinations.join(", ")
        );
        for (class, name) in classes(sender) {
            let port = sender.border(LinkId(link)).zip(sender.ceilings.get(&class));
            let Some((budget, (port, ceiling))) = border(sender, LinkId(link), class).zip(port) else {
                continue;
            };
            let (rate, burst) = allowed(&port.wire, ceiling);
            line!(
                out,
                "{name} = {{ rate = \"{rate} bit/s\", burst = \"{burst} B\", delay = \"{} ns\", jitter = \"{} ns\" }}",
                budget.delay,
                budget.jitter
            );
        }
    }

    /// What a domain says that a class needs through it: a guess, by which paths are ordered. What is promised is reserved.
    fn through(&self, at: usize, class: Class) -> String {
        let Some(domain) = self.layout.domains.get(at) else { return "1 ms".to_owned() };
        let borders = domain.borders.iter().filter_map(|of| border(domain, of.link, class));
        let longest = borders.map(|budget| budget.delay).max().unwrap_or(0);
        format!("{} ns", longest.saturating_add(domain.processing))
    }

    /// The routers of the domain.
    fn inside(&self, out: &mut String, at: usize, own: &Domain) {
        // A machine that stands still for some keep-alives would cut a link in the middle of a figure.
        line!(out, "[linux]\nprocessing = \"{} ns\"\nkeep-alive = \"0 s\"", own.processing);
        for (class, name) in [(Class::Control, "control")].into_iter().chain(CLASSES) {
            if let Some(Ceiling { share, burst }) = own.ceilings.get(&class) {
                line!(
                    out,
                    "{name} = {{ share = \"{}.{} %\", burst = \"{burst} B\" }}",
                    share / 10,
                    share % 10
                );
            }
        }
        let namespaces = self.layout.routers.get(at).map(Vec::as_slice).unwrap_or_default();
        for (router, namespace) in own.routers.iter().zip(namespaces) {
            line!(
                out,
                "\n[[linux.router]]\nname = \"{}\"\naddress = \"{}\"\nnamespace = \"{namespace}\"",
                router.name,
                router.address
            );
        }
        let router = |at: usize| own.routers.get(at).map(|router| router.name.as_str()).unwrap_or_default();
        for edge in &own.edges {
            let addresses: Vec<String> = edge.addresses.iter().map(text).collect();
            line!(
                out,
                "\n[[linux.edge]]\nrouter = \"{}\"\ninterface = \"{}\"\naddresses = [{}]\nrate = \"{} bit/s\"\nmtu = {}\nbursts = {}",
                router(edge.router),
                edge.interface,
                quoted(&addresses),
                edge.wire.rate,
                edge.wire.mtu,
                edge.wire.bursts
            );
        }
        for border in &own.borders {
            let beyond: Vec<String> = border.beyond.iter().map(text).collect();
            line!(
                out,
                "\n[[linux.border]]\nlink = {}\nrouter = \"{}\"\ninterface = \"{}\"\naddress = \"{}\"\nneighbour = \"{}\"",
                border.link.0,
                router(border.end.router),
                border.end.interface,
                border.end.address,
                border.neighbour
            );
            line!(
                out,
                "locator = \"{}\"\nneighbour-locator = \"{}\"\nbeyond = [{}]\nrate = \"{} bit/s\"\npropagation = \"{} ns\"\nmtu = {}",
                border.locator,
                border.neighbour_locator,
                quoted(&beyond),
                border.wire.rate,
                border.wire.propagation,
                border.wire.mtu
            );
        }
    }
}

/// The classes that a domain carries for sessions.
fn classes(domain: &Domain) -> impl Iterator<Item = (Class, &'static str)> {
    CLASSES.into_iter().filter(|(class, _)| domain.ceilings.contains_key(class))
}

/// The addresses of the hosts of a domain, as labs give them.
fn prefixes(at: usize) -> [String; 2] {
    [format!("10.{}.0.0/16", at + 1), format!("fd10:{:x}::/32", at + 1)]
}

fn text(prefix: &Prefix) -> String {
    format!("{}/{}", prefix.address, prefix.length)
}

fn quoted(texts: &[String]) -> String {
    let texts: Vec<String> = texts.iter().map(|text| format!("\"{text}\"")).collect();
    texts.join(", ")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use wan_server::{DomainFile, Within};

    use super::*;

    #[test]
    fn managers_read_the_files_and_find_the_routers_of_the_lab() {
        let text = crate::velox::site::Sites::line(3, 5_000_000).text();
        let file = WanFile::read("lab", &text).unwrap();
        let layout = WanLayout::new(&file, "test").unwrap();
        let managers: Vec<SocketAddr> =
            (1..=3).map(|at| SocketAddr::from(([127, 0, 0, at], 7_411))).collect();
        let line = Line { file: &file, layout: &layout, managers: &managers };
        for (at, domain) in layout.domains.iter().enumerate() {
            let text = line.text(at);
            let read =
                DomainFile::read("domain", &text).unwrap_or_else(|problem| panic!("{problem}\n{text}"));
            let Within::Linux(routers) = read.inside else { panic!("{text}") };
            assert_eq!(routers.keep_alive, 0);
            assert_eq!(linux_edge::setup::mark(&routers.domain), linux_edge::setup::mark(domain));
            assert_eq!(routers.domain.borders, domain.borders);
            assert_eq!(routers.domain.ceilings, domain.ceilings);
        }
    }
}
