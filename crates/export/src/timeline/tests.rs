//! The same frames and times in the formats.

use tracewright_analysis::stacks::{Begin, Ending, Entry, Position, Time, Visitor};
use tracewright_analysis::{Code, FunctionId, Timeline};
use tracewright_capture::proto::{Value, fields};
use tracewright_symbols::Functions;

use super::*;

/// Functions at these addresses: a caller from instruction 0 to 9, and what it calls from 4 to 9.
const FRAMES: [(u64, u64); 2] = [(0x100, 0), (0x200, 4)];
const END: u64 = 9;

/// The frames on a source that has these timestamps: instructions before, ticks.
fn timeline(samples: &[(u64, u64)]) -> Timeline {
    let mut timeline = Timeline::new(10);
    let root = timeline.thread(0, 0, None);
    for &(instructions, ticks) in samples {
        let position = Position { instructions, ..Position::default() };
        timeline.time(&position, Time::Timestamp(ticks));
    }
    let mut nodes = Vec::new();
    for (depth, &(address, instructions)) in FRAMES.iter().enumerate() {
        let position = Position { instructions, depth, ..Position::default() };
        let begin =
            Begin { function: FunctionId::At(address), entry: Entry::Call, address: Some(address) };
        nodes.push(timeline.begin(&position, root, &begin));
    }
    let position = Position { instructions: END, ..Position::default() };
    for node in nodes.into_iter().rev() {
        timeline.end(&position, node, Ending::Return, false);
    }
    timeline
}

fn written(format: TimelineFormat, timeline: &Timeline, frequency: Option<u64>) -> Vec<u8> {
    let code = Code::of(Functions::default(), 1);
    let names = ["s".to_owned()];
    let view = TimelineView {
        warning: "",
        timeline,
        code: &code,
        threads: &names,
        sources: &names,
        counters: &[],
        frequency,
    };
    let mut file = Vec::new();
    format.write(&view, &mut |piece| {
        file.extend(piece);
        true
    });
    file
}

fn text(format: TimelineFormat, timeline: &Timeline, frequency: Option<u64>) -> String {
    String::from_utf8(written(format, timeline, frequency)).expect("text")
}

/// Perfetto drops an event without a time: 0 is written, too.
#[test]
fn perfetto_has_the_time_of_each_event() {
    let file = written(TimelineFormat::Perfetto, &timeline(&[]), None);
    let (mut events, mut times) = (0, Vec::new());
    for (_, packet) in fields(&file) {
        let Value::Bytes(packet) = packet else { continue };
        events += fields(packet).filter(|(field, _)| *field == 11).count();
        times.extend(fields(packet).filter_map(|(field, value)| match value {
            Value::Number(time) if field == 8 => Some(time),
            _ => None,
        }));
    }
    assert_eq!((events, times), (4, vec![0, 4, 9, 9]));
}

/// An instruction takes 0.7 ns here. A frame does not end after its caller.
#[test]
fn events_of_chrome_end_with_their_callers() {
    let file = text(TimelineFormat::Chrome, &timeline(&[(0, 0), (10, 7)]), None);
    let times: Vec<&str> =
        file.lines().filter_map(|line| Some(line.split_once("\"ts\":")?.1)).collect();
    assert!(times[0].starts_with("0,\"dur\":0.006,"), "{file}");
    assert!(times[1].starts_with("0.002,\"dur\":0.004,"), "{file}");
}

/// A clock that counts nanoseconds since 1970 needs more than 64 bits for picoseconds.
#[test]
fn times_are_counted_from_the_first_timestamp_where_they_are_large() {
    let first = 1_764_000_000_000_000_000;
    let timeline = timeline(&[(0, first), (9, first + 90)]);
    for frequency in [None, Some(1_000_000_000)] {
        let file = text(TimelineFormat::Speedscope, &timeline, frequency);
        let times: Vec<&str> =
            file.lines().filter_map(|line| Some(line.split_once("\"at\":")?.1)).collect();
        let times: Vec<&str> = times.iter().filter_map(|at| at.split('}').next()).collect();
        assert_eq!(times, ["0", "40", "90", "90"], "{file}");
        assert!(file.contains(&format!("counted from timestamp {first}")), "{file}");
    }
    // A slow clock has larger picoseconds.
    let file = text(TimelineFormat::Vcd, &timeline, Some(1));
    assert!(file.contains("#0\n") && file.contains("#90000000000000\n"), "{file}");
}

