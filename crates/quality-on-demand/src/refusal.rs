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
        "contract-expired" | "not-authorized" => Some(Problem::new(403, "PERMISSION_DENIED", text)),
        "unknown-destination" | "destination-not-agreed" => {
            Some(Problem::service(format!("applicationServer: {text}")))
        }
        "unknown-user" | "unknown-service" | "class-not-agreed" | "invalid" => Some(Problem::profile(text)),
        "busy" | "aaa-unavailable" => Some(Problem::away(text)),
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
        "contract-expired" | "no-agreement" | "direct-not-agreed" | "not-authorized" | "aborted" | "loss"
        | "not-disjoint" | "cannot-duplicate" => "ask the operator of the network".to_owned(),
        "no-answer" | "link-down" | "device" | "busy" | "aaa-unavailable" => {
            "ask again later: a part of the network is away".to_owned()
        }
        "time-over" => "ask for a new session, and extend it before it ends".to_owned(),
        "grant-over" => {
            "ask for a new session; if that ends as well, ask the operator of the network".to_owned()
        }
        _ => "ask for a new session".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Each word of a manager, the status of the error that it is (0: a session that is unavailable), and a part of what can be done.
    const WORDS: [(&str, u16, &str); 33] = [
        ("direct-not-agreed", 0, "operator"),
        ("moved", 0, "new session"),
        ("invalid", 422, "new session"),
        ("unknown-user", 422, "new session"),
        ("unknown-service", 422, "new session"),
        ("contract-expired", 403, "operator"),
        ("class-not-agreed", 422, "new session"),
        ("destination-not-agreed", 422, "new session"),
        ("quota", 0, "delete sessions"),
        ("too-many-sessions", 0, "delete sessions"),
        ("service-full", 0, "other sessions"),
        ("foreign-source", 404, "new session"),
        ("unknown-destination", 422, "new session"),
        ("no-path", 0, "delay"),
        ("no-agreement", 0, "operator"),
        ("rate", 0, "other sessions"),
        ("burst", 0, "other sessions"),
        ("delay", 0, "delay"),
        ("callee-refused", 0, "operator of the servers"),
        ("no-answer", 0, "later"),
        ("link-down", 0, "later"),
        ("busy", 503, "later"),
        ("unknown-session", 0, "new session"),
        ("stopped", 0, "new session"),
        ("time-over", 0, "extend it"),
        ("device", 0, "later"),
        ("not-authorized", 403, "operator"),
        ("aaa-unavailable", 503, "later"),
        ("aborted", 0, "operator"),
        ("grant-over", 0, "operator"),
        ("loss", 0, "operator"),
        ("not-disjoint", 0, "operator"),
        ("cannot-duplicate", 0, "operator"),
    ];

    #[test]
    fn each_word_of_a_manager_has_its_error_and_its_remedy() {
        for (word, status, can_do) in WORDS {
            let why = Refused {
                asn: 65_002,
                link: None,
                reason: word.to_owned(),
                missing: None,
                offer: None,
                unit: None,
                other: None,
                text: "AS 65002: router-7 says so".to_owned(),
            };
            assert_eq!(problem(&why).map_or(0, |problem| problem.status), status, "{word}");
            assert!(remedy(&why).contains(can_do), "{word}: {}", remedy(&why));
            let tells = !matches!(word, "device" | "not-authorized" | "aaa-unavailable");
            let told = problem(&why).map_or_else(|| text(&why), |problem| problem.message);
            assert_eq!(told.contains("router-7"), tells, "{word}: {told}");
        }
    }

    /// A word that a manager learns has to be looked at here.
    #[test]
    fn these_are_all_words() {
        let source = include_str!("../../wan-server/src/convert.rs");
        let (_, source) = source.split_once("let reason = match &refusal.reason {").unwrap();
        let (arms, _) = source.split_once("    };\n    Refused {").unwrap();
        let is_word =
            |text: &&str| !text.contains(['/', ' ', '\n']) && !matches!(*text, "bytes" | "ns" | "ppm");
        let words: BTreeSet<&str> = arms.split('"').skip(1).step_by(2).filter(is_word).collect();
        assert_eq!(words, WORDS.iter().map(|(word, _, _)| *word).collect());
    }
}
