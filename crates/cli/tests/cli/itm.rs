//! `tracewright itm`: text, exceptions, samples and watched data, from files and live.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tracewright::Element;
use tracewright::base::Channel;
use tracewright::decode::swo::{Receiver, Wanted};
use tracewright::frames::Framing;
use tracewright_testing::{is_long, shared};

use crate::common::{Folder, args, command, tracewright};

/// IRQ 0, interrupted by SysTick, with local timestamps, text, a sample, watched data and numbers.
const TRACE: &[u8] = &[
    0, 0, 0, 0, 0, 0x80, // synchronisation
    0x01, b'H', 0x01, b'i', 0x01, b'\n', 0xc0, 0x64, // "Hi", then 100 ticks
    0x0e, 0x10, 0x10, 0xc0, 0x0a, // entered IRQ 0 at 110
    0x0e, 0x0f, 0x10, 0xc0, 0x14, // entered SysTick at 130
    0x17, 0x04, 0x02, 0x00, 0x08, 0xc0, 0x05, // sample at 135
    0x0e, 0x0f, 0x20, 0xc0, 0x19, // exited SysTick at 160
    0x0e, 0x10, 0x30, 0x0b, 0x2a, 0, 0, 0, 0xc0,
    0x01, // returned to IRQ 0, 42 on port 1, at 161
    0x8d, 0x07, 0x0e, 0x10, 0x20, 0xc0, 0x31, // comparator 0 wrote 7, exited IRQ 0, at 210
    0x0e, 0x00, 0x30, 0xc0, 0x01, // returned to Thread at 211
];

fn file(folder: &Folder, name: &str, bytes: &[u8]) -> std::path::PathBuf {
    let path = folder.path(name);
    fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn events_have_times_and_durations() {
    let folder = Folder::new("itm-events");
    let path = file(&folder, "swo.bin", TRACE);
    let output = tracewright(&args("itm", &[&path]));
    assert_eq!(output.code, Some(0), "{}", output.err);
    let lines: Vec<String> = output
        .out
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    let want = [
        "6 100 port 0 Hi",
        "14 110 exception entered IRQ 0",
        "19 130 exception entered SysTick, nested 2 deep",
        "24 135 sample pc 0x08000204",
        "31 160 exception exited SysTick after 30 ticks",
        "36 161 exception returned to IRQ 0",
        "39 161 port 1 0x0000002a",
        "46 210 data comparator 0: wrote 0x07",
        "48 210 exception exited IRQ 0 after 100 ticks",
        "53 211 exception returned to Thread",
    ];
    assert_eq!(lines, want);
    assert!(output.err.contains("58 bytes of an ITM without framing"), "{}", output.err);
    // Seconds, and the lines of one port and of some kinds.
    let output = tracewright(&args("itm --frequency 1000000 --port 0", &[&path]));
    let words: Vec<_> = output.out.split_whitespace().collect();
    assert_eq!(words, ["6", "0.000100000", "port", "0", "Hi"]);
    let output = tracewright(&args("itm --only sample,data", &[&path]));
    assert_eq!(output.out.lines().count(), 2, "{}", output.out);
}

#[test]
fn formats() {
    let folder = Folder::new("itm-formats");
    let path = file(&folder, "swo.bin", TRACE);
    let output = tracewright(&args("itm --format json --frequency 1000", &[&path]));
    let lines: Vec<Value> =
        output.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 14);
    assert_eq!(lines[0]["verb"], "itm");
    let [text, exit] = [&lines[1], &lines[12]];
    assert_eq!(
        (&text["type"], &text["port"], &text["text"], &text["time"], &text["seconds"]),
        (&"text".into(), &0.into(), &"Hi".into(), &"100".into(), &"0.100000000".into())
    );
    assert_eq!(
        (&exit["name"], &exit["step"], &exit["duration"], &exit["depth"]),
        (&"IRQ 0".into(), &"exited".into(), &"100".into(), &1.into())
    );
    let output = tracewright(&args("itm --format csv", &[&path]));
    let lines: Vec<_> = output.out.lines().collect();
    let columns = lines[0].split(',').count();
    assert!(lines.iter().all(|line| line.split(',').count() == columns), "{}", output.out);
    assert_eq!(lines[1], "6,100,,ITM,text,0,,,,,,,,,,,Hi,,,");
    assert_eq!(lines[8], "31,160,,ITM,exception,,,15,SysTick,exited,2,30,,,,,,,,");
    let output = tracewright(&args("itm --format vcd", &[&path]));
    let definitions: Vec<_> = output.out.lines().filter(|line| line.starts_with("$var")).collect();
    assert_eq!(definitions.len(), 5, "{}", output.out);
    let exception = definitions.iter().find(|line| line.contains(" exception ")).unwrap();
    let code = exception.split_whitespace().nth(3).unwrap();
    let (mut time, mut changes) = ("", Vec::new());
    for line in output.out.lines() {
        if let Some(now) = line.strip_prefix('#') {
            time = now;
        } else if line.split_whitespace().nth(1) == Some(code) {
            changes.push((time, line.split_whitespace().next().unwrap()));
        }
    }
    let active = |number: u32| format!("b{number:b}");
    let want = [("110", 16), ("130", 15), ("160", 16), ("161", 16), ("210", 0), ("211", 0)];
    let want = want.map(|(time, number)| (time, active(number)));
    let want: Vec<_> = want.iter().map(|(time, value)| (*time, value.as_str())).collect();
    assert_eq!(changes, want);
}

