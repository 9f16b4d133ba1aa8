//! What a survey has found, as a network file: a proposal, with comments where an operator has to look.
use std::collections::BTreeMap;
use std::fmt::Write as _;

use control::survey::{Found, FoundHost, Place};
use network::Network;

/// A network file for what was found, in which all switches are of this model; it has been read back.
///
/// # Errors
/// There is no such model, or what was found does not fit it: what, and what to do.
pub fn proposal(found: &Found, model: &str) -> Result<String, String> {
    let (rate, ports) = limits(model)?;
    if found.hosts.is_empty() || found.switches.is_empty() {
        return Err("no switch with a host was found: do switches connect here, and do hosts speak? A `ping` makes one do so".to_owned());
    }
    let mut text = String::from(
        "# A proposal: what answered during the survey. What did not is missing; look through it before it is used.\n\
         # Queues of hosts, what they send besides flows, and `control` are those of a file that says nothing of them.\n",
    );
    let mut names = BTreeMap::new();
    for switch in &found.switches {
        let name = format!("s{}", names.len() + 1);
        let queues = switch
            .queues
            .map_or("it does not say how many queues".to_owned(), |queues| format!("{queues} queues"));
        let meters = if switch.meters { "meters" } else { "no meters" };
        let _ = write!(
            text,
            "\n[[switch]]\nname = \"{name}\"\n# Fill in: buffers and latency cannot be asked for, and those of the model may be others. It says: {queues}, {meters}.\n\
             model = \"{model}\"\ndatapath = \"{:#x}\"\n",
            switch.datapath
        );
        names.insert(switch.datapath, name);
    }
    let mut links = String::new();
    let mut link = |ends: [String; 2], said: u64| {
        let _ = write!(links, "\n[[link]]\nends = [\"{}\", \"{}\"]\n", ends[0], ends[1]);
        match said {
            0 => links.push_str("# Fill in: the switch does not say how fast it is; without a rate it is as fast as the model.\n"),
            said if said > rate => {
                let _ = writeln!(links, "# The switch says {said} b/s; the model has no more than this.\nrate = \"{rate} b/s\"");
            }
            said => {
                let _ = writeln!(links, "rate = \"{said} b/s\"");
            }
        }
    };
    let place = |(datapath, port): Place| {
        if port > ports {
            return Err(format!(
                "the switch {datapath:#x} has a port {port}, and \"{model}\" has {ports}: name another model with --model"
            ));
        }
        let name = names.get(&datapath).ok_or_else(|| format!("the switch {datapath:#x} is gone"))?;
        Ok(format!("{name}:{port}"))
    };
    let mut taken: Vec<String> = names.values().cloned().collect();
    for host in &found.hosts {
        let name = host_name(host, &mut taken);
        let _ = write!(text, "\n[[host]]\nname = \"{name}\"\n");
        match host.addresses.as_slice() {
            [] => text.push_str(
                "# Fill in if it is to have a fixed one: it was not seen to use IPv4.\n# address = \"...\"\n",
            ),
            [first, more @ ..] => {
                let _ = writeln!(text, "address = \"{}\"", first);
                for more in more {
                    let _ = writeln!(text, "# {} speaks there, too.", more);
                }
            }
        }
        link([name, place(host.at)?], host.rate);
    }
    for found in &found.links {
        let [one, other] = found.ends;
        link([place(one)?, place(other)?], found.rate);
    }
    text.push_str(&links);
    if !found.odd.is_empty() {
        text.push_str("\n# What makes no sense:\n");
    }
    for odd in &found.odd {
        let _ = writeln!(text, "# - {odd}");
    }
    match Network::parse("the proposal", &text, |_| Err(String::new())) {
        Ok(_) => Ok(text),
        Err(problem) => Err(format!("what was found is no network that can be planned: {problem}")),
    }
}

