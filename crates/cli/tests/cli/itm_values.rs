//! Values of ports and comparators: types, variables, outputs for plots, times of arrival.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, UdpSocket};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;

use crate::common::{Folder, args, command, tracewright};

/// A synchronisation; comparator 0 wrote 1, 2 and -1 as words, and a float in two ports.
const DATA: &[u8] = &[
    0, 0, 0, 0, 0, 0x80, // synchronisation
    0x8f, 1, 0, 0, 0, 0xc0, 0x0a, // 1 at 10
    0x8f, 0xff, 0xff, 0xff, 0xff, 0xc0, 0x0a, // -1 at 20
    0x1b, 0, 0, 0xc0, 0x3f, 0x13, 0, 0, 0x20, 0x40, 0xc0,
    0x0a, // 1.5 on port 3, 2.5 on port 2, at 30
    0x5e, 0x20, 0x00, 0xc0, 0x0a, // comparator 1: address 0x0020 at 40
];

/// A program with variables, and the folder of its source.
fn program() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../symbols/tests/variables/v.elf")
}

fn data(folder: &Folder) -> std::path::PathBuf {
    let path = folder.path("swo.bin");
    std::fs::write(&path, DATA).unwrap();
    path
}

/// A variable has the type of the program, and its comparator has its address.
#[test]
fn watched_variables() {
    let folder = Folder::new("itm-watch");
    let (path, program) = (data(&folder), program());
    let lines = |words: &str| {
        let output = tracewright(&args(&format!("{words} --image"), &[&program, &path]));
        let lines = output.out.lines().map(|l| l.split_whitespace().collect::<Vec<_>>().join(" "));
        (lines.collect::<Vec<_>>(), output.err, output.code)
    };
    // The enumeration of a member: IDLE, RUN, FAULT = -1.
    let (out, err, code) =
        lines("itm --watch state.mode --config DWT_COMP0=0x20000020 --only value");
    assert_eq!(out, ["6 10 data state.mode RUN", "13 20 data state.mode FAULT"], "{err}");
    assert_eq!(code, Some(0));
    let (out, ..) = lines("itm --watch dwt0=counter --only value");
    assert_eq!(out, ["6 10 data counter 1"], "a halfword is not -1");
    for (words, why) in [
        ("itm --watch counter", "the addresses of the comparators"),
        ("itm --watch counter --config DWT_COMP0=0x20000002", "no comparator has its address"),
        ("itm --watch none", "no such variable"),
        ("itm --watch twice", "several variables"),
        ("itm --watch dwt7=counter", "not a comparator"),
    ] {
        let (_, err, code) = lines(words);
        assert_eq!(code, Some(2), "{words}");
        assert!(err.contains(why), "{words}: {err}");
    }
}

