//! What came of all runs, a row a configuration.

use std::fmt;

/// All rows, in the order in which they were begun.
#[derive(Default)]
pub(super) struct Table {
    rows: Vec<Row>,
    /// Programs that ran for too short a time.
    pub(super) short: u64,
}

/// One configuration of one instruction set, over all programs.
#[derive(Default)]
pub(super) struct Row {
    target: &'static str,
    config: &'static str,
    pub(super) programs: u64,
    pub(super) instructions: u64,
    /// Bytes of trace, in their framing.
    pub(super) bytes: u64,
    /// Programs whose snapshot OpenCSD lists as we do.
    pub(super) listed: u64,
    /// The elements of those.
    pub(super) elements: u64,
    /// How many of them differ for a reason that is known.
    pub(super) explained: u64,
    pub(super) wrong: u64,
}

impl Table {
    /// The row of a configuration.
    pub(super) fn row(&mut self, target: &'static str, config: &'static str) -> &mut Row {
        let at = self.rows.iter().position(|r| (r.target, r.config) == (target, config));
        let at = at.unwrap_or(self.rows.len());
        if at == self.rows.len() {
            self.rows.push(Row { target, config, ..Row::default() });
        }
        &mut self.rows[at]
    }

    /// How many runs were not as they must be.
    pub(super) fn wrong(&self) -> u64 {
        self.short + self.rows.iter().map(|row| row.wrong).sum::<u64>()
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "\n| set | configuration | programs | instructions | bytes of trace | bits an instruction | listed by \
             OpenCSD | elements | explained | wrong |\n|---|---|---|---|---|---|---|---|---|---|"
        )?;
        for row in &self.rows {
            let Row { target, config, programs, instructions, bytes, .. } = row;
            let bits = 8.0 * *bytes as f64 / *instructions as f64;
            let Row { listed, elements, explained, wrong, .. } = row;
            writeln!(
                f,
                "| {target} | {config} | {programs} | {instructions} | {bytes} | {bits:.3} | {listed} | \
                 {elements} | {explained} | {wrong} |"
            )?;
        }
        Ok(())
    }
}
