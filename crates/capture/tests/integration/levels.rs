//! Recordings of levels, written here and read back.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::PathBuf;

use flate2::{Compression, Crc, write::DeflateEncoder};
use tracewright_capture::levels::{Connector, Names, Sends, sample};
use tracewright_capture::{Capture, Raw};
use tracewright_frames::cycles::port::{Driver, Levels, MICTOR, MICTOR_B, Mode, PAIRS, Wiring};
use tracewright_frames::cycles::{Cycle, Width, records};
use tracewright_testing::Random;
use tracewright_units::etm::connector::Pinout;

/// Names of signals and their levels at each moment, the first in bit 0.
struct Recording {
    names: Vec<String>,
    rows: Vec<u64>,
}

impl Recording {
    fn vcd(&self) -> Vec<u8> {
        let mut out = "$timescale 1 ns $end\n$scope module top $end\n".to_owned();
        for (n, name) in self.names.iter().enumerate() {
            writeln!(out, "$var wire 1 s{n} {name} $end").unwrap();
        }
        out.push_str("$upscope $end\n$enddefinitions $end\n");
        let mut before = None;
        for (time, row) in self.rows.iter().enumerate() {
            writeln!(out, "#{time}").unwrap();
            for n in 0..self.names.len() {
                let level = row >> n & 1;
                if before.is_none_or(|before: u64| before >> n & 1 != level) {
                    writeln!(out, "{level}s{n}").unwrap();
                }
            }
            before = Some(*row);
        }
        out.into_bytes()
    }

    /// A session of sigrok, with the samples in two parts that are cut within a sample.
    fn sr(&self, method: u16) -> Vec<u8> {
        let unit = self.names.len().div_ceil(8);
        let mut about =
            "[global]\nsigrok version=0.5.2\n\n[device 1]\ncapturefile=logic-1\n".to_owned();
        for (n, name) in self.names.iter().enumerate() {
            writeln!(about, "probe{}={name}", n + 1).unwrap();
        }
        writeln!(about, "unitsize={unit}").unwrap();
        let samples: Vec<u8> =
            self.rows.iter().flat_map(|row| row.to_le_bytes().into_iter().take(unit)).collect();
        let (first, second) = samples.split_at(samples.len() / 2 + unit / 2);
        let members = [
            ("version", b"2".as_slice()),
            ("logic-1-2", second),
            ("logic-1-1", first),
            ("metadata", about.as_bytes()),
        ];
        zip(&members, method)
    }
}

fn zip(members: &[(&str, &[u8])], method: u16) -> Vec<u8> {
    let (mut out, mut directory) = (Vec::new(), Vec::new());
    for (name, bytes) in members {
        let mut packed = bytes.to_vec();
        if method == 8 {
            let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
            encoder.write_all(bytes).unwrap();
            packed = encoder.finish().unwrap();
        }
        let at = out.len() as u32;
        let mut common = vec![20, 0, 0, 0];
        common.extend(method.to_le_bytes());
        common.extend([0; 4]);
        let mut sum = Crc::new();
        sum.update(bytes);
        common.extend(sum.sum().to_le_bytes());
        common.extend((packed.len() as u32).to_le_bytes());
        common.extend((bytes.len() as u32).to_le_bytes());
        common.extend((name.len() as u16).to_le_bytes());
        common.extend([0; 2]);
        out.extend(b"PK\x03\x04");
        out.extend(&common);
        out.extend(name.as_bytes());
        out.extend(packed);
        directory.extend(b"PK\x01\x02\x14\x00");
        directory.extend(&common);
        directory.extend([0; 10]);
        directory.extend(at.to_le_bytes());
        directory.extend(name.as_bytes());
    }
    let at = out.len() as u32;
    out.extend(&directory);
    out.extend(b"PK\x05\x06\0\0\0\0");
    out.extend([members.len() as u8, 0, members.len() as u8, 0]);
    out.extend((directory.len() as u32).to_le_bytes());
    out.extend(at.to_le_bytes());
    out.extend([0; 2]);
    out
}

