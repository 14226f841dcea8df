//! Sets of runs as texts, such as `0-3,7`.

use std::collections::HashMap;

use tracewright_analysis::coverage_runs::RunNumbers;

/// The sets of a record, each once.
#[derive(Default)]
pub(super) struct Sets<'a> {
    known: HashMap<&'a RunNumbers, usize>,
    pub(super) texts: Vec<String>,
}

impl<'a> Sets<'a> {
    /// The position of a set; `None` of an empty one.
    pub(super) fn position(&mut self, runs: &'a RunNumbers) -> Option<usize> {
        if runs.is_empty() {
            return None;
        }
        let next = self.texts.len();
        let position = *self.known.entry(runs).or_insert(next);
        if position == next {
            self.texts.push(text(runs));
        }
        Some(position)
    }
}

fn text(runs: &RunNumbers) -> String {
    let mut parts: Vec<(usize, usize)> = Vec::new();
    for run in runs.iter() {
        match parts.last_mut() {
            Some((_, last)) if *last + 1 == run => *last = run,
            _ => parts.push((run, run)),
        }
    }
    let part = |(first, last): (usize, usize)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    parts.into_iter().map(part).collect::<Vec<_>>().join(",")
}

/// The set of a text, whose runs are below `count`; `None` where it is none as they are written.
pub(super) fn parse(own: &str, count: usize) -> Option<RunNumbers> {
    let mut runs = RunNumbers::default();
    let mut next = 0;
    for part in own.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        if first < next || last < first || last >= count {
            return None;
        }
        (first..=last).for_each(|run| runs.insert(run));
        next = last + 1;
    }
    // Numbers without zeros in front, and ranges that are not beside one another.
    (text(&runs) == own).then_some(runs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_ranges() {
        for own in ["0", "0-3,7", "5,7-9,64-129"] {
            let set = parse(own, 130).expect("a set");
            assert_eq!(text(&set), own);
        }
        for wrong in ["", "3-1", "0-130", "130", "1,0", "0,1", "01", "0-0", "a", "1,,2", "-1"] {
            assert_eq!(parse(wrong, 130), None, "{wrong}");
        }
    }
}
