//! `profile` in the formats that need the program file, and from branch lists.

use std::fs;
use std::path::Path;

use crate::common::{Folder, args, tracewright};
use crate::perf::{encode, executed_of, ok, run};
use tracewright::capture::perf::BranchList;
use tracewright_testing::{shared, tool};

const PROGRAM: &str = "profile_program.c";

/// The instructions and the taken branches of a log.
fn figures(steps: &[(u64, String)]) -> (usize, usize) {
    let taken = steps.windows(2).filter(|pair| pair[1].0 != pair[0].0 + 4).count();
    (steps.len(), taken)
}

/// Writes the profile of `data`.
#[track_caller]
fn profile(words: &str, data: &Path, out: &Path) -> String {
    let words = format!("profile --format {words} -o");
    let output = tracewright(&args(&words, &[out, data]));
    assert_eq!((output.code, output.err.as_str()), (Some(0), ""), "{words}");
    fs::read_to_string(out).unwrap()
}

/// The sample profile is that which llvm-profgen makes of the ranges and branches, byte for byte:
/// with either version of DWARF, inlined calls, copies of loops, and functions in parts.
#[test]
fn the_sample_profile_is_that_of_llvm_profgen() {
    let folder = Folder::new("profile-llvm");
    for options in ["-O1", "-O3 -gdwarf-4 -fsplit-machine-functions"] {
        if executed_of(&folder, PROGRAM, options).is_none() {
            return;
        }
        let [data, own, unsymbolized, want] =
            ["perf.data", "own", "unsymbolized", "want"].map(|name| folder.path(name));
        encode(&folder, "--protocol ETM4 --to perf", &data);
        let text = profile("llvm", &data, &own);
        assert!(text.starts_with("collatz:"), "{text}");
        let tools = [("llvm-profgen-22", "llvm-22"), ("llvm-profgen-19", "llvm-19")];
        if let Some(profgen) = tool(&tools) {
            profile("llvm-unsymbolized", &data, &unsymbolized);
            let words = format!(
                "--format text --unsymbolized-profile {} --binary {} --output",
                unsymbolized.display(),
                folder.path("program").display()
            );
            ok(profgen, &words, &[&want]);
            assert!(text == fs::read_to_string(&want).unwrap(), "{options}\n{text}");
        }
        let tools = [("llvm-profdata-22", "llvm-22"), ("llvm-profdata-19", "llvm-19")];
        if let Some(profdata) = tool(&tools) {
            let binary = folder.path("binary");
            ok(profdata, "merge --sample --extbinary", &[&own, Path::new("-o"), &binary]);
            let shown = ok(profdata, "show --sample", &[&binary]);
            let count = |text: &str, of: &str| text.matches(of).count();
            let functions = text.lines().filter(|line| !line.starts_with(' ')).count();
            assert_eq!(count(&shown, "Function: "), functions, "{shown}");
        }
        // clang reads it: the exit code is that of the first program.
        let words = format!("{options} -fprofile-sample-use={}", own.display());
        assert!(executed_of(&folder, PROGRAM, &words).is_some());
    }
}

#[test]
fn a_program_without_debug_information_has_no_sample_profile() {
    let folder = Folder::new("profile-no-lines");
    if executed_of(&folder, PROGRAM, "-O1 -g0 -Wl,--strip-debug").is_none() {
        return;
    }
    let data = folder.path("perf.data");
    encode(&folder, "--protocol ETM4 --to perf", &data);
    for (format, want) in [
        ("llvm", "it has no debug information; compile with -g"),
        ("propeller", "it has no map of basic blocks; compile with -fbasic-block-address-map"),
    ] {
        let output = tracewright(&args(&format!("profile --format {format}"), &[&data]));
        assert_eq!((output.code, output.out.as_str()), (Some(2), ""), "{format}");
        assert!(output.err.contains(want), "{}", output.err);
    }
}

