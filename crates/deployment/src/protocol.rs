//! Messages between the supervisor and component servers, and between commands and the supervisor. Each is a line of JSON.
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::hand_over::{Frozen, HandedOver, Matched, Position};

/// Bytes of the longest line between supervisor and component server: a plan of a MiB, each byte of which may need six in JSON, and some.
pub const LONGEST_LINE: usize = 8 << 20;
/// Bytes of the longest line of a command.
pub const LONGEST_REQUEST: usize = 64 << 10;

/// The environment variable of a component server that outlives its supervisor: so many milliseconds after one is gone it ends, unless the next one
/// has come. Without it, it goes on.
pub const LEASE: &str = "PUNCTUAL_LEASE";

/// An instruction to a component server. A server that gets the same again answers the same again, and does nothing.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Instruction {
    /// Looks whether the process can do its part of a plan, and changes nothing.
    PreparePlan {
        /// Which change of the deployment it is: each has a larger number than the one before.
        epoch: u64,
        /// Which process of the plan this is.
        process: String,
        /// The plan as TOML.
        plan: String,
    },
    /// Does some steps of the change.
    Perform {
        /// The change.
        epoch: u64,
        /// Which of its parts: from 0, each one more than the one before.
        number: u32,
        /// Where in the change it is.
        phase: Phase,
        /// The steps, in this order.
        orders: Vec<Order>,
    },
    /// The change holds; what it has taken out ends for good.
    Commit {
        /// The change.
        epoch: u64,
    },
    /// The change does not come about: everything is as it was before.
    Abort {
        /// The change.
        epoch: u64,
    },
    /// Says what there is.
    Status {
        /// A number to be told in the answer.
        number: u64,
    },
    /// Ends everything in reverse order, and then the process.
    Stop,
}

/// Where in a change something is. The phases are those of the Deployment and Configuration specification, after one in which what goes is
/// brought to rest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// Processes are started, and look at the plan.
    PreparePlan,
    /// Where the next plan says so: what publishes comes to rest, and what was published is handled.
    Quiesce,
    /// Components that leave or change get no more events, are disconnected and taken out.
    Passivate,
    /// New components are installed, and get their settings.
    StartLaunch,
    /// Ports are connected, and components are told.
    FinishLaunch,
    /// A process of another build goes on in the place of the former one.
    HandOver,
    /// Components get events.
    Start,
}

/// A step of a change, of what is in the process.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Order {
    /// A component gets no more events and calls.
    Passivate(String),
    /// The process' ends of a connection are taken apart.
    Disconnect(String),
    /// A component is taken out.
    Remove(String),
    /// A container is taken out.
    RemoveContainer(String),
    /// A container is made.
    AddContainer(String),
    /// A component is made.
    Install(String),
    /// A component gets the value that the plan has for a setting, or the default.
    Set(String, String),
    /// The process' ends of a connection are made.
    Connect(String),
    /// A component has its settings and connections.
    Configured(String),
    /// A component gets events and calls.
    Activate(String),
    /// A component that the change has brought to rest, and that goes on, gets events and calls again. One that has failed before stays as it is.
    Resume(String),
    /// What comes from elsewhere waits from now on, also at ends of connections that are made later.
    Hold,
    /// Tells which endpoints elsewhere the ends of connections are matched with.
    TellMatched,
    /// Waits until the ends of connections are matched with these, and tells from which event on they have all.
    AwaitMatched(Vec<Matched>),
    /// What comes from elsewhere is handled up to these events, and waits from then on. These components come to rest one after the other, and
    /// their states are told.
    HandOver(Vec<String>, Vec<Position>),
    /// Components get the states of former ones.
    TakeOver(Vec<Frozen>),
    /// What has waited goes on, of each publisher after what was handled already.
    Release(Vec<Position>),
    /// Tells the last event that was published by each of these connections, which go by topics.
    TellPublished(Vec<String>),
    /// What was published by these connections, up to these events where they come from other processes, is handled here.
    Finish {
        /// The connections.
        connections: Vec<String>,
        /// The last event of each publisher that goes by a topic; the end is the connection.
        published: Vec<Position>,
        /// Picoseconds that it may take, with all other orders of the part.
        limit: u64,
    },
    /// The timers of a component in logical execution time come to the end of an interval: what has come until now was read, and what was published
    /// because of that has gone out.
    EndInterval {
        /// The component.
        component: String,
        /// No interval begins after it until the component works again.
        is_last: bool,
        /// Picoseconds that it may take, with all other orders of the part.
        limit: u64,
    },
    /// What the conjunctions of these ports keep is set aside, and given up once the change is decided.
    SetAside(Vec<String>),
    /// What was published by the gateway has come to the gateways that it is for.
    Acknowledge {
        /// Picoseconds that it may take, with all other orders of the part.
        limit: u64,
    },
}

