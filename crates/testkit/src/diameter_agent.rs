//! freeDiameter as an agent of Diameter, relay.example.net, for tests: its program, with its files in a folder of a test.
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// The name of the agent, and of its certificate.
pub const NAME: &str = "relay.example.net";
const PROGRAM: &str = "freeDiameterd";
const EXTENSIONS: &str = "/usr/lib/freeDiameter";

/// Whether the program is there; in continuous integration it must be.
///
/// # Panics
/// It is not there in continuous integration.
pub fn is_there() -> bool {
    let found = Command::new(PROGRAM).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    let is = found.is_ok() && Path::new(EXTENSIONS).join("acl_wl.fdx").exists();
    if !is {
        let missing =
            "freeDiameter is missing: install the packages freediameterd and freediameter-extensions";
        assert!(std::env::var_os("CI").is_none(), "{missing}");
        eprintln!("passed over: {missing}");
    }
    is
}

/// A running agent, which is killed in the end.
#[derive(Debug)]
pub struct Agent(Child);

impl Agent {
    /// Starts it at an address that is not of loopback, which it does not take. It connects to these peers, in its own words, and accepts all of
    /// the realm. `keys` is a folder of the test with `authority.pem` and its key and certificate. Its log is `relay.log` of the folder.
    ///
    /// # Panics
    /// A file cannot be written, or the program not started.
    pub fn start(folder: &Path, keys: &str, address: &str, peers: &str) -> Self {
        let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
        let key = |name: &str| path(&format!("{keys}/{name}"));
        std::fs::write(path("acl.conf"), "ALLOW_OLD_TLS ALLOW_IPSEC *.example.net\n").unwrap();
        let extensions: String = ["dict_nasreq", "dict_rfc5777"]
            .iter()
            .map(|name| format!("LoadExtension = \"{EXTENSIONS}/{name}.fdx\";\n"))
            .collect();
        let text = format!(
            "Identity = \"{NAME}\";\nRealm = \"example.net\";\nPort = 3868;\nSecPort = 5868;\nNo_SCTP;\nNo_IPv6;\n\
             ListenOn = \"{address}\";\nTcTimer = 1;\nTLS_Cred = \"{0}\", \"{1}\";\nTLS_CA = \"{2}\";\n\
             LoadExtension = \"{EXTENSIONS}/acl_wl.fdx\" : \"{3}\";\n{extensions}{peers}",
            key("relay.example.net.pem"),
            key("relay.example.net.key"),
            key("authority.pem"),
            path("acl.conf"),
        );
        std::fs::write(path("relay.conf"), text).unwrap();
        let log = std::fs::File::create(path("relay.log")).unwrap();
        let mut program = Command::new(PROGRAM);
        program.arg("-c").arg(path("relay.conf")).stdout(log.try_clone().unwrap()).stderr(log);
        Self(program.spawn().unwrap())
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