/// The rate and the ports of a model.
fn limits(model: &str) -> Result<(u64, u32), String> {
    if !model
        .chars()
        .all(|character| character.is_ascii_alphanumeric() || matches!(character, '-' | '_' | '.'))
    {
        return Err(format!("there is no model {model:?}"));
    }
    let text = format!(
        "[[host]]\nname = \"h\"\n[[switch]]\nname = \"s\"\nmodel = \"{model}\"\n[[link]]\nends = [\"h\", \"s\"]\n"
    );
    let network =
        Network::parse("--model", &text, |_| Err(String::new())).map_err(|problem| problem.to_string())?;
    let kind = network.switches().first().map(|switch| (switch.kind.rate, switch.kind.ports));
    kind.ok_or_else(|| format!("there is no model {model:?}"))
}

/// A name for a host that no other node has: its own if that can be one, else after its address or its number.
fn host_name(host: &FoundHost, taken: &mut Vec<String>) -> String {
    let plain = |character: &char| character.is_ascii_alphanumeric() || matches!(character, '-' | '_' | '.');
    let own: String = host.name.iter().flat_map(|name| name.chars()).filter(plain).take(32).collect();
    let first = if own.is_empty() { format!("h{}", taken.len() + 1) } else { own };
    let mut name = first.clone();
    let mut number = 2;
    while taken.contains(&name) {
        name = format!("{first}-{number}");
        number += 1;
    }
    taken.push(name.clone());
    name
}

#[cfg(test)]
mod tests {
    use control::survey::{FoundLink, FoundSwitch};

    use super::*;

    fn found() -> Found {
        let switch = |datapath| FoundSwitch { datapath, queues: None, meters: true };
        let host = |at, address: Option<[u8; 4]>, name: Option<&str>| FoundHost {
            at,
            addresses: address.map(Into::into).into_iter().collect(),
            name: name.map(str::to_owned),
            rate: 10_000_000_000,
        };
        Found {
            switches: vec![switch(2), switch(0xffff_ffff_ffff_fff0)],
            links: vec![FoundLink { ends: [(2, 3), (0xffff_ffff_ffff_fff0, 4)], rate: 10_000_000 }],
            hosts: vec![
                host((2, 1), Some([10, 0, 0, 1]), Some("cam\"era\n")),
                host((2, 2), None, Some("s1")),
                host((0xffff_ffff_ffff_fff0, 1), Some([10, 0, 0, 3]), None),
            ],
            odd: vec!["something".to_owned()],
        }
    }

    #[test]
    fn what_was_found_is_read_back() {
        let text = proposal(&found(), "open-vswitch").unwrap();
        let network = Network::parse("p", &text, |_| Err(String::new())).unwrap();
        let datapaths: Vec<u64> = network.switches().iter().map(|switch| switch.datapath).collect();
        assert_eq!(datapaths, [2, 0xffff_ffff_ffff_fff0]);
        let hosts: Vec<(&str, Option<String>)> = network
            .hosts()
            .iter()
            .map(|host| (host.name.as_str(), host.addresses.first().map(ToString::to_string)))
            .collect();
        let expected =
            [("camera", Some("10.0.0.1".to_owned())), ("s1-2", None), ("h5", Some("10.0.0.3".to_owned()))];
        assert_eq!(hosts, expected);
        let ends: Vec<[(usize, u32); 2]> =
            network.cables().iter().map(|link| link.ends.map(|end| (end.node, end.port))).collect();
        assert_eq!(ends, [[(0, 1), (3, 1)], [(1, 1), (3, 2)], [(2, 1), (4, 1)], [(3, 3), (4, 4)]]);
        let rates: Vec<u64> = network.cables().iter().map(|link| link.rate).collect();
        assert_eq!(rates, [100_000_000, 100_000_000, 100_000_000, 10_000_000]);
        assert!(text.contains("# Fill in: buffers and latency") && text.contains("# - something"), "{text}");
    }

    #[test]
    fn what_is_no_network_is_told() {
        let said = |found: &Found, model| proposal(found, model).unwrap_err();
        assert!(said(&Found::default(), "open-vswitch").contains("no switch with a host"));
        assert!(said(&found(), "nothing").contains("models are"));
        assert!(said(&found(), "\"").contains("no model"));
        let mut far = found();
        far.hosts[0].at.1 = 65;
        assert!(said(&far, "open-vswitch").contains("--model"));
    }
}
