//! The queues of a real host: looked at, made and taken away again; `docs/host.md` says why.
mod facts;
mod kept;
mod neighbours;
mod wanted;

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use network::Network;

use self::facts::{Facts, SYSTEM};
use self::kept::Kept;
use self::neighbours::{Neighbour, Others};
use self::wanted::{Ahead, Have, Wanted};
use crate::command::{BAD_NEWS, DONE, FAILED, WRONG};
use crate::tools::Tools;
use bridge::classes::Scheduler;
use system::Error;
use system::{check_packages, check_rights};

/// Queues if neither the command nor a network file says how many.
const QUEUES: u8 = 8;
/// The rate of a link of which none is known.
const USUAL_RATE: u64 = 1_000_000_000;

/// Gives assured flows queues of their own at an interface of this host.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:\n  \
    punctual host eth0                          what it has, the commands that give flows their queues, and what stands against bounds\n  \
    punctual host eth0 --apply                  makes the queues\n  \
    punctual host ward.toml --host camera       the same for a host of a network file, which is compared with the interface\n  \
    punctual host eth0 --remove                 as it was before\n\n\
    Exit code: 0 the queues are there, or were removed; 1 they are not there; 2 wrong command line or network file;\n\
    3 it could not be done, and nothing is left of it. To change something needs root. See docs/host.md.")]
pub struct HostArguments {
    /// An interface of this host, or a network file (TOML)
    target: String,
    /// Which host of the network file this one is
    #[arg(long, value_name = "NAME")]
    host: Option<String>,
    /// The interface, if the target is a network file that does not give the host's address
    #[arg(long, value_name = "INTERFACE", requires = "host")]
    interface: Option<String>,
    /// How many queues, the lowest for best effort; else as the file says, or 8
    #[arg(long, value_parser = clap::value_parser!(u8).range(2..=8))]
    queues: Option<u8>,
    /// The rate of a link that is slower than its interface, such as "100 Mb/s": then HTB serves the queues at that rate
    #[arg(long, value_parser = network::rate)]
    rate: Option<u64>,
    /// Makes the queues
    #[arg(long, conflicts_with = "remove")]
    apply: bool,
    /// Takes the queues away again
    #[arg(long)]
    remove: bool,
}

/// What a network file says of a host.
struct Planned {
    queues: u8,
    ring: Option<u32>,
    rate: u64,
    others: Others,
}

/// Does what `host` is asked for; the result is the exit code.
pub fn run_host(arguments: &HostArguments, out: &mut dyn Write, told: &mut dyn Write) -> u8 {
    let done = check_packages("this", &[("ip", "iproute2"), ("ethtool", "ethtool")], &[])
        .map_err(|error| (FAILED, error))
        .and_then(|()| run(arguments, out, Path::new(SYSTEM)));
    done.unwrap_or_else(|(code, error)| {
        // If even that cannot be written, the exit code says it.
        let _ = writeln!(told, "punctual: {error}");
        code
    })
}

fn run(arguments: &HostArguments, out: &mut dyn Write, system: &Path) -> Result<u8, (u8, Error)> {
    let tools = Tools::of_host();
    let (interface, planned) = target(arguments, &tools).map_err(|error| (WRONG, error))?;
    let facts = Facts::read(&tools, &interface, system).map_err(|error| (WRONG, error))?;
    let failed = |error: Error| (FAILED, error);
    let kept = Kept::of(&facts);
    if arguments.remove {
        check_rights("this", "queues of an interface are the kernel's").map_err(failed)?;
        let removed = kept.remove(&tools).map_err(failed)?;
        let what = if removed { "removed the queues of" } else { "there are no queues of ours at" };
        let _ = writeln!(out, "{what} {interface}");
        return Ok(if removed { DONE } else { BAD_NEWS });
    }
    let planned_queues = planned.as_ref().map(|planned| planned.queues).filter(|queues| *queues > 1);
    let count = arguments.queues.or(planned_queues).unwrap_or(QUEUES);
    // Who only looks sees what was made.
    let shaped = arguments.rate.or_else(|| kept.rate().filter(|_| !arguments.apply));
    let want = |scheduler| Wanted::new(&facts, count, shaped, scheduler);
    let mut wanted = want(Scheduler::Prio).map_err(|error| (WRONG, error))?;
    let mut have = Have::read(&tools, &interface).map_err(failed)?;
    let by_htb = want(Scheduler::Htb).map_err(|error| (WRONG, error))?;
    if have == by_htb.made() {
        wanted = by_htb.clone();
    }
    let rate = shaped.or(facts.rate).or(planned.as_ref().map(|planned| planned.rate));
    let rate = rate.unwrap_or(USUAL_RATE);
    let full = u32::try_from(facts.longest()).unwrap_or(u32::MAX).saturating_add(24);
    let ring = planned.as_ref().and_then(|planned| planned.ring);
    let ring = u64::from(ring.unwrap_or_else(|| network::default_ring(rate, full)));
    let mut ahead = wanted.ahead(&facts, ring);
    let mut notes: Vec<String> = Vec::new();
    let missing = || match &planned {
        Some(planned) => planned.others.missing(&tools, &interface),
        None => Ok(Vec::new()),
    };
    if arguments.apply {
        check_rights("this", "queues of an interface are the kernel's").map_err(failed)?;
        let there = kept.is_there(&have, &wanted, ahead, shaped);
        if there {
            notes.push("the queues were there already".to_owned());
        } else {
            let before = have.kind.clone();
            let mut made = kept.make(&tools, &have, &wanted, ahead, shaped);
            if wanted.is_prio() && made.as_ref().is_err_and(kept::lacks_prio) {
                notes.push("this kernel has no `prio`: HTB serves the queues".to_owned());
                wanted = by_htb;
                ahead = wanted.ahead(&facts, ring);
                made = kept.make(&tools, &have, &wanted, ahead, shaped);
            }
            made.map_err(failed)?;
            notes.push(format!("made the queues, in the place of {before}"));
        }
        have = Have::read(&tools, &interface).map_err(failed)?;
        let unknown = missing().map_err(failed)?;
        if !unknown.is_empty() {
            kept.add_neighbours(&tools, &unknown).map_err(failed)?;
            notes.push(format!("made permanent entries for {} addresses of other hosts", unknown.len()));
        }
    }
    let unknown = missing().map_err(failed)?;
    let there = kept.is_there(&have, &wanted, ahead, shaped);
    let planned = planned.as_ref();
    let told =
        Told { facts: &facts, have: &have, wanted: &wanted, ahead, count, there, unknown: &unknown, planned };
    told.write(out, &notes);
    Ok(if there && unknown.is_empty() { DONE } else { BAD_NEWS })
}

