//! Reads a recording, from its beginning to its end or to where it is cut.
use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Read};
use std::sync::Arc;

use crate::channel::{CDR, Channel, ENDS, End, OF};
use crate::record::Record;
use wire::cursor::{Cursor, Endianness};

/// Bytes of the largest record that is read.
const MAX_RECORD: usize = 256 << 20;
/// Bytes that are read at once: no more is taken from the heap because a file claims that more comes.
const PIECE: usize = 16 << 10;

/// Before the first record and behind the last one.
const MAGIC: [u8; 8] = *b"\x89MCAP0\r\n";
const FOOTER: u8 = 0x02;
const CHUNK: u8 = 0x06;
/// What a record begins with: what it is, and how long.
const HEADER: usize = 9;
/// What a chunk begins with, up to the name of its compression.
const CHUNK_HEADER: usize = 32;

/// A recording that is read.
pub struct Recording<R: Read> {
    input: R,
    /// What was read of the input, from `at` on not used yet.
    buffer: Vec<u8>,
    at: usize,
    place: Place,
    schemas: BTreeMap<u16, Schema>,
    channels: BTreeMap<u16, Known>,
    /// Bytes that were used.
    taken: u64,
    is_over: bool,
}

/// Between which parts of a file the next byte is.
enum Place {
    /// Before everything.
    Start,
    /// Before a record that is in no chunk.
    File,
    /// Before a record in a chunk.
    Chunk {
        /// Bytes of records that are left.
        left: u64,
        /// Bytes behind them that say nothing.
        rest: u64,
        /// The sum of the records as it should be; 0 if the file does not say.
        sum: u32,
        /// The sum so far.
        so_far: crc32fast::Hasher,
    },
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
    /// Something in it makes no sense: so many bytes from its beginning, and what.
    Broken(u64, String),
    /// What the system says.
    Io(io::Error),
}

impl<R: Read> Recording<R> {
    /// Begins to read. Nothing is read yet.
    pub fn new(input: R) -> Self {
        Self {
            input,
            buffer: Vec::new(),
            at: 0,
            place: Place::Start,
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
            match &self.place {
                Place::Start => {
                    let begin = self.need(MAGIC.len());
                    if !self.next_bytes().starts_with(&MAGIC) {
                        let is_cut = self.taken() > 0 && MAGIC.starts_with(self.next_bytes());
                        return Err(if is_cut {
                            begin.err().unwrap_or(ReadError::NoMcap)
                        } else {
                            ReadError::NoMcap
                        });
                    }
                    self.take(MAGIC.len());
                    self.place = Place::File;
                }
                Place::Chunk { left: 0, rest, sum, so_far } => {
                    let (rest, is_right) = (*rest, *sum == 0 || so_far.clone().finalize() == *sum);
                    if !is_right {
                        return Err(self.broken("the sum of a chunk is another one"));
                    }
                    self.skip(rest)?;
                    self.place = Place::File;
                }
                Place::Chunk { left, .. } => {
                    let left = *left;
                    let (opcode, length) = self.header(left)?;
                    let whole = HEADER + length;
                    self.need(whole)?;
                    if let Place::Chunk { left, so_far, .. } = &mut self.place {
                        so_far.update(self.buffer.get(self.at..self.at + whole).unwrap_or_default());
                        *left -= whole as u64;
                    }
                    if let Some(item) = self.record(opcode, length)? {
                        return Ok(Some(item));
                    }
                }
                Place::File => {
                    self.need(HEADER)?;
                    match self.next_bytes().first() {
                        Some(&CHUNK) => self.chunk()?,
                        Some(&FOOTER) => {
                            let (_, length) = self.header(u64::MAX)?;
                            self.need(HEADER + length + MAGIC.len())?;
                            self.take(HEADER + length);
                            let is_end = self.next_bytes().starts_with(&MAGIC);
                            return if is_end {
                                Ok(None)
                            } else {
                                Err(self.broken("it does not end as it should"))
                            };
                        }
                        _ => {
                            let (opcode, length) = self.header(u64::MAX)?;
                            self.need(HEADER + length)?;
                            if let Some(item) = self.record(opcode, length)? {
                                return Ok(Some(item));
                            }
                        }
                    }
                }
            }
        }
    }

