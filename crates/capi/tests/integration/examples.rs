//! The examples, compared with the library that they call in Rust.

use std::fmt::Write;

use tracewright::analysis::functions::{by_thread, together};
use tracewright::analysis::stacks::Stacks;
use tracewright::analysis::{Code, Filter, Paths, Profile, Profiler, Transfers};
use tracewright::base::Waypoints;
use tracewright::decode::Fork;
use tracewright::export::{Dialect, Format};
use tracewright::frames::{Framing, Joiner};
use tracewright::image::CacheOptions;
use tracewright::{Element, Listener};

use crate::client::{capture, compile, folder, output, run, run_checked};

/// What `ranges` prints of a capture.
fn ranges(name: &str) -> String {
    let trace = tracewright::open(capture(name)).unwrap();
    let mut text = String::new();
    let mut elements = trace.elements().unwrap();
    for item in &mut elements {
        let item = item.unwrap();
        let Element::Range(range) = item.element else { continue };
        let source = &trace.sources()[item.source].name;
        let (offset, start, end) = (item.offset, range.start, range.end());
        let _ = write!(text, "{offset} {source} {start:#x}-{end:#x} {}", range.instructions);
        if let Some(symbol) = trace.symbol(item.source, range.start) {
            let _ = write!(text, " {symbol}");
        }
        text.push('\n');
    }
    let counts = &elements.summary().sources;
    let sum = |count: fn(&tracewright::decode::tally::Counts) -> u64| -> u64 {
        counts.iter().map(|(_, counts)| count(counts)).sum()
    };
    let (elements, instructions) = (sum(|c| c.elements), sum(|c| c.instructions));
    let _ = writeln!(text, "{elements} elements, {instructions} instructions");
    text
}

#[test]
fn ranges_are_those_of_the_library() {
    let Some(program) = compile("examples/ranges.c", &[]) else { return };
    for name in ["etmv4", "ete", "ptm", "etmv3", "etrace-2.0", "ntrace-htm"] {
        let path = capture(name);
        let want = ranges(name);
        assert!(want.lines().count() > 2, "{name}: {want}");
        for threads in ["1", "3"] {
            let done = output(&run(&program, &[path.to_str().unwrap(), threads]));
            assert_eq!(done, want, "{name}, {threads} threads");
        }
    }
}

#[test]
fn a_search_finds_what_the_index_has() {
    let Some(program) = compile("examples/ranges.c", &[]) else { return };
    let path = capture("etmv4");
    let args = [path.to_str().unwrap(), "1", "all any"];
    let done = output(&run(&program, &args));
    let found = done.split(" instructions\n").nth(1).unwrap();
    let trace = tracewright::open(&path).unwrap();
    let items = trace.elements().unwrap().map(Result::unwrap);
    let want: Vec<String> = items
        .take(10)
        .map(|item| format!("offset {} {}", item.offset, item.element.kind()))
        .collect();
    let mut lines = found.lines();
    assert_eq!(lines.next(), Some("10 found"));
    for (n, (line, want)) in lines.zip(&want).enumerate() {
        assert!(line.starts_with(&format!("element {n} instruction ")), "{line}");
        assert!(line.ends_with(want.as_str()), "{line}: {want}");
    }
    if let Some(done) = run_checked(&program, &args) {
        assert_eq!(output(&done).split(" instructions\n").nth(1), Some(found));
    }
}

/// Passes elements on to what finds transfers, and counts exceptions.
struct Both(Transfers, u64);

impl Listener for Both {
    fn element(&mut self, source: usize, at: u64, element: Element) {
        self.1 += u64::from(matches!(element, Element::Exception(_)));
        self.0.element(source, at, element);
    }
}

/// What `functions` prints of a capture.
fn functions(name: &str) -> String {
    let trace = tracewright::open(capture(name)).unwrap();
    let programs = trace.sources().iter().map(|source| source.program.clone());
    let code = Code::of_capture(trace.capture()).with_programs(programs);
    let caches = trace.sources().iter().map(|source| {
        let options = CacheOptions { riscv: source.config.riscv(), ..CacheOptions::default() };
        source.program.cache(Waypoints::default(), options)
    });
    let mut both = Both(Transfers::new(code.clone(), caches.collect()), 0);
    let _ = trace.decode(&mut both).unwrap();
    let mut stacks =
        Stacks::new(trace.sources().len(), Paths::new()).with_unwind_targets(code.unwind_targets());
    let transfers = both.0.take();
    stacks.transfers(transfers.transfers());
    stacks.finish();
    let all = together(&by_thread(&stacks.visitor));
    let mut rows: Vec<_> =
        all.iter().map(|(function, totals)| (totals, code.name(*function).into_owned())).collect();
    rows.sort_by_key(|(totals, name)| (std::cmp::Reverse(totals.instructions), name.clone()));
    let mut text = String::new();
    for (totals, name) in rows {
        let (calls, own) = (totals.calls, totals.instructions);
        let _ = writeln!(text, "{calls} {own} {} {name}", totals.inclusive_instructions);
    }
    let _ = writeln!(text, "{} exceptions", both.1);
    text
}

