//! What is refused: line, column, what, and what to do.
use qos_profiles::{LONGEST, LONGEST_NAME, MOST_PROFILES, MOST_SECTIONS_OF_PROFILE, QosProvider};

use crate::{problems, profile, provider};

/// The one problem of a file.
fn problem(text: &str) -> String {
    let all = problems(text);
    assert_eq!(all.len(), 1, "{text}: {all:?}");
    all.into_iter().next().unwrap_or_default()
}

/// The problem of a writer with these policies, which begin in column 1 of line 2.
fn of_writer(policies: &str) -> String {
    problem(&profile(&format!("<datawriter_qos>\n{policies}\n</datawriter_qos>")))
}

fn of_reader(policies: &str) -> String {
    problem(&profile(&format!("<datareader_qos>\n{policies}\n</datareader_qos>")))
}

#[test]
fn values() {
    for (policies, told) in [
        (
            "<history><kind>KEEP_LAST</kind></history>",
            "q.xml:2:10: \"KEEP_LAST\" is none of the standard's words here\n  write KEEP_LAST_HISTORY_QOS; there are KEEP_LAST_HISTORY_QOS, KEEP_ALL_HISTORY_QOS",
        ),
        ("<history><depth>0</depth></history>", "q.xml:2:10: \"0\" is no depth\n  write 1 to 2147483647"),
        (
            "<history><depth/></history>",
            "q.xml:2:10: <depth> is empty\n  write a value, or leave <depth> out",
        ),
        (
            "<history>\n<depth><sec>1</sec></depth></history>",
            "q.xml:3:8: <depth> holds a value, and no <sec>\n  write a value in its place",
        ),
        (
            "<resource_limits><max_samples>-1</max_samples></resource_limits>",
            "q.xml:2:18: \"-1\" is no limit\n  write 1 to 2147483647, or LENGTH_UNLIMITED",
        ),
        (
            "<deadline><period><sec>1.5</sec></period></deadline>",
            "q.xml:2:19: \"1.5\" is no part of a duration\n  write a number of 0 to 2147483647, DURATION_INFINITY or DURATION_INFINITE_SEC",
        ),
        (
            "<deadline><period><sec>1</sec><nanosec>1000000000</nanosec></period></deadline>",
            "q.xml:2:11: 1000000000 nanoseconds are a second or more\n  write at most 999999999 in <nanosec>, and the rest in <sec>",
        ),
        (
            "<deadline><period><sec>1</sec><nanosec>DURATION_INFINITY</nanosec></period></deadline>",
            "q.xml:2:11: a duration that is infinite in one part and not in the other\n  write <sec>DURATION_INFINITE_SEC</sec> and <nanosec>DURATION_INFINITE_NSEC</nanosec>, or a number in both",
        ),
        (
            "<deadline><period/></deadline>",
            "q.xml:2:11: a duration without <sec> and <nanosec>\n  write <sec>, <nanosec> or both",
        ),
        (
            "<writer_data_lifecycle><autodispose_unregistered_instances>TRUE</autodispose_unregistered_instances></writer_data_lifecycle>",
            "q.xml:2:24: \"TRUE\" is neither true nor false\n  write true or false in small letters",
        ),
        (
            "<user_data><value>1, 256</value></user_data>",
            "q.xml:2:12: \"256\" is no byte\n  write numbers of 0 to 255 or 0x0 to 0xff with commas between them, or base64 in <valueB64>",
        ),
        (
            "<user_data><value>1</value><valueB64>AQ==</valueB64></user_data>",
            "q.xml:2:28: bytes are said twice\n  write <value> or <valueB64>",
        ),
        (
            "<ownership_strength><value>2147483648</value></ownership_strength>",
            "q.xml:2:21: \"2147483648\" is no number of 32 bits\n  write -2147483648 to 2147483647",
        ),
        (
            "<history><depth>1</depth><depth>2</depth></history>",
            "q.xml:2:26: <depth> is there twice\n  write it once",
        ),
        ("<deadline/><deadline/>", "q.xml:2:12: <deadline> is there twice\n  write it once"),
        (
            "<history>5</history>",
            "q.xml:2:10: the text \"5\" in <history>\n  only elements are expected there",
        ),
    ] {
        assert_eq!(of_writer(policies), told);
    }
    let base64 = of_writer("<user_data><valueB64>AQ=</valueB64></user_data>");
    assert!(base64.starts_with("q.xml:2:12: no base64: "), "{base64}");
    let long = of_writer(&format!("<user_data><value>{}0</value></user_data>", "0,".repeat(32_768)));
    assert!(long.starts_with("q.xml:2:12: more than 32768 bytes\n"), "{long}");
    let long = of_writer(&format!("<user_data><valueB64>{}</valueB64></user_data>", "AAAA".repeat(10_923)));
    assert!(long.starts_with("q.xml:2:12: more than 32768 bytes\n"), "{long}");
}

