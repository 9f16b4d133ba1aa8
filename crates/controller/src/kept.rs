//! The contents of a store when a manager begins, and reports of records that it cannot read.
use std::time::Duration;

use control::ResourceManager;
use control::drain::StoredDrain;
use control::grant::Grant;
use store::{Key, Store, StoreError};
use tracing::{error, info, warn};

/// The readable contents of a store.
#[derive(Default, Debug)]
struct Kept {
    grants: Vec<Grant>,
    drains: Vec<StoredDrain>,
    /// Records that could not be read, in words.
    damaged: Vec<String>,
}

/// Reads what is in a store. A grant that cannot be read is left out; a switch whose record cannot be read is drained all the same, because its key says so, and
/// to carry flows while an operator works on it is worse than to carry none.
fn read(kept: Vec<(Key, Vec<u8>)>) -> Kept {
    let mut found = Kept::default();
    for (key, value) in kept {
        match key {
            // What leads is known before anything else is read.
            Key::Network => {}
            Key::Deployment(name) => found.damaged.push(format!(
                "the store has the deployment {name:?}, and is that of punctual deploy manager: give each manager a store of its own"
            )),
            Key::Interdomain(_) => {
                let what = "the store is that of punctual rm: give each manager a store of its own";
                if !found.damaged.iter().any(|damaged| damaged == what) {
                    found.damaged.push(what.to_owned());
                }
            }
            Key::Grant(number) => match serde_json::from_slice(&value) {
                Ok(grant) => found.grants.push(grant),
                Err(error) => found
                    .damaged
                    .push(format!("stored grant {number} cannot be read and is left out: {error}")),
            },
            Key::Drain(switch) => {
                let drain = serde_json::from_slice::<StoredDrain>(&value).map_err(|error| error.to_string());
                let drain = drain.and_then(|drain| drain.check(&switch).map(|()| drain));
                found.drains.push(drain.unwrap_or_else(|why| {
                    found.damaged.push(format!(
                        "what is stored of the drained switch {switch:?} cannot be read ({why}): it is drained, for a reason that is not known, until `punctual grm undrain`"
                    ));
                    StoredDrain::new(switch, "a reason that could not be read".to_owned())
                }));
            }
        }
    }
    found
}

/// A manager goes on with what is in its store: before anything else.
///
/// # Errors
/// An error of the store.
pub(crate) fn take_up(
    manager: &mut ResourceManager,
    store: &dyn Store,
    epoch: u64,
) -> Result<(), StoreError> {
    let Kept { grants, drains, damaged } = read(store.kept()?);
    damaged.iter().for_each(|damaged| error!("{damaged}"));
    info!("begins with {} stored grants, as epoch {epoch}", grants.len());
    for drain in &drains {
        warn!("switch {} is drained, as it was before: {}", drain.switch, drain.reason);
    }
    manager.restore(Duration::ZERO, grants);
    for drain in manager.restore_drains(Duration::ZERO, drains) {
        warn!("the network has no switch {:?} any more: that it was drained is forgotten", drain.switch);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drain(switch: &str, value: &str) -> (Key, Vec<u8>) {
        (Key::Drain(switch.to_owned()), value.as_bytes().to_vec())
    }

    #[test]
    fn a_drain_is_read_as_it_is_written() {
        let written = StoredDrain::new("s1".to_owned(), "new firmware".to_owned());
        let found = read(vec![(Key::Drain("s1".to_owned()), serde_json::to_vec(&written).unwrap())]);
        assert_eq!((found.drains, found.damaged.len()), (vec![written], 0));
    }

    /// On the safe side: flows keep away from a switch that an operator may be working on.
    #[test]
    fn a_drain_that_cannot_be_read_is_told_and_its_switch_is_drained_all_the_same() {
        for (value, why) in [
            ("", "EOF"),
            ("{", "EOF"),
            ("[]", "expected"),
            (r#"{"format":1,"switch":"s1"}"#, "missing field"),
            (r#"{"format":2,"switch":"s1","reason":"x"}"#, "its format is 2"),
            (r#"{"format":1,"switch":"s2","reason":"x"}"#, "it is of switch \"s2\""),
        ] {
            let found = read(vec![drain("s1", value)]);
            let names: Vec<&str> = found.drains.iter().map(|drain| drain.switch.as_str()).collect();
            assert_eq!(names, ["s1"], "{value}");
            assert!(found.damaged.len() == 1 && found.damaged[0].contains(why), "{:?}", found.damaged);
        }
    }

    #[test]
    fn a_grant_that_cannot_be_read_is_told_and_left_out() {
        let found = read(vec![(Key::Grant(7), b"no grant".to_vec())]);
        assert!(
            found.grants.is_empty() && found.damaged[0].contains("stored grant 7"),
            "{:?}",
            found.damaged
        );
    }
}
