//! What a participant says of itself, so that others know whether they can meet it.
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;

use wire::discovery::SharedMemory;

/// Of this process, with a nonce that cannot be guessed.
pub(crate) fn own() -> io::Result<SharedMemory> {
    let boot = fs::read("/proc/sys/kernel/random/boot_id")?;
    let mut nonce = [0; 8];
    File::open("/dev/urandom")?.read_exact(&mut nonce)?;
    Ok(SharedMemory {
        host: hash(&boot),
        // Names of places to meet belong to the namespace of the thread that listens.
        network_namespace: fs::metadata("/proc/thread-self/ns/net")?.ino(),
        nonce: u64::from_le_bytes(nonce),
        user: shm::own_user(),
    })
}

/// Where the participant of this nonce is met.
pub(crate) fn name(nonce: u64) -> Vec<u8> {
    format!("punctual-{nonce:016x}").into_bytes()
}

/// Why two participants cannot share memory, if they are of one host.
pub(super) fn obstacle(own: &SharedMemory, other: &SharedMemory) -> Option<String> {
    if own.network_namespace != other.network_namespace {
        return Some(
            "it is in another network namespace of this host, as containers are: UDP is used; let containers share one \
             (--network container:NAME or host) to share memory"
                .to_owned(),
        );
    }
    (own.user != other.user)
        .then(|| format!("it runs as user {} and this process as user {}: UDP is used", other.user, own.user))
}

/// FNV-1a.
fn hash(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, octet| (hash ^ u64::from(*octet)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_in_the_way_is_named() {
        let one = SharedMemory { host: 1, network_namespace: 2, nonce: 3, user: 1_000 };
        assert_eq!(obstacle(&one, &SharedMemory { nonce: 4, ..one }), None);
        let elsewhere = obstacle(&one, &SharedMemory { network_namespace: 9, ..one });
        assert!(elsewhere.is_some_and(|why| why.contains("network namespace")));
        let foreign = obstacle(&one, &SharedMemory { user: 0, ..one });
        assert!(foreign.is_some_and(|why| why.contains("user 0") && why.contains("user 1000")));
    }

    #[test]
    fn two_participants_of_a_process_differ_in_their_nonce_alone() {
        let (one, other) = (own().unwrap(), own().unwrap());
        assert_ne!(one.nonce, other.nonce);
        assert_eq!(SharedMemory { nonce: 0, ..one }, SharedMemory { nonce: 0, ..other });
        assert_ne!(hash(b"a"), hash(b"b"));
    }
}
