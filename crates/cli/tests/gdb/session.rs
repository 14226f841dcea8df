//! Sessions of gdb with a trace: reverse execution, commands, what is not known, the launcher, and
//! a connection over a port.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::Duration;

use tracewright_testing::shared;

use crate::machines::MACHINES;
use crate::{Folder, TRACEWRIGHT, gdb, tracewright, transcript};

/// The addresses that a transcript has.
fn places(text: &str) -> Vec<&str> {
    text.lines().filter(|line| line.starts_with('@')).collect()
}

fn shown(command: &str, count: usize) -> Vec<String> {
    let both = [command.to_owned(), "printf \"@%#lx\\n\", (unsigned long) $pc".to_owned()];
    both.into_iter().cycle().take(2 * count).collect()
}

/// Each instruction back is the list backwards; so are the hits of a breakpoint.
#[test]
fn backwards_is_the_list_in_reverse() {
    let Some(gdb) = gdb() else { return };
    for machine in MACHINES {
        let Some(traced) = machine.traced() else { continue };
        let target = traced.replayed();
        let name = machine.name;
        let mut commands = shown("printf \"\"", 1);
        commands.extend(shown("stepi", 100));
        commands.extend(shown("reverse-stepi", 100));
        let text = transcript(gdb, &traced.elf, &target, &commands);
        let all = places(&text);
        assert_eq!(all.len(), 201, "{name}: {text}");
        let back: Vec<_> = all[101..].iter().rev().copied().collect();
        assert_eq!(&all[..100], back, "{name}");
        assert_ne!(all[0], all[1], "{name}");

        let count = |text: &str, what: &str| text.matches(what).count();
        let mut commands = vec!["break leaf".to_owned()];
        commands.extend(vec!["continue".to_owned(); 12]);
        let forward = transcript(gdb, &traced.elf, &target, &commands);
        let hits = count(&forward, "Breakpoint 1, leaf");
        assert!(hits >= 9, "{name}: {forward}");
        assert!(forward.contains("No more reverse-execution history"), "{name}: {forward}");
        let mut commands = vec!["monitor goto end".to_owned()];
        commands.extend(["maintenance flush register-cache".into(), "break leaf".into()]);
        commands.extend(vec!["reverse-continue".to_owned(); 12]);
        let backward = transcript(gdb, &traced.elf, &target, &commands);
        assert_eq!(count(&backward, "Breakpoint 1, leaf"), hits, "{name}: {backward}");
    }
}

/// Lines backwards over calls, and out of a function, as the stack permits it.
#[test]
fn lines_backwards_pass_over_calls() {
    let Some(gdb) = gdb() else { return };
    for machine in MACHINES {
        let Some(traced) = machine.traced() else { continue };
        let mut commands = vec!["break done".to_owned(), "continue".into(), "delete".into()];
        commands.extend(["reverse-finish".into(), "reverse-next".into(), "echo >\\n".into()]);
        commands.extend(["reverse-next".into(), "backtrace".into(), "frame".into()]);
        let text = transcript(gdb, &traced.elf, &traced.replayed(), &commands);
        let (_, rest) = text.split_once(">\n").expect("a line");
        assert!(rest.contains("program () at program.c"), "{}: {text}", machine.name);
        assert!(!rest.contains("leaf") && !rest.contains("middle"), "{}: {text}", machine.name);
    }
}

/// What is not known is stated as such, and nothing can be written.
#[test]
fn unknown_values_are_unavailable() {
    let Some(gdb) = gdb() else { return };
    let Some(traced) = MACHINES[0].traced() else { return };
    let commands = [
        "break leaf",
        "continue",
        "info registers x0 x1 x19",
        "print n",
        "print sink",
        "finish",
        "set var sink = 1",
        "print $x0 = 1",
        "x/2i program",
        "watch sink",
        "continue",
    ];
    let commands: Vec<_> = commands.iter().map(|text| (*text).to_owned()).collect();
    let text = transcript(gdb, &traced.elf, &traced.replayed(), &commands);
    assert_eq!(text.matches("<unavailable>").count(), 4, "{text}");
    assert!(text.contains("Cannot access memory at address"), "{text}");
    assert!(text.contains("Value returned is $2 = <not displayed>"), "{text}");
    assert!(text.contains("trace is read-only"), "{text}");
    assert!(text.contains("<program>:\tstp"), "{text}");
    assert!(!text.contains("Old value"), "{text}");
}

