//! What a program has of its role: key, certificate, and whom it trusts.
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{ClientHello, ResolvesServerCert, WebPkiClientVerifier};
use rustls::sign::CertifiedKey;
use rustls::{ClientConfig, RootCertStore, ServerConfig, SupportedProtocolVersion};
use system::Error;

use crate::AUTHORITY;
use crate::role::{Name, Role};

/// No older TLS is spoken.
const VERSIONS: &[&SupportedProtocolVersion] = &[&rustls::version::TLS13];

/// Key and certificate of a role, and the authority that it trusts.
#[derive(Clone, Debug)]
pub struct Identity {
    role: Role,
    server: Option<Arc<ServerConfig>>,
    client: Option<Arc<ClientConfig>>,
    clients: Arc<dyn ClientCertVerifier>,
    servers: Arc<WebPkiServerVerifier>,
    roots: Arc<RootCertStore>,
    pub(crate) own: Arc<CertifiedKey>,
}

/// Which certificate a client sees, by the name that it calls.
#[derive(Debug)]
struct ByName {
    name: String,
    own: Arc<CertifiedKey>,
    named: Option<Arc<CertifiedKey>>,
}

impl ResolvesServerCert for ByName {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let is_own = hello.server_name() == Some(self.name.as_str());
        Some(Arc::clone(self.named.as_ref().filter(|_| !is_own).unwrap_or(&self.own)))
    }
}

/// The names of the operators whose certificates are in a folder.
fn operators(folder: &Path) -> std::io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        let file = entry?.file_name();
        let name = file.to_str().and_then(|file| file.strip_prefix("operator-")?.strip_suffix(".pem"));
        names.extend(name.map(str::to_owned));
    }
    Ok(names)
}

/// Key and certificate of one end, and the authority that it trusts.
pub(crate) struct Files {
    pub(crate) roots: Arc<RootCertStore>,
    chain: Vec<CertificateDer<'static>>,
    private: PrivateKeyDer<'static>,
}

impl Files {
    /// Reads `authority.pem`, `NAME.pem` and `NAME.key` of a folder.
    pub(crate) fn read(folder: &Path, name: &str, remedy: &str) -> Result<Self, Error> {
        let [certificate, key] = ["pem", "key"].map(|end| folder.join(format!("{name}.{end}")));
        let wrong = |path: &Path, what: &dyn std::fmt::Display| {
            Error::new(format!("{}: {what}", path.display()), remedy)
        };
        let authority = folder.join(AUTHORITY);
        let read = |path: &Path| CertificateDer::from_pem_file(path).map_err(|error| wrong(path, &error));
        let mut roots = RootCertStore::empty();
        roots.add(read(&authority)?).map_err(|error| wrong(&authority, &error))?;
        let chain = vec![read(&certificate)?];
        let mode = fs::metadata(&key).map_err(|error| wrong(&key, &error))?.mode();
        if mode & 0o077 != 0 {
            let what = format!("{}: others than its owner may read this key", key.display());
            return Err(Error::new(
                what,
                format!("chmod 600 {0}; if another user has read it, make all keys anew", key.display()),
            ));
        }
        let private = PrivateKeyDer::from_pem_file(&key).map_err(|error| wrong(&key, &error))?;
        Ok(Self { roots: Arc::new(roots), chain, private })
    }

    /// What `rustls` says of a pair that does not fit.
    pub(crate) fn unfit(&self, folder: &Path, name: &str, error: &rustls::Error, remedy: &str) -> Error {
        Error::new(format!("{}: {error}", folder.join(format!("{name}.pem")).display()), remedy)
    }

    pub(crate) fn server(
        &self,
        clients: &Arc<dyn ClientCertVerifier>,
        provider: &Arc<CryptoProvider>,
    ) -> Result<Arc<ServerConfig>, rustls::Error> {
        ServerConfig::builder_with_provider(Arc::clone(provider))
            .with_protocol_versions(VERSIONS)?
            .with_client_cert_verifier(Arc::clone(clients))
            .with_single_cert(self.chain.clone(), self.private.clone_key())
            .map(Arc::new)
    }

