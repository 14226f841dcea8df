//! Values of registers, and texts that contain them.

use std::collections::BTreeMap;
use std::fmt;

/// Values of registers by name. The names are those of the unit's table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Values(BTreeMap<String, u64>);

impl Values {
    /// The value of register `name`, compared without case. `None` where it is unknown.
    pub fn get(&self, name: &str) -> Option<u64> {
        let exact = self.0.get(name);
        exact
            .or_else(|| self.0.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, v)| v))
            .copied()
    }

    /// The value of the register whose key is the offset `offset` in bytes, or the number of the
    /// register after `#`.
    pub fn at(&self, offset: u16) -> Option<u64> {
        self.iter().find(|(key, _)| register_offset(key) == Some(offset)).map(|(_, value)| value)
    }

    /// Sets the value of register `name`.
    pub fn set(&mut self, name: &str, value: u64) {
        self.0.insert(name.to_owned(), value);
    }

    /// Forgets the value of register `name`.
    pub fn remove(&mut self, name: &str) {
        self.0.remove(name);
    }

    /// The registers in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().map(|(name, value)| (name.as_str(), *value))
    }

    /// Whether no value is known.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<N: Into<String>> FromIterator<(N, u64)> for Values {
    fn from_iter<I: IntoIterator<Item = (N, u64)>>(values: I) -> Self {
        Values(values.into_iter().map(|(name, value)| (name.into(), value)).collect())
    }
}

/// A line that is not a register and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidLine {
    /// Number of the line, from 1.
    pub line: usize,
    /// The line.
    pub text: String,
}

impl fmt::Display for InvalidLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "line {}: `{}` is not a register and its value, such as `ETMCR=0x400` or `0x000: \
             0x400`",
            self.line, self.text
        )
    }
}

/// Reads registers and values from a text: one `NAME=VALUE`, `NAME(OFFSET)=VALUE`, `NAME VALUE`,
/// `#NUMBER=VALUE` or `OFFSET: VALUE...` a line. After a colon, further values are those of the
/// following words of memory, as debuggers dump it; a value of more than 8 digits is two words, the
/// low one first. Comments begin with `#` or `;`; a `#` at the
/// start of a line with a digit directly after it begins a register number. Of the sections in
/// `[]` only `[regs]` is read.
///
/// # Errors
/// [`InvalidLine`] for the first line that is none of these.
pub fn read(text: &str) -> Result<Vec<(String, u64)>, InvalidLine> {
    let (mut all, mut registers) = (Vec::new(), true);
    for (n, full) in text.lines().enumerate() {
        let line = without_comment(full.trim_start(), 0).trim();
        if let Some(section) = line.strip_prefix('[') {
            registers = section.trim_end_matches(']').trim().eq_ignore_ascii_case("regs");
            continue;
        }
        if line.is_empty() || !registers {
            continue;
        }
        let read = pairs(line).ok_or_else(|| InvalidLine { line: n + 1, text: full.to_owned() })?;
        all.extend(read);
    }
    Ok(all)
}

/// The registers of one line.
fn pairs(line: &str) -> Option<Vec<(String, u64)>> {
    // A snapshot may have a colon in `NAME(id:NUMBER)=VALUE`.
    let colon = line.split_once(':').filter(|_| !line.contains('='));
    if let Some((key, values)) = colon {
        let key = key.trim();
        let texts: Vec<&str> = values.split_whitespace().collect();
        let values = texts.iter().map(|text| hexadecimal(text)).collect::<Option<Vec<u64>>>()?;
        if values.is_empty() {
            return None;
        }
        let Some(base) = hexadecimal(key) else {
            // `NAME: VALUE`
            return (values.len() == 1 && (is_name(key) || register_number(key).is_some()))
                .then(|| values.iter().map(|value| (key.to_owned(), *value)).collect());
        };
        let words = texts.iter().zip(values).flat_map(|(text, value)| {
            let is_wide = text.trim_start_matches("0x").len() > 8;
            let (low, high) = if is_wide { (value & 0xffff_ffff, value >> 32) } else { (value, 0) };
            [Some(low), is_wide.then_some(high)].into_iter().flatten()
        });
        let word = |(n, value): (usize, u64)| {
            Some((format!("{:#x}", base.checked_add(4 * n as u64)?), value))
        };
        return words.enumerate().map(word).collect();
    }
    let (key, value) = line.split_once('=').or_else(|| line.split_once(char::is_whitespace))?;
    let key = key.split('(').next().unwrap_or_default().trim();
    let value = number(value.trim())?;
    let is_key = is_name(key) || number(key).is_some() || register_number(key).is_some();
    is_key.then(|| vec![(key.to_owned(), value)])
}

