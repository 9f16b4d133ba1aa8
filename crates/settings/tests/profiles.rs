//! QoS files of the OMG, as programs read them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use dds::qos::History;
use settings::{Origin, Problem};

const PLANT: &str = "<qos_library name='Plant'>\n<datawriter_qos name='W' base_name='punctual::state'>\n\
    <history><depth>4</depth></history></datawriter_qos></qos_library>";

#[test]
fn a_file_gives_qos_or_the_first_thing_that_is_wrong_with_it() {
    let path = std::env::temp_dir().join(format!("punctual-settings-{}.xml", std::process::id()));
    let read = |text: &str| {
        std::fs::write(&path, text).unwrap();
        settings::qos_provider(&path)
    };
    let qos = read(PLANT).unwrap().datawriter_qos("Plant::W", "t").unwrap();
    assert_eq!((qos.endpoint.history, qos.endpoint.transport_priority), (History::KeepLast(4), 34));
    let told = read(&PLANT.replace('4', "none").replace("'W'", "''")).unwrap_err();
    let name = path.display().to_string();
    let expected = "\"\" is no name; write 1 to 256 bytes without :: and without blanks around them";
    assert_eq!(
        told,
        Problem { origin: Origin::File { name, line: 2, column: 17 }, what: expected.to_owned() }
    );
    let told = read(&PLANT.replace("depth>", "deph>").replace("history>", "histor>")).unwrap_err();
    assert!(told.to_string().ends_with("the standard has no policy <histor>; write <history>"), "{told}");
    let told = read(&format!("<dds>{PLANT}<web/></dds>").replace(">4<", ">x<")).unwrap_err();
    assert!(told.what.ends_with("; and 1 more"), "{told}");
    std::fs::remove_file(&path).unwrap();
    let told = settings::qos_provider(&path).unwrap_err();
    assert!(told.what.contains("No such file"), "{told}");
}
