//! How what has secrets of clients is shown to developers: without them. Tokens are secrets, and so may be what follows the host of a sink.
use std::fmt;

use crate::body::{SinkCredential, SinkToken};
use crate::notification::Notice;
use crate::sink::Target;

impl fmt::Debug for SinkCredential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SinkCredential").finish_non_exhaustive()
    }
}

impl fmt::Debug for SinkToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SinkToken").field("expires", &self.expires).finish_non_exhaustive()
    }
}

impl fmt::Debug for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = Target::of(&self.sink).map(|target| target.authority);
        let mut shown = f.debug_struct("Notice");
        shown
            .field("client", &self.client)
            .field("host", &host)
            .field("body", &self.body)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_of_clients_are_not_shown() {
        let token = SinkToken { token: "abc-secret".to_owned(), expires: 7 };
        let sink = "https://application.example:8443/path-secret?key=query-secret".to_owned();
        let client = "robots".to_owned();
        let notice = Notice { client, sink, token: Some(token.clone()), body: "{}".to_owned() };
        let credential = serde_json::json!({"credentialType": "ACCESSTOKEN", "accessToken": "abc-secret"});
        let credential: SinkCredential = serde_json::from_value(credential).unwrap();
        let shown = format!("{notice:?} {token:?} {credential:?}");
        assert!(!shown.contains("secret") && shown.contains("application.example:8443"), "{shown}");
    }
}