/// What is read of the file with `bytes`, or the error.
fn read(test: &str, bytes: &[u8], sends: Sends, names: &[&str]) -> Result<Vec<u8>, String> {
    let signals = names.iter().map(|name| (*name).to_owned()).collect();
    read_named(test, bytes, sends, &Names { signals, connector: None })
}

fn read_named(test: &str, bytes: &[u8], sends: Sends, names: &Names) -> Result<Vec<u8>, String> {
    let path: PathBuf =
        std::env::temp_dir().join(format!("tracewright-levels-{test}-{}", std::process::id()));
    fs::write(&path, bytes).unwrap();
    let mut capture = Capture::raw(std::slice::from_ref(&path), &Raw::default()).unwrap();
    fs::remove_file(&path).unwrap();
    sample(&mut capture, &path, sends, names).map_err(|error| error.to_string())?;
    Ok(capture.buffers[0].bytes().into_owned())
}

/// The signals of an ETMv2 by their names, with the pin of each.
fn recording(wiring: Wiring, levels: &[Levels]) -> Recording {
    let signal = |n: u8, suffix: &str| match n {
        0..4 => format!("PIPESTAT{suffix}[{n}]"),
        _ => format!("TRACEPKT{suffix}[{}]", n - 4),
    };
    let count = 4 + wiring.width.pins();
    let pins: Vec<(String, u8)> = match wiring.mode {
        Mode::Multiplexed => (0u8..)
            .zip(PAIRS)
            .filter(|(_, pair)| pair.0 < count)
            .map(|(pin, pair)| (signal(pair.0, ""), pin))
            .collect(),
        Mode::Normal => (0..count).map(|n| (signal(n, ""), n)).collect(),
        Mode::Demultiplexed => (0..count)
            .map(|n| (signal(n, "_A"), n))
            .chain((0..count).map(|n| (signal(n, "_B"), 32 + n)))
            .collect(),
    };
    // A signal that is not of the port.
    let names = ["TRACECLK".to_owned(), "nSRST".to_owned()];
    let names = names.into_iter().chain(pins.iter().map(|(name, _)| name.clone())).collect();
    let row = |levels: &Levels| {
        let all = u64::from(levels.a) | u64::from(levels.b) << 32;
        let pins = pins.iter().enumerate();
        let bits = pins.map(|(n, (_, pin))| (all >> pin & 1) << (n + 2));
        bits.fold(u64::from(levels.clock) | 2, |all, bit| all | bit)
    };
    Recording { names, rows: levels.iter().map(row).collect() }
}

/// IHI 0014, Table 2-17.
#[test]
fn cycles_of_each_port_mode() {
    let mut random = Random::new(5);
    for (mode, half_rate) in [
        (Mode::Normal, false),
        (Mode::Normal, true),
        (Mode::Multiplexed, false),
        (Mode::Demultiplexed, false),
        (Mode::Demultiplexed, true),
    ] {
        for width in Width::ALL {
            let wiring = Wiring { mode, half_rate, width };
            let sent: Vec<_> = (0..200)
                .map(|_| {
                    let bits = random.next() as u32;
                    Cycle::of_pipestat(bits as u8 & 0xf, (bits >> 8) as u16 & width.mask())
                })
                .collect();
            let mut levels = Vec::new();
            Driver::new(wiring).push(&sent, &mut levels);
            let recording = recording(wiring, &levels);
            let want: Vec<u8> = records(sent, width).collect();
            let sends = Sends::Cycles(wiring);
            for file in [recording.vcd(), recording.sr(0), recording.sr(8)] {
                assert!(read("modes", &file, sends, &[]).unwrap() == want, "{wiring:?}");
            }
        }
    }
}

