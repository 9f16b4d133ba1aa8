//! Certificates of `tls` endpoints: whether files are what they are given for, and why a connection does not come about. Zenoh itself tries again and
//! says nothing.
use std::io::{self, Read as _};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::sign::CertifiedKey;
use rustls::{AlertDescription, CertificateError, ClientConfig, ClientConnection, RootCertStore};

use crate::Failure;
use crate::arguments::Tls;

/// How long an attempt waits for the other side.
const ATTEMPT: Duration = Duration::from_secs(3);

/// What the files of an operator have in them.
struct Loaded {
    /// Authorities that are trusted; `None`: those of the public web.
    authorities: Option<RootCertStore>,
    own: Option<CertifiedKey>,
}

/// Whether the files are what they are given for.
///
/// # Errors
/// One of them cannot be read, is none of its kind, or the key is of another certificate: [`Failure::Usage`].
pub(crate) fn check(tls: &Tls) -> Result<(), Failure> {
    load(tls).map(drop)
}

fn load(tls: &Tls) -> Result<Loaded, Failure> {
    let authorities = match &tls.ca {
        None => None,
        Some(path) => {
            let mut store = RootCertStore::empty();
            for certificate in certificates("--ca", path)? {
                let added = store.add(certificate);
                added.map_err(|error| {
                    wrong("--ca", path, &format!("a certificate in it is none of an authority: {error}"))
                })?;
            }
            Some(store)
        }
    };
    let own = match &tls.own {
        None => None,
        Some((path, key_path)) => {
            let chain = certificates("--certificate", path)?;
            let key = PrivateKeyDer::from_pem_file(key_path)
                .map_err(|error| wrong("--key", key_path, &unread(&error, "private key")))?;
            let own = CertifiedKey::from_der(chain, key, &default_provider()).map_err(|error| {
                wrong("--key", key_path, &format!("it is not the key of the certificate {}: {error}; give the two files that were made together", path.display()))
            })?;
            Some(own)
        }
    };
    Ok(Loaded { authorities, own })
}

fn certificates(option: &str, path: &Path) -> Result<Vec<CertificateDer<'static>>, Failure> {
    let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let all = read.map_err(|error| wrong(option, path, &unread(&error, "certificate")))?;
    if all.is_empty() {
        return Err(wrong(
            option,
            path,
            "there is no certificate in it; give a file in PEM, with BEGIN CERTIFICATE",
        ));
    }
    Ok(all)
}

fn unread(error: &pem::Error, what: &str) -> String {
    match error {
        pem::Error::Io(error) => error.to_string(),
        pem::Error::NoItemsFound => format!("there is no {what} in it; give a file in PEM"),
        other => format!("it is no {what} in PEM: {other}"),
    }
}

fn wrong(option: &str, path: &Path, why: &str) -> Failure {
    Failure::Usage(format!("{option} {}: {why}", path.display()))
}

/// Why no connection to this endpoint comes about, as far as an attempt shows it, and what to do; `None` if it shows nothing. Waits for some seconds at
/// most.
pub(crate) fn why_not(endpoint: &str, tls: &Tls) -> Option<String> {
    let (kind, address) = endpoint.split_once('/')?;
    let (host, _) = address.rsplit_once(':')?;
    let mut stream = match connect(address) {
        Ok(stream) => stream,
        Err(error) => {
            return Some(format!(
                "no connection to {endpoint}: {error}; is the router or bridge there running, and the address right?"
            ));
        }
    };
    if kind != "tls" {
        return None;
    }
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let Ok(name) = ServerName::try_from(host.to_owned()) else {
        return Some(format!(
            "no connection to {endpoint}: {host:?} is no name that a certificate can be for"
        ));
    };
    let loaded = match load(tls) {
        Ok(loaded) => loaded,
        Err(failure) => return Some(format!("no connection to {endpoint}: {failure}")),
    };
    let Some(authorities) = loaded.authorities else {
        return Some(format!(
            "no connection to {endpoint} by TLS: without --ca the authorities of the public web are trusted, and no others; give --ca the file of the authority that signed the certificate there"
        ));
    };
    let error = shake_hands(&mut stream, name, authorities, loaded.own).err()?;
    let told = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    let why = match told {
        Some(error) => explain(error, host, tls),
        None => format!("it ends while certificates are shown: {error}"),
    };
    Some(format!("no connection to {endpoint} by TLS: {why}"))
}

