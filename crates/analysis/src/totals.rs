//! How much of something is covered.

/// How many lines, outcomes or functions were executed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Executed.
    pub executed: u64,
    /// Not executed in the trace, but perhaps where trace was lost.
    pub unknown: u64,
    /// All but what is exempted.
    pub all: u64,
    /// What need not be covered, and is not.
    pub exempted: u64,
}

impl Totals {
    /// The totals of these counts.
    pub fn of(counts: impl IntoIterator<Item = Option<u64>>) -> Totals {
        let mut totals = Totals::default();
        for count in counts {
            totals.all += 1;
            totals.executed += u64::from(count.is_some_and(|count| count > 0));
            totals.unknown += u64::from(count.is_none());
        }
        totals
    }

    /// Counts `exempted` of the unknown ones apart.
    #[must_use]
    pub(crate) fn without(self, exempted: u64) -> Totals {
        Totals {
            unknown: self.unknown.saturating_sub(exempted),
            all: self.all.saturating_sub(exempted),
            exempted: self.exempted + exempted,
            ..self
        }
    }

    /// Those that were executed, and those of which it is known whether they were.
    pub fn known(&self) -> (u64, u64) {
        (self.executed, self.all - self.unknown)
    }

    /// The sum of both.
    #[must_use]
    pub fn and(self, other: Totals) -> Totals {
        Totals {
            executed: self.executed + other.executed,
            unknown: self.unknown + other.unknown,
            all: self.all + other.all,
            exempted: self.exempted + other.exempted,
        }
    }
}
