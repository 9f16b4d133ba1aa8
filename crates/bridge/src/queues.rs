//! The queues of a bridge's ports: made by its agent of what a network file says, and taken away when it ends.
//!
//! They take the place of what the kernel makes by itself, and of nothing else: what comes back in the end is that. An agent that was killed leaves them,
//! and the next one takes them over if they are what it would make, so that nothing is lost that is queued.
use std::collections::BTreeMap;

use latency::switch::Guard;
use network::Network;
use system::{Error, finish, program};

use crate::classes::{Filled, Queues, Root};
use crate::disciplines::{Discipline, Filter};
use crate::translate::Ports;

/// Major numbers by which our queues are known; the other bits are a digest of what they are.
const OURS: u16 = 0xd000;
const DIGEST: u16 = 0x0fff;

/// The queues that ports are to have, by their interfaces.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PortQueues(BTreeMap<String, Wanted>);

#[derive(Clone, PartialEq, Eq, Debug)]
struct Wanted {
    commands: String,
    have: Have,
}

/// The disciplines that an interface has.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
struct Have {
    /// Kind and handle of the root discipline.
    root: (String, String),
    /// The discipline of each class, with the most frames in it.
    leaves: BTreeMap<String, (String, Option<u64>)>,
    /// The classes to which filters lead.
    filters: Vec<String>,
}

impl PortQueues {
    /// The queues that the file has for these ports of the switch with this datapath id.
    ///
    /// # Errors
    /// The file has no such switch, or no link at one of its ports, or more queues than there are priorities.
    pub fn of(network: &Network, datapath: u64, ports: &Ports) -> Result<Self, Error> {
        let mut switches = network.switches().iter().enumerate();
        let (index, switch) = switches.find(|(_, switch)| switch.datapath == datapath).ok_or_else(|| {
            Error::new(
                format!("the network file has no switch with the datapath id {datapath}"),
                "the first [[switch]] has 1, the second 2, unless the file says otherwise",
            )
        })?;
        let node = network.hosts().len() + index;
        let filled = if switch.kind.guard == Guard::None { Filled::Open } else { Filled::Guarded };
        let ends = network.cables().iter().flat_map(|cable| &cable.ends);
        let at: BTreeMap<u32, &latency::network::Port> = ends
            .zip(network.ports())
            .filter(|(end, _)| end.node == node)
            .map(|(end, port)| (end.port, port))
            .collect();
        let mut wanted = BTreeMap::new();
        for (number, interface) in ports {
            let port = at.get(number).ok_or_else(|| {
                let what = format!("port {number} of \"{}\" has no link in the network file", switch.name);
                Error::new(what, "leave --port out for it, or write its [[link]]")
            })?;
            let queues = Queues::of(port, &format!("{}:{number}", switch.name), filled)?;
            wanted.insert(interface.clone(), Wanted::of(&queues, interface));
        }
        Ok(Self(wanted))
    }

    /// Makes them. Those that are there as they are to be stay.
    ///
    /// # Errors
    /// Something else has made queues at an interface, or the kernel lacks what they are made of: what was made here is taken away again.
    pub fn make(&self) -> Result<(), Error> {
        let mut missing = Vec::new();
        for (interface, wanted) in &self.0 {
            let have = Have::read(interface)?;
            if have.is_of_others() {
                let (kind, handle) = &have.root;
                let what = format!("{interface} has queues that something else has made: {kind} {handle}");
                let remedy = format!("if nothing needs them: tc qdisc del dev {interface} root");
                return Err(Error::new(what, remedy));
            }
            if have != wanted.have {
                missing.push((interface, wanted, have.is_ours()));
            }
        }
        let mut made = Vec::new();
        for (interface, wanted, is_other) in missing {
            made.push(interface);
            let done = if is_other { remove(interface) } else { Ok(()) };
            if let Err(error) = done.and_then(|()| wanted.make(interface)) {
                // The first error is reported; an error of the removal after it is not.
                made.into_iter().for_each(|interface| drop(remove_ours(interface)));
                return Err(error);
            }
        }
        Ok(())
    }

    /// Takes them away, where they are.
    ///
    /// # Errors
    /// An error of `tc`. All others are removed all the same.
    pub fn remove(&self) -> Result<(), Error> {
        let results: Vec<Result<(), Error>> = self.0.keys().map(|interface| remove_ours(interface)).collect();
        results.into_iter().collect()
    }
}

impl Wanted {
    fn of(queues: &Queues, interface: &str) -> Self {
        let root = |major| Root { major, vlans: false, ..Root::LAB };
        // FNV-1a, folded.
        let digest = queues
            .commands_at("", &root(OURS))
            .bytes()
            .fold(0x811c_9dc5_u32, |sum, byte| (sum ^ u32::from(byte)).wrapping_mul(0x0100_0193));
        let digest = u16::try_from((digest ^ digest >> 12 ^ digest >> 24) & u32::from(DIGEST)).unwrap_or(0);
        let root = root(OURS | digest);
        let major = root.major;
        let mut have = Have { root: ("htb".to_owned(), format!("{major:x}:")), ..Have::default() };
        let count = queues.queues.len();
        for (index, queue) in queues.queues.iter().enumerate() {
            let class = format!("{major:x}:{:x}", root.class(index, count));
            have.leaves.insert(class.clone(), ("pfifo_head_drop".to_owned(), Some(queue.frames)));
            if queue.dscp != gate::class::BEST_EFFORT {
                have.filters.extend([class.clone(), class]);
            }
        }
        have.filters.sort();
        Self { commands: queues.commands_at(interface, &root), have }
    }

