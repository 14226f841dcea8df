//! A position in a buffer.

use std::fmt;
use std::num::ParseIntError;
use std::str::FromStr;

/// An executed instruction of a buffer: its element, and its number in the range of that element.
///
/// As text, `12+3` is instruction 3 of element 12, and `12` its first one. Elements are counted
/// from 0 over all sources in the order of the output, as `find`, `--at` and the page of the viewer
/// count them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// The number of the element, a range.
    pub element: u64,
    /// Instructions of the range before it.
    pub instruction: u32,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.instruction {
            0 => write!(f, "{}", self.element),
            n => write!(f, "{}+{n}", self.element),
        }
    }
}

impl FromStr for Position {
    type Err = ParseIntError;

    fn from_str(text: &str) -> Result<Position, ParseIntError> {
        let (element, instruction) = text.split_once('+').unwrap_or((text, "0"));
        Ok(Position { element: element.parse()?, instruction: instruction.parse()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_back() {
        for (text, element, instruction) in [("0", 0, 0), ("12", 12, 0), ("12+3", 12, 3)] {
            let position = Position { element, instruction };
            assert_eq!(text.parse(), Ok(position));
            assert_eq!(position.to_string(), text);
        }
        for text in ["", "+", "1+", "-1", "1+2+3", "0x1", "99999999999999999999"] {
            assert!(text.parse::<Position>().is_err(), "{text}");
        }
    }
}