/// The profile of a capture, as JSON Lines.
fn profile(name: &str) -> String {
    let trace = tracewright::open(capture(name)).unwrap();
    let programs: Vec<_> = trace.sources().iter().map(|source| source.program.clone()).collect();
    let mut profiler = Profiler::new(programs.iter().cloned());
    let _ = trace.decode(&mut profiler).unwrap();
    let mut profile = Profile::default();
    let modules = tracewright::decode::memory::modules(trace.capture());
    profile.add(profiler.take(), &programs, &modules, &Filter::default());
    String::from_utf8(Format::Json.write(&profile, Dialect::Full).unwrap()).unwrap()
}

#[test]
fn functions_and_profile_are_those_of_the_library() {
    let Some(program) = compile("examples/functions.cpp", &[]) else { return };
    let file = folder().join(format!("profile-{}.jsonl", std::process::id()));
    for name in ["etmv4", "etrace-2.0", "ntrace-htm"] {
        let path = capture(name);
        let args = [path.to_str().unwrap(), file.to_str().unwrap()];
        let want = functions(name);
        assert!(want.lines().count() > 1, "{want}");
        assert_eq!(output(&run(&program, &args)), want);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), profile(name));
        if let Some(done) = run_checked(&program, &args) {
            assert_eq!(output(&done), want);
        }
    }
    std::fs::remove_file(&file).unwrap();
}