impl Order {
    /// Whether it is for a process that is handed over, and not for the one in its place.
    pub(crate) const fn is_of_former(&self) -> bool {
        matches!(self, Self::TellMatched | Self::HandOver(..))
    }

    /// How many picoseconds it may wait for what was published.
    pub(crate) const fn limit_mut(&mut self) -> Option<&mut u64> {
        match self {
            Self::Finish { limit, .. } | Self::EndInterval { limit, .. } | Self::Acknowledge { limit } => {
                Some(limit)
            }
            _ => None,
        }
    }
}

/// An answer of a component server, or a report.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Answer {
    /// It is there. Told first, by itself.
    Hello {
        /// The version of what is told: 1.
        protocol: u32,
        /// The build of the program.
        build: String,
    },
    /// What it is: told after [`Answer::Hello`] by a process that outlives its supervisor, to each that connects.
    Present {
        /// Which process of its plan it is; empty before it was told.
        process: String,
        /// Its process id.
        pid: u32,
        /// The last change that has ended for it.
        last: Option<u64>,
        /// The change that is under way.
        change: Option<u64>,
    },
    /// It can do its part.
    Prepared {
        /// The change.
        epoch: u64,
        /// Parts of the plan that are not carried out as they say.
        warnings: Vec<String>,
    },
    /// It has done what it was told.
    Done {
        /// The change.
        epoch: u64,
        /// The number of the step within the change.
        number: u32,
        /// What it hands over to the process in its place.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        handed: Option<HandedOver>,
    },
    /// The change holds.
    Committed {
        /// The change.
        epoch: u64,
    },
    /// All is as it was before.
    Aborted {
        /// The change.
        epoch: u64,
    },
    /// It cannot do what it was told, and waits for what becomes of the change.
    Failed {
        /// The change.
        epoch: u64,
        /// What went wrong, where, and what to do.
        what: String,
    },
    /// It could not make everything as it was before: it has to be started anew.
    Broken {
        /// The change.
        epoch: u64,
        /// What went wrong.
        what: String,
    },
    /// The state of the components.
    Status {
        /// The number of the question.
        number: u64,
        /// Its components.
        components: Vec<ComponentStatus>,
        /// The chains that end in it.
        #[serde(default)]
        chains: Vec<ChainStatus>,
        /// Its gateway, if it has one.
        #[serde(default)]
        gateway: Option<GatewayStatus>,
        /// What the system has refused to its threads, such as a priority: bounds do not hold without it.
        #[serde(default)]
        refused: Vec<String>,
    },
    /// Something went wrong by itself, such as a component that failed.
    Report {
        /// What went wrong.
        what: String,
    },
    /// All is ended; the process ends now.
    Stopped,
}

/// The state of a component.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ComponentStatus {
    /// Its name.
    pub name: String,
    /// Its type.
    pub component_type: String,
    /// Its container; empty for that of components without one.
    pub container: String,
    /// Where it is in its life: inactive, active, suspended, passive, changing, error.
    pub state: String,
    /// Deliveries that its queues have handed out.
    pub taken: u64,
    /// Deliveries that gave way because a queue was full.
    pub dropped: u64,
    /// Events that did not reach it because it was not active.
    pub missed: u64,
    /// Handlers that returned an error.
    pub failed: u64,
    /// How often it was made anew after a failure.
    #[serde(default)]
    pub restarts: u32,
    /// Deliveries a second, in thousandths, since the question before; at the first one, since its process is there. Supervisors fill it in.
    #[serde(default)]
    pub millihertz: u64,
    /// How long its handlers took, where that is measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub handlers: Vec<HandlerStatus>,
}

/// Processor time of a handler.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct HandlerStatus {
    /// The port whose handler it is.
    pub port: String,
    /// How often it was called since its component has been there.
    pub count: u64,
    /// The longest time of a call, in nanoseconds: without that of handlers that it called directly in turn, and without that of other threads.
    pub worst: u64,
}

