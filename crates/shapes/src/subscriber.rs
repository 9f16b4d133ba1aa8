//! `-S`: reads shapes and prints them.
use std::sync::Arc;
use std::time::Duration;

use dds::{
    DataReader, DomainParticipant, Error, InstanceState, NO_STATUS, QosKind, Sample, States, StatusMask,
    Subscriber,
};

use crate::Failure;
use crate::listener::Announcer;
use crate::options::Options;
use crate::output::say;
use crate::qos;
use crate::shape::ShapeType;
use crate::stop::Stop;

/// A topic's reader.
struct Viewer {
    name: String,
    reader: DataReader<ShapeType>,
}

/// Looks for samples until the number of iterations is reached, or Ctrl-C.
pub(crate) fn run(participant: &DomainParticipant, options: &Options, stop: &Stop) -> Result<(), Failure> {
    let subscriber = participant
        .create_subscriber(QosKind::Specific(qos::group(options)), None, NO_STATUS)
        .map_err(Failure::Begin)?;
    let mut viewers = Vec::new();
    for name in options.topics() {
        viewers.push(viewer(participant, &subscriber, options, name).map_err(Failure::Begin)?);
    }
    let mut iteration = 0;
    loop {
        for viewer in &viewers {
            viewer.look(options).map_err(Failure::Run)?;
        }
        iteration += 1;
        let ends = options.num_iterations == Some(iteration);
        if ends || stop.sleep(Duration::from_millis(options.read_period)) {
            return Ok(());
        }
    }
}

fn viewer(
    participant: &DomainParticipant,
    subscriber: &Subscriber,
    options: &Options,
    name: String,
) -> Result<Viewer, Error> {
    let topic = participant.create_topic::<ShapeType>(
        &name,
        "ShapeType",
        QosKind::Default,
        Some(Arc::new(Announcer)),
        StatusMask::INCONSISTENT_TOPIC,
    )?;
    say(format_args!("Create topic: {name}"));
    let qos = QosKind::Specific(qos::reader(options));
    let mask = StatusMask::SUBSCRIPTION_MATCHED
        | StatusMask::REQUESTED_INCOMPATIBLE_QOS
        | StatusMask::REQUESTED_DEADLINE_MISSED
        | StatusMask::LIVELINESS_CHANGED;
    // Said before, because a listener may speak at once.
    say(format_args!("Create reader for topic: {name}"));
    let reader = subscriber.create_datareader::<ShapeType>(&topic, qos, Some(Arc::new(Announcer)), mask)?;
    Ok(Viewer { name, reader })
}

impl Viewer {
    /// Prints all that is there, instance by instance or as it comes.
    fn look(&self, options: &Options) -> Result<(), Error> {
        if options.take_read {
            let samples = match options.read {
                true => self.reader.read(usize::MAX, States::ANY)?,
                false => self.reader.take(usize::MAX, States::ANY)?,
            };
            self.print(&samples);
            return Ok(());
        }
        let mut previous = None;
        loop {
            let samples = match options.read {
                true => self.reader.read_next_instance(usize::MAX, previous, States::ANY)?,
                false => self.reader.take_next_instance(usize::MAX, previous, States::ANY)?,
            };
            let Some(first) = samples.first() else { return Ok(()) };
            previous = Some(first.info.instance_handle);
            self.print(&samples);
        }
    }

    fn print(&self, samples: &[Sample<ShapeType>]) {
        for sample in samples {
            if let Some(shape) = &sample.data {
                say(format_args!("{}", line(&self.name, shape)));
                continue;
            }
            let state = match sample.info.instance_state {
                InstanceState::NotAliveDisposed => "NOT_ALIVE_DISPOSED_INSTANCE_STATE",
                InstanceState::NotAliveNoWriters => "NOT_ALIVE_NO_WRITERS_INSTANCE_STATE",
                // It has begun again since.
                InstanceState::Alive => continue,
            };
            let color = sample.key.as_ref().map_or("", |key| &key.color);
            say(format_args!("{:<10} {color:<10} {state}", self.name));
        }
    }
}

/// A sample as all vendors print it.
pub(crate) fn line(topic: &str, shape: &ShapeType) -> String {
    let ShapeType { color, x, y, shapesize, additional_payload_size } = shape;
    let payload = additional_payload_size.last().map_or_else(String::new, |last| format!(" {{{last}}}"));
    format!("{topic:<10} {color:<10} {x:03} {y:03} [{shapesize}]{payload}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_columns() {
        let shape =
            ShapeType { color: "RED".to_owned(), x: 7, y: 110, shapesize: 20, ..ShapeType::default() };
        assert_eq!(line("Square", &shape), "Square     RED        007 110 [20]");
        let shape = ShapeType { additional_payload_size: vec![1, 255], ..shape };
        assert_eq!(line("Square", &shape), "Square     RED        007 110 [20] {255}");
    }
}
