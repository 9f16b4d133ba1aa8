//! A host that is called by its DNS name, as nodes of Diameter are: key, certificate, and whom it trusts.
use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ServerConfig};
use system::Error;

use crate::identity::{Files, provider, verifiers};

/// Key and certificate of a host, and the authority that it trusts. Both ends of a connection show certificates; whose they are says
/// [`names_of`].
#[derive(Clone, Debug)]
pub struct HostIdentity {
    server: Arc<ServerConfig>,
    client: Arc<ClientConfig>,
}

impl HostIdentity {
    /// Reads `authority.pem`, `HOST.pem` and `HOST.key` of a folder. They may come from any authority that writes PEM.
    ///
    /// # Errors
    /// A file is missing or damaged, key and certificate do not belong together, or others than its owner can read the key.
    pub fn load(folder: &Path, host: &str) -> Result<Self, Error> {
        let remedy = format!("`punctual aaa keys {} {host}` makes key and certificate", folder.display());
        let files = Files::read(folder, host, &remedy)?;
        let provider = provider();
        let (clients, servers) = verifiers(&files.roots, &provider)
            .map_err(|error| Error::new(format!("{}: {error}", folder.display()), remedy.clone()))?;
        let unfit = |error: rustls::Error| files.unfit(folder, host, &error, &remedy);
        let server = files.server(&clients, &provider).map_err(unfit)?;
        let client = files.client(&servers, &provider).map_err(unfit)?;
        Ok(Self { server, client })
    }

    /// For connections that others make: who shows no certificate of the authority does not get in.
    pub fn server(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.server)
    }

    /// The configuration and the name for a connection to a host, which has to show that it is that.
    ///
    /// # Errors
    /// This is no name of a host.
    pub fn client_to(&self, host: &str) -> Result<(Arc<ClientConfig>, ServerName<'static>), Error> {
        let name = ServerName::try_from(host.to_owned());
        let name =
            name.map_err(|_| Error::new(format!("\"{}\" is no name of a host", host.escape_default()), ""))?;
        Ok((Arc::clone(&self.client), name))
    }
}

/// The DNS names in the certificate that the other end has shown, of which `rustls` has verified that the authority signed it.
pub fn names_of(shown: &[CertificateDer<'_>]) -> Vec<String> {
    let certificate = shown.first().and_then(|first| webpki::EndEntityCert::try_from(first).ok());
    certificate.iter().flat_map(|certificate| certificate.valid_dns_names()).map(str::to_owned).collect()
}

/// Whether this may be the DNS name of a host.
pub(crate) fn is_host(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(is_plain)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    text.len() <= 253 && text.split('.').all(is_label)
}
