//! The types of topics, as `crates/interop/peers/README.md` describes them.
use dds::DdsType;

/// A type that samples can be made of from a key, a number and bytes, and described as a line.
pub(crate) trait Kind: DdsType + Send + Sync + 'static {
    /// A sample with the value that goes with the number; `None` if this cannot be a key of the type.
    fn new(key: &str, number: i32, bytes: Vec<u8>) -> Option<Self>;
    /// The key, or what stands at its place.
    fn key(&self) -> String;
    /// Number, value and bytes.
    fn contents(&self) -> (i32, String, &[u8]);
}

/// With a key.
#[derive(DdsType)]
#[dds(appendable)]
pub(crate) struct ShapeType {
    #[dds(key)]
    color: String,
    x: i32,
    y: i32,
    shapesize: i32,
    additional_payload_size: Vec<u8>,
}

/// Without a key.
#[derive(DdsType)]
#[dds(final)]
pub(crate) struct Reading {
    source: String,
    number: i32,
    value: f64,
    payload: Vec<u8>,
}

/// With a number for a key.
#[derive(DdsType)]
#[dds(final)]
pub(crate) struct Track {
    #[dds(key)]
    id: i32,
    number: i32,
    value: f64,
    payload: Vec<u8>,
}

/// With a member that may be missing.
#[derive(DdsType)]
#[dds(mutable)]
pub(crate) struct Report {
    #[dds(key)]
    name: String,
    number: i32,
    value: Option<f64>,
    payload: Vec<u8>,
}

/// Of which others have other versions.
#[derive(DdsType)]
#[dds(appendable)]
pub(crate) struct Log {
    #[dds(key)]
    id: i32,
    number: i32,
    value: f64,
    payload: Vec<u8>,
}

fn value(number: i32) -> f64 {
    f64::from(number) + 0.25
}

impl Kind for ShapeType {
    fn new(key: &str, number: i32, bytes: Vec<u8>) -> Option<Self> {
        let y = number.saturating_mul(3);
        Some(Self { color: key.to_owned(), x: number, y, shapesize: 20, additional_payload_size: bytes })
    }

    fn key(&self) -> String {
        self.color.clone()
    }

    fn contents(&self) -> (i32, String, &[u8]) {
        (self.x, self.y.to_string(), &self.additional_payload_size)
    }
}

impl Kind for Reading {
    fn new(key: &str, number: i32, bytes: Vec<u8>) -> Option<Self> {
        Some(Self { source: key.to_owned(), number, value: value(number), payload: bytes })
    }

    fn key(&self) -> String {
        self.source.clone()
    }

    fn contents(&self) -> (i32, String, &[u8]) {
        (self.number, format!("{:.2}", self.value), &self.payload)
    }
}

impl Kind for Track {
    fn new(key: &str, number: i32, bytes: Vec<u8>) -> Option<Self> {
        Some(Self { id: key.parse().ok()?, number, value: value(number), payload: bytes })
    }

    fn key(&self) -> String {
        self.id.to_string()
    }

    fn contents(&self) -> (i32, String, &[u8]) {
        (self.number, format!("{:.2}", self.value), &self.payload)
    }
}

impl Kind for Report {
    fn new(key: &str, number: i32, bytes: Vec<u8>) -> Option<Self> {
        let value = (number % 2 == 0).then(|| value(number));
        Some(Self { name: key.to_owned(), number, value, payload: bytes })
    }

    fn key(&self) -> String {
        self.name.clone()
    }

    fn contents(&self) -> (i32, String, &[u8]) {
        let value = self.value.map_or("none".to_owned(), |value| format!("{value:.2}"));
        (self.number, value, &self.payload)
    }
}

impl Kind for Log {
    fn new(key: &str, number: i32, bytes: Vec<u8>) -> Option<Self> {
        Some(Self { id: key.parse().ok()?, number, value: value(number), payload: bytes })
    }

    fn key(&self) -> String {
        self.id.to_string()
    }

    fn contents(&self) -> (i32, String, &[u8]) {
        (self.number, format!("{:.2}", self.value), &self.payload)
    }
}

/// The Adler-32 sum (RFC 1950, section 8.2).
pub(crate) fn adler32(bytes: &[u8]) -> u32 {
    let (low, high) = bytes.iter().fold((1, 0), |(low, high), octet| {
        let low = (low + u32::from(*octet)) % 65_521;
        (low, (high + low) % 65_521)
    });
    high << 16 | low
}
