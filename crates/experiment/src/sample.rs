//! What is published: a sample that says which it is, filled up to the size of its topic.
use dds::DdsType;

/// Bytes of a [`Sample`] beside its data: number, time and the length of the data.
const HEAD: u32 = 8 + 8 + 4;
/// The most bytes of data: the largest sample of the experiment has fewer.
const MOST_DATA: u32 = 60_000;

/// A sample of any topic of the experiment.
#[derive(DdsType, Clone, PartialEq, Eq, Default, Debug)]
#[dds(final)]
pub(crate) struct Sample {
    /// From 0, one more each time.
    pub(crate) number: u64,
    /// When its send call began, in nanoseconds since 1970.
    pub(crate) sent: i64,
    /// Whatever fills it up.
    #[dds(bound = 60000)]
    pub(crate) data: Vec<u8>,
}

impl Sample {
    /// One of so many bytes, serialized, without the encapsulation header.
    ///
    /// # Errors
    /// In words, if it cannot be so small or so large.
    pub(crate) fn of_size(size: u32) -> Result<Self, String> {
        let bytes = size.checked_sub(HEAD).filter(|bytes| *bytes <= MOST_DATA);
        let bytes = bytes.ok_or_else(|| format!("a sample has {HEAD} to {} bytes", HEAD + MOST_DATA))?;
        Ok(Self { number: 0, sent: 0, data: vec![0x5a; bytes as usize] })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use dds::cdr::Representation;

    use super::*;

    #[test]
    fn a_sample_has_the_size_that_was_asked_for() {
        for size in [HEAD, 16_000, 24_000, 48_048, HEAD + MOST_DATA] {
            let sample = Sample::of_size(size).unwrap();
            for representation in [Representation::Xcdr1, Representation::Xcdr2] {
                assert_eq!(sample.serialized_size(representation).unwrap(), size as usize);
            }
        }
        assert!(Sample::of_size(HEAD - 1).is_err() && Sample::of_size(HEAD + MOST_DATA + 1).is_err());
    }
}
