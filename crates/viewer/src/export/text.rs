//! The answers that are lists, and source files.

use std::collections::BTreeSet;
use std::ops::Range;

use super::buffer::next;
use super::{Export, last_number, list};
use crate::answer::Problem;
use crate::served::ServedBuffer;
use crate::work::DETAIL;

/// The most rows of each list, and of one answer.
const EXCEPTIONS: usize = 2_000;
const LINES: usize = 5_000;
const INSTRUCTIONS: usize = 20_000;
const AT_ONCE: usize = 500;
/// The most source files, and the most lines of one.
const FILES: usize = 60;
const FILE_LINES: u64 = 20_000;
/// Lines in an answer.
const BLOCK: u64 = 2_000;

/// An answer about a part of a list, and the offset at which it begins.
type Page = (u64, Vec<u8>);
/// Pages, and the offset that they reach.
type Pages = (Vec<Page>, u64);

impl Export<'_, '_> {
    /// Adds the exceptions, output, instructions and source files of a part.
    pub(super) fn lists(
        &mut self,
        buffer: &ServedBuffer<'_>,
        part: &Range<u64>,
        share: usize,
        name: &str,
    ) -> Result<(), Problem> {
        let number = buffer.number;
        let mut left = share;
        for (route, what, most) in
            [("exceptions", "exceptions", EXCEPTIONS), ("output", "lines of output", LINES)]
        {
            let (pages, reached) = self.pages(route, number, part, most)?;
            left = left.saturating_sub(self.list(
                (&format!("{route}/{number}"), pages),
                (what, name),
                reached.min(part.end)..part.end,
                left / 3,
            ));
        }
        let (pages, reached) = self.instructions(buffer, part)?;
        let rest = reached.min(part.end)..part.end;
        let what = ("instructions", name);
        left = left.saturating_sub(self.list(
            (&format!("list/{number}"), pages),
            what,
            rest,
            left / 2,
        ));
        self.sources(buffer, part, left, name)
    }

    /// Adds pages, fewer of them until they fit. `rest` is what they do not have. Returns the size.
    fn list(
        &mut self,
        (key, mut pages): (&str, Vec<Page>),
        (what, name): (&str, &str),
        mut rest: Range<u64>,
        most: usize,
    ) -> usize {
        loop {
            let bytes: Vec<Vec<u8>> = pages.iter().map(|(_, page)| page.clone()).collect();
            let added = self.packed.add(vec![(key.to_owned(), list(&bytes))], most);
            if added.is_some() || pages.is_empty() {
                if !rest.is_empty() {
                    let Range { start, end } = rest;
                    self.lacks.push(format!("{name}{what} after the byte {start} of {end}"));
                }
                return added.unwrap_or(0);
            }
            let half = pages.split_off(pages.len() / 2);
            if let Some((from, _)) = half.first() {
                rest.start = rest.start.min(*from);
            }
        }
    }

    /// The pages of a list, each with the offset at which it begins, and the offset that they
    /// reach.
    fn pages(
        &mut self,
        route: &str,
        number: usize,
        part: &Range<u64>,
        most: usize,
    ) -> Result<Pages, Problem> {
        let (mut pages, mut from) = (Vec::new(), part.start);
        for _ in 0..most.div_ceil(AT_ONCE) {
            let query = format!("buffer={number}&from={from}&limit={AT_ONCE}");
            let page = self.ask(route, &query)?;
            let after = next(&page);
            pages.push((from, page));
            match after {
                None => return Ok((pages, u64::MAX)),
                Some(after) if after >= part.end => return Ok((pages, after)),
                // Several rows of one offset may be more than a page has.
                Some(after) => from = if after > from { after } else { from + 1 },
            }
        }
        Ok((pages, from))
    }

    /// The rows of instructions from the begin of the part on.
    fn instructions(
        &mut self,
        buffer: &ServedBuffer<'_>,
        part: &Range<u64>,
    ) -> Result<Pages, Problem> {
        let number = buffer.number;
        let indexed = buffer.view.buffer();
        let all = indexed.position(indexed.len()).elements;
        let mut pages = Vec::new();
        let mut at = format!("offset={}", part.start);
        let (mut element, mut reached) = (None, part.start);
        while pages.len() * AT_ONCE / 2 < INSTRUCTIONS && all > 0 {
            let query = format!("buffer={number}&{at}&before=0&after=250");
            let page = match self.ask("list", &query) {
                Ok(page) => page,
                // There is no element.
                Err(problem) if problem.status == 404 => break,
                Err(problem) => return Err(problem),
            };
            let is_end = page.windows(11).any(|text| text == b"\"end\":true,")
                || page.ends_with(b"\"end\":true}");
            let last = (last_number(&page, "element"), last_number(&page, "n"));
            let offset = last_number(&page, "offset").unwrap_or(reached);
            pages.push((reached, page));
            reached = offset.max(reached);
            if is_end {
                return Ok((pages, u64::MAX));
            }
            // The rows of one element may be on several pages.
            at = match last {
                (Some(own), _) if element != Some(own) => format!("element={own}"),
                (Some(_), Some(n)) => format!("instruction={}", n + 1),
                _ => break,
            };
            element = last.0;
            if reached >= part.end {
                break;
            }
        }
        Ok((pages, reached))
    }

    /// The source files of the functions that were executed.
    fn sources(
        &mut self,
        buffer: &ServedBuffer<'_>,
        part: &Range<u64>,
        most: usize,
        name: &str,
    ) -> Result<(), Problem> {
        let number = buffer.number;
        let program = self.worker.served.program();
        let starts = buffer.starts();
        let files: BTreeSet<u32> = starts.filter_map(|at| program.at(at)).map(|at| at.0).collect();
        let counted = part.end - part.start <= DETAIL;
        let executions = match counted {
            true => format!("&executions={}..{}", part.start, part.end),
            false => String::new(),
        };
        let (mut left, mut left_out, mut added) = (most, 0, 0);
        for file in files {
            let readable = program.files.get(file as usize);
            if readable.is_none_or(|own| self.worker.served.source_path(own).is_none()) {
                continue;
            }
            let (mut pages, mut from) = (Vec::new(), 1);
            while from <= FILE_LINES {
                let to = from + BLOCK - 1;
                let query = format!("buffer={number}&file={file}&from={from}&to={to}{executions}");
                let Ok(page) = self.ask("source", &query) else { break };
                // The name of the number precedes the text.
                let head = page.get(..page.len().min(8192)).unwrap_or_default();
                let head = head.split(|byte| *byte == b'[').next().unwrap_or_default();
                let total = last_number(head, "lines_total").unwrap_or(0);
                pages.push(page);
                from = to + 1;
                if from > total {
                    break;
                }
            }
            if pages.is_empty() {
                continue;
            }
            let key = format!("source/{number}/{file}");
            let size = (added < FILES).then(|| self.packed.add(vec![(key, list(&pages))], left));
            match size.flatten() {
                Some(size) => {
                    let path = program.files.get(file as usize).map_or("", |own| &own.path);
                    self.has.push(format!("{name}the text of {path}"));
                    left -= size;
                    added += 1;
                }
                None => left_out += 1,
            }
        }
        if left_out > 0 {
            self.lacks.push(format!("{name}the text of {left_out} source files"));
        }
        if !counted && added > 0 {
            self.lacks.push(format!("{name}how often each line of source was executed"));
        }
        Ok(())
    }
}
