//! The Topic: its QoS, and the status that tells of others who mean something else by its name (DDS 1.4, 2.2.2.3.2).
use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::String;

use rtps::discovery::Mismatch;
use wire::GuidPrefix;
use wire::discovery::{EndpointData, MAX_NAME};

use crate::error::{Error, ReturnCode};
use crate::qos::TopicQos;
use crate::status::{self, Changes, InconsistentTopic, StatusMask};

/// A topic without input or output. Its owner hands it what discovery says of its writers and readers.
#[derive(Debug)]
pub struct Topic {
    name: String,
    type_name: String,
    qos: TopicQos,
    /// Participants that have another type by the name, with that type, oldest first; each is counted once.
    others: VecDeque<(GuidPrefix, String)>,
    inconsistent: InconsistentTopic,
    changed: Changes,
}

impl Topic {
    /// Most others that are remembered. Of more the oldest are forgotten, and counted again if they are met again.
    const OTHERS: usize = 256;

    /// A topic that no other participant is known to have.
    ///
    /// # Errors
    /// `BadParameter` if a name is empty, longer than 256 bytes or holds a NUL; what [`TopicQos::check`] says.
    pub fn new(name: impl Into<String>, type_name: impl Into<String>, qos: TopicQos) -> Result<Self, Error> {
        let (name, type_name) = (name.into(), type_name.into());
        check_name("topic name", &name)?;
        check_name("type name", &type_name)?;
        qos.check()?;
        Ok(Self {
            name,
            type_name,
            qos,
            others: VecDeque::new(),
            inconsistent: InconsistentTopic::default(),
            changed: Changes::NONE,
        })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The name of its type.
    pub fn type_name(&self) -> &str {
        &self.type_name
    }

    /// Its QoS.
    pub const fn qos(&self) -> &TopicQos {
        &self.qos
    }

    /// Changes the QoS of an enabled topic. TOPIC_DATA has to be announced by its owner, with [`TopicQos::apply`]; the other policies
    /// count for those who copy them from now on.
    ///
    /// # Errors
    /// What [`TopicQos::check_change`] says; nothing is changed then.
    pub fn set_qos(&mut self, qos: TopicQos) -> Result<(), Error> {
        self.qos.check_change(&qos)?;
        self.qos = qos;
        Ok(())
    }

    /// A writer or reader of this topic and `other`, of any participant, our own included, do not match. If their types are
    /// a reason for that, `other` means another topic. Each participant is counted once for each type.
    pub fn not_matched(&mut self, other: &EndpointData, reasons: &[Mismatch]) {
        if !reasons.iter().any(Mismatch::is_inconsistent_topic) {
            return;
        }
        let is_known = |(participant, type_name): &(GuidPrefix, String)| {
            *participant == other.guid.prefix && *type_name == other.type_name
        };
        if self.others.iter().any(is_known) {
            return;
        }
        if self.others.len() >= Self::OTHERS {
            self.others.pop_front();
        }
        self.others.push_back((other.guid.prefix, other.type_name.clone()));
        self.inconsistent.total.add(1);
        self.changed.raise(StatusMask::INCONSISTENT_TOPIC);
    }

    /// A participant is gone; if it comes again, it is counted again.
    pub fn forget_participant(&mut self, participant: GuidPrefix) {
        self.others.retain(|(other, _)| *other != participant);
    }

    /// Participants and the other types that they mean by the name, the oldest first, at most 256.
    pub fn others(&self) -> impl Iterator<Item = (GuidPrefix, &str)> {
        self.others.iter().map(|(participant, type_name)| (*participant, type_name.as_str()))
    }

    /// The statuses that changed since they were last read.
    pub const fn status_changes(&self) -> StatusMask {
        self.changed.set()
    }

    /// The statuses that changed since this was last asked, read meanwhile or not: for callers that tell others of them.
    pub const fn take_status_news(&mut self) -> StatusMask {
        self.changed.take_news()
    }

    /// Reads INCONSISTENT_TOPIC.
    pub fn inconsistent_topic(&mut self) -> InconsistentTopic {
        status::read(&mut self.inconsistent, &mut self.changed, StatusMask::INCONSISTENT_TOPIC)
    }
}

fn check_name(place: &'static str, name: &str) -> Result<(), Error> {
    if !name.is_empty() && name.len() <= MAX_NAME && !name.contains('\0') {
        return Ok(());
    }
    Err(Error::new(
        ReturnCode::BadParameter,
        place,
        format!("{:?}, {} bytes", name.chars().take(64).collect::<String>(), name.len()),
        "use 1 to 256 bytes without a NUL: longer names cannot be announced",
    ))
}
