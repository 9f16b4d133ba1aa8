//! Signatures of files: ECDSA over P-256 with SHA-256, as `openssl dgst -sha256 -sign` makes them and `-verify` takes them.
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::{SignatureScheme, server::danger::ClientCertVerifier};
use system::Error;
use webpki::EndEntityCert;
use webpki::ring::ECDSA_P256_SHA256;

use crate::identity::Identity;
use crate::role::Role;

impl Identity {
    /// Signs bytes with the key of the role; the signature is DER.
    ///
    /// # Errors
    /// The key is of another kind.
    pub fn sign(&self, bytes: &[u8]) -> Result<Vec<u8>, Error> {
        let kind = "make the keys anew: `punctual grm keys` makes keys of this kind";
        let signer = self.own.key.choose_scheme(&[SignatureScheme::ECDSA_NISTP256_SHA256]);
        let signer = signer.ok_or_else(|| {
            Error::new(format!("the key of {} is no ECDSA key over P-256", self.role()), kind)
        })?;
        signer.sign(bytes).map_err(|error| Error::new(format!("the key of {}: {error}", self.role()), kind))
    }

    /// Whose signature of these bytes it is, from the certificate of who has signed: one that this authority has signed, and that is valid now.
    ///
    /// # Errors
    /// What is wrong with the certificate or the signature.
    pub fn signer(
        &self,
        certificate: &CertificateDer<'_>,
        bytes: &[u8],
        signature: &[u8],
    ) -> Result<Role, String> {
        let verifier: &dyn ClientCertVerifier = &**self.clients();
        let wrong = |error: &dyn std::fmt::Display| format!("the certificate of its signer: {error}");
        verifier.verify_client_cert(certificate, &[], UnixTime::now()).map_err(|error| wrong(&error))?;
        let role = Self::shown_by(std::slice::from_ref(certificate));
        let role = role.ok_or_else(|| wrong(&"it names no role"))?;
        let holder = EndEntityCert::try_from(certificate).map_err(|error| wrong(&error))?;
        let verified = holder.verify_signature(ECDSA_P256_SHA256, bytes, signature);
        verified.map_err(|_| format!("it is not what {role} has signed"))?;
        Ok(role)
    }
}
