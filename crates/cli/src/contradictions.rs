//! How much of a trace contradicts the program: it stands over tables that people read.

use tracewright::decode::Tally;

/// A share of one of this many is stated.
const STATED: u64 = 100;

/// The ranges of a trace, and the contradictions to the program.
#[derive(Clone, Copy, Debug, Default)]
pub struct Contradictions {
    ranges: u64,
    inconsistencies: u64,
    missing: u64,
}

impl Contradictions {
    /// Adds those of a buffer.
    pub fn add(&mut self, tally: &Tally) {
        for source in &tally.sources {
            self.ranges += source.ranges;
            self.inconsistencies += source.inconsistencies;
            self.missing += source.no_code;
        }
    }

    /// Lines that precede a table; empty where the program fits.
    pub fn text(&self) -> String {
        let share = |count: u64| 100.0 * count as f64 / (self.ranges + count).max(1) as f64;
        let mut text = String::new();
        let (ranges, wrong, missing) = (self.ranges, self.inconsistencies, self.missing);
        if wrong > 0 && wrong.saturating_mul(STATED) >= ranges + wrong {
            text += &format!(
                "{:.1} % of the trace contradicts the program: {wrong} inconsistencies beside {ranges} \
                 ranges; the image may be another one\n",
                share(wrong)
            );
        }
        if missing > ranges {
            text += &format!(
                "{:.1} % of the addresses are outside of the images: {missing} beside {ranges} ranges\n",
                share(missing)
            );
        }
        text
    }
}