#[test]
fn totals_of_exceptions() {
    let folder = Folder::new("itm-exceptions");
    let path = file(&folder, "swo.bin", &[TRACE, &TRACE[14..]].concat());
    let output = tracewright(&args("itm --exceptions", &[&path]));
    let rows: Vec<Vec<&str>> =
        output.out.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[1], ["SysTick", "2", "2", "30", "30", "30", "2", "2", "0", "0", "-"]);
    assert_eq!(rows[2], ["IRQ", "0", "2", "2", "100", "100", "100", "0", "1", "0", "0", "-"]);
    let output = tracewright(&args("itm --exceptions --format csv", &[&path]));
    assert!(output.out.contains("\n16,IRQ 0,2,2,100,100,100,0,1,0,0,\n"), "{}", output.out);
    let output = tracewright(&args("itm --profile --format csv", &[&path]));
    assert_eq!(output.out, "samples,percent,function\n2,100.00,\"0x08000204\"\n");
}

/// The trace of a Cortex-M3, against the events that sigrok's decoder finds.
#[test]
fn serial_wire_output_without_registers() {
    let Some(folder) = shared("captures/sigrok-stm32f105") else { return };
    let sigrok = fs::read_to_string(folder.join("sigrok_itm.txt")).unwrap();
    let want: Vec<(String, String)> = sigrok
        .lines()
        .filter_map(|line| line.strip_prefix("arm_itm-1: ")?.split_once(": "))
        .filter(|(port, _)| port.parse::<u8>().is_ok())
        .map(|(port, text)| (format!("port {port}"), text.trim_matches('"').to_owned()))
        .filter(|(_, text)| !text.starts_with("0x"))
        .collect();
    let texts = |out: &str| -> Vec<(String, String)> {
        let texts = out.lines().map(|line| {
            let words: Vec<_> = line.split_whitespace().collect();
            (words[2..4].join(" "), words[4..].join(" "))
        });
        texts.collect()
    };
    let bytes = folder.join("swo_uart.bin");
    let output = tracewright(&args("itm --only text", &[&bytes]));
    assert_eq!(output.code, Some(0), "{}", output.err);
    assert!(want.len() >= 17, "{want:?}");
    assert_eq!(texts(&output.out), want);
    let samples = tracewright(&args("itm --only sample", &[&bytes]));
    let profile = tracewright(&args(
        "itm --profile --format csv --image",
        &[&folder.join("trace_example.elf"), &bytes],
    ));
    assert!(profile.out.contains("\n381,96.95,\"delay\"\n"), "{}", profile.out);
    let pcs = sigrok.lines().filter(|line| line.contains(" PC: ")).count();
    assert_eq!(samples.out.lines().count(), pcs + 1, "one sample is asleep or prohibited");

    // The recording of the level gives the same bytes, with times.
    let level = folder.join("trace_example.sr");
    let output = tracewright(&args("itm --port 0 --only text", &[&level]));
    assert_eq!(output.code, Some(0), "{}", output.err);
    let times: Vec<f64> = output
        .out
        .lines()
        .map(|line| line.split_whitespace().nth(1).unwrap().parse().unwrap())
        .collect();
    // The main loop prints every 5 ms.
    assert_eq!(times.len(), 10, "{}", output.out);
    assert!(times.windows(2).all(|t| (0.0049..0.0053).contains(&(t[1] - t[0]))), "{times:?}");
    let all = |path: &Path| {
        let out = tracewright(&args("itm", &[path])).out;
        let line = |line: &str| {
            let mut words: Vec<_> = line.split_whitespace().map(str::to_owned).collect();
            words.remove(1);
            let words = words.join(" ");
            // Bounds of durations need times.
            words.split(", IRQ 28 had ended").next().unwrap_or_default().to_owned()
        };
        out.lines().map(line).collect::<Vec<_>>()
    };
    assert_eq!(all(&level), all(&bytes));
}

