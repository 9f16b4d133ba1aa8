//! What docs/predict.md shows is what comes out, and the measurements beside it are predicted better than by what knows less.
use predict::{FINE, Predicted, calibrate, known_stages, predict, read_path, read_records, supported, text};

const PAGE: &str = include_str!("../../../../docs/predict.md");
const RECORDS: &str = include_str!("../../../../docs/measurements/prediction-records.jsonl");

/// The block of the page that begins with this line.
fn block(fence: &str) -> &'static str {
    let after = PAGE.split_once(fence).unwrap_or_else(|| panic!("no {fence}")).1;
    after.split_once("\n```").unwrap().0.trim_start_matches('\n')
}

#[test]
fn the_page_shows_what_comes_out() {
    let path = read_path("ward.toml", block("```toml")).unwrap();
    let calibration = calibrate(&read_records("host.jsonl", RECORDS).unwrap()).unwrap();
    let stages = known_stages(&path, Some(&calibration)).unwrap();
    let predicted: Vec<Predicted<'_>> = path
        .topics
        .iter()
        .enumerate()
        .map(|(number, topic)| (topic, predict(&path, &stages, number, FINE)))
        .collect();
    let shown = text(&predicted, Some(&calibration));
    let wanted = block("$ punctual predict ward.toml --calibrate host.jsonl\n");
    assert_eq!(shown.trim_end(), wanted, "the page shows something else than:\n{shown}");

    // The QoS that this supports: a deadline for what comes regularly and arrives.
    let [pose, stop] = &predicted[..] else { panic!() };
    let of = |(topic, prediction): &Predicted<'_>| {
        supported(topic, prediction.as_ref().unwrap(), &calibration.intervals)
    };
    let (pose, stop) = (of(pose), of(stop));
    let budget = pose.latency_budget.unwrap();
    assert!(pose.deadline.is_some_and(|deadline| deadline >= 10_000_000 + budget), "{pose:?}");
    assert_eq!(stop.deadline, None);
    assert!(stop.left_out.iter().any(|why| why.contains("no DEADLINE, since samples come at random times")));

    // Measurements of a real host: this model is nearer than the other three.
    let [own, others @ ..] = &calibration.scores[..] else { panic!() };
    assert!(
        others.len() == 3 && others.iter().all(|other| own.mean < other.mean),
        "{:?}",
        calibration.scores
    );
}

#[test]
fn stages_that_nothing_is_known_of_are_told() {
    let mut path = read_path("ward.toml", block("```toml")).unwrap();
    let records = read_records("host.jsonl", RECORDS).unwrap();
    let calibration = calibrate(&records).unwrap();
    path.stages = None;
    assert!(known_stages(&path, Some(&calibration)).unwrap_err().contains("say store in [stages]"));
    assert!(known_stages(&path, None).unwrap_err().contains("give --calibrate"));
    path.topics.pop();
    assert!(known_stages(&path, Some(&calibration)).is_ok());
    let few = calibrate(&records[..11]).unwrap_err().to_string();
    assert!(few.contains("11 records are too few") && few.contains("at least 12"), "{few}");
}
