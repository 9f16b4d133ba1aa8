//! What operators, and owners of tunnels, send to the manager.
use std::collections::BTreeSet;
use std::time::Duration;

use control::ResourceManager;
use control::config::Config;
use control::network::Network;
use latency::split::Split;

/// A question that is right.
const QUESTION: &str = r#"{"from": "camera", "to": "display", "largest_message": 4000, "smallest_message": 12, "datagram": 1472,
"minimum_separation": 10000000, "contract_maximum_separation": 0, "jitter": 100000, "emission": 300000, "slack": 0, "importance": 3,
"maximum_latency": 5000000, "maximum_separation": 20000000}"#;
const SHORT: &str = r#"{"to":"b","from":"a","largest_message":1,"minimum_separation":1,"maximum_latency":18446744073709551615}"#;

/// What an owner of tunnels wants that is right.
const TUNNELS: &str = r#"{"lifetime": 7000000000, "keep_others": true, "tunnels": [{"id": "01ff", "from": "router", "to": "display",
"packets": {"codepoint": 46}, "rate": 2000000, "burst": 12000, "least_packet": 100, "largest_packet": 1500, "jitter": 200000,
"limit": 25000000, "importance": 7}, {"id": "02", "from": "display", "to": "router", "packets": {"flow": {"source": "10.3.0.11",
"source_port": 0, "destination": "10.1.0.5", "destination_port": 7411}}, "rate": 8, "burst": 500, "least_packet": 500,
"largest_packet": 500, "jitter": 1000000, "limit": 25000000, "importance": 0}]}"#;

/// Valid questions, and what owners want.
pub(super) fn questions() -> Vec<Vec<u8>> {
    [QUESTION, SHORT, TUNNELS].map(|text| text.as_bytes().to_vec()).into()
}

/// A network in which nothing is.
fn nothing() -> Network {
    Network {
        hosts: Vec::new(),
        switches: Vec::new(),
        links: Vec::new(),
        split: Split::Load,
        full: BTreeSet::new(),
    }
}

/// The body of a question what would be answered to a request, or of what an owner of tunnels wants: it is read, or it is said what is wrong.
pub fn web_question(bytes: &[u8]) {
    if let Ok(wanted) = web::tunnels_wanted(bytes)
        && let Ok(mut manager) = ResourceManager::new(Config::default(), nothing(), 1)
    {
        // There is no station that they could be between; numbers are looked at before.
        match manager.hold_tunnels(Duration::from_secs(1), 9, &wanted) {
            Ok(()) => {
                let said = manager.tunnels_of(9);
                assert!(said.len() == wanted.tunnels.len() && said.iter().all(|it| !it.reason.is_empty()));
            }
            Err(error) => assert!(!error.is_empty() && manager.tunnels_of(9).is_empty()),
        }
    }
    match web::question(bytes) {
        Ok(question) => assert!(question.from.len() <= bytes.len() && question.to.len() <= bytes.len()),
        Err(error) => {
            assert!(!error.is_empty() && error.len() < 1_000 + bytes.len(), "it is said what is wrong")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seeds_are_right() {
        for seed in questions() {
            let is_tunnels = seed.starts_with(b"{\"lifetime\"");
            assert!(if is_tunnels {
                web::tunnels_wanted(&seed).is_ok()
            } else {
                web::question(&seed).is_ok()
            });
            web_question(&seed);
        }
    }
}