/// IHI 0014, Tables 8-3, 8-7 and 8-9: signals that have the names of the pins of the connector. The
/// pins are those of another transcription of the tables.
#[test]
fn signals_by_their_pins() {
    // The name of a signal, as `recording` has it, to the number of the trace signal, from 0.
    let number = |name: &str| {
        let index = || name.split(['[', ']']).nth(1).unwrap().parse::<usize>().unwrap();
        if name.starts_with("PIPESTAT") { index() } else { 4 + index() }
    };
    let mut random = Random::new(6);
    for (mode, width, connector) in [
        (Mode::Normal, Width::W4, Connector::One(Pinout::Single)),
        (Mode::Normal, Width::W4, Connector::One(Pinout::Dual)),
        (Mode::Normal, Width::W4, Connector::One(Pinout::DualB)),
        (Mode::Multiplexed, Width::W4, Connector::One(Pinout::Multiplexed)),
        (Mode::Demultiplexed, Width::W4, Connector::One(Pinout::Demultiplexed)),
        (Mode::Demultiplexed, Width::W8, Connector::Two),
        (Mode::Demultiplexed, Width::W16, Connector::Two),
    ] {
        let wiring = Wiring { mode, half_rate: false, width };
        let second_port = connector == Connector::One(Pinout::DualB);
        let sent: Vec<_> = (0..100)
            .map(|_| {
                let bits = random.next() as u32;
                Cycle::of_pipestat(bits as u8 & 0xf, (bits >> 8) as u16 & wiring.width.mask())
            })
            .collect();
        let mut levels = Vec::new();
        Driver::new(wiring).push(&sent, &mut levels);
        let mut recording = recording(wiring, &levels);
        for name in &mut recording.names {
            let pin = match name.as_str() {
                "TRACECLK" => {
                    if second_port {
                        5
                    } else {
                        6
                    }
                }
                "nSRST" => 9,
                other if other.contains("_B") && connector == Connector::Two => {
                    *name = format!("PIN{}_2", MICTOR[number(other)]);
                    continue;
                }
                other if second_port => MICTOR_B[number(other)],
                other if other.contains("_B") => MICTOR_B[number(other)],
                other if mode == Mode::Multiplexed => {
                    let signal = number(other) as u8;
                    MICTOR[PAIRS.iter().position(|pair| pair.0 == signal).unwrap()]
                }
                other => MICTOR[number(other)],
            };
            *name = format!("PIN{pin}");
        }
        let want: Vec<u8> = records(sent, wiring.width).collect();
        let names = |connector| Names { signals: Vec::new(), connector };
        let file = recording.vcd();
        let got = read_named("pins", &file, Sends::Cycles(wiring), &names(Some(connector)));
        assert!(got.unwrap() == want, "{connector:?}");
        let without = read_named("pins", &file, Sends::Cycles(wiring), &names(None));
        assert!(without.unwrap_err().contains("no signal TRACECLK"));
    }
    // An ETMv3 with eight TRACEDATA signals: 38 has TRACEDATA[0], 36 TRACECTL. (Table 8-2)
    let sent = [0x12, 0xff, 0x80, 0x01];
    let mut rows = vec![1];
    rows.extend(sent.iter().enumerate().map(|(n, data)| u64::from(*data) << 2 | n as u64 & 1));
    let pins = [6, 36, 38].into_iter().chain(MICTOR[5..12].iter().copied());
    let file = Recording { names: pins.map(|pin| format!("PIN{pin}")).collect(), rows }.vcd();
    let connector = Some(Connector::One(Pinout::Single));
    let names = Names { signals: Vec::new(), connector };
    assert_eq!(read_named("pins3", &file, Sends::Bytes, &names).unwrap(), sent);
    // One with 32, of which TRACEDATA[31:16] are on the second connector. (Table 8-5)
    let sent: Vec<u8> = (0..40).map(|n| n * 5 + 1).collect();
    let mut rows = vec![1];
    rows.extend(sent.chunks(4).enumerate().map(|(n, data)| {
        u64::from(u32::from_le_bytes(data.try_into().unwrap())) << 2 | n as u64 & 1
    }));
    let first = [6, 36, 38].into_iter().chain(MICTOR[5..].iter().copied());
    let second = [38, 28, 26, 24, 22, 20, 18, 16, 37, 35, 33, 31, 29, 27, 25, 23];
    let pins = first.map(|pin| format!("PIN{pin}"));
    let pins = pins.chain(second.map(|pin: u8| format!("PIN{pin}_2")));
    let file32 = Recording { names: pins.collect(), rows }.vcd();
    let two = Names { signals: Vec::new(), connector: Some(Connector::Two) };
    assert_eq!(read_named("pins32", &file32, Sends::Bytes, &two).unwrap(), sent);
    let sent = [0x12, 0xff, 0x80, 0x01];
    // A signal that is named itself.
    let names = Names { signals: vec!["TRACECLK=PIN36".to_owned()], ..names };
    assert_ne!(read_named("pins3", &file, Sends::Bytes, &names).unwrap(), sent);
}

