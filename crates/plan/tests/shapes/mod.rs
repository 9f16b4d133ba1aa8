//! Network files that are as much work as files of their size can be, each in a size that is asked for.
use std::fmt::Write as _;

/// A file, and how much of it there is.
pub(crate) type Shape = fn(usize) -> String;

/// Shapes whose work grows with their size and no faster, each with a number of flows or nodes for which it is small.
pub(crate) const LINEAR: [(&str, Shape, usize); 15] = [
    ("line", line, 400),
    ("ring", ring, 400),
    ("star", star, 400),
    ("mesh", mesh, 400),
    ("tree of groups", groups, 400),
    ("one port", one_port, 400),
    ("full port", full_port, 400),
    ("many subscribers", subscribers, 20),
    ("long names", long_names, 400),
    ("models", models, 400),
    ("bundles", bundles, 400),
    ("lists of switches", through, 400),
    ("no way", no_way, 400),
    ("almost full links", almost_full, 20),
    ("losses", losses, 100),
];

/// Shapes whose work grows faster, until it is more than a file of their size may ask for.
#[allow(dead_code, reason = "for the table only")]
pub(crate) const OTHERS: [(&str, Shape, usize); 2] =
    [("far groups", far_groups, 400), ("refused by many", refused_by_many, 400)];

fn host(file: &mut String, name: &str) {
    let _ = write!(file, "[[host]]\nname = \"{name}\"\n");
}

fn switch(file: &mut String, name: &str, model: &str) {
    let _ = write!(file, "[[switch]]\nname = \"{name}\"\nmodel = \"{model}\"\n");
}

fn link(file: &mut String, one: &str, other: &str) {
    let _ = write!(file, "[[link]]\nends = [\"{one}\", \"{other}\"]\n");
}

fn model(file: &mut String, name: &str, ports: usize, rate: &str) {
    let _ = write!(
        file,
        "[[switch-model]]\nname = \"{name}\"\nports = {ports}\nqueues = 8\nrate = \"{rate}\"\nbuffer = 1_000_000_000\n\
         gates = {{ precision = \"1 us\" }}\n"
    );
}

/// A small flow that has time.
fn flow(file: &mut String, number: usize, from: &str, to: &[String], more: &str) {
    let to: Vec<String> =
        to.iter().map(|host| format!("{{ host = \"{host}\", limit = \"50 ms\" }}")).collect();
    let _ = write!(
        file,
        "[[flow]]\ntopic = \"t{number}\"\npublisher = \"{from}\"\nsubscribers = [{}]\nsize = 100\nseparation = \"100 ms\"\n{more}",
        to.join(", ")
    );
}

/// So many switches with a host each.
fn switches(count: usize) -> String {
    let mut file = String::new();
    model(&mut file, "large", count + 2, "10 Gb/s");
    for number in 0..count {
        host(&mut file, &format!("h{number}"));
        switch(&mut file, &format!("s{number}"), "large");
        link(&mut file, &format!("h{number}"), &format!("s{number}"));
    }
    file
}

/// From each host to one that is a few switches further.
fn neighbours(file: &mut String, count: usize, distance: usize) {
    for number in 0..count {
        let to = format!("h{}", (number + distance) % count);
        flow(file, number, &format!("h{number}"), &[to], "");
    }
}

fn row(count: usize) -> String {
    let mut file = switches(count);
    for number in 1..count {
        link(&mut file, &format!("s{}", number - 1), &format!("s{number}"));
    }
    file
}

fn line(count: usize) -> String {
    let mut file = row(count);
    for number in 9..count {
        flow(&mut file, number, &format!("h{number}"), &[format!("h{}", number - 9)], "");
    }
    file
}

fn ring(count: usize) -> String {
    let mut file = row(count);
    link(&mut file, "s0", &format!("s{}", count - 1));
    neighbours(&mut file, count, 9);
    file
}

fn star(count: usize) -> String {
    let mut file = switches(count);
    switch(&mut file, "core", "large");
    for number in 0..count {
        link(&mut file, "core", &format!("s{number}"));
    }
    neighbours(&mut file, count, 9);
    file
}