/// clang places the blocks as listed, and lld the functions: the program takes fewer branches.
#[test]
fn a_program_with_listed_blocks_takes_fewer_branches() {
    let folder = Folder::new("profile-propeller");
    let Some(steps) = executed_of(&folder, PROGRAM, "-O2 -fbasic-block-sections=labels") else {
        return;
    };
    let code = run("qemu-aarch64", "", &[&folder.path("program")]).1;
    let [data, clusters, order] = ["perf.data", "clusters", "order"].map(|name| folder.path(name));
    encode(&folder, "--protocol ETM4 --to perf", &data);
    let text = profile(&format!("propeller --symbol-order {}", order.display()), &data, &clusters);
    assert!(text.starts_with("v1\nf "), "{text}");
    assert!(text.contains("\nf choose\nc0 "), "{text}");
    let symbols = fs::read_to_string(&order).unwrap();
    assert!(symbols.contains("fibonacci\n") && symbols.contains("fibonacci.cold\n"), "{symbols}");
    let words = format!(
        "-O2 -fbasic-block-sections=list={} -Wl,--symbol-ordering-file={} -Wl,--fatal-warnings",
        clusters.display(),
        order.display()
    );
    let again = executed_of(&folder, PROGRAM, &words).unwrap();
    let ((all, taken), (all_after, taken_after)) = (figures(&steps), figures(&again));
    assert!(
        all_after <= all && taken_after < taken,
        "{taken} of {all}, {taken_after} of {all_after}"
    );
    assert_eq!(run("qemu-aarch64", "", &[&folder.path("program")]).1, code);
}

#[test]
fn dialects_of_other_formats_are_refused() {
    let folder = Folder::with_demo("profile-dialects");
    for (words, code) in [
        ("bolt --dialect ranges", 0),
        ("autofdo --dialect simpleperf", 0),
        ("json --dialect full", 0),
        ("autofdo --dialect ranges", 2),
        ("json --dialect simpleperf", 2),
    ] {
        let run = tracewright(&args(&format!("profile --format {words}"), &[&folder.demo()]));
        assert_eq!(run.code, Some(code), "{words}: {}", run.err);
        assert_eq!(run.err.contains("--dialect"), code == 2, "{words}: {}", run.err);
    }
}

/// The profile of a branch list is that of the trace, without what a branch list does not have.
#[test]
fn a_branch_list_is_read_in_place_of_a_trace() {
    let Some(data) = shared("captures/simpleperf-etm/perf_etm.data") else { return };
    let program = data.with_file_name("etm_test_loop");
    let folder = Folder::new("profile-branch-list");
    let [list, again, twice] = ["list", "again", "twice"].map(|name| folder.path(name));
    let output = tracewright(&args("profile --format branch-list -o", &[&list, &data]));
    assert_eq!(output.code, Some(0), "{}", output.err);
    let read = |words: &str, paths: &[&Path]| {
        let output = tracewright(&args(&format!("profile --quiet {words}"), paths));
        assert_eq!((output.code, output.err.as_str()), (Some(0), ""), "{words}");
        output.out
    };
    let binary = format!("--binary {}", program.display());
    // The files of AOSP, of the same trace.
    for (format, name) in [("autofdo", "perf_inject.data"), ("bolt", "perf_inject_bolt.data")] {
        let want = fs::read_to_string(data.with_file_name(name)).unwrap();
        let words = format!("--format {format} --dialect simpleperf {binary}");
        assert_eq!(read(&words, &[&list]), want, "{format}");
    }
    // A list of a list is that list, and counts add up.
    read(&format!("--format branch-list {binary} -o {}", again.display()), &[&list]);
    let bytes = fs::read(&list).unwrap();
    assert!(bytes == fs::read(&again).unwrap());
    let words = format!("--format branch-list {binary} --add {} -o", again.display());
    read(&words, &[&twice, &list]);
    let one = BranchList::read(&bytes).unwrap();
    let two = BranchList::read(&fs::read(&twice).unwrap()).unwrap();
    for (one, two) in one.binaries[0].sequences.iter().zip(&two.binaries[0].sequences) {
        assert_eq!((two.count, &two.bits), (2 * one.count, &one.bits));
    }
    // Other verbs, and a list without its program.
    let output = tracewright(&args("decode", &[&list]));
    assert_eq!(output.code, Some(2));
    assert!(
        output.err.contains("`tracewright profile` and `tracewright merge` read it"),
        "{}",
        output.err
    );
    let output = tracewright(&args("profile --format autofdo", &[&list]));
    assert_eq!(output.code, Some(1), "{}", output.err);
    assert!(output.err.contains("the code of its program files is not known"), "{}", output.err);
    assert!(output.err.contains("give it with --symfs FOLDER or --binary FILE"), "{}", output.err);
}
