//! Tables, as Markdown.

/// Lays out rows below their headings, columns as wide as they must be.
pub(super) fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let width = |n: usize| {
        let cells = rows.iter().filter_map(|row| row.get(n)).map(|cell| cell.chars().count());
        cells.chain([head.get(n).map_or(0, |cell| cell.chars().count())]).max().unwrap_or(0)
    };
    let line = |cells: &mut dyn Iterator<Item = &str>| {
        let cells = cells.enumerate().map(|(n, cell)| match n {
            0 => format!(" {cell:<0$} ", width(n)),
            _ => format!(" {cell:>0$} ", width(n)),
        });
        format!("|{}|\n", cells.collect::<Vec<_>>().join("|"))
    };
    let mut text = line(&mut head.iter().copied());
    let rule = (0..head.len()).map(|n| match n {
        0 => "-".repeat(width(n) + 2),
        _ => format!("{}:", "-".repeat(width(n) + 1)),
    });
    text.push_str(&format!("|{}|\n", rule.collect::<Vec<_>>().join("|")));
    for row in rows {
        text.push_str(&line(&mut row.iter().map(String::as_str)));
    }
    text
}

/// Least, median and greatest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Spread {
    pub(super) least: f64,
    pub(super) median: f64,
    pub(super) greatest: f64,
}

impl Spread {
    /// `None` of nothing.
    pub(super) fn of(values: &[f64]) -> Option<Self> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (low, high) = ((sorted.len().checked_sub(1)?) / 2, sorted.len() / 2);
        Some(Spread {
            least: *sorted.first()?,
            median: (sorted[low] + sorted[high]) / 2.0,
            greatest: *sorted.last()?,
        })
    }

    /// `12.3 (11.9 to 12.5)`.
    pub(super) fn text(self) -> String {
        format!("{:.1} ({:.1} to {:.1})", self.median, self.least, self.greatest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_line_up() {
        let rows = [vec!["loop".into(), "1".into()], vec!["b".into(), "12345".into()]];
        let want = "| input |  ns/r |\n|-------|------:|\n| loop  |     1 |\n| b     | 12345 |\n";
        assert_eq!(table(&["input", "ns/r"], &rows), want);
    }

    #[test]
    fn spreads() {
        assert_eq!(Spread::of(&[]), None);
        let spread = Spread::of(&[3.0, 1.0, 2.0, 10.0]).unwrap();
        assert_eq!(spread, Spread { least: 1.0, median: 2.5, greatest: 10.0 });
        assert_eq!(spread.text(), "2.5 (1.0 to 10.0)");
    }
}