#[test]
fn names_of_policies() {
    for (policies, told) in [
        ("<histroy/>", "q.xml:2:1: the standard has no policy <histroy>\n  write <history>"),
        (
            "<time_based_filter/>",
            "q.xml:2:1: a DataWriter has no policy TIME_BASED_FILTER\n  it belongs into <datareader_qos>",
        ),
        (
            "<partition/>",
            "q.xml:2:1: a DataWriter has no policy PARTITION\n  it belongs into <publisher_qos>, <subscriber_qos>",
        ),
        ("<history><deph>1</deph></history>", "q.xml:2:10: HISTORY has no <deph>\n  write <depth>"),
        ("<history unit=\"s\"/>", "q.xml:2:10: <history> has no attribute unit\n  leave it out"),
    ] {
        assert_eq!(of_writer(policies), told);
    }
    assert_eq!(
        problem(&profile("<datawriter_qos topicfilter='a'/>")),
        "q.xml:1:66: <datawriter_qos> has no attribute topicfilter\n  write topic_filter"
    );
    assert_eq!(
        problem(&profile("<publisher_qos topic_filter='a'/>")),
        "q.xml:1:65: <publisher_qos> has no attribute topic_filter\n  it may have name, base_name"
    );
    assert_eq!(
        problem(&profile("<data_writer_qos/>")),
        "q.xml:1:50: the standard has no <data_writer_qos> in <qos_profile>\n  write <datawriter_qos>"
    );
}

#[test]
fn files_of_others_are_told_by_name() {
    for (text, begin) in [
        (
            "<CycloneDDS xmlns='https://cdds.io/config'/>",
            "q.xml:1:1: <CycloneDDS> is of Cyclone DDS, not of the OMG's DDS-XML",
        ),
        ("<CycloneDDS/>", "q.xml:1:1: <CycloneDDS> is of Cyclone DDS,"),
        ("<profiles/>", "q.xml:1:1: <profiles> is of Fast DDS,"),
        ("<dds xmlns='http://www.eprosima.com'><profiles/></dds>", "q.xml:1:1: <dds> is of Fast DDS,"),
        (
            "<dds>\n<profiles><data_writer profile_name='x'/></profiles></dds>",
            "q.xml:2:1: <profiles> is of Fast DDS,",
        ),
        (
            "<dds xmlns='http://www.omg.org/dds/'/>",
            "q.xml:1:1: <dds> is of DDS4CCM, as OpenDDS and OpenSplice read it,",
        ),
        ("<OpenSplice/>", "q.xml:1:1: <OpenSplice> is of OpenSplice,"),
        ("<web/>", "q.xml:1:1: the root is <web>, and not <dds> or <qos_library>"),
        ("<dds xmlns='urn:x'/>", "q.xml:1:1: <dds> is of the namespace \"urn:x\""),
    ] {
        let told = problem(text);
        assert!(told.starts_with(begin), "{told}");
    }
    for (inner, told) in [
        (
            "<participant_qos/>",
            "q.xml:1:50: <participant_qos> is of RTI Connext, not of the OMG's DDS-XML\n  write <domain_participant_qos>",
        ),
        (
            "<domainparticipant_qos/>",
            "q.xml:1:50: <domainparticipant_qos> is of DDS4CCM, as OpenDDS and OpenSplice read it, not of the OMG's DDS-XML\n  write <domain_participant_qos>",
        ),
        (
            "<base_name><element>L::Q</element></base_name>",
            "q.xml:1:50: <base_name> is of RTI Connext, not of the OMG's DDS-XML\n  write base_name=\"Library::Profile\" as an attribute; a profile has one base",
        ),
    ] {
        assert_eq!(problem(&profile(inner)), told);
    }
    let told = of_writer("<resource_limits><initial_samples>1</initial_samples></resource_limits>");
    assert!(told.starts_with("q.xml:2:18: <initial_samples> is of RTI Connext,"), "{told}");
}