/// Two tasks, an exception in the first one whose handler calls a function, and a switch while both
/// have open frames. The first task is not seen to end.
#[test]
fn processes_and_runnables_of_btf() {
    let mut timeline = Timeline::new(20);
    let roots = [0, 1].map(|thread| timeline.thread(0, thread, None));
    let at = |thread: usize, instructions: u64, depth: usize| Position {
        thread,
        instructions,
        depth,
        ..Position::default()
    };
    let begin = |address: u64, entry: Entry| Begin {
        function: FunctionId::At(address),
        entry,
        address: Some(address),
    };
    // Thread 0: function 0x10 from 0 on; exception 15 from 4 to 8 calls 0x30 from 5 to 7.
    let main = timeline.begin(&at(0, 0, 0), roots[0], &begin(0x10, Entry::Call));
    timeline.run(&at(0, 4, 1), main, 4, 0);
    let handler = timeline.begin(&at(0, 4, 1), main, &begin(0x20, Entry::Exception(15)));
    let called = timeline.begin(&at(0, 5, 2), handler, &begin(0x30, Entry::Call));
    timeline.end(&at(0, 7, 2), called, Ending::Return, false);
    timeline.end(&at(0, 8, 1), handler, Ending::Return, false);
    // Thread 1 from 10 to 14, and thread 0 again.
    timeline.run(&at(0, 10, 1), main, 6, 0);
    let other = timeline.begin(&at(1, 10, 0), roots[1], &begin(0x40, Entry::Call));
    timeline.run(&at(1, 14, 1), other, 4, 0);
    timeline.run(&at(0, 18, 1), main, 4, 0);
    timeline.end(&at(0, 18, 0), main, Ending::Return, false);
    timeline.end(&at(1, 18, 0), other, Ending::TraceEnd, false);
    let code = Code::of(Functions::default(), 1);
    let view = TimelineView {
        warning: "",
        timeline: &timeline,
        code: &code,
        threads: &["main".to_owned(), "a, b".to_owned()],
        sources: &["cpu 0".to_owned()],
        counters: &[],
        frequency: None,
    };
    let mut file = Vec::new();
    TimelineFormat::Btf.write(&view, &mut |piece| {
        file.extend(piece);
        true
    });
    let file = String::from_utf8(file).expect("text");
    let rows: Vec<&str> = file.lines().filter(|line| !line.starts_with('#')).collect();
    let want = "0,cpu_0,0,T,main,0,start
0,main,0,R,0x10,0,start
4,main,0,R,0x10,0,suspend
4,cpu_0,0,T,main,0,preempt
4,cpu_0,0,I,exception_15,0,start
4,exception_15,0,R,0x20,0,start
5,exception_15,0,R,0x30,0,start
7,exception_15,0,R,0x30,0,terminate
8,exception_15,0,R,0x20,0,terminate
8,cpu_0,0,I,exception_15,0,terminate
8,cpu_0,0,T,main,0,resume
8,main,0,R,0x10,0,resume
10,main,0,R,0x10,0,suspend
10,cpu_0,0,T,main,0,preempt
10,cpu_0,0,T,a__b,0,start
10,a__b,0,R,0x40,0,start
14,a__b,0,R,0x40,0,suspend
14,cpu_0,0,T,a__b,0,preempt
14,cpu_0,0,T,main,0,resume
14,main,0,R,0x10,0,resume
18,main,0,R,0x10,0,terminate";
    assert_eq!(rows, want.lines().collect::<Vec<_>>(), "{file}");
    assert!(file.starts_with("#version 2.1.5\n#creator Tracewright "), "{file}");
    assert!(file.contains("\n#timeScale ns\n"), "{file}");
    // Of nine events the last would be one of two at the same time.
    let mut cut = Vec::new();
    let mut put = |piece: Vec<u8>| {
        cut.extend(piece);
        true
    };
    let mut out = Pieces::new(&mut put);
    btf::write_most(&view, &mut out, 9);
    out.finish();
    let cut = String::from_utf8(cut).expect("text");
    assert!(cut.contains("\n# more than 9 events: those from 8 on are left out\n"), "{cut}");
    let got: Vec<&str> = cut.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(got, rows[..8], "{cut}");
}

/// A signal with a negative value is none of the Firefox Profiler, which counts from the least one.
#[test]
fn counters_of_the_firefox_profiler() {
    let timeline = timeline(&[]);
    let code = Code::of(Functions::default(), 1);
    let names = ["s".to_owned()];
    let counter = |name: &str, unit: &str, values: &[(u64, f64)]| Counter {
        source: 0,
        name: name.to_owned(),
        unit: unit.to_owned(),
        values: values.to_vec(),
        is_clocked: false,
    };
    let counters = [
        counter("load", "%", &[(0, 50.0), (2, 50.0), (4, 100.0)]),
        counter("level", "mV", &[(1, 3.0)]),
        counter("offset", "mV", &[(1, 3.0), (2, -1.0)]),
        Counter { source: 1, ..counter("of no thread", "", &[(1, 1.0)]) },
    ];
    let view = TimelineView {
        warning: "",
        timeline: &timeline,
        code: &code,
        threads: &names,
        sources: &names,
        counters: &counters,
        frequency: None,
    };
    let mut file = Vec::new();
    TimelineFormat::Firefox.write(&view, &mut |piece| {
        file.extend(piece);
        true
    });
    let file = String::from_utf8(file).expect("text");
    let (_, counters) = file.split_once("\"counters\":").expect("counters");
    let names: Vec<&str> =
        counters.split("{\"name\":").skip(1).filter_map(|own| own.split(',').next()).collect();
    assert_eq!(names, ["\"load\"", "\"level (mV)\""]);
    // An instruction is a nanosecond. A value holds to the picosecond before the next one.
    assert!(counters.contains("\"count\":[0,0.5,0,0.5,0]"), "{counters}");
    assert!(
        counters.contains("\"timeDeltas\":[0,0.000000001,0.000003998,0.000000001,"),
        "{counters}"
    );
    assert!(counters.contains("\"count\":[0,3,0]"), "{counters}");
    assert!(counters.contains("\"format\":{\"unit\":\"percent\"}"), "{counters}");
}
