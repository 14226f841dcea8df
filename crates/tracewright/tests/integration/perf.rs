//! Captures of perf and simpleperf, from the file to profiles: compared with the profiles that
//! AOSP's tools made of the same files, and with what a model executed.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use tracewright::analysis::{BranchLister, Filter, Profile, Profiler, RawProfile};
use tracewright::base::Element;
use tracewright::capture::perf::{self, Search};
use tracewright::decode::{
    Caches, Fork, Jobs, Memory, Merge, Merging, Options, Plan, Program, Session, Tally, input,
    memory, parallel,
};
use tracewright::export::{Dialect, Format};
use tracewright::{Listener, Trace};
use tracewright_testing::shared;

/// The profile of a capture, decoded with one thread for each buffer.
fn profile(trace: &Trace, filter: &Filter) -> Profile {
    let programs: Vec<Program> = trace.sources().iter().map(|s| s.program.clone()).collect();
    let mut profiler = Profiler::new(programs.clone());
    let _ = trace.decode(&mut profiler).expect("a trace");
    let mut profile = Profile::default();
    profile.add(profiler.take(), &programs, &memory::modules(trace.capture()), filter);
    profile
}

#[track_caller]
fn open(name: &str) -> Option<Trace> {
    let path = shared(&format!("captures/simpleperf-etm/{name}"))?;
    Some(Trace::new(perf::open(&path, &Search::default()).expect("a capture")))
}

fn golden(name: &str) -> String {
    let path = shared(&format!("captures/simpleperf-etm/{name}")).expect("a listing");
    fs::read_to_string(path).expect("text")
}

fn text(profile: &Profile, format: Format, dialect: Dialect) -> String {
    String::from_utf8(format.write(profile, dialect).expect("a profile")).expect("text")
}

/// Byte for byte: formatter frames of an ETMv4, and raw trace of an ETE.
#[test]
fn profiles_are_those_of_simpleperf() {
    for name in ["perf_etm.data", "perf_with_unformatted_trace.data"] {
        let Some(trace) = open(name) else { return };
        let profile = profile(&trace, &Filter::default());
        assert_eq!(profile.instructions, 944, "{name}");
        assert_eq!(
            text(&profile, Format::Autofdo, Dialect::Simpleperf),
            golden("perf_inject.data")
        );
        assert_eq!(
            text(&profile, Format::Bolt, Dialect::Simpleperf),
            golden("perf_inject_bolt.data")
        );
    }
}

#[test]
fn counts_of_several_captures_are_summed_and_saturate() {
    let Some(trace) = open("perf_etm.data") else { return };
    let mut sum = profile(&trace, &Filter::default());
    let other = open("perf_with_unformatted_trace.data").expect("a capture");
    sum.merge(profile(&other, &Filter::default()));
    let listed = text(&sum, Format::Autofdo, Dialect::Simpleperf);
    assert!(listed.contains("106c->1074:200\n"), "{listed}");
    assert!(!sum.saturated);
    for _ in 0..63 {
        sum.merge(sum.clone());
    }
    assert!(sum.saturated);
    let listed = text(&sum, Format::Autofdo, Dialect::Simpleperf);
    assert!(listed.contains("106c->1074:18446744073709551615\n"), "{listed}");
}

/// A module of the kernel is relocatable: the branches of its jump table have targets because
/// relocations are applied. Those to other files end the path.
#[test]
fn a_kernel_module_is_relocated() {
    let Some(trace) = open("perf_kernel.data") else { return };
    let found = profile(&trace, &Filter::default());
    let module = found.modules.values().next().expect("a module");
    assert_eq!(module.file.path, "/vendor/lib/modules/rq_stats.ko");
    let ranges: Vec<_> =
        module.ranges.iter().map(|(range, count)| (*range, count.total())).collect();
    // The checks of __cfi_check, its last branch, and what its entry of the jump table leads to.
    let want = [(0, 0x14), (0x18, 0x2c), (0x30, 0x44), (0x48, 0x5c), (0x60, 0x74), (0xe0, 0xe0)];
    assert_eq!(ranges[..6], want.map(|range| (range, 1)));
    assert!(ranges.len() > 6, "{ranges:?}");
    assert!(!ranges.iter().any(|((start, last), _)| {
        (*start, *last) == (0x2ec, 0x2ec)
            && module
                .branches
                .iter()
                .any(|(b, _)| b.from == 0x2ec && b.to == tracewright::analysis::Target::Here(0x2ec))
    }));
    let user = Filter { kernel: Some(false), ..Filter::default() };
    assert!(profile(&trace, &user).modules.is_empty());
    let kernel = Filter { kernel: Some(true), ..Filter::default() };
    assert_eq!(profile(&trace, &kernel).modules.len(), 1);
    // The trace packets of all buffers, by an independent count of perf 6.1 -D.
    let summary = trace.decode(&mut Tally::default()).expect("a trace");
    let packets: u64 = summary.sources.iter().map(|(_, counts)| counts.packets).sum();
    assert_eq!(packets, 23_607);
}

