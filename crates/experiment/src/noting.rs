//! A reader that takes samples on the thread that receives them, and notes when their last datagram came.
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use dds::qos::DataReaderQos;
use dds::{
    DataReader, DataReaderListener, DataWriter, DomainParticipant, Error, NO_STATUS, QosKind, StatusMask,
    Topic,
};

use crate::record::{self, Record};
use crate::sample::Sample;

/// Records that are noted without asking for memory: more than any phase has.
pub(crate) const RECORDS: usize = 100_000;

/// What a reader notes, and who writes what it takes again.
struct Noting {
    noted: Mutex<(Vec<Record>, Sample)>,
    copies: Option<DataWriter<Sample>>,
}

impl DataReaderListener<Sample> for Noting {
    fn on_data_available(&self, reader: &DataReader<Sample>) {
        let mut noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        let (records, sample) = &mut *noted;
        while let Ok(Some(info)) = reader.take_into(sample) {
            if info.valid_data {
                records.push(Record { number: sample.number, at: info.reception_timestamp.as_nanos() });
                // A copy that is not written is one that its readers lack, which is judged.
                let _ = self.copies.as_ref().map(|copies| copies.write(sample));
            }
        }
    }
}

/// A reader, and what it has noted.
pub(crate) struct NotingReader {
    pub(crate) reader: DataReader<Sample>,
    noting: Arc<Noting>,
}

impl NotingReader {
    /// Reads a topic, and writes what it takes to `copies`, too.
    ///
    /// # Errors
    /// What the middleware says.
    pub(crate) fn new(
        participant: &DomainParticipant,
        name: &str,
        qos: DataReaderQos,
        copies: Option<DataWriter<Sample>>,
    ) -> Result<Self, Error> {
        let topic = topic(participant, name)?;
        let subscriber = participant.create_subscriber(QosKind::Default, None, NO_STATUS)?;
        let noted = Mutex::new((Vec::with_capacity(RECORDS), Sample::default()));
        let noting = Arc::new(Noting { noted, copies });
        let listener: Arc<dyn DataReaderListener<Sample>> = Arc::<Noting>::clone(&noting);
        let reader = subscriber.create_datareader::<Sample>(
            &topic,
            QosKind::Specific(qos),
            Some(listener),
            StatusMask::DATA_AVAILABLE,
        )?;
        Ok(Self { reader, noting })
    }

    /// Writes what it has noted into a file; how many samples that are.
    ///
    /// # Errors
    /// In words.
    pub(crate) fn save(&self, path: &Path) -> Result<usize, String> {
        let noted = self.noting.noted.lock().unwrap_or_else(PoisonError::into_inner);
        record::save(path, &noted.0)?;
        Ok(noted.0.len())
    }
}

/// A topic of the experiments.
///
/// # Errors
/// What the middleware says.
pub(crate) fn topic(participant: &DomainParticipant, name: &str) -> Result<Topic, Error> {
    participant.create_topic::<Sample>(name, "Sample", QosKind::Default, None, NO_STATUS)
}
