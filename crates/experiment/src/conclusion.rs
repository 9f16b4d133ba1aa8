//! What follows from an experiment: whether what was promised was kept, and the exit code that says it.
use pages::Mood;

/// Everything that was promised was kept.
pub const HELD: u8 = 0;
/// A promise was broken.
pub const BROKEN: u8 = 1;
/// It could not be done, or the machine stood still too often to tell.
pub const VOID: u8 = 3;

/// What follows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Conclusion {
    /// All that was promised was kept; what is to be known of that, in words.
    Held(Vec<String>),
    /// Something was not: what, in words.
    Broken(Vec<String>),
    /// The run does not tell: why.
    Void(Vec<String>),
}

impl Conclusion {
    /// What is broken counts also if something else says nothing, and no run holds of which a part says nothing.
    pub(crate) fn of(broken: Vec<String>, void: Vec<String>, held: impl FnOnce() -> Vec<String>) -> Self {
        match (broken.is_empty(), void.is_empty()) {
            (false, _) => Self::Broken(broken),
            (true, false) => Self::Void(void),
            (true, true) => Self::Held(held()),
        }
    }

    /// The exit code of its command.
    pub(crate) const fn code(&self) -> u8 {
        match self {
            Self::Held(_) => HELD,
            Self::Broken(_) => BROKEN,
            Self::Void(_) => VOID,
        }
    }

    /// How a page shows it.
    pub(crate) const fn mood(&self) -> Mood {
        match self {
            Self::Held(_) => Mood::Good,
            Self::Broken(_) => Mood::Bad,
            Self::Void(_) => Mood::Odd,
        }
    }

    /// What is to be known, or was broken, or why it says nothing.
    pub(crate) fn lines(&self) -> &[String] {
        match self {
            Self::Held(lines) | Self::Broken(lines) | Self::Void(lines) => lines,
        }
    }
}