#[test]
fn processes_are_left_out_by_number() {
    let Some(trace) = open("perf_etm.data") else { return };
    let excluded = [0x4353].into();
    let filter = Filter { excluded, ..Filter::default() };
    assert!(profile(&trace, &filter).modules.is_empty());
}

#[test]
fn a_capture_without_trace_is_empty() {
    let Some(trace) = open("perf_with_missing_aux_data.data") else { return };
    assert!(trace.sources().is_empty());
    assert!(trace.capture().notes.iter().any(|note| note.to_string().contains("1535344 bytes")));
}

/// The counts of a buffer do not depend on the number of threads. The trace of the test loop is
/// repeated, so that the buffer has several chunks.
#[test]
fn threads_do_not_change_counts() {
    let Some(trace) = open("perf_etm.data") else { return };
    let capture = trace.capture();
    let memory = Memory::new(capture);
    let options = Options::default();
    let plan = Plan::new(capture, 3, &options).expect("a buffer");
    let programs = [memory.seen_by(capture, 3, plan.sources[0].source)];
    let bytes = capture.buffers[3].bytes().repeat(2000);
    let count = |jobs: usize| {
        let mut session = Session::new(capture, &plan, &memory, &options).expect("a session");
        let mut both = (Profiler::new(programs.clone()), Merging(Tally::default()));
        let mut input = input::Parts::new([bytes.as_slice()]);
        let (mut all, mut tally) = (RawProfile::default(), Tally::default());
        let jobs = Jobs { chunk: 1 << 13..=1 << 14, ..Jobs::new(jobs) };
        parallel::run(&mut session, &mut input, &mut both, &jobs, |(counts, its), _| {
            all.merge(counts);
            tally.merge(its);
            true
        })
        .expect("a trace");
        let mut profile = Profile::default();
        profile.add(all, &programs, &memory::modules(capture), &Filter::default());
        (text(&profile, Format::Json, Dialect::Full), tally.sources[0].instructions)
    };
    let one = count(1);
    assert_eq!(one.1, 944 * 2000);
    assert_eq!(count(3), one);
    assert!(
        one.0.starts_with("{\"type\":\"profile\",\"instructions\":1888000,"),
        "{}",
        &one.0[..80]
    );
}

/// The code of a buffer is not decoded again for the next one, and the counts are the same.
#[test]
fn caches_are_used_for_the_next_buffer() {
    let Some(trace) = open("perf_etm.data") else { return };
    let capture = trace.capture();
    let (memory, options) = (Memory::new(capture), Options::default());
    let decode = |buffer: usize, caches: Caches, counts: &mut RawProfile| {
        let plan = Plan::new(capture, buffer, &options).expect("a buffer");
        let mut session =
            Session::with_caches(capture, &plan, &memory, &options, caches).expect("a session");
        let programs = plan.sources.iter().map(|s| memory.seen_by(capture, buffer, s.source));
        let mut profiler = Profiler::new(programs);
        session.run([&*capture.buffers[buffer].bytes()], &mut profiler);
        counts.merge(profiler.take());
        session.into_caches()
    };
    let (mut first, mut again) = (RawProfile::default(), RawProfile::default());
    let caches = decode(3, Caches::default(), &mut first);
    let blocks = caches.blocks();
    assert!(blocks >= 10, "{blocks}");
    // A buffer that executes nothing makes no blocks.
    let caches = decode(0, caches, &mut again);
    assert_eq!(caches.blocks(), blocks);
    assert_eq!(decode(0, Caches::default(), &mut again).blocks(), 0);
    let caches = decode(3, caches, &mut again);
    assert_eq!(caches.blocks(), blocks);
    assert_eq!((first.instructions(), again.instructions()), (944, 944));
}

