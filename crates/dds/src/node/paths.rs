//! What paths to readers carry: what one writer has found out is told to the others, and to those that get a reader there later.
use std::sync::Mutex;

use rtps::Path;
use rtps::writer::PathNews;
use wire::{Duration, Instant, Now};

use super::Node;
use super::work::Work;
use crate::lock::lock;

/// Most paths that are remembered; those that were told of first make room.
const MOST: usize = 1_024;
/// A writer that has found out tells it again more often than that, for as long as it is there.
const COUNTS: Duration = Duration::from_secs(1_200);

/// The paths that carry less than their interfaces.
#[derive(Default)]
pub(super) struct Paths {
    /// When each was told of; the oldest first.
    narrow: Mutex<Vec<(Instant, PathNews)>>,
}

impl Paths {
    fn note(&self, now: Instant, news: PathNews) {
        let mut narrow = lock(&self.narrow);
        narrow.retain(|(_, known)| known.path != news.path);
        if news.datagram < news.path.max_datagram {
            if narrow.len() >= MOST {
                narrow.remove(0);
            }
            narrow.push((now, news));
        }
    }

    /// What is known of a path, if it carries less than its interface.
    pub(super) fn known(&self, now: Instant, path: &Path) -> Option<PathNews> {
        let narrow = lock(&self.narrow);
        let (_, news) = narrow.iter().find(|(at, news)| news.path == *path && now.since(*at) < COUNTS)?;
        Some(*news)
    }
}

impl Node {
    /// Tells every writer what one has found out. No endpoint is locked by this thread.
    #[cold]
    #[inline(never)]
    pub(super) fn tell_paths(&self, found: &[PathNews], now: Now, work: &mut Work) {
        for news in found {
            self.paths.note(now.monotonic, *news);
            for cell in self.routes().writers.values() {
                if cell.lock().machine.rtps_mut().on_path_news(now, news) {
                    work.touch_writer(cell);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_told_counts_for_a_while_and_only_so_many_paths_are_remembered() {
        let path = |port: u16| Path::routed(([10, 0, 0, 1], port).into(), 1_472);
        let at = |seconds| Instant::START.after(Duration::from_secs(seconds));
        let paths = Paths::default();
        let known = |seconds, port| paths.known(at(seconds), &path(port)).map(|news| news.datagram);
        let note = |seconds, port, datagram| paths.note(at(seconds), PathNews { path: path(port), datagram });
        note(0, 1, 548);
        assert_eq!((known(1_199, 1), known(1_200, 1), known(0, 2)), (Some(548), None, None));
        note(600, 1, 548);
        assert_eq!(known(1_700, 1), Some(548));
        note(1_700, 1, 1_472);
        assert_eq!(known(1_700, 1), None, "as much as the interface");
        (0..2_000).for_each(|port| note(0, port, 548));
        assert_eq!((known(0, 0), known(0, 1_999)), (None, Some(548)));
        assert_eq!(lock(&paths.narrow).len(), MOST);
    }
}