#[test]
fn commands_of_the_trace() {
    let Some(gdb) = gdb() else { return };
    let Some(traced) = MACHINES[0].traced() else { return };
    let commands = [
        "monitor goto last function recursive",
        "maintenance flush register-cache",
        "frame",
        "monitor when",
        "monitor find count function leaf",
        "monitor find all function tail",
        "monitor stack off",
        "maintenance flush register-cache",
        "backtrace",
        "monitor info",
        "monitor stack on",
        "maintenance flush register-cache",
        "backtrace",
        "monitor nonsense",
        "monitor goto element 7+1",
        "monitor goto instruction 99999999",
        "monitor help",
    ];
    let commands: Vec<_> = commands.iter().map(|text| (*text).to_owned()).collect();
    let text = transcript(gdb, &traced.elf, &traced.replayed(), &commands);
    for part in [
        "recursive (n=...) at program.c",
        "Backtrace stopped: not enough registers or memory available to unwind further",
        "callers: not shown to gdb (`monitor stack on`)",
        "in _start ()",
        "`nonsense` is no command of the trace",
        "element 7+1,",
        "the trace has no such instruction",
        "monitor goto instruction N",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // As the program calls them: `leaf` 4 times in each `middle`, and once beside; `tail` in each.
    assert!(text.contains("\n9\n"), "{text}");
    assert_eq!(text.matches("\nelement ").count(), 2, "{text}");
}

/// `tracewright gdb` starts a gdb with the program, its settings and its commands.
#[test]
fn gdb_is_started() {
    let Some(gdb) = gdb() else { return };
    let folder = Folder::new("launcher");
    let capture = folder.path("a capture");
    tracewright(&["demo", "--write", capture.to_str().expect("a path")]);
    let output = Command::new(TRACEWRIGHT)
        .args(["gdb", "--gdb", gdb])
        .arg(&capture)
        .args(["--at", "end", "--", "-nx", "-batch", "-ex", "backtrace", "-ex", "tw-start"])
        .args(["-ex", "show print finish", "-ex", "tw-goto first exception", "-ex", "tw-when"])
        .stdin(Stdio::null())
        .output()
        .expect("the command");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let all = format!("{text}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{all}");
    assert!(all.contains("instruction 0, element "), "{all}");
    assert!(text.contains("#0  ") && text.contains("program.c:"), "{all}");
    assert!(text.contains("is off"), "{all}");
    assert!(text.contains("systick_handler ()"), "{all}");
    // What `tw-goto` and `tw-when` print is the same.
    let whens: Vec<_> = all.lines().filter(|line| line.starts_with("instruction ")).collect();
    assert!(whens.len() == 3 && whens[0] != whens[1] && whens[1] == whens[2], "{all}");
}

/// The machine interface, as editors use it: the feature is listed, and steps go back.
#[test]
fn the_machine_interface_goes_back() {
    let Some(gdb) = gdb() else { return };
    let folder = Folder::new("mi");
    let capture = folder.path("capture");
    tracewright(&["demo", "--write", capture.to_str().expect("a path")]);
    let mut child = Command::new("timeout")
        .args(["60", gdb, "-nx", "-q", "--interpreter=mi2"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("gdb runs");
    let mut input = child.stdin.take().expect("a pipe");
    let path = capture.display();
    let target = format!("| {TRACEWRIGHT} gdbserver {path} --at \"instruction 3000\"");
    let mut lines = format!("-file-exec-and-symbols {path}/program.bin\n");
    lines += &format!("-target-select remote {target}\n-list-target-features\n");
    lines += "-exec-step\n-exec-step --reverse\n-exec-step-instruction --reverse\n";
    lines += "-exec-continue --reverse\n-gdb-exit\n";
    input.write_all(lines.as_bytes()).expect("written");
    let output = child.wait_with_output().expect("its end");
    drop(input);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("features=[\"reverse\"]"), "{text}");
    let lines = text.lines().filter(|line| line.starts_with("*stopped,"));
    let places: Vec<u64> = lines
        .filter_map(|line| line.split("addr=\"0x").nth(1)?.split('"').next())
        .map(|digits| u64::from_str_radix(digits, 16).expect("an address"))
        .collect();
    let listed = tracewright(&["instructions", &path.to_string(), "--format", "pc"]);
    let all: Vec<u64> =
        listed.lines().map(|line| u64::from_str_radix(line, 16).expect("an address")).collect();
    // A line forward, and back to the first instruction of the same line.
    assert_eq!(places.len(), 5, "{text}");
    assert_eq!((places[0], places[4]), (all[3000], all[0]), "{text}");
    let at = all[..=3000].iter().rposition(|address| *address == places[2]).expect("executed");
    assert_eq!(places[3], all[at - 1], "{text}");
}

/// A place that is gone to has its own callers, not those that gdb has cached of another one.
#[test]
fn callers_after_goto_are_those_of_the_place() {
    let Some(gdb) = gdb() else { return };
    let Some(traced) = MACHINES[0].traced() else { return };
    let flush = ["maintenance flush register-cache", "maintenance flush dcache", "backtrace"];
    let places = ["last function leaf", "first function tail", "first function leaf", "end"];
    let mut commands = Vec::new();
    for place in places {
        commands.extend(["echo >\\n".to_owned(), format!("monitor goto {place}")]);
        commands.extend(flush.map(str::to_owned));
    }
    let text = transcript(gdb, &traced.elf, &traced.replayed(), &commands);
    let frames = |text: &str| -> Vec<String> {
        text.lines().filter(|line| line.starts_with('#')).map(str::to_owned).collect()
    };
    let mut different = Vec::new();
    for (place, got) in places.iter().zip(text.split(">\n").skip(1)) {
        let target = format!("{} --at \"{place}\"", traced.replayed());
        let want = transcript(gdb, &traced.elf, &target, &["backtrace".to_owned()]);
        assert_eq!(frames(got), frames(&want), "{place}: {text}");
        different.push(frames(got));
    }
    different.dedup();
    assert_eq!(different.len(), places.len());
}

/// The threads of a capture with several processors, without a program file: each is at its last
/// instruction, and `tw-goto` selects that of the position.
#[test]
fn threads_are_where_their_sources_are() {
    let Some(gdb) = gdb() else { return };
    let Some(capture) = shared("conformance/arm/snapshots/TC2") else { return };
    let path = capture.to_str().expect("a path");
    let mut last = BTreeMap::new();
    let mut first = None;
    for line in tracewright(&["instructions", path]).lines() {
        let mut words = line.split_whitespace();
        let (Some(source), Some(address)) = (words.next(), words.next()) else { continue };
        if let Some(digits) = address.strip_prefix("0x") {
            let address = u64::from_str_radix(digits, 16).expect("an address");
            first = first.or(Some(address));
            last.insert(source.to_owned(), address);
        }
    }
    assert_eq!(last.len(), 4);
    let output = Command::new(TRACEWRIGHT)
        .args(["gdb", "--gdb", gdb, path, "--", "-nx", "-batch"])
        .args(["-ex", "stepi", "-ex", "tw-end", "-ex", "tw-start", "-ex", "info threads"])
        .stdin(Stdio::null())
        .output()
        .expect("the command");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let all = format!("{text}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(!all.contains("PC not available") && !all.contains("is not available"), "{all}");
    let threads = |text: &str| -> BTreeMap<u64, u64> {
        let places = text.lines().filter_map(|line| {
            let (_, rest) = line.split_once("trace source ")?;
            let (source, _) = rest.split_once([',', ')'])?;
            let (_, address) = rest.split_once("0x")?;
            let address = u64::from_str_radix(address.split(' ').next()?, 16).ok()?;
            Some((source.parse().ok()?, address))
        });
        places.collect()
    };
    let (at_end, at_start) = text.split_once("Switching to thread").expect("another thread");
    let sorted = |mut all: Vec<u64>| {
        all.sort_unstable();
        all
    };
    let got = sorted(threads(at_end).into_values().collect());
    assert_eq!(got, sorted(last.into_values().collect()), "{all}");
    let at_start = threads(at_start);
    assert!(at_start.len() == 4 && at_start.get(&0).copied() == first, "{all}");
    assert_eq!(all.matches("nothing executed").count(), 6, "{all}");
}

/// A program that the capture has and `--image` names, too, is loaded once.
#[test]
fn a_program_is_loaded_once() {
    let Some(gdb) = gdb() else { return };
    let folder = Folder::new("image");
    let capture = folder.path("capture");
    tracewright(&["demo", "--write", capture.to_str().expect("a path")]);
    let copy = folder.path("copy.elf");
    std::fs::copy(capture.join("program.bin"), &copy).expect("a program");
    for image in [copy, capture.join("program.bin")] {
        let output = Command::new(TRACEWRIGHT)
            .args(["gdb", "--gdb", gdb, "--image"])
            .args([&image, &capture])
            .args(["--", "-nx", "-batch", "-ex", "info line systick_handler"])
            .args(["-ex", "break systick_handler"])
            .stdin(Stdio::null())
            .output()
            .expect("the command");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(!text.contains("add symbol table"), "{text}");
        assert_eq!(text.matches("starts at address").count(), 1, "{text}");
        assert!(text.contains("Breakpoint 1 at 0x"), "{text}");
    }
}

/// A connection over a port of the loopback interface, and Ctrl-C in it.
#[test]
fn a_port_of_the_loopback_interface() {
    let folder = Folder::new("port");
    let capture = folder.path("capture");
    tracewright(&["demo", "--write", capture.to_str().expect("a path")]);
    let mut child = Command::new(TRACEWRIGHT)
        .args(["gdbserver", "--port", "0"])
        .arg(&capture)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the command");
    let mut line = String::new();
    let mut out = BufReader::new(child.stdout.take().expect("a pipe"));
    out.read_line(&mut line).expect("an address");
    assert!(line.starts_with("127.0.0.1:"), "{line}");
    let mut stream = TcpStream::connect(line.trim()).expect("a connection");
    stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a limit");
    let mut ask = |packet: &[u8]| {
        stream.write_all(packet).expect("written");
        let (mut text, mut byte) = (Vec::new(), [0]);
        while text.len() < 3 || text[text.len() - 3] != b'#' {
            stream.read_exact(&mut byte).expect("an answer");
            text.push(byte[0]);
        }
        String::from_utf8(text).expect("text")
    };
    assert!(ask(b"$qSupported#37").contains("ReverseContinue+"));
    assert!(ask(b"$?#3f").contains("T05f:"));
    // Ctrl-C while nothing runs ends no later run.
    assert!(ask(b"\x03$vCont;c#a8").contains("replaylog:end"));
    assert_eq!(ask(b"$D#44"), "+$OK#9a");
    assert!(child.wait().expect("its end").success());
}