/// The state of a gateway, with counts since its start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct GatewayStatus {
    /// The gateways that it is to be connected with.
    pub peers: u32,
    /// Those that it is connected with.
    pub up: u32,
    /// Events that its process published.
    pub published: u64,
    /// Transfers of events to peers and groups.
    pub transfers: u64,
    /// Events that came for its process.
    pub delivered: u64,
    /// Destinations of events that were given up.
    pub given_up: u64,
    /// Fragments that were sent again.
    pub repairs: u64,
    /// Events that had come before, and were refused.
    pub doubles: u64,
    /// Datagrams that were sent.
    pub datagrams: u64,
    /// Bytes of these.
    pub bytes: u64,
}

/// A chain as it was measured since the process that it ends in began, or a connection, whose latency is its reaction. Times are nanoseconds.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ChainStatus {
    /// Its name.
    pub name: String,
    /// How often its last handler has ended.
    pub completions: u64,
    /// The reaction to events.
    pub reaction: Spread,
    /// The age of data behind completions.
    pub age: Spread,
    /// Events that were answered by later ones, and of which is not known when they began.
    pub unknown: u64,
    /// How long the oldest event has waited that was not answered, if that is longer than it may be.
    pub overdue: Option<u64>,
    /// Completions with stamps of the clock of another machine.
    pub foreign: u64,
    /// The times at its ports, summed over all completions.
    pub hops: Vec<HopStatus>,
}

/// How times are distributed, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Spread {
    /// How many there are.
    pub count: u64,
    /// Half of them are at most so long.
    pub median: u64,
    /// Of a hundred, 99 are at most so long.
    pub most_of_hundred: u64,
    /// The longest one.
    pub worst: u64,
    /// How many exceeded the limit for certain.
    pub exceeded: u64,
    /// By how much each may be wrong at most, since clocks of several machines were read.
    #[serde(default)]
    pub error: u64,
    /// How many exceeded the limit or not, since that is less than the error.
    #[serde(default)]
    pub possibly: u64,
}

/// The time that chains spend at a port, in nanoseconds.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct HopStatus {
    /// Its name, as `component.port`.
    pub port: String,
    /// From the push in another process to the arrival.
    pub transfer: u64,
    /// From the arrival to the beginning of the handler.
    pub wait: u64,
    /// In the handler.
    pub run: u64,
}

/// What is proved of a chain.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Proof {
    /// It keeps its limits.
    Proved,
    /// It keeps its limits as far as measured times hold.
    Conditional,
    /// Nothing, or that it may exceed a limit.
    #[default]
    None,
}

/// A chain of the plan: its limits, what is proved, and what was measured. Times are nanoseconds.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ChainReport {
    /// Its name.
    pub name: String,
    /// Whether it is proved to keep its limits.
    pub proof: Proof,
    /// The most reaction that it may have.
    pub reaction: Option<u64>,
    /// The bound of the reaction.
    pub reaction_bound: Option<u64>,
    /// The most age that it may have.
    pub age: Option<u64>,
    /// The bound of the age.
    pub age_bound: Option<u64>,
    /// What was measured, if the process in which it ends has answered.
    pub measured: Option<ChainStatus>,
    /// Why it is not measured.
    pub unmeasured: Option<String>,
}

/// A connection of the plan with a limit of its latency, to one of its ends. Times are nanoseconds.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ConnectionReport {
    /// Its name.
    pub name: String,
    /// The end, as `component.port`.
    pub to: String,
    /// Whether it is proved to keep its limit.
    pub proof: Proof,
    /// The most latency that it may have.
    pub latency: u64,
    /// The bound of the latency.
    pub latency_bound: Option<u64>,
    /// What was measured, if the process of the consumer has answered.
    pub measured: Option<ConnectionStatus>,
    /// Why it is not measured.
    pub unmeasured: Option<String>,
}

/// The latency of a connection as it was measured since the process of its consumer began. Times are nanoseconds.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ConnectionStatus {
    /// How often the handler has ended.
    pub completions: u64,
    /// From the push to the end of the handler.
    pub latency: Spread,
    /// Events with stamps of the clock of another machine of which nothing is known.
    pub foreign: u64,
    /// Where the time went, summed over all that have ended: from the push in another process to the arrival.
    pub transfer: u64,
    /// From the arrival, or the push, to the beginning of the handler.
    pub wait: u64,
    /// In the handler.
    pub run: u64,
}

