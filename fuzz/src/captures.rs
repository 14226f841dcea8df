//! What must hold of captures on disk, whatever is in their files.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use tracewright::Capture;
use tracewright::capture::cycles::{self, Form};
use tracewright::capture::{Buffer, Kind, folder, open, write};
use tracewright::decode::parameters::resolve;
use tracewright::decode::{Memory, Options, Plan, Session, Tally};
use tracewright::frames::cycles::{self as port, Width, records};
use tracewright::views::explain::Decoded;
use tracewright::views::info::Info;
use tracewright::views::{Source, json, text};

/// What stands before a file's name, on a line of its own.
const MARK: &str = "== ";

/// More or longer files test nothing else.
const MAX_FILES: usize = 16;

/// A folder of files, and each file by itself: no panic; an error is one line; what can be read is
/// shown, in JSON that is JSON; and what is written of it is read again as the same.
///
/// The files come one after another, each after a line `== NAME`.
pub fn captures(data: &[u8]) {
    let all = Folder::new();
    let mut paths = vec![all.0.clone()];
    for (name, bytes) in files(data).take(MAX_FILES) {
        let path = all.0.join(name);
        // Some names are none.
        if fs::write(&path, bytes).is_ok() && !paths.contains(&path) {
            paths.push(path);
        }
    }
    for path in paths {
        match open(&path) {
            Ok(capture) => capture_is_sound(capture),
            Err(error) => line(&error.to_string()),
        }
    }
}

/// The files in `data`.
fn files(data: &[u8]) -> impl Iterator<Item = (String, Vec<u8>)> {
    let mut files: Vec<(String, Vec<u8>)> = Vec::new();
    for line in data.split_inclusive(|byte| *byte == b'\n') {
        match (line.strip_prefix(MARK.as_bytes()), files.last_mut()) {
            (Some(name), last) => {
                // The end of the line before the mark belongs to it.
                if let Some((_, bytes)) = last {
                    bytes.pop();
                }
                let name = String::from_utf8_lossy(name.trim_ascii()).into_owned();
                // All of them are in one folder.
                files.push((name.replace(['/', '\\'], "_"), Vec::new()));
            }
            (None, Some((_, bytes))) => bytes.extend_from_slice(line),
            (None, None) => {}
        }
    }
    files.into_iter()
}

/// A message is one line, and cannot talk to a terminal.
fn line(text: &str) {
    assert!(!text.is_empty() && !text.contains(char::is_control), "{text:?}");
}

/// Each line is JSON.
fn lines_of_json(text: &str) {
    for line in text.lines() {
        let value: Result<serde_json::Value, _> = serde_json::from_str(line);
        assert!(value.is_ok_and(|value| value.is_object()), "{line}");
    }
}

fn capture_is_sound(mut capture: Capture) {
    capture.notes.iter().for_each(|note| line(&note.to_string()));
    written_again(&capture);
    if let Err(error) = resolve(&mut capture) {
        return line(&error.to_string());
    }
    let options = Options::default();
    let info = Info::of(&capture, &options);
    assert!(!info.text().is_empty());
    lines_of_json(&info.json(&str::to_owned));
    let memory = Memory::new(&capture);
    memory.problems.iter().for_each(|problem| line(problem));
    for buffer in 0..capture.buffers.len() {
        shown(&capture, buffer, &memory, &options);
    }
}

/// A buffer is decoded, and shown to people and to programs.
fn shown(capture: &Capture, buffer: usize, memory: &Memory, options: &Options) {
    let Some(plan) = Plan::new(capture, buffer, options) else { return };
    let sources = Source::all(capture, &plan, memory);
    let (name, len) = (&capture.buffers[buffer].name, Some(capture.buffers[buffer].len()));
    let people = text::Shown { packets: true, bytes: true, elements: true, ..Default::default() };
    let people = text::Listing::new(Vec::new(), sources.clone(), len, people);
    let programs = json::Shown { packets: true, elements: true, fields: false };
    let mut out = Vec::new();
    let programs = json::Listing::new(&mut out, &plan, sources.clone(), name, len, programs);
    let mut all = ((people, programs), Tally::default());
    let mut session =
        Session::new(capture, &plan, memory, options).expect("a plan of this capture");
    session.run(capture.buffers[buffer].parts(), &mut all);
    let ((people, programs), tally) = all;
    people.finish().and_then(|()| programs.finish(&tally, None)).expect("memory can be written");
    lines_of_json(str::from_utf8(&out).expect("JSON is UTF-8"));
    let (capture, plan, sources, tally) = (capture, &plan, &sources, &tally);
    let decoded = Decoded { capture, plan, sources, memory, options, tally };
    assert!(!decoded.summary().is_empty());
}

/// What is written of a capture is read again as the same.
fn written_again(capture: &Capture) {
    let (inside, port) = (Folder::new(), cycles::write(capture, Form::Text).is_some());
    // A file's name is that of its buffer.
    let path = inside.0.join(capture.path.file_name().unwrap_or("again".as_ref()));
    let forms: &[Option<Form>] = match capture.kind {
        Kind::Raw if port => &[Some(Form::Text), Some(Form::Etmp)],
        Kind::Raw => return,
        _ => &[None],
    };
    for form in forms {
        let written = match (form, capture.kind) {
            (Some(form), _) => {
                let bytes = cycles::write(capture, *form).unwrap_or_default();
                fs::write(&path, bytes).expect("a file");
                Ok(())
            }
            (None, Kind::Folder) => folder::write(capture, &path),
            (None, _) => write(capture, &path),
        };
        match (written, open(&path)) {
            (Ok(()), Ok(again)) => same(capture, again),
            // What an ini file cannot hold.
            (Err(error), _) => line(&error.to_string()),
            (_, Err(error)) => panic!("{error}\n{capture:?}"),
        }
    }
}

/// Dumps come back by device; a folder has one file for a buffer, and its parameters in order of
/// their names; and text has only records that are cycles of the port.
fn same(capture: &Capture, again: Capture) {
    let mut capture = capture.clone();
    if let (Kind::Raw, [buffer], [whole]) =
        (capture.kind, &mut capture.buffers[..], &again.buffers[..])
        && buffer.len() != whole.len()
    {
        let control = capture.sources.first().and_then(|source| source.register("ETMCR"));
        let width = Width::of_control(control.unwrap_or(0) as u32).expect("a port's width");
        let bytes: Vec<u8> = records(port::cycles(&buffer.bytes(), width), width).collect();
        *buffer = Buffer::new(buffer.name.clone(), buffer.format.clone(), bytes);
    }
    let plain = |mut capture: Capture| {
        capture.memory.sort_by_key(|dump| format!("{:?}", (dump.owner, dump.address, &dump.bytes)));
        if capture.kind == Kind::Folder {
            for buffer in &mut capture.buffers {
                let (name, format) = (buffer.name.clone(), buffer.format.clone());
                *buffer = Buffer::new(name, format, buffer.bytes().into_owned());
            }
            for source in &mut capture.sources {
                source.registers.0.sort_by(|one, other| one.name.cmp(&other.name));
                source.words.sort();
            }
        }
        capture
    };
    assert_eq!(plain(again), plain(capture));
}

/// A folder of its own, that is gone when it is not needed any more.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(format!("tracewright-fuzz-{name}"));
        fs::create_dir_all(&path).expect("a folder");
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
