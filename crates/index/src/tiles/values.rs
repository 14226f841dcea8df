//! The values that a source reports: those of watched data, and those that software writes.

use std::collections::BTreeMap;

use tracewright_base::{Dwt, Element};

use crate::bytes::{Reader, put};
use crate::key::channel;

/// The most series of a source: the first ones. Further ones have no values in tiles.
pub const MOST_SERIES: usize = 64;

/// What values belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Series {
    /// What is written to a port or a channel, by the number of [`channel`].
    Write(u64),
    /// The data that is read or written where a comparator of the DWT matches.
    Comparator(u8),
}

/// The values of one series in a part of the trace, as unsigned numbers. All but `count` are 0
/// without any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ValueSums {
    /// How many there are.
    pub count: u64,
    /// How many of them are text by their bytes: printable ASCII, white space, and zeros behind it.
    pub text: u64,
    /// The least.
    pub least: u64,
    /// The greatest.
    pub most: u64,
    /// The sum of all.
    pub sum: u128,
}

impl Series {
    /// The series, the value, and the number of bits of an element that is one value.
    pub fn of(element: &Element) -> Option<(Series, u64, u8)> {
        match element {
            // A marker, a frequency or an error is no number of the program.
            Element::SoftwareWrite(write) if write.bits > 0 => {
                Some((Series::Write(channel(write.channel)), write.value(), write.bits))
            }
            Element::DwtEvent(event) => match event.meaning() {
                Dwt::DataValue { comparator, size, value, .. } => {
                    Some((Series::Comparator(comparator), value.into(), 8 * size))
                }
                _ => None,
            },
            _ => None,
        }
    }
}

impl ValueSums {
    /// A value of `bits` bits.
    pub fn add(&mut self, value: u64, bits: u8) {
        let one = ValueSums {
            count: 1,
            text: is_text(value, bits).into(),
            least: value,
            most: value,
            sum: value.into(),
        };
        self.join(&one);
    }

    /// Adds the values of another part.
    pub fn join(&mut self, other: &ValueSums) {
        if other.count == 0 {
            return;
        }
        if self.count == 0 || other.least < self.least {
            self.least = other.least;
        }
        self.most = self.most.max(other.most);
        self.count = self.count.saturating_add(other.count);
        self.text = self.text.saturating_add(other.text);
        self.sum = self.sum.saturating_add(other.sum);
    }

    /// The mean value. `None` without any.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    fn put(&self, out: &mut Vec<u8>) {
        put(out, self.count);
        put(out, self.text);
        put(out, self.least);
        if self.count > 1 {
            put(out, self.most.wrapping_sub(self.least));
            put(out, self.sum as u64);
            put(out, (self.sum >> 64) as u64);
        }
    }

    fn read(from: &mut Reader<'_>) -> Option<ValueSums> {
        let (count, text, least) = (from.number()?, from.number()?, from.number()?);
        let mut own = ValueSums { count, text, least, most: least, sum: least.into() };
        if count > 1 {
            own.most = least.checked_add(from.number()?)?;
            own.sum = u128::from(from.number()?) | u128::from(from.number()?) << 64;
        }
        (text <= count && count > 0).then_some(own)
    }
}

/// Whether the bytes of a value, the lowest first, are text.
fn is_text(value: u64, bits: u8) -> bool {
    let all = value.to_le_bytes();
    let bytes = all.get(..usize::from(bits.div_ceil(8))).unwrap_or(&all);
    let len = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    let text = |byte: &u8| matches!(byte, b' '..=b'~' | b'\t' | b'\n' | b'\r' | 0x1b);
    len > 0 && bytes.iter().take(len).all(text)
}

/// The values of some series.
pub type Values = BTreeMap<Series, ValueSums>;

/// Appends the values of a tile, in order of the numbers of their series.
pub(crate) fn put_values(values: &[(u32, ValueSums)], out: &mut Vec<u8>) {
    put(out, values.len() as u64);
    let mut next = 0u32;
    for (series, sums) in values {
        put(out, series.wrapping_sub(next).into());
        next = series.wrapping_add(1);
        sums.put(out);
    }
}