/// A capture that begins inside a frame has the same text.
#[test]
fn frames_from_any_byte_on() {
    let Some(folder) = shared("captures/sigrok-stm32f105") else { return };
    let bytes = fs::read(folder.join("swo_uart.bin")).unwrap();
    let folder = Folder::new("itm-cuts");
    for cut in [1, 5, 10, 15] {
        let path = file(&folder, "cut.bin", &bytes[cut..]);
        let output = tracewright(&args("itm --port 0", &[&path]));
        let texts: Vec<_> =
            output.out.lines().map(|line| line.split_whitespace().last().unwrap()).collect();
        assert_eq!(texts, ["On", "Off"].repeat(5), "cut {cut}: {}", output.err);
    }
}

#[test]
fn a_capture_with_registers() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/captures/itm/capture");
    let output = tracewright(&args("itm --port 0", &[&path]));
    assert_eq!(output.code, Some(0), "{}", output.err);
    assert!(output.out.contains("port 0     Hello, world\n"), "{}", output.out);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/captures/etmv4/capture");
    let output = tracewright(&args("itm", &[&path]));
    assert_eq!(output.code, Some(2));
    assert!(output.err.contains("no ITM or STM"), "{}", output.err);
}

/// The trace buffer of the built-in example.
fn example(folder: &Folder) -> std::path::PathBuf {
    let path = folder.path("example");
    let output = tracewright(&args("demo --write", &[&path]));
    assert_eq!(output.code, Some(0), "{}", output.err);
    path.join("ETB.bin")
}

