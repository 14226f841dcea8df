//! Files with the cycles of one trace port.

use std::fs;
use std::path::PathBuf;

use tracewright_capture::cycles::{Form, write};
use tracewright_capture::{
    Buffer, BufferRef, Capture, Format, Found, Registers, Source, open, probe,
};

/// Writes a file in the temporary folder.
fn file(name: &str, bytes: &[u8]) -> PathBuf {
    let path = std::env::temp_dir().join(format!("tracewright-{}-{name}", std::process::id()));
    fs::write(&path, bytes).unwrap();
    path
}

fn capture(device_type: &str, registers: &[(&str, u64)], records: Vec<u8>) -> Capture {
    Capture {
        buffers: vec![Buffer::new("port", Format::SourceData, records)],
        sources: vec![Source {
            name: "ETM".into(),
            device_type: device_type.into(),
            registers: Registers::from_iter(registers.iter().copied()),
            buffers: vec![BufferRef { buffer: 0, stream: None }],
            ..Source::default()
        }],
        ..Capture::default()
    }
}

/// BE*:80 A0:80 TD:00 of an 8-bit port.
const RECORDS: [u8; 6] = [0x0c, 0x08, 0x00, 0x08, 0x07, 0x00];

#[test]
fn there_and_back() {
    let one = capture(
        "ETM1.2",
        &[("ETMCR", 0x1_2014), ("ETMCCR", 2 << 28), ("HIVECS", 1), ("BIGEND", 0)],
        RECORDS.to_vec(),
    );
    let two = capture(
        "ETM2.1",
        &[
            ("ETMCR", 0x14),
            ("ETMIDR", 0x4100_2110),
            ("ETMSYNCFR", 512),
            ("HIVECS", 0),
            ("BIGEND", 1),
        ],
        RECORDS.to_vec(),
    );
    for (capture, version) in [(&one, 1), (&two, 2)] {
        for form in [Form::Etmp, Form::Text] {
            let path = file(&format!("{version}-{form:?}"), &write(capture, form).unwrap());
            assert_eq!(probe(&path).unwrap(), Found::Cycles(form));
            let got = open(&path).unwrap();
            assert_eq!(got.buffers[0].bytes(), capture.buffers[0].bytes());
            assert_eq!(got.sources[0].device_type, capture.sources[0].device_type);
            assert_eq!(got.sources[0].registers, capture.sources[0].registers);
            assert_eq!(got.notes, []);
            fs::remove_file(path).unwrap();
        }
    }
    assert_eq!(write(&capture("ETM4.2", &[], Vec::new()), Form::Etmp), None);
}

/// Records with bits outside the port, and truncated records, are invalid. The text form omits
/// them.
#[test]
fn invalid_records_are_omitted_from_text() {
    let damaged = [&RECORDS[..2], &[0x31, 0xff], &RECORDS[2..], &[0x0c]].concat();
    let capture = capture("ETM1.2", &[("ETMCR", 0x14)], damaged.clone());
    for (form, want) in [(Form::Text, &RECORDS[..]), (Form::Etmp, &damaged)] {
        let path = file(&format!("damaged-{form:?}"), &write(&capture, form).unwrap());
        let got = open(&path).unwrap();
        assert_eq!(got.buffers[0].bytes(), want, "{form:?}");
        assert_eq!(got.notes, [], "{form:?}");
        fs::remove_file(path).unwrap();
    }
}

/// Repeats in a short text do not exhaust memory.
#[test]
fn repeats_are_limited() {
    let text = |times: &str| format!("etmp 1\narch 1.3\nwidth 8\ncycles\nTD:00 x{times}\n");
    let path = file("repeats", text("100000").as_bytes());
    assert_eq!(open(&path).unwrap().buffers[0].len(), 200_000);
    for times in ["16777217", "18446744073709551615"] {
        fs::write(&path, text(times)).unwrap();
        let error = open(&path).unwrap_err().to_string();
        assert!(error.contains("more than 16777216 cycles; correct N"), "{error}");
    }
    fs::remove_file(path).unwrap();
}

/// A file of OpenOCD records ETMCR, and no other register.
#[test]
fn openocd() {
    let one = capture("ETM1.3", &[("ETMCR", 0x14)], RECORDS.to_vec());
    let path = file("openocd", &write(&one, Form::OpenOcd).unwrap());
    assert_eq!(probe(&path).unwrap(), Found::Cycles(Form::OpenOcd));
    let got = open(&path).unwrap();
    assert_eq!(got.buffers[0].bytes(), one.buffers[0].bytes());
    assert_eq!(got.sources[0].register("ETMCR"), Some(0x14));
    assert_eq!(got.sources[0].device_type, "ETM1.3");
    // Without the last byte, the form is not detected.
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
    assert_eq!(probe(&path).unwrap(), Found::Raw);
    fs::remove_file(path).unwrap();
}

#[test]
fn unreadable_files_are_explained() {
    let one = capture("ETM1.3", &[("ETMCR", 0x14)], RECORDS.to_vec());
    let whole = write(&one, Form::Etmp).unwrap();
    let mut odd = whole.clone();
    odd[12] = 5;
    for (name, bytes, why) in [
        ("short", &whole[..60], "it is shorter than the 64 bytes of its head"),
        ("width", &odd, "the byte at offset 12 has a value that it cannot have"),
        ("line", &b"etmp 1\nwidth 8\nhello\n"[..], "line 3: `hello` is not valid"),
        (
            "word",
            b"etmp 1\narch 1.0\nwidth 8\ncycles\nIE:0 XX:1\n",
            "line 2: `XX:1` is not a cycle",
        ),
    ] {
        let path = file(name, bytes);
        let error = open(&path).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
        fs::remove_file(path).unwrap();
    }
    // If cycles are missing, the others are read.
    let path = file("less", &whole[..whole.len() - 2]);
    let got = open(&path).unwrap();
    assert_eq!(got.buffers[0].len(), 4);
    assert!(got.notes[0].to_string().contains("records 3 cycles, but the file contains 2"));
    fs::remove_file(path).unwrap();
}
