//! A case file.

#![allow(dead_code, reason = "each test uses what fits it")]

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use tracewright::base::{CoreType, Isa, MAX_EXPANSION};
use tracewright::capture::core_type;
use tracewright::image::{Image, Region};
use tracewright::protocols::registry::{AnyConfig, AnyProtocol};

/// The contents of a case file.
pub struct Case {
    /// The lines above the expectations, which are written by hand.
    head: String,
    /// `None` for a generated case.
    pub protocol: Option<AnyProtocol>,
    pub core: Option<CoreType>,
    /// Registers, and settings of the trace unit.
    pub registers: Vec<(String, u64)>,
    /// The execution log of the processor in CSV.
    pub steps: String,
    /// The instruction set of the first `code` line.
    pub isa: Isa,
    pub config: AnyConfig,
    pub image: Image,
    /// The maximum number of instructions for each byte of a packet.
    pub max_expansion: u32,
    pub bytes: Vec<u8>,
    pub packets: Vec<String>,
    pub elements: Vec<String>,
    pub committed: Option<Vec<String>>,
}

impl Case {
    /// Reads a case file.
    pub fn parse(text: &str) -> Result<Case, String> {
        let (head, expected) = match text.find("\npackets") {
            Some(at) => text.split_at(at + 1),
            None => (text, ""),
        };
        let mut protocol = None;
        let mut core: Option<CoreType> = None;
        let mut registers: Vec<(String, u64)> = Vec::new();
        let (mut regions, mut bytes) = (Vec::new(), Vec::new());
        let (mut steps, mut first) = (String::new(), None);
        let mut texts = Vec::new();
        let mut max_expansion = MAX_EXPANSION;
        for (n, line) in (1..).zip(head.lines()) {
            let line = line.split('#').next().unwrap_or("").trim();
            let (key, rest) = line.split_once(' ').unwrap_or((line, ""));
            let wrong = |what: &str| format!("line {n}: {what}");
            match key {
                "" => {}
                "protocol" => {
                    let named = AnyProtocol::named(rest.trim());
                    protocol = Some(named.ok_or_else(|| wrong("unknown protocol"))?);
                }
                "core" => {
                    core = Some(core_type(rest.trim()).ok_or_else(|| wrong("unknown core"))?);
                }
                "config" => {
                    for word in rest.split_whitespace() {
                        let (name, value) =
                            word.split_once('=').ok_or_else(|| wrong("NAME=VALUE"))?;
                        let value = number(value).ok_or_else(|| wrong("not a number"))?;
                        registers.push((name.to_owned(), value));
                    }
                }
                "text" => {
                    let pair = rest.split_once(' ').ok_or_else(|| wrong("text NAME TEXT"))?;
                    texts.push((n, pair));
                }
                "max_expansion" => {
                    max_expansion = rest.trim().parse().map_err(|_| wrong("not a number"))?;
                }
                "code" => {
                    let (region, isa) =
                        code(rest).ok_or_else(|| wrong("code ADDRESS ISA: WORDS"))?;
                    regions.push(region);
                    first.get_or_insert(isa);
                }
                "steps" if steps.is_empty() => steps = format!("{}\n", rest.trim()),
                "step" if !steps.is_empty() => steps += &format!("{}\n", rest.trim()),
                "bytes" => bytes.extend(data(rest).ok_or_else(|| wrong("not bytes"))?),
                key => return Err(wrong(&format!("unknown word `{key}`"))),
            }
        }
        let register =
            |name: &str| registers.iter().find(|(known, _)| known == name).map(|&(_, v)| v);
        let protocol = protocol.ok_or("no protocol")?;
        let mut config = protocol.configure(core, &register).map_err(|error| error.to_string())?;
        for (n, (name, text)) in texts {
            let set = config.set_text(name, text.trim());
            set.unwrap_or_else(|| Err("no such text".into()))
                .map_err(|why| format!("line {n}: {why}"))?;
        }
        let mut case = Case::of(config, Image::new(regions), bytes);
        case.head = head.to_owned();
        (case.protocol, case.core) = (Some(protocol), core);
        (case.registers, case.steps) = (registers, steps);
        case.isa = first.unwrap_or_default();
        case.max_expansion = max_expansion;
        case.expect(expected)?;
        Ok(case)
    }

