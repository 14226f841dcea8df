//! Functions that the compiler did not optimise, by what it states in DWARF. What is only likely is
//! not taken: a function of which nothing is stated may be optimised.

use gimli::{AttributeValue, DebuggingInformationEntry, Reader};

/// The compiler of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Compiler {
    /// It states its options, and they are those without optimisation: GCC, or clang with
    /// `-grecord-command-line`.
    Stated,
    /// Clang, with DWARF 5: where it optimises, and nowhere else, each function has
    /// `DW_AT_call_all_calls`. (clang/lib/CodeGen/CGDebugInfo.cpp, `getCallSiteRelatedAttrs`)
    Marks,
    /// It may optimise.
    Unknown,
}

impl Compiler {
    /// The compiler with this `DW_AT_producer`, of a unit with this version of DWARF.
    fn of(producer: &str, version: u16) -> Compiler {
        let clang = clang_version(producer);
        if clang.is_none() && !producer.starts_with("GNU ") {
            return Compiler::Unknown;
        }
        let mut options = producer.split(' ').filter(|word| word.starts_with('-')).peekable();
        // Options of the parts behind the driver may optimise, too.
        let hidden =
            |word: &str| word.starts_with("-X") || word == "-mllvm" || word.contains("plugin");
        // -O0 is the default of both.
        let plain =
            |word: &str| !hidden(word) && word.strip_prefix("-O").is_none_or(|own| own == "0");
        if options.peek().is_some() {
            return if options.all(plain) { Compiler::Stated } else { Compiler::Unknown };
        }
        match clang {
            Some(9..) if version >= 5 => Compiler::Marks,
            _ => Compiler::Unknown,
        }
    }
}

/// The version of a clang for C and C++. Other front ends of LLVM name it, too.
fn clang_version(producer: &str) -> Option<u32> {
    let (before, after) = producer.split_once("clang version ")?;
    let vendor = before.chars().all(|c| c.is_ascii_alphabetic() || c == ' ');
    let number = after.split(|c: char| !c.is_ascii_digit()).next()?;
    number.parse().ok().filter(|_| vendor)
}

/// The first and the last address of the code of the functions of a unit that are known not to be
/// optimised, in order.
pub(crate) fn functions<R: Reader>(
    dwarf: &gimli::Dwarf<R>,
    unit: &gimli::Unit<R>,
) -> Vec<(u64, u64)> {
    let mut found = Vec::new();
    let mut entries = unit.entries();
    let Ok(Some(root)) = entries.next_dfs() else { return found };
    let producer = root.attr_value(gimli::DW_AT_producer);
    let producer = producer.and_then(|value| dwarf.attr_string(unit, value).ok());
    let producer = producer.as_ref().and_then(|text| text.to_string_lossy().ok());
    let compiler = Compiler::of(&producer.unwrap_or_default(), unit.encoding().version);
    if compiler == Compiler::Unknown {
        return found;
    }
    // The function that has the entries that follow: its depth, and the position of its code.
    let mut open: Option<(isize, usize)> = None;
    while let Ok(Some(entry)) = entries.next_dfs() {
        if open.is_some_and(|(depth, _)| entry.depth() <= depth) {
            open = None;
        }
        if entry.tag() == gimli::DW_TAG_subprogram {
            open = Some((entry.depth(), found.len()));
            if !is_marked(entry, compiler)
                && let Ok(mut ranges) = dwarf.die_ranges(unit, entry)
            {
                while let Ok(Some(range)) = ranges.next() {
                    if let Some(last) = range.end.checked_sub(1).filter(|last| range.begin <= *last)
                    {
                        found.push((range.begin, last));
                    }
                }
            }
        } else if let Some((_, first)) = open
            && shows_optimisation(entry, compiler)
        {
            found.truncate(first);
        }
    }
    found.sort_unstable();
    found
}

/// Whether a function is marked as optimised, or may be compiled with the options of another unit:
/// one that is also inlined elsewhere.
fn is_marked<R: Reader>(function: &DebuggingInformationEntry<R>, compiler: Compiler) -> bool {
    let marks = [
        gimli::DW_AT_call_all_calls,
        gimli::DW_AT_GNU_all_call_sites,
        gimli::DW_AT_APPLE_optimized,
        gimli::DW_AT_abstract_origin,
    ];
    // GCC marks functions without calls at each level.
    compiler == Compiler::Marks && marks.iter().any(|name| function.has_attr(*name))
}

