//! BranchFlow, the changes of flow that TRACE32 exports with `/NOSYMBOL /CALLER`. (GNATcoverage,
//! `trace32-branchflow.adb`)
//!
//! ```text
//! #######################################################################
//! # Branch Flow trace file
//! # target; caller; trace record
//! #######################################################################
//! C:0x20000434; T:0x20000426
//! ```
//!
//! Each line is a change of flow: where execution continues, and the last instruction before. What
//! is between the target of a line and the caller of the next one follows from the program. The
//! letters before an address are the access class of TRACE32, which is not read.

use crate::entry::{Entry, Event};
use crate::text::{Expected, Words, hex};

/// The first two lines.
const RULE: &str = "#######################################################################";
const TITLE: &str = "# Branch Flow trace file";

/// Whether a log that begins with `head` is one.
pub(crate) fn is_log(head: &[u8]) -> bool {
    let mut lines = head.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let first = lines.next().is_some_and(|line| line == RULE.as_bytes());
    first && lines.next().is_some_and(|line| line == TITLE.as_bytes())
}

/// An address behind an access class.
fn address(word: &[u8]) -> Option<u64> {
    let at = word.iter().position(|byte| *byte == b':')?;
    let (class, rest) = word.split_at(at);
    let is_class = !class.is_empty() && class.iter().all(u8::is_ascii_alphabetic);
    let digits = rest.strip_prefix(b":0x").filter(|_| is_class)?;
    hex(digits)
}

/// Reads one line.
pub(crate) fn line(line: &[u8], out: &mut dyn FnMut(Entry)) -> Result<(), Expected> {
    let line = line.trim_ascii();
    if line.is_empty() || line.starts_with(b"#") {
        return Ok(());
    }
    let expected = Expected("a change of flow, such as `C:0x20000434; C:0x20000426`");
    let mut words = Words(line);
    let to = words.word().strip_suffix(b";").and_then(address).ok_or(expected)?;
    let from = words.word();
    let from = address(from.strip_suffix(b";").unwrap_or(from)).ok_or(expected)?;
    out(Entry::new(0, Event::Branched { from, to }));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_the_target_and_the_caller() {
        let read = |text: &str| {
            let mut all = Vec::new();
            let done = line(text.as_bytes(), &mut |entry| all.push(entry.event));
            done.map(|()| all)
        };
        let branched = |from, to| Ok(vec![Event::Branched { from, to }]);
        for (text, want) in [
            ("C:0x20000434; T:0x20000426", branched(0x2000_0426, 0x2000_0434)),
            ("SP:0x10;  X:0xFFFFFF8000000004; 12", branched(0xffff_ff80_0000_0004, 0x10)),
            ("# target; caller; trace record", Ok(vec![])),
            ("", Ok(vec![])),
        ] {
            assert_eq!(read(text), want, "{text}");
        }
        for text in ["C:0x1", "C:0x1 C:0x2", "0x1; 0x2", "C:1; C:2", ":0x1; C:0x2", "C:0x1; C:0xg"]
        {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