/// A star whose flows have losses.
fn losses(count: usize) -> String {
    star(count).replace("size = 100\n", "size = 100\nlosses = { frames = 1, within = \"1 s\" }\n")
}

/// Each switch with each other one, and eight flows of each host.
fn mesh(count: usize) -> String {
    let side = (2 * count).isqrt();
    let mut file = switches(side);
    for one in 0..side {
        for other in one + 1..side {
            link(&mut file, &format!("s{one}"), &format!("s{other}"));
        }
    }
    for number in 0..8 * side {
        let (from, to) = (number % side, (number + 1 + number / side) % side);
        flow(&mut file, number, &format!("h{from}"), &[format!("h{to}")], "");
    }
    file
}

/// Switches each below the one of half its number, and flows from hosts to groups of hosts.
fn tree(count: usize, group: impl Fn(usize) -> Vec<usize>) -> String {
    let mut file = switches(count);
    for number in 1..count {
        link(&mut file, &format!("s{}", number / 2), &format!("s{number}"));
    }
    for number in 8..count / 4 {
        let to: Vec<String> = group(number).into_iter().map(|host| format!("h{host}")).collect();
        flow(&mut file, number, &format!("h{number}"), &to, "");
    }
    file
}

/// To those one and two below, and to those beside.
fn groups(count: usize) -> String {
    let near = |number: usize| vec![2 * number, 2 * number + 1, 4 * number, 4 * number + 1];
    tree(count, |number| near(number).into_iter().chain([number ^ 1, number ^ 2, number / 2]).collect())
}

/// To some anywhere: the middle of the way to them is the further away the larger the tree is.
fn far_groups(count: usize) -> String {
    tree(count, |number| (1..=8).map(|step| (number + step * 37) % count).collect())
}

/// Hosts at one switch that all send to one.
fn to_one(count: usize, rate: &str, limit: &str) -> String {
    let mut file = String::new();
    model(&mut file, "large", count + 2, "1000 Gb/s");
    switch(&mut file, "s", "large");
    host(&mut file, "display");
    let _ = write!(file, "[[link]]\nends = [\"display\", \"s\"]\nrate = \"{rate}\"\n");
    for number in 0..count {
        host(&mut file, &format!("h{number}"));
        link(&mut file, &format!("h{number}"), "s");
    }
    for number in 0..count {
        flow(&mut file, number, &format!("h{number}"), &["display".to_owned()], "");
    }
    file.replace("limit = \"50 ms\"", &format!("limit = \"{limit}\""))
}

pub(crate) fn one_port(count: usize) -> String {
    to_one(count, "1000 Gb/s", "50 ms")
}

/// A port that takes a hundred flows: all others are refused.
fn full_port(count: usize) -> String {
    to_one(count, "100 Mb/s", "2 ms")
}

/// Half of the flows fill a port, and each of the others is refused by all that are there: that is more work than the file
/// may ask for.
fn refused_by_many(count: usize) -> String {
    let limit = format!("{} us", 5 * count);
    to_one(count, "100 Mb/s", &limit)
}

/// Flows to five hundred hosts each.
fn subscribers(count: usize) -> String {
    let hosts = 500;
    let mut file = row(20);
    for number in 0..hosts {
        host(&mut file, &format!("d{number}"));
        link(&mut file, &format!("d{number}"), &format!("s{}", number % 19));
    }
    let to: Vec<String> = (0..hosts).map(|number| format!("d{number}")).collect();
    for number in 0..count {
        flow(&mut file, number, &format!("h{}", number % 20), &to, "");
    }
    file.replace("ports = 22", "ports = 60")
}

fn long_names(count: usize) -> String {
    let long = |number: usize| format!("{}{number:05}", "n".repeat(59));
    let mut file = String::new();
    model(&mut file, "large", count + 2, "10 Gb/s");
    for number in 0..count {
        host(&mut file, &long(number));
    }
    switch(&mut file, &"s".repeat(64), "large");
    for number in 0..count {
        link(&mut file, &long(number), &"s".repeat(64));
    }
    for number in 0..count {
        let name = format!("name = \"{}{number:05}\"\n", "f".repeat(251));
        flow(&mut file, number, &long(number), &[long((number + 1) % count)], &name);
    }
    file
}

