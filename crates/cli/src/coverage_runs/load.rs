//! Reads the files of `coverage --load`.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use tracewright::analysis::coverage_runs::{CoverageRuns, Digest};
use tracewright::capture::read_regular;
use tracewright::export::coverage_runs::{read, read_head};

use crate::fail::Fail;
use crate::inputs::lists;
use crate::message;

/// The most bytes of a file of runs.
const MAX_FILE: u64 = 1 << 32;

/// The sum of the runs of all files, each run once; `None` without files.
pub fn load(paths: &[PathBuf]) -> Result<Option<CoverageRuns>, Fail> {
    let paths = lists(paths)?;
    let bytes = |path: &Path| {
        read_regular(path, MAX_FILE).map_err(|why| Fail::input(path, &why.to_string()))
    };
    // Which files are left out must not depend on their order: their runs are needed first.
    let mut sets: Vec<Vec<Digest>> = Vec::new();
    for path in &paths {
        let runs =
            read_head(&bytes(path)?).map_err(|error| Fail::input(path, &error.to_string()))?;
        sets.push(runs.iter().map(|run| run.id).collect());
    }
    let holders = contained(&sets);
    let mut known: HashMap<Digest, &PathBuf> = HashMap::new();
    let mut all: Option<CoverageRuns> = None;
    for ((path, set), holder) in paths.iter().zip(&sets).zip(holders) {
        // A damaged file is refused, also where its runs are known from another one.
        let own = read(&bytes(path)?).map_err(|error| Fail::input(path, &error.to_string()))?;
        if let Some(other) = holder.and_then(|n| paths.get(n)) {
            message::line(&format!(
                "note: the runs of {} are in {}, too; they are added once",
                path.display(),
                other.display()
            ));
            continue;
        }
        for id in set {
            if let Some(other) = known.insert(*id, path) {
                return Err(Fail::input(
                    path,
                    &format!(
                        "it has a run ({}) that {} has, too, and others; their counts cannot be \
                         separated: load the files of the single runs",
                        id.to_string().get(..12).unwrap_or_default(),
                        other.display()
                    ),
                ));
            }
        }
        match &mut all {
            Some(all) => all.add(own),
            None => all = Some(own),
        }
    }
    Ok(all)
}

/// For each set, another one that has all of it: of equal ones, the first.
fn contained(sets: &[Vec<Digest>]) -> Vec<Option<usize>> {
    let mut with: HashMap<Digest, Vec<usize>> = HashMap::new();
    for (n, set) in sets.iter().enumerate() {
        set.iter().for_each(|id| with.entry(*id).or_default().push(n));
    }
    let holds = |n: usize, set: &[Digest], other: usize| {
        let Some(its) = sets.get(other).filter(|_| other != n) else { return false };
        let larger = its.len() > set.len() || its.len() == set.len() && other < n;
        let its: HashSet<&Digest> = if larger { its.iter().collect() } else { HashSet::new() };
        larger && set.iter().all(|id| its.contains(id))
    };
    let of = |(n, set): (usize, &Vec<Digest>)| {
        let candidates = with.get(set.first()?)?;
        candidates.iter().copied().find(|other| holds(n, set, *other))
    };
    sets.iter().enumerate().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_in_larger_ones() {
        let sets: Vec<Vec<Digest>> = [&[1][..], &[1, 2], &[2, 3], &[1], &[2, 3], &[4]]
            .map(|set| set.iter().map(|n| Digest([*n; 32])).collect())
            .to_vec();
        assert_eq!(contained(&sets), [Some(1), None, None, Some(0), Some(2), None]);
    }
}
