//! A reader whose samples are handed in one by one, on a virtual clock.
#![allow(dead_code, unreachable_pub, reason = "each test file uses a part of this module")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops at once")]
use dcps::qos::DataReaderQos;
use dcps::reader::{DataReader, DropReason, MatchedPublication, Request, Sample, Which};
use dcps::{CdrTypeSupport, InstanceHandle, InstanceState, States};
use derive::DdsType;
use rtps::reader::{Accept, Sample as Received, SamplePayload, Sink};
use wire::cdr::{DdsType as _, Encoding, Representation};
use wire::parameter::{InlineQos, StatusInfo};
use wire::qos::{History, Reliability};
use wire::{Duration, EntityId, EntityKind, Guid, GuidPrefix, Now, SequenceNumber, Timestamp};

#[derive(DdsType, Debug, PartialEq, Clone, Copy)]
pub struct Reading {
    #[dds(key)]
    pub id: u32,
    pub value: u32,
}

pub fn writer(index: u8) -> Guid {
    Guid::new(GuidPrefix([index; 12]), EntityId::user(1, EntityKind::WriterWithKey))
}

pub fn reader() -> Guid {
    Guid::new(GuidPrefix([9; 12]), EntityId::user(1, EntityKind::ReaderWithKey))
}

pub fn data(id: u32, value: u32) -> Vec<u8> {
    let mut out = Vec::new();
    Reading { id, value }.encode_payload(Encoding::XCDR1, &mut out).unwrap();
    out
}

pub fn key(id: u32) -> Vec<u8> {
    let mut out = Vec::new();
    Reading { id, value: 0 }.encode_key_payload(Encoding::XCDR1, &mut out).unwrap();
    out
}

pub fn value(sample: &Sample) -> Option<u32> {
    let payload = sample.payload.as_ref()?;
    Some(Reading::decode_payload(payload.bytes()).unwrap().value)
}

pub fn handle(id: u32) -> InstanceHandle {
    Reading { id, value: 0 }.key_hash(Representation::Xcdr2, &mut Vec::new()).unwrap().into()
}

pub const fn ms(millis: i64) -> Duration {
    Duration::from_millis(millis)
}

pub struct Desk {
    pub now: Now,
    pub reader: DataReader<CdrTypeSupport<Reading>>,
    numbers: [i64; 256],
}

impl Desk {
    /// A reader that is matched with writers 1, 2 and 3, whose strengths are 1, 2 and 3.
    pub fn new(change: impl FnOnce(&mut DataReaderQos)) -> Self {
        let mut qos = DataReaderQos::default();
        qos.endpoint.reliability = Reliability::RELIABLE;
        qos.endpoint.history = History::KeepAll;
        change(&mut qos);
        let reader = DataReader::new(reader(), qos, CdrTypeSupport::new()).unwrap();
        let mut desk = Self { now: Now::default(), reader, numbers: [0; 256] };
        desk.wait(ms(1_000));
        for index in 1..=3 {
            desk.connect(index, |_| {});
        }
        desk
    }

    pub fn connect(&mut self, index: u8, change: impl FnOnce(&mut MatchedPublication)) {
        let mut matched = MatchedPublication {
            guid: writer(index),
            ownership_strength: i32::from(index),
            lifespan: Duration::INFINITE,
            representation: Representation::Xcdr1,
        };
        change(&mut matched);
        self.reader.match_publication(matched);
    }

    /// Time passes; timers fire when they are due.
    pub fn wait(&mut self, span: Duration) {
        let end = self.now.monotonic.after(span);
        let wall_end = self.now.wall.after(span);
        loop {
            let next = self.reader.poll_timeout();
            if next > end {
                break;
            }
            let next = next.max(self.now.monotonic);
            self.now.wall = self.now.wall.after(next.since(self.now.monotonic));
            self.now.monotonic = next;
            self.reader.on_timeout(self.now);
            assert!(self.reader.poll_timeout() > next, "a timer that is due was not served");
        }
        (self.now.monotonic, self.now.wall) = (end, wall_end);
    }

    pub fn put(
        &mut self,
        from: u8,
        qos: InlineQos,
        is_key: bool,
        payload: &[u8],
        at: Option<Timestamp>,
    ) -> Accept {
        let number = &mut self.numbers[usize::from(from)];
        *number += 1;
        let mut sample = Received {
            writer: writer(from),
            sequence_number: SequenceNumber(*number),
            source_timestamp: at,
            inline_qos: qos,
            is_key,
            payload: if payload.is_empty() { SamplePayload::None } else { SamplePayload::Datagram(payload) },
        };
        let accept = self.reader.sink(self.now).deliver(&mut sample);
        if accept == Accept::Full {
            self.numbers[usize::from(from)] -= 1;
        }
        accept
    }

    pub fn write(&mut self, from: u8, id: u32, value: u32) -> Accept {
        let now = self.now.wall;
        self.put(from, InlineQos::default(), false, &data(id, value), Some(now))
    }

    pub fn write_at(&mut self, from: u8, id: u32, value: u32, millis: i64) -> Accept {
        let at = Timestamp::from_nanos(millis * 1_000_000);
        self.put(from, InlineQos::default(), false, &data(id, value), Some(at))
    }

    pub fn end(&mut self, from: u8, id: u32, status_info: StatusInfo) -> Accept {
        let now = self.now.wall;
        self.put(from, InlineQos { status_info, ..InlineQos::default() }, true, &key(id), Some(now))
    }

    pub fn dispose(&mut self, from: u8, id: u32) -> Accept {
        self.end(from, id, StatusInfo::DISPOSED)
    }

    pub fn unregister(&mut self, from: u8, id: u32) -> Accept {
        self.end(from, id, StatusInfo::UNREGISTERED)
    }

    pub fn access(&mut self, request: &Request) -> Vec<Sample> {
        let mut out = Vec::new();
        let count = self.reader.access(self.now, request, &mut out).unwrap();
        assert_eq!(count, out.len());
        out
    }

    pub fn take(&mut self) -> Vec<Sample> {
        self.access(&Request::TAKE)
    }

    /// Takes everything and gives the values, `None` for samples without data.
    pub fn values(&mut self) -> Vec<Option<u32>> {
        self.take().iter().map(value).collect()
    }

    /// The state of an instance with samples.
    pub fn state(&mut self, id: u32) -> Option<InstanceState> {
        let request = Request { which: Which::Instance(handle(id)), states: States::ANY, ..Request::READ };
        let mut out = Vec::new();
        self.reader.access(self.now, &request, &mut out).ok()?;
        out.first().map(|sample| sample.info.instance_state)
    }

    pub fn dropped(&self, reason: DropReason) -> u64 {
        self.reader.dropped(reason).count
    }
}