/// Passes each range on by itself.
struct Each(Profiler);

impl Listener for Each {
    fn element(&mut self, source: usize, at: u64, element: Element) {
        self.0.element(source, at, element);
    }
}

/// The ranges of a packet are counted at once, as they are one by one: in captures of ETMv4, ETE
/// and PTM.
#[test]
fn paths_of_packets_have_the_counts_of_their_ranges() {
    let (mut found, mut instructions) = (0, 0);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/captures");
    let own = fs::read_dir(folder)
        .expect("captures")
        .filter_map(|entry| Some(entry.ok()?.path().join("capture")));
    let shared = ["perf_etm.data", "perf_kernel.data", "perf_with_unformatted_trace.data"];
    let shared = shared
        .iter()
        .filter_map(|name| tracewright_testing::shared(&format!("captures/simpleperf-etm/{name}")));
    for path in own.chain(shared) {
        let Ok(trace) = tracewright::open(&path) else { continue };
        let capture = trace.capture();
        let (memory, options) = (Memory::new(capture), Options::default());
        for buffer in 0..capture.buffers.len() {
            let Some(plan) = Plan::new(capture, buffer, &options) else { continue };
            let programs: Vec<Program> =
                plan.sources.iter().map(|s| memory.seen_by(capture, buffer, s.source)).collect();
            let run = |listener: &mut dyn FnMut(&mut Session, &[u8])| {
                let mut session =
                    Session::new(capture, &plan, &memory, &options).expect("a session");
                listener(&mut session, &capture.buffers[buffer].bytes());
            };
            let mut whole = Profiler::new(programs.clone());
            run(&mut |session, bytes| session.run([bytes], &mut whole));
            let mut each = Each(Profiler::new(programs.clone()));
            run(&mut |session, bytes| session.run([bytes], &mut each));
            let counts = |mut raw: RawProfile| {
                let instructions = raw.instructions();
                let (ranges, sequences) = raw.into_counts();
                let key = |memory, source, start| (memory, source, start);
                let mut executed = BTreeMap::new();
                for (e, count) in ranges {
                    let place = key(format!("{:?}", e.memory), e.source, e.start);
                    executed.insert((place, e.bytes, e.last.word(), e.next), count);
                }
                let mut following = BTreeMap::new();
                for (f, count) in sequences {
                    let place = key(format!("{:?}", f.memory), f.source, f.start);
                    following.insert((place, f.from, f.last), count);
                }
                (executed, following, instructions)
            };
            let (whole, each) = (counts(whole.take()), counts(each.0.take()));
            assert!(whole == each, "{} buffer {buffer}", path.display());
            found += usize::from(whole.2 > 0);
            instructions += whole.2;
        }
    }
    assert!(found > 3 && instructions > 1000, "{found} {instructions}");
}

/// Every format names the program, and its counts are those of the trace.
#[test]
fn every_format_is_made_of_the_same_counts() {
    let Some(trace) = open("perf_etm.data") else { return };
    let profile = profile(&trace, &Filter::default());
    let module = profile.modules.values().next().expect("a file");
    let all = module.ranges.values();
    let sum: u64 = all.map(|range| range.total() * u64::from(range.instructions)).sum();
    assert_eq!(sum, 944);
    // The names are those of its MiniDebugInfo.
    let folded = text(&profile, Format::Folded, Dialect::Full);
    let counts: Vec<&str> =
        folded.lines().filter_map(|l| l.strip_prefix("etm_test_loop;")).collect();
    let want = ["[unknown] 4", "_Z4Loopv 910", "_start 2", "_start_main 18", "main 10"];
    assert_eq!(counts, want, "{folded}");
    let callgrind = text(&profile, Format::Callgrind, Dialect::Full);
    assert!(callgrind.ends_with("\ntotals: 944\n"), "{callgrind}");
    let costs = callgrind.lines().filter_map(|line| line.strip_prefix("0x")?.split_once(' '));
    assert_eq!(costs.map(|(_, cost)| cost.parse::<u64>().expect("a count")).sum::<u64>(), 944);
    // Each sequence between branches that were taken is the sum of its ranges.
    let taken: u64 = module.branches.values().map(|branch| branch.count).sum();
    assert_eq!(taken, 207);
    let bolt = text(&profile, Format::Bolt, Dialect::Full);
    let counts = bolt.lines().filter(|line| line.starts_with("T ") && !line.contains("ffffffff"));
    let counts = counts.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok());
    // Two returns lead to code that is not in the capture.
    assert_eq!(counts.sum::<u64>() + 2, taken);
}

