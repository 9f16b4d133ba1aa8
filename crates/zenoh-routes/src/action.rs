//! What a bridge wants done.
use alloc::string::String;
use alloc::vec::Vec;

use wire::discovery::EndpointData;

use crate::cache::Message;
use crate::key::BridgeId;

/// A writer of the bridge in the domain of its site, which stands for one of another site.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ProxyId(pub u64);

/// What a bridge wants done. Where a thing is opened twice, or closed that is not open, the bridge is wrong.
#[derive(Clone, PartialEq, Debug)]
pub enum Action {
    /// Declares a liveliness token.
    Announce(String),
    /// Undeclares it.
    Withdraw(String),
    /// Declares a publisher, and tells the bridge of matching subscribers by [`Bridge::matching`](crate::Bridge::matching).
    Declare {
        /// The key.
        key: String,
        /// Questions of `zenoh-plugin-dds` for what writers have kept are answered too.
        durable: bool,
    },
    /// Undeclares it.
    Undeclare(String),
    /// Subscribes to a key and to the ends of its instances.
    Subscribe(String),
    /// Unsubscribes from both.
    Unsubscribe(String),
    /// Makes a reader for samples of writers like this one.
    OpenReader {
        /// Under which number it is told of samples.
        line: u64,
        /// A writer like those that are read.
        like: EndpointData,
    },
    /// Deletes it.
    CloseReader(u64),
    /// Makes a writer like this one.
    OpenWriter {
        /// Which one.
        proxy: ProxyId,
        /// The writer of another site; for samples of foreign programs, the reader of this site that they are for.
        like: EndpointData,
        /// The bridge that announces it, which tells its type; `None` for foreign programs.
        bridge: Option<BridgeId>,
    },
    /// Deletes it.
    CloseWriter(ProxyId),
    /// Sends messages, each with its attachment, one after the other, and tells the end by [`Bridge::sent`](crate::Bridge::sent). That may take long, if a
    /// connection is slow; other keys do not wait for it.
    Put {
        /// Under which key; [`at`](crate::key::at) says where a message of it goes.
        key: String,
        /// The messages.
        messages: Vec<Message>,
        /// They are not dropped if the network is slow for a moment.
        reliable: bool,
    },
    /// Asks a bridge for what it has sent, from a number on; each answer is told by [`Bridge::answer`](crate::Bridge::answer), the end of all by
    /// [`Bridge::answered`](crate::Bridge::answered).
    Ask {
        /// The number of the question.
        question: u64,
        /// Who is asked.
        bridge: BridgeId,
        /// About which key.
        key: String,
        /// From which number on; [`KEPT`](crate::stream::KEPT) for what is kept for late readers, [`HEAD`](crate::stream::HEAD) for the last number
        /// alone.
        from: u64,
    },
    /// Asks each `zenoh-plugin-dds` for what writers of this key have kept; answers are messages.
    AskPlugins(String),
    /// Writes a sample, or ends an instance.
    Write {
        /// By which writer.
        proxy: ProxyId,
        /// What.
        message: Message,
    },
    /// Tells the operator, once for each cause.
    Warn(String),
}
