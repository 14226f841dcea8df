//! Captures that are bytes in memory decode as those on a disk, and no file is opened for them.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use tracewright::base::Element;
use tracewright::capture::cycles::{self, Form};
use tracewright::capture::{self, Access, probe, probe_in};
use tracewright::decode::raw::RawTrace;
use tracewright::image::OnDemand;
use tracewright::{
    Bytes, Files, ImageSource, Trace, from_bytes, open, open_files, open_raw, read_capture,
};
use tracewright_testing::shared;

const CAPTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/captures");

fn elements(trace: &Trace) -> Vec<(usize, u64, Element)> {
    let items = trace.elements().expect("sources").map(|item| item.expect("bytes"));
    items.map(|item| (item.source, item.offset, item.element)).collect()
}

/// A folder of the disk that is deleted when it is dropped.
struct Folder(PathBuf);

impl Folder {
    /// A copy of the files in `from`.
    fn copy(from: &Path, name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("tracewright-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        for entry in std::fs::read_dir(from).unwrap() {
            let entry = entry.unwrap();
            std::fs::copy(entry.path(), path.join(entry.file_name())).unwrap();
        }
        Folder(path)
    }

    /// The files, by their paths.
    fn files(&self) -> Files {
        let paths = std::fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().path());
        Files::named(paths.map(|path| (path.clone(), std::fs::read(path).unwrap())))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The folder is deleted before its files are read from memory, by the same paths.
#[test]
fn folders_of_the_disk_and_of_memory() {
    let mut count = 0;
    for entry in std::fs::read_dir(CAPTURES).unwrap() {
        let folder = entry.unwrap().path().join("capture");
        if !folder.is_dir() {
            continue;
        }
        let name = format!("files-{count}");
        let copy = Folder::copy(&folder, &name);
        let (files, path) = (copy.files(), copy.0.clone());
        let (want, notes, kind) = {
            let trace = open(&path).unwrap();
            (elements(&trace), trace.capture().notes.clone(), probe(&path).unwrap())
        };
        drop(copy);
        assert!(open(&path).is_err(), "{path:?} exists");
        let trace = open_files(&files, &path).unwrap();
        assert_eq!(elements(&trace), want, "{folder:?}");
        assert_eq!(trace.capture().notes, notes, "{folder:?}");
        assert_eq!(probe_in(&files, &path).unwrap(), kind);
        assert!(trace.capture().stamps.is_empty(), "{:?}", trace.capture().stamps);
        assert!(!want.is_empty());
        count += 1;
    }
    assert_eq!(count, 13, "captures of tests/captures");
}

/// A missing file is missing in memory, too, although one of that path is on the disk.
#[test]
fn the_disk_is_not_used() {
    let folder = Path::new(CAPTURES).join("etmv4/capture");
    let read = |name: &str| (folder.join(name), std::fs::read(folder.join(name)).unwrap());
    let names = ["snapshot.ini", "trace.ini", "ETM4_0.ini", "cpu_0.ini"];
    let trace = open_files(&Files::named(names.map(read)), &folder).unwrap();
    let notes: Vec<_> = trace.capture().notes.iter().map(ToString::to_string).collect();
    let missing = |name: &str| notes.iter().any(|n| n.contains(name) && n.contains("no such file"));
    assert!(missing("ETB_0.bin") && missing("cpu_0.bin"), "{notes:?}");
    let error = open_files(&Files::named([("a", Vec::new())]), &folder).unwrap_err().to_string();
    assert!(error.contains("no such file"), "{error}");
}

/// A dump whose description is detected, and a program, which are in memory.
#[test]
fn dumps_and_programs() {
    for (name, program) in [("itm", None), ("etrace-draft", Some("log.elf"))] {
        let folder = Path::new(CAPTURES).join(name).join("capture");
        let dump = folder.join("ETB_0.bin");
        let program = program.map(|program| folder.join(program));
        let from_disk: Vec<_> = program.iter().map(ImageSource::file).collect();
        let (want, notes) = open_raw(&dump, RawTrace::default(), &from_disk).unwrap();
        let from_memory = program
            .iter()
            .map(|path| ImageSource::bytes("program", std::fs::read(path).unwrap()))
            .collect::<Vec<_>>();
        let files = Files::named([("dump", std::fs::read(&dump).unwrap())]);
        let raw = RawTrace { files, ..RawTrace::default() };
        let (trace, its_notes) = open_raw("dump", raw, &from_memory).unwrap();
        assert_eq!(elements(&trace), elements(&want), "{name}");
        assert_eq!(its_notes, notes, "{name}");
        assert!(elements(&want).len() > 20, "{name}");
        let bytes = |trace: &Trace| -> Vec<_> {
            trace.capture().memory.iter().map(|dump| (dump.address, dump.bytes.clone())).collect()
        };
        assert_eq!(bytes(&trace), bytes(&want), "{name}");
        assert_eq!(bytes(&want).is_empty(), program.is_none(), "{name}");
    }
}

/// The cycles of a trace port, in each form of a file.
#[test]
fn cycles_of_a_trace_port() {
    let capture = read_capture(&Path::new(CAPTURES).join("etmv1/capture")).unwrap();
    let path = std::env::temp_dir().join(format!("tracewright-cycles-{}", std::process::id()));
    let mut count = 0;
    for form in [Form::Etmp, Form::Text, Form::OpenOcd] {
        let Some(bytes) = cycles::write(&capture, form) else { continue };
        std::fs::write(&path, &bytes).unwrap();
        let want = capture::open(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let files = Files::named([(path.clone(), bytes)]);
        let got = capture::open_with(&path, Access::of(files)).unwrap();
        assert_eq!(got, want, "{form:?}");
        assert!(!want.buffers[0].is_empty());
        count += 1;
    }
    assert!(count >= 2);
}

/// Bytes that are read when they are needed, and how many were.
#[derive(Debug)]
struct Counted(Vec<u8>, AtomicU64);

impl OnDemand for Counted {
    fn size(&self) -> u64 {
        self.0.len() as u64
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        let from = self.0.get(offset as usize..).unwrap_or_default();
        let len = from.len().min(into.len());
        into[..len].copy_from_slice(&from[..len]);
        self.1.fetch_add(len as u64, Relaxed);
        Ok(len)
    }

    fn all(&self) -> &[u8] {
        panic!("read as a whole")
    }
}

/// The trace of an archive, for example, is read in parts while it is decoded.
#[test]
fn trace_is_read_when_it_is_decoded() {
    let folder = Path::new(CAPTURES).join("itm/capture");
    let once = std::fs::read(folder.join("ETB_0.bin")).unwrap();
    let large = Arc::new(Counted(once.repeat((8 << 20) / once.len()), AtomicU64::new(0)));
    let small = ["snapshot.ini", "trace.ini", "ITM_0.ini", "cpu_0.ini"];
    let small = small.map(|name| (name, Bytes::from(std::fs::read(folder.join(name)).unwrap())));
    let files = small.into_iter().chain([("ETB_0.bin", Bytes::on_demand(large.clone()))]);
    let trace = open_files(&Files::named(files), "").unwrap();
    let opened = large.1.load(Relaxed);
    assert!(opened < 1 << 20, "{opened} bytes were read to open the capture");
    let first = trace.elements().unwrap().next().unwrap().unwrap();
    assert!(large.1.load(Relaxed) < opened + (1 << 16), "{first:?}");
    let want = Trace::new(capture_of(&once));
    assert!(elements(&trace).len() > 1000 * elements(&want).len() / 2);
    assert!(large.1.load(Relaxed) >= large.size());
}

/// The capture of an ITM with this trace.
fn capture_of(trace: &[u8]) -> capture::Capture {
    let mut capture = read_capture(&Path::new(CAPTURES).join("itm/capture")).unwrap();
    let format = capture.buffers[0].format.clone();
    capture.buffers[0] = capture::Buffer::new("ETB_0", format, trace.to_vec());
    capture
}

/// A recording and the program that is beside it.
#[test]
fn recordings_and_their_programs() {
    let Some(path) = shared("captures/simpleperf-etm/perf_etm.data") else { return };
    let want = elements(&open(&path).unwrap());
    let data = std::fs::read(&path).unwrap();
    let program = std::fs::read(path.with_file_name("etm_test_loop")).unwrap();
    let both = Files::named([("a/perf.data", data.clone()), ("a/etm_test_loop", program)]);
    assert_eq!(elements(&open_files(&both, "a/perf.data").unwrap()), want);
    let alone = from_bytes("perf.data", data).unwrap();
    let no_code = |element: &Element| matches!(element, Element::NoCode { .. });
    assert!(!want.iter().any(|(.., element)| no_code(element)));
    assert!(elements(&alone).iter().any(|(.., element)| no_code(element)));
}

/// One file is named for messages only.
#[test]
fn one_file() {
    let error = from_bytes("dump.bin", vec![0x80; 64]).unwrap_err().to_string();
    assert!(error.starts_with("dump.bin: "), "{error}");
}