/// The interface, and what a network file says of the host.
fn target(arguments: &HostArguments, tools: &Tools) -> Result<(String, Option<Planned>), Error> {
    let target = &arguments.target;
    let Some(name) = &arguments.host else {
        if target.contains('/') || PathBuf::from(target).extension().is_some_and(|it| it == "toml") {
            let what = format!("{} is a network file, which has several hosts", target.escape_default());
            return Err(Error::new(what, "say which one this is with --host NAME"));
        }
        return Ok((target.clone(), None));
    };
    let network = Network::open(Path::new(target)).map_err(|problem| Error::new(problem.to_string(), ""))?;
    let index = network.hosts().iter().position(|host| host.name == *name).ok_or_else(|| {
        let names: Vec<&str> = network.hosts().iter().map(|host| host.name.as_str()).take(20).collect();
        Error::new(
            format!("the network has no host \"{}\"", name.escape_default()),
            format!("hosts are {}", names.join(", ")),
        )
    })?;
    let host = &network.hosts()[index];
    if !host.vlans.is_empty() {
        let what = format!(
            "\"{name}\" is in VLANs, and the queues of this command do not know tagged frames by their codepoints"
        );
        return Err(Error::new(
            what,
            "make queues of another kind, or write queues = 1 and leave the host as it is",
        ));
    }
    let rate = network.cables().iter().find(|cable| cable.ends.iter().any(|end| end.node == index));
    let rate = rate.map_or(USUAL_RATE, |cable| cable.rate);
    let others = Others::of(network.hosts(), index);
    let planned = Planned { queues: host.queues, ring: host.ring, rate, others };
    let interface = match (&arguments.interface, host.addresses.first()) {
        (Some(interface), _) => interface.clone(),
        (None, None) => {
            let what = format!("the network file gives \"{name}\" no address");
            return Err(Error::new(what, "say which interface it is with --interface NAME"));
        }
        (None, Some(address)) => {
            let (version, bits) = if address.is_ipv4() { (4, 32) } else { (6, 128) };
            let text = tools.run(&format!("ip -j -{version} addr show to {address}/{bits}"))?;
            first_name(&text).ok_or_else(|| {
                let what = format!("no interface of this host has the address {address} of \"{name}\"");
                Error::new(what, "say which interface it is with --interface NAME")
            })?
        }
    };
    Ok((interface, Some(planned)))
}

/// The first interface that `ip -j` tells of.
fn first_name(text: &str) -> Option<String> {
    let links: Vec<serde_json::Value> = serde_json::from_str(text).ok()?;
    links.iter().find_map(|link| Some(link.get("ifname")?.as_str()?.to_owned()))
}

/// The first few names, and how many there are besides.
fn listed(names: &[String]) -> String {
    let shown = names.iter().take(5).map(String::as_str).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(5) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// What is said of an interface.
struct Told<'t> {
    facts: &'t Facts,
    have: &'t Have,
    wanted: &'t Wanted,
    ahead: Ahead,
    count: u8,
    there: bool,
    /// Neighbours of which the network file knows and the kernel does not.
    unknown: &'t [Neighbour],
    planned: Option<&'t Planned>,
}

