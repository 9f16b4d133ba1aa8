//! The listener of a participant.
use crate::publication::PublisherListener;
use crate::subscription::SubscriberListener;
use crate::topic::TopicListener;

/// Called when a status changes that no listener of the entity itself, or of its publisher or subscriber, is for.
///
/// ```
/// # use std::sync::Arc;
/// use dds::status::{IncompatibleQos, StatusMask};
/// use dds::{
///     AnyDataReaderListener, AnyDataWriterListener, DomainParticipantFactory, DomainParticipantListener,
///     PublisherListener, QosKind, RawDataWriter, SubscriberListener, TopicListener,
/// };
///
/// struct Warn;
///
/// impl AnyDataWriterListener for Warn {
///     fn on_offered_incompatible_qos(&self, writer: &RawDataWriter, status: IncompatibleQos) {
///         eprintln!("{}: a reader asks for more: {status:?}", writer.get_topic().get_name());
///     }
/// }
/// // Of all other statuses it does nothing.
/// impl AnyDataReaderListener for Warn {}
/// impl TopicListener for Warn {}
/// impl PublisherListener for Warn {}
/// impl SubscriberListener for Warn {}
/// impl DomainParticipantListener for Warn {}
///
/// # fn example() -> Result<(), dds::Error> {
/// let mask = StatusMask::OFFERED_INCOMPATIBLE_QOS;
/// let participant = DomainParticipantFactory::get_instance().create_participant(
///     0,
///     QosKind::Default,
///     Some(Arc::new(Warn)),
///     mask,
/// )?;
/// # Ok(())
/// # }
/// ```
pub trait DomainParticipantListener: TopicListener + PublisherListener + SubscriberListener {}
