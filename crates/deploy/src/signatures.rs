//! Programs that operators have signed: the signature is in a file beside the program, and so is the certificate of who signed.
use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use keys::rustls::pki_types::CertificateDer;
use keys::rustls::pki_types::pem::PemObject as _;
use keys::{Identity, Role};

use crate::command::{DONE, FAILED, Failure, WRONG, print};

/// What follows the name of a program in that of its signature, and in that of the certificate.
const SIGNATURE: &str = ".signature";
const SIGNER: &str = ".signer.pem";
/// Bytes of the longest signature, and of the longest certificate, that is read.
const MOST: u64 = 64 << 10;

fn beside(program: &Path, end: &str) -> PathBuf {
    let mut path = OsString::from(program);
    path.push(end);
    path.into()
}

/// Signs programs as an operator.
///
/// # Errors
/// There is no key of the operator, or a file cannot be read or written.
pub(crate) fn sign(
    programs: &[PathBuf],
    folder: &Path,
    operator: Option<&str>,
    out: &mut dyn Write,
) -> Result<u8, Failure> {
    let failed = |path: &Path, error: std::io::Error| (FAILED, format!("{}: {error}", path.display()));
    let (identity, _) =
        Identity::of_operator(folder, operator).map_err(|error| (WRONG, format!("--keys: {error}")))?;
    let role = identity.role();
    let certificate = folder.join(format!("{role}.pem"));
    for program in programs {
        let bytes = fs::read(program).map_err(|error| failed(program, error))?;
        let signature = identity.sign(&bytes).map_err(|error| (FAILED, error.to_string()))?;
        let (path, signer) = (beside(program, SIGNATURE), beside(program, SIGNER));
        fs::copy(&certificate, &signer).map_err(|error| failed(&signer, error))?;
        fs::write(&path, signature).map_err(|error| failed(&path, error))?;
        print(out, format_args!("signed by {role}: {}\n", path.display()))?;
    }
    Ok(DONE)
}

/// Whose signatures a node manager accepts: operators' of its authority.
#[derive(Clone, Debug)]
pub(crate) struct Signers(pub(crate) Identity);

impl Signers {
    /// Whether an operator has signed a program.
    ///
    /// # Errors
    /// None has, or the program was changed since.
    pub(crate) fn check(&self, program: &Path, bytes: &[u8]) -> Result<(), String> {
        let read = |end: &str| {
            let path = beside(program, end);
            let wrong = |what: &dyn std::fmt::Display| {
                format!(
                    "{}: {what}; this host starts only what an operator has signed: `punctual deploy sign {} --keys FOLDER`",
                    path.display(),
                    program.display()
                )
            };
            match fs::metadata(&path) {
                Ok(about) if about.len() > MOST => Err(wrong(&"it is too long")),
                Ok(_) => fs::read(&path).map_err(|error| wrong(&error)),
                Err(error) => Err(wrong(&error)),
            }
        };
        let (signature, signer) = (read(SIGNATURE)?, read(SIGNER)?);
        let wrong = |what: String| format!("{}: {what}", program.display());
        let certificate = CertificateDer::from_pem_slice(&signer)
            .map_err(|error| wrong(format!("the certificate of its signer: {error}")))?;
        match self.0.signer(&certificate, bytes, &signature).map_err(wrong)? {
            Role::Operator(_) => Ok(()),
            other => Err(wrong(format!("{other} has signed it, and is no operator"))),
        }
    }
}
