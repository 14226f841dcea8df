//! Look-up of names.

use std::collections::HashMap;

/// The indices of a list's items by name.
#[derive(Default)]
pub(crate) struct Names {
    exact: HashMap<String, usize>,
    /// By the name in lower case.
    folded: HashMap<String, usize>,
}

impl Names {
    /// The names of a list, in its order.
    pub(crate) fn of<'a>(names: impl IntoIterator<Item = &'a str>) -> Names {
        let mut all = Names::default();
        names.into_iter().enumerate().for_each(|(n, name)| all.add(name, n));
        all
    }

    /// Adds the item with index `n`. Of equal names, the first counts.
    pub(crate) fn add(&mut self, name: &str, n: usize) {
        self.exact.entry(name.to_owned()).or_insert(n);
        self.folded.entry(name.to_ascii_lowercase()).or_insert(n);
    }

    /// The index of the item with exactly this name.
    pub(crate) fn exact(&self, name: &str) -> Option<usize> {
        self.exact.get(name).copied()
    }

    /// The index of the item with this name: an exact match, else a match without case.
    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        self.exact(name).or_else(|| self.folded.get(&name.to_ascii_lowercase()).copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_names_come_first() {
        let names = Names::of(["ETM", "etm", "Etm", "cpu"]);
        for (name, want) in
            [("ETM", Some(0)), ("etm", Some(1)), ("eTM", Some(0)), ("CPU", Some(3)), ("gpu", None)]
        {
            assert_eq!(names.find(name), want, "{name}");
        }
        assert_eq!(names.exact("CPU"), None);
    }
}
