//! The one error of the public operations.
use alloc::borrow::Cow;
use core::fmt;

/// Return codes of operations (DDS 1.4, 2.2.1.1); success is `Ok`, and "no data" is an empty result.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum ReturnCode {
    /// Something that is none of the others.
    Error,
    /// The operation or the value is not supported.
    Unsupported,
    /// An argument makes no sense.
    BadParameter,
    /// The operation is not possible in the present state.
    PreconditionNotMet,
    /// A limit is reached, and waiting does not help.
    OutOfResources,
    /// The entity has not been enabled yet.
    NotEnabled,
    /// The policy cannot be changed any more.
    ImmutablePolicy,
    /// Two policies contradict each other.
    InconsistentPolicy,
    /// The entity was deleted.
    AlreadyDeleted,
    /// It took longer than allowed.
    Timeout,
}

impl ReturnCode {
    /// The name in the standard.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Error => "ERROR",
            Self::Unsupported => "UNSUPPORTED",
            Self::BadParameter => "BAD_PARAMETER",
            Self::PreconditionNotMet => "PRECONDITION_NOT_MET",
            Self::OutOfResources => "OUT_OF_RESOURCES",
            Self::NotEnabled => "NOT_ENABLED",
            Self::ImmutablePolicy => "IMMUTABLE_POLICY",
            Self::InconsistentPolicy => "INCONSISTENT_POLICY",
            Self::AlreadyDeleted => "ALREADY_DELETED",
            Self::Timeout => "TIMEOUT",
        }
    }
}

/// Why an operation failed: the code of the standard, what is wrong, where, and what to do. `Debug` is the same text as `Display`: it is
/// what a `main` shows that returns this error.
#[derive(Clone, PartialEq, Eq)]
pub struct Error {
    /// Return code of the standard.
    pub code: ReturnCode,
    /// What is wrong, with the values that make it wrong.
    pub what: Cow<'static, str>,
    /// The operation or policy.
    pub place: &'static str,
    /// What to do about it.
    pub advice: &'static str,
}

impl Error {
    /// An error; `what` should hold the values at fault.
    pub fn new(
        code: ReturnCode,
        place: &'static str,
        what: impl Into<Cow<'static, str>>,
        advice: &'static str,
    ) -> Self {
        Self { code, what: what.into(), place, advice }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}; {}", self.code.name(), self.place, self.what, self.advice)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl core::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use alloc::string::ToString as _;

    #[test]
    fn a_main_that_returns_an_error_shows_its_text() {
        let error =
            Error::new(ReturnCode::PreconditionNotMet, "interfaces", "no usable interface", "switch one on");
        let text = "PRECONDITION_NOT_MET: interfaces: no usable interface; switch one on";
        assert_eq!((error.to_string().as_str(), format!("{error:?}").as_str()), (text, text));
    }
}
