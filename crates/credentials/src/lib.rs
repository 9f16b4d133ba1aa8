//! Keys of participants and managers: [`KeyFolder`] signs requests and verdicts of admission, and verifies those of others.
//!
//! Keys are ECDSA over P-256 with SHA-256, certificates are X.509, made by `punctual grm keys`; the cryptography is `ring`'s, as for TLS.
//! A participant is given its key by its configuration ([`wire::seal::Credentials`] says what it needs of one):
//!
//! ```no_run
//! use std::path::Path;
//!
//! let alice = credentials::KeyFolder::load(Path::new("/etc/punctual/keys"), "user-alice")?;
//! # Ok::<(), credentials::Problem>(())
//! ```
//!
//! See `docs/decisions/0019-signed-requests.md`.
#![forbid(unsafe_code)]

use std::fmt;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::Duration;

use pki_types::pem::PemObject as _;
use pki_types::{CertificateDer, PrivateKeyDer, TrustAnchor, UnixTime};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair};
use webpki::{EndEntityCert, KeyUsage};
use wire::seal::{Certified, Credentials, Holder, MOST_CERTIFICATE, MOST_NAME, Signature};

/// The suffix of names of roles in certificates.
const DOMAIN: &str = ".punctual.internal";
/// The file with the certificate of the authority.
const AUTHORITY: &str = "authority.pem";

/// Why there are no credentials, and what to do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    what: String,
    remedy: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.what, self.remedy)
    }
}

impl std::error::Error for Problem {}

/// The key of one role, its certificate, and the authority that is trusted, as `punctual grm keys` writes them into a folder.
pub struct KeyFolder {
    authority: TrustAnchor<'static>,
    certificate: CertificateDer<'static>,
    holder: Holder,
    key: EcdsaKeyPair,
    random: SystemRandom,
}

impl KeyFolder {
    /// Reads `authority.pem`, `ROLE.pem` and `ROLE.key` of a folder; the role is `manager` or `user-NAME`.
    ///
    /// # Errors
    /// A file is missing or damaged, key and certificate do not belong together, or others than its owner can read the key.
    pub fn load(folder: &Path, role: &str) -> Result<Self, Problem> {
        let remedy = format!("`punctual grm keys {} {role}` makes key and certificate", folder.display());
        let wrong = |path: &Path, what: &dyn fmt::Display| Problem {
            what: format!("{}: {what}", path.display()),
            remedy: remedy.clone(),
        };
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if !role.chars().all(is_plain) {
            return Err(Problem {
                what: format!("{role:?} is no role"),
                remedy: "name manager or user-NAME".to_owned(),
            });
        }
        let [certificate, key] = ["pem", "key"].map(|end| folder.join(format!("{role}.{end}")));
        let authority = folder.join(AUTHORITY);
        let read = |path: &Path| CertificateDer::from_pem_file(path).map_err(|error| wrong(path, &error));
        let root = read(&authority)?;
        let anchor = webpki::anchor_from_trusted_cert(&root).map_err(|error| wrong(&authority, &error))?;
        let mode = fs::metadata(&key).map_err(|error| wrong(&key, &error))?.mode();
        if mode & 0o077 != 0 {
            let remedy =
                format!("chmod 600 {0}; if another user has read it, make all keys anew", key.display());
            return Err(Problem {
                what: format!("{}: others than its owner may read this key", key.display()),
                remedy,
            });
        }
        let private = PrivateKeyDer::from_pem_file(&key).map_err(|error| wrong(&key, &error))?;
        let random = SystemRandom::new();
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, private.secret_der(), &random)
            .map_err(|error| wrong(&key, &error))?;
        let shown = read(&certificate)?;
        if shown.len() > MOST_CERTIFICATE {
            return Err(wrong(&certificate, &"the certificate is too long"));
        }
        let holder = holder_of(&shown).map_err(|error| wrong(&certificate, &error))?;
        let found = Self { authority: anchor.to_owned(), certificate: shown, holder, key: pair, random };
        let certified = Certified { holder: found.holder.clone(), certificate: found.certificate.to_vec() };
        let belongs =
            found.sign(b"?").is_some_and(|signature| found.has_signed(&certified, b"?", &signature));
        if !belongs {
            return Err(wrong(&key, &"it is not the key of the certificate"));
        }
        Ok(found)
    }
}

impl fmt::Debug for KeyFolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyFolder of {:?}", self.holder)
    }
}

impl Credentials for KeyFolder {
    fn certificate(&self) -> &[u8] {
        &self.certificate
    }

    fn holder(&self) -> &Holder {
        &self.holder
    }

    fn sign(&self, message: &[u8]) -> Option<Signature> {
        let signature = self.key.sign(&self.random, message).ok()?;
        Signature::new(signature.as_ref())
    }

    fn certify(&self, certificate: &[u8], now: u64) -> Result<Certified, String> {
        let der = CertificateDer::from(certificate);
        let parsed = EndEntityCert::try_from(&der).map_err(|_| "it shows no certificate".to_owned())?;
        let verified = parsed.verify_for_usage(
            &[webpki::ring::ECDSA_P256_SHA256],
            std::slice::from_ref(&self.authority),
            &[],
            UnixTime::since_unix_epoch(Duration::from_secs(now)),
            KeyUsage::client_auth(),
            None,
            None,
        );
        verified.map_err(|error| match error {
            webpki::Error::CertExpired { .. } => "its certificate has expired".to_owned(),
            webpki::Error::CertNotValidYet { .. } => {
                "its certificate does not hold yet: are the clocks right?".to_owned()
            }
            _ => "its certificate is of another authority".to_owned(),
        })?;
        Ok(Certified { holder: holder_of(&der)?, certificate: certificate.to_vec() })
    }

    fn has_signed(&self, certified: &Certified, message: &[u8], signature: &Signature) -> bool {
        let der = CertificateDer::from(certified.certificate.as_slice());
        let Ok(parsed) = EndEntityCert::try_from(&der) else { return false };
        parsed.verify_signature(webpki::ring::ECDSA_P256_SHA256, message, signature.as_bytes()).is_ok()
    }
}

/// Whom a certificate names.
fn holder_of(certificate: &CertificateDer<'_>) -> Result<Holder, String> {
    let parsed = EndEntityCert::try_from(certificate).map_err(|_| "it is no certificate".to_owned())?;
    let mut names = parsed.valid_dns_names();
    let (Some(name), None) = (names.next(), names.next()) else {
        return Err("its certificate does not name one role".to_owned());
    };
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let is_name = |name: &&str| !name.is_empty() && name.len() <= MOST_NAME && name.chars().all(is_plain);
    match name.strip_suffix(DOMAIN) {
        Some("manager") => Ok(Holder::Manager),
        Some(role) => {
            let user = role.strip_prefix("user-").filter(is_name);
            user.map(|user| Holder::User(user.to_owned())).ok_or_else(|| {
                format!(
                    "its certificate is that of {}, which neither asks nor manages",
                    role.escape_default()
                )
            })
        }
        None => Err("its certificate names no role".to_owned()),
    }
}
