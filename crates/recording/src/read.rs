//! Reads a recording, from its beginning to its end or to where it is cut.
use std::collections::BTreeMap;
use std::io::Read;
use std::sync::Arc;
use std::{fmt, io};

use mcap::McapError;
use mcap::records::Record;
use mcap::sans_io::linear_reader::{LinearReadEvent, LinearReader, LinearReaderOptions};

use crate::channel::{CDR, Channel, ENDS, End, OF};

/// Bytes of the largest record that is read.
const MAX_RECORD: usize = 256 << 20;
/// Bytes that are read at once: no more is taken from the heap because a file claims that more comes.
const PIECE: usize = 64 << 10;

/// A recording that is read.
pub struct Recording<R: Read> {
    input: R,
    reader: LinearReader,
    schemas: BTreeMap<u16, Schema>,
    channels: BTreeMap<u16, Known>,
    /// Bytes that the reader was given.
    taken: u64,
    is_over: bool,
}

/// A type as the file describes it.
struct Schema {
    name: String,
    encoding: String,
    data: Vec<u8>,
}

/// A channel of the file.
enum Known {
    /// Of samples.
    Samples,
    /// Of the ends of another channel's instances.
    Ends(u16),
    /// It cannot be written again.
    Foreign,
}

/// What a recording goes on with.
#[derive(Clone, PartialEq, Debug)]
pub enum Item {
    /// A channel: its number, and what it is. Its samples follow.
    Channel(u16, Arc<Channel>),
    /// A channel that cannot be written again: its topic, and why.
    Foreign(String, String),
    /// A sample, or the end of an instance.
    Entry(Entry),
}

/// Something that came.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// Number of its channel.
    pub channel: u16,
    /// When it came, in nanoseconds since 1970.
    pub time: u64,
    /// How an instance ended; `None` for a sample.
    pub end: Option<End>,
    /// The serialized sample, or the serialized key.
    pub data: Vec<u8>,
}

/// Why there is no more to read.
#[derive(Debug)]
pub enum ReadError {
    /// It is no MCAP file.
    NoMcap,
    /// It ends, after so many bytes, before it says that it does.
    Cut(u64),
    /// Something in it makes no sense: about so many bytes from its beginning, and what.
    Broken(u64, String),
    /// What the system says.
    Io(io::Error),
}

impl<R: Read> Recording<R> {
    /// Begins to read. Nothing is read yet.
    pub fn new(input: R) -> Self {
        let options = LinearReaderOptions::default()
            .with_record_length_limit(MAX_RECORD)
            .with_validate_chunk_crcs(true);
        Self {
            input,
            reader: LinearReader::new_with_options(options),
            schemas: BTreeMap::new(),
            channels: BTreeMap::new(),
            taken: 0,
            is_over: false,
        }
    }

    /// What comes next; `None` at the end.
    ///
    /// # Errors
    /// Those of [`ReadError`], once: then there is nothing more.
    #[allow(clippy::should_implement_trait, reason = "it is no iterator of items: an error ends it")]
    pub fn next(&mut self) -> Result<Option<Item>, ReadError> {
        if self.is_over {
            return Ok(None);
        }
        let next = self.find();
        self.is_over = !matches!(next, Ok(Some(_)));
        next
    }

    fn find(&mut self) -> Result<Option<Item>, ReadError> {
        loop {
            let wanted = match self.reader.next_event() {
                None => return Ok(None),
                Some(Ok(LinearReadEvent::ReadRequest(wanted))) => wanted,
                Some(Ok(LinearReadEvent::Record { data, opcode })) => {
                    let record =
                        mcap::parse_record(opcode, data).map_err(|error| broken(self.taken, error))?;
                    let found = found(record, &mut self.schemas, &mut self.channels);
                    match found.map_err(|what| ReadError::Broken(self.taken, what))? {
                        Some(item) => return Ok(Some(item)),
                        None => continue,
                    }
                }
                Some(Err(error)) => return Err(broken(self.taken, error)),
            };
            let read = self.input.read(self.reader.insert(wanted.clamp(1, PIECE))).map_err(ReadError::Io)?;
            self.taken += read as u64;
            if read == 0 {
                return Err(if self.taken == 0 { ReadError::NoMcap } else { ReadError::Cut(self.taken) });
            }
            self.reader.notify_read(read);
        }
    }
}