/// A pause after the first bytes of a live trace does not change its lines: frames of which the ITM
/// has some, cut inside a line and inside a frame.
#[test]
fn a_pause_after_the_first_bytes() {
    let folder = Folder::new("itm-pause");
    let path = example(&folder);
    let bytes = fs::read(&path).unwrap();
    let whole = tracewright(&args("itm --port 0", &[&path]));
    assert_eq!(whole.out.lines().count(), 15, "{}", whole.err);
    for (cut, given) in [
        (20, ""),
        (35, ""),
        (64, ""),
        (130, ""),
        (35, "--framing coresight --id 0x20"),
        (130, "--framing coresight --id 0x20"),
    ] {
        let mut words: Vec<_> = "itm - --port 0".split(' ').collect();
        words.extend(given.split_whitespace());
        let mut child = command(&words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        input.write_all(&bytes[..cut]).unwrap();
        thread::sleep(Duration::from_millis(100));
        input.write_all(&bytes[cut..]).unwrap();
        drop(input);
        let output: crate::common::Output = child.wait_with_output().unwrap().into();
        assert_eq!(output.out, whole.out, "cut at {cut} {given}: {}", output.err);
    }
}

/// The elements of a receiver are the same with a pause after any byte, but for those of bytes that
/// only the whole trace shows to be no packet.
#[test]
fn a_pause_after_any_byte() {
    let folder = Folder::new("itm-any-pause");
    let bytes = fs::read(example(&folder)).unwrap();
    let receive = |cut: usize, wanted: Wanted, of: &dyn Fn(&Element) -> bool| {
        let (mut receiver, mut elements) = (Receiver::new(wanted), Vec::new());
        receiver.feed(&bytes[..cut], &mut elements);
        receiver.pause(&mut elements);
        receiver.feed(&bytes[cut..], &mut elements);
        receiver.finish(&mut elements);
        elements.retain(|(_, element)| of(element));
        elements
    };
    let writes = |element: &Element| match element {
        Element::SoftwareWrite(write) => matches!(write.channel, Channel::Port { port: 0 | 1, .. }),
        element => matches!(element, Element::LocalTimestamp(_) | Element::DwtEvent(_)),
    };
    let value = |elements: Vec<(u64, Element)>| -> Vec<_> {
        let of = |(at, element)| match element {
            Element::SoftwareWrite(write) => (at, write.value()),
            Element::LocalTimestamp(time) => (at, time.total),
            element => panic!("{element:?}"),
        };
        elements.into_iter().map(of).collect()
    };
    let given = Wanted { framing: Some(Framing::Coresight), id: Some(0x20) };
    let (whole, exact) =
        (value(receive(0, Wanted::default(), &writes)), receive(0, given, &|_| true));
    assert!(whole.len() > 100);
    for cut in 1..=400 {
        assert_eq!(value(receive(cut, Wanted::default(), &writes)), whole, "cut at {cut}");
        assert_eq!(receive(cut, given, &|_| true), exact, "cut at {cut}, with a given form");
    }
}

/// Frames are not chosen because events are newer than Armv7-M: addresses of one byte.
#[test]
fn short_addresses_are_no_frames() {
    let folder = Folder::new("itm-short-addresses");
    let pair = |n: u8| [0x4d, 0x10 + n, 0xc0, 0x05, 0x5d, 0x40 + n, 0x50];
    let bytes: Vec<u8> = (0..12).flat_map(pair).collect();
    let path = file(&folder, "swo.bin", &[&TRACE[..6], &bytes].concat());
    let output = tracewright(&args("itm", &[&path]));
    assert!(output.err.contains("of an ITM without framing"), "{}", output.err);
    assert!(!output.err.contains("few of the bytes"), "{}", output.err);
    assert_eq!(output.out.matches("at 0x??????").count(), 24, "{}", output.out);
}

/// Events that share a timestamp have bounds, and none of their durations is 0.
#[test]
fn durations_that_were_not_measured() {
    let folder = Folder::new("itm-bounds");
    let trace = [
        &TRACE[..6],
        // Entered IRQ 0 at 100; exited, and a write, until 150.
        &[0x0e, 0x10, 0x10, 0xc0, 0x64, 0x0e, 0x10, 0x20, 0x09, 0x41, 0xc0, 0x32],
        // Entered and exited until 160.
        &[0x0e, 0x10, 0x10, 0x0e, 0x10, 0x20, 0xc0, 0x0a],
        // Entered at 170, exited at 180, delayed.
        &[0x0e, 0x10, 0x10, 0xc0, 0x0a, 0x0e, 0x10, 0x20, 0xd0, 0x0a],
        // Entered at 190, exited at 240.
        &[0x0e, 0x10, 0x10, 0xc0, 0x0a, 0x0e, 0x10, 0x20, 0xc0, 0x32],
    ];
    let path = file(&folder, "swo.bin", &trace.concat());
    let output = tracewright(&args("itm --only exception", &[&path]));
    let ends: Vec<_> =
        output.out.lines().filter_map(|line| line.split_once("exited IRQ 0")).collect();
    let ends: Vec<_> = ends.into_iter().map(|(_, end)| end).collect();
    let want = [
        " after at most 50 ticks",
        " after at most 10 ticks",
        " after at most 10 ticks",
        " after 50 ticks",
    ];
    assert_eq!(ends, want, "{}", output.out);
    let output = tracewright(&args("itm --exceptions", &[&path]));
    let row: Vec<_> = output.out.lines().nth(1).unwrap().split_whitespace().collect();
    assert_eq!(row, ["IRQ", "0", "4", "1", "50", "50", "50", "0", "1", "3", "3", "50"]);
    // One tick is less than the last digit.
    let output = tracewright(&args("itm --frequency 4000000000", &[&path]));
    assert!(output.out.contains("after 0.012 us"), "{}", output.out);
    assert!(!output.out.contains("0.000 us"), "{}", output.out);
}

/// A live trace without bytes has its usual causes on standard error.
#[test]
fn a_trace_without_bytes_is_reported() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("tcp://{}", server.local_addr().unwrap());
    let mut child =
        command(&["itm", &address]).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let (mut connection, _) = server.accept().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let line = lines.next().unwrap().unwrap();
    assert!(line.contains("no bytes have arrived in 3 seconds"), "{line}");
    connection.write_all(b"\x01o\x01\n").unwrap();
    drop(connection);
    assert!(lines.map(Result::unwrap).all(|line| !line.contains("no bytes")));
    child.wait().unwrap();
}