/// The offset of the register `key`, in bytes: `0x` and an address of which the low 12 bits count,
/// or `#` and its number.
pub fn register_offset(key: &str) -> Option<u16> {
    match key.strip_prefix("0x").or_else(|| key.strip_prefix("0X")) {
        Some(hex) => Some((u64::from_str_radix(hex, 16).ok()? & 0xfff) as u16),
        None => register_number(key)?.checked_mul(4),
    }
}

/// The number of the register `#NUMBER`, in decimal.
pub(crate) fn register_number(key: &str) -> Option<u16> {
    key.strip_prefix('#')?.parse().ok()
}

/// `line` up to its comment, which begins with `;` or `#`. A `#` at the offset `register` with a
/// digit directly after it begins a register number.
pub(crate) fn without_comment(line: &str, register: usize) -> &str {
    let comment = |text: &str| text.find(['#', ';']);
    let (before, rest) = line.split_at_checked(register).unwrap_or((line, ""));
    let number =
        rest.strip_prefix('#').filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    let end = match (comment(before), number) {
        (None, Some(number)) => comment(number).map(|at| register + 1 + at),
        _ => comment(line),
    };
    end.and_then(|end| line.get(..end)).unwrap_or(line)
}

fn is_name(key: &str) -> bool {
    key.starts_with(|c: char| c.is_ascii_alphabetic())
        && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Parses a number: hexadecimal with `0x`, binary with `0b`, otherwise decimal.
pub fn number(text: &str) -> Option<u64> {
    let text = text.replace('_', "").to_ascii_lowercase();
    if let Some(hex) = text.strip_prefix("0x") {
        return u64::from_str_radix(hex, 16).ok();
    }
    if let Some(bits) = text.strip_prefix("0b") {
        return u64::from_str_radix(bits, 2).ok();
    }
    text.parse().ok()
}

/// Parses a hexadecimal number with or without `0x`.
fn hexadecimal(text: &str) -> Option<u64> {
    u64::from_str_radix(text.strip_prefix("0x").unwrap_or(text), 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts() {
        let text = "[device]\nname=ETM_0\n[regs]\nETMCR(0x000)=0x10001000 ; control\n# nothing\n\
                    ETMTEEVR 0x6f\n0xe0041010: 00000002 00020d09\nETMIDR: 0x4114f250\n0x20=111\n\
                    TRCACVR0(id:0x100,size:64)=0x8000\n#7=1#2\n  #8 = 0x6f ; #9=1\n#10 2\n\
                    #11: 3\n#\n#c=1\n## 12=1\nETMSCR=4#13=1\n\
                    0x400: ffff000000001000 0x00000002 123456789\nTRCACVR1: 100002000\n";
        let want = [
            ("ETMCR", 0x1000_1000),
            ("ETMTEEVR", 0x6f),
            ("0xe0041010", 2),
            ("0xe0041014", 0x20d09),
            ("ETMIDR", 0x4114_f250),
            ("0x20", 111),
            ("TRCACVR0", 0x8000),
            ("#7", 1),
            ("#8", 0x6f),
            ("#10", 2),
            ("#11", 3),
            ("ETMSCR", 4),
            ("0x400", 0x1000),
            ("0x404", 0xffff_0000),
            ("0x408", 2),
            ("0x40c", 0x2345_6789),
            ("0x410", 1),
            ("TRCACVR1", 0x1_0000_2000),
        ];
        let want: Vec<_> = want.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        assert_eq!(read(text), Ok(want));
    }

    #[test]
    fn invalid_lines() {
        for text in [
            "ETMCR",
            "ETMCR=",
            "ETMCR=green",
            "=1",
            "0x10:",
            "x y z: 1",
            "0x10: 1 z",
            "#7",
            "#7=",
            "#7: 1 2",
            "#70000=1",
            "#0x7=1",
        ] {
            let invalid = InvalidLine { line: 2, text: text.to_owned() };
            assert_eq!(read(&format!("\n{text}")), Err(invalid), "{text}");
        }
    }

    #[test]
    fn names_without_case() {
        let values = Values::from_iter([("ETMCR", 1)]);
        assert_eq!(values.get("etmcr"), Some(1));
        assert_eq!(values.get("ETMSR"), None);
    }
}
