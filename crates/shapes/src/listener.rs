//! Statuses, told as they change.
use dds::status::{DeadlineMissed, IncompatibleQos, LivelinessChanged, LivelinessLost, Matched};
use dds::{DataReader, DataReaderListener, DataWriter, DataWriterListener, Topic, TopicListener, status};

use crate::output::say;
use crate::shape::ShapeType;

/// Prints a line for each status.
pub(crate) struct Announcer;

/// The place where it happened.
fn place(topic: &Topic) -> String {
    format!("topic: '{}'  type: '{}'", topic.get_name(), topic.get_type_name())
}

/// The policy at fault: number and name.
fn policy(status: &IncompatibleQos) -> String {
    let id = status.last_policy.map_or(0, |policy| policy.0);
    format!("{id} ({})", policy_name(id))
}

/// Names of policies (DDS 1.4, 2.3.3; DDS-XTypes 1.3, 7.6.3.1).
const fn policy_name(id: u32) -> &'static str {
    match id {
        2 => "DURABILITY",
        3 => "PRESENTATION",
        4 => "DEADLINE",
        5 => "LATENCY_BUDGET",
        6 => "OWNERSHIP",
        8 => "LIVELINESS",
        11 => "RELIABILITY",
        12 => "DESTINATION_ORDER",
        23 => "DATA_REPRESENTATION",
        24 => "TYPE_CONSISTENCY_ENFORCEMENT",
        _ => "UNKNOWN",
    }
}

impl TopicListener for Announcer {
    fn on_inconsistent_topic(&self, topic: &Topic, _: status::InconsistentTopic) {
        say(format_args!("on_inconsistent_topic() {}", place(topic)));
    }
}

impl DataWriterListener<ShapeType> for Announcer {
    fn on_publication_matched(&self, writer: &DataWriter<ShapeType>, status: Matched) {
        let (place, now) = (place(&writer.get_topic()), status.current);
        say(format_args!(
            "on_publication_matched() {place} : matched readers {} (change = {})",
            now.count, now.change
        ));
    }

    fn on_offered_incompatible_qos(&self, writer: &DataWriter<ShapeType>, status: IncompatibleQos) {
        let place = place(&writer.get_topic());
        say(format_args!("on_offered_incompatible_qos() {place} : {}", policy(&status)));
    }

    fn on_offered_deadline_missed(&self, writer: &DataWriter<ShapeType>, status: DeadlineMissed) {
        let (place, total) = (place(&writer.get_topic()), status.total);
        say(format_args!(
            "on_offered_deadline_missed() {place} : (total = {}, change = {})",
            total.count, total.change
        ));
    }

    fn on_liveliness_lost(&self, writer: &DataWriter<ShapeType>, status: LivelinessLost) {
        let (place, total) = (place(&writer.get_topic()), status.total);
        say(format_args!(
            "on_liveliness_lost() {place} : (total = {}, change = {})",
            total.count, total.change
        ));
    }
}

impl DataReaderListener<ShapeType> for Announcer {
    fn on_subscription_matched(&self, reader: &DataReader<ShapeType>, status: Matched) {
        let (place, now) = (place(&reader.get_topicdescription()), status.current);
        say(format_args!(
            "on_subscription_matched() {place} : matched writers {} (change = {})",
            now.count, now.change
        ));
    }

    fn on_requested_incompatible_qos(&self, reader: &DataReader<ShapeType>, status: IncompatibleQos) {
        let place = place(&reader.get_topicdescription());
        say(format_args!("on_requested_incompatible_qos() {place} : {}", policy(&status)));
    }

    fn on_requested_deadline_missed(&self, reader: &DataReader<ShapeType>, status: DeadlineMissed) {
        let (place, total) = (place(&reader.get_topicdescription()), status.total);
        say(format_args!(
            "on_requested_deadline_missed() {place} : (total = {}, change = {})",
            total.count, total.change
        ));
    }

    fn on_liveliness_changed(&self, reader: &DataReader<ShapeType>, status: LivelinessChanged) {
        let place = place(&reader.get_topicdescription());
        let (alive, not_alive) = (status.alive.count, status.not_alive.count);
        say(format_args!("on_liveliness_changed() {place} : (alive = {alive}, not_alive = {not_alive})"));
    }
}
