//! What becomes of a refusal of a manager: an error of CAMARA where it specifies one, and what the client can do about it.
use wan_server::protocol::Refused;

use crate::problem::Problem;

/// The error that a refusal is; `None` where the network cannot do it now, which makes a session that is unavailable.
pub(crate) fn problem(why: &Refused) -> Option<Problem> {
    let text = &why.text;
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
