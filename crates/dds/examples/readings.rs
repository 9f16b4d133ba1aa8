//! Two temperature sensors are written, and read by the same program, in the words of the standard.
use dds::qos::Reliability;
use dds::{DdsType, DomainParticipantFactory, Duration, NO_STATUS, QosKind, States, WaitSet};

#[derive(DdsType, Debug)]
struct Reading {
    #[dds(key)]
    sensor: u32,
    celsius: f64,
}

fn main() -> Result<(), dds::Error> {
    let factory = DomainParticipantFactory::get_instance();
    let participant = factory.create_participant(0, QosKind::Default, None, NO_STATUS)?;
    let topic =
        participant.create_topic::<Reading>("Readings", "Reading", QosKind::Default, None, NO_STATUS)?;
    let publisher = participant.create_publisher(QosKind::Default, None, NO_STATUS)?;
    let writer = publisher.create_datawriter::<Reading>(&topic, QosKind::Default, None, NO_STATUS)?;
    let subscriber = participant.create_subscriber(QosKind::Default, None, NO_STATUS)?;
    let mut qos = subscriber.get_default_datareader_qos();
    qos.endpoint.reliability = Reliability::RELIABLE;
    let reader = subscriber.create_datareader::<Reading>(&topic, QosKind::Specific(qos), None, NO_STATUS)?;
    writer.write(&Reading { sensor: 1, celsius: 21.5 })?;
    writer.write(&Reading { sensor: 2, celsius: 19.0 })?;
    let arrivals = WaitSet::new();
    arrivals.attach_condition(reader.create_readcondition(States::NOT_READ).into())?;
    arrivals.wait(Duration::from_secs(5))?;
    reader.take(10, States::ANY)?.iter().for_each(|sample| println!("{:?}", sample.data));
    Ok(())
}