/// The branch list of simpleperf, field by field: `branch_list.proto`. The path of each sequence is
/// followed in the program, and gives the branches of the profile again.
#[test]
fn a_branch_list_is_followed_to_the_same_branches() {
    let Some(trace) = open("perf_etm.data") else { return };
    let programs: Vec<Program> = trace.sources().iter().map(|s| s.program.clone()).collect();
    let mut lister = BranchLister::new(programs.clone());
    let _ = trace.decode(&mut lister).expect("a trace");
    let modules = memory::modules(trace.capture());
    let mut lists = Profile::default();
    lists.add_lists(lister.take(), &programs, &modules, &Filter::default());
    let bytes = Format::BranchList.write(&lists, Dialect::Full).expect("a list");
    assert_eq!(bytes[..24], *b"simpleperf:EtmBranchList");
    assert_eq!(bytes[24..29], [1, 0, 0, 0, 0]);
    let len = u32::from_le_bytes(bytes[29..33].try_into().expect("four bytes"));
    assert_eq!(len as usize, bytes.len() - 33);
    let list = proto(&bytes[33..]);
    assert_eq!(list[0], (1, Value::Bytes(b"simpleperf:EtmBranchList")));
    let (2, Value::Bytes(binary)) = list[1] else { panic!("{list:?}") };
    let mut found = BTreeMap::new();
    let program = fs::read(shared("captures/simpleperf-etm/etm_test_loop").expect("a program"))
        .expect("a program");
    for (field, value) in proto(binary) {
        match (field, value) {
            (1, Value::Bytes(path)) => assert_eq!(path, b"/data/local/tmp/etm_test_loop"),
            (2, Value::Bytes(id)) => assert_eq!(id, b"0c9a20bf9c009d0e4e8bbf9fad0300ae"),
            (3, Value::Bytes(entry)) => follow(entry, &program, &mut found),
            other => panic!("{other:?}"),
        }
    }
    let profile = profile(&trace, &Filter::default());
    let module = profile.modules.values().next().expect("a file");
    let want: BTreeMap<u64, u64> =
        module.branches.iter().fold(BTreeMap::new(), |mut sum, (b, n)| {
            *sum.entry(b.from).or_default() += n.count;
            sum
        });
    assert_eq!(found, want);
}

/// A value of a message of protobuf.
#[derive(Debug, PartialEq)]
enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

/// The fields of a message.
fn proto(mut bytes: &[u8]) -> Vec<(u64, Value<'_>)> {
    fn varint(bytes: &mut &[u8]) -> u64 {
        let mut value = 0;
        for shift in (0..).step_by(7) {
            let byte = bytes[0];
            *bytes = &bytes[1..];
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                break;
            }
        }
        value
    }
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let value = match key & 7 {
            0 => Value::Number(varint(&mut bytes)),
            _ => {
                let len = varint(&mut bytes) as usize;
                let (value, rest) = bytes.split_at(len);
                bytes = rest;
                Value::Bytes(value)
            }
        };
        fields.push((key >> 3, value));
    }
    fields
}

