//! Writes a recording.
use std::collections::BTreeMap;
use std::io::{self, Seek, Write};

use mcap::records::MessageHeader;
use mcap::{McapError, WriteOptions};

use crate::channel::{CDR, Channel, ENDS, End, IDL, OF};

/// Bytes of samples that are written together.
const CHUNK: u64 = 1 << 20;

/// A recording that is written: samples come in the order of their times, more or less.
pub struct Recorder<W: Write + Seek> {
    writer: mcap::Writer<W>,
    /// The channel that tells of the ends of instances, of those that have one.
    ends: BTreeMap<u16, u16>,
    topics: BTreeMap<u16, String>,
    sequence: u32,
}

impl<W: Write + Seek> Recorder<W> {
    /// Begins a recording whose samples are written together, a mebibyte at a time.
    ///
    /// # Errors
    /// What `file` says.
    pub fn new(file: W) -> io::Result<Self> {
        Self::with(file, true)
    }

    /// Begins a recording whose samples are written one by one: after [`Recorder::flush`] only what belongs to them is in the file, without the
    /// frame of a chunk around each.
    ///
    /// # Errors
    /// As [`Recorder::new`].
    pub fn one_by_one(file: W) -> io::Result<Self> {
        Self::with(file, false)
    }

    fn with(file: W, in_chunks: bool) -> io::Result<Self> {
        let options = WriteOptions::new()
            .use_chunks(in_chunks)
            .compression(None)
            .profile("")
            .library(concat!("punctual ", env!("CARGO_PKG_VERSION")))
            .chunk_size(Some(CHUNK))
            // Chunks are written at once then: what is in the file is whole, whenever the process ends.
            .disable_seeking(true);
        let writer = options.create(file).map_err(plain)?;
        Ok(Self { writer, ends: BTreeMap::new(), topics: BTreeMap::new(), sequence: 0 })
    }

    /// A channel for samples.
    ///
    /// # Errors
    /// What the file says, and `Other` if there are 65,536 channels.
    pub fn channel(&mut self, of: &Channel) -> io::Result<u16> {
        let schema = match &of.idl {
            Some(idl) => self.writer.add_schema(&of.type_name, IDL, idl.as_bytes()).map_err(plain)?,
            None => 0,
        };
        let mut metadata = of.metadata();
        // Two channels that say the same would be one.
        metadata.insert("punctual.number".to_owned(), self.topics.len().to_string());
        let channel = self.writer.add_channel(schema, &of.topic, CDR, &metadata).map_err(plain)?;
        self.topics.insert(channel, of.topic.clone());
        Ok(channel)
    }

    /// A sample that came at `time` and was written at `published`, both in nanoseconds since 1970.
    ///
    /// # Errors
    /// What the file says: after an error nothing more can be written.
    pub fn sample(&mut self, channel: u16, time: u64, published: u64, data: &[u8]) -> io::Result<()> {
        self.write(channel, time, published, data)
    }

    /// The end of an instance with this serialized key.
    ///
    /// # Errors
    /// As [`Recorder::sample`].
    pub fn end(&mut self, channel: u16, time: u64, published: u64, end: End, key: &[u8]) -> io::Result<()> {
        let ends = match self.ends.get(&channel) {
            Some(ends) => *ends,
            None => {
                let topic = self.topics.get(&channel).cloned().unwrap_or_default();
                let metadata = BTreeMap::from([(OF.to_owned(), channel.to_string())]);
                let ends = self.writer.add_channel(0, &topic, ENDS, &metadata).map_err(plain)?;
                self.ends.insert(channel, ends);
                ends
            }
        };
        self.write(ends, time, published, &[&[end.byte()], key].concat())
    }

    fn write(&mut self, channel: u16, time: u64, published: u64, data: &[u8]) -> io::Result<()> {
        let header = MessageHeader {
            channel_id: channel,
            sequence: self.sequence,
            log_time: time,
            publish_time: published,
        };
        self.sequence = self.sequence.wrapping_add(1);
        self.writer.write_to_known_channel(&header, data).map_err(plain)
    }

    /// Sees to it that all that was written so far can be read whatever happens to this process.
    ///
    /// # Errors
    /// As [`Recorder::sample`].
    pub fn flush(&mut self) -> io::Result<()> {
        self.writer.flush().map_err(plain)
    }

    /// The file, after the end.
    pub fn into_inner(self) -> W {
        self.writer.into_inner()
    }

    /// Ends the recording, with an index for tools that jump.
    ///
    /// # Errors
    /// As [`Recorder::sample`].
    pub fn finish(&mut self) -> io::Result<()> {
        self.writer.finish().map(drop).map_err(plain)
    }
}

fn plain(error: McapError) -> io::Error {
    match error {
        McapError::Io(error) => error,
        other => io::Error::other(other),
    }
}