    pub(crate) fn client(
        &self,
        servers: &Arc<WebPkiServerVerifier>,
        provider: &Arc<CryptoProvider>,
    ) -> Result<Arc<ClientConfig>, rustls::Error> {
        ClientConfig::builder_with_provider(Arc::clone(provider))
            .with_protocol_versions(VERSIONS)?
            .with_webpki_verifier(Arc::clone(servers))
            .with_client_auth_cert(self.chain.clone(), self.private.clone_key())
            .map(Arc::new)
    }
}

/// What verifies clients and what verifies servers.
pub(crate) type Verifiers = (Arc<dyn ClientCertVerifier>, Arc<WebPkiServerVerifier>);

pub(crate) fn verifiers(
    roots: &Arc<RootCertStore>,
    provider: &Arc<CryptoProvider>,
) -> Result<Verifiers, rustls::server::VerifierBuilderError> {
    let clients =
        WebPkiClientVerifier::builder_with_provider(Arc::clone(roots), Arc::clone(provider)).build()?;
    let servers =
        WebPkiServerVerifier::builder_with_provider(Arc::clone(roots), Arc::clone(provider)).build()?;
    Ok((clients, servers))
}

pub(crate) fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

impl Identity {
    /// Reads `authority.pem`, `ROLE.pem` and `ROLE.key` of a folder.
    ///
    /// # Errors
    /// A file is missing or damaged, key and certificate do not belong together, or others than its owner can read the key.
    pub fn load(folder: &Path, role: Role) -> Result<Self, Error> {
        let remedy = format!("`punctual grm keys {} {role}` makes key and certificate", folder.display());
        let files = Files::read(folder, &role.to_string(), &remedy)?;
        let Files { roots, chain, private } = &files;
        let provider = provider();
        let (accepts, connects) = role.ends();
        let unfit = |error: rustls::Error| files.unfit(folder, &role.to_string(), &error, &remedy);
        let (clients, servers) = verifiers(roots, &provider).map_err(|what| {
            Error::new(format!("{}: {what}", folder.join(AUTHORITY).display()), remedy.clone())
        })?;
        let server = accepts.then(|| files.server(&clients, &provider)).transpose().map_err(unfit)?;
        let client = connects.then(|| files.client(&servers, &provider)).transpose().map_err(unfit)?;
        let own = CertifiedKey::from_der(chain.clone(), private.clone_key(), &provider).map_err(unfit)?;
        Ok(Self { role, server, client, clients, servers, roots: Arc::clone(roots), own: Arc::new(own) })
    }

    /// Reads those of an operator: of that one, or of the only one whose certificate is in the folder; also the name of the operator.
    ///
    /// # Errors
    /// As [`Self::load`], or there is none, or there are several.
    pub fn of_operator(folder: &Path, operator: Option<&str>) -> Result<(Self, Name), Error> {
        let shown = folder.display();
        let name = match operator {
            Some(name) => name.to_owned(),
            None => {
                let mut names = operators(folder).map_err(Error::system(&shown))?;
                match (names.pop(), names.is_empty()) {
                    (Some(name), true) => name,
                    (Some(_), false) => {
                        let what = format!("{shown}: there are keys of several operators");
                        return Err(Error::new(what, "say which with --operator"));
                    }
                    (None, _) => {
                        return Err(Error::new(
                            format!("{shown} has no key of an operator"),
                            format!(
                                "`punctual grm keys {shown} operator-NAME` makes one where the authority is"
                            ),
                        ));
                    }
                }
            }
        };
        let name = Name::new(&name)
            .ok_or_else(|| Error::new(format!("no operator is called \"{}\"", name.escape_default()), ""))?;
        Ok((Self::load(folder, Role::Operator(name))?, name))
    }

