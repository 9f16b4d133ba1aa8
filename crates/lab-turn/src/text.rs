//! Texts of network files, made of what tests say of their hosts, switches and links.
use std::fmt::Write as _;

/// A switch with message gates and three levels, called `gated`.
pub const GATED: &str = r#"
[[switch-model]]
name = "gated"
ports = 8
queues = 4
rate = "100 Mb/s"
queue-buffer = 400_000
cell = 1
energy-efficient = false
pause = "off"
multiplexing = "50 us"
gates = {}
"#;

/// A network file with these hosts at the ports 1, 2, ... of one switch with gates. The host `manager` is that of the manager; addresses are learned.
pub fn star(hosts: &[&str]) -> String {
    star_with(hosts, |_| String::new())
}

/// The same, in which host n has the address 10.1.0.n.
pub fn star_with_addresses(hosts: &[&str]) -> String {
    star_with(hosts, |number| format!("address = \"10.1.0.{number}\"\n"))
}

fn star_with(hosts: &[&str], address: impl Fn(usize) -> String) -> String {
    let mut text = Text::new("host-defaults = { queues = 8, ring = 0 }").switch("s1", "gated");
    for (number, host) in (1..).zip(hosts) {
        let manages = if *host == "manager" { "manager = true" } else { "" };
        text = text.host(host, &format!("{}{manages}", address(number)), &format!("s1:{number}"));
    }
    text.with(GATED)
}

/// The text of a network file.
#[derive(Clone, Debug)]
pub struct Text(String);

impl Text {
    /// A text that begins with these lines, such as `host-defaults`, before all tables.
    pub fn new(head: &str) -> Self {
        Self(format!("{head}\n"))
    }

    /// A switch of a model.
    #[must_use]
    pub fn switch(self, name: &str, model: &str) -> Self {
        self.table(format_args!("[[switch]]\nname = \"{name}\"\nmodel = \"{model}\""))
    }

    /// A host with what it says of itself besides its name; its link is another table.
    #[must_use]
    pub fn node(self, name: &str, says: &str) -> Self {
        self.table(format_args!("[[host]]\nname = \"{name}\"\n{says}"))
    }

    /// The same with a link to a port such as `s1:1`.
    #[must_use]
    pub fn host(self, name: &str, says: &str, at: &str) -> Self {
        self.node(name, says).link(name, at, "")
    }

    /// The host of the resource manager, called `manager`.
    #[must_use]
    pub fn manager(self, at: &str) -> Self {
        self.host("manager", "manager = true", at)
    }

    /// A link with what it says of itself besides its ends.
    #[must_use]
    pub fn link(self, one: &str, other: &str, says: &str) -> Self {
        self.table(format_args!("[[link]]\nends = [\"{one}\", \"{other}\"]\n{says}"))
    }

    /// The whole text, with the models of its switches.
    #[must_use]
    pub fn with(self, models: &str) -> String {
        self.0 + models
    }

    fn table(mut self, text: std::fmt::Arguments<'_>) -> Self {
        // Writing to a text cannot fail.
        let _ = writeln!(self.0, "{text}");
        self
    }
}
