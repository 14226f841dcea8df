//! The text of LLVM's sample profile, which `clang -fprofile-sample-use` and
//! `llvm-profdata merge --sample` read. (llvm/include/llvm/ProfileData/SampleProfReader.h and
//! llvm/tools/llvm-profgen/ProfileGenerator.cpp of LLVM)
//!
//! | line | meaning |
//! |---|---|
//! | `name:total:entries` | a function: the executed bytes, and how often it was entered |
//! | ` line: count callee:count` | a line of it, as the distance from its declaration, and its calls |
//! | ` line.discriminator: count` | a block of the line |
//! | ` line: callee:total` | a call that was inlined, before the lines of the callee |
//!
//! A line's indentation is the number of inlined calls around it plus one. The count of a line is
//! the largest of its instructions. Lines of an executed function that were not executed have
//! count 0. The totals are in bytes, as llvm-profgen counts them.

use std::collections::BTreeMap;
use std::fmt::Write;

use tracewright_analysis::{ModuleProfile, Profile, Target};
use tracewright_image::{DebugInfo, Frame};

use crate::text::field;

/// The distance of a line from the declaration, modulo 65536, and the discriminator.
type Line = (u32, u32);

/// The samples of a function, or of an inlined call.
#[derive(Debug, Default)]
struct Samples {
    total: u64,
    entries: u64,
    lines: BTreeMap<Line, LineSamples>,
    inlined: BTreeMap<Line, BTreeMap<String, Samples>>,
}

/// The samples of a line.
#[derive(Debug, Default)]
struct LineSamples {
    count: u64,
    calls: BTreeMap<String, u64>,
}

/// The profile of all files.
///
/// # Errors
/// What a file lacks.
pub(crate) fn write(profile: &Profile) -> Result<String, String> {
    let mut functions = BTreeMap::new();
    for module in profile.modules.values() {
        let fail = |why: String| format!("{}: {why}", module.file.path);
        let content = module.file.debug_info();
        let content = content.ok_or_else(|| fail("the file was not found".into()))?;
        let info = DebugInfo::read(content).map_err(|why| fail(why.into()))?;
        add_module(module, &info, &mut functions);
    }
    let mut order: Vec<(&String, &Samples)> = functions.iter().collect();
    order.sort_by(|a, b| b.1.total.cmp(&a.1.total).then_with(|| a.0.cmp(b.0)));
    let mut out = String::new();
    for (name, samples) in order {
        let _ = writeln!(out, "{}:{}:{}", written(name), samples.total, samples.entries);
        write_lines(samples, 1, &mut out);
    }
    Ok(out)
}

/// A name without the separators. A `[` at its beginning would be a calling context. A colon of a
/// name is one where no number follows it: methods of Objective-C have some.
fn written(name: &str) -> String {
    let mut name = field(name, &[' ']).into_owned();
    if name.starts_with('[') {
        name.replace_range(..1, "_");
    }
    let colons = name.match_indices(':').map(|(at, _)| at);
    let is_number = |at: &usize| name.as_bytes().get(at + 1).is_none_or(u8::is_ascii_digit);
    let separators: Vec<usize> = colons.filter(is_number).collect();
    for at in separators {
        name.replace_range(at..=at, "_");
    }
    name
}

fn write_lines(samples: &Samples, indent: usize, out: &mut String) {
    let line = |(line, discriminator): &Line| match discriminator {
        0 => format!("{:indent$}{line}: ", ""),
        _ => format!("{:indent$}{line}.{discriminator}: ", ""),
    };
    for (at, found) in &samples.lines {
        let _ = write!(out, "{}{}", line(at), found.count);
        let mut calls: Vec<_> = found.calls.iter().collect();
        calls.sort_by(|a, b| b.1.cmp(a.1).then_with(|| a.0.cmp(b.0)));
        for (callee, count) in calls {
            let _ = write!(out, " {}:{count}", written(callee));
        }
        out.push('\n');
    }
    for (at, callees) in &samples.inlined {
        for (callee, inner) in callees {
            let _ = writeln!(out, "{}{}:{}", line(at), written(callee), inner.total);
            write_lines(inner, indent + 1, out);
        }
    }
}