    fn make(&self, interface: &str) -> Result<(), Error> {
        finish(program("tc").args(["-batch", "-"]), Some(&self.commands))
            .map_err(|error| refused(interface, error))?;
        if Have::read(interface)? == self.have {
            return Ok(());
        }
        let what = format!("{interface} has other queues than it was told to have");
        Err(Error::new(what, format!("see `tc qdisc show dev {interface}`: something else may set them")))
    }
}

impl Have {
    fn read(interface: &str) -> Result<Self, Error> {
        let show = |what: &[&str]| finish(program("tc").arg("-j").args(what), None);
        let mut have = Self::default();
        for discipline in Discipline::all(&show(&["qdisc", "show", "dev", interface])?)? {
            if discipline.root {
                have.root = (discipline.kind, discipline.handle);
            } else if let Some(parent) = discipline.parent {
                have.leaves.insert(parent, (discipline.kind, discipline.options.limit));
            }
        }
        if !have.is_ours() {
            // Of what is not ours no more matters than that it is there.
            have.leaves.clear();
            return Ok(have);
        }
        let (_, handle) = &have.root;
        let filters = Filter::all(&show(&["filter", "show", "dev", interface, "parent", handle])?)?;
        have.filters = filters.into_iter().filter_map(|filter| filter.options.flowid).collect();
        have.filters.sort();
        Ok(have)
    }

    fn is_ours(&self) -> bool {
        let (kind, handle) = &self.root;
        let major = handle.strip_suffix(':').and_then(|major| u16::from_str_radix(major, 16).ok());
        kind == "htb" && major.is_some_and(|major| major & !DIGEST == OURS)
    }

    /// Whether something else has made queues, and not the kernel by itself.
    fn is_of_others(&self) -> bool {
        !self.is_ours() && self.root.1 != "0:"
    }
}

/// Takes queues away if they are ours; an interface that is gone has none.
fn remove_ours(interface: &str) -> Result<(), Error> {
    match Have::read(interface) {
        Ok(have) if have.is_ours() => remove(interface),
        _ => Ok(()),
    }
}

fn remove(interface: &str) -> Result<(), Error> {
    finish(program("tc").args(["qdisc", "del", "dev", interface, "root"]), None).map(drop)
}

/// The error of `tc`, with the missing feature of the kernel if that is the cause.
fn refused(interface: &str, error: Error) -> Error {
    let lacks = |module: &str, option: &str| {
        let what =
            format!("{interface}: the kernel lacks what queues are made of ({module}): {}", error.what);
        Error::new(what, format!("modprobe {module}, or a kernel with {option}"))
    };
    if error.what.contains("qdisc kind is unknown") {
        lacks("sch_htb", "CONFIG_NET_SCH_HTB")
    } else if error.what.contains("classifier not found") {
        lacks("cls_u32", "CONFIG_NET_CLS_U32")
    } else {
        error
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NETWORK: &str = r#"
host = [{ name = "a" }, { name = "b" }]
switch = [{ name = "s1", model = "linux-bridge" }]
link = [{ ends = ["a", "s1:1"] }, { ends = ["b", "s1:2"], rate = "50 Mb/s" }]
"#;

    fn queues(text: &str, datapath: u64, ports: &[(u32, &str)]) -> Result<PortQueues, Error> {
        let network = Network::parse("net.toml", text, |_| Err(String::new())).unwrap();
        let ports = ports.iter().map(|(number, name)| (*number, (*name).to_owned())).collect();
        PortQueues::of(&network, datapath, &ports)
    }

    #[test]
    fn each_port_has_the_queues_of_its_link() {
        let PortQueues(both) = queues(NETWORK, 1, &[(1, "eth1"), (2, "eth2")]).unwrap();
        assert!(both["eth1"].commands.contains("ceil 100000000bit"), "{}", both["eth1"].commands);
        assert!(both["eth2"].commands.contains("ceil 50000000bit"), "{}", both["eth2"].commands);
        assert!(both["eth1"].commands.lines().all(|line| line.contains(" dev eth1 ")));
        assert_ne!(both["eth1"].have.root, both["eth2"].have.root, "another rate has another digest");
        let again = queues(NETWORK, 1, &[(1, "eth1"), (2, "eth2")]).unwrap();
        assert_eq!(again.0, both);
    }

    #[test]
    fn what_the_file_does_not_have_is_told() {
        let error = queues(NETWORK, 2, &[(1, "eth1")]).unwrap_err();
        assert!(error.what.contains("no switch with the datapath id 2"), "{error}");
        let error = queues(NETWORK, 1, &[(3, "eth3")]).unwrap_err();
        assert!(error.what.contains("port 3 of \"s1\" has no link"), "{error}");
    }

    #[test]
    fn what_the_kernel_lacks_is_named() {
        let said = |text: &str| refused("eth1", Error::new(text, "")).to_string();
        assert!(said("tc -batch -: Error: Specified qdisc kind is unknown.").contains("modprobe sch_htb"));
        assert!(said("tc -batch -: Error: TC classifier not found.").contains("modprobe cls_u32"));
        assert!(!said("tc -batch -: Cannot find device \"eth1\"").contains("modprobe"));
    }
}
