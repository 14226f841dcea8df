//! The pages of a source file.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use tracewright_analysis::coverage::{Line, SourceFile, Totals};
use tracewright_analysis::coverage_runs::Digest;
use tracewright_analysis::decisions::MeasuredDecision;
use tracewright_analysis::exemptions::Part;

use super::decisions;
use super::page::{self, Frame};
use super::report::{CoverageReport, totals_of};
use super::runs_of::{self, RunsOfFile};
use super::state::State;
use super::table::{Column, MAX_ROWS, Table};
use super::totals::totals_table;
use crate::text::xml;

/// The lines of a page.
const LINES: u32 = 1000;
/// The most characters of a line that are shown.
const MAX_LINE: usize = 1 << 12;
/// The most decisions that a line links to.
const MAX_LINKS: usize = 8;

/// The name of the first page of file `n`, from 0, without its extension.
fn stem(n: usize) -> String {
    format!("file-{:04}", n + 1)
}

/// The number of the page with a line, from 0.
fn part_of(line: u32) -> usize {
    (line.saturating_sub(1) / LINES) as usize
}

/// The first line of page `at`, from 0.
fn first_of(at: usize) -> u32 {
    (at as u32).saturating_mul(LINES).saturating_add(1)
}

/// The last line of page `at`, from 0.
fn last_of(at: usize) -> u32 {
    first_of(at).saturating_add(LINES - 1)
}

/// The name of the first page of file `n`, from 0, that is written.
pub(super) fn first_page(n: usize, source: &SourceFile) -> String {
    page::file(&stem(n), parts(source).first().copied().unwrap_or(0))
}

/// The address of a line of file `n`, from 0.
pub(super) fn link(n: usize, line: u32) -> String {
    format!("{}#L{line}", page::file(&stem(n), part_of(line)))
}

/// The lines that other pages name: those with code, functions, decisions and conditions.
fn listed(source: &SourceFile) -> BTreeSet<u32> {
    let lines = source.lines.keys().copied();
    let functions = source.functions.iter().map(|own| own.lines.0);
    let decisions = source.decisions.iter().flat_map(|own| {
        let conditions = own.decision.conditions.iter().map(|own| own.region.start.0);
        conditions.chain([own.decision.region.start.0])
    });
    lines.chain(functions).chain(decisions).collect()
}

/// Whether code or a function begins in a line.
pub(super) fn has_code(source: &SourceFile, line: u32) -> bool {
    let at = source.functions.partition_point(|own| own.lines.0 < line);
    source.lines.contains_key(&line)
        || source.functions.get(at).is_some_and(|own| own.lines.0 == line)
}

/// The pages that are written: those with lines that are listed.
fn parts(source: &SourceFile) -> Vec<usize> {
    let own: BTreeSet<usize> = listed(source).into_iter().map(part_of).collect();
    own.into_iter().collect()
}

/// A file and what is shown of it.
struct Shown<'a> {
    report: &'a CoverageReport<'a>,
    source: &'a SourceFile,
    runs: RunsOfFile,
    listed: BTreeSet<u32>,
    /// The lines of the text, or why it is not known.
    text: Result<Vec<&'a str>, String>,
}

/// The pages of file `n`, from 0, with its path and its text.
pub(super) fn pages(
    report: &CoverageReport<'_>,
    frame: &Frame,
    (n, path, source): (usize, &str, &SourceFile),
    text: Result<String, String>,
) -> Vec<(String, String)> {
    let runs = runs_of::of_file(report.runs, path, source);
    let digest = text.as_ref().map(|text| Digest::of(text.as_bytes()).to_string());
    let lines = text.as_ref().map(|text| text.lines().collect()).map_err(Clone::clone);
    let shown = Shown { report, source, runs, listed: listed(source), text: lines };
    let all = parts(source);
    let mut before = totals_table(report, "Totals of the file", totals_of(source));
    let _ = match digest {
        Ok(digest) => {
            writeln!(before, "<p>SHA-256 of the text: <code class=\"digest\">{digest}</code></p>")
        }
        Err(why) => writeln!(before, "<p class=\"note\">The text is not shown: {}</p>", xml(why)),
    };
    before += &shown.beyond();
    let title = |at: usize| match all.len() {
        1 => path.to_owned(),
        _ => format!("{path}, lines {} to {}", first_of(at), last_of(at)),
    };
    let page = |(position, at): (usize, &usize)| {
        let links = part_links(n, &all, position);
        let body = format!("{links}{before}{}{}", shown.part(*at), page::below(&links));
        (page::file(&stem(n), *at), frame.page(&title(*at), "", &body))
    };
    all.iter().enumerate().map(page).collect()
}