/// What a record says to those who write it again.
fn found(
    record: Record<'_>,
    schemas: &mut BTreeMap<u16, Schema>,
    channels: &mut BTreeMap<u16, Known>,
) -> Result<Option<Item>, String> {
    match record {
        Record::Schema { header, data } => {
            // A file repeats them at its end.
            schemas.entry(header.id).or_insert_with(|| Schema {
                name: header.name,
                encoding: header.encoding,
                data: data.into_owned(),
            });
            Ok(None)
        }
        Record::Channel(of) => {
            if channels.contains_key(&of.id) {
                return Ok(None);
            }
            let (known, item) = match of.message_encoding.as_str() {
                CDR => {
                    let schema = schemas.get(&of.schema_id);
                    let schema =
                        schema.map(|of| (of.name.as_str(), of.encoding.as_str(), of.data.as_slice()));
                    match Channel::of(&of.topic, &of.metadata, schema) {
                        Ok(channel) => {
                            let channel = Arc::new(channel);
                            (Known::Samples, Some(Item::Channel(of.id, channel)))
                        }
                        Err(why) => (Known::Foreign, Some(Item::Foreign(of.topic, why))),
                    }
                }
                ENDS => {
                    let of_channel = of.metadata.get(OF).and_then(|text| text.parse().ok());
                    let of_channel = of_channel.filter(|of| matches!(channels.get(of), Some(Known::Samples)));
                    let channel =
                        of_channel.ok_or_else(|| format!("channel {} tells of no other one", of.id))?;
                    (Known::Ends(channel), None)
                }
                other => {
                    let why = format!("its samples are {other:?}, not CDR");
                    (Known::Foreign, Some(Item::Foreign(of.topic, why)))
                }
            };
            channels.insert(of.id, known);
            Ok(item)
        }
        Record::Message { header, data } => match channels.get(&header.channel_id) {
            Some(Known::Samples) => Ok(Some(Item::Entry(Entry {
                channel: header.channel_id,
                time: header.log_time,
                end: None,
                data: data.into_owned(),
            }))),
            Some(Known::Ends(channel)) => {
                let (end, key) = match data.split_first() {
                    Some((byte, key)) => (End::of(*byte), key.to_vec()),
                    None => (None, Vec::new()),
                };
                let end = Some(end.ok_or("the end of an instance is not understood")?);
                Ok(Some(Item::Entry(Entry { channel: *channel, time: header.log_time, end, data: key })))
            }
            Some(Known::Foreign) => Ok(None),
            None => {
                Err(format!("a sample is of channel {}, which the file does not have", header.channel_id))
            }
        },
        _ => Ok(None),
    }
}

fn broken(taken: u64, error: McapError) -> ReadError {
    match error {
        McapError::BadMagic if taken <= PIECE as u64 => ReadError::NoMcap,
        McapError::Io(error) => ReadError::Io(error),
        McapError::UnexpectedEof => ReadError::Cut(taken),
        McapError::UnsupportedCompression(name) => ReadError::Broken(
            taken,
            format!(
                "chunks are compressed by {name}, which is not read; `mcap compress --compression none` writes them plainly"
            ),
        ),
        other => ReadError::Broken(taken, other.to_string()),
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoMcap => f.write_str("this is no MCAP file"),
            Self::Cut(bytes) => write!(f, "the file is cut off after {bytes} bytes"),
            Self::Broken(bytes, what) => {
                write!(f, "the file is broken, within its first {bytes} bytes: {what}")
            }
            Self::Io(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for ReadError {}
