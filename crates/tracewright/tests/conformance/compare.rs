//! A listing on its way out, beside the one that is wanted.

use std::collections::VecDeque;
use std::io;

use crate::allowed::{Allowed, Change};

/// Compares what is written to it with the lines that are wanted.
pub struct Compare {
    wanted: Box<dyn Iterator<Item = Vec<u8>>>,
    allowed: VecDeque<Change>,
    /// The beginning of a line.
    partial: Vec<u8>,
    same: usize,
    differ: usize,
    wrong: Option<String>,
}

impl Compare {
    pub fn new(wanted: Box<dyn Iterator<Item = Vec<u8>>>, allowed: Vec<Allowed>) -> Compare {
        let allowed = allowed.into_iter().map(|allowed| allowed.change).collect();
        let (partial, wrong) = (Vec::new(), None);
        Compare { wanted, allowed, partial, same: 0, differ: 0, wrong }
    }

    /// How many lines were the same, and how many differ as known.
    pub fn finish(mut self) -> Result<(usize, usize), String> {
        // The last line may have no end.
        let last = std::mem::take(&mut self.partial);
        if !last.is_empty() {
            self.line(last);
        }
        if self.wrong.is_none() {
            let mut wanted = self.wanted.next();
            self.known_missing(&mut wanted);
            if let Some(line) = wanted {
                self.wrong = Some(describe(self.same + self.differ + 1, &line, b"(end)"));
            }
        }
        match (self.wrong, self.allowed.front()) {
            (Some(wrong), _) => Err(wrong),
            (None, Some(change)) => Err(format!("a known difference did not occur: {change:?}")),
            (None, None) => Ok((self.same, self.differ)),
        }
    }

    /// Skips lines that are known to be missing from ours.
    fn known_missing(&mut self, wanted: &mut Option<Vec<u8>>) {
        while let (Some(line), Some(Change { reference: Some(start), ours: None })) =
            (&*wanted, self.allowed.front())
            && line.starts_with(start.as_bytes())
        {
            self.allowed.pop_front();
            self.differ += 1;
            *wanted = self.wanted.next();
        }
    }

    fn line(&mut self, mut got: Vec<u8>) {
        trim(&mut got);
        if self.wrong.is_some() {
            return;
        }
        if let Some(Change { reference: None, ours: Some(start) }) = self.allowed.front()
            && got.starts_with(start.as_bytes())
        {
            self.allowed.pop_front();
            self.differ += 1;
            return;
        }
        let mut wanted = self.wanted.next();
        if wanted.as_ref() == Some(&got) {
            self.same += 1;
            return;
        }
        self.known_missing(&mut wanted);
        let line = wanted.as_deref().unwrap_or(b"(end)");
        if line == got {
            self.same += 1;
            return;
        }
        if let Some(Change { reference: Some(reference), ours: Some(ours) }) = self.allowed.front()
            && line.starts_with(reference.as_bytes())
            && got.starts_with(ours.as_bytes())
        {
            self.allowed.pop_front();
            self.differ += 1;
            return;
        }
        self.wrong = Some(describe(self.same + self.differ + 1, line, &got));
    }
}

fn describe(n: usize, want: &[u8], got: &[u8]) -> String {
    let text = |line: &[u8]| String::from_utf8_lossy(line).into_owned();
    format!("line {n} differs\n    want {}\n    got  {}", text(want), text(got))
}

/// Takes spaces off the end.
pub fn trim(line: &mut Vec<u8>) {
    while line.last().is_some_and(u8::is_ascii_whitespace) {
        line.pop();
    }
}

impl io::Write for Compare {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut rest = bytes;
        while let Some(end) = rest.iter().position(|&byte| byte == b'\n') {
            let mut line = std::mem::take(&mut self.partial);
            line.extend_from_slice(&rest[..end]);
            self.line(line);
            rest = &rest[end + 1..];
        }
        self.partial.extend_from_slice(rest);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