/// A piece of code, and how often it was executed.
struct Piece {
    start: u64,
    end: u64,
    count: u64,
}

/// The pieces between the ends of all ranges. Pieces of functions that were entered are included
/// where they were not executed.
fn pieces(module: &ModuleProfile, info: &DebugInfo) -> Vec<Piece> {
    // By address: what is added to the count, and to the number of ranges.
    let mut steps: BTreeMap<u64, (i128, i64)> = BTreeMap::new();
    let mut add = |start: u64, end: u64, count: u64| {
        for (at, count, ranges) in [(start, i128::from(count), 1), (end, -i128::from(count), -1)] {
            let step = steps.entry(at).or_default();
            *step = (step.0 + count, step.1 + ranges);
        }
    };
    let mut functions = BTreeMap::new();
    for (trace, count) in &module.traces {
        // A sequence that ends before its start has no range: its addresses wrapped.
        if trace.start <= trace.last {
            add(trace.start, trace.last.saturating_add(info.smallest), *count);
        }
        if let Some(function) = info.function(trace.start) {
            functions.insert(function.ranges.as_ptr() as usize, function.ranges);
        }
    }
    for (start, end) in functions.into_values().flatten() {
        add(*start, *end, 0);
    }
    let (mut pieces, mut count, mut ranges) = (Vec::new(), 0i128, 0i64);
    let mut before = None;
    for (at, (more, opened)) in steps {
        if let Some(start) = before.filter(|_| ranges > 0) {
            let count = u64::try_from(count).unwrap_or(u64::MAX);
            pieces.push(Piece { start, end: at, count });
        }
        count += more;
        ranges += opened;
        before = Some(at);
    }
    pieces
}

fn add_module(module: &ModuleProfile, info: &DebugInfo, functions: &mut BTreeMap<String, Samples>) {
    for Piece { start, end, count } in pieces(module, info) {
        let mut at = start;
        while at < end {
            let located = info.locate(at);
            let to = located.end.min(end);
            if let Some(leaf) = located.frames.last() {
                let bytes = count.saturating_mul(to - at);
                let samples = samples_of(functions, &located.frames, bytes);
                let line = samples.lines.entry(line(leaf)).or_default();
                line.count = line.count.max(count.saturating_mul(copies(leaf.discriminator)));
            }
            at = to;
        }
    }
    let mut calls: BTreeMap<(Option<u64>, u64), u64> = BTreeMap::new();
    let mut add = |from, to, count| {
        let sum = calls.entry((from, to)).or_default();
        *sum = sum.saturating_add(count);
    };
    for (branch, count) in &module.branches {
        if let Target::Here(to) = branch.to {
            add(Some(branch.from), to, count.count);
        }
    }
    // Entries from other files.
    for (trace, count) in &module.traces {
        if let Target::Outside(_) = trace.from {
            add(None, trace.start, *count);
        }
    }
    for ((from, to), count) in calls {
        let Some(callee) = entered(module, info, to) else { continue };
        if let Some(from) = from {
            let located = info.locate(from);
            if let Some(leaf) = located.frames.last() {
                let samples = samples_of(functions, &located.frames, 0);
                let calls = &mut samples.lines.entry(line(leaf)).or_default().calls;
                let sum = calls.entry(callee.clone()).or_default();
                *sum = sum.saturating_add(count);
            }
        }
        let samples = functions.entry(callee).or_default();
        samples.entries = samples.entries.saturating_add(count);
    }
}

/// The function whose entry is at `address`: a function in several parts has its symbol there.
fn entered(module: &ModuleProfile, info: &DebugInfo, address: u64) -> Option<String> {
    let function = info.function(address)?;
    if !function.ranges.iter().any(|(start, _)| *start == address) {
        return None;
    }
    let symbol = module.file.symbols.at(address);
    let named = symbol.is_some_and(|s| s.name == function.name && s.start == address);
    (function.ranges.len() == 1 || named).then(|| canonical(function.name).to_owned())
}

