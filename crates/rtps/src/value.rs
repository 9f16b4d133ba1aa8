//! Samples that stay what they are for readers of their own process, and become bytes only for others.
use alloc::vec::Vec;
use core::any::Any;
use core::fmt::Debug;

/// A sample that need not be serialized for readers of the same process: they get this handle of it.
pub trait Value: Any + Debug + Send + Sync {
    /// Its bytes, encapsulation header included, made when they are first asked for.
    fn bytes(&self) -> &[u8];

    /// How many bytes those are.
    fn size(&self) -> usize;

    /// Appends the key of its instance, in the form that the owner of readers gives it; false if it has none that can be written.
    fn key(&self, out: &mut Vec<u8>) -> bool;

    /// The same, so that its type can be asked for.
    fn as_any(&self) -> &dyn Any;
}
