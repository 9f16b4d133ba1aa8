//! QoS files: each is refused with places that exist, or gives QoS that its entities take, with places for what it says.
use diagnostics::{Problem, Source};
use qos_profiles::{BUILT_IN, Entity, QosProvider};

const PROFILES: &str = r#"<dds xmlns="http://www.omg.org/spec/DDS-XML"><types/>
<qos_library name="A"><qos_profile name="B" base_name="punctual::state" is_default_qos="true">
<domain_participant_qos><user_data><valueB64>AQID/w==</valueB64></user_data></domain_participant_qos>
<publisher_qos><partition><name><element>a*</element></name></partition><group_data><value>1, 0x2</value></group_data></publisher_qos>
<datawriter_qos topic_filter="arm/[a-z]*"><history><kind>KEEP_ALL_HISTORY_QOS</kind></history></datawriter_qos>
<datareader_qos><time_based_filter><minimum_separation><sec>1</sec></minimum_separation></time_based_filter>
<deadline><period><sec>DURATION_INFINITY</sec></period></deadline></datareader_qos></qos_profile>
<topic_qos name="C" base_name="A::B"><resource_limits><max_samples>LENGTH_UNLIMITED</max_samples></resource_limits>
<representation><value><element>XCDR2_DATA_REPRESENTATION</element></value></representation></topic_qos>
<qos_profile name="D" base_name="C"><datareader_qos base_name="B"/></qos_profile></qos_library></dds>"#;

/// Valid files.
pub(super) fn seeds() -> Vec<Vec<u8>> {
    // The library that is built in, under another name.
    let built_in = BUILT_IN.replace("name=\"punctual\"", "name=\"other\"");
    [PROFILES.as_bytes().to_vec(), built_in.into_bytes()].into()
}

/// A QoS file.
pub fn qos_file(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let source = Source { file: "file", text: &text };
    let is_placed = |problem: &Problem| {
        let (line, column) = problem.place.unwrap_or_default();
        let found = text.split('\n').nth(line.wrapping_sub(1));
        assert!(found.is_some_and(|found| (1..=found.chars().count() + 1).contains(&column)), "{problem}");
        assert!(!problem.what.is_empty() && !problem.remedy.is_empty(), "{problem}");
        assert!(!source.show(problem).is_empty());
    };
    let qos = match QosProvider::read("file", &text) {
        Ok(qos) => qos,
        Err(problems) => {
            assert!((1..=50).contains(&problems.len()), "{}", problems.len());
            return problems.iter().for_each(is_placed);
        }
    };
    qos.notes().iter().for_each(is_placed);
    let lines = text.split('\n').count();
    for name in qos.profiles() {
        for topic in ["", "arm/pose", "x"] {
            let checked = [
                qos.participant_qos(&name).map(|qos| qos.check()),
                qos.publisher_qos(&name).map(|qos| qos.check()),
                qos.subscriber_qos(&name).map(|qos| qos.check()),
                qos.topic_qos(&name, topic).map(|qos| qos.check()),
                qos.datawriter_qos(&name, topic).map(|qos| qos.check()),
                qos.datareader_qos(&name, topic).map(|qos| qos.check()),
            ];
            for checked in checked {
                match checked {
                    Ok(checked) => assert_eq!(checked, Ok(()), "{name} {topic}"),
                    Err(problem) => is_placed(&problem),
                }
            }
        }
        for set in qos.explain(&name, None).unwrap_or_default() {
            assert!(set.filter.is_none() || set.entity.has_topic() && set.entity != Entity::Participant);
            let places = set.values.iter().filter_map(|value| value.origin.as_ref()).map(|(_, place)| place);
            for place in places.chain([&set.place]).filter_map(|place| place.strip_prefix("file:")) {
                assert!(place.parse::<usize>().is_ok_and(|line| (1..=lines).contains(&line)), "{place}");
            }
        }
    }
}
