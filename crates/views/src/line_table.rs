//! Source lines by address in memory.

use tracewright_analysis::coverage::program_files;
use tracewright_capture::Capture;
use tracewright_symbols::Lines;

/// The source lines of the program files of a capture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineTable {
    files: Vec<String>,
    /// First address, last address, number of the file, line; in order. A file's code does not
    /// overlap that of an earlier one.
    rows: Vec<(u64, u64, u32, u32)>,
}

impl LineTable {
    /// The lines of the ELF files of `capture`, from their DWARF.
    pub fn of_capture(capture: &Capture) -> LineTable {
        let mut table = LineTable::default();
        for program in program_files(capture) {
            let Some(lines) = Lines::of_elf(&program.bytes) else { continue };
            let first = table.files.len() as u32;
            let files = (0..lines.files()).map(|n| u32::try_from(n).ok());
            let names = files.map(|n| n.and_then(|n| lines.file(n)).unwrap_or_default());
            table.files.extend(names.map(|path| short(path).to_owned()));
            let rows = lines.rows().iter().filter(|row| row.location.line > 0);
            table.rows.extend(rows.map(|row| {
                let (start, last) =
                    (row.start.wrapping_add(program.bias), row.last.wrapping_add(program.bias));
                (start, last, first.saturating_add(row.location.file), row.location.line)
            }));
        }
        table.rows.sort_unstable();
        table
    }

    /// Whether there are no lines.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The file and the line with code at `address`.
    pub fn at(&self, address: u64) -> Option<(&str, u32)> {
        let next = self.rows.partition_point(|row| row.0 <= address);
        let &(_, last, file, line) = self.rows.get(next.checked_sub(1)?)?;
        let file = self.files.get(file as usize)?;
        (address <= last).then_some((file.as_str(), line))
    }
}

/// The file name of a path.
fn short(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}