/// The bytes of a port with 1 to 32 TRACEDATA signals; cycles without trace are discarded. The
/// samples are laid out here.
#[test]
fn bytes_of_each_width() {
    let sent: Vec<u8> = (0..60u32).map(|n| (n * 37 % 251) as u8).collect();
    for pins in [1u64, 2, 4, 8, 16, 24, 32] {
        let mask = (1 << pins) - 1;
        let mut samples = Vec::new();
        let bits = sent.iter().flat_map(|byte| (0..8).map(move |n| u64::from(byte >> n & 1)));
        for (n, bits) in bits.collect::<Vec<_>>().chunks(pins as usize).enumerate() {
            let data = bits.iter().rev().fold(0, |all, bit| all << 1 | bit);
            samples.push((false, data));
            if n % 5 == 0 {
                samples.push((true, 1 & mask));
            }
        }
        let mut rows = vec![0];
        for (n, (control, data)) in samples.into_iter().enumerate() {
            let row = data << 2 | u64::from(control) << 1;
            let clock = n as u64 & 1;
            // Each level is recorded before the edge and at it.
            rows.extend([row | (clock ^ 1) ^ 1, row | clock ^ 1]);
        }
        let mut names = vec!["TRACECLK".to_owned(), "TRACECTL".to_owned()];
        names.extend((0..pins).map(|n| format!("TRACEDATA{n}")));
        let recording = Recording { names, rows };
        for file in [recording.vcd(), recording.sr(8)] {
            assert!(read("widths", &file, Sends::Bytes, &[]).unwrap() == sent, "{pins}");
        }
    }
}

/// Vectors, scopes, other names, and levels that are unknown before the recording.
#[test]
fn forms_of_a_value_change_dump() {
    let head = "$date today $end $scope module top $end $var wire 1 ! clk $end \
                $var reg 8 # TRACEDATA [7:0] $end $var wire 1 ' TRACECTL $end \
                $scope module etm $end $var wire 1 ! TRACECLK $end \
                $var real 64 r temperature $end $upscope $end $upscope $end \
                $enddefinitions $end\n";
    let body = "$dumpvars x! bx # x' $end #1 0! #2 1! #3 0' b0 # 0! #4 b10000001 # 1! \
                $comment 0! $end r2.5 r #5 b11 # #6 0! #7 1! 1' b1 #";
    let file = format!("{head}{body}").into_bytes();
    let read = |file: &[u8], names: &[&str]| self::read("forms", file, Sends::Bytes, names);
    assert_eq!(read(&file, &["TRACECLK=clk"]), Ok(vec![0x81, 3]));
    assert_eq!(read(&file, &["TRACECLK=top.clk"]), Ok(vec![0x81, 3]));
    for (text, names, want) in [
        (format!("{head}{body} #8 x!"), &["TRACECLK=clk"][..], "a level is unknown"),
        (format!("{head}{body} #8 q"), &["TRACECLK=clk"], "`q` is not a change of a value"),
        (head.replace("$enddefinitions $end", ""), &[], "it ends before $enddefinitions"),
        (head.replace("[7:0]", "[6:0]").replace(" 8 #", " 7 #"), &["TRACECLK=clk"], "7 signals"),
        (head.replace("TRACECLK", "C").replace("clk", "D"), &[], "no signal TRACECLK"),
        (head.replace("clk", "TRACECLK").replacen('!', "?", 1), &[], "are the same signal"),
        (head.to_owned(), &["TRACECLK"], "is not SIGNAL=NAME"),
        (head.to_owned(), &["CLOCK=clk"], "the port has no signal `CLOCK`"),
        ("trace".to_owned(), &[], "is no section of a Value Change Dump"),
    ] {
        let error = read(text.as_bytes(), names).unwrap_err();
        assert!(error.contains(want), "{error}");
    }
}

