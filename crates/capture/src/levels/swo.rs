//! Serial Wire Output in a recording of its level: asynchronous, 8 data bits, no parity, one stop
//! bit. (Armv7-M ARM, C1.10, "TPIU"; CoreSight SWO, "Asynchronous serial output")

use std::borrow::Cow;
use std::path::Path;

use super::sigrok::Recording;
use super::zip;
use crate::limits::MAX_LEVELS;
use crate::{Bytes, OpenError, Problem, read_file};

/// What was sent on SWO.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SwoRecording {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// The sample at which each byte begins: that of its start bit.
    pub times: Vec<u64>,
    /// Samples in a second, if it is recorded.
    pub rate: Option<u64>,
    /// Bytes without a stop bit. They are left out.
    pub errors: u64,
}

/// Names of the signal.
const NAMES: [&str; 3] = ["SWO", "TRACESWO", "TDO/SWO"];

/// The least samples in a bit.
const LEAST: f64 = 2.0;

/// The most changes of the level.
const MAX_CHANGES: usize = 96 << 20;
/// The most changes that the length of a bit is determined from.
const MEASURED: usize = 1 << 20;

/// Reads SWO from the recording at `path`, a `.sr` file of sigrok; `None` for another file.
/// `signal` is its name in the recording. `baud` is the number of bits in a second; where it is not
/// given, it is determined from the recording.
///
/// # Errors
/// [`OpenError`] where the file cannot be read, has no such signal, or is sampled too slowly.
pub fn read_swo(
    path: &Path,
    signal: Option<&str>,
    baud: Option<u64>,
) -> Result<Option<SwoRecording>, OpenError> {
    let bytes = read_file(path).map_err(|why| OpenError::new(path, Problem::Unreadable(why)))?;
    if *bytes.head(zip::MAGIC.len()) != zip::MAGIC {
        return Ok(None);
    }
    read(&bytes, signal, baud).map(Some).map_err(|why| OpenError::new(path, Problem::Levels(why)))
}

fn read(file: &Bytes, signal: Option<&str>, baud: Option<u64>) -> Result<SwoRecording, String> {
    if file.len() as u64 > MAX_LEVELS {
        return Err(format!("it has {} bytes, more than the limit of {MAX_LEVELS}", file.len()));
    }
    let recording = Recording::open(file)?;
    let channels = &recording.device.channels;
    let named = |name: &str| channels.iter().find(|(_, own)| own.eq_ignore_ascii_case(name));
    let channel = match (signal, channels.as_slice()) {
        (Some(name), _) => named(name),
        (None, [only]) => Some(only),
        (None, _) => NAMES.iter().find_map(|name| named(name)),
    };
    let Some(&(channel, _)) = channel else {
        let names = channels.iter().map(|(_, name)| name.as_str()).collect::<Vec<_>>().join(", ");
        return Err(format!(
            "it has no signal {}; name one of {} with --signal",
            signal.unwrap_or("SWO"),
            crate::plain::line(&names)
        ));
    };
    let mut edges = Edges::default();
    recording.each(|sample| {
        let byte = sample.get(channel / 8).copied().unwrap_or(0);
        edges.level(byte >> (channel % 8) & 1 != 0, MAX_CHANGES)
    })?;
    let rate = recording.device.rate;
    let bit = match (baud, rate) {
        (Some(baud), Some(rate)) => rate as f64 / baud.max(1) as f64,
        (Some(_), None) => return Err("--baud needs a recording with a sample rate".to_owned()),
        (None, _) => edges.first(MEASURED).bit().ok_or("its SWO has no bytes")?,
    };
    if bit < LEAST {
        return Err(format!("a bit of SWO has {bit:.1} samples; at least {LEAST} are needed"));
    }
    let (bytes, times, errors) = edges.bytes(bit);
    Ok(SwoRecording { bytes, times, rate, errors })
}

/// The changes of one level.
#[derive(Clone, Debug, Default)]
struct Edges {
    /// The samples at which the level changes: first to low. A recording has at most
    /// [`MAX_LEVELS`].
    changes: Vec<u32>,
    high: bool,
    samples: u32,
}

impl Edges {
    /// Takes the next sample. The recording begins when the level is high. Fails where the level
    /// changes more than `most` times.
    fn level(&mut self, high: bool, most: usize) -> Result<(), String> {
        if high != self.high && (self.high || !self.changes.is_empty()) {
            if self.changes.len() == most {
                return Err(format!("the level of SWO changes more than {most} times"));
            }
            self.changes.push(self.samples);
        }
        self.high = high;
        self.samples += 1;
        Ok(())
    }

    /// What precedes change number `most`.
    fn first(&self, most: usize) -> Cow<'_, Edges> {
        match self.changes.split_at_checked(most) {
            Some((changes, &[end, ..])) => {
                let changes = changes.to_vec();
                Cow::Owned(Edges { changes, samples: end, ..*self })
            }
            _ => Cow::Borrowed(self),
        }
    }

    /// The length of a bit in samples: that with the fewest bytes without a stop bit.
    fn bit(&self) -> Option<f64> {
        let runs = self.changes.windows(2).filter_map(|pair| match pair {
            [from, to] => Some(to - from),
            _ => None,
        });
        let least = f64::from(runs.min()?);
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
        while self.changes.get(*from).is_some_and(|&change| f64::from(change) <= sample) {
            *from += 1;
        }
        from.is_multiple_of(2)
    }

    /// The bytes and their times, and the number of bytes without a stop bit.
    fn bytes(&self, bit: f64) -> (Vec<u8>, Vec<u64>, u64) {
        let (mut bytes, mut times, mut errors) = (Vec::new(), Vec::new(), 0);
        let mut at = 0;
        while let Some(&start) = self.changes.get(at) {
            let begin = f64::from(start);
            if begin + 9.5 * bit > f64::from(self.samples) {
                break;
            }
            let mut byte = 0;
            for n in 0..8 {
                let middle = begin + bit * (1.5 + f64::from(n));
                byte |= u8::from(self.is_high(middle, &mut at)) << n;
            }
            if self.is_high(begin + 9.5 * bit, &mut at) {
                bytes.push(byte);
                times.push(start.into());
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
