//! Samples that a writer hands over by a handle: readers of its participant get the same one, and bytes are made of it only if there are
//! others.
use std::any::Any;
use std::fmt;
use std::sync::{Arc, OnceLock};

use dcps::reader::Payload;
use dcps::{Error, canonical_key};
use rtps::Value;
use wire::cdr::{DdsType, ENCAPSULATION_SIZE, Representation};

use crate::publication::{encoding, not_encoded};

/// A sample, and its bytes once they were asked for.
struct Shared<T> {
    sample: Arc<T>,
    clone: fn(&T) -> T,
    representation: Representation,
    /// Bytes, encapsulation header and padding included.
    size: usize,
    bytes: OnceLock<Vec<u8>>,
}

/// A handle for histories and caches.
///
/// # Errors
/// `BadParameter` if the sample breaks a bound of its type.
pub(crate) fn handle<T: DdsType + Clone + Send + Sync + 'static>(
    sample: Arc<T>,
    representation: Representation,
) -> Result<Arc<dyn Value>, Error> {
    let size = sample.serialized_size(representation).map_err(|error| not_encoded("write", &error))?;
    let size = size.next_multiple_of(4).saturating_add(ENCAPSULATION_SIZE);
    Ok(Arc::new(Shared { sample, clone: T::clone, representation, size, bytes: OnceLock::new() }))
}

/// The sample that its writer gave, if it did and if it is of this type.
pub(crate) fn shared<T: 'static>(payload: &Payload) -> Option<Arc<T>> {
    find::<T>(payload).map(|shared| Arc::clone(&shared.sample))
}

/// A copy of it.
pub(crate) fn copied<T: 'static>(payload: &Payload) -> Option<T> {
    find::<T>(payload).map(|shared| (shared.clone)(&shared.sample))
}

fn find<T: 'static>(payload: &Payload) -> Option<&Shared<T>> {
    payload.value()?.as_any().downcast_ref()
}

impl<T: DdsType + Send + Sync + 'static> Value for Shared<T> {
    fn bytes(&self) -> &[u8] {
        self.bytes.get_or_init(|| {
            let mut bytes = Vec::with_capacity(self.size);
            // Its bounds were kept when it was written, and it cannot have changed since, unless by a lock inside of it: then what
            // is left out is zeros, for as many bytes were announced.
            let _ = self.sample.encode_payload(encoding(self.representation), &mut bytes);
            bytes.resize(self.size, 0);
            bytes
        })
    }

    fn size(&self) -> usize {
        self.size
    }

    fn key(&self, out: &mut Vec<u8>) -> bool {
        canonical_key(&*self.sample, out).is_ok()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl<T> fmt::Debug for Shared<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_serialized = self.bytes.get().is_some();
        f.debug_struct("Shared").field("size", &self.size).field("is_serialized", &is_serialized).finish()
    }
}