/// A capture without program memory, which a function of the client reads, late at times.
#[test]
fn pushed_data_are_decoded_as_the_library_does() {
    let Some(program) = compile("examples/push.c", &[]) else { return };
    for (name, trace) in [("etmv4", "ETB_0.bin"), ("ete", "ETB_0.bin"), ("ptm", "ETB_0.bin")] {
        let original = tracewright::open(capture(name)).unwrap();
        let own = folder().join(format!("push-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&own).unwrap();
        for entry in std::fs::read_dir(capture(name)).unwrap() {
            let from = entry.unwrap().path();
            let to = own.join(from.file_name().unwrap());
            match from.extension().and_then(|e| e.to_str()) {
                Some("ini") => {
                    let text = std::fs::read_to_string(&from).unwrap();
                    let without = text.split("\n[dump").next().unwrap();
                    std::fs::write(&to, format!("{without}\n")).unwrap();
                }
                _ => _ = std::fs::copy(&from, &to).unwrap(),
            }
        }
        // All memory from the first address on in one file.
        let image = &original.sources()[0].image;
        let start = image.regions().iter().map(|region| region.start()).min().unwrap();
        let last = image.regions().iter().filter_map(|region| region.last()).max().unwrap();
        let mut memory = vec![0; (last - start + 1) as usize];
        for region in image.regions() {
            let at = (region.start() - start) as usize;
            let run = region.run(region.start());
            memory[at..at + run.len()].copy_from_slice(run);
        }
        let file = own.join("memory");
        std::fs::write(&file, memory).unwrap();

        let mut want = String::new();
        let mut count = 0;
        for item in original.elements().unwrap().map(Result::unwrap) {
            count += 1;
            if let Element::Range(range) = item.element {
                let (start, end) = (range.start, range.end());
                let _ =
                    writeln!(want, "{} {start:#x}-{end:#x} {}", item.offset, range.instructions);
            }
        }
        let start = format!("{start:#x}");
        let path = |file: &std::path::Path| file.to_str().unwrap().to_owned();
        let args = [path(&own), path(&own.join(trace)), path(&file), start];
        let args = args.each_ref().map(String::as_str);
        let done = output(&run(&program, &args));
        let is_range = |line: &&str| line.split(' ').nth(1).is_some_and(|w| w.starts_with("0x"));
        let got: String = done.lines().filter(is_range).map(|line| format!("{line}\n")).collect();
        assert_eq!(got, want, "{name}");
        assert!(done.contains(&format!("{count} elements, ")), "{done}");
        assert!(done.contains("waited: yes; last: "), "{done}");
        let frames = done.split(" packets, ").nth(1).and_then(|rest| rest.split(' ').next());
        assert!(frames.is_some_and(|frames| frames != "0"), "{done}");
        if let Some(checked) = run_checked(&program, &args) {
            assert_eq!(output(&checked), done);
        }
        std::fs::remove_dir_all(&own).unwrap();
    }
}

/// A protocol of the client follows the program: `0x1000 nop; b 0x1010`, `0x1010 nop; ret`.
#[test]
fn a_protocol_of_the_client_is_decoded() {
    let Some(program) = compile("examples/protocol.c", &[]) else { return };
    let here = folder();
    let (trace, memory) = (here.join("messages.bin"), here.join("messages.memory"));
    let opcodes = [0xd503_201f_u32, 0x1400_0003, 0, 0, 0xd503_201f, 0xd65f_03c0];
    std::fs::write(&memory, opcodes.map(u32::to_le_bytes).concat()).unwrap();
    let mut bytes = b"??\xa5\x5a\x00".to_vec();
    bytes.extend(0x1000_u64.to_le_bytes());
    bytes.push(2);
    bytes.push(3);
    bytes.extend(0x1000_u64.to_le_bytes());
    bytes.extend(b"\x05\x02hi\x04");
    bytes.extend(1234_u64.to_le_bytes());
    bytes.extend(b"\x02\xff");
    std::fs::write(&trace, bytes).unwrap();
    let args = [trace.to_str().unwrap(), memory.to_str().unwrap(), "0x1000"];
    let done = output(&run(&program, &args));
    let want = "0 undecodable\n13 range 0x1000-0x1008\n14 range 0x1010-0x1018\n23 custom note hi\n\
                27 timestamp 1234\n36 range 0x1000-0x1008\n37 undecodable\n37 end\n6 packets\n";
    assert_eq!(done, want);
    if let Some(checked) = run_checked(&program, &args) {
        assert_eq!(output(&checked), done);
    }

    // The same in a snapshot that names the protocol.
    let own = here.join(format!("messages-{}", std::process::id()));
    std::fs::create_dir_all(&own).unwrap();
    std::fs::copy(&trace, own.join("trace.bin")).unwrap();
    std::fs::copy(&memory, own.join("memory.bin")).unwrap();
    for (name, text) in [
        (
            "snapshot.ini",
            "[snapshot]\nversion=1.0\n[device_list]\na=cpu.ini\nb=unit.ini\n[trace]\n\
             metadata=trace.ini\n",
        ),
        (
            "trace.ini",
            "[trace_buffers]\nbuffers=b\n[b]\nname=B\nfile=trace.bin\nformat=source_data\n\
             [core_trace_sources]\ncpu=unit\n[source_buffers]\nunit=B\n",
        ),
        (
            "cpu.ini",
            "[device]\nname=cpu\nclass=core\ntype=ARMv8-A\n[dump]\nfile=memory.bin\n\
             address=0x1000\n",
        ),
        ("unit.ini", "[device]\nname=unit\nclass=trace_source\ntype=BranchMessages1.0\n"),
    ] {
        std::fs::write(own.join(name), text).unwrap();
    }
    let want = want.replace(" custom note hi\n", " custom\n").replace("6 packets", "1 notes");
    let args = [own.to_str().unwrap()];
    assert_eq!(output(&run(&program, &args)), want);
    if let Some(checked) = run_checked(&program, &args) {
        assert_eq!(output(&checked), want);
    }

    // And in formatter frames, where a register has the trace ID.
    let mut frames = Vec::new();
    let mut joiner = Joiner::new(Framing::Coresight);
    joiner.push(0x21, &std::fs::read(&trace).unwrap(), &mut frames).unwrap();
    joiner.finish(&mut frames);
    std::fs::write(own.join("trace.bin"), frames).unwrap();
    for (name, old, new) in [
        ("trace.ini", "source_data", "coresight"),
        ("unit.ini", "BranchMessages1.0\n", "BranchMessages1.0\n[regs]\nTRACEID=0x21\n"),
    ] {
        let text = std::fs::read_to_string(own.join(name)).unwrap();
        std::fs::write(own.join(name), text.replace(old, new)).unwrap();
    }
    let without_offsets = |text: &str| {
        let lines = text.lines().map(|line| line.split_once(' ').map_or(line, |(_, rest)| rest));
        lines.collect::<Vec<_>>().join("\n")
    };
    assert_eq!(without_offsets(&output(&run(&program, &args))), without_offsets(&want));
    std::fs::remove_dir_all(&own).unwrap();
}
