//! How much of a trace contradicts the program: it stands over tables that people read.

use tracewright_base::Inconsistency;
use tracewright_decode::Tally;

/// From a share of one of this many on, the image is likely to be another one.
const MANY: u64 = 100;

/// The ranges of a trace, and the contradictions to the program.
#[derive(Clone, Copy, Debug, Default)]
pub struct Contradictions {
    ranges: u64,
    inconsistencies: u64,
    /// Those that may be return addresses of exceptions inside instructions.
    at_exceptions: u64,
    missing: u64,
}

impl Contradictions {
    /// Those of a buffer.
    pub fn of(tally: &Tally) -> Contradictions {
        let mut found = Contradictions::default();
        found.add(tally);
        found
    }

    /// The number of inconsistencies.
    pub const fn inconsistencies(&self) -> u64 {
        self.inconsistencies
    }

    /// Adds others.
    pub fn merge(&mut self, other: Contradictions) {
        self.ranges = self.ranges.saturating_add(other.ranges);
        self.inconsistencies = self.inconsistencies.saturating_add(other.inconsistencies);
        self.at_exceptions = self.at_exceptions.saturating_add(other.at_exceptions);
        self.missing = self.missing.saturating_add(other.missing);
    }

    /// Adds those of a buffer.
    pub fn add(&mut self, tally: &Tally) {
        for source in &tally.sources {
            self.ranges = self.ranges.saturating_add(source.ranges);
            self.inconsistencies = self.inconsistencies.saturating_add(source.inconsistencies);
            let first = source.first_inconsistency.map(|(_, first)| first);
            if first == Some(Inconsistency::AddressNotReached)
                && source.inconsistencies <= source.exceptions
            {
                self.at_exceptions = self.at_exceptions.saturating_add(source.inconsistencies);
            }
            self.missing = self.missing.saturating_add(source.no_code);
        }
    }

    /// The share of the ranges and of `count`, in percent.
    fn share(&self, count: u64) -> String {
        let share = 100.0 * count as f64 / self.ranges.saturating_add(count).max(1) as f64;
        if share < 0.05 { "less than 0.1".to_owned() } else { format!("{share:.1}") }
    }

    /// The line that the program may be another one; empty where nothing contradicts it.
    pub fn misfit(&self) -> String {
        let (ranges, wrong) = (self.ranges, self.inconsistencies);
        if wrong == 0 {
            return String::new();
        }
        let why = if self.at_exceptions == wrong {
            "the image may be another build, or exceptions interrupted instructions that go on \
             later, such as LDM"
        } else if wrong.saturating_mul(MANY) >= ranges.saturating_add(wrong) {
            "the image may be another one"
        } else {
            "the image may be another build, or packets were lost"
        };
        let what = if wrong == 1 { "inconsistency" } else { "inconsistencies" };
        format!(
            "{} % of the trace contradicts the program: {wrong} {what} beside {ranges} ranges; {why}\n",
            self.share(wrong)
        )
    }

    /// Lines that precede a table; empty where the program fits.
    pub fn text(&self) -> String {
        let mut text = self.misfit();
        let (ranges, missing) = (self.ranges, self.missing);
        if missing > 0 {
            text += &format!(
                "{} % of the addresses are outside of the images: {missing} beside {ranges} ranges\n",
                self.share(missing)
            );
        }
        text
    }
}
