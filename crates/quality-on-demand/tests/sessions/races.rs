//! What comes in another order than usual, and what could not be stored.
use quality_on_demand::{Act, Answered};
use serde_json::json;

use crate::machine::{NOW, Stage, admitted, asked, held, refused, unavailable};

#[test]
fn no_client_is_promised_more_than_the_manager_reserves() {
    let mut stage = Stage::new();
    let (id, question) = stage.create(asked(|_| {})).unwrap();
    // The answer comes half a minute after the session was reserved, for 60 s and 10 more.
    let ends = NOW * 1_000_000 + question.lasts;
    stage.sessions.answered(NOW + 30_000, id, Answered::Admitted(admitted("65001-7", ends))).unwrap();
    assert_eq!(stage.info(id)["expiresAt"], json!("2027-01-15T08:01:10Z"));
    let (_, by) = stage.sessions.extend(&stage.client, id, 60).unwrap().unwrap();
    stage.sessions.extended(id, by);
    assert_eq!(stage.info(id)["expiresAt"], json!("2027-01-15T08:02:10Z"));
    stage.sessions.tick(NOW + 130_000);
    assert_eq!(stage.info(id)["statusInfo"], json!("DURATION_EXPIRED"));
}

#[test]
fn an_end_that_overtakes_the_answer_counts() {
    let mut stage = Stage::new();
    let (id, _) = stage.create(asked(|_| {})).unwrap();
    let ends = (NOW + 70_000) * 1_000_000;
    for name in ["65001-8", "65001-7"] {
        stage.sessions.ended(NOW, name, refused("link-down"));
    }
    stage.sessions.answered(NOW, id, Answered::Admitted(admitted("65001-7", ends))).unwrap();
    stage.sessions.told(&stage.client, id).unwrap();
    assert_eq!(stage.info(id)["statusInfo"], json!("NETWORK_TERMINATED"));
    let told = [vec![("AVAILABLE".to_owned(), None)], unavailable("NETWORK_TERMINATED")].concat();
    assert_eq!(stage.events(), told);
    assert_eq!(stage.sessions.delete(&stage.client, id), Ok(None));
    // Nothing was under way when it was heard: it is of none of ours.
    stage.sessions.ended(NOW, "65001-9", refused("link-down"));
    let (id, _) = stage.create(asked(|_| {})).unwrap();
    stage.sessions.answered(NOW, id, Answered::Admitted(admitted("65001-9", ends))).unwrap();
    assert_eq!(stage.info(id)["qosStatus"], json!("AVAILABLE"));
}

#[test]
fn a_client_that_asks_again_for_what_was_lost_keeps_what_it_gets() {
    let mut stage = Stage::new();
    let (lost, question) = stage.create(asked(|_| {})).unwrap();
    stage.sessions.answered(NOW, lost, Answered::Lost).unwrap_err();
    let (again, _) = stage.create(asked(|_| {})).unwrap();
    let ends = NOW * 1_000_000 + question.lasts;
    let (first, second) = (held("65001-7", &question, ends), held("65001-8", &question, ends));
    // The manager has admitted both, and tells of the second before it answers.
    let mark = stage.sessions.mark();
    stage.sessions.compare(NOW, mark, &[second.clone(), first.clone()]);
    assert_eq!(stage.sessions.take_acts(), []);
    // However long that takes, the first one is looked for.
    stage.sessions.tick(NOW + 61_000);
    assert!(stage.sessions.looks_for_sessions());
    stage.sessions.answered(NOW, again, Answered::Admitted(admitted("65001-8", ends))).unwrap();
    assert_eq!(stage.events(), [("AVAILABLE".to_owned(), None)]);
    let mark = stage.sessions.mark();
    stage.sessions.compare(NOW, mark, &[second.clone(), first.clone()]);
    assert_eq!(stage.sessions.take_acts(), [Act::Stop(lost, "65001-7".to_owned())]);
    assert_eq!(stage.info(again)["qosStatus"], json!("AVAILABLE"));
    stage.sessions.stopped(lost);
    // What a look still has that was begun before a session was deleted is no stranger.
    let mark = stage.sessions.mark();
    stage.sessions.delete(&stage.client, again).unwrap();
    stage.sessions.deleted(NOW, again);
    assert_eq!(stage.events(), unavailable("DELETE_REQUESTED"));
    let (lost, _) = stage.create(asked(|_| {})).unwrap();
    stage.sessions.answered(NOW, lost, Answered::Lost).unwrap_err();
    stage.sessions.compare(NOW, mark, &[second]);
    assert_eq!(stage.sessions.take_acts(), []);
}

#[test]
fn a_client_that_could_not_be_told_has_no_session_and_nothing_stays_reserved() {
    let ends = (NOW + 70_000) * 1_000_000;
    let mut stage = Stage::new();
    let (id, _) = stage.create(asked(|_| {})).unwrap();
    stage.sessions.answered(NOW, id, Answered::Admitted(admitted("65001-7", ends))).unwrap();
    stage.sessions.not_answered(NOW, id);
    assert_eq!(stage.code(id), 404);
    let acts = stage.sessions.take_acts();
    assert!(acts.contains(&Act::Stop(id, "65001-7".to_owned())), "{acts:?}");
    stage.sessions.stopped(id);
    assert_eq!(stage.sessions.all().count(), 0);
    // One that knows of it sees how it is, once that is stored.
    let (id, _) = stage.create(asked(|_| {})).unwrap();
    stage.sessions.told(&stage.client, id).unwrap();
    stage.sessions.answered(NOW, id, Answered::Admitted(admitted("65001-8", ends))).unwrap();
    stage.sessions.not_answered(NOW, id);
    assert_eq!(stage.info(id)["qosStatus"], json!("AVAILABLE"));
    assert_eq!(stage.events(), [("AVAILABLE".to_owned(), None)]);
    stage.sessions.not_told(NOW, id);
    assert_eq!((stage.events(), stage.code(id)), (unavailable("NETWORK_TERMINATED"), 404));
    stage.sessions.stopped(id);
    // It is under way yet, or was refused.
    let (id, _) = stage.create(asked(|_| {})).unwrap();
    stage.sessions.not_told(NOW, id);
    stage.sessions.answered(NOW, id, Answered::Admitted(admitted("65001-9", ends))).unwrap();
    assert_eq!(stage.sessions.take_acts(), [Act::Stop(id, "65001-9".to_owned())]);
    stage.sessions.stopped(id);
    let (id, _) = stage.create(asked(|_| {})).unwrap();
    stage.sessions.answered(NOW, id, Answered::Refused(refused("rate"))).unwrap();
    stage.sessions.not_answered(NOW, id);
    assert_eq!(stage.sessions.all().count(), 0);
}
