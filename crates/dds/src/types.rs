//! Types of topics: what is announced of them, and how discovery compares them and asks about them.
use std::sync::{Arc, Mutex, OnceLock};

use content_filter::SampleType;
use rtps::discovery::{TypeVerdict, Types};
use wire::cdr::Description;
use wire::discovery::EndpointData;
use wire::{GuidPrefix, Instant};
use xtypes::{Described, Directory, Library, ObjectId, Verdict};

use crate::lock::lock;

/// The types that a participant knows, shared by its discovery and its topics. Its lock is taken last, and for itself.
pub(crate) type SharedDirectory = Arc<Mutex<Directory>>;

/// The type of a topic.
#[derive(Clone, Debug)]
pub(crate) enum TypeOf {
    /// As the compiler knows it.
    Compiled(Description),
    /// Described at run time.
    Given(Arc<Described>),
    /// Nothing is known of it but its name.
    Unknown,
}

/// What is announced of a topic's type: made for its first endpoint.
#[derive(Debug)]
pub(crate) struct Announced {
    ty: TypeOf,
    information: OnceLock<Option<Vec<u8>>>,
    samples: OnceLock<Option<SampleType>>,
}

impl Announced {
    pub(crate) const fn new(ty: TypeOf) -> Self {
        Self { ty, information: OnceLock::new(), samples: OnceLock::new() }
    }

    /// The serialized type information, whose type objects others may ask for from now on; `None` if nothing is known, and for a type
    /// that contains itself.
    pub(crate) fn information(&self, directory: &SharedDirectory) -> Option<Vec<u8>> {
        let made = self.information.get_or_init(|| {
            let described = match &self.ty {
                TypeOf::Compiled(description) => compiled(*description)?,
                TypeOf::Given(described) => Arc::clone(described),
                TypeOf::Unknown => return None,
            };
            lock(directory).add(&described);
            described.information().serialize().ok()
        });
        made.clone()
    }

    /// The description of samples for content filters; `None` if it is not known. Made when it is first asked for.
    pub(crate) fn samples(&self) -> Option<SampleType> {
        let made = self.samples.get_or_init(|| {
            let (schema, index) = match &self.ty {
                TypeOf::Compiled(description) => wire::schema::of(*description)?,
                TypeOf::Given(described) => {
                    let objects = described.complete.iter();
                    let objects = objects.filter_map(|(ty, object)| Some((ObjectId::of(ty)?, &**object)));
                    let mut library = Library::default();
                    library.add_all(objects);
                    xtypes::recover(&library, ObjectId::of(&described.complete.last()?.0)?)?
                }
                TypeOf::Unknown => return None,
            };
            Some(SampleType::new(Arc::new(schema), index))
        });
        made.clone()
    }
}

fn compiled(description: Description) -> Option<Arc<Described>> {
    let (schema, index) = wire::schema::of(description)?;
    xtypes::describe(&schema, index).ok().map(Arc::new)
}

/// The directory, as discovery sees it.
#[derive(Debug)]
pub(crate) struct Shared(pub(crate) SharedDirectory);

impl Types for Shared {
    fn compare(
        &mut self,
        now: Instant,
        writer: &EndpointData,
        reader: &EndpointData,
        remote: Option<GuidPrefix>,
    ) -> TypeVerdict {
        match lock(&self.0).compare(now, writer, reader, remote) {
            Verdict::ByName(_) => TypeVerdict::ByName,
            Verdict::Assignable => TypeVerdict::Assignable,
            Verdict::Different(difference) => TypeVerdict::Different(difference),
            Verdict::Pending => TypeVerdict::Pending,
        }
    }

    fn take_news(&mut self) -> bool {
        lock(&self.0).take_news()
    }

    fn poll_request(&mut self, now: Instant, own: GuidPrefix) -> Option<(GuidPrefix, Vec<u8>)> {
        lock(&self.0).poll(now, own)
    }

    fn poll_timeout(&self) -> Instant {
        lock(&self.0).poll_timeout()
    }

    fn on_request(
        &mut self,
        now: Instant,
        own: GuidPrefix,
        from: GuidPrefix,
        request: &[u8],
    ) -> Option<Vec<u8>> {
        lock(&self.0).on_request(now, own, from, request)
    }

    fn on_reply(&mut self, now: Instant, from: GuidPrefix, reply: &[u8]) {
        lock(&self.0).on_reply(now, from, reply);
    }

    fn forget(&mut self, participant: GuidPrefix) {
        lock(&self.0).forget(participant);
    }
}