/// Links to the pages of file `n` beside the one at `position`.
fn part_links(n: usize, all: &[usize], position: usize) -> String {
    if all.len() < 2 {
        return String::new();
    }
    let link = |position: Option<usize>, name: &str| {
        let at = position.and_then(|position| all.get(position));
        at.map_or(String::new(), |at| {
            format!("<li><a href=\"{}\">{name}</a></li>", page::file(&stem(n), *at))
        })
    };
    format!(
        "<nav class=\"parts\" aria-label=\"Pages of this file\"><ul>{}<li>Page {} of {}; lines \
         between them have no code</li>{}</ul></nav>\n",
        link(position.checked_sub(1), "Previous"),
        position + 1,
        all.len(),
        link(Some(position + 1), "Next")
    )
}

impl Shown<'_> {
    /// A note where code is in lines that the text does not have.
    fn beyond(&self) -> String {
        let Ok(text) = &self.text else { return String::new() };
        let last = self.source.lines.keys().next_back().copied().unwrap_or(0);
        match last as usize > text.len() {
            true => format!(
                "<p class=\"note\">The program has code in line {last}; the text has {} lines. It \
                 is not the text that was compiled.</p>\n",
                text.len()
            ),
            false => String::new(),
        }
    }

    /// Part `at` of the file: its text, branches, and decisions.
    fn part(&self, at: usize) -> String {
        let (first, last) = (first_of(at), last_of(at));
        let mut out = self.lines(first, last);
        let lines: BTreeMap<u32, &Line> =
            self.source.lines.range(first..=last).map(|(n, line)| (*n, line)).collect();
        out += &self.branches(&lines);
        let own = self.source.decisions.iter();
        let own = own.filter(|own| (first..=last).contains(&own.decision.region.start.0));
        out += &decisions::sections(self.source, &self.runs, self.report, own);
        out
    }

    fn lines(&self, first: u32, last: u32) -> String {
        let (runs, decisions) = (self.report.has_runs(), self.report.has_decisions());
        let mut out = String::from(
            "<div class=\"wide\" role=\"region\" aria-label=\"Source lines\" tabindex=\"0\">\
             <table class=\"source\">\n<caption>Source lines</caption>\n<colgroup><col \
             class=\"line\"><col class=\"known\"><col class=\"count\"><col class=\"part\">",
        );
        let mut heads = vec!["Line", "State", "Executions", "Branches"];
        if decisions {
            heads.push("Decisions");
            out.push_str("<col class=\"part\">");
        }
        if runs {
            heads.push("First run");
            out.push_str("<col class=\"run\">");
        }
        heads.push("Text");
        out.push_str("<col></colgroup>\n<thead><tr>");
        for head in heads {
            let _ = write!(out, "<th scope=\"col\">{head}</th>");
        }
        out.push_str("</tr></thead>\n<tbody>\n");
        let mut row = |number: u32, text: &str| {
            let line = self.source.lines.get(&number);
            let state = line
                .map(|line| State::of(line.count, &self.source.exempted, || Part::Line(number)));
            let class = state.map_or("", State::class);
            let _ = write!(
                out,
                "<tr id=\"L{number}\" class=\"{class}\"><th scope=\"row\">{number}</th><td>{}</td>\
                 <td class=\"number\">{}</td><td>{}</td>",
                state.map_or(String::new(), |own| own.html(["executed", "not executed"])),
                state.map_or(String::new(), State::count),
                line.map_or(String::new(), |line| self.outcomes(number, line))
            );
            if decisions {
                let _ = write!(out, "<td>{}</td>", self.decision_links(number));
            }
            if runs {
                let own = state.map(|_| runs_of::first_number(self.runs.get(&Part::Line(number))));
                let _ = write!(out, "<td class=\"number\">{}</td>", own.unwrap_or_default());
            }
            let _ = writeln!(out, "<td class=\"code\"><code>{}</code></td></tr>", code(text));
        };
        match &self.text {
            Ok(text) => {
                let own = text.iter().skip(first as usize - 1).take(LINES as usize);
                let end = (first..).zip(own).fold(first, |_, (number, text)| {
                    row(number, text);
                    number + 1
                });
                self.listed
                    .range(end.min(last)..=last)
                    .filter(|own| **own >= end)
                    .for_each(|number| row(*number, ""));
            }
            Err(_) => {
                self.listed.range(first..=last).for_each(|number| row(*number, ""));
            }
        }
        out.push_str("</tbody>\n</table></div>\n");
        out
    }

    /// How many outcomes of the branches of a line occurred, with a link to them.
    fn outcomes(&self, number: u32, line: &Line) -> String {
        if line.branches.is_empty() {
            return String::new();
        }
        let mut totals = Totals::default();
        for branch in &line.branches {
            for (count, taken) in branch.counts.into_iter().zip([true, false]) {
                let part = || Part::Branch { line: number, address: branch.address, taken };
                totals.all += 1;
                match State::of(count, &self.source.exempted, part) {
                    State::Covered(_) => totals.executed += 1,
                    State::Missed => {}
                    State::Unknown => totals.unknown += 1,
                    State::Exempted(_) => totals.exempted += 1,
                }
            }
        }
        let mut text = format!("{} of {}", totals.executed, totals.all);
        for (count, word) in [(totals.unknown, "unknown"), (totals.exempted, "exempted")] {
            if count > 0 {
                let _ = write!(text, ", {count} {word}");
            }
        }
        format!("<a href=\"#b{number}\">{text}</a>")
    }

    /// Links to the decisions that begin in a line.
    fn decision_links(&self, number: u32) -> String {
        let all = &self.source.decisions;
        let at = all.partition_point(|own| own.decision.region.start.0 < number);
        let own = all.iter().skip(at);
        let own: Vec<_> =
            own.take_while(|own| own.decision.region.start.0 == number).take(MAX_LINKS).collect();
        let link = |own: &&MeasuredDecision| {
            let [_, _, shown] = self.source.totals_of(own);
            let (id, unknown) = (decisions::id(own), shown.unknown);
            let unknown = if unknown > 0 { format!(", {unknown} unknown") } else { String::new() };
            format!("<a href=\"#{id}\">{} of {}{unknown}</a>", shown.executed, shown.all)
        };
        own.iter().map(link).collect::<Vec<_>>().join("<br>")
    }

    /// The branches of lines.
    fn branches(&self, lines: &BTreeMap<u32, &Line>) -> String {
        let all = lines.values().map(|line| line.branches.len()).sum::<usize>();
        if all == 0 {
            return String::new();
        }
        let runs = self.report.has_runs();
        let mut columns = vec![
            ("Line", Column::Number),
            ("Address", Column::Text),
            ("Taken", Column::Text),
            ("Times", Column::Number),
            ("Not taken", Column::Text),
            ("Times", Column::Number),
        ];
        if runs {
            columns.insert(4, ("First run", Column::Number));
            columns.push(("First run", Column::Number));
        }
        let mut table = Table::new("Conditional branches", &columns);
        let branches = lines.iter().flat_map(|(n, line)| line.branches.iter().map(|own| (*n, own)));
        let mut before = 0;
        for (line, branch) in branches.take(MAX_ROWS) {
            let mut cells = vec![
                format!("<a href=\"#L{line}\">{line}</a>"),
                format!("<code>{:#x}</code>", branch.address),
            ];
            for (count, taken) in branch.counts.into_iter().zip([true, false]) {
                let part = Part::Branch { line, address: branch.address, taken };
                let own = State::of(count, &self.source.exempted, || part.clone());
                cells.push(own.html(["occurred", "never"]));
                cells.push(own.count());
                if runs {
                    cells.push(runs_of::first(self.runs.get(&part)));
                }
            }
            let id = if line == before { String::new() } else { format!("b{line}") };
            before = line;
            table.row(&id, &cells);
        }
        let mut out = format!("<h2>Branches</h2>\n{}", table.end());
        if all > MAX_ROWS {
            let _ = writeln!(
                out,
                "<p class=\"note\">{} more branches: coverage.jsonl has all.</p>",
                all - MAX_ROWS
            );
        }
        out
    }
}

/// A line of the text as HTML, in which tabs stay.
fn code(text: &str) -> String {
    let shown = match text.char_indices().nth(MAX_LINE) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    };
    shown.split('\t').map(xml).collect::<Vec<_>>().join("\t")
}
