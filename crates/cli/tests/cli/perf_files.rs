//! `perf.data` on the command line: files of simpleperf with what is known of them, perf's cache of
//! files, and the profile of BOLT from an execution log.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use crate::common::{Folder, args, command, tracewright};
use crate::perf::{encode, executed, ok};
use tracewright::capture::perf::BranchList;
use tracewright_testing::{shared, tool, tool_since};

/// An ETE without formatter frames. One of its two CPUs has trace.
#[test]
fn a_trace_without_frames_is_explained() {
    let Some(data) = shared("captures/simpleperf-etm/perf_with_unformatted_trace.data") else {
        return;
    };
    let output = tracewright(&args("info", &[&data]));
    assert_eq!(output.code, Some(0), "{}", output.err);
    for want in [
        "  cpu0: 76 bytes in 1 records, 0 of which report a loss\n",
        "  cpu0@0x0#0: 76 bytes, source_data, decoded as raw\n",
        "  cpu0: ETE (Embedded Trace Extension",
        "  cpu1: ETE (Embedded Trace Extension",
    ] {
        assert!(output.out.contains(want), "{want}: {}", output.out);
    }
    assert!(!output.out.contains("cpu1: 76") && !output.out.contains("cpu1@"), "{}", output.out);
}

/// The files that processes mapped are images, and their memory is not reported as missing.
#[test]
fn mapped_files_are_images() {
    let Some(data) = shared("captures/simpleperf-etm/perf_etm.data") else { return };
    let program = data.with_file_name("etm_test_loop");
    let output = tracewright(&args("info", &[&data]));
    assert_eq!(output.code, Some(0), "{}", output.err);
    let listed = format!(
        "\nimages:\n  /data/local/tmp/etm_test_loop ({}): 0x582b2b1000..=0x582b2b1fff, ELF for \
         AArch64, 5 symbols\n",
        program.display()
    );
    for want in [
        "27 packets, 944 instructions",
        "\nimages     1, with 5 symbols\ncoverage   the images have all executed code\n",
        "\nproblems: none\n",
        &listed,
    ] {
        assert!(output.out.contains(want), "{want}: {}", output.out);
    }
    let output = tracewright(&args("info --format json", &[&data]));
    assert!(output.out.contains(r#"{"type":"image","name":"/data/local/tmp/etm_test_loop""#));
    assert!(!output.out.contains(r#""type":"missing""#), "{}", output.out);

    let Some(data) = shared("captures/simpleperf-etm/perf_with_missing_aux_data.data") else {
        return;
    };
    let output = tracewright(&args("info", &[&data]));
    let want = "there is no program memory: packets can be listed, but not the executed code\n     \
                give the files with --symfs FOLDER or --binary FILE\n";
    assert!(output.out.contains(want), "{}", output.out);
}

/// The counts of a kernel module, of the trace and of its branch list. Its jump table has a target
/// by relocation only.
#[test]
fn a_kernel_module_is_profiled_by_trace_and_by_branch_list() {
    let Some(data) = shared("captures/simpleperf-etm/perf_kernel.data") else { return };
    let folder = Folder::new("perf-kernel");
    let list = folder.path("list");
    let output = tracewright(&args("profile --format branch-list -o", &[&list, &data]));
    assert_eq!(output.code, Some(0), "{}", output.err);
    let binary = format!("--binary {}", data.with_file_name("rq_stats.ko").display());
    for format in ["autofdo", "bolt"] {
        let words = format!("profile --format {format} --dialect simpleperf {binary}");
        let [direct, listed] = [&data, &list].map(|path| tracewright(&args(&words, &[path])));
        assert_eq!((direct.code, listed.code), (Some(0), Some(0)), "{}", listed.err);
        assert_eq!(direct.out, listed.out);
        assert!(direct.out.lines().count() >= 6, "{}", direct.out);
    }
    let output = tracewright(&args("profile --format json", &[&data]));
    for want in [
        r#""path":"/vendor/lib/modules/rq_stats.ko""#,
        r#"{"type":"branch","from":"0x2ec","to":"0x140","indirect":false,"followed":true,"count":1}"#,
    ] {
        assert!(output.out.contains(want), "{want}: {}", output.out);
    }
}

/// The instructions of a profile are those that its filters select.
#[test]
fn filters_of_a_profile_apply_to_its_instructions() {
    let Some(data) = shared("captures/simpleperf-etm/perf_etm.data") else { return };
    for (words, want) in [
        ("", 944),
        ("--user", 944),
        ("--kernel", 0),
        ("--exclude-process 17235", 0),
        ("--exclude-process 1", 944),
        // The program has all instructions.
        ("--module etm_test_loop", 944),
    ] {
        let output = tracewright(&args(&format!("profile --format json {words}"), &[&data]));
        let want = format!(r#""type":"profile","instructions":{want},"#);
        assert!(output.out.contains(&want), "{words}: {}", output.out);
    }
    let Some(data) = shared("captures/simpleperf-etm/perf_kernel.data") else { return };
    let of = |words: &str| -> u64 {
        let output = tracewright(&args(&format!("profile --format json {words}"), &[&data]));
        let (_, count) = output.out.split_once(r#""type":"profile","instructions":"#).unwrap();
        count.split(',').next().unwrap().parse().unwrap()
    };
    let (all, module) = (of(""), of("--module rq_stats.ko"));
    assert_eq!((of("--kernel"), of("--user")), (all, 0));
    assert!(0 < module && module <= all, "{module} of {all}");
}

/// Counts that do not fit in 64 bits are the largest number, and one note reports it.
#[test]
fn counts_saturate_with_one_note() {
    let Some(data) = shared("captures/simpleperf-etm/perf_etm.data") else { return };
    let folder = Folder::new("perf-saturated");
    let list = folder.path("list");
    let output = tracewright(&args("profile --format branch-list -o", &[&list, &data]));
    assert_eq!(output.code, Some(0), "{}", output.err);
    let mut large = BranchList::read(&fs::read(&list).unwrap()).unwrap();
    for sequence in &mut large.binaries[0].sequences {
        sequence.count = sequence.count.saturating_add(u64::MAX / 2);
    }
    fs::write(&list, large.write()).unwrap();
    let binary = data.with_file_name("etm_test_loop");
    let profile = |more: &str| {
        let words = format!("profile --format autofdo --binary {} {more}", binary.display());
        let output = tracewright(&args(&words, &[&list]));
        assert_eq!(output.code, Some(0), "{}", output.err);
        let notes = output.err.lines().filter(|line| line.contains("counts larger than")).count();
        (output.out.matches("18446744073709551615").count(), notes)
    };
    let add = format!("--add {}", list.display());
    let (saturated, notes) = profile(&format!("{add} {add}"));
    assert!(saturated > 5, "{saturated}");
    assert_eq!(notes, 1);
}

/// BOLT makes the same profile of the trace as of the addresses in the log.
#[test]
fn the_profile_of_bolt_is_that_of_the_log() {
    let Some(bolt) = tool(&[("llvm-bolt-22", "bolt-22"), ("llvm-bolt-19", "bolt-19")]) else {
        return;
    };
    let folder = Folder::new("perf-bolt");
    let Some(steps) = executed(&folder) else { return };
    let [data, profile, own, want, program] =
        ["perf.data", "profile", "own", "want", "program"].map(|name| folder.path(name));
    encode(&folder, "--protocol ETM4 --to perf", &data);
    let words = "profile --format bolt --dialect ranges -o";
    let output = tracewright(&args(words, &[&profile, &data]));
    assert_eq!((output.code, output.err.as_str()), (Some(0), ""));
    ok(bolt, "-aggregate-only -pa -p", &[&profile, Path::new("-o"), &own, &program]);
    // Branches, and the instructions between two of them: `B from to count mispredicted`, and
    // `F start last count`. The end of the log is no branch.
    let (mut branches, mut ranges) = (BTreeMap::new(), BTreeMap::new());
    let mut start = steps[0].0;
    for pair in steps.windows(2) {
        let (pc, next) = (pair[0].0, pair[1].0);
        if next != pc + 4 {
            *branches.entry((pc, next)).or_insert(0u64) += 1;
            *ranges.entry((start, pc)).or_insert(0u64) += 1;
            start = next;
        }
    }
    let mut text = String::new();
    for ((from, to), count) in branches {
        writeln!(text, "B {from:x} {to:x} {count} 0").unwrap();
    }
    for ((start, last), count) in ranges {
        writeln!(text, "F {start:x} {last:x} {count}").unwrap();
    }
    fs::write(&profile, text).unwrap();
    ok(bolt, "-aggregate-only -pa -p", &[&profile, Path::new("-o"), &want, &program]);
    let [own, want] = [own, want].map(|path| fs::read_to_string(path).unwrap());
    assert_eq!(own, want);
    assert!(own.lines().count() > 8, "{own}");
}

/// The program is in the cache that perf makes, and nowhere else.
#[test]
fn programs_are_found_in_the_cache_of_perf() {
    let Some(perf) = tool_since(&[("perf", "linux-perf")], (6, 1)) else { return };
    let folder = Folder::new("perf-buildid");
    let Some(steps) = executed(&folder) else { return };
    let (data, program) = (folder.path("perf.data"), folder.path("program"));
    encode(&folder, "--protocol ETM4 --to perf", &data);
    let words = format!("--buildid-dir {} buildid-cache --add", folder.path(".debug").display());
    ok(perf, &words, &[&program]);
    fs::remove_file(&program).unwrap();
    let pcs = |home: &str| {
        let mut command = command(&args("instructions --format pc", &[&data]));
        let output = command.env("HOME", folder.path(home)).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().map(|pc| u64::from_str_radix(pc, 16).unwrap()).collect::<Vec<_>>()
    };
    assert!(pcs("other").is_empty());
    assert!(pcs("").iter().eq(steps.iter().map(|(pc, _)| pc)));
}
