//! The network file of managers that share a store: the one that is kept there leads, not the one that a manager was started with.
//!
//! The first manager that leads puts its file into the store; a change is one write of the leader ([`change`]), fenced as all its writes are. Each
//! manager that takes the lead reads what is kept before it does anything else ([`lead`]). So a manager that leads after a crash, at whatever moment, goes by the
//! file before the change or by the one after it, with the grants that were kept with that one; and all managers of a store lead with the same file, whatever they were started with.
use crate::{Key, Standing, Store, StoreError};

/// The file that a manager leads with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Led {
    /// Its own: what is kept is the same, or no other manager shares the store.
    Own,
    /// Its own, and it is larger than the store takes: the most bytes.
    TooLarge(usize),
    /// What is kept, which differs from its own.
    Kept(Vec<u8>),
}

/// Says which file a manager leads with, after [`Store::next_epoch`] and before it acts. Its own file is kept if none is.
///
/// # Errors
/// [`StoreError`]: it must not act.
pub fn lead(store: &mut dyn Store, own: &[u8]) -> Result<Led, StoreError> {
    if store.standing() == Standing::Alone {
        return Ok(Led::Own);
    }
    let kept = store.kept()?.into_iter().find(|(key, _)| *key == Key::Network);
    match kept {
        Some((_, kept)) if kept == own => Ok(Led::Own),
        Some((_, kept)) => Ok(Led::Kept(kept)),
        None if own.len() > store.most_bytes_of_network() => Ok(Led::TooLarge(store.most_bytes_of_network())),
        None => {
            store.change(&[(Key::Network, Some(own.to_vec()))])?;
            Ok(Led::Own)
        }
    }
}

/// Keeps another file, which leads from then on; before the leader goes on with it. A store that no other manager shares keeps none.
///
/// # Errors
/// [`StoreError`]: the leader goes on with the former file. Where it is not known whether the change has arrived, the next change of this leader that
/// succeeds undoes it; a manager that leads before that leads with the new file.
pub fn change(store: &mut dyn Store, file: Vec<u8>) -> Result<(), StoreError> {
    if store.standing() == Standing::Alone {
        return Ok(());
    }
    let most = store.most_bytes_of_network();
    if file.len() > most {
        let what = format!(
            "a network file of {} bytes is more than the {most} that it takes; plan parts of the network",
            file.len()
        );
        return Err(StoreError::new(store.place(), what));
    }
    store.change(&[(Key::Network, Some(file))])
}
