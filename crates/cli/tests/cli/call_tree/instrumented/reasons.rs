//! Why lines and decisions of a trace are not those of the instrumented programs.

/// How a line differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum What {
    /// gcov counts it, and the trace has no such line.
    NotListed,
    /// The trace has it, and gcov does not count it.
    NotCounted,
    /// It was executed for one of them only.
    Executed,
    /// It has other executions, without optimisation.
    Count,
}

/// Lines that differ, and why.
struct Reason {
    what: What,
    /// The file; empty: all of them.
    file: &'static str,
    /// The begin of the names of the builds.
    build: &'static str,
    /// The begin of the line.
    text: &'static str,
    why: &'static str,
}

macro_rules! reasons {
    ($($what:ident $file:literal $build:literal $text:literal: $why:literal),* $(,)?) => {
        &[$(Reason { what: What::$what, file: $file, build: $build, text: $text, why: $why }),*]
    };
}

const REASONS: &[Reason] = reasons![
    NotListed "switches.c" "" "case ": "a label has no code",
    NotListed "switches.c" "" "default:": "a label has no code",
    NotListed "interrupted.c" "" "static void prepare(void) { signal": "it is for a C library",
    NotListed "interrupted.c" "" "static void interrupt(void) { raise": "it is for a C library",
    NotListed "macros.c" "clang-O0" "if (": "clang has the place of the first operand only",
    NotCounted "" "" "}": "GCC has no block of its own for the end of a block",
    NotCounted "interrupted.c" "" "static void prepare(void) {": "it is for no C library",
    NotCounted "interrupted.c" "" "action[": "it is for no C library",
    NotCounted "interrupted.c" "" "system_call(ACTION": "it is for no C library",
    NotCounted "interrupted.c" "" "static void interrupt(void) { system_call": "it is for no C library",
    NotCounted "classes.cpp" "" "struct ": "a constructor that gcov leaves out, as the compiler has made it",
    NotCounted "loops.c" "clang" "do {": "clang has a jump to the body of the loop",
    NotCounted "loops.c" "clang" "for (;;) {": "clang has a jump to the body of the loop",
    NotCounted "loops.c" "clang" "break;": "clang has a jump behind the loop",
    NotCounted "text.c" "clang" "do {": "clang has a jump to the body of the loop",
    NotCounted "macros.c" "clang" "while (1)": "clang has a jump to the body of the loop",
    NotCounted "macros.c" "clang" "a": "GCC has the place of the operator only",
    NotCounted "macros.c" "clang" "b": "GCC has the place of the operator only",
    Count "inlined.c" "" "if (usable(": "gcov counts each return from a function that is inlined",
    Count "classes.cpp" "" "auto fits": "gcov does not add the line of the function and that of its body",
    Count "loops.c" "" "NOINLINE static int endless": "gcov counts each turn of the loop",
    Count "sorted.c" "" "NOINLINE static void sink_down": "gcov counts each turn of the loop",
    Count "sorted.c" "clang" "for (;;) {": "clang has a jump to the body of the loop",
    Count "loops.c" "clang" "found++;": "clang has the jump at the end of the `if` here",
    Count "exceptions.cpp" "clang" "} catch": "clang compares the type of the exception here, and catches it",
    Count "macros.c" "" "if (call(a) &&": "a decision in several lines enters them several times",
    Count "macros.c" "" "(call(b) ||": "a decision in several lines enters them several times",
    Count "macros.c" "clang" "||": "a decision in several lines enters them several times",
    Count "recursed.c" "" "if (!(columns": "a decision in several lines enters them several times",
    Count "recursed.c" "clang" "queens(": "a decision in several lines enters them several times",
];

/// Why the line with `text` differs.
pub(super) fn of(what: What, file: &str, build: &str, text: &str) -> Option<&'static str> {
    let found = REASONS.iter().find(|own| {
        own.what == what
            && (own.file.is_empty() || own.file == file)
            && build.starts_with(own.build)
            && text.starts_with(own.text)
    });
    found.map(|own| own.why)
}

/// Decisions with `!` in front of parentheses, by file and place: llvm-cov has other outcomes of
/// their evaluations than the program.
pub(super) const NEGATED: [(&str, (u64, u64)); 1] = [("chains.c", (47, 7))];

/// Decisions in which an exception ends the evaluation of a condition: llvm-cov counts it as false,
/// as it subtracts how often it was true from how often it was begun.
pub(super) const ENDED: [(&str, (u64, u64)); 1] = [("exceptions.cpp", (47, 10))];