    fn expect(&mut self, text: &str) -> Result<(), String> {
        let mut section = None;
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            match (line.strip_prefix("  "), &mut section) {
                (Some(row), Some(rows)) => {
                    let rows: &mut &mut Vec<String> = rows;
                    rows.push(row.trim_end().to_owned());
                }
                (None, _) => {
                    section = Some(match line.trim_end() {
                        "packets" => &mut self.packets,
                        "elements" => &mut self.elements,
                        "committed" => self.committed.insert(Vec::new()),
                        other => return Err(format!("unknown section `{other}`")),
                    });
                }
                (Some(_), None) => return Err("a row without a section".into()),
            }
        }
        Ok(())
    }

    /// A case of these bytes, without expectations.
    pub fn of(config: AnyConfig, image: Image, bytes: Vec<u8>) -> Case {
        Case {
            head: String::new(),
            protocol: None,
            core: None,
            registers: Vec::new(),
            steps: String::new(),
            isa: Isa::default(),
            config,
            image,
            max_expansion: MAX_EXPANSION,
            bytes,
            packets: Vec::new(),
            elements: Vec::new(),
            committed: None,
        }
    }

    /// Adds `bytes` lines to the head of a file without any.
    pub fn with_bytes(&mut self, bytes: &[u8]) {
        for row in bytes.chunks(24) {
            let row: Vec<String> = row.iter().map(|byte| format!("{byte:02x}")).collect();
            let _ = writeln!(self.head, "bytes {}", row.join(" "));
        }
        self.bytes = bytes.to_vec();
    }

    /// Every case of `tests/cases`, with its name.
    pub fn all() -> Vec<(String, Result<Case, String>)> {
        let root = root();
        let text = |path: &PathBuf| fs::read_to_string(path).map_err(|error| error.to_string());
        let read = |path: PathBuf| {
            let name = path.strip_prefix(&root).unwrap_or(&path).display().to_string();
            (name, text(&path).and_then(|text| Case::parse(&text)))
        };
        files(&root).into_iter().map(read).collect()
    }

    /// The file with these expectations.
    pub fn blessed(&self, packets: &[String], elements: &[String], committed: &[String]) -> String {
        let mut text = self.head.clone();
        let mut section = |name: &str, rows: &[String]| {
            let _ = writeln!(text, "{name}");
            for row in rows {
                let _ = writeln!(text, "  {row}");
            }
        };
        section("packets", packets);
        section("elements", elements);
        if self.committed.is_some() {
            section("committed", committed);
        }
        text
    }
}

/// The folder `tests/cases` of a parent folder of this crate.
pub fn root() -> PathBuf {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let mut folders = crates.map(|folder| folder.join("tests/cases"));
    folders.find(|folder| folder.join("README.md").exists()).unwrap_or_default()
}

/// The case files below `root`, in order.
pub fn files(root: &Path) -> Vec<PathBuf> {
    let inside = |folder: &Path| -> Vec<PathBuf> {
        fs::read_dir(folder).map_or_else(
            |_| Vec::new(),
            |entries| entries.filter_map(|entry| Some(entry.ok()?.path())).collect(),
        )
    };
    let folders = inside(root).into_iter().filter(|path| path.is_dir());
    let mut files: Vec<_> = folders.flat_map(|folder| inside(&folder)).collect();
    files.retain(|path| path.extension().is_some_and(|ext| ext == "case"));
    files.sort();
    files
}

fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}

/// A word and its number of repetitions: `00*11`.
fn repeated(word: &str) -> Option<(&str, usize)> {
    match word.split_once('*') {
        Some((word, times)) => Some((word, times.parse().ok()?)),
        None => Some((word, 1)),
    }
}

fn data(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    for word in text.split_whitespace() {
        let (byte, times) = repeated(word)?;
        let byte = u8::from_str_radix(byte, 16).ok().filter(|_| byte.len() == 2)?;
        bytes.extend(std::iter::repeat_n(byte, times));
    }
    Some(bytes)
}

/// `ADDRESS ISA: WORDS`, as bytes in memory: little-endian, with T32 in halfwords.
fn code(text: &str) -> Option<(Region, Isa)> {
    let (place, words) = text.split_once(':')?;
    let (address, isa) = place.trim().split_once(' ')?;
    let isa = match isa.trim() {
        "A64" => Isa::A64,
        "A32" => Isa::A32,
        "T32" => Isa::T32,
        "RV32" => Isa::Rv32,
        "RV64" => Isa::Rv64,
        _ => return None,
    };
    let mut bytes = Vec::new();
    for word in words.split_whitespace() {
        let (word, times) = repeated(word)?;
        let value = u32::from_str_radix(word, 16).ok()?.to_le_bytes();
        let value = match (isa, word.len()) {
            (Isa::T32 | Isa::Rv32 | Isa::Rv64, 4) => value.get(..2)?,
            (Isa::A64 | Isa::A32 | Isa::Rv32 | Isa::Rv64, 8) => &value[..],
            _ => return None,
        };
        bytes.extend(value.iter().copied().cycle().take(value.len() * times));
    }
    Some((Region::new("case", number(address)?, bytes), isa))
}
