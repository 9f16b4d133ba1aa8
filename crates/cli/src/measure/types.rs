//! What is sent.
use dds::DdsType;

/// A ping and its answer.
#[derive(DdsType, Clone, Default, Debug)]
#[dds(final)]
pub(super) struct Probe {
    /// Who asks.
    pub(super) asker: u64,
    /// Which ping of that asker.
    pub(super) number: u64,
    /// The asker's time of day at the call of write, in nanoseconds since 1970.
    pub(super) sent: i64,
    /// In the answer: the answerer's time of day when it had taken the ping.
    pub(super) received: i64,
    /// In the answer: the answerer's time of day at the call of write.
    pub(super) answered: i64,
    /// In the answer: which clock that is.
    pub(super) clock: u64,
    /// As many bytes as were asked for.
    pub(super) data: Vec<u8>,
}

impl Probe {
    /// The number of a ping that only asks whether answers arrive; it is not counted.
    pub(super) const GREETING: u64 = u64::MAX;
}

/// A sample of a load without instances.
#[derive(DdsType, Clone, Default, Debug)]
#[dds(final)]
pub(super) struct Load {
    pub(super) head: LoadHead,
    pub(super) data: Vec<u8>,
}

/// A sample of a load with instances.
#[derive(DdsType, Clone, Default, Debug)]
#[dds(final)]
pub(super) struct KeyedLoad {
    #[dds(key)]
    pub(super) key: u32,
    pub(super) head: LoadHead,
    pub(super) data: Vec<u8>,
}

/// What is known about each sample of a load.
#[derive(DdsType, Clone, Copy, Default, Debug)]
#[dds(final)]
pub(super) struct LoadHead {
    /// From 0, one more each time.
    pub(super) number: u64,
    /// The writer's time of day at which it was due, or without a rate at the call of write; nanoseconds since 1970.
    pub(super) due: i64,
    /// Which clock that is.
    pub(super) clock: u64,
}

/// A load with or without instances.
pub(super) trait AnyLoad: DdsType + Clone + Default + Send + Sync + 'static {
    /// Name of the type and, after the prefix, of the topic.
    const NAME: &'static str;
    /// What is known about it.
    fn head(&self) -> &LoadHead;
    /// Makes it the next sample of an instance.
    fn set(&mut self, key: u32, head: LoadHead);
    /// The bytes.
    fn data(&self) -> &[u8];
    /// Sets the bytes.
    fn set_data(&mut self, data: Vec<u8>);
    /// What is known about a serialized one, without its bytes; `None` if it is none.
    fn read_head(payload: &[u8]) -> Option<LoadHead>;
}

/// A load up to its bytes.
#[derive(DdsType, Clone, Default, Debug)]
#[dds(final)]
struct LoadStart {
    head: LoadHead,
}

/// A keyed load up to its bytes.
#[derive(DdsType, Clone, Default, Debug)]
#[dds(final)]
struct KeyedLoadStart {
    #[dds(key)]
    key: u32,
    head: LoadHead,
}

impl AnyLoad for Load {
    const NAME: &'static str = "Load";

    fn head(&self) -> &LoadHead {
        &self.head
    }

    fn set(&mut self, _: u32, head: LoadHead) {
        self.head = head;
    }

    fn data(&self) -> &[u8] {
        &self.data
    }

    fn set_data(&mut self, data: Vec<u8>) {
        self.data = data;
    }

    fn read_head(payload: &[u8]) -> Option<LoadHead> {
        LoadStart::decode_payload(payload).ok().map(|start| start.head)
    }
}

impl AnyLoad for KeyedLoad {
    const NAME: &'static str = "KeyedLoad";

    fn head(&self) -> &LoadHead {
        &self.head
    }

    fn set(&mut self, key: u32, head: LoadHead) {
        self.key = key;
        self.head = head;
    }

    fn data(&self) -> &[u8] {
        &self.data
    }

    fn set_data(&mut self, data: Vec<u8>) {
        self.data = data;
    }

    fn read_head(payload: &[u8]) -> Option<LoadHead> {
        KeyedLoadStart::decode_payload(payload).ok().map(|start| start.head)
    }
}
