//! TLS 1.3 with certificates that name hosts.
use testkit::patience::patiently_or;

use crate::scene::{
    SERVER, authorize, client, client_file, connected, in_network, printed, run, serve, server_file,
};

#[test]
fn certificates_decide_who_may_ask() {
    in_network(|folder| {
        let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        printed(&["keys", &path("keys"), "aaa.example.net", "rm.example.net", "eve.example.net"]);
        printed(&["keys", &path("others"), "aaa.example.net", "rm.example.net"]);
        let server = server_file(
            folder,
            &format!("listen-tls = [\"{SERVER}:5868\"]\nlisten = [\"{SERVER}:3868\"]\nkeys = \"keys\""),
            "host = \"rm.example.net\"\ntls = true",
        );
        let _process = serve(&server);
        let secure = format!("host = \"aaa.example.net\"\naddress = \"{SERVER}:5868\"\ntls = true");
        let good = client_file(folder, "keys = \"keys\"", &secure);
        {
            let handle = client(&good);
            connected(&handle);
            authorize(&handle, 1_000).unwrap();
        }
        let log = || std::fs::read_to_string(server.with_extension("log")).unwrap();
        let refused = |what: &str, words: &str| {
            patiently_or(
                || format!("{what} did not come: {}", log()),
                || log().contains(words).then_some(()),
            );
        };
        // Keys of another authority.
        let other = client_file(folder, "keys = \"others\"", &secure);
        {
            let handle = client(&other);
            refused("the refusal of another authority", "may not connect");
            assert!(authorize(&handle, 1_000).is_err());
        }
        // No TLS, where it has to be.
        let plain = format!("host = \"aaa.example.net\"\naddress = \"{SERVER}:3868\"");
        let open = client_file(folder, "", &plain);
        {
            let handle = client(&open);
            refused("the refusal without TLS", "rm.example.net: it has to connect by TLS");
            assert!(authorize(&handle, 1_000).is_err());
        }
        // A certificate of the authority that names another node.
        for end in ["pem", "key"] {
            std::fs::copy(
                path(&format!("keys/eve.example.net.{end}")),
                path(&format!("keys/rm.example.net.{end}")),
            )
            .unwrap();
        }
        {
            let handle = client(&client_file(folder, "keys = \"keys\"", &secure));
            refused("the refusal of another name", "rm.example.net: its certificate has another name");
            assert!(authorize(&handle, 1_000).is_err());
        }
        assert_eq!(printed(&["sessions", server.to_str().unwrap(), "--json"]), "");
        // A key that others can read is not used.
        std::fs::set_permissions(
            path("keys/aaa.example.net.key"),
            std::os::unix::fs::PermissionsExt::from_mode(0o644),
        )
        .unwrap();
        std::fs::create_dir(path("second")).unwrap();
        let text = std::fs::read_to_string(&server).unwrap().replace("\"server\"", "\"second\"");
        let second = folder.write("second.toml", &text);
        let output = run(&["serve", second.to_str().unwrap()]);
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(3) && told.contains("chmod 600"), "{told}");
    });
}
