//! Files of operators: the example is read, and what is wrong has its place.
use quality_on_demand::{ProfileStatus, ServiceFile};

pub(crate) const FILE: &str = include_str!("../../examples/qod.toml");

pub(crate) fn file() -> ServiceFile {
    ServiceFile::read("qod.toml", FILE).unwrap()
}

#[test]
fn the_example_says_what_it_says() {
    let file = file();
    assert_eq!((file.asn, file.clients.len(), file.profiles.len()), (65_001, 1, 4));
    assert!(file.is_closed());
    let known = file.client_of(Some("robots-have-a-token-of-their-own")).unwrap();
    assert_eq!((known.name.as_str(), known.user.as_str(), known.most_sessions), ("robots", "ann", 20));
    assert_eq!(file.client_of(None), None);
    assert_eq!(file.client_of(Some("")), None);
    let control = file.profile("CONTROL").unwrap();
    assert_eq!((control.least_duration, control.most_duration), (1, 3_600));
    let (up, down) = (control.upstream.as_ref().unwrap(), control.downstream.as_ref().unwrap());
    assert_eq!((up.direction.as_str(), down.direction.as_str(), up.rate), ("forward", "reverse", 100_000));
    assert_eq!(file.profile("FORMER").unwrap().status, ProfileStatus::Deprecated);
}

#[test]
fn what_is_wrong_has_its_place_and_a_remedy() {
    for (of, by, line, what) in [
        ("asn = 65001", "asn = -1", 2, "-1"),
        ("\nlisten", "\nlisted", 3, "listed"),
        ("127.0.0.1:9091", "0.0.0.0:9091", 3, "no TLS"),
        ("listen =", "key = \"a\"\nlisten =", 4, "without certificate"),
        ("listen =", "certificate = \"a\"\nlisten =", 3, "no key"),
        ("listen =", "url = \"api\"\nlisten =", 3, "no address of HTTP"),
        ("most-sessions = 20", "most-sessions = 0", 6, "1 to 100"),
        ("token-sha256 = \"", "token-sha256 = \"0", 8, "SHA-256"),
        ("name = \"ALARMS\"", "name = \"A\"", 14, "no name"),
        ("name = \"PICTURES\"", "name = \"ALARMS\"", 22, "twice"),
        ("least-duration = \"10 s\"", "least-duration = \"11 min\"", 26, "shorter"),
        ("rate=10 Mbit/s, ", "", 27, "needs rate"),
        ("class=ef, rate=10", "direction=reverse, class=ef, rate=10", 27, "by the key"),
        ("status = \"deprecated\"", "status = \"old\"", 39, "old"),
    ] {
        assert!(FILE.contains(of), "{of}");
        let text = FILE.replacen(of, by, 1);
        let problem = ServiceFile::read("qod.toml", &text).expect_err(by);
        assert!(problem.what.contains(what) || problem.remedy.contains(what), "{by}: {problem}");
        assert_eq!(problem.place.map(|(line, _)| line), Some(line), "{by}: {problem}");
    }
    let open = FILE
        .replace("token-sha256", "#")
        .replace("127.0.0.1:9091\"", "0.0.0.0:9091\"\ncertificate = \"a\"\nkey = \"b\"");
    let problem = ServiceFile::read("qod.toml", &open).unwrap_err();
    assert!(problem.what.contains("needs no token"), "{problem}");
    let more = "[[client]]\nname = \"other\"\nuser = \"ann\"\nmost-sessions = 1\n";
    assert!(
        ServiceFile::read("qod.toml", &format!("{FILE}{more}")).is_ok(),
        "one without a token, on this host"
    );
    let two = format!("{FILE}{more}{}", more.replace("other", "another"));
    assert!(ServiceFile::read("qod.toml", &two).unwrap_err().what.contains("cannot be told"));
}