fn connect(address: &str) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for at in address.to_socket_addrs()? {
        match TcpStream::connect_timeout(&at, ATTEMPT) {
            Ok(stream) => {
                stream.set_read_timeout(Some(ATTEMPT))?;
                stream.set_write_timeout(Some(ATTEMPT))?;
                return Ok(stream);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Shows certificates as Zenoh does. Fine if the other side takes them, or says nothing.
fn shake_hands(
    stream: &mut TcpStream,
    name: ServerName<'static>,
    authorities: RootCertStore,
    own: Option<CertifiedKey>,
) -> io::Result<()> {
    let versions = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?;
    let builder = versions.with_root_certificates(authorities);
    let config = match own {
        None => builder.with_no_client_auth(),
        Some(own) => builder.with_client_cert_resolver(Arc::new(rustls::sign::SingleCertAndKey::from(own))),
    };
    let mut session = ClientConnection::new(Arc::new(config), name).map_err(io::Error::other)?;
    while session.is_handshaking() {
        session.complete_io(stream)?;
    }
    // What the other side thinks of our certificate comes after that.
    match rustls::Stream::new(&mut session, stream).read(&mut [0]) {
        Err(error) if error.get_ref().is_some_and(|inner| inner.is::<rustls::Error>()) => Err(error),
        _ => Ok(()),
    }
}

fn explain(error: &rustls::Error, host: &str, tls: &Tls) -> String {
    let ca = tls.ca.as_ref().map(|path| path.display().to_string()).unwrap_or_default();
    match error {
        rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer) => format!(
            "the certificate there is of no authority in {ca}; give --ca the file of the authority that signed it"
        ),
        rustls::Error::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        ) => format!(
            "the certificate there is not for {host:?}; connect by a name that it is for, or have one made for this one"
        ),
        rustls::Error::InvalidCertificate(
            CertificateError::Expired
            | CertificateError::ExpiredContext { .. }
            | CertificateError::NotValidYet
            | CertificateError::NotValidYetContext { .. },
        ) => format!(
            "the certificate there is not valid at this time: {error}; renew it, or set the clock right"
        ),
        rustls::Error::AlertReceived(AlertDescription::CertificateRequired) => {
            "a certificate is asked for there; give --certificate and --key of this bridge".to_owned()
        }
        rustls::Error::AlertReceived(
            AlertDescription::UnknownCA
            | AlertDescription::BadCertificate
            | AlertDescription::CertificateUnknown
            | AlertDescription::DecryptError,
        ) => format!(
            "the certificate of this bridge is not trusted there ({error}); its authority has to be in the --ca of the other side"
        ),
        other => format!("{other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_with_files_is_said() {
        let folder = std::env::temp_dir().join(format!("punctual-zenoh-tls-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        let made = |name: &str| {
            let key = rcgen::KeyPair::generate().unwrap();
            let certificate =
                rcgen::CertificateParams::new(vec![name.into()]).unwrap().self_signed(&key).unwrap();
            (
                write(&format!("{name}.pem"), &certificate.pem()),
                write(&format!("{name}.key"), &key.serialize_pem()),
            )
        };
        let (one, other) = (made("one"), made("other"));
        let text = write("text", "nothing of the kind");
        let said = |ca: Option<&Path>, own: Option<(&Path, &Path)>| {
            let own = own.map(|(certificate, key)| (certificate.to_owned(), key.to_owned()));
            check(&Tls { ca: ca.map(Path::to_owned), own }).map_err(|failure| failure.to_string())
        };
        assert_eq!(said(Some(&one.0), Some((&one.0, &one.1))), Ok(()));
        let cases = [
            (said(Some(Path::new("/nowhere")), None), "--ca /nowhere: No such file"),
            (said(Some(&text), None), "there is no certificate in it; give a file in PEM"),
            (said(Some(&one.1), None), "there is no certificate in it"),
            (said(None, Some((&one.0, &text))), "there is no private key in it"),
            (said(None, Some((&one.0, &other.1))), "it is not the key of the certificate"),
        ];
        for (said, expected) in cases {
            assert!(said.as_ref().is_err_and(|text| text.contains(expected)), "{said:?}, not {expected}");
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
