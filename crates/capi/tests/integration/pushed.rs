//! What the functions of a client receive of pushed data, compared with the library in Rust.

use std::fmt::Write;
use std::path::PathBuf;

use tracewright::base::Custom;
use tracewright::decode::{Event, Listener, Reports, Severity, Wants};
use tracewright::frames::{self, Framing, Joiner};
use tracewright::protocols::PacketKind;
use tracewright::{Element, Trace};

use crate::client::{capture, compile, folder, output, run, run_checked};

const NO_SOURCE: u32 = u32::MAX;

/// A file with the trace of a capture, damaged in the middle, and behind it a frame with a trigger.
fn damaged(name: &str, test: &str) -> PathBuf {
    let mut bytes = std::fs::read(capture(name).join("ETB_0.bin")).unwrap();
    let middle = bytes.len() / 32 * 16;
    bytes[middle + 3..middle + 11].fill(0x55);
    bytes.extend([0x7d << 1 | 1, 5, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    let file = folder().join(format!("pushed-{test}-{name}-{}.bin", std::process::id()));
    std::fs::write(&file, bytes).unwrap();
    file
}

fn digits(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The lines that the client prints, by what it received.
#[derive(Debug, Default, PartialEq)]
struct Lines {
    elements: Vec<String>,
    packets: Vec<String>,
    links: Vec<String>,
    /// The bytes of frames, of which a call may have any number.
    packed: String,
    fragments: Vec<String>,
    reports: Vec<String>,
}

impl Lines {
    fn printed(text: &str) -> Lines {
        let mut own = Lines::default();
        for line in text.lines() {
            let Some((tag, rest)) = line.split_once(' ') else { continue };
            match tag {
                "E" => own.elements.push(rest.to_owned()),
                "P" => own.packets.push(rest.to_owned()),
                "L" => own.links.push(rest.to_owned()),
                "F" if rest.contains("|packed|") => {
                    own.packed += rest.rsplit('|').next().unwrap();
                }
                "F" => own.fragments.push(rest.to_owned()),
                "R" => own.reports.push(rest.to_owned()),
                _ => {}
            }
        }
        own
    }
}

impl Listener for Lines {
    fn element(&mut self, source: usize, at: u64, element: Element) {
        self.elements.push(format!("{source} {at} {} - ", element.kind()));
    }

    fn custom(&mut self, source: usize, at: u64, custom: Custom, bytes: &[u8]) {
        self.elements.push(format!("{source} {at} custom {} {}", custom.kind, digits(bytes)));
    }

    fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::Packet { source, bytes, packet } => {
                let (at, kind, bytes) = (bytes.at(), packet.kind(), digits(bytes.get()));
                let kind = kind.as_str();
                self.packets.push(format!("{source} {at} 0 0 {kind}|{packet}|{bytes}"));
            }
            Event::Undecodable { source, bytes, fault } => {
                let (at, bytes) = (bytes.at(), digits(bytes.get()));
                self.packets.push(format!("{source} {at} 0 0 undecodable|{fault}|{bytes}"));
            }
            Event::Link { at, event } => {
                let value = match event {
                    frames::Event::Trigger(value) | frames::Event::Flush(value) => *value,
                    _ => 0,
                };
                let text = match event {
                    frames::Event::Bad { len, fault } => {
                        format!("{len} undecodable bytes: {fault}")
                    }
                    other => format!("{other:?}"),
                };
                let kind = PacketKind::of(event);
                self.links.push(format!("{NO_SOURCE} {at} {value} 0 {}|{text}|", kind.as_str()));
            }
            Event::Packed { bytes, .. } => self.packed += &digits(bytes),
            Event::Fragment { id, at, bytes } => {
                let id = id.map_or(NO_SOURCE, u32::from);
                let bytes = digits(bytes);
                self.fragments.push(format!("{NO_SOURCE} {at} {id} 0 unpacked|unpacked|{bytes}"));
            }
            _ => {}
        }
    }

    fn wants(&self) -> Wants {
        Wants::EACH_PACKET.with_frames(true)
    }
}

/// What a session of the library reports of `bytes`, and the counts and last texts of its reports.
fn expected(trace: &Trace, bytes: &[u8], level: Severity) -> (Lines, String) {
    let (mut lines, mut reported) = (Lines::default(), Vec::new());
    let mut session = trace.session(&trace.plans()[0]).unwrap();
    let mut reports = Reports::new(level, |report| {
        let source = report.source.map_or(NO_SOURCE, |source| source as u32);
        let (severity, offset) = (report.severity as u32 + 1, report.offset);
        let (code, text) = (report.code.as_str(), &report.text);
        reported.push(format!("{severity} {source} {offset} {code}|{text}"));
    });
    let mut both = (&mut lines, &mut reports);
    session.feed(bytes, &mut both);
    session.finish(&mut both);
    let mut text = String::new();
    for (n, severity) in (1..).zip([Severity::Error, Severity::Warning, Severity::Info]) {
        let _ = writeln!(text, "counted {n} {}", reports.count(severity));
    }
    for (name, source) in [("source", Some(0)), ("link", None)] {
        let last = reports.last(source).map_or("-".to_owned(), ToString::to_string);
        let _ = writeln!(text, "last {name} {last}");
    }
    drop(reports);
    lines.reports = reported;
    (lines, text)
}

#[test]
fn each_function_receives_what_the_library_reports() {
    let Some(program) = compile("tests/integration/pushed.c", &["-DALL"]) else { return };
    for name in ["etmv4", "ptm", "itm"] {
        let trace = tracewright::open(capture(name)).unwrap();
        let file = damaged(name, "all");
        let bytes = std::fs::read(&file).unwrap();
        let path = capture(name);
        for (number, level) in
            [("1", Severity::Error), ("2", Severity::Warning), ("3", Severity::Info)]
        {
            let args = ["all", path.to_str().unwrap(), file.to_str().unwrap(), number];
            let done = output(&run(&program, &args));
            let (want, end) = expected(&trace, &bytes, level);
            let got = Lines::printed(&done);
            assert_eq!(got, want, "{name}, level {number}");
            assert!(done.ends_with(&end), "{name}: {end} {}", &done[done.len() - 500..]);
            assert!(want.packets.len() > 4 && want.elements.len() > 4, "{name}: {want:?}");
            assert!(want.links.iter().any(|line| line.contains(" 5 0 trigger|")), "{name}");
            assert!(want.packed.len() == 2 * bytes.len() && want.fragments.len() > 10, "{name}");
            if name == "etmv4" {
                assert!(want.reports.iter().any(|line| line.starts_with('1')), "{name}");
            }
            if let Some(checked) = run_checked(&program, &args) {
                assert_eq!(output(&checked), done);
            }
        }
        std::fs::remove_file(file).unwrap();
    }
}

#[test]
fn a_client_waits_after_each_element_and_ends_at_any() {
    let Some(program) = compile("tests/integration/pushed.c", &["-DHOLD"]) else { return };
    let (trace, path) = (tracewright::open(capture("etmv4")).unwrap(), capture("etmv4"));
    let file = damaged("etmv4", "waits");
    let bytes = std::fs::read(&file).unwrap();
    let (want, _) = expected(&trace, &bytes, Severity::Error);
    let count = want.elements.len();
    let texts = [path.to_str().unwrap(), file.to_str().unwrap()];
    let done = output(&run(&program, &["hold", texts[0], texts[1]]));
    assert_eq!(Lines::printed(&done).elements, want.elements);
    for most in [1, 2, count / 2, count] {
        let number = most.to_string();
        let args = ["stop", texts[0], texts[1], &number];
        let done = output(&run(&program, &args));
        assert_eq!(Lines::printed(&done).elements, want.elements[..most], "{most}");
        assert!(done.contains("status 2 at "), "{done}");
        assert!(done.ends_with(&format!("after the reset {count}\n")), "{done}");
        if let Some(checked) = run_checked(&program, &args) {
            assert_eq!(output(&checked), done);
        }
    }
    std::fs::remove_file(file).unwrap();
}

/// Memory that is late, disappears, and is forgotten.
#[test]
fn memory_of_the_client_is_read_until_it_is_forgotten() {
    let Some(program) = compile("tests/integration/pushed.c", &["-DCHANGES"]) else { return };
    let original = tracewright::open(capture("etmv4")).unwrap();
    let own = folder().join(format!("pushed-memory-{}", std::process::id()));
    std::fs::create_dir_all(&own).unwrap();
    for entry in std::fs::read_dir(capture("etmv4")).unwrap() {
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
    let image = &original.sources()[0].image;
    let start = image.regions().iter().map(|region| region.start()).min().unwrap();
    let last = image.regions().iter().filter_map(|region| region.last()).max().unwrap();
    let mut memory = vec![0; (last - start + 1) as usize];
    for region in image.regions() {
        let (at, run) = ((region.start() - start) as usize, region.run(region.start()));
        memory[at..at + run.len()].copy_from_slice(run);
    }
    let code = own.join("code");
    std::fs::write(&code, memory).unwrap();

    let elements = original.elements().unwrap().map(|item| item.unwrap().element);
    let elements: Vec<_> = elements.collect();
    let ranges = elements.iter().filter(|element| matches!(element, Element::Range(_))).count();
    let trace = own.join("ETB_0.bin");
    let start = format!("{start:#x}");
    let args = [own.to_str(), trace.to_str(), code.to_str()].map(Option::unwrap);
    let args = ["memory", args[0], args[1], args[2], &start];
    let done = output(&run(&program, &args));
    assert_eq!(done, format!("ranges {ranges} elements {}\n", elements.len()));
    if let Some(checked) = run_checked(&program, &args) {
        assert_eq!(output(&checked), done);
    }
    std::fs::remove_dir_all(own).unwrap();
}

#[test]
fn wrong_calls_are_refused() {
    let Some(program) = compile("tests/integration/pushed.c", &["-DWRONG"]) else { return };
    let path = capture("etmv4");
    let args = ["wrong", path.to_str().unwrap()];
    assert_eq!(output(&run(&program, &args)), "refused\n");
    if let Some(checked) = run_checked(&program, &args) {
        assert_eq!(output(&checked), "refused\n");
    }
}

/// Two sources with a protocol of the client, and one that is left out: each has its own memory and
/// its own state, which is that of the beginning after undecodable bytes.
#[test]
fn sources_have_their_own_memory_and_state() {
    let Some(program) = compile("tests/integration/sources.c", &[]) else { return };
    let start = |address: u64| [b"S", &address.to_le_bytes()[..]].concat();
    let one = [&start(0x1000)[..], b"BB?B", &start(0x2001), b"BB"].concat();
    let two = [&start(0x1000)[..], b"BB", &start(0x9000), b"B"].concat();
    let (mut joiner, mut bytes) = (Joiner::new(Framing::Coresight), Vec::new());
    joiner.push(0x31, &one, &mut bytes).unwrap();
    joiner.push(0x32, &two, &mut bytes).unwrap();
    joiner.finish(&mut bytes);
    let file = folder().join(format!("sources-{}.bin", std::process::id()));
    std::fs::write(&file, bytes).unwrap();
    let args = [file.to_str().unwrap()];
    let done = output(&run(&program, &args));
    let of = |source: &str| -> Vec<&str> {
        done.lines().filter_map(|line| line.strip_prefix(source)?.strip_prefix(' ')).collect()
    };
    let one = [
        "custom branch 1 of 1",
        "range 0x1000-0x1008 1",
        "custom branch 2 of 1",
        "range 0x1000-0x1008 1",
        "undecodable",
        "custom branch 1 of 1",
        "custom branch 2 of 1",
        "range 0x2000-0x2006 3",
        "custom branch 3 of 1",
        "range 0x2010-0x2018 2",
        "end",
    ];
    let two = [
        "custom branch 1 of 1",
        "range 0x1000-0x1008 1",
        "custom branch 2 of 1",
        "range 0x1004-0x1008 1",
        "custom branch 3 of 1",
        "no-code 0x9000",
        "end",
    ];
    assert_eq!(of("1"), one, "{done}");
    assert_eq!(of("2"), two, "{done}");
    assert!(done.ends_with("asked 0 1 1 0\nreported\nnone\n"), "{done}");
    if let Some(checked) = run_checked(&program, &args) {
        assert_eq!(output(&checked), done);
    }
    std::fs::remove_file(file).unwrap();
}
