//! The counts of a [`RawProfile`] as lines of text, which can be written, read and summed.

use std::fmt::Write;

use tracewright_base::Last;
use tracewright_image::MemoryId;

use crate::executed::{Executed, Following, Missing};
use crate::raw_profile::RawProfile;

/// The key of all counts that were larger than `u64::MAX`.
const SATURATED: &str = "saturated";

impl RawProfile {
    /// Passes the text of each count to `each`, in no order. Two texts are equal where they count
    /// the same: then the sum of both counts is that of the two traces one after the other.
    pub fn each_line(mut self, mut each: impl FnMut(String, u64)) {
        self.settle();
        if self.saturated {
            each(SATURATED.to_owned(), 1);
        }
        for (key, count) in self.executed.into_counts() {
            let Executed { memory, source, start, bytes, instructions, last, next } = key;
            let mut text = head("executed", source, memory);
            let _ = write!(text, " {start:x} {bytes} {instructions} {:x}", last.word());
            each(with_option(text, next), count);
        }
        for (key, count) in self.following.into_counts() {
            let Following { memory, source, from, start, last } = key;
            let mut text = head("following", source, memory);
            let _ = write!(text, " {start:x} {last:x}");
            each(with_option(text, from), count);
        }
        for (key, count) in self.missing.into_counts() {
            let Missing { memory, source, address } = key;
            let mut text = head("missing", source, memory);
            let _ = write!(text, " {address:x}");
            each(text, count);
        }
    }

    /// Adds the count of a text of [`each_line`](RawProfile::each_line). `None` where it is none.
    pub fn add_line(&mut self, text: &str, count: u64) -> Option<()> {
        let mut fields = text.split(' ');
        let kind = fields.next()?;
        if kind == SATURATED {
            self.saturated = true;
            return fields.next().is_none().then_some(());
        }
        // A sum of lines saturates at this number.
        self.saturated |= count == u64::MAX;
        let source = fields.next()?.parse().ok()?;
        let memory = memory(fields.next()?)?;
        match kind {
            "executed" => {
                let executed = Executed {
                    memory,
                    source,
                    start: hex(fields.next()?)?,
                    bytes: fields.next()?.parse().ok()?,
                    instructions: fields.next()?.parse().ok()?,
                    last: Last::of_word(hex(fields.next()?)?.try_into().ok()?)?,
                    next: option(fields.next()?)?,
                };
                self.executed.add(executed, count);
            }
            "following" => {
                let (start, last) = (hex(fields.next()?)?, hex(fields.next()?)?);
                let from = option(fields.next()?)?;
                self.following.add(Following { memory, source, from, start, last }, count);
            }
            "missing" => {
                let address = hex(fields.next()?)?;
                self.missing.add(Missing { memory, source, address }, count);
            }
            _ => return None,
        }
        fields.next().is_none().then_some(())
    }
}

fn head(kind: &str, source: u16, memory: MemoryId) -> String {
    let [space, changes, common] = memory.numbers();
    format!("{kind} {source} {space}.{changes}.{common}")
}

fn memory(text: &str) -> Option<MemoryId> {
    let mut numbers = text.split('.').map(str::parse::<u32>);
    let mut next = || numbers.next()?.ok();
    let all = [next()?, next()?, next()?];
    numbers.next().is_none().then(|| MemoryId::of_numbers(all))
}

/// `text` with an address, or `-` where it is not known.
fn with_option(mut text: String, address: Option<u64>) -> String {
    match address {
        Some(address) => _ = write!(text, " {address:x}"),
        None => text.push_str(" -"),
    }
    text
}

fn option(text: &str) -> Option<Option<u64>> {
    if text == "-" { Some(None) } else { hex(text).map(Some) }
}

fn hex(text: &str) -> Option<u64> {
    let digits = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    if !text.as_bytes().iter().all(digits) {
        return None;
    }
    u64::from_str_radix(text, 16).ok()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use tracewright_base::{Instruction, Isa, Kind, Role};
    use tracewright_testing::Random;

    use super::*;

    fn lines(raw: RawProfile) -> BTreeMap<String, u64> {
        let mut all = BTreeMap::new();
        raw.each_line(|text, count| assert_eq!(all.insert(text, count), None));
        all
    }

    fn random(random: &mut Random) -> RawProfile {
        let mut raw = RawProfile::default();
        for _ in 0..50 {
            let memory = MemoryId::of_numbers([random.below(3) as u32, 0, random.below(9) as u32]);
            let source = random.below(2) as u16;
            let start = random.below(u64::MAX);
            let known = (random.below(2) == 0).then_some(random.below(1 << 40));
            let instruction = Instruction {
                kind: [Kind::Branch, Kind::Undefined][random.below(2) as usize],
                role: [Role::Link, Role::Jump][random.below(2) as usize],
                isa: [Isa::Rv64, Isa::T32][random.below(2) as usize],
                size: 2 + random.below(7) as u8,
                conditional: random.below(2) == 0,
                ..Instruction::default()
            };
            let last = Last::new(&instruction, random.below(2) == 0);
            let (bytes, instructions) = (random.below(1 << 32) as u32, random.below(9) as u32);
            let executed =
                Executed { memory, source, start, bytes, instructions, last, next: known };
            raw.executed.add(executed, random.below(u64::MAX / 100));
            let following = Following { memory, source, from: known, start, last: start };
            raw.following.add(following, 1);
            raw.missing.add(Missing { memory, source, address: start }, 2);
        }
        raw.saturated = random.below(2) == 0;
        raw
    }

    #[test]
    fn the_largest_count_may_be_a_larger_one() {
        for (count, saturated) in [(u64::MAX - 1, false), (u64::MAX, true)] {
            let mut raw = RawProfile::default();
            raw.add_line("missing 0 0.0.0 8000", count).expect("a line");
            assert_eq!(raw.saturated, saturated);
        }
    }

    #[test]
    fn lines_are_read_as_they_were_written() {
        let mut numbers = Random::new(7);
        for _ in 0..20 {
            let raw = random(&mut numbers);
            let all = lines(raw.clone());
            let mut read = RawProfile::default();
            for (text, count) in &all {
                read.add_line(text, *count).expect("a line");
                let cut = text.rsplit_once(' ').map_or("", |(before, _)| before);
                assert_eq!(RawProfile::default().add_line(cut, 1), None, "{cut}");
                let longer = format!("{text} 0");
                assert_eq!(RawProfile::default().add_line(&longer, 1), None, "{longer}");
            }
            assert_eq!(lines(read), all);
        }
    }
}
