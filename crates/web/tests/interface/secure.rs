//! Where others can reach it: a token, and TLS.
use std::fs::{Permissions, write};
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use keys::rustls::pki_types::pem::PemObject;
use keys::rustls::pki_types::{CertificateDer, ServerName};
use keys::rustls::{ClientConfig, ClientConnection, RootCertStore, Stream};
use tempfile::TempDir;
use testkit::namespace::alone;
use web::Settings;

use crate::stage::{Stage, connect};

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

struct Files(TempDir);

impl Files {
    fn new() -> Self {
        let files = Self(tempfile::tempdir().unwrap());
        write(files.path("token"), TOKEN).unwrap();
        std::fs::set_permissions(files.path("token"), Permissions::from_mode(0o600)).unwrap();
        files
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}

#[test]
fn without_the_token_only_the_empty_page_is_shown() {
    alone(|| {
        let files = Files::new();
        let settings = Settings::new("127.0.0.1:0".parse().unwrap(), None, Some(&files.path("token")), None);
        let stage = Stage::of(settings.unwrap());
        stage.show(1);
        assert_eq!((stage.get("/").status, stage.get("/openapi.json").status), (200, 200));
        for path in ["/metrics", "/api/v1/network", "/api/v1/events", "/nothing"] {
            let reply = stage.get(path);
            reply.is_wrong(401);
            assert!(reply.head.contains("www-authenticate: bearer"), "{reply:?}");
        }
        let bearer = format!("Bearer {TOKEN}");
        let metrics = stage.send("GET", "/metrics", &[("Authorization", &bearer)], b"");
        assert!(metrics.status == 200 && metrics.body.contains("punctual_web_denied_total 4"), "{metrics:?}");
    });
}

#[test]
fn tls_of_version_1_3_is_spoken_and_nothing_else_is() {
    alone(|| {
        let files = Files::new();
        let made = Command::new("openssl")
            .args([
                "req",
                "-x509",
                "-newkey",
                "ec",
                "-pkeyopt",
                "ec_paramgen_curve:prime256v1",
                "-nodes",
                "-days",
                "2",
            ])
            .args(["-subj", "/CN=manager.example", "-addext", "subjectAltName=DNS:manager.example"])
            .args(["-addext", "basicConstraints=critical,CA:FALSE", "-keyout"])
            .arg(files.path("key"))
            .arg("-out")
            .arg(files.path("cert"))
            .output();
        if !made.is_ok_and(|made| made.status.success()) {
            assert!(std::env::var_os("CI").is_none(), "openssl makes the certificate of this test");
            return eprintln!("passed over: openssl makes the certificate of this test");
        }
        std::fs::set_permissions(files.path("key"), Permissions::from_mode(0o600)).unwrap();
        testkit::namespace::ip("address add 192.0.2.1/24 dev lo");
        let (token, cert, key) = (files.path("token"), files.path("cert"), files.path("key"));
        let address = "192.0.2.1:0".parse().unwrap();
        let settings = Settings::new(address, None, Some(&token), Some((&cert, &key))).unwrap();
        assert!(settings.url().starts_with("https://192.0.2.1:"));
        let stage = Stage::of(settings);
        stage.show(1);

        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(&cert).unwrap()).unwrap();
        let provider = Arc::new(keys::rustls::crypto::ring::default_provider());
        let config =
            ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let config = Arc::new(config.with_root_certificates(roots).with_no_client_auth());
        let name = ServerName::try_from("manager.example").unwrap();
        let mut client = ClientConnection::new(config, name).unwrap();
        let mut socket = connect(stage.address);
        let mut stream = Stream::new(&mut client, &mut socket);
        let request = format!(
            "GET /api/v1/network HTTP/1.1\r\nHost: manager.example\r\nAuthorization: Bearer {TOKEN}\r\nConnection: close\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8(answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("\"camera\""), "{answer}");
        assert_eq!(client.protocol_version(), Some(keys::rustls::ProtocolVersion::TLSv1_3));
        // Without TLS nothing is said, with an older version neither.
        assert_eq!(stage.get("/").status, 0);
        let older = Command::new("openssl")
            .args(["s_client", "-tls1_2", "-connect", &stage.address.to_string()])
            .stdin(std::process::Stdio::null())
            .output();
        assert!(!older.unwrap().status.success());
    });
}