/// The samples of the innermost of `frames`. `bytes` are added to the totals of all.
fn samples_of<'s>(
    functions: &'s mut BTreeMap<String, Samples>,
    frames: &[Frame<'_>],
    bytes: u64,
) -> &'s mut Samples {
    let (leaf, callers) = match frames {
        [callers @ .., leaf] => (canonical(leaf.function), callers),
        [] => ("", frames),
    };
    let mut place = functions;
    for caller in callers {
        let samples = place.entry(canonical(caller.function).to_owned()).or_default();
        samples.total = samples.total.saturating_add(bytes);
        place = samples.inlined.entry(line(caller)).or_default();
    }
    let samples = place.entry(leaf.to_owned()).or_default();
    samples.total = samples.total.saturating_add(bytes);
    samples
}

/// The line of a frame in a profile.
fn line(frame: &Frame<'_>) -> Line {
    (frame.line.wrapping_sub(frame.declared) & 0xffff, base(frame.discriminator))
}

/// The name of a function without the suffixes of its compiled copies.
fn canonical(name: &str) -> &str {
    let mut name = name;
    for suffix in [".llvm.", ".part."] {
        if let Some((before, after)) = name.rsplit_once(suffix)
            && !after.contains('.')
        {
            name = before;
        }
    }
    name
}

/// A component of a discriminator: 0 or 5 bits, or 12 bits in two parts.
/// (llvm/include/llvm/IR/DebugInfoMetadata.h, "getUnsignedFromPrefixEncoding")
const fn component(discriminator: u32) -> u32 {
    if discriminator & 1 != 0 {
        return 0;
    }
    let bits = discriminator >> 1;
    if bits & 0x20 != 0 { bits >> 1 & 0xfe0 | bits & 0x1f } else { bits & 0x1f }
}

/// The discriminator of the block in its line.
const fn base(discriminator: u32) -> u32 {
    component(discriminator)
}

/// The number of copies of the code that a loop was unrolled to: the second component.
const fn copies(discriminator: u32) -> u64 {
    let width = match (discriminator & 1 != 0, discriminator & 0x40 != 0) {
        (true, _) => 1,
        (false, true) => 14,
        (false, false) => 7,
    };
    let copies = component(discriminator >> width);
    if copies == 0 { 1 } else { copies as u64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows by the encoding: base 1 is 1 << 1; base 0 is bit 0; 3 copies behind base 1 are
    /// 3 << 1 << 7; a base above 31 has 13 bits with bit 6 set.
    #[test]
    fn discriminators_have_components() {
        for (discriminator, want) in [
            (0, (0, 1)),
            (2, (1, 1)),
            (4, (2, 1)),
            (1, (0, 1)),
            (2 | 3 << 1 << 7, (1, 3)),
            (1 | 3 << 1 << 1, (0, 3)),
            // 33: 1 in the low five bits, bit 5 set, and 1 from bit 6 on.
            (0b110_0001 << 1, (33, 1)),
        ] {
            assert_eq!((base(discriminator), copies(discriminator)), want, "{discriminator:#x}");
        }
    }

    #[test]
    fn names_have_no_separators() {
        for (name, want) in [
            ("_ZN1a1bE", "_ZN1a1bE"),
            ("-[A b:c]", "-[A_b:c]"),
            ("a:1:2\n b:3", "a_1_2\u{fffd}_b_3"),
            ("[main:3 @ f]:", "_main_3_@_f]_"),
        ] {
            assert_eq!(written(name), want);
        }
    }

    #[test]
    fn names_of_copies_are_those_of_the_function() {
        for (name, want) in [
            ("f", "f"),
            ("f.llvm.123", "f"),
            ("f.part.0", "f"),
            ("f.part.0.llvm.123", "f"),
            ("f.llvm.1.cold", "f.llvm.1.cold"),
        ] {
            assert_eq!(canonical(name), want);
        }
    }
}
