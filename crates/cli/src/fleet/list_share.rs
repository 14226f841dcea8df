//! A share of a list of captures: a worker opens the captures of its share only.

use std::ops::Range;
use std::path::{Component, Path, PathBuf};

use tracewright::analysis::coverage_runs::{Digest, Digester};

/// A list is divided where there are this many captures in a share: the shares have about the same
/// size then. Of a shorter one, each worker opens all captures, and units are divided.
const CAPTURES: usize = 16;

/// Captures that follow each other in a list.
pub struct ListShare {
    /// The digest of the list.
    pub list: Digest,
    /// Their positions.
    pub positions: Range<usize>,
}

impl ListShare {
    /// Share `number` of `of`, which is counted from 1; `None` where the list is not divided.
    pub fn of(paths: &[PathBuf], (number, of): (usize, usize)) -> Option<ListShare> {
        if paths.len() / CAPTURES < of.max(1) {
            return None;
        }
        let at = |n: usize| (n as u128 * paths.len() as u128 / of as u128) as usize;
        Some(ListShare { list: digest(paths), positions: at(number.saturating_sub(1))..at(number) })
    }
}

/// A digest of the paths below the folder that they have in common, which is another one on each
/// machine.
fn digest(paths: &[PathBuf]) -> Digest {
    let folders = |path: &PathBuf| -> Vec<PathBuf> {
        path.parent().unwrap_or(Path::new("")).components().map(own).collect()
    };
    let mut common = paths.first().map(folders).unwrap_or_default();
    for path in paths {
        let same = common.iter().zip(folders(path)).take_while(|(a, b)| *a == b).count();
        common.truncate(same);
    }
    let mut digester = Digester::default();
    for path in paths {
        let names: Vec<PathBuf> = path.components().map(own).skip(common.len()).collect();
        digester.number(names.len() as u64);
        names.iter().for_each(|name| digester.text(&name.to_string_lossy()));
    }
    digester.finish()
}

fn own(component: Component<'_>) -> PathBuf {
    PathBuf::from(component.as_os_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(before: &str, count: usize) -> Vec<PathBuf> {
        (0..count).map(|n| PathBuf::from(format!("{before}{}/perf{n}.data", n % 3))).collect()
    }

    #[test]
    fn shares_are_all_captures_once() {
        for (count, of) in [(16, 1), (17, 1), (48, 3), (1000, 7), (100, 6)] {
            let paths = paths("a", count);
            let mut at = 0;
            for number in 1..=of {
                let share = ListShare::of(&paths, (number, of)).expect("a long list");
                assert_eq!(share.positions.start, at);
                assert!(share.positions.len() >= CAPTURES, "{count} {of} {number}");
                at = share.positions.end;
            }
            assert_eq!(at, count);
        }
        assert!(ListShare::of(&paths("a", 47), (1, 3)).is_none());
    }

    #[test]
    fn a_list_is_the_same_on_other_machines() {
        let own = digest(&paths("/mnt/a/", 20));
        assert_eq!(own, digest(&paths("/data/fleet/b/", 20)));
        assert_eq!(own, digest(&paths("", 20)));
        assert_ne!(own, digest(&paths("/mnt/a/", 21)));
        let mut other = paths("/mnt/a/", 20);
        other.swap(3, 4);
        assert_ne!(own, digest(&other));
        other.swap(3, 4);
        other[7] = PathBuf::from("/mnt/a/1/perf8.data");
        assert_ne!(own, digest(&other));
    }
}
