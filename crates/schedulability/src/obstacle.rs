//! Obstacles of bounds: figures that plans do not give.
use alloc::string::String;
use core::fmt;

/// Something that a plan does not say, or that the analysis does not know, and that a bound needs.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Obstacle {
    /// Which of the plans it is in, from 0.
    pub plan: usize,
    /// Where in the plan, as paths of [`assembly::Places`].
    pub path: String,
    /// The host whose chains have no bound for it; empty if it is not known.
    pub host: String,
    /// The missing figure.
    pub what: String,
    /// The advice.
    pub remedy: String,
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.path, self.what, self.remedy)
    }
}