    /// What the next record is, and its length without this header, which fits into what is `left`.
    fn header(&mut self, left: u64) -> Result<(u8, usize), ReadError> {
        if left < HEADER as u64 {
            return Err(self.broken("a chunk ends in a record"));
        }
        self.need(HEADER)?;
        let mut cursor = Cursor::new(self.next_bytes(), Endianness::Little);
        let (Some(opcode), Some(length)) = (cursor.u8(), cursor.u64()) else {
            return Err(self.broken("a record has no length"));
        };
        let length = usize::try_from(length).ok().filter(|length| *length <= MAX_RECORD);
        let Some(length) = length else {
            return Err(self.broken("a record is longer than any that is read"));
        };
        if (HEADER + length) as u64 > left {
            return Err(self.broken("a chunk ends in a record"));
        }
        Ok((opcode, length))
    }

    /// Takes a record, all of which is there.
    fn record(&mut self, opcode: u8, length: usize) -> Result<Option<Item>, ReadError> {
        let begin = self.at + HEADER;
        let bytes = self.buffer.get(begin..begin + length).unwrap_or_default();
        let found = match Record::read(opcode, bytes) {
            Some(record) => found(record, &mut self.schemas, &mut self.channels),
            None => Err("a record is not what it says".to_owned()),
        };
        let found = found.map_err(|what| self.broken(&what));
        self.take(HEADER + length);
        found
    }

    /// Begins a chunk.
    fn chunk(&mut self) -> Result<(), ReadError> {
        self.need(HEADER + CHUNK_HEADER)?;
        let mut cursor = Cursor::new(self.next_bytes(), Endianness::Little);
        let mut fields = || {
            cursor.u8()?;
            let length = cursor.u64()?;
            cursor.take(16)?;
            Some((length, cursor.u64()?, cursor.u32()?, usize::try_from(cursor.u32()?).ok()?))
        };
        let Some((length, plain, sum, name)) = fields() else {
            return Err(self.broken("a chunk has no header"));
        };
        if name > 0 {
            self.need(HEADER + CHUNK_HEADER + name.min(16))?;
            let name = self.next_bytes().get(HEADER + CHUNK_HEADER..).unwrap_or_default();
            let name = String::from_utf8_lossy(name.get(..name.len().min(16)).unwrap_or_default());
            let name: String = name.chars().take_while(char::is_ascii_alphanumeric).collect();
            return Err(self.broken(&format!(
                "chunks are compressed by {name:?}, which is not read; `mcap compress --compression none` writes them plainly"
            )));
        }
        let header = (CHUNK_HEADER + 8) as u64;
        self.need(HEADER + CHUNK_HEADER + 8)?;
        let mut cursor = Cursor::new(self.next_bytes(), Endianness::Little);
        let left = cursor.take(HEADER + CHUNK_HEADER).and_then(|_| cursor.u64()).unwrap_or(0);
        let rest = length.checked_sub(header).and_then(|length| length.checked_sub(left));
        let Some(rest) = rest.filter(|_| left == plain) else {
            return Err(self.broken("a chunk is not as long as it says"));
        };
        self.take(HEADER + CHUNK_HEADER + 8);
        self.place = Place::Chunk { left, rest, sum, so_far: crc32fast::Hasher::new() };
        Ok(())
    }

    fn next_bytes(&self) -> &[u8] {
        self.buffer.get(self.at..).unwrap_or_default()
    }