/// Archives that are damaged at each byte, or of something else, are read or refused.
#[test]
fn damaged_sessions() {
    let names = ["TRACECLK", "TRACECTL", "TRACEDATA0"].map(str::to_owned).to_vec();
    let recording = Recording { names, rows: (0..64).collect() };
    let read = |file: &[u8]| read("damaged", file, Sends::Bytes, &[]);
    let whole = recording.sr(8);
    read(&whole).unwrap();
    for at in 0..whole.len() {
        let mut file = whole.clone();
        file[at] ^= 0x55;
        let _ = read(&file);
        let _ = read(&whole[..at]);
    }
    let (many, long) = (vec![("a", b"".as_slice()); 65_537], vec![b'#'; (1 << 20) + 1]);
    for (members, want) in [
        (&[("a", b"".as_slice())][..], "no `metadata`"),
        (&[("metadata", b"[device 1]\n")], "no `capturefile`"),
        (&[("metadata", b"capturefile=l\n")], "no `unitsize`"),
        (&[("metadata", b"capturefile=l\nunitsize=65\n")], "no `unitsize` from 1 to 64"),
        (&[("metadata", &long)], "more than 1048576 bytes"),
        (&many, "more than 65536 members"),
        (&[("metadata", b"capturefile=l\nunitsize=1\nprobe9=D\n")], "more channels"),
        (
            &[("metadata", b"capturefile=l\nunitsize=1\nprobe1=TRACECLK\nprobe2=TRACEDATA0\n")],
            "no samples `l`",
        ),
    ] {
        let error = read(&zip(members, 0)).unwrap_err();
        assert!(error.contains(want), "{error}");
    }
}

/// A few bytes do not unpack to as many samples as a large file may have.
#[test]
fn unpacked_samples_are_bounded() {
    let samples = vec![0; 290 << 20];
    let about = "capturefile=l\nunitsize=64\nprobe1=TRACECLK\nprobe2=TRACECTL\nprobe3=TRACEDATA0\n";
    let file = zip(&[("metadata", about.as_bytes()), ("l-1", &samples)], 8);
    let error = read("bounded", &file, Sends::Bytes, &[]).unwrap_err();
    let most = (1 << 28) + 64 * file.len();
    assert!(error.contains(&format!("the samples have more than {most} bytes")), "{error}");
}

/// Samples that are not those that were written are not decoded.
#[test]
fn samples_have_a_checksum() {
    let names = ["TRACECLK", "TRACECTL", "TRACEDATA[0]"].map(str::to_owned).to_vec();
    let file = Recording { names, rows: (0..400).collect() }.sr(0);
    assert!(read("right", &file, Sends::Bytes, &[]).is_ok());
    let name = file.windows(9).position(|bytes| bytes == b"logic-1-1").unwrap();
    let mut wrong = file;
    wrong[name + 9 + 20] ^= 1;
    let error = read("wrong", &wrong, Sends::Bytes, &[]).unwrap_err();
    assert!(error.contains("`logic-1-1` cannot be unpacked"), "{error}");
}