#[test]
fn names_and_bases() {
    let library = |inner: &str| format!("<qos_library name=\"L\">\n{inner}\n</qos_library>");
    for (inner, told) in [
        (
            "<qos_profile name='A'/>\n<qos_profile name='A'/>",
            "q.xml:3:1: the profile \"A\" is there twice; the first is in line 2\n  put all its policies into one <qos_profile>, or give it another name",
        ),
        (
            "<datawriter_qos name='A'/>\n<datareader_qos name='A'/>",
            "q.xml:3:1: the profile \"A\" is there twice; the first is in line 2\n  put all its policies into one <qos_profile>, or give it another name",
        ),
        ("<qos_profile/>", "q.xml:2:1: a <qos_profile> without a name\n  give it one, as name=\"Positions\""),
        (
            "<qos_profile name='a::b'/>",
            "q.xml:2:14: \"a::b\" is no name\n  write 1 to 256 bytes without :: and without blanks around them",
        ),
        (
            "<qos_profile name='A' base_name='A'/>",
            "q.xml:2:23: a profile inherits from itself\n  name another one, or none",
        ),
        (
            "<qos_profile name='A' base_name='B'/>\n<qos_profile name='B'/>",
            "q.xml:2:23: the profile \"B\" comes later, in line 3\n  put it before those that inherit from it, as the standard asks for",
        ),
        (
            "<qos_profile name='A' base_name='B'/>\n<qos_profile name='B'>\n<topic_qos base_name='L::C'/></qos_profile>\n<qos_profile name='C' base_name='A'/>",
            "q.xml:2:23: \"B\" in line 3 inherits from this profile: a circle\n  leave one base_name of the circle out",
        ),
        (
            "<qos_profile name='A' base_name='punctual::stat'/>",
            "q.xml:2:23: there is no profile \"punctual::stat\"\n  write punctual::state",
        ),
        (
            "<qos_profile name='A'>\n<datawriter_qos topic_filter='a'/>\n<datawriter_qos topic_filter='a'/></qos_profile>",
            "q.xml:4:1: <datawriter_qos> for the same topics is in line 3\n  put all policies into one, or give it another topic_filter",
        ),
        (
            "<qos_profile name='A' is_default_qos='true'/>\n<qos_profile name='B' is_default_qos='1'/>",
            "q.xml:3:23: a second default profile; the first is in line 2\n  leave is_default_qos out of one of both",
        ),
        (
            "<qos_profile name='A' is_default_qos='yes'/>",
            "q.xml:2:23: \"yes\" is neither true nor false\n  write true or false in small letters",
        ),
        (
            "<profil name='A'/>",
            "q.xml:2:1: the standard has no <profil> in <qos_library>\n  there may be <qos_profile>, <domain_participant_qos>, <publisher_qos>, <subscriber_qos>, <topic_qos>, <datawriter_qos>, <datareader_qos>",
        ),
    ] {
        let all = problems(&library(inner));
        assert_eq!(all.first().map_or("", String::as_str), told);
    }
    assert_eq!(
        problem("<dds><qos_library name='L'/>\n<qos_library name='L'/></dds>"),
        "q.xml:2:1: the library \"L\" is there twice; the first is in line 1\n  put all profiles into one, or give it another name"
    );
    assert_eq!(
        problem("<qos_library name='punctual'/>"),
        "q.xml:1:1: the library punctual is built in\n  give yours another name; it may inherit from that one"
    );
}

#[test]
fn what_makes_no_sense_together_is_told_where_it_was_said_last() {
    assert_eq!(
        of_reader(
            "<deadline><period><sec>1</sec></period></deadline>\n<time_based_filter><minimum_separation><sec>2</sec></minimum_separation></time_based_filter>"
        ),
        "q.xml:2:11: INCONSISTENT_POLICY: DEADLINE: period 1 s is shorter than TIME_BASED_FILTER minimum_separation 2 s\n  samples that the filter takes out would miss the deadline: make the period at least the separation"
    );
    assert_eq!(
        of_writer(
            "<history><depth>5</depth></history>\n<resource_limits><max_samples_per_instance>4</max_samples_per_instance></resource_limits>"
        ),
        "q.xml:2:10: INCONSISTENT_POLICY: HISTORY: depth 5 is more than max_samples_per_instance 4\n  make the depth at most max_samples_per_instance"
    );
    let told = of_writer(
        "<durability_service>\n<max_samples>4</max_samples><max_samples_per_instance>5</max_samples_per_instance></durability_service>",
    );
    assert!(told.starts_with("q.xml:3:29: INCONSISTENT_POLICY: RESOURCE_LIMITS: max_samples 4"), "{told}");
    let told = of_writer("<durability><kind>PERSISTENT_DURABILITY_QOS</kind></durability>");
    assert!(
        told.starts_with("q.xml:2:13: UNSUPPORTED: DURABILITY: kind Persistent is not supported"),
        "{told}"
    );
    let told = of_writer("<transport_priority><value>64</value></transport_priority>");
    assert!(
        told.starts_with("q.xml:2:21: BAD_PARAMETER: TRANSPORT_PRIORITY: value 64 is not a DSCP"),
        "{told}"
    );
    let told = of_writer("<deadline><period><sec>0</sec></period></deadline>");
    assert!(told.starts_with("q.xml:2:11: BAD_PARAMETER: DEADLINE: period of 0 s"), "{told}");
    let told = problem(&profile(
        "<publisher_qos>\n<presentation><access_scope>TOPIC_PRESENTATION_QOS</access_scope></presentation></publisher_qos>",
    ));
    assert!(told.starts_with("q.xml:2:15: UNSUPPORTED: PRESENTATION: "), "{told}");
    // A base that is built in is right by itself: what does not fit it is told in the file.
    let told = problem(
        "<qos_library name='L'>\n<qos_profile name='P' base_name='punctual::continuous'>\n<datareader_qos>\n<time_based_filter><minimum_separation><sec>2</sec></minimum_separation></time_based_filter></datareader_qos></qos_profile></qos_library>",
    );
    assert!(told.starts_with("q.xml:3:1: INCONSISTENT_POLICY: DEADLINE: "), "{told}");
}