    /// Reads until so many bytes are there. Memory is taken as they come.
    fn need(&mut self, bytes: usize) -> Result<(), ReadError> {
        while self.next_bytes().len() < bytes {
            if self.at > PIECE {
                self.buffer.drain(..self.at);
                self.at = 0;
            }
            let begin = self.buffer.len();
            self.buffer.resize(begin + PIECE, 0);
            let read = self.input.read(self.buffer.get_mut(begin..).unwrap_or_default());
            self.buffer.truncate(begin + read.as_ref().map_or(0, |read| *read));
            match read {
                Ok(0) => return Err(ReadError::Cut(self.taken())),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(ReadError::Io(error)),
            }
        }
        Ok(())
    }

    /// Uses bytes that are there.
    const fn take(&mut self, bytes: usize) {
        self.at += bytes;
        self.taken += bytes as u64;
    }

    /// Passes bytes over.
    fn skip(&mut self, mut bytes: u64) -> Result<(), ReadError> {
        while bytes > 0 {
            self.need(1)?;
            let there = self.next_bytes().len().min(usize::try_from(bytes).unwrap_or(usize::MAX));
            self.take(there);
            bytes -= there as u64;
        }
        Ok(())
    }

    /// Bytes that were read.
    fn taken(&self) -> u64 {
        self.taken + self.next_bytes().len() as u64
    }

    fn broken(&self, what: &str) -> ReadError {
        ReadError::Broken(self.taken, what.to_owned())
    }
}

/// What a record says to those who write it again.
fn found(
    record: Record<'_>,
    schemas: &mut BTreeMap<u16, Schema>,
    channels: &mut BTreeMap<u16, Known>,
) -> Result<Option<Item>, String> {
    match record {
        Record::Schema { id, name, encoding, data } => {
            // A file repeats them at its end.
            schemas.entry(id).or_insert_with(|| Schema {
                name: name.to_owned(),
                encoding: encoding.to_owned(),
                data: data.to_vec(),
            });
            Ok(None)
        }
        Record::Channel { id, schema, topic, encoding, metadata } => {
            if channels.contains_key(&id) {
                return Ok(None);
            }
            let (known, item) = match encoding {
                CDR => {
                    let schema = schemas.get(&schema);
                    let schema =
                        schema.map(|of| (of.name.as_str(), of.encoding.as_str(), of.data.as_slice()));
                    match Channel::of(topic, &metadata, schema) {
                        Ok(channel) => (Known::Samples, Some(Item::Channel(id, Arc::new(channel)))),
                        Err(why) => (Known::Foreign, Some(Item::Foreign(topic.to_owned(), why))),
                    }
                }
                ENDS => {
                    let of = metadata.get(OF).and_then(|text| text.parse().ok());
                    let of = of.filter(|of| matches!(channels.get(of), Some(Known::Samples)));
                    let channel = of.ok_or_else(|| format!("channel {id} tells of no other one"))?;
                    (Known::Ends(channel), None)
                }
                other => {
                    let why = format!("its samples are {other:?}, not CDR");
                    (Known::Foreign, Some(Item::Foreign(topic.to_owned(), why)))
                }
            };
            channels.insert(id, known);
            Ok(item)
        }
        Record::Message { channel, time, data } => match channels.get(&channel) {
            Some(Known::Samples) => {
                Ok(Some(Item::Entry(Entry { channel, time, end: None, data: data.to_vec() })))
            }
            Some(Known::Ends(of)) => {
                let (byte, key) = data.split_first().ok_or("the end of an instance is empty")?;
                let end = Some(End::of(*byte).ok_or("the end of an instance is not understood")?);
                Ok(Some(Item::Entry(Entry { channel: *of, time, end, data: key.to_vec() })))
            }
            Some(Known::Foreign) => Ok(None),
            None => Err(format!("a sample is of channel {channel}, which the file does not have")),
        },
        Record::Other => Ok(None),
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoMcap => f.write_str("this is no MCAP file"),
            Self::Cut(bytes) => write!(f, "the file is cut off after {bytes} bytes"),
            Self::Broken(bytes, what) => {
                write!(f, "the file is broken {bytes} bytes from its beginning: {what}")
            }
            Self::Io(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for ReadError {}
