//! Errors of connections, in words.
use std::error::Error;
use std::io;

use keys::Role;
use keys::rustls::{AlertDescription, CertificateError, Error as TlsError};

/// What was wrong, and what to do, where the other end was to be of a role; `None` if it is nothing that keys are the reason of. An error is looked
/// at with what it was made of.
pub fn why(error: &(dyn Error + 'static), role: Role) -> Option<String> {
    let text = match tls_error(error)? {
        TlsError::InvalidMessage(_) => {
            "it does not speak TLS: leave out the keys, or give the other end its own".to_owned()
        }
        TlsError::InvalidCertificate(wrong) => match wrong {
            CertificateError::UnknownIssuer | CertificateError::BadSignature => format!(
                "its certificate is of another authority: the keys of both ends have to be of one folder of `punctual grm keys`; give that of {role}"
            ),
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => format!(
                "its certificate has expired: remove {role}.pem where the keys were made, and `punctual grm keys FOLDER {role}` makes another one"
            ),
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                "its certificate does not hold yet: set the clocks of both hosts".to_owned()
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                format!("its certificate is not that of {role}: is the address right?")
            }
            other => format!("its certificate is not accepted: {other:?}"),
        },
        TlsError::AlertReceived(alert) => match alert {
            AlertDescription::UnknownCA | AlertDescription::DecryptError | AlertDescription::BadCertificate => format!(
                "it does not accept the certificate of this end, which is of another authority: give the folder of keys that the {role} has its own from"
            ),
            AlertDescription::CertificateExpired => {
                "the certificate of this end has expired or does not hold yet: set the clock, or remove it and make another one with `punctual grm keys`"
                    .to_owned()
            }
            AlertDescription::CertificateRequired => "it wants a certificate of this end".to_owned(),
            other => format!("it ends the connection: {other:?}"),
        },
        other => other.to_string(),
    };
    Some(text)
}

/// The error of a peer that has connected, for the log.
pub(crate) fn of_arrival(error: &(dyn Error + 'static)) -> String {
    let text = match tls_error(error) {
        Some(TlsError::InvalidMessage(_)) => "it does not speak TLS",
        Some(TlsError::NoCertificatesPresented) => "it shows no certificate",
        Some(TlsError::InvalidCertificate(wrong)) => match wrong {
            CertificateError::UnknownIssuer | CertificateError::BadSignature => {
                "its certificate is of another authority"
            }
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                "its certificate has expired"
            }
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                "its certificate does not hold yet"
            }
            _ => return error.to_string(),
        },
        _ => return error.to_string(),
    };
    text.to_owned()
}

/// Whether an answer was no HTTP, as it is where the other end wants TLS: it sends an alert.
pub fn speaks_tls(error: &(dyn Error + 'static)) -> bool {
    error.downcast_ref::<hyper::Error>().is_some_and(hyper::Error::is_parse)
}

/// The error of TLS that an error was made of.
fn tls_error<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a TlsError> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref::<TlsError>() {
            return Some(found);
        }
        // The source of such an error is the source of what it has in it.
        let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        next = match inner {
            Some(inner) => Some(inner),
            None => error.source(),
        };
    }
    None
}
