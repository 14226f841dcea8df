//! Which pages there are.

use std::cell::Cell;

use super::page::Frame;
use super::report::CoverageReport;
use super::{exemptions, functions, object, overview, runs, source, states, violations};

/// The most bytes of source text in all pages; each line counts [`LINE`] more.
const MAX_TEXT: usize = 256 << 20;
/// About the bytes of a row beside its text.
const LINE: usize = 64;

impl CoverageReport<'_> {
    /// Writes the pages: the name and the bytes of each, until `put` returns false.
    pub fn write(&self, mut put: impl FnMut(&str, Vec<u8>) -> bool) {
        let frame = Frame::new(self);
        let mut good = true;
        let mut put = |(name, page): (String, String)| {
            good = good && put(&name, page.into_bytes());
            good
        };
        if !overview::pages(self, &frame).into_iter().all(&mut put) {
            return;
        }
        let all = [
            violations::pages(self, &frame),
            functions::pages(self, &frame),
            runs::pages(self, &frame),
            exemptions::pages(self, &frame),
            states::pages(self, &frame),
            object::pages(self, &frame),
        ];
        if !all.into_iter().flatten().all(&mut put) {
            return;
        }
        let left = Cell::new(MAX_TEXT);
        for (n, (path, own)) in self.sources.iter().enumerate() {
            let text = (self.text)(path, own).and_then(|text| {
                let lines = text.lines().count().saturating_mul(LINE);
                let rest = left.get().checked_sub(text.len().saturating_add(lines));
                left.set(rest.unwrap_or(left.get()));
                rest.map(|_| text).ok_or_else(|| {
                    format!("the texts of all files have more than {} MiB", MAX_TEXT >> 20)
                })
            });
            if !source::pages(self, &frame, (n, path, own), text).into_iter().all(&mut put) {
                return;
            }
        }
    }
}