/// Follows the sequences of an `ETMBinary.Address` in the program, whose offsets are its addresses,
/// and counts the branches that are taken. The program has no waypoints but branches.
fn follow(entry: &[u8], program: &[u8], found: &mut BTreeMap<u64, u64>) {
    let fields = proto(entry);
    let (1, Value::Number(start)) = fields[0] else { panic!("{fields:?}") };
    for (field, value) in &fields[1..] {
        let (2, Value::Bytes(sequence)) = (*field, value) else { panic!("{fields:?}") };
        let fields = proto(sequence);
        let [(1, Value::Bytes(bits)), (2, Value::Number(len)), (3, Value::Number(count))] =
            fields[..]
        else {
            panic!("{fields:?}")
        };
        let mut at = start;
        for n in 0..len {
            let taken = bits[n as usize / 8] >> (n % 8) & 1 != 0;
            let word = |at: u64| {
                let at = at as usize;
                u32::from_le_bytes(program[at..at + 4].try_into().expect("an opcode"))
            };
            let target = loop {
                let opcode = word(at);
                let distance = |bits: u32, shift: u32| {
                    let field = u64::from(opcode >> shift) << (64 - bits);
                    (field.cast_signed() >> (64 - bits)) * 4
                };
                // B and BL: x00101 imm26; B.cond: 01010100 imm19; CBZ and CBNZ: x011010 imm19; TBZ
                // and TBNZ: x011011 imm14; BR, BLR and RET: 1101011.
                if opcode >> 26 & 0x1f == 5 {
                    break Some(at.wrapping_add_signed(distance(26, 0)));
                } else if opcode >> 24 == 0x54 || opcode >> 25 & 0x3f == 0x1a {
                    break Some(at.wrapping_add_signed(distance(19, 5)));
                } else if opcode >> 25 & 0x3f == 0x1b {
                    break Some(at.wrapping_add_signed(distance(14, 5)));
                } else if opcode >> 25 == 0x6b {
                    break None;
                }
                at += 4;
            };
            if taken {
                *found.entry(at).or_default() += count;
            }
            match target {
                Some(target) if taken => at = target,
                _ if taken => assert_eq!(n + 1, len, "an indirect branch ends a sequence"),
                _ => at += 4,
            }
        }
    }
}

/// Where the tools are installed: they read the files and find the functions of the loop.
#[test]
fn tools_accept_the_profiles() {
    let Some(trace) = open("perf_etm.data") else { return };
    let profile = profile(&trace, &Filter::default());
    let program = shared("captures/simpleperf-etm/etm_test_loop").expect("a program");
    let folder = std::env::temp_dir().join(format!("tracewright-tools-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join("profile");
    let put = |bytes: Vec<u8>| fs::write(&path, bytes).expect("a file");
    let run = |tool: &str, args: &[&str]| {
        let output = std::process::Command::new(tool).args(args).output().expect("a tool");
        let text = String::from_utf8_lossy(&output.stdout).into_owned()
            + &String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{tool} {args:?}: {text}");
        text
    };
    let (path, program) =
        (path.to_string_lossy().into_owned(), program.to_string_lossy().into_owned());
    let out = folder.join("out");
    let out = out.to_string_lossy();
    if let Some(tool) =
        tracewright_testing::tool(&[("llvm-bolt-22", "bolt-22"), ("llvm-bolt-19", "bolt-19")])
    {
        // BOLT 19 does not know `T` lines: they are a branch and a range.
        let traces = text(&profile, Format::Bolt, Dialect::Full);
        let lines = traces.lines().flat_map(|line| {
            let words: Vec<_> = line.split(' ').collect();
            match words[..] {
                ["T", from, start, end, count] if tool.ends_with("19") => {
                    let range = format!("F {start} {end} {count}\n");
                    let branch = format!("B {from} {start} {count} 0\n");
                    if from.starts_with("ffff") { vec![range] } else { vec![branch, range] }
                }
                _ => vec![format!("{line}\n")],
            }
        });
        put(lines.collect::<String>().into_bytes());
        let args =
            ["-aggregate-only", "--allow-stripped", "-pa", "-p", &path, "-o", &out, &program];
        let shown = run(tool, &args);
        let fdata = fs::read_to_string(&*out).expect("fdata");
        assert!(fdata.lines().count() >= 5, "{shown}\n{fdata}");
        // The turns of the loop.
        assert!(fdata.lines().any(|line| line.ends_with(" 0 100")), "{fdata}");
        assert!(shown.contains("3 out of 4 functions"), "{shown}");
    }
    fs::remove_dir_all(&folder).expect("no folder");
    assert!(!Path::new(&path).exists());
}
