//! The changes of the level of SWO, and the bytes of its asynchronous form: 8 data bits, no
//! parity, one stop bit. (Armv7-M ARM, C1.10, "TPIU"; CoreSight SWO, "Asynchronous serial output")

use std::borrow::Cow;

/// The least samples in a bit.
pub(super) const LEAST: f64 = 2.0;

/// The most changes of the level.
pub(super) const MAX_CHANGES: usize = 48 << 20;
/// The most changes that the length of a bit is determined from.
pub(super) const MEASURED: usize = 1 << 20;

/// The changes of one level.
#[derive(Clone, Debug, Default)]
pub(super) struct Edges {
    /// The samples at which the level changes: first to low.
    pub(super) changes: Vec<u64>,
    high: bool,
    /// Where the level became high first, where it was low before.
    rise: Option<u64>,
    /// The number of samples.
    pub(super) samples: u64,
}

impl Edges {
    /// Takes the next sample. The recording begins when the level is high. Fails where the level
    /// changes more than `most` times.
    pub(super) fn level(&mut self, high: bool, most: usize) -> Result<(), String> {
        let at = self.samples;
        self.level_at(at, high, most)?;
        self.samples += 1;
        Ok(())
    }

    /// The level is `high` from `at` on, as in [`level`](Self::level).
    pub(super) fn level_at(&mut self, at: u64, high: bool, most: usize) -> Result<(), String> {
        if high != self.high && (self.high || !self.changes.is_empty()) {
            if self.changes.len() == most {
                return Err(format!("the level of SWO changes more than {most} times"));
            }
            self.changes.push(at);
        } else if high && !self.high && at > 0 {
            self.rise = Some(at);
        }
        self.high = high;
        self.samples = self.samples.max(at);
        Ok(())
    }

    /// The same with the levels high and low exchanged.
    pub(super) fn inverted(&self) -> Edges {
        // A recording begins when the level is high.
        let changes = match self.rise {
            Some(rise) => [&[rise], self.changes.as_slice()].concat(),
            None => self.changes.get(1..).unwrap_or_default().to_vec(),
        };
        Edges { changes, high: !self.high, rise: self.changes.first().copied(), ..*self }
    }

    /// The same with the change to high before the first change to low.
    pub(super) fn with_rise(&self) -> Edges {
        match self.rise {
            Some(rise) => {
                let changes = [&[0, rise], self.changes.as_slice()].concat();
                Edges { changes, rise: None, ..*self }
            }
            None => self.clone(),
        }
    }

    /// The level stays as it is after its last change, where the recording ends with that.
    pub(super) fn stays(&mut self) {
        if self.changes.last() == Some(&self.samples) {
            self.samples = u64::MAX >> 12;
        }
    }

    /// What precedes change number `most`.
    pub(super) fn first(&self, most: usize) -> Cow<'_, Edges> {
        match self.changes.split_at_checked(most) {
            Some((changes, &[end, ..])) => {
                let changes = changes.to_vec();
                Cow::Owned(Edges { changes, samples: end, ..*self })
            }
            _ => Cow::Borrowed(self),
        }
    }

    /// The length of a bit in samples: that with the fewest bytes without a stop bit.
    pub(super) fn bit(&self) -> Option<f64> {
        let runs = self.changes.windows(2).filter_map(|pair| match pair {
            [from, to] => Some(to - from),
            _ => None,
        });
        let least = runs.min()? as f64;
        // A pulse of one bit may have a sample more or less.
        let candidates = (0..=80).map(|step| least * (0.7 + 0.01 * f64::from(step)));
        let mut best: Option<(u64, f64, f64)> = None;
        for bit in candidates.filter(|bit| *bit >= LEAST) {
            let errors = self.bytes(bit).2;
            best = match best {
                Some((least, from, _)) if least == errors => Some((least, from, bit)),
                Some((least, ..)) if least < errors => continue,
                _ => Some((errors, bit, bit)),
            };
        }
        best.map(|(_, from, to)| (from + to) / 2.0)
    }

    /// The level at `sample`. `from`: an index of changes before it, which is advanced.
    fn is_high(&self, sample: f64, from: &mut usize) -> bool {
        while self.changes.get(*from).is_some_and(|&change| (change as f64) <= sample) {
            *from += 1;
        }
        from.is_multiple_of(2)
    }

    /// The bytes and their times, and the number of bytes without a stop bit.
    pub(super) fn bytes(&self, bit: f64) -> (Vec<u8>, Vec<u64>, u64) {
        let (mut bytes, mut times, mut errors) = (Vec::new(), Vec::new(), 0);
        let mut at = 0;
        while let Some(&start) = self.changes.get(at) {
            let begin = start as f64;
            if begin + 9.5 * bit > self.samples as f64 {
                break;
            }
            let mut byte = 0;
            for n in 0..8 {
                let middle = begin + bit * (1.5 + f64::from(n));
                byte |= u8::from(self.is_high(middle, &mut at)) << n;
            }
            if self.is_high(begin + 9.5 * bit, &mut at) {
                bytes.push(byte);
                times.push(start);
            } else {
                errors += 1;
            }
            // The next start bit is the next change to low.
            at += at % 2;
        }
        (bytes, times, errors)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The levels of `bytes` with `bit` samples in a bit, and idle samples in between.
    fn edges(bytes: &[u8], bit: f64) -> Edges {
        let mut bits = vec![true; 20];
        for &byte in bytes {
            bits.push(false);
            bits.extend((0..8).map(|n| byte >> n & 1 != 0));
            bits.extend([true; 1]);
            bits.extend(vec![true; usize::from(byte % 3)]);
        }
        bits.extend([true; 20]);
        let mut edges = Edges::default();
        for sample in 0..(bits.len() as f64 * bit) as usize {
            edges.level(bits[(sample as f64 / bit) as usize], MAX_CHANGES).unwrap();
        }
        edges
    }

    #[test]
    fn bytes_at_any_rate() {
        let bytes: Vec<u8> = (0..=255).chain([0x55, 0, 0xff, 1]).collect();
        for bit in [3.0, 3.4, 4.0, 7.5, 12.0, 208.3] {
            let edges = edges(&bytes, bit);
            let found = edges.bit().unwrap();
            assert!((found / bit - 1.0).abs() < 0.06, "{found} for {bit}");
            assert_eq!(edges.bytes(found).0, bytes, "{bit} samples in a bit");
            assert_eq!(edges.bytes(found).2, 0);
        }
        assert_eq!(Edges::default().bit(), None);
    }

    #[test]
    fn the_number_of_changes_is_bounded() {
        let mut edges = Edges::default();
        let changes = [true, false, true].iter().try_for_each(|high| edges.level(*high, 2));
        assert_eq!(changes, Ok(()));
        assert!(edges.level(false, 2).unwrap_err().contains("more than 2 times"));
    }

    /// The length of a bit is that of the first changes, of which the last byte may be cut.
    #[test]
    fn the_length_of_a_bit_is_that_of_the_first_changes() {
        let all = edges(&[0x55, 1, 0x33, 0xf0, 0x0f].repeat(40), 4.0);
        for most in 20..40 {
            let found = all.first(most).bit().unwrap();
            assert!((found / 4.0 - 1.0).abs() < 0.06, "{found} from {most} changes");
        }
        assert_eq!(all.first(1 << 20).changes.len(), all.changes.len());
    }
}
