//! Which decisions are near each other, and in which lines.

use std::collections::HashMap;

use tracewright_symbols::{Functions, Lines, Location};

use super::decision::Decision;

/// The most lines of a decision.
const MOST_LINES: usize = 1000;

/// Whether both paths name one file: one may begin with further folders.
pub fn same_file(a: &str, b: &str) -> bool {
    let (long, short) = if a.len() > b.len() { (a, b) } else { (b, a) };
    long == short || long.strip_suffix(short).is_some_and(|folder| folder.ends_with(['/', '\\']))
}

/// By function: the files of which it has code, each with the first and the last line.
pub(super) type Extents = HashMap<Option<u32>, Vec<(u32, (u32, u32))>>;

/// The files of which each function has code.
pub(super) fn extents(lines: &Lines, functions: &Functions) -> Extents {
    let mut all = HashMap::<(Option<u32>, u32), (u32, u32)>::new();
    for row in lines.rows().iter().filter(|row| row.location.line > 0) {
        let (key, line) =
            ((functions.at(row.start).function, row.location.file), row.location.line);
        let own = all.entry(key).or_insert((line, line));
        *own = (own.0.min(line), own.1.max(line));
    }
    let mut by_function = Extents::new();
    for ((function, file), own) in all {
        by_function.entry(function).or_default().push((file, own));
    }
    by_function
}

/// By decision: the ones before and behind it in its file.
pub(super) fn neighbours(decisions: &[Decision]) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..decisions.len()).collect();
    let key = |n: &usize| decisions.get(*n).map(|own| (&own.file, own.region));
    order.sort_by_key(key);
    let mut all = vec![Vec::new(); decisions.len()];
    for pair in order.windows(2) {
        let [first, second] = *pair else { continue };
        if key(&first).map(|own| own.0) == key(&second).map(|own| own.0) {
            for (own, other) in [(first, second), (second, first)] {
                if let Some(own) = all.get_mut(own) {
                    own.push(other);
                }
            }
        }
    }
    all
}

/// The decisions of each line that has one.
pub(super) type DecisionLines = HashMap<Location, Vec<usize>>;

pub(super) fn lines_of(decisions: &[Decision], lines: &Lines) -> DecisionLines {
    let mut known = DecisionLines::new();
    let mut by_file = HashMap::<&str, Vec<usize>>::new();
    for (n, decision) in decisions.iter().enumerate() {
        by_file.entry(&decision.file).or_default().push(n);
    }
    for file in 0..lines.files() as u32 {
        let Some(path) = lines.file(file) else { continue };
        let here = by_file.iter().filter(|(own, _)| same_file(path, own));
        for n in here.flat_map(|(_, own)| own) {
            let Some(region) = decisions.get(*n).map(|own| own.region) else { continue };
            for line in (region.start.0..=region.end.0).take(MOST_LINES) {
                known.entry(Location { file, line }).or_default().push(*n);
            }
        }
    }
    known
}
