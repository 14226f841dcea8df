//! Tables for people: the functions and source lines with the most instructions, and the branches
//! that were taken most often.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;

use tracewright_analysis::{ModuleProfile, Profile, Target};
use tracewright_symbols::{Lines, demangled};

use crate::functions::{functions, total};
use crate::text::line;

/// The tables. Each has at most `limit` rows.
pub fn tables(profile: &Profile, limit: usize) -> String {
    let mut out = String::new();
    let files = profile.modules.len();
    let _ = writeln!(
        out,
        "{} instructions in {files} file{}",
        profile.instructions,
        if files == 1 { "" } else { "s" }
    );
    if profile.outside > 0 {
        let _ = writeln!(out, "{} ranges of code that is in no file", profile.outside);
    }
    let modules: Vec<Module<'_>> = profile.modules.values().map(Module::new).collect();
    let shares = Shares { all: profile.instructions, limit };
    let mut rows = Vec::new();
    for module in &modules {
        for (name, addresses) in &module.functions {
            let name = if name.is_empty() { "[unknown]".into() } else { demangled(name) };
            rows.push((total(addresses), format!("{} ({})", line(&name), module.name())));
        }
    }
    shares.table(&mut out, "instructions", "function", rows);
    let mut rows = Vec::new();
    for module in &modules {
        for (place, count) in module.by_line() {
            rows.push((count, format!("{} ({})", line(&place), module.name())));
        }
    }
    shares.table(&mut out, "instructions", "source line", rows);
    let mut rows = Vec::new();
    for module in &modules {
        for (branch, count) in &module.profile.branches {
            let to = match branch.to {
                Target::Here(to) => module.place(to),
                Target::Outside(to) => format!("{to:#x} (other file)"),
                Target::Unknown => "unknown".into(),
            };
            let from = module.place(branch.from);
            rows.push((count.count, format!("{from} -> {to} ({})", module.name())));
        }
    }
    let taken = rows.iter().fold(0, |sum: u64, row| sum.saturating_add(row.0));
    Shares { all: taken, limit }.table(&mut out, "taken", "branch", rows);
    out
}

/// How counts are shown.
struct Shares {
    /// The sum that a count is a share of.
    all: u64,
    limit: usize,
}

impl Shares {
    /// A table of counts, the largest first. Without rows there is no table.
    fn table(&self, out: &mut String, count: &str, what: &str, mut rows: Vec<(u64, String)>) {
        if rows.is_empty() {
            return;
        }
        rows.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        let _ = writeln!(out, "\n{count:>14}       %  {what}");
        for (count, what) in rows.iter().take(self.limit) {
            let share = *count as f64 * 100.0 / self.all.max(1) as f64;
            let _ = writeln!(out, "{count:>14}  {share:>6.2}  {what}");
        }
        if rows.len() > self.limit {
            let _ = writeln!(out, "{:>14}          {} more", "", rows.len() - self.limit);
        }
    }
}

/// A file with its functions and source lines.
struct Module<'a> {
    profile: &'a ModuleProfile,
    /// Instructions by function and address.
    functions: BTreeMap<String, BTreeMap<u64, u64>>,
    lines: Option<Lines>,
}

impl Module<'_> {
    fn new(profile: &ModuleProfile) -> Module<'_> {
        let lines = profile.file.debug_info().and_then(Lines::of_elf);
        Module { profile, functions: functions(profile), lines }
    }

    /// The name of the file, without its folder.
    fn name(&self) -> String {
        let path = &self.profile.file.path;
        line(path.rsplit('/').next().unwrap_or(path)).into_owned()
    }

    /// The source line of an address.
    fn line_of(&self, address: u64) -> Option<String> {
        let lines = self.lines.as_ref()?;
        let at = lines.at(address).filter(|at| at.line > 0)?;
        let file = lines.file(at.file)?;
        Some(format!("{}:{}", file.rsplit(['/', '\\']).next().unwrap_or(file), at.line))
    }

    /// Instructions by source line.
    fn by_line(&self) -> HashMap<String, u64> {
        let mut all: HashMap<String, u64> = HashMap::new();
        for (address, count) in self.functions.values().flatten() {
            if let Some(place) = self.line_of(*address) {
                let sum = all.entry(place).or_default();
                *sum = sum.saturating_add(*count);
            }
        }
        all
    }

    /// An address with its function and source line.
    fn place(&self, address: u64) -> String {
        let mut out = format!("{address:#x}");
        if let Some(symbol) = self.profile.file.symbols.at(address) {
            let name = demangled(symbol.name);
            let _ = write!(out, " {}+{:#x}", line(&name), address.wrapping_sub(symbol.start));
        }
        if let Some(place) = self.line_of(address) {
            let _ = write!(out, " {}", line(&place));
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tracewright_analysis::{Branch, BranchCount, RangeCount};
    use tracewright_image::{ModuleFile, Symbol, Symbols};

    use super::*;

    #[test]
    fn the_largest_counts_are_first() {
        let symbols = [("cold", 0x100, 0x10), ("hot", 0x110, 0x10)];
        let symbols = symbols.map(|(name, start, size)| Symbol { name, start, size });
        let file = ModuleFile {
            path: "/bin/prog".into(),
            symbols: Arc::new(Symbols::new(symbols)),
            ..ModuleFile::default()
        };
        let count = |taken, not_taken| RangeCount { taken, not_taken, instructions: 4 };
        let ranges = [((0x100, 0x10c), count(1, 0)), ((0x110, 0x11c), count(20, 5))];
        let branch = |from, to, count| {
            (Branch { from, to }, BranchCount { count, indirect: false, followed: true })
        };
        let branches = [
            branch(0x10c, Target::Here(0x110), 1),
            branch(0x11c, Target::Here(0x110), 19),
            branch(0x11c, Target::Unknown, 1),
        ];
        let module = ModuleProfile {
            file,
            ranges: ranges.into(),
            branches: branches.into(),
            ..ModuleProfile::default()
        };
        let modules = BTreeMap::from([(("/bin/prog".to_owned(), None), module)]);
        let profile = Profile { modules, instructions: 104, ..Profile::default() };
        let want = "104 instructions in 1 file

  instructions       %  function
           100   96.15  hot (prog)
             4    3.85  cold (prog)

         taken       %  branch
            19   90.48  0x11c hot+0xc -> 0x110 hot+0x0 (prog)
             1    4.76  0x10c cold+0xc -> 0x110 hot+0x0 (prog)
                        1 more
";
        assert_eq!(tables(&profile, 2), want);
    }
}
