//! Folders described by `capture.toml`: reading, invalid descriptions, and writing.

use std::fs;

use tracewright_capture::{
    Buffer, BufferRef, Capture, Core, Dump, Form, Format, Kind, Registers, Source, folder, open,
};

/// A temporary folder, deleted on drop.
struct Folder(std::path::PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("tracewright-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn put(&self, name: &str, bytes: impl AsRef<[u8]>) -> &Self {
        fs::write(self.0.join(name), bytes).unwrap();
        self
    }

    fn open(&self) -> Result<Capture, String> {
        open(&self.0)
            .map_err(|error| error.to_string().replace(&self.0.display().to_string(), "FOLDER"))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_description() {
    let folder = Folder::new("description");
    folder
        .put("a.bin", [1, 2, 3, 4, 5])
        .put("b.bin", [6])
        .put("rom", [7; 8])
        .put("unit.scf", "[Required]\nxlen = 32 # narrow\niaddress_lsb_p=1\nversion = \"1.0\"\n");
    folder.put(
        "capture.toml",
        r#"
description = "two harts"
[[buffer]]
name = "ring"
file = "a.bin"
wrap = 3
[[buffer]]
files = ["a.bin", "b.bin"]
format = "coresight"
[[source]]
name = "hart0"
protocol = "etrace"
params = "unit.scf"
[source.parameters]
version = "2.0"
full_address = true
time_width = 0x10
[[source]]
protocol = "ETM4"
buffer = "a.bin"
core = "Cortex-A53"
[[image]]
file = "rom"
address = "0xffffffff80000000"
"#,
    );
    let capture = folder.open().unwrap();
    assert_eq!(capture.kind, Kind::Folder);
    assert_eq!(capture.description.as_deref(), Some("two harts"));
    let [ring, frames] = &capture.buffers[..] else { panic!() };
    assert_eq!((ring.name.as_str(), &ring.bytes()[..]), ("ring", &[4, 5, 1, 2, 3][..]));
    assert_eq!(ring.format, Format::SourceData);
    assert_eq!((frames.name.as_str(), &frames.bytes()[..]), ("a.bin", &[1, 2, 3, 4, 5, 6][..]));
    assert_eq!(frames.format, Format::CoreSight);
    let [hart, other] = &capture.sources[..] else { panic!() };
    let numbers = Registers::from_iter([("time_width", 16), ("xlen", 32), ("iaddress_lsb_p", 1)]);
    assert_eq!(hart.registers, numbers);
    let words = [("full_address", "true"), ("version", "2.0")];
    assert_eq!(hart.words, words.map(|(name, word)| (name.to_owned(), word.to_owned())));
    assert_eq!(hart.buffers, [BufferRef { buffer: 0, stream: None }]);
    assert_eq!(other.buffers, [BufferRef { buffer: 1, stream: None }]);
    assert_eq!(capture.core(other).unwrap().device_type, "Cortex-A53");
    let [rom] = &capture.memory[..] else { panic!() };
    assert_eq!((rom.address, rom.form), (0xffff_ffff_8000_0000, Form::Raw));
    assert!(capture.notes.is_empty());
    // The path of the description denotes the same capture.
    assert_eq!(open(&folder.0.join("capture.toml")).unwrap(), capture);
}

/// A missing file is a note; an invalid description is an error with its origin.
#[test]
fn invalid_descriptions_are_reported() {
    for (text, want) in [
        ("[[buffer]\n", "FOLDER/capture.toml:1: "),
        ("", "[[buffer]]"),
        (
            "buffer = 1",
            "FOLDER/capture.toml: [buffer] expected an array of tables, written [[buffer]]",
        ),
        ("[[buffer]]\nname = \"x\"", "[buffer 1] file: missing"),
        ("[[buffer]]\nfile = 5", "[buffer 1] file: expected a string in quotes"),
        ("[[buffer]]\nfiles = [5]", "[buffer 1] files: expected a list of strings"),
        ("[[buffer]]\nfile = \"a.bin\"\nsize = 5", "[buffer 1] size: unknown key"),
        (
            "[[buffer]]\nfile = \"a.bin\"\nformat = \"best\"",
            "format: unknown format `best`; expected",
        ),
        ("[[buffer]]\nfile = \"a.bin\"\nwrap = 5", "wrap: expected an offset within the file"),
        ("[[buffer]]\nfile = \"a.bin\"\nwrap = -1", "wrap: expected an unsigned number"),
        ("[[buffer]]\nfile = \"a.bin\"\n[[source]]\n", "[source 1] protocol: missing"),
        (
            "[[buffer]]\nfile = \"a.bin\"\n[[source]]\nprotocol = \"ITM\"\nbuffer = \"b\"",
            "[source 1] buffer: unknown buffer `b`; expected one of a.bin",
        ),
        (
            "[[buffer]]\nfile = \"a.bin\"\n[[source]]\nprotocol = \"ITM\"\nparams = \"gone\"",
            "FOLDER/gone: cannot be read: no such file",
        ),
        ("[[buffer]]\nfile = \"a.bin\"\n[[image]]\nfile = \"a.bin\"", "[image 1] address: missing"),
    ] {
        let folder = Folder::new("invalid");
        folder.put("a.bin", [1, 2, 3]).put("capture.toml", text);
        let got = folder.open().unwrap_err();
        assert!(got.contains(want), "{text:?}: {got}");
    }
    // Intel HEX: a byte at 0x8000 and one at 0x9000.
    let hex = ":01800000017E\n:01900000026D\n:00000001FF\n";
    for (address, want) in
        [("", Ok(2)), ("address = 0", Err("[image 1] address: the file has its"))]
    {
        let folder = Folder::new("records");
        let image = format!("[[image]]\nfile = \"a.hex\"\n{address}");
        folder.put("a.hex", hex).put("a.bin", [1]);
        folder.put("capture.toml", format!("[[buffer]]\nfile = \"a.bin\"\n{image}"));
        match (folder.open(), want) {
            (Ok(capture), want) => {
                assert_eq!(Ok(capture.memory.len()), want);
                assert_eq!(capture.memory[1].address, 0x9000);
            }
            (Err(got), want) => assert!(got.contains(want.unwrap_err()), "{got}"),
        }
    }
    // Files of parameters without a limit: a long file, and a device.
    let folder = Folder::new("endless");
    folder.put("a.bin", [1, 2, 3]).put("long.params", vec![b'\n'; (1 << 20) + 1]);
    for (params, want) in [
        ("long.params", "1048577 bytes is more than the limit"),
        ("/dev/zero", "is outside of the capture's folder and is not read"),
    ] {
        if params.starts_with('/') && !cfg!(unix) {
            continue;
        }
        let text = format!(
            "[[buffer]]\nfile = \"a.bin\"\n[[source]]\nprotocol = \"ITM\"\nparams = \"{params}\""
        );
        folder.put("capture.toml", text);
        let got = folder.open().unwrap_err();
        assert!(got.contains(want), "{params}: {got}");
    }
    let folder = Folder::new("missing");
    folder.put("capture.toml", "[[buffer]]\nfile = \"a\"\n[[image]]\nfile = \"b\"");
    let capture = folder.open().unwrap();
    assert_eq!(capture.notes.len(), 2);
    assert!(capture.buffers[0].files.is_empty());
    assert_eq!(capture.memory[0].bytes, None);
}

/// A written capture reads back equal, for all names.
#[test]
fn written_and_read() {
    let elf = [&b"\x7fELF"[..], &[0; 60]].concat();
    let capture = Capture {
        description: Some("quotes \" and\nlines".into()),
        buffers: vec![
            Buffer::new("../a b", Format::SourceData, vec![1, 2]),
            Buffer::new("../a b?", Format::CoreSight, vec![3]),
        ],
        sources: vec![Source {
            name: "hart \"0\"".into(),
            device_type: "etrace".into(),
            registers: Registers::from_iter([("odd name", u64::MAX), ("xlen", 64)]),
            words: vec![("version".into(), "0.026".into())],
            core: Some(0),
            buffers: vec![
                BufferRef { buffer: 0, stream: None },
                BufferRef { buffer: 1, stream: None },
            ],
            ..Source::default()
        }],
        cores: vec![Core {
            name: "hart \"0\".core".into(),
            device_type: "Cortex-M4".into(),
            ..Core::default()
        }],
        memory: vec![
            Dump { form: Form::Elf, ..Dump::new("prog", 0, elf) },
            Dump::new("rom", u64::MAX - 3, vec![4; 4]),
        ],
        ..Capture::default()
    };
    let folder = Folder::new("written");
    folder::write(&capture, &folder.0).unwrap();
    assert_eq!(folder.open().unwrap(), capture);
    // A folder with files is not overwritten.
    let again = folder::write(&capture, &folder.0).unwrap_err().to_string();
    assert!(again.contains("not empty"), "{again}");
}
