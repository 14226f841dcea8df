//! Tables, and lists of rows over several pages.

use std::fmt::Write;

use super::page::{self, Frame};
use crate::text::xml;

/// The most rows of a table.
pub(super) const MAX_ROWS: usize = 2000;

/// The content of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Column {
    /// Text, at the left.
    Text,
    /// Numbers, at the right.
    Number,
}

/// A table, which a keyboard can scroll to the side. The first cell of each row heads it.
pub(super) struct Table {
    out: String,
    columns: Vec<Column>,
}

impl Table {
    /// A table with a caption and these columns. Neither is escaped.
    pub(super) fn new(caption: &str, columns: &[(&str, Column)]) -> Table {
        let mut out = format!(
            "<div class=\"wide\" role=\"region\" aria-label=\"{caption}\" tabindex=\"0\"><table>\n\
             <caption>{caption}</caption>\n<thead><tr>"
        );
        for (name, column) in columns {
            let class = class(*column);
            let _ = write!(out, "<th scope=\"col\"{class}>{name}</th>");
        }
        out.push_str("</tr></thead>\n<tbody>\n");
        Table { out, columns: columns.iter().map(|own| own.1).collect() }
    }

    /// A row whose cells are HTML.
    pub(super) fn row(&mut self, id: &str, cells: &[String]) {
        let id = if id.is_empty() { String::new() } else { format!(" id=\"{id}\"") };
        let _ = write!(self.out, "<tr{id}>");
        for (n, (cell, column)) in cells.iter().zip(&self.columns).enumerate() {
            let class = class(*column);
            let _ = match n {
                0 => write!(self.out, "<th scope=\"row\"{class}>{cell}</th>"),
                _ => write!(self.out, "<td{class}>{cell}</td>"),
            };
        }
        self.out.push_str("</tr>\n");
    }

    /// The table as HTML.
    pub(super) fn end(mut self) -> String {
        self.out.push_str("</tbody>\n</table></div>\n");
        self.out
    }
}

fn class(column: Column) -> &'static str {
    match column {
        Column::Text => "",
        Column::Number => " class=\"number\"",
    }
}

/// A list of rows, with [`MAX_ROWS`] on each page.
pub(super) struct List<'a> {
    /// The name of the first file without its extension.
    pub(super) stem: &'a str,
    /// The title of the pages.
    pub(super) title: &'a str,
    /// What stands above the table of the first page, HTML.
    pub(super) before: String,
    /// The caption of the table.
    pub(super) caption: &'a str,
    /// The columns of the table.
    pub(super) columns: &'a [(&'a str, Column)],
    /// What stands in place of a table without rows, as text.
    pub(super) empty: &'a str,
}

impl List<'_> {
    /// The pages. `row` has the identifier and the cells of a row.
    pub(super) fn pages<T>(
        &self,
        frame: &Frame,
        rows: &[T],
        row: impl Fn(&T) -> (String, Vec<String>),
    ) -> Vec<(String, String)> {
        let first = page::file(self.stem, 0);
        if rows.is_empty() {
            let body = format!("{}<p>{}</p>\n", self.before, xml(self.empty));
            return vec![(first.clone(), frame.page(self.title, &first, &body))];
        }
        let all = rows.len().div_ceil(MAX_ROWS);
        let page = |(n, part): (usize, &[T])| {
            let links = page::parts(self.stem, n, all);
            let mut body = if n == 0 { self.before.clone() } else { String::new() };
            body += &links;
            let mut table = Table::new(self.caption, self.columns);
            for own in part {
                let (id, cells) = row(own);
                table.row(&id, &cells);
            }
            body += &table.end();
            body += &page::below(&links);
            let title = match all {
                1 => self.title.to_owned(),
                _ => format!("{}, page {} of {all}", self.title, n + 1),
            };
            (page::file(self.stem, n), frame.page(&title, &first, &body))
        };
        rows.chunks(MAX_ROWS).enumerate().map(page).collect()
    }
}

/// The file with row `n` of a list, from 0.
pub(super) fn file_of_row(stem: &str, n: usize) -> String {
    page::file(stem, n / MAX_ROWS)
}
