//! What operators send to the manager.

/// A question that is right.
const QUESTION: &str = r#"{"from": "camera", "to": "display", "largest_message": 4000, "smallest_message": 12, "datagram": 1472,
"minimum_separation": 10000000, "contract_maximum_separation": 0, "jitter": 100000, "emission": 300000, "slack": 0, "importance": 3,
"maximum_latency": 5000000, "maximum_separation": 20000000}"#;
const SHORT: &str = r#"{"to":"b","from":"a","largest_message":1,"minimum_separation":1,"maximum_latency":18446744073709551615}"#;

/// Valid questions.
pub(super) fn questions() -> Vec<Vec<u8>> {
    [QUESTION, SHORT].map(|text| text.as_bytes().to_vec()).into()
}

/// The body of a question what would be answered to a request: it is read, or it is said what is wrong.
pub fn web_question(bytes: &[u8]) {
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
            web::question(&seed).unwrap();
        }
    }
}
