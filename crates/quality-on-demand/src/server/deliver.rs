//! Notifications on their way: by HTTPS, to no address inside, without following anybody elsewhere, a few times at most.
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use connections::{HttpClient, Question, connect};
use keys::rustls::pki_types::pem::PemObject;
use keys::rustls::pki_types::{CertificateDer, ServerName};
use keys::rustls::{ClientConfig, RootCertStore, crypto::ring::default_provider};
use tokio::net::lookup_host;
use tokio::sync::mpsc::Receiver;
use tokio::time::{sleep, timeout};
use tracing::warn;
use wan::Prefix;

use crate::notification::Notice;
use crate::sink::{Target, is_public};

/// How often one is tried, and the first pause; each further one is twice as long.
const TRIES: u32 = 5;
const PAUSE: Duration = Duration::from_secs(1);
/// How long a try may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// Bytes of an answer that are read.
const LONGEST: usize = 16 << 10;

/// What came of a try.
enum Outcome {
    /// It arrived.
    Delivered,
    /// It may arrive at another time.
    Later(String),
    /// It never will.
    Never(String),
}

/// Servers whose certificates these authorities have signed are trusted.
///
/// # Errors
/// The file cannot be read, or has no certificate.
pub(super) fn trust(authorities: &Path) -> Result<Arc<ClientConfig>, String> {
    let wrong = |what: String| format!("notifications: {}: {what}", authorities.display());
    let mut roots = RootCertStore::empty();
    let found = CertificateDer::pem_file_iter(authorities).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    // Some that a system trusts may be of forms that are not read here.
    let (count, _) = roots.add_parsable_certificates(found.map_err(|error| wrong(error.to_string()))?);
    if count == 0 {
        return Err(wrong("it has no certificate in PEM".to_owned()));
    }
    let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions();
    let mut config =
        config.map_err(|error| wrong(error.to_string()))?.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

/// Delivers the notifications of one client, one after the other.
pub(super) async fn deliver(mut waiting: Receiver<Notice>, allow: Vec<Prefix>, trusted: Arc<ClientConfig>) {
    while let Some(notice) = waiting.recv().await {
        // The path and what follows may be secrets of the client.
        let of = Target::of(&notice.sink).map_or_else(String::new, |target| target.authority);
        let mut pause = PAUSE;
        for left in (0..TRIES).rev() {
            let tried = timeout(PATIENCE, attempt(&notice, &allow, &trusted)).await;
            match tried.unwrap_or_else(|_| Outcome::Later(format!("no answer in {} s", PATIENCE.as_secs()))) {
                Outcome::Delivered => break,
                Outcome::Never(what) => {
                    warn!("a notification of {} to {of} is left out: {what}", notice.client);
                    break;
                }
                Outcome::Later(what) if left == 0 => {
                    warn!(
                        "a notification of {} to {of} is left out after {TRIES} tries: {what}",
                        notice.client
                    );
                }
                Outcome::Later(_) => {
                    sleep(pause).await;
                    pause *= 2;
                }
            }
        }
    }
}

/// Whether notifications may go to an address.
fn may(address: IpAddr, allow: &[Prefix]) -> bool {
    is_public(address) || allow.iter().any(|prefix| prefix.contains(address))
}

/// The addresses of a host. Those of a name are looked up for each try, and the connection goes to what was looked at.
async fn addresses(target: &Target) -> std::io::Result<Vec<SocketAddr>> {
    if let Ok(address) = target.host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(address, target.port)]);
    }
    Ok(lookup_host((target.host.as_str(), target.port)).await?.collect())
}

async fn attempt(notice: &Notice, allow: &[Prefix], trusted: &Arc<ClientConfig>) -> Outcome {
    let Some(target) = Target::of(&notice.sink) else { return Outcome::Never("it is no sink".to_owned()) };
    let mut headers =
        vec![("host", target.authority.clone()), ("content-type", "application/cloudevents+json".to_owned())];
    if let Some(token) = &notice.token {
        if token.expires <= super::now() {
            return Outcome::Never("its token has expired".to_owned());
        }
        headers.push(("authorization", format!("Bearer {}", token.token)));
    }
    let addresses = match addresses(&target).await {
        Ok(addresses) => addresses,
        Err(error) => return Outcome::Later(error.to_string()),
    };
    // A name that has an address inside among others is not trusted with any.
    if let Some(inside) = addresses.iter().find(|address| !may(address.ip(), allow)) {
        return Outcome::Never(format!(
            "{} is not of the Internet at large, and `allow` does not have it",
            inside.ip()
        ));
    }
    let (Some(address), Ok(name)) = (addresses.first(), ServerName::try_from(target.host.clone())) else {
        return Outcome::Later("it has no address".to_owned());
    };
    let stream = match connect(*address, Some((Arc::clone(trusted), name))).await {
        Ok(stream) => stream,
        Err(error) => return Outcome::Later(error.to_string()),
    };
    let question =
        Question { method: "POST", path: target.path, headers, body: notice.body.clone().into_bytes() };
    let answered = async { HttpClient::over(stream).await?.ask(question, LONGEST).await };
    match answered.await {
        Ok((200..=299, _)) => Outcome::Delivered,
        Ok((status @ (408 | 429 | 500..), _)) => Outcome::Later(format!("the answer is {status}")),
        // A redirect is not followed.
        Ok((status, _)) => Outcome::Never(format!("the answer is {status}")),
        Err(error) => Outcome::Later(error.to_string()),
    }
}
