//! The work of a component server, and who carries it out.
use alloc::string::String;
use alloc::vec::Vec;

use assembly::{Catalogue, Named, Value};

use crate::hand_over::{Matched, Position};
use crate::part::{ChainPart, ComponentPart, ContainerPart, GatewayPart, Half, HostWatch, Part};
use crate::protocol::{ChainStatus, ComponentStatus, GatewayStatus};

/// Something to be done with containers and components. What is taken out is kept by its name until it is returned or ended.
#[derive(Clone, PartialEq, Debug)]
pub enum Work {
    /// Makes a container. That without a name may be there already.
    AddContainer(String, ContainerPart),
    /// Removes a container that was made in vain.
    RemoveContainer(String),
    /// Takes a container out.
    TakeContainer(String),
    /// Returns one that was taken out.
    ReturnContainer(String),
    /// Ends one that was taken out.
    EndContainer(String),
    /// Makes a component, with its settings.
    Install(String, ComponentPart),
    /// Removes a component that was made in vain; it may be in the error state.
    Uninstall(String),
    /// Takes a component out with its state.
    Take(String),
    /// Returns one that was taken out.
    Return(String),
    /// Ends one that was taken out.
    End(String),
    /// Gives a component, a setting of it, a value, or its default.
    Set(String, String, Option<Value>),
    /// Makes an end of a connection. One that several connections share is made the first time, and counted.
    Connect(Half),
    /// Takes an end of a connection apart: one that several share, when it was asked for as often as it was to be made.
    Disconnect(String),
    /// Brings a component to rest. One that is not active stays as it is.
    Passivate(String),
    /// Tells a component that it is complete.
    Configured(String),
    /// Lets a component work.
    Activate(String),
    /// Lets a component work that was at rest before: what has come for it meanwhile is dropped.
    ActivateAnew(String),
    /// Makes a component in the error state anew, with its settings. Its connections stay.
    Renew(String, ComponentPart),
    /// Measures these chains instead of those before, on connections that are made from then on.
    Follow(Named<ChainPart>),
    /// Looks for stalls of the host and compares clocks so, instead of as before.
    Watch(HostWatch),
    /// Has what comes from elsewhere wait, at all ends of connections, also at those that are made later.
    Hold,
    /// Hands on what has waited, of each publisher after this position; all of it where there is none.
    Release(Vec<Position>),
    /// Says which endpoints elsewhere the ends of connections are matched with.
    Matches,
    /// Waits for a time until what came before these events is handed on.
    CatchUp(Vec<Position>),
    /// Waits until the ends of connections are matched with all of these. Says from which event of each publisher on they have all.
    AwaitMatches(Vec<Matched>),
    /// Waits until no event waits for a component inside the process.
    Drain(String),
    /// Waits until what was published has arrived, as far as that is known.
    Settle,
    /// Has a component write its state. One in the error state has none.
    Freeze(String),
    /// Gives a component the state of a former one.
    Thaw(String, Vec<u8>),
    /// Says how far the ends of connections have come.
    Positions,
    /// Says which event was published last by each end that publishes to other processes.
    Published,
    /// The works of the next kinds that wait, up to [`Work::EndInterval`], wait so many nanoseconds at most from now on, all together.
    Within(u64),
    /// Waits until what was published up to these events has been handed on.
    Arrive(Vec<Position>),
    /// The same for events that may be lost: they are waited for a short time, and what of them comes later is dropped.
    ArriveOrSkip(Vec<Position>),
    /// Waits until nothing of what came by these ends waits for a component.
    Finish(String, Vec<String>),
    /// Waits until what has come to the gateway was handed on.
    HandedOn,
    /// Waits until what was published by the gateway has come to the gateways that it is for.
    Acknowledged,
    /// Waits for the end of an interval of a component's timers in logical execution time: what has come to it by now was read, and what was
    /// published because of that has gone out. If this is said, no interval begins after it until the component is activated.
    EndInterval(String, bool),
    /// Lets these timers begin intervals again.
    GoOn(String),
    /// Sets aside what a join, by the name of its end, keeps: it delivers nothing of that.
    SetAside(String),
    /// Gives a join back what was set aside last.
    PutBack(String),
    /// Drops what was set aside of a join.
    DropAside(String),
    /// Has this gateway instead of the one before. No end of a connection by the one before is there.
    Gateway(Option<GatewayPart>),
}

/// The result of a piece of work.
#[derive(Clone, PartialEq, Debug)]
pub enum Performed {
    /// It is done.
    Done,
    /// There was nothing to do.
    Unchanged,
    /// A setting had this value.
    Was(Value),
    /// The matched endpoints.
    Matched(Vec<Matched>),
    /// The state of a component.
    Frozen(Vec<u8>),
    /// How far ends of connections have come.
    Positions(Vec<Position>),
    /// So many events were set aside.
    Aside(u64),
}

/// Carries out the work of a component server.
pub trait Executor {
    /// The types that it can make.
    fn types(&self) -> &Catalogue;

    /// Looks whether it can do a part of a plan, and changes nothing. Says what of it will not be as it says.
    ///
    /// # Errors
    /// The part that it cannot carry out, with advice.
    fn check(&mut self, part: &Part) -> Result<Vec<String>, String>;

    /// Does something.
    ///
    /// # Errors
    /// Why it is not done; then it is as before, except that a component whose hook failed is in the error state.
    fn perform(&mut self, work: &Work) -> Result<Performed, String>;

    /// Its components in the error state.
    fn failed(&self) -> Vec<String> {
        Vec::new()
    }

    /// Its components.
    fn status(&mut self) -> Vec<ComponentStatus>;

    /// The chains that end here, as they were measured.
    fn chains(&mut self) -> Vec<ChainStatus>;

    /// Its gateway, if it has one.
    fn gateway(&mut self) -> Option<GatewayStatus>;

    /// What the system has refused to its threads.
    fn refused(&self) -> Vec<String> {
        Vec::new()
    }

    /// Ends everything in reverse order; says what went wrong meanwhile.
    fn stop(&mut self) -> Vec<String>;
}