/// Everything that a server sent before it closed the connection is printed.
#[test]
fn a_lost_connection_is_reported() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("tcp://{}", server.local_addr().unwrap());
    let mut child =
        command(&["itm", &address]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let (mut connection, _) = server.accept().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    connection.write_all(b"\x01o\x01n\x01e\x01\n").unwrap();
    // The line arrives while the connection is open.
    let line = lines.next().unwrap().unwrap();
    assert!(line.ends_with("port 0     one"), "{line}");
    // Each line arrives before the next is sent, and on a machine without other work in 50 ms.
    let latency = |n: u8| {
        let start = Instant::now();
        connection.write_all(&[1, b'a' + n, 1, b'\n']).unwrap();
        let line = lines.next().unwrap().unwrap();
        assert!(line.ends_with(char::from(b'a' + n)), "{line}");
        start.elapsed()
    };
    let least = (0..8).map(latency).min().unwrap();
    assert!(!is_long() || least < Duration::from_millis(50), "{least:?}");
    connection.write_all(b"\x01t\x01w\x01o").unwrap();
    drop(connection);
    let rest: Vec<_> = lines.map(Result::unwrap).collect();
    assert_eq!(rest.len(), 1);
    assert!(rest[0].ends_with("port 0     two"), "{rest:?}");
    let mut err = String::new();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1), "{err}");
    assert!(err.contains("closed by the other side after 46 bytes"), "{err}");
    // No server.
    drop(server);
    let output = tracewright(&["itm", &address]);
    assert_eq!(output.code, Some(2));
    assert!(output.err.contains("refused"), "{}", output.err);
}

/// What servers of debug probes send: raw bytes, in pieces as the probe delivers them, from any
/// byte on; that of J-Link has a line of text first where it is a terminal port.
#[test]
fn servers_of_debug_probes() {
    let text = |n: u8| [1, b'a' + n, 1, b'\n'];
    let lines: Vec<u8> = (0..8).flat_map(text).collect();
    let pieces: [(&str, Vec<&[u8]>, &str); 4] = [
        // OpenOCD sends what it polls; pyOCD what it reads, often a byte.
        ("openocd", vec![&lines[..20], &lines[20..]], ""),
        ("pyocd", lines.chunks(1).collect(), ""),
        // A client that connects late begins inside of a packet.
        ("jlink", vec![&lines[..5], &lines[5..6], &lines[6..]], ""),
        (
            "jlink-terminal",
            vec![b"SEGGER J-Link V7.", b"92o - Real time terminal output\r\n", &lines],
            "text of a terminal",
        ),
    ];
    for (name, pieces, note) in pieces {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("tcp://{}", server.local_addr().unwrap());
        let child = command(&["itm", &address])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (mut connection, _) = server.accept().unwrap();
        connection.set_nodelay(true).unwrap();
        for piece in pieces {
            connection.write_all(piece).unwrap();
            thread::sleep(std::time::Duration::from_millis(1));
        }
        drop(connection);
        let output: crate::common::Output = child.wait_with_output().unwrap().into();
        assert_eq!(output.code, Some(1), "{name}: {}", output.err);
        let shown: Vec<_> = output.out.lines().map(|line| line.chars().last().unwrap()).collect();
        assert_eq!(shown.iter().collect::<String>(), "abcdefgh", "{name}: {}", output.out);
        assert!(output.err.contains(note), "{name}: {}", output.err);
    }
}

#[test]
fn a_file_that_grows() {
    let folder = Folder::new("itm-follow");
    let path = file(&folder, "swo.bin", b"\x01o\x01n\x01e\x01\n");
    let mut child = command(&args("itm --follow", &[&path]))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().ends_with("one"));
    let mut more = OpenOptions::new().append(true).open(&path).unwrap();
    more.write_all(b"\x01t\x01w\x01o").unwrap();
    // A line without a line feed ends as nothing follows.
    assert!(lines.next().unwrap().unwrap().ends_with("two"));
    // A file that becomes shorter is another one.
    File::create(&path).unwrap();
    assert!(lines.next().is_none());
    let output: crate::common::Output = child.wait_with_output().unwrap().into();
    assert_eq!(output.code, Some(2));
    assert!(output.err.contains("has become shorter"), "{}", output.err);
}