/// Sizes and offsets of an archive of more than 4 GiB are in extra fields of its directory.
/// (APPNOTE.TXT 6.3, section 4.5.3)
#[test]
fn directories_with_numbers_of_64_bits() {
    let names = ["TRACECLK", "TRACECTL", "TRACEDATA[0]"].map(str::to_owned).to_vec();
    let file = Recording { names, rows: (0..400).collect() }.sr(8);
    let want = read("of-32", &file, Sends::Bytes, &[]).unwrap();
    let end = file.len() - 22;
    let half = |at: usize| u16::from_le_bytes(*file[at..].first_chunk().unwrap());
    let word = |at: usize| u32::from_le_bytes(*file[at..].first_chunk().unwrap());
    let from = word(end + 16) as usize;
    let (mut wide, mut at) = (file[..from].to_vec(), from);
    while at < end {
        let name = usize::from(half(at + 28));
        let numbers = [word(at + 24), word(at + 20), word(at + 42)].map(u64::from);
        wide.extend(&file[at..at + 20]);
        wide.extend([0xff; 8]);
        wide.extend(half(at + 28).to_le_bytes());
        wide.extend(28u16.to_le_bytes());
        wide.extend([0; 10]);
        wide.extend([0xff; 4]);
        wide.extend(&file[at + 46..at + 46 + name]);
        wide.extend([1, 0, 24, 0]);
        wide.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
        at += 46 + name;
    }
    let size = (wide.len() - from) as u32;
    wide.extend(&file[end..end + 12]);
    wide.extend(size.to_le_bytes());
    wide.extend(&file[end + 16..]);
    assert_eq!(read("of-64", &wide, Sends::Bytes, &[]).unwrap(), want);
}

/// The directory of an archive may have several entries for the same bytes.
#[test]
fn members_that_overlap() {
    let names = ["TRACECLK", "TRACECTL", "TRACEDATA[0]"].map(str::to_owned).to_vec();
    let rows = (0..400).collect();
    let file = Recording { names, rows }.sr(0);
    assert!(read("whole", &file, Sends::Bytes, &[]).is_ok());
    let end = file.len() - 22;
    let word = |at: usize| u32::from_le_bytes(*file[at..].first_chunk().unwrap()) as usize;
    let (size, at) = (word(end + 12), word(end + 16));
    let mut many = file[..at].to_vec();
    let entries = file[at..at + size].repeat(40);
    many.extend(&entries);
    many.extend(&file[end..end + 12]);
    many.extend((entries.len() as u32).to_le_bytes());
    many.extend(&file[end + 16..]);
    let error = read("overlap", &many, Sends::Bytes, &[]).unwrap_err();
    assert!(error.contains("members of the archive overlap"), "{error}");
}

/// Names of wide variables that are no signals of the port cost little: 400 KB are read in well
/// under a second.
#[test]
fn wide_variables_of_other_names() {
    let mut file = "$scope module top $end\n".to_owned();
    for n in 0..4000 {
        writeln!(file, "$var wire 1024 v{n} other[1023:0] $end").unwrap();
        writeln!(file, "$var wire 1024 w{n} TRACEDATA[2000:64] $end").unwrap();
    }
    file += "$var wire 1 c TRACECLK $end $var wire 8 d TRACEDATA[7:0] $end\n\
             $var wire 1 e TRACECTL $end $enddefinitions $end\n";
    for (time, clock) in [1, 0, 1].into_iter().enumerate() {
        writeln!(file, "#{time} {clock}c b10000{clock}1 d 0e").unwrap();
    }
    assert_eq!(read("wide", file.as_bytes(), Sends::Bytes, &[]), Ok(vec![0x41, 0x43]));
    // A name of the command line may have any number. One bit is no byte.
    let named = "$var wire 200 v bus[199:0] $end $var wire 1 c TRACECLK $end\n\
                 $var wire 1 e TRACECTL $end $enddefinitions $end\n#0 0c 0e b0 v #1 1c";
    let signals = ["TRACEDATA[0]=bus[150]"];
    assert_eq!(read("named", named.as_bytes(), Sends::Bytes, &signals), Ok(vec![]));
}
