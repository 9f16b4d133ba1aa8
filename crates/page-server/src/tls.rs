//! TLS with a certificate that others have made, for clients that show none.
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use keys::rustls::ServerConfig;
use keys::rustls::crypto::ring::default_provider;
use keys::rustls::pki_types::pem::PemObject;
use keys::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use keys::rustls::sign::{CertifiedKey, SingleCertAndKey};

/// A certificate in PEM, with those that lead to its authority, and its key.
///
/// # Errors
/// They cannot be read, do not belong together, or other users may read the key.
pub fn certified(certificate: &Path, key: &Path) -> Result<CertifiedKey, String> {
    let of = |file: &Path, error: String| format!("{} cannot be used for TLS: {error}", file.display());
    let chain = CertificateDer::pem_file_iter(certificate).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let chain = chain.map_err(|error| of(certificate, error.to_string()))?;
    if chain.is_empty() {
        return Err(of(certificate, "it has no certificate in PEM".to_owned()));
    }
    let is_open = std::fs::metadata(key).is_ok_and(|about| about.permissions().mode() & 0o007 != 0);
    if is_open {
        return Err(of(key, format!("all users may read it: chmod 600 {}", key.display())));
    }
    let secret = PrivateKeyDer::from_pem_file(key).map_err(|error| of(key, error.to_string()))?;
    let certified = CertifiedKey::from_der(chain, secret, &default_provider());
    certified.map_err(|error| of(certificate, error.to_string()))
}

/// TLS 1.3 and HTTP/1.1, for clients that show no certificate.
///
/// # Errors
/// The library refuses it.
pub fn open_tls(certificate: CertifiedKey) -> Result<ServerConfig, String> {
    let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_protocol_versions(&[&keys::rustls::version::TLS13])
        .map_err(|error| error.to_string())?;
    let mut config =
        config.with_no_client_auth().with_cert_resolver(Arc::new(SingleCertAndKey::from(certificate)));
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}
