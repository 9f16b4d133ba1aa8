//! Where the interface listens, and what is needed to reach it.
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use keys::Identity;
use keys::rustls::ServerConfig;
use keys::rustls::sign::CertifiedKey;

use crate::access::{Access, sha256};
use crate::tls::{certified, open_tls};

/// Characters that a token has at least.
const LEAST_TOKEN: usize = 32;
/// Bytes of a file with a token at most.
const MOST_TOKEN: u64 = 4_096;

/// Where it listens, and who may ask.
#[derive(Debug)]
pub struct Settings {
    /// The socket.
    pub listener: TcpListener,
    /// Who may ask.
    pub access: Access,
    /// Of connections, if there is TLS.
    pub tls: Option<Arc<ServerConfig>>,
}

impl Settings {
    /// Binds the address. With keys it speaks TLS with the key of their role, and a client shows a certificate of an operator, or says the token. Without
    /// keys an address that is not loopback needs a token, and a certificate with its key. If there are both, clients that call the interface by
    /// another name than that of the role see the certificate.
    ///
    /// # Errors
    /// What is missing or wrong, and what to do.
    pub fn new(
        address: SocketAddr,
        keys: Option<&Identity>,
        token: Option<&Path>,
        certificate: Option<(&Path, &Path)>,
    ) -> Result<Self, String> {
        Self::open(address, keys, "--keys FOLDER, or ", token, certificate)
    }

    /// The same where no certificate of a client opens anything: an address that is not loopback needs a token, and a certificate with its key.
    ///
    /// # Errors
    /// What is missing or wrong, and what to do.
    pub fn by_token(
        address: SocketAddr,
        token: Option<&Path>,
        certificate: Option<(&Path, &Path)>,
    ) -> Result<Self, String> {
        Self::open(address, None, "", token, certificate)
    }

    /// `others` is what could be given in place of a token.
    fn open(
        address: SocketAddr,
        keys: Option<&Identity>,
        others: &str,
        token: Option<&Path>,
        certificate: Option<(&Path, &Path)>,
    ) -> Result<Self, String> {
        let is_open = keys.is_none() && (token.is_none() || certificate.is_none());
        if !address.ip().is_loopback() && is_open {
            return Err(format!(
                "{address} can be reached by others: give {others}--web-token FILE, and --web-cert FILE with --web-key FILE for TLS, or \
                 an address of this host alone, as 127.0.0.1:{}",
                address.port()
            ));
        }
        let token = token.map(read_token).transpose()?;
        let certificate = certificate.map(|(certificate, key)| certified(certificate, key)).transpose()?;
        let tls = configure(keys, certificate)?.map(Arc::new);
        let bound = TcpListener::bind(address).and_then(|listener| {
            listener.set_nonblocking(true)?;
            Ok((listener.local_addr()?, listener))
        });
        let (address, listener) = bound.map_err(|error| {
            format!("the page cannot be served at {address}: {error}; give an address of this host that is free with --web")
        })?;
        let token = token.map(|token| sha256(token.as_bytes()));
        let access = Access { address, token, tls: tls.is_some(), keys: keys.is_some() };
        Ok(Self { listener, access, tls })
    }

    /// Where the page is, as a browser takes it.
    pub fn url(&self) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{}/", self.access.address)
    }
}

fn read_token(file: &Path) -> Result<String, String> {
    let name = file.display();
    let wrong = |error: std::io::Error| format!("--web-token: {name} cannot be read: {error}");
    let about = std::fs::metadata(file).map_err(wrong)?;
    if about.permissions().mode() & 0o077 != 0 {
        return Err(format!("--web-token: others may read or write {name}: chmod 600 {name}"));
    }
    if about.len() > MOST_TOKEN {
        return Err(format!(
            "--web-token: {name} has more than {MOST_TOKEN} bytes: it should hold the token alone"
        ));
    }
    let text = std::fs::read_to_string(file).map_err(wrong)?;
    let token = text.trim();
    if token.len() < LEAST_TOKEN || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(format!(
            "--web-token: {name} needs one line of {LEAST_TOKEN} or more ASCII characters without blanks, as `openssl rand -hex 32` writes it"
        ));
    }
    Ok(token.to_owned())
}

/// TLS 1.3, if there is a key for it.
fn configure(
    keys: Option<&Identity>,
    certificate: Option<CertifiedKey>,
) -> Result<Option<ServerConfig>, String> {
    let mut config = match (keys, certificate) {
        (None, None) => return Ok(None),
        (Some(keys), certificate) => keys.open_server(certificate).map_err(|error| error.to_string())?,
        (None, Some(certificate)) => open_tls(certificate)?,
    };
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Some(config))
}

#[cfg(test)]
mod tests {
    use std::fs::{Permissions, write};

    use super::*;

    #[test]
    fn an_address_that_others_reach_needs_a_token_and_tls() {
        let far = "192.0.2.1:8443".parse().unwrap();
        let error = Settings::new(far, None, None, None).unwrap_err();
        assert!(
            error.contains("--keys") && error.contains("--web-token") && error.contains("--web-cert"),
            "{error}"
        );
        let file = Path::new("/nowhere");
        assert!(Settings::new(far, None, Some(file), None).is_err());
        assert!(Settings::new(far, None, None, Some((file, file))).is_err());
        let error = Settings::by_token(far, Some(file), None).unwrap_err();
        assert!(!error.contains("--keys") && error.contains("give --web-token"), "{error}");
        let everywhere = Settings::new("0.0.0.0:0".parse().unwrap(), None, None, None);
        assert!(everywhere.unwrap_err().contains("can be reached by others"));
    }

    #[test]
    fn a_token_is_long_and_secret() {
        testkit::namespace::alone(tokens);
    }

    fn tokens() {
        let folder = std::env::temp_dir().join(format!("punctual-web-token-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("token");
        let near = "127.0.0.1:0".parse().unwrap();
        let attempt = |text: &str, mode: u32| {
            write(&file, text).unwrap();
            std::fs::set_permissions(&file, Permissions::from_mode(mode)).unwrap();
            Settings::new(near, None, Some(&file), None).map(|settings| settings.access.token.is_some())
        };
        let token = "0123456789abcdef0123456789abcdef\n";
        assert_eq!(attempt(token, 0o600), Ok(true));
        assert!(attempt(token, 0o644).unwrap_err().contains("chmod 600"));
        assert!(attempt("short", 0o600).unwrap_err().contains("32"));
        assert!(attempt(&"two words ".repeat(8), 0o600).unwrap_err().contains("without blanks"));
        assert!(attempt(&"x".repeat(5_000), 0o600).unwrap_err().contains("4096"));
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn files_that_are_no_certificates_are_named() {
        let near = "127.0.0.1:0".parse().unwrap();
        let file = Path::new("/proc/self/comm");
        let error = Settings::new(near, None, None, Some((file, file))).unwrap_err();
        assert!(error.contains("/proc/self/comm cannot be used for TLS"), "{error}");
    }
}