/// Reads the values of a tile.
pub(crate) fn read_values(from: &mut Reader<'_>) -> Option<Vec<(u32, ValueSums)>> {
    let mut next = 0u32;
    let count = from.count()?;
    let mut values = Vec::new();
    for _ in 0..count {
        let series = next.checked_add(u32::try_from(from.number()?).ok()?)?;
        next = series.checked_add(1)?;
        values.push((series, ValueSums::read(from)?));
    }
    Some(values)
}

/// Appends a series.
pub(crate) fn put_series(series: Series, out: &mut Vec<u8>) {
    match series {
        Series::Write(key) => {
            out.push(0);
            put(out, key);
        }
        Series::Comparator(number) => {
            out.push(1);
            put(out, number.into());
        }
    }
}

/// Reads a series.
pub(crate) fn read_series(from: &mut Reader<'_>) -> Option<Series> {
    Some(match (from.u8()?, from.number()?) {
        (0, key) => Series::Write(key),
        (1, number) => Series::Comparator(u8::try_from(number).ok()?),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use tracewright_base::{Channel, DwtEvent, Software};

    use super::*;

    #[test]
    fn values_have_series() {
        let port = Channel::Port { page: None, port: 3 };
        let write = Element::SoftwareWrite(Software::new(port, 16, 0x1234));
        assert_eq!(Series::of(&write), Some((Series::Write(3), 0x1234, 16)));
        let marker = Element::SoftwareWrite(Software::new(port, 0, 0));
        assert_eq!(Series::of(&marker), None);
        let event = |discriminator, size, value| {
            Element::DwtEvent(DwtEvent { discriminator, size, value, after_overflow: false })
        };
        // Discriminator, bits [4:0]: 10 for data, the comparator, write.
        assert_eq!(Series::of(&event(0b10101, 2, 7)), Some((Series::Comparator(2), 7, 16)));
        assert_eq!(Series::of(&event(2, 4, 7)), None);
        assert_eq!(Series::of(&Element::Trigger), None);
    }

    #[test]
    fn text_is_known_by_its_bytes() {
        for (value, bits, text) in [
            (0x41, 8, true),
            (0x0a42, 16, true),
            (0x42, 32, true),
            (0x4200, 16, false),
            (0, 8, false),
            (0x8041, 16, false),
            (u64::from_le_bytes(*b"abcdefgh"), 64, true),
        ] {
            assert_eq!(is_text(value, bits), text, "{value:#x}");
        }
    }

    #[test]
    fn values_are_read_as_they_were_written() {
        let mut many = ValueSums::default();
        for (value, bits) in [(u64::MAX, 64), (u64::MAX, 64), (0x41, 8)] {
            many.add(value, bits);
        }
        assert_eq!((many.count, many.text, many.least, many.most), (3, 1, 0x41, u64::MAX));
        assert_eq!(many.sum, 2 * u128::from(u64::MAX) + 0x41);
        let mut one = ValueSums::default();
        one.add(9, 8);
        assert_eq!((one.mean(), ValueSums::default().mean()), (Some(9.0), None));
        let values = vec![(0, one), (7, many), (8, one)];
        let mut bytes = Vec::new();
        put_values(&values, &mut bytes);
        for series in [Series::Write(1 << 56 | 3), Series::Comparator(3)] {
            put_series(series, &mut bytes);
        }
        let mut from = Reader(&bytes);
        assert_eq!(read_values(&mut from), Some(values));
        assert_eq!(read_series(&mut from), Some(Series::Write(1 << 56 | 3)));
        assert_eq!(read_series(&mut from), Some(Series::Comparator(3)));
        assert!(from.0.is_empty());
        for len in 0..bytes.len() {
            let mut from = Reader(&bytes[..len]);
            let whole = read_values(&mut from).is_some() && read_series(&mut from).is_some();
            assert!(!whole || read_series(&mut from).is_none(), "{len}");
        }
    }
}
