//! Totals by criterion.

use tracewright_analysis::coverage::Totals;

use super::report::{CoverageReport, missed};
use super::table::{Column, Table};

/// The covered part of all, in percent, rounded down; a dash of nothing.
fn percent(totals: Totals) -> String {
    match totals.all {
        0 => "–".to_owned(),
        all => {
            let tenths = u128::from(totals.executed) * 1000 / u128::from(all);
            format!("{}.{} %", tenths / 10, tenths % 10)
        }
    }
}

/// A row for each kind that is shown.
pub(super) fn totals_table(
    report: &CoverageReport<'_>,
    caption: &str,
    totals: [Totals; 6],
) -> String {
    use Column::{Number, Text};
    let columns = [
        ("Criterion", Text),
        ("Covered", Number),
        ("Not covered", Number),
        ("Unknown", Number),
        ("Exempted", Number),
        ("Of", Number),
        ("Covered of all", Number),
    ];
    let mut table = Table::new(caption, &columns);
    for (name, own) in report.kinds().iter().zip(totals) {
        let numbers = [own.executed, missed(own), own.unknown, own.exempted, own.all];
        let mut cells = vec![(*name).to_owned()];
        cells.extend(numbers.iter().map(u64::to_string));
        cells.push(percent(own));
        table.row("", &cells);
    }
    table.end()
}
