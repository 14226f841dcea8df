//! Bounds of durations that are stored one by one, in 4 bytes each where that is enough.

/// No upper bound.
pub(super) const OPEN: u64 = u64::MAX;

/// Bounds in order, as they were added or sorted.
#[derive(Clone, Debug)]
pub(super) enum Values {
    /// All are below 2^32 - 1, or [`OPEN`], which is 2^32 - 1.
    Narrow(Vec<u32>),
    /// Others.
    Wide(Vec<u64>),
}

impl Default for Values {
    fn default() -> Values {
        Values::Narrow(Vec::new())
    }
}

/// The value in 4 bytes, where it has one.
#[inline]
pub(super) fn narrow(value: u64) -> Option<u32> {
    match u32::try_from(value) {
        Ok(u32::MAX) => None,
        Ok(value) => Some(value),
        Err(_) => (value == OPEN).then_some(u32::MAX),
    }
}

#[inline]
pub(super) fn widened(value: u32) -> u64 {
    if value == u32::MAX { OPEN } else { value.into() }
}

impl Values {
    pub(super) fn len(&self) -> usize {
        match self {
            Values::Narrow(all) => all.len(),
            Values::Wide(all) => all.len(),
        }
    }

    #[inline]
    pub(super) fn push(&mut self, value: u64) {
        match (&mut *self, narrow(value)) {
            (Values::Narrow(all), Some(value)) => all.push(value),
            (Values::Wide(all), _) => all.push(value),
            (Values::Narrow(_), None) => self.push_wide(value),
        }
    }

    #[cold]
    fn push_wide(&mut self, value: u64) {
        if let Values::Narrow(all) = self {
            *self = Values::Wide(all.iter().copied().map(widened).collect());
        }
        if let Values::Wide(all) = self {
            all.push(value);
        }
    }

    pub(super) fn get(&self, at: usize) -> Option<u64> {
        match self {
            Values::Narrow(all) => all.get(at).copied().map(widened),
            Values::Wide(all) => all.get(at).copied(),
        }
    }

    /// All values from number `first` on.
    pub(super) fn iter(&self, first: usize) -> impl ExactSizeIterator<Item = u64> + '_ {
        (first..self.len().max(first)).map(|at| self.get(at).unwrap_or(OPEN))
    }

    pub(super) fn sort(&mut self) {
        match self {
            Values::Narrow(all) => all.sort_unstable(),
            Values::Wide(all) => all.sort_unstable(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_any_width() {
        let all = [5, OPEN, 0, u64::from(u32::MAX) - 1, 7, u64::from(u32::MAX), 1 << 40, 5];
        for count in 0..=all.len() {
            let mut values = Values::default();
            all[..count].iter().for_each(|value| values.push(*value));
            assert_eq!(matches!(values, Values::Wide(_)), count > 5);
            assert_eq!(values.len(), count);
            for first in 0..count + 2 {
                let rest = all[..count].get(first..).unwrap_or_default();
                assert!(values.iter(first).eq(rest.iter().copied()), "{first} of {count}");
            }
            assert_eq!((values.get(0), values.get(count)), (all[..count].first().copied(), None));
            values.sort();
            let mut sorted = all[..count].to_vec();
            sorted.sort_unstable();
            assert!(values.iter(0).eq(sorted));
        }
    }
}