/// Whether an entry of a function is one of optimised code.
fn shows_optimisation<R: Reader>(entry: &DebuggingInformationEntry<R>, compiler: Compiler) -> bool {
    match entry.tag() {
        // Attributes of a function may optimise it alone.
        gimli::DW_TAG_call_site | gimli::DW_TAG_GNU_call_site => true,
        // Code of another unit, which may be optimised.
        gimli::DW_TAG_inlined_subroutine if compiler == Compiler::Marks => !matches!(
            entry.attr_value(gimli::DW_AT_abstract_origin),
            Some(AttributeValue::UnitRef(_))
        ),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::{env, fs, process};

    use tracewright_image::Bytes;
    use tracewright_testing::tool;

    use super::Compiler::{Marks, Stated, Unknown};
    use super::*;
    use crate::{Functions, Lines};

    #[test]
    fn compilers_state_whether_they_optimise() {
        let clang = "Debian clang version 22.1.8 (1~deb12u1)";
        for (producer, version, want) in [
            ("GNU C17 12.2.0 -mlittle-endian -mabi=lp64 -g", 4, Stated),
            ("GNU C17 12.2.0 -mabi=lp64 -g -O0", 5, Stated),
            ("GNU C17 12.2.0 -mabi=lp64 -g -Og", 5, Unknown),
            ("GNU C17 12.2.0 -mabi=lp64 -g -O", 5, Unknown),
            ("GNU C17 12.2.0", 5, Unknown),
            (clang, 5, Marks),
            (clang, 4, Unknown),
            ("Apple clang version 15.0.0 (clang-1500.3.9.4)", 5, Marks),
            ("clang version 8.0.1", 5, Unknown),
            (&format!("{clang} /usr/bin/clang-22 -g -gdwarf-4 -grecord-command-line"), 4, Stated),
            (&format!("{clang} /usr/bin/clang-22 -g -O1 -O0 -c a.c"), 5, Unknown),
            (&format!("{clang} /usr/bin/clang-22 -g -Xclang -O2 -c a.c"), 5, Unknown),
            ("clang LLVM (rustc version 1.88.0)", 5, Unknown),
            ("Intel(R) oneAPI DPC++/C++ clang version 19.0.0", 5, Unknown),
            ("", 5, Unknown),
        ] {
            assert_eq!(Compiler::of(producer, version), want, "{producer}");
        }
    }

    const SOURCE: &str = "\
__attribute__((noinline)) int call(int n) { static volatile int last; return last = n; }
static inline __attribute__((always_inline)) int inlined(int a) { return a ? call(1) : 2; }
int leaf(int a, int b) { if (a && b) return 1; return 2; }
int calls(int a, int b) { if (a && b) return call(1) + 1; return inlined(b); }
#ifdef OPTIMISED
__attribute__((optimize(\"O2\")))
#endif
int last(int a, int b) { if (a || b) return call(2) + 1; return 2; }
";

    /// The names of the functions of [`SOURCE`] that are known not to be optimised.
    fn found(compiler: &str, options: &str) -> Option<String> {
        let compiler = tool(&[(compiler, compiler)])?;
        let name = options.replace(|c: char| !c.is_ascii_alphanumeric(), "");
        let path = env::temp_dir().join(format!("tracewright-{compiler}{name}{}", process::id()));
        fs::create_dir_all(&path).expect("a folder");
        fs::write(path.join("a.c"), SOURCE).expect("a source");
        let options =
            options.split(' ').chain(["-nostdlib", "-static", "-no-pie", "-Wl,-e,leaf", "a.c"]);
        let made = Command::new(compiler).args(options).current_dir(&path).status();
        assert!(made.expect("it runs").success());
        let file = Bytes::from(fs::read(path.join("a.out")).expect("a program"));
        fs::remove_dir_all(&path).expect("a folder");
        let (lines, functions) = (Lines::of_elf(&file).expect("lines"), Functions::of_elf(&file));
        let mut names: Vec<_> = ["leaf", "calls", "last"].into();
        names.retain(|name| {
            let function = functions.iter().find(|own| own.name == *name).expect("a function");
            lines.is_unoptimised(function.start)
        });
        Some(names.join(" "))
    }

    #[test]
    fn functions_are_unoptimised() {
        for (compiler, options, want) in [
            ("gcc", "-g", "leaf calls last"),
            ("gcc", "-g -O0", "leaf calls last"),
            ("gcc", "-g -O0 -DOPTIMISED", "leaf calls"),
            ("gcc", "-g -O1", ""),
            ("gcc", "-g -Og", ""),
            ("clang-19", "-g", "leaf calls last"),
            ("clang-19", "-g -Og", ""),
            ("clang-19", "-g -O2", ""),
            ("clang-19", "-gdwarf-4", ""),
            ("clang-19", "-gdwarf-4 -grecord-command-line", "leaf calls last"),
            ("clang-19", "-gdwarf-4 -grecord-command-line -O1", ""),
            ("clang-19", "-gline-tables-only", "calls"),
            ("clang-19", "-gline-tables-only -O1", ""),
        ] {
            let Some(found) = found(compiler, options) else { continue };
            assert_eq!(found, want, "{compiler} {options}");
        }
    }
}