/// A request of a command to the supervisor.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Control {
    /// Asks for the state of the plan.
    Status,
    /// Goes on to another plan.
    Apply {
        /// The file, as an absolute path.
        plan: String,
    },
    /// Goes on to another mode of the plan.
    Mode {
        /// Its name.
        name: String,
    },
    /// Lets a connection of the plan carry nothing until it is resumed.
    Suspend {
        /// Its name.
        connection: String,
    },
    /// Lets a connection go on that is suspended.
    Resume {
        /// Its name.
        connection: String,
    },
    /// Ends everything.
    Stop,
}

/// An answer of the supervisor to a command.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum ControlAnswer {
    /// The state of the plan.
    Status(PlanStatus),
    /// It was done.
    Done {
        /// Notes such as warnings.
        notes: Vec<String>,
    },
    /// It was not done; everything is as it was before.
    Refused {
        /// Why, and what to do.
        what: String,
    },
}

/// The state of a plan on this host.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PlanStatus {
    /// The deployment.
    pub deployment: String,
    /// The plan's file.
    pub plan: String,
    /// How many changes there were that hold; the launch is the first.
    pub changes: u64,
    /// The mode that holds, if the plan has modes.
    #[serde(default)]
    pub mode: Option<String>,
    /// The modes that the plan has.
    #[serde(default)]
    pub modes: Vec<String>,
    /// The connections that are suspended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub suspended: Vec<String>,
    /// The change that is under way, if there is one.
    pub under_way: Option<String>,
    /// The processes of this host.
    pub processes: Vec<ProcessStatus>,
    /// The chains of the plan.
    #[serde(default)]
    pub chains: Vec<ChainReport>,
    /// The connections of the plan whose latency has a limit.
    #[serde(default)]
    pub connections: Vec<ConnectionReport>,
}

/// The state of a process.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ProcessStatus {
    /// Its name.
    pub name: String,
    /// running, starting, waiting (for its next start), failed, or ended.
    pub state: String,
    /// Its process id, while there is one.
    pub pid: Option<u32>,
    /// How often it was started again.
    pub restarts: u32,
    /// Why it ended the last time, if it did.
    pub last: Option<String>,
    /// Its components; none while it is not running, or does not answer.
    pub components: Vec<ComponentStatus>,
    /// Its gateway, if it has one and answers.
    #[serde(default)]
    pub gateway: Option<GatewayStatus>,
    /// What the system has refused to its threads, such as a priority: bounds do not hold without it.
    #[serde(default)]
    pub refused: Vec<String>,
}

/// A line that is no message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProtocolError(String);

impl fmt::Display for ProtocolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for ProtocolError {}

/// Writes a message as a line, with its line feed.
///
/// # Errors
/// Never, for the types of this crate.
pub fn line(told: &impl Serialize) -> Result<String, ProtocolError> {
    let text = serde_json::to_string(told).map_err(|error| ProtocolError(error.to_string()))?;
    Ok(text + "\n")
}

/// Reads a message from a line.
///
/// # Errors
/// The line is no message of this type.
pub fn read<T: DeserializeOwned>(line: &str) -> Result<T, ProtocolError> {
    serde_json::from_str(line).map_err(|error| {
        let part: String = line.chars().take(80).flat_map(char::escape_default).collect();
        ProtocolError(format!("{error}, in {part}: both ends have to be of one version"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_is_read_as_the_same() {
        let told = Instruction::Perform {
            epoch: 3,
            number: 0,
            phase: Phase::StartLaunch,
            orders: [Order::Install("gps".into()), Order::Set("gps".into(), "a\n".into())].into(),
        };
        let text = line(&told).unwrap();
        assert_eq!(text.matches('\n').count(), 1);
        assert_eq!(read(&text), Ok(told));
        assert_eq!(line(&Instruction::Stop).unwrap(), "\"stop\"\n");
        assert_eq!(read("\"stop\""), Ok(Control::Stop));
    }

    #[test]
    fn anything_else_is_refused() {
        for text in
            ["", "{}", "\"stopp\"", "{\"commit\":{\"epoch\":-1}}", "{\"commit\":{\"epoch\":1,\"x\":2}}"]
        {
            let error = read::<Instruction>(text).unwrap_err().to_string();
            assert!(error.contains("one version"), "{text}: {error}");
        }
        let deep = "[".repeat(100_000);
        assert!(read::<Instruction>(&deep).is_err());
    }
}
