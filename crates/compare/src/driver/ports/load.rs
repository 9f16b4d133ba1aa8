//! What is published, and the components that publish and consume it.
use std::sync::Arc;

use container::{
    Component, Consumer, Context, Event, Handle, Lifecycle, Locality, Outcome, Policy, Publisher, Server,
};
use dds::DdsType;

use super::super::measure::{FILLING, Wrong};
use super::board::Board;

/// The number of events that only show that a peer is there.
pub(super) const HELLO: u64 = u64::MAX;

/// An event.
#[derive(DdsType, Default, Debug)]
#[dds(final)]
pub(super) struct Load {
    pub(super) number: u64,
    /// When it was pushed, by the clock that all processes of the machine have.
    pub(super) stamp: u64,
    pub(super) data: Vec<u8>,
}

impl Load {
    pub(super) fn new(size: usize) -> Self {
        Self { number: HELLO, stamp: 0, data: vec![FILLING; size] }
    }

    /// What consumers look at.
    pub(super) fn seen(&self) -> Seen<'_> {
        Seen { number: self.number, stamp: self.stamp, data: &self.data }
    }
}

/// An event as its consumers see it, whatever it came in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen<'a> {
    pub(super) number: u64,
    pub(super) stamp: u64,
    pub(super) data: &'a [u8],
}

impl Seen<'_> {
    /// Whether its data are as they were published.
    pub(super) fn is_whole(&self, size: usize) -> bool {
        self.data.len() == size && self.data.iter().fold(0, |wrong, byte| wrong | (byte ^ FILLING)) == 0
    }
}

impl Clone for Load {
    fn clone(&self) -> Self {
        Self { number: self.number, stamp: self.stamp, data: self.data.clone() }
    }

    fn clone_from(&mut self, other: &Self) {
        (self.number, self.stamp) = (other.number, other.stamp);
        self.data.clone_from(&other.data);
    }
}

impl Event for Load {}

/// Publishes.
#[derive(Component)]
pub(super) struct Tap {
    pub(super) out: Publisher<Load>,
}

impl Lifecycle for Tap {}

/// Consumes, and says so.
#[derive(Component)]
pub(super) struct Taker {
    input: Consumer<Load>,
    board: Option<Arc<Board>>,
    index: usize,
}

impl Lifecycle for Taker {}

impl Handle<taker::Input> for Taker {
    fn handle(&mut self, load: &Load, _: &Context) -> Outcome {
        if let Some(board) = &self.board {
            board.take(self.index, load.seen());
        }
        Ok(())
    }
}

/// A server with a container.
pub(super) fn server() -> Result<Server, Wrong> {
    let mut server = Server::new(&Locality::default());
    server.container("box", Policy::default())?;
    Ok(server)
}

/// Installs so many takers, and gives the names of their ports.
pub(super) fn takers(server: &mut Server, count: usize, board: &Arc<Board>) -> Result<Vec<String>, Wrong> {
    (0..count)
        .map(|index| {
            let name = format!("t{index}");
            server.install::<Taker>("box", &name, &[])?;
            let entry = server.entry::<Taker>(&name).ok_or("a component is missing")?;
            entry.with(|taker, _| (taker.board, taker.index) = (Some(Arc::clone(board)), index))?;
            Ok(format!("{name}.input"))
        })
        .collect()
}

/// What a consumer is without a component: a call by a table.
pub(super) type Call = Box<dyn Fn(Seen<'_>) + Send + Sync>;

/// So many of them.
pub(super) fn calls(count: usize, board: &Arc<Board>) -> Vec<Call> {
    let one = |index| {
        let board = Arc::clone(board);
        Box::new(move |seen: Seen<'_>| board.take(index, seen)) as Call
    };
    (0..count).map(one).collect()
}