/// The same values in the formats for plots.
#[test]
fn formats_for_plots() {
    let folder = Folder::new("itm-plots");
    let path = data(&folder);
    let types = "--type 3=f32,name=speed,unit=m/s --type 2=f32,name=level --type dwt0=i32,name=x";
    let out = |words: &str| tracewright(&args(&format!("itm {types} {words}"), &[&path])).out;
    let want = "ticks,x,speed,level\n10,1,,\n20,-1,,\n30,,1.5,2.5\n";
    assert_eq!(out("--format wide"), want);
    let want = "{\"timestamp\":0.010000000,\"x\":1}\n{\"timestamp\":0.020000000,\"x\":-1}\n\
                {\"timestamp\":0.030000000,\"speed\":1.5}\n{\"timestamp\":0.030000000,\"level\":2.5}\n";
    assert_eq!(out("--format plotjuggler --frequency 1k"), want);
    let vcd = out("--format vcd");
    assert!(vcd.contains("$var real 64") && vcd.contains("\nr1.5 "), "{vcd}");
    assert!(vcd.contains("\nr-1.0 "), "{vcd}");
    let json = out("--format json --only value");
    let speed: Value = serde_json::from_str(json.lines().nth(3).unwrap()).unwrap();
    assert_eq!(
        (&speed["name"], &speed["value"], &speed["unit"]),
        (&"speed".into(), &1.5.into(), &"m/s".into())
    );
    let csv = out("--format csv --only value");
    assert!(csv.contains(",value,3,,,speed,,,,,,,1.5,,,m/s,"), "{csv}");
    // The counters of a timeline.
    let words = format!("timeline --format chrome {types}");
    let chrome = tracewright(&args(&words, &[&path])).out;
    let chrome: Value = serde_json::from_str(&chrome).unwrap();
    let events = chrome["traceEvents"].as_array().unwrap();
    let counters = events.iter().filter(|event| event["ph"] == "C");
    let counters: Vec<_> = counters
        .map(|event| (event["name"].as_str().unwrap(), event["ts"].as_f64().unwrap()))
        .collect();
    assert_eq!(counters, [("level", 0.03), ("speed", 0.03), ("x", 0.01), ("x", 0.02)]);
    // The tracks of the Firefox Profiler count from the least value.
    let output = tracewright(&args(&format!("timeline --format firefox {types}"), &[&path]));
    assert!(output.err.contains("the values of x are left out"), "{}", output.err);
    let words = format!("timeline --format perfetto {types} -o");
    let perfetto = folder.path("t.perfetto");
    let output = tracewright(&args(&words, &[&perfetto, &path]));
    assert_eq!(output.code, Some(0), "{}", output.err);
    let bytes = std::fs::read(&perfetto).unwrap();
    let has = |part: &[u8]| bytes.windows(part.len()).any(|own| own == part);
    // Field 44, 1.5 as a double.
    assert!(has(b"speed") && has(b"m/s") && has(&[0xe1, 0x02, 0, 0, 0, 0, 0, 0, 0xf8, 0x3f]));
}

/// Each line is a datagram.
#[test]
fn lines_as_datagrams() {
    let folder = Folder::new("itm-udp");
    let path = data(&folder);
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let address = format!("udp://{}", socket.local_addr().unwrap());
    let words = format!("itm --type 3=f32,name=speed --port 3 --format plotjuggler -o {address}");
    let output = tracewright(&args(&words, &[&path]));
    assert_eq!((output.code, output.out.as_str()), (Some(0), ""), "{}", output.err);
    let mut datagram = [0; 256];
    let len = socket.recv(&mut datagram).unwrap();
    assert_eq!(&datagram[..len], b"{\"timestamp\":30,\"speed\":1.5}");
    let output = tracewright(&args("itm -o udp://127.0.0.1", &[&path]));
    assert_eq!(output.code, Some(2), "{}", output.err);
}

/// Events of a live trace without timestamps have the time at which they arrived.
#[test]
fn times_of_arrival() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("tcp://{}", server.local_addr().unwrap());
    let mut child =
        command(&["itm", &address]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let (mut connection, _) = server.accept().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut times = Vec::new();
    for n in 0..2u8 {
        connection.write_all(&[1, b'a' + n, 1, b'o', 1, b'k', 1, b'\n']).unwrap();
        let line = lines.next().unwrap().unwrap();
        let time = line.split_whitespace().nth(1).unwrap().strip_prefix('@').unwrap().to_owned();
        times.push(time.parse::<f64>().unwrap());
        std::thread::sleep(Duration::from_millis(30));
    }
    assert!(times[1] - times[0] > 0.025, "{times:?}");
    drop(connection);
    child.wait().unwrap();
}

/// The program counter of samples in the views of other traces, and exceptions on a page.
#[test]
fn options_of_samples() {
    let folder = Folder::new("itm-samples");
    let path = folder.path("swo.bin");
    let sample = [0x17, 0x04, 0x02, 0x00, 0x08, 0xc0, 0x05];
    std::fs::write(&path, [&DATA[..6], &sample.repeat(20)].concat()).unwrap();
    let output = tracewright(&args("profile --format folded --add", &[&path, &path]));
    assert_eq!(output.out, "0x08000204 40\n", "{}", output.err);
    let output = tracewright(&args("functions --format json", &[&path]));
    assert!(output.out.contains("\"samples\":20"), "{}", output.out);
    for words in
        ["functions --per-thread", "profile --format bolt", "itm --exceptions --format wide"]
    {
        let output = tracewright(&args(words, &[&path]));
        assert_eq!(output.code, Some(2), "{words}: {}", output.err);
    }
}