impl Told<'_> {
    fn write(&self, out: &mut dyn Write, notes: &[String]) {
        let Facts { name, mtu, transmit_queues, .. } = self.facts;
        let rate =
            self.facts.rate.map_or("rate unknown".to_owned(), |rate| format!("{} Mb/s", rate / 1_000_000));
        let queues = match self.there {
            true => format!("{} queues", self.count),
            false if self.have.is_ours() => "other queues than these, of ours".to_owned(),
            false if self.have.is_of_others() => format!("queues of something else ({})", self.have.kind),
            false => format!("one queue ({})", self.have.kind),
        };
        // Who does not read it does not wait for it.
        let _ = writeln!(out, "{name}: {queues}, {rate}, MTU {mtu}, {transmit_queues} transmit queues");
        for note in notes {
            let _ = writeln!(out, "{note}");
        }
        if !self.there {
            let _ = writeln!(out, "\nTo give flows queues of their own (--apply does it):");
            for line in self.wanted.commands().lines() {
                let _ = writeln!(out, "  tc {line}");
            }
            if let Some(limit) = self.ahead.limit {
                for file in &self.facts.limits {
                    let _ = writeln!(out, "  echo {limit} > {}", file.display());
                }
            }
        }
        if !self.unknown.is_empty() {
            let _ =
                writeln!(out, "\nSo that no question for an address stands before a flow (--apply does it):");
            for line in neighbours::commands(self.unknown, name).lines() {
                let _ = writeln!(out, "  ip {line}");
            }
        }
        let when = if self.there { "" } else { ", once that is done" };
        let _ = writeln!(out, "\nIn a network file{when}:\n  queues = {}", self.count);
        if let Some(most) = self.ahead.most {
            let _ = writeln!(out, "  ring = {most}");
        }
        if let Some(pause) = self.facts.pause {
            let _ = writeln!(out, "  pause = \"{}\"", if pause { "on" } else { "off" });
        }
        if let Some(efficient) = self.facts.energy_efficient {
            let _ = writeln!(out, "  energy-efficient = {efficient}");
        }
        let warnings = self.warnings();
        if !warnings.is_empty() {
            let _ = writeln!(out, "\nWarnings");
        }
        for warning in warnings {
            let _ = writeln!(out, "  {warning}");
        }
    }

    fn warnings(&self) -> Vec<String> {
        let facts = self.facts;
        let name = &facts.name;
        let mut warnings = Vec::new();
        match facts.pause {
            Some(true) => warnings.push(format!(
                "PAUSE frames may stop it, so that no flow has a bound here: ethtool -A {name} rx off tx off"
            )),
            None => warnings.push(
                "its driver does not tell of PAUSE: see that the switch has it off at this port".to_owned(),
            ),
            Some(false) => {}
        }
        if facts.energy_efficient == Some(true) {
            warnings.push(format!(
                "its link sleeps, and a frame that finds it asleep waits, which bounds count: ethtool --set-eee {name} eee off"
            ));
        }
        if facts.transmit_queues > 1 && !facts.is_virtual {
            warnings.push(format!(
                "the card serves its {} transmit queues in turn, whatever is in them, so that nothing limits what goes before a flow: \
                 ethtool -L {name} tx 1, or combined 1",
                facts.transmit_queues
            ));
        } else if self.ahead.most.is_none() {
            warnings.push("nothing limits what the card takes ahead: its driver has no byte queue limits and does not tell the size of its ring".to_owned());
        } else if facts.limits.is_empty() && self.ahead.limit.is_none() && facts.ring.is_some() {
            warnings.push(format!(
                "its driver has no byte queue limits, so that the card takes as much ahead as its ring holds: ethtool -G {name} tx 16 \
                 makes that less"
            ));
        }
        if !self.there && !facts.offloads.is_empty() {
            warnings.push(format!(
                "trains leave in one piece ({}), before frames of flows; the queues cut them into frames",
                facts.offloads.join(", ")
            ));
        }
        if facts.merges {
            warnings.push(format!(
                "what is received may be merged before programs get it (generic-receive-offload), which is no part of a bound: \
                 ethtool -K {name} gro off"
            ));
        }
        if let Some(planned) = self.planned {
            warnings.extend(self.against(planned));
        }
        warnings
    }

    /// What the network file says otherwise.
    fn against(&self, planned: &Planned) -> Vec<String> {
        let mut warnings = Vec::new();
        let without_mac = &planned.others.without_mac;
        if !without_mac.is_empty() {
            warnings.push(format!(
                "the network file gives no `mac` for {}: if a flood takes this host's questions for their addresses, what it writes waits \
                 or is lost (docs/host.md, \"Neighbours\")",
                listed(without_mac)
            ));
        }
        if planned.queues != self.count || !self.there {
            let has = if self.there { self.count } else { 1 };
            if planned.queues != has {
                warnings.push(format!(
                    "the network file counts on queues = {}, and there are {has}",
                    planned.queues
                ));
            }
        }
        if let Some(rate) = self.facts.rate.filter(|rate| *rate < planned.rate) {
            let (file, is) = (planned.rate / 1_000_000, rate / 1_000_000);
            warnings.push(format!("the network file counts on a link of {file} Mb/s, and it has {is} Mb/s"));
        }
        if let (Some(ring), Some(most)) = (planned.ring, self.ahead.most)
            && planned.queues > 1
            && u64::from(ring) < most
        {
            warnings.push(format!(
                "the network file counts on ring = {ring}, and the card takes up to {most} bytes ahead"
            ));
        }
        warnings
    }
}