#[test]
fn standard_input_and_wrong_files() {
    let mut child = command(&["itm", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let feed = thread::spawn(move || input.write_all(TRACE));
    let output: crate::common::Output = child.wait_with_output().unwrap().into();
    feed.join().unwrap().unwrap();
    assert_eq!((output.code, output.out.lines().count()), (Some(0), 10), "{}", output.err);
    let folder = Folder::new("itm-wrong");
    let path = file(&folder, "a.elf", b"\x7fELF\x01\x01\x01 and so on");
    let output = tracewright(&args("itm", &[&path]));
    assert_eq!(output.code, Some(2));
    assert!(output.err.contains("ELF file"), "{}", output.err);
    let path = file(&folder, "damaged.bin", &[TRACE, &[0x04, 0xff], TRACE].concat());
    let output = tracewright(&args("itm --strict", &[&path]));
    assert_eq!(output.code, Some(1), "{}", output.err);
}

/// A capture records framing and sources; a trace ID selects among them.
#[test]
fn options_of_captures() {
    let folder = Folder::with_demo("itm-options");
    let demo = folder.demo();
    let all = tracewright(&args("itm", &[&demo]));
    assert_eq!(all.code, Some(0), "{}", all.err);
    let own = tracewright(&args("itm --id 0x20", &[&demo]));
    assert_eq!((own.code, &own.out), (Some(0), &all.out), "{}", own.err);
    for (words, message) in [
        ("--id 0x10", "no ITM or STM that can be decoded has this trace ID"),
        ("--id 5", "no ITM or STM that can be decoded has this trace ID"),
        ("--framing raw", "the capture records the framing"),
        ("--baud 3", "--signal and --baud"),
        ("--signal foo", "--signal and --baud"),
    ] {
        let output = tracewright(&args(&format!("itm {words}"), &[&demo]));
        assert_eq!(output.code, Some(2), "{words}: {}", output.err);
        assert!(output.err.contains(message), "{words}: {}", output.err);
        assert_eq!(output.out, "", "{words}");
    }
    // Options of perf.data may be there for all captures: a note.
    for option in ["--symfs .", "--binary a.out"] {
        let output = tracewright(&args(&format!("decode {option}"), &[&demo]));
        assert_eq!(output.code, Some(0), "{option}: {}", output.err);
        assert!(output.err.contains("are for perf.data"), "{option}: {}", output.err);
    }
}

/// A signal ends the trace: what arrived is in the file, which has its name.
#[test]
#[cfg(unix)]
fn a_live_output_is_complete_after_a_signal() {
    let folder = Folder::new("itm-signal");
    let out = folder.path("out");
    for (signal, format) in [("INT", "text"), ("TERM", "csv"), ("HUP", "json"), ("INT", "vcd")] {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("tcp://{}", server.local_addr().unwrap());
        let mut words = args(&format!("itm {address} --format {format} -o"), &[&out]);
        words.extend(args(if format == "vcd" { "" } else { "--only text" }, &[]));
        let child = command(&words).stderr(Stdio::piped()).spawn().unwrap();
        let (mut connection, _) = server.accept().unwrap();
        connection.write_all(b"\x01o\x01n\x01e\x01\n\x01t\x01w\x01o").unwrap();
        thread::sleep(Duration::from_millis(200));
        let mut kill = std::process::Command::new("kill");
        kill.args([format!("-{signal}"), child.id().to_string()]);
        assert!(kill.status().unwrap().success());
        let output: crate::common::Output = child.wait_with_output().unwrap().into();
        assert_eq!(output.code, Some(0), "{signal} {format}: {}", output.err);
        assert!(output.err.contains("14 bytes"), "{}", output.err);
        assert_eq!(fs::read_dir(folder.path("")).unwrap().count(), 1, "{signal} {format}");
        let text = fs::read_to_string(&out).unwrap();
        assert!(text.ends_with('\n'), "{text}");
        match format {
            "vcd" => assert!(text.contains("$enddefinitions"), "{text}"),
            _ => assert!(text.contains("one") && text.contains("two"), "{text}"),
        }
        fs::remove_file(&out).unwrap();
    }
    // The same of raw trace data that arrives on a pipe, after the bytes that are looked at first.
    let mut words = args("decode - --protocol ITM --framing raw -o", &[&out]);
    words.extend(args("--jobs 2", &[]));
    let mut child = command(&words).stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"\0\0\0\0\0\x80").unwrap();
    input.write_all(&b"\x01o\x01n\x01e\x01\n".repeat(10_000)).unwrap();
    thread::sleep(Duration::from_millis(200));
    let mut kill = std::process::Command::new("kill");
    assert!(kill.arg("-TERM").arg(child.id().to_string()).status().unwrap().success());
    let output: crate::common::Output = child.wait_with_output().unwrap().into();
    drop(input);
    assert_eq!(output.code, Some(0), "{}", output.err);
    assert_eq!(fs::read_to_string(&out).unwrap().matches("one").count(), 10_000);
}
