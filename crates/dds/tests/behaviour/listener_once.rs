//! A change of a status is told once, whatever a listener does meanwhile.

use std::sync::{Arc, Mutex, OnceLock};

use crate::desk::Desk;
use dds::status::{LivelinessChanged, Matched};
use dds::{DataReader, DataReaderListener, DataWriter, DomainParticipant, NO_STATUS, QosKind, StatusMask};
use derive::DdsType;
use wire::Duration;

#[derive(DdsType, Clone, PartialEq, Debug)]
struct Note {
    number: u32,
}

/// Writes to the reader that it listens to, so that the reader is looked after while there is more to tell.
#[derive(Default)]
struct Busy {
    writer: OnceLock<DataWriter<Note>>,
    told: Mutex<Vec<(&'static str, i32)>>,
}

impl DataReaderListener<Note> for Busy {
    fn on_subscription_matched(&self, _: &DataReader<Note>, status: Matched) {
        self.told.lock().unwrap().push(("matched", status.current.change));
        if let Some(writer) = self.writer.get() {
            writer.write(&Note { number: 1 }).unwrap();
        }
    }

    fn on_liveliness_changed(&self, _: &DataReader<Note>, status: LivelinessChanged) {
        self.told.lock().unwrap().push(("alive", status.alive.change));
    }
}

fn writer(participant: &DomainParticipant) -> DataWriter<Note> {
    let topic = participant.create_topic::<Note>("Notes", "Note", QosKind::Default, None, NO_STATUS).unwrap();
    let publisher = participant.create_publisher(QosKind::Default, None, NO_STATUS).unwrap();
    publisher.create_datawriter::<Note>(&topic, QosKind::Default, None, NO_STATUS).unwrap()
}

#[test]
fn each_change_is_told_once() {
    let mut desk = Desk::new();
    let (here, there) = (desk.participant(), desk.participant());
    let busy = Arc::new(Busy::default());
    let topic = here.create_topic::<Note>("Notes", "Note", QosKind::Default, None, NO_STATUS).unwrap();
    let subscriber = here.create_subscriber(QosKind::Default, None, NO_STATUS).unwrap();
    let mask = StatusMask::SUBSCRIPTION_MATCHED | StatusMask::LIVELINESS_CHANGED;
    let _reader = subscriber
        .create_datareader::<Note>(&topic, QosKind::Default, Some(Arc::clone(&busy) as _), mask)
        .unwrap();
    let publisher = here.create_publisher(QosKind::Default, None, NO_STATUS).unwrap();
    let own = publisher.create_datawriter::<Note>(&topic, QosKind::Default, None, NO_STATUS).unwrap();
    desk.run(Duration::from_secs(1));
    busy.told.lock().unwrap().clear();
    assert!(busy.writer.set(own).is_ok());
    let _remote = writer(&there);
    desk.run(Duration::from_secs(1));
    assert_eq!(*busy.told.lock().unwrap(), [("matched", 1), ("alive", 1)]);
}