#[test]
fn what_has_no_effect_is_noted() {
    let qos = provider(
        "<dds>\n<types/>\n<qos_library name='L'><datawriter_qos name='W'>\n<durability_service><history_depth>2</history_depth></durability_service></datawriter_qos></qos_library></dds>",
    );
    let notes: Vec<String> = qos.notes().iter().map(ToString::to_string).collect();
    assert_eq!(
        notes,
        [
            "q.xml:2:1: <types> is not read, nor QoS that is written in it\n  profiles are read from <qos_library>",
            "q.xml:4:21: DURABILITY_SERVICE history_depth: it is announced, and has no other effect here: no service keeps histories for writers\n  docs/qos.md says what each policy does here",
        ]
    );
}

#[test]
fn limits() {
    let library = |inner: String| format!("<qos_library name=\"L\">{inner}</qos_library>");
    let profiles =
        |count: usize| library((0..count).map(|n| format!("<qos_profile name=\"p{n}\"/>")).collect());
    assert_eq!(problems(&profiles(MOST_PROFILES)), [""; 0]);
    assert!(problem(&profiles(MOST_PROFILES + 1)).contains("more than 1024 profiles"));
    let sections = |count: usize| {
        profile(&(0..count).map(|n| format!("<topic_qos topic_filter=\"t{n}\"/>")).collect::<String>())
    };
    assert_eq!(problems(&sections(MOST_SECTIONS_OF_PROFILE)), [""; 0]);
    assert!(
        problem(&sections(MOST_SECTIONS_OF_PROFILE + 1))
            .contains("more than 64 sets of policies of a profile")
    );
    let many = (0..41).map(|n| {
        let sections: String = (0..50).map(|n| format!("<topic_qos topic_filter=\"t{n}\"/>")).collect();
        format!("<qos_profile name=\"p{n}\">{sections}</qos_profile>")
    });
    assert!(problems(&library(many.collect()))[0].contains("more than 2048 sets of policies of a file"));
    let named = |length: usize| library(format!("<qos_profile name=\"{}\"/>", "n".repeat(length)));
    assert_eq!(problems(&named(LONGEST_NAME)), [""; 0]);
    assert!(problem(&named(LONGEST_NAME + 1)).contains("is no name"));
    let padded = |length: usize| {
        let text = library(String::new());
        text.clone() + &" ".repeat(length - text.len())
    };
    assert_eq!(problems(&padded(LONGEST)), [""; 0]);
    assert!(problem(&padded(LONGEST + 1)).contains("longer than 1048576 bytes"));
    let names = |count: usize| {
        profile(&format!(
            "<publisher_qos><partition><name>{}</name></partition></publisher_qos>",
            "<element>a</element>".repeat(count)
        ))
    };
    assert_eq!(problems(&names(256)), [""; 0]);
    assert!(problem(&names(257)).contains("more than 256 elements of a list"));
    assert_eq!(problems(&profile(&"<wrong/>".repeat(1_000))).len(), 50);
    assert!(problem("<!DOCTYPE dds [<!ENTITY a \"b\">]><dds/>").contains("DTD"));
}

#[test]
fn all_problems_are_told_and_nothing_is_used() {
    let text = profile(
        "<datawriter_qos>\n<history><depth>0</depth></history>\n<deadline><period><sec>x</sec></period></deadline>\n</datawriter_qos><web/>",
    );
    let read = QosProvider::read("q.xml", &text);
    let places: Vec<_> = read.unwrap_err().iter().filter_map(|problem| problem.place).collect();
    assert_eq!(places, [(2, 10), (3, 19), (4, 18)]);
}
