//! What becomes of a refusal of a manager: an error of CAMARA where it specifies one, and what the client can do about it.
use wan_server::protocol::Refused;

use crate::problem::Problem;

/// What a client is told of a refusal. What devices are called and what an AAA server says is the operator's, and in the log.
pub(crate) fn text(why: &Refused) -> String {
    let what = match why.reason.as_str() {
        "device" => "a device of the network is not set up",
        "not-authorized" => "its operator does not authorize it",
        "aaa-unavailable" => "nobody can authorize it now",
        _ => return why.text.clone(),
    };
    format!("AS {}: {what}", why.asn)
}

/// The error that a refusal is; `None` where the network cannot do it now, which makes a session that is unavailable.
pub(crate) fn problem(why: &Refused) -> Option<Problem> {
    let text = text(why);
    match why.reason.as_str() {
        "foreign-source" => Some(Problem::new(404, "IDENTIFIER_NOT_FOUND", format!("device: {text}"))),
        "contract-expired" => Some(Problem::new(403, "PERMISSION_DENIED", text)),
        "unknown-destination" | "destination-not-agreed" => {
            Some(Problem::service(format!("applicationServer: {text}")))
        }
        "unknown-user" | "unknown-service" | "class-not-agreed" | "invalid" => Some(Problem::profile(text)),
        "busy" => Some(Problem::away(text)),
        _ => None,
    }
}

/// What a client can do.
pub(crate) fn remedy(why: &Refused) -> String {
    let offer = match (why.offer, why.unit.as_deref()) {
        (Some(offer), Some(unit)) => format!("{offer} {unit}"),
        _ => "less".to_owned(),
    };
    match why.reason.as_str() {
        "quota" | "too-many-sessions" => {
            format!("delete sessions that are not needed, or ask for a profile within {offer}")
        }
        "service-full" | "rate" | "burst" => {
            format!("ask for a profile within {offer}, or again when other sessions have ended")
        }
        "delay" | "no-path" => format!("ask for a profile whose delay is {offer} or more"),
        "callee-refused" => "ask the operator of the servers to accept such sessions".to_owned(),
        "no-answer" | "link-down" | "device" => "ask again later: a part of the network is away".to_owned(),
        "time-over" => "ask for a new session, and extend it before it ends".to_owned(),
        _ => "ask for a new session".to_owned(),
    }
}
