//! What is answered in place of what was asked for: a status of HTTP, a code of CAMARA, and words.
use serde::Serialize;

/// An error as CAMARA has them.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Problem {
    /// The status of HTTP.
    pub status: u16,
    /// One of CAMARA's words for what is wrong.
    pub code: &'static str,
    /// What is wrong, and what to do.
    pub message: String,
}

/// Most characters of a message.
const LONGEST: usize = 512;

impl Problem {
    /// An error; a message that is too long is cut.
    pub fn new(status: u16, code: &'static str, message: impl AsRef<str>) -> Self {
        let message = diagnostics::printable(message.as_ref()).chars().take(LONGEST).collect();
        Self { status, code, message }
    }

    /// The body, a parameter or a header is not as it is specified.
    pub(crate) fn argument(message: impl AsRef<str>) -> Self {
        Self::new(400, "INVALID_ARGUMENT", message)
    }

    /// A number is not in its range.
    pub(crate) fn range(message: impl AsRef<str>) -> Self {
        Self::new(400, "OUT_OF_RANGE", message)
    }

    /// There is nothing of this name.
    pub(crate) fn unknown(message: impl AsRef<str>) -> Self {
        Self::new(404, "NOT_FOUND", message)
    }

    /// The profile is there, and cannot be had in this way.
    pub(crate) fn profile(message: impl AsRef<str>) -> Self {
        Self::new(422, "QUALITY_ON_DEMAND.QOS_PROFILE_NOT_APPLICABLE", message)
    }

    /// The service is not for this device or these servers.
    pub(crate) fn service(message: impl AsRef<str>) -> Self {
        Self::new(422, "SERVICE_NOT_APPLICABLE", message)
    }

    /// Something that is needed is not there now.
    pub(crate) fn away(message: impl AsRef<str>) -> Self {
        Self::new(503, "UNAVAILABLE", message)
    }

    /// The manager cannot be asked now. Why is for the operator, in the log.
    pub(crate) fn manager() -> Self {
        Self::away("the manager of the domain does not answer now: ask again later")
    }
}
