//! Drivers of the figures of the CIAO paper: components, what they stand on without a container, and the floor below both.
mod alone;
mod board;
mod carriers;
mod consume;
mod gateway;
mod load;
mod publish;
mod topic;

use super::measure::{Role, Task, Wake, Wrong, cannot};
pub(crate) use carriers::{Carrier, Transfer};

/// Who is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Way {
    /// Calls, or datagrams that lead to calls.
    Floor,
    /// The state machine of the channel, without a container.
    Channel,
    /// Ports whose consumers the publishing thread calls.
    Direct,
    /// Ports that a container's channel connects.
    Channelled,
    /// Between processes.
    Between {
        carrier: Carrier,
        /// Components at both ends.
        has_ports: bool,
    },
}

/// What a driver of a figure is asked besides what all drivers are.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Order {
    pub(crate) task: Task,
    /// Consumers in the process; the publisher is told how many there are in each other process.
    pub(crate) subscribers: usize,
    /// Processes that consume.
    pub(crate) nodes: usize,
    /// Which of them this is, from 1; the publisher is 0.
    pub(crate) node: usize,
    /// Each process is in a network of its own.
    pub(crate) has_network: bool,
    /// Each event is followed to its last consumer before the next one; otherwise as many as go.
    pub(crate) follows: bool,
    /// Microseconds from one event to the next if they are followed.
    pub(crate) pace: u64,
}

impl Order {
    /// Reads the command line: what is not for figures is [`Task`]'s.
    pub(crate) fn parse(words: &[String]) -> Result<Self, Wrong> {
        let (mut subscribers, mut nodes, mut node) = (1, 1, 0);
        let (mut has_network, mut follows, mut pace) = (false, false, 1_000);
        let mut others = Vec::new();
        for word in words {
            let (name, value) = word.split_once('=').unwrap_or((word, ""));
            let number = || value.parse::<usize>().map_err(|_| format!("{word}: not a number"));
            match name {
                "subscribers" => subscribers = number()?,
                "nodes" => nodes = number()?,
                "node" => node = number()?,
                "network" => has_network = number()? != 0,
                "follow" => follows = number()? != 0,
                // What nodes lose is the stage's.
                "lossy" => {}
                "pace_us" => pace = u64::try_from(number()?)?,
                _ => others.push(word.clone()),
            }
        }
        if !(1..=64).contains(&subscribers) || !(1..=64).contains(&nodes) || node > nodes {
            return Err("subscribers and nodes are 1 to 64, and node is none above that".into());
        }
        let task = Task::parse(&others)?;
        // Of two processes the one that consumes need not be told which one it is.
        let node = if matches!(task.role, Role::Pong | Role::Sub) { node.max(1) } else { 0 };
        Ok(Self { task, subscribers, nodes, node, has_network, follows, pace })
    }

    /// Events that are pushed before the first of them has come everywhere. A slow network is full with fewer of them.
    fn window(&self) -> u64 {
        if self.has_network { 64 } else { 256 }
    }
}

/// Does what it is asked.
pub(crate) fn run(way: Way, order: &Order) -> Result<(), Wrong> {
    let between = match way {
        Way::Between { carrier, has_ports } => Some((carrier, has_ports)),
        Way::Floor => Some((Carrier::Datagrams, false)),
        Way::Channel | Way::Direct | Way::Channelled => None,
    };
    if order.task.wake == Wake::Spin && matches!(between, Some((Carrier::Gateway(_), _))) {
        cannot("threads of gateways sleep");
        return Ok(());
    }
    match (order.task.role, between) {
        (Role::Early, _) => alone::run(way, order),
        (Role::Ping | Role::Pub, Some((carrier, has_ports))) => publish::run(carrier, has_ports, order),
        (Role::Pong | Role::Sub, Some((carrier, has_ports))) => consume::run(carrier, has_ports, order),
        _ => Err("it has no such role".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_read_and_bounded() {
        let order = |text: &str| {
            let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
            Order::parse(&words)
        };
        let read = order("pub size=1024 subscribers=32 network=1 nodes=8 milliseconds=5").unwrap();
        assert_eq!((read.subscribers, read.nodes, read.node, read.task.size), (32, 8, 0, 1_024));
        assert!(read.has_network && !read.follows && read.window() == 64);
        for wrong in
            ["pub subscribers=0", "pub subscribers=65", "sub nodes=2 node=3", "pub follow=yes", "pub x=1"]
        {
            assert!(order(wrong).is_err(), "{wrong}");
        }
    }
}