fn models(count: usize) -> String {
    let mut file = String::new();
    for number in 0..count {
        model(&mut file, &format!("m{number}"), 8, "10 Gb/s");
        host(&mut file, &format!("h{number}"));
        switch(&mut file, &format!("s{number}"), &format!("m{number}"));
        link(&mut file, &format!("h{number}"), &format!("s{number}"));
        if number > 0 {
            link(&mut file, &format!("s{}", number - 1), &format!("s{number}"));
        }
    }
    neighbours(&mut file, count - 9, 9);
    file
}

fn bundles(count: usize) -> String {
    let mut file = row(count / 10);
    for number in 0..count {
        let at = number / 10;
        let to = format!("h{}", if at == 0 { 1 } else { at - 1 });
        let more = format!("trusted = true\nbundle = \"b{at}\"\n");
        flow(&mut file, number, &format!("h{at}"), &[to], &more);
    }
    file.replace("size = 100\n", "size = 20\n")
}

/// Flows that name the ten switches that they may pass, among many.
fn through(count: usize) -> String {
    let mut file = row(count);
    for number in 9..count {
        let list: Vec<String> = (number - 9..=number).map(|switch| format!("\"s{switch}\"")).collect();
        let more = format!("through = [{}]\n", list.join(", "));
        flow(&mut file, number, &format!("h{number}"), &[format!("h{}", number - 9)], &more);
    }
    file
}

/// Publishers whose links lead nowhere.
fn no_way(count: usize) -> String {
    let mut file = row(count);
    for number in 0..count {
        host(&mut file, &format!("alone{number}"));
        switch(&mut file, &format!("t{number}"), "large");
        link(&mut file, &format!("alone{number}"), &format!("t{number}"));
    }
    for number in 0..count {
        flow(&mut file, number, &format!("alone{number}"), &[format!("h{number}")], "");
    }
    file
}

/// Two flows on each link that leave it next to nothing, with separations that have no common divisor: busy periods without
/// end.
fn almost_full(count: usize) -> String {
    let mut file = String::new();
    model(&mut file, "large", 4, "1 Gb/s");
    for number in 0..count {
        host(&mut file, &format!("h{number}"));
        switch(&mut file, &format!("s{number}"), "large");
        host(&mut file, &format!("d{number}"));
        link(&mut file, &format!("h{number}"), &format!("s{number}"));
        link(&mut file, &format!("d{number}"), &format!("s{number}"));
    }
    for number in 0..count {
        for (part, separation) in ["2737.000003 us", "2739.000001 us"].into_iter().enumerate() {
            let more = format!(
                "name = \"f{number}-{part}\"\ntrusted = true\nframing = \"udp\"\njitter = \"1 ms\"\n"
            );
            flow(&mut file, number, &format!("h{number}"), &[format!("d{number}")], &more);
            let from = file.rfind("size = 100\n").unwrap_or(0);
            file.replace_range(from.., &file[from..].replace("size = 100\n", "size = 163_570\n"));
            let from = file.rfind("\"100 ms\"").unwrap_or(0);
            file.replace_range(from.., &file[from..].replace("\"100 ms\"", &format!("\"{separation}\"")));
        }
    }
    file.replace("limit = \"50 ms\"", "limit = \"3600 s\"")
}

/// A change of a plan for `one_port`: every second flow goes, and as many come.
#[allow(dead_code, reason = "for the test only")]
pub(crate) fn exchange(count: usize) -> String {
    let leaving: Vec<String> =
        (0..count).step_by(2).map(|number| format!("\"h{number}/t{number}\"")).collect();
    let mut file = format!("remove = [{}]\n", leaving.join(", "));
    for number in (0..count).step_by(2) {
        flow(&mut file, count + number, &format!("h{number}"), &["display".to_owned()], "");
    }
    file
}