    /// Whose it is.
    pub fn role(&self) -> Role {
        self.role
    }

    /// The verifier that decides whether the authority has signed the certificates of a client: that of [`Self::server`].
    pub fn clients(&self) -> &Arc<dyn ClientCertVerifier> {
        &self.clients
    }

    /// The same of a server: that of [`Self::client_to`].
    pub fn servers(&self) -> &Arc<WebPkiServerVerifier> {
        &self.servers
    }

    /// The configuration for connections that others make. Who shows no certificate of the authority does not get in; which role it has says
    /// [`Self::check`].
    ///
    /// # Errors
    /// This role accepts no connections.
    pub fn server(&self) -> Result<Arc<ServerConfig>, Error> {
        self.server.clone().ok_or_else(|| Error::new(format!("a {} accepts no connections", self.role), ""))
    }

    /// The configuration for connections of clients that may show a certificate of the authority, and of others that show none: the
    /// caller decides on rights, by [`Self::shown_by`]. Clients that call this end by the name of its role see the certificate of its role; others see
    /// `named`, if there is one.
    ///
    /// # Errors
    /// The authority cannot verify anything.
    pub fn open_server(&self, named: Option<CertifiedKey>) -> Result<ServerConfig, Error> {
        let failed = |error: &dyn std::fmt::Display| Error::new(format!("TLS as {}: {error}", self.role), "");
        let provider = provider();
        let verifier =
            WebPkiClientVerifier::builder_with_provider(Arc::clone(&self.roots), Arc::clone(&provider))
                .allow_unauthenticated()
                .build()
                .map_err(|error| failed(&error))?;
        let resolver =
            ByName { name: self.role.subject(), own: Arc::clone(&self.own), named: named.map(Arc::new) };
        let builder = ServerConfig::builder_with_provider(provider).with_protocol_versions(VERSIONS);
        let builder = builder.map_err(|error| failed(&error))?;
        Ok(builder.with_client_cert_verifier(verifier).with_cert_resolver(Arc::new(resolver)))
    }

    /// The role that the other end of a connection has shown, of whose certificates `rustls` has verified that the authority signed them; `None` if
    /// there are none, or no role is in the first.
    pub fn shown_by(shown: &[CertificateDer<'_>]) -> Option<Role> {
        let certificate = webpki::EndEntityCert::try_from(shown.first()?).ok()?;
        let mut roles = certificate.valid_dns_names().filter_map(Role::of_subject);
        // One certificate is for one role.
        roles.next().filter(|_| roles.next().is_none())
    }

    /// The configuration and the name for a connection to the holder of a role: the other end has to show that it is that.
    ///
    /// # Errors
    /// This role makes no connections.
    pub fn client_to(&self, other: Role) -> Result<(Arc<ClientConfig>, ServerName<'static>), Error> {
        let named = ServerName::try_from(other.subject()).ok().zip(self.client.clone());
        let (name, config) =
            named.ok_or_else(|| Error::new(format!("a {} makes no connections", self.role), ""))?;
        Ok((config, name))
    }

    /// Whether the other end of a connection that was accepted is of a role, from the certificates that it has shown, of which `rustls` has
    /// verified that the authority signed them.
    ///
    /// # Errors
    /// It is not: what is wrong.
    pub fn check(shown: Option<&[CertificateDer<'_>]>, role: Role) -> Result<(), String> {
        let Some(first) = shown.and_then(<[_]>::first) else {
            return Err("it shows no certificate".to_owned());
        };
        let name = role.subject();
        let is = || {
            let certificate = webpki::EndEntityCert::try_from(first).ok()?;
            let name = ServerName::try_from(name.as_str()).ok()?;
            certificate.verify_is_valid_for_subject_name(&name).ok()
        };
        is().ok_or_else(|| format!("its certificate is not that of {role}"))
    }
}
