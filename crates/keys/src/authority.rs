//! The authority: a key that signs certificates, in a folder of files.
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose,
};
use system::Error;
use time::{Duration, OffsetDateTime};

use crate::AUTHORITY;
use crate::role::Role;

/// The key of the authority: who has it can be anybody.
const AUTHORITY_KEY: &str = "authority.key";
/// How long certificates hold. There is no way to take one back but a new authority.
const YEARS: i64 = 10;
/// Clocks of hosts may be behind by so much.
const BEHIND: Duration = Duration::days(1);

/// A certificate authority in a folder.
#[derive(Debug)]
pub struct Authority {
    folder: PathBuf,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    /// Opens the authority of a folder, or makes one if there is none.
    ///
    /// # Errors
    /// The folder cannot be made or written, or its files are damaged.
    pub fn open(folder: &Path) -> Result<Self, Error> {
        let (certificate, key) = (folder.join(AUTHORITY), folder.join(AUTHORITY_KEY));
        if !certificate.exists() && !key.exists() {
            system::make_folder(folder)?;
            let pair = KeyPair::generate().map_err(|error| made(&key, &error))?;
            let signed = params("Punctual authority")
                .and_then(|mut params| {
                    // It signs certificates of roles, and no other authority.
                    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
                    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
                    params.self_signed(&pair)
                })
                .map_err(|error| made(&certificate, &error))?;
            write(&key, &pair.serialize_pem(), 0o600)?;
            write(&certificate, &signed.pem(), 0o644)?;
        }
        let read = |path: &Path| fs::read_to_string(path).map_err(Error::system(path.display()));
        let damaged = |error: rcgen::Error| {
            let what = format!("{}: no authority: {error}", folder.display());
            Error::new(
                what,
                "name another folder, or remove its authority.pem and authority.key and issue all anew",
            )
        };
        let pair = KeyPair::from_pem(&read(&key)?).map_err(damaged)?;
        let issuer = Issuer::from_ca_cert_pem(&read(&certificate)?, pair).map_err(damaged)?;
        Ok(Self { folder: folder.to_owned(), issuer })
    }

    /// Makes key and certificate of a role, `ROLE.key` and `ROLE.pem`, unless there is a certificate of it already; whether it did.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn issue(&self, role: Role) -> Result<bool, Error> {
        self.issue_for(role, 365 * YEARS)
    }

    /// The same with a certificate that holds for so many days from now; one for 0 days or fewer is over.
    ///
    /// # Errors
    /// As [`Self::issue`].
    pub fn issue_for(&self, role: Role, days: i64) -> Result<bool, Error> {
        self.issue_named(&role.to_string(), role.subject(), role.ends(), days)
    }

    /// Makes key and certificate of a host by its DNS name, `HOST.key` and `HOST.pem`, unless there is a certificate of it already; whether it
    /// did. The host accepts and makes connections.
    ///
    /// # Errors
    /// A file cannot be written, or this is no name of a host.
    pub fn issue_host(&self, host: &str, days: i64) -> Result<bool, Error> {
        if !crate::host::is_host(host) {
            return Err(Error::new(
                format!("\"{}\" is no name of a host", host.escape_default()),
                "write small letters, digits, hyphens and dots, such as aaa.example.net",
            ));
        }
        self.issue_named(host, host.to_owned(), (true, true), days)
    }

    fn issue_named(
        &self,
        name: &str,
        subject: String,
        (accepts, connects): (bool, bool),
        days: i64,
    ) -> Result<bool, Error> {
        let [certificate, key] = ["pem", "key"].map(|end| self.folder.join(format!("{name}.{end}")));
        if certificate.exists() {
            return Ok(false);
        }
        let pair = KeyPair::generate().map_err(|error| made(&key, &error))?;
        let signed = params(name)
            .and_then(|mut params| {
                params.not_after = OffsetDateTime::now_utc().saturating_add(Duration::days(days));
                let server = accepts.then_some(ExtendedKeyUsagePurpose::ServerAuth);
                let client = connects.then_some(ExtendedKeyUsagePurpose::ClientAuth);
                params.subject_alt_names = vec![rcgen::SanType::DnsName(subject.try_into()?)];
                params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
                params.extended_key_usages = server.into_iter().chain(client).collect();
                params.use_authority_key_identifier_extension = true;
                params.signed_by(&pair, &self.issuer)
            })
            .map_err(|error| made(&certificate, &error))?;
        // The certificate last: with it the pair is whole.
        write(&key, &pair.serialize_pem(), 0o600)?;
        write(&certificate, &signed.pem(), 0o644)?;
        Ok(true)
    }
}

fn params(name: &str) -> Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::new(Vec::new())?;
    let now = OffsetDateTime::now_utc();
    params.not_before = now.saturating_sub(BEHIND);
    params.not_after = now.saturating_add(Duration::days(365 * YEARS));
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    Ok(params)
}

fn made(path: &Path, error: &rcgen::Error) -> Error {
    Error::new(format!("{} cannot be made: {error}", path.display()), "")
}

/// Writes a file as a whole: another process sees none of it, or all.
fn write(path: &Path, text: &str, mode: u32) -> Result<(), Error> {
    let half = path.with_extension("new");
    let written = || {
        // What a run that was killed has left.
        let _ = fs::remove_file(&half);
        let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(&half)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&half, path)
    };
    written().map_err(Error::system(path.display()))
}
