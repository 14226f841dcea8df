//! What must hold of recordings of the levels of a trace port.

use tracewright::Capture;
use tracewright::capture::levels::{Names, Sends, sample};
use tracewright::capture::{Buffer, Format};
use tracewright::frames::cycles::Width;
use tracewright::frames::cycles::port::{Mode, PAIRS, Wiring};

/// TRACEDATA signals of ports that send bytes.
const WIDTHS: [u8; 8] = [1, 2, 4, 8, 16, 24, 32, 64];

/// The bit of the first byte that selects [`both`].
pub const ROWS: u8 = 0x80;

/// A recording, whatever it is: no panic; an error is one line; the time and the bytes that the
/// port sends are bounded by the size of the file; and the same levels are the same bytes in both
/// formats.
///
/// The first bytes choose the port and the names of its signals; with [`ROWS`] in the first, all
/// others are levels, else they are the file.
pub fn levels(data: &[u8]) {
    let Some((&[port, names], bytes)) = data.split_first_chunk::<2>() else { return };
    let (sends, signals) = self::port(port);
    if port & ROWS != 0 {
        return both(sends, &signals, bytes);
    }
    let names: &[&str] = match names % 4 {
        0 => &[],
        1 => &["TRACECLK=clk"],
        2 => &["TRACECLK=top.clk", "TRACEDATA=D", "TRACEPKT=D"],
        _ => &["TRACEDATA[0]=D[8]", "PIPESTAT=state"],
    };
    match sampled(bytes, sends, names) {
        // Deflate packs at most 1032 bytes into one, and a record has at most 4 bytes.
        Ok(sent) => assert!(sent.len() <= 1032 * 4 * (bytes.len() + 1), "{} bytes", sent.len()),
        Err(why) => assert_eq!(why.lines().count(), 1, "{why}"),
    }
}

/// What the recorded port sent, or the error.
fn sampled(bytes: &[u8], sends: Sends, names: &[&str]) -> Result<Vec<u8>, String> {
    let mut capture = Capture {
        buffers: vec![Buffer::new("levels", Format::SourceData, bytes.to_vec())],
        ..Capture::default()
    };
    let signals = names.iter().map(|name| (*name).to_owned()).collect();
    let names = Names { signals, ..Names::default() };
    sample(&mut capture, "levels".as_ref(), sends, &names).map_err(|error| error.to_string())?;
    Ok(capture.buffers[0].bytes().into_owned())
}

/// A port, and the names of its signals.
pub fn port(choice: u8) -> (Sends, Vec<String>) {
    let mut names = vec!["TRACECLK".to_owned(), "nSRST".to_owned()];
    if choice & 1 == 0 {
        names.push("TRACECTL".to_owned());
        let width = WIDTHS[usize::from(choice >> 1) % WIDTHS.len()];
        names.extend((0..width).map(|n| format!("TRACEDATA[{n}]")));
        return (Sends::Bytes, names);
    }
    let modes = [Mode::Normal, Mode::Multiplexed, Mode::Demultiplexed];
    let mode = modes[usize::from(choice >> 1) % modes.len()];
    let width = Width::ALL[usize::from(choice >> 3) % Width::ALL.len()];
    let wiring = Wiring { mode, half_rate: choice >> 5 & 1 != 0, width };
    let signal = |n: u8, suffix: &str| match n {
        0..4 => format!("PIPESTAT{suffix}[{n}]"),
        _ => format!("TRACEPKT{suffix}[{}]", n - 4),
    };
    let all = 0..4 + width.pins();
    match mode {
        Mode::Normal => names.extend(all.map(|n| signal(n, ""))),
        Mode::Multiplexed => {
            let first = PAIRS.iter().map(|pair| pair.0).filter(|n| all.contains(n));
            names.extend(first.map(|n| signal(n, "")));
        }
        Mode::Demultiplexed => {
            names.extend(all.clone().map(|n| signal(n, "_A")));
            names.extend(all.map(|n| signal(n, "_B")));
        }
    }
    (Sends::Cycles(wiring), names)
}

/// The same levels as a Value Change Dump and as a session of sigrok are the same bytes.
fn both(sends: Sends, signals: &[String], rows: &[u8]) {
    let unit = signals.len().div_ceil(8);
    let rows: Vec<&[u8]> = rows.chunks_exact(unit).collect();
    let dump = sampled(&vcd(signals, &rows), sends, &[]);
    let session = sampled(&sr(signals, &rows), sends, &[]);
    assert_eq!(dump, session, "{sends:?} {rows:02x?}");
    assert!(dump.is_ok(), "{dump:?}");
}

/// A Value Change Dump of `signals`; the first is bit 0 of a row.
pub fn vcd(signals: &[String], rows: &[&[u8]]) -> Vec<u8> {
    let mut text = "$timescale 1 ns $end\n$scope module top $end\n".to_owned();
    for (n, name) in signals.iter().enumerate() {
        text += &format!("$var wire 1 s{n} {name} $end\n");
    }
    text += "$upscope $end\n$enddefinitions $end\n";
    let level = |row: &[u8], n: usize| row[n / 8] >> (n % 8) & 1;
    let mut before: Option<&[u8]> = None;
    for (time, row) in rows.iter().enumerate() {
        text += &format!("#{time}\n");
        for n in 0..signals.len() {
            if before.is_none_or(|before| level(before, n) != level(row, n)) {
                text += &format!("{}s{n}\n", level(row, n));
            }
        }
        before = Some(row);
    }
    text.into_bytes()
}

/// CRC-32 of a member of a ZIP archive.
fn check_sum(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| {
            sum >> 1 ^ (0xedb8_8320 & (sum & 1).wrapping_neg())
        })
    })
}

/// A session of sigrok with `signals`, not compressed; the samples are in two parts.
pub fn sr(signals: &[String], rows: &[&[u8]]) -> Vec<u8> {
    let mut about = "[device 1]\ncapturefile=logic-1\n".to_owned();
    for (n, name) in signals.iter().enumerate() {
        about += &format!("probe{}={name}\n", n + 1);
    }
    about += &format!("unitsize={}\n", signals.len().div_ceil(8));
    let samples = rows.concat();
    let (first, second) = samples.split_at(samples.len() / 3);
    let members = [("logic-1-2", second), ("logic-1-1", first), ("metadata", about.as_bytes())];
    let (mut out, mut directory) = (Vec::new(), Vec::new());
    for (name, bytes) in members {
        // Version, flags, method, time, date, check sum; sizes; lengths of name and extra field.
        let mut common = vec![20, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        common.extend(check_sum(bytes).to_le_bytes());
        common.extend([bytes.len() as u32; 2].iter().flat_map(|size| size.to_le_bytes()));
        common.extend([name.len() as u16, 0].iter().flat_map(|len| len.to_le_bytes()));
        let at = out.len() as u32;
        out.extend([b"PK\x03\x04", &common[..], name.as_bytes(), bytes].concat());
        directory.extend([b"PK\x01\x02\x14\0", &common[..], &[0; 10]].concat());
        directory.extend(at.to_le_bytes());
        directory.extend(name.as_bytes());
    }
    let (at, size) = (out.len() as u32, directory.len() as u32);
    out.extend(directory);
    out.extend(b"PK\x05\x06\0\0\0\0\x03\0\x03\0");
    out.extend([size, at].iter().flat_map(|word| word.to_le_bytes()));
    out.extend([0, 0]);
    out
}
