//! Cuts links of a lab of domains, and joins them again.
use std::path::Path;

use clap::ValueEnum;
use linux_edge::setup::routes_again;
use serde_json::json;
use system::{Error, finish};

use crate::place::{PLACE, record};
use crate::tools::Tools;
use crate::wan::file::Devices;
use crate::wan::layout::border_interface;
use crate::wan::{FILE, WanFile, WanLayout, executor};

/// The table of nftables that drops what a cut link has.
const TABLE: &str = "punctual-cut";

/// How a link is cut.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum How {
    /// The interface goes down at the first end: both routers see it at once.
    Down,
    /// Nothing passes in either direction, and both interfaces stay up.
    Silent,
    /// Nothing passes from the first domain to the second, and both interfaces stay up.
    OneWay,
    /// It works again.
    Joined,
}

/// Cuts a link, or joins it again.
///
/// # Errors
/// There is no such lab or link, or what a program says.
pub fn cut(name: &str, link: u32, how: How) -> Result<(), Error> {
    crate::tools::check_rights()?;
    crate::layout::check_name(name)?;
    let none =
        || Error::new(format!("there is no lab \"{name}\""), "punctual lab list names those there are");
    let record = record(name)?.ok_or_else(none)?;
    let found = record.borders.iter().find(|border| border.number == link);
    let ends = &found
        .ok_or_else(|| {
            let numbers: Vec<String> =
                record.borders.iter().map(|border| border.number.to_string()).collect();
            let what = format!("the lab \"{name}\" has no link {link}");
            Error::new(what, format!("its links between domains are {}", numbers.join(", ")))
        })?
        .namespaces;
    let tools = Tools::new(name);
    let interface = border_interface(link);
    for (at, namespace) in ends.iter().enumerate() {
        let drops = how == How::Silent || (how == How::OneWay && at == 0);
        let mut commands = vec![verb("add", "table", json!({})), verb("delete", "table", json!({}))];
        if drops {
            commands.push(verb("add", "table", json!({})));
            let chain = json!({ "name": "out", "type": "filter", "hook": "egress", "dev": interface, "prio": 0, "policy": "drop" });
            commands.push(verb("add", "chain", chain));
        }
        let document = json!({ "nftables": commands }).to_string();
        finish(tools.command_in(namespace, "nft").args(["-j", "-f", "-"]), Some(&document))?;
    }
    let [first, _] = ends;
    let state = if how == How::Down { "down" } else { "up" };
    tools.run(&format!("ip -n {first} link set dev {interface} {state}"))?;
    if how != How::Joined {
        return Ok(());
    }
    // The kernel has forgotten addresses and routes of an interface that was down; operators have routing daemons for that.
    let layout = WanLayout::new(&WanFile::read("the file of the lab", &text(name)?)?, name)?;
    if layout.devices != Devices::Linux {
        return Ok(());
    }
    for (domain, routers) in layout.domains.iter().zip(&layout.routers) {
        for (at, _) in routers.iter().enumerate().filter(|(_, router)| ends.contains(router)) {
            executor(routers).apply(&routes_again(domain, at, &interface))?;
        }
    }
    Ok(())
}

/// The file that a lab was built from.
fn text(name: &str) -> Result<String, Error> {
    let path = Path::new(PLACE).join(name).join(FILE);
    std::fs::read_to_string(&path).map_err(Error::system(path.display()))
}

/// A command of nftables about the table of cut links. What leaves is dropped: switches hear what comes in beside nftables.
fn verb(verb: &str, kind: &str, mut fields: serde_json::Value) -> serde_json::Value {
    if let Some(fields) = fields.as_object_mut() {
        fields.insert("family".to_owned(), json!("netdev"));
        fields.insert(if kind == "table" { "name" } else { "table" }.to_owned(), json!(TABLE));
    }
    json!({ verb: { kind: fields } })
}
