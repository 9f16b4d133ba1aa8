//! `-P`: moves shapes and writes them.
use std::sync::Arc;
use std::time::Duration;

use dds::{DataWriter, DomainParticipant, Error, NO_STATUS, Publisher, QosKind, ReturnCode, StatusMask};

use crate::Failure;
use crate::listener::Announcer;
use crate::options::{FinalState, Options};
use crate::output::say;
use crate::qos;
use crate::shape::{Motion, ShapeType, Size};
use crate::stop::Stop;
use crate::subscriber::line;

/// Longest wait for acknowledgements before the end.
const LAST_ACKNOWLEDGEMENTS: dds::Duration = dds::Duration::from_secs(1);

/// A topic's writer with its shapes.
struct Flock {
    name: String,
    writer: DataWriter<ShapeType>,
    shapes: Vec<(ShapeType, Motion)>,
}

/// Writes until the number of iterations is reached, or Ctrl-C.
pub(crate) fn run(participant: &DomainParticipant, options: &Options, stop: &Stop) -> Result<(), Failure> {
    let (colors, warning) = options.colors();
    if let Some(warning) = warning {
        say(format_args!("{warning}"));
    }
    let publisher = participant
        .create_publisher(QosKind::Specific(qos::group(options)), None, NO_STATUS)
        .map_err(Failure::Begin)?;
    let mut flocks = Vec::new();
    for name in options.topics() {
        flocks.push(flock(participant, &publisher, options, name, &colors).map_err(Failure::Begin)?);
    }
    let mut size = Size::new(options.shapesize, options.size_modulo);
    let mut iteration = 0;
    loop {
        for flock in &mut flocks {
            flock.write(size.now(), options.print_writes).map_err(Failure::Run)?;
        }
        size.advance();
        iteration += 1;
        let ends = options.num_iterations == Some(iteration);
        if ends || stop.sleep(Duration::from_millis(options.write_period)) {
            break;
        }
    }
    flocks.iter().try_for_each(|flock| flock.finish(options)).map_err(Failure::Run)
}

fn flock(
    participant: &DomainParticipant,
    publisher: &Publisher,
    options: &Options,
    name: String,
    colors: &[String],
) -> Result<Flock, Error> {
    let inconsistent = StatusMask::INCONSISTENT_TOPIC;
    let topic = participant.create_topic::<ShapeType>(
        &name,
        "ShapeType",
        QosKind::Default,
        Some(Arc::new(Announcer)),
        inconsistent,
    )?;
    say(format_args!("Create topic: {name}"));
    let qos = QosKind::Specific(qos::writer(options));
    let mask = StatusMask::PUBLICATION_MATCHED
        | StatusMask::OFFERED_INCOMPATIBLE_QOS
        | StatusMask::OFFERED_DEADLINE_MISSED
        | StatusMask::LIVELINESS_LOST;
    // Said before, because a listener may speak at once.
    let color = colors.first().map_or("", String::as_str);
    say(format_args!("Create writer for topic: {name} color: {color}"));
    let writer = publisher.create_datawriter::<ShapeType>(&topic, qos, Some(Arc::new(Announcer)), mask)?;
    let shapes = colors.iter().map(|color| {
        let payload = vec![255; options.additional_payload_size];
        let shape =
            ShapeType { color: color.clone(), additional_payload_size: payload, ..ShapeType::default() };
        (shape, Motion::random())
    });
    Ok(Flock { name, writer, shapes: shapes.collect() })
}

impl Flock {
    /// Writes each shape once and moves it on.
    fn write(&mut self, size: i32, prints: bool) -> Result<(), Error> {
        for (shape, motion) in &mut self.shapes {
            [shape.x, shape.y] = motion.place();
            shape.shapesize = size;
            match self.writer.write(shape) {
                Ok(_) => {}
                // A reader that does not keep up is no reason to end: the next iteration tries again.
                Err(error) if error.code == ReturnCode::Timeout => {
                    eprintln!("shape_main: not written: {error}");
                    continue;
                }
                Err(error) => return Err(error),
            }
            if prints {
                say(format_args!("{}", line(&self.name, shape)));
            }
            motion.advance();
        }
        Ok(())
    }

    /// Ends the instances as it was asked for, and waits for the last acknowledgements.
    fn finish(&self, options: &Options) -> Result<(), Error> {
        for (shape, _) in &self.shapes {
            match options.final_instance_state {
                Some(FinalState::U) => drop(self.writer.unregister_instance(shape)?),
                Some(FinalState::D) => drop(self.writer.dispose(shape)?),
                None => {}
            }
        }
        match self.writer.wait_for_acknowledgments(LAST_ACKNOWLEDGEMENTS) {
            Err(error) if error.code != ReturnCode::Timeout => Err(error),
            _ => Ok(()),
        }
    }
}
