//! The feature sections: about the machine and the recording, and the files of the recorded code.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::fields::{Fields, Reader, Writer};
use super::limits::MAX_MODULES;
use crate::proto::{Value, fields};

/// BUILD_ID: the build identifiers of files.
pub const BUILD_ID: u32 = 2;
/// HOSTNAME.
pub const HOSTNAME: u32 = 3;
/// OSRELEASE: the version of the kernel.
pub const OS_RELEASE: u32 = 4;
/// VERSION: the version of perf.
pub const VERSION: u32 = 5;
/// ARCH: the machine.
pub const ARCH: u32 = 6;
/// NRCPUS.
pub const CPU_COUNT: u32 = 7;
/// CMDLINE: the command line.
pub const COMMAND_LINE: u32 = 11;
/// BRANCH_STACK: samples have branches. The section is empty.
pub const BRANCH_STACK: u32 = 15;
/// AUXTRACE: an index of the AUXTRACE records, which is not read. perf writes a count before it,
/// simpleperf does not.
pub const AUXTRACE: u32 = 18;
/// BPF_PROG_INFO: BPF programs and their machine code.
pub const BPF_PROGRAMS: u32 = 25;
/// META_INFO of simpleperf: pairs of texts.
pub const META_INFO: u32 = 129;
/// ETM_BRANCH_LIST of simpleperf: a branch list in place of the trace.
pub const BRANCH_LIST: u32 = 133;
/// FILE of simpleperf before 2021: the recorded files and their symbols.
pub const FILE: u32 = 128;
/// FILE2 of simpleperf: the recorded files and their symbols.
pub const FILE2: u32 = 132;

/// The size in bytes of a build identifier in an entry of BUILD_ID, with its length and padding.
const ID_LEN: usize = 24;

/// A text with its length before it, padded.
fn text(reader: &mut Reader<'_>) -> Option<String> {
    let mut len = 0;
    reader.u32(&mut len)?;
    if len as usize > reader.left() {
        return None;
    }
    let mut bytes = vec![0; len as usize];
    reader.raw(&mut bytes)?;
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    Some(String::from_utf8_lossy(bytes.get(..end)?).into_owned())
}

/// The number of words of a command line that are shown.
const MAX_WORDS: u32 = 1 << 12;

/// The version of the kernel; empty where it is not recorded.
pub(super) fn release(features: &BTreeMap<u32, Vec<u8>>, big: bool) -> String {
    let recorded = features.get(&OS_RELEASE).and_then(|bytes| text(&mut Reader::new(bytes, big)));
    let of_meta = || {
        let (_, value) = meta_info(features).find(|(name, _)| name == "kernel_version")?;
        Some(value.into_owned())
    };
    recorded.or_else(of_meta).unwrap_or_default()
}

/// What the sections record about the machine and the recording: name and text.
pub(super) fn about(features: &BTreeMap<u32, Vec<u8>>, big: bool) -> Vec<(String, String)> {
    let mut about = Vec::new();
    let mut add = |name: &str, value: Option<String>| {
        about.extend(value.filter(|value| !value.is_empty()).map(|value| (name.to_owned(), value)));
    };
    let reader = |number| features.get(&number).map(|bytes| Reader::new(bytes, big));
    add(
        "command line",
        reader(COMMAND_LINE).and_then(|mut reader| {
            let mut count = 0;
            reader.u32(&mut count)?;
            let words: Option<Vec<_>> =
                (0..count.min(MAX_WORDS)).map(|_| text(&mut reader)).collect();
            let further = count.checked_sub(MAX_WORDS).filter(|further| *further > 0);
            let further = further.map(|further| format!(" and {further} further arguments"));
            Some(words?.join(" ") + &further.unwrap_or_default())
        }),
    );
    for (name, number) in
        [("host", HOSTNAME), ("kernel", OS_RELEASE), ("machine", ARCH), ("perf", VERSION)]
    {
        add(name, reader(number).and_then(|mut reader| text(&mut reader)));
    }
    add(
        "CPUs",
        reader(CPU_COUNT).and_then(|mut reader| {
            let (mut online, mut available) = (0, 0);
            reader.u32(&mut online)?;
            reader.u32(&mut available)?;
            Some(format!("{online} online, {available} available"))
        }),
    );
    // Each name is shown once, so that the number of texts is bounded.
    let mut shown =
        vec!["simpleperf_version", "kernel_version", "product_props", "android_sdk_version"];
    for (name, value) in meta_info(features) {
        if let Some(index) = shown.iter().position(|known| *known == name) {
            add(shown.swap_remove(index), Some(value.into_owned()));
        }
    }
    about
}

/// The name of the machine, as uname(1) prints it.
pub(super) fn machine(features: &BTreeMap<u32, Vec<u8>>, big: bool) -> Option<String> {
    let machine = text(&mut Reader::new(features.get(&ARCH)?, big))?;
    Some(machine).filter(|machine| !machine.is_empty())
}

/// The pairs of META_INFO.
fn meta_info(
    features: &BTreeMap<u32, Vec<u8>>,
) -> impl Iterator<Item = (Cow<'_, str>, Cow<'_, str>)> {
    let bytes = features.get(&META_INFO).map(Vec::as_slice).unwrap_or_default();
    let mut texts = bytes.split(|byte| *byte == 0).map(String::from_utf8_lossy);
    std::iter::from_fn(move || Some((texts.next()?, texts.next()?)))
}

/// A build identifier without the zeros that pad it. simpleperf has no length.
fn trimmed(id: &[u8]) -> Vec<u8> {
    let len = id.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    id.get(..len.next_multiple_of(4)).unwrap_or(id).to_vec()
}

/// Whether both are the build identifier of one file: a shorter one is padded with zeros.
pub fn same_build_id(a: &[u8], b: &[u8]) -> bool {
    trimmed(a) == trimmed(b)
}

/// The build identifiers by path. (BUILD_ID; the records of a pipe have the same form)
pub(super) fn build_ids(bytes: &[u8], big: bool) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let mut rest = bytes;
    while rest.len() >= 8 {
        let (mut number, mut misc, mut size) = (0, 0, 0);
        let mut head = Reader::new(rest, big);
        let _ = head.u32(&mut number).and(head.u16(&mut misc)).and(head.u16(&mut size));
        let size = usize::from(size);
        let Some((entry, after)) = rest.split_at_checked(size).filter(|_| size > 12 + ID_LEN)
        else {
            break;
        };
        found.extend(build_id(misc, entry.get(8..).unwrap_or_default()));
        rest = after;
    }
    found
}

/// The build identifier of a record without its header: path and identifier.
pub(super) fn build_id(misc: u16, bytes: &[u8]) -> Option<(String, Vec<u8>)> {
    /// `misc`: the byte after the identifier is its length.
    const HAS_LENGTH: u16 = 1 << 15;
    let id = bytes.get(4..4 + ID_LEN)?;
    let len = usize::from(*id.get(20)?);
    let id = if misc & HAS_LENGTH != 0 && (1..=20).contains(&len) {
        id.get(..len)?.to_vec()
    } else {
        trimmed(id.get(..20)?)
    };
    let path = bytes.get(4 + ID_LEN..)?;
    let end = path.iter().position(|byte| *byte == 0).unwrap_or(path.len());
    let path = String::from_utf8_lossy(path.get(..end)?).into_owned();
    (!id.is_empty()).then_some((path, id))
}

/// The section BUILD_ID with these paths and identifiers.
pub(super) fn write_build_ids(ids: &[(String, Vec<u8>)], big: bool) -> Vec<u8> {
    let mut out = Vec::new();
    for (path, id) in ids {
        let mut writer = Writer::new(big);
        let mut name = path.clone();
        let mut field = id.get(..20).unwrap_or(id).to_vec();
        let len = field.len() as u8;
        field.resize(20, 0);
        field.extend([len, 0, 0, 0]);
        let size = 8 + 4 + ID_LEN + (name.len() + 1).next_multiple_of(8);
        let (mut misc, mut size, mut process) = (1 << 15 | 2, size as u16, u32::MAX);
        // A writer takes every field.
        let _ = writer.u32(&mut 67);
        let _ = writer.u16(&mut misc);
        let _ = writer.u16(&mut size);
        let _ = writer.u32(&mut process);
        let _ = writer.raw(&mut field);
        let _ = writer.text(&mut name);
        out.extend(writer.out);
    }
    out
}

/// A section with one text.
pub(super) fn write_text(value: &str, big: bool) -> Vec<u8> {
    let mut writer = Writer::new(big);
    let mut bytes = value.as_bytes().to_vec();
    bytes.push(0);
    bytes.resize(bytes.len().next_multiple_of(64), 0);
    let _ = writer.u32(&mut (bytes.len() as u32));
    let _ = writer.raw(&mut bytes);
    writer.out
}

/// The section CMDLINE.
pub(super) fn write_command_line(words: &[&str], big: bool) -> Vec<u8> {
    let mut writer = Writer::new(big);
    let _ = writer.u32(&mut (words.len() as u32));
    for word in words {
        writer.out.extend(write_text(word, big));
    }
    writer.out
}

/// A file of FILE or FILE2.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RecordedFile {
    pub(super) path: String,
    /// 0 is the kernel, 1 a module of it.
    pub(super) kind: u64,
    /// The least address of its code, in the file's address space: of a module, in `.text`.
    pub(super) min_address: u64,
    /// Of a module: the offset of that address from the start of the module in memory.
    pub(super) module_offset: Option<u64>,
}

/// `kind` of a module.
const MODULE: u64 = 1;

impl RecordedFile {
    /// The offset of `.text` from the start of the module in memory. simpleperf records 0 for both
    /// numbers where it could not read the file or the kernel's symbols.
    /// (simpleperf/dso.cpp at 04d07ac1, `KernelModuleDso::CalculateMinVaddr`)
    pub(super) fn text_offset(&self) -> Option<u64> {
        let offset = self.module_offset.filter(|_| self.kind == MODULE)?;
        let known = offset != 0 || self.min_address != 0;
        offset.checked_sub(self.min_address).filter(|_| known)
    }
}

/// The files of FILE2, or of FILE: each after its length.
pub(super) fn recorded_files(features: &BTreeMap<u32, Vec<u8>>, big: bool) -> Vec<RecordedFile> {
    let mut found = Vec::new();
    let is_file2 = features.contains_key(&FILE2);
    let number = if is_file2 { FILE2 } else { FILE };
    let mut rest = features.get(&number).map(Vec::as_slice).unwrap_or_default();
    while let Some((len, after)) = rest.split_at_checked(4).filter(|_| found.len() < MAX_MODULES) {
        let mut size = 0;
        let _ = Reader::new(len, big).u32(&mut size);
        let Some((message, after)) = after.split_at_checked(size as usize) else { break };
        found.extend(match is_file2 {
            true => Some(file2(message)),
            false => file(message, big),
        });
        rest = after;
    }
    found
}

/// A file of FILE2: a message of protobuf.
fn file2(message: &[u8]) -> RecordedFile {
    let mut file = RecordedFile::default();
    for (field, value) in fields(message) {
        match (field, value) {
            (1, Value::Bytes(path)) => file.path = String::from_utf8_lossy(path).into_owned(),
            (2, Value::Number(kind)) => file.kind = kind,
            (3, Value::Number(address)) => file.min_address = address,
            (7, Value::Bytes(module)) => {
                file.module_offset = Some(0);
                for (field, value) in fields(module) {
                    if let (1, Value::Number(offset)) = (field, value) {
                        file.module_offset = Some(offset);
                    }
                }
            }
            _ => {}
        }
    }
    file
}

/// A file of FILE: path, kind, least address, symbols, and of a module its offset.
/// (simpleperf/record_file_reader.cpp, `ReadFileV1Feature`)
fn file(bytes: &[u8], big: bool) -> Option<RecordedFile> {
    /// The address and the length of a symbol.
    const SYMBOL: usize = 12;
    let end = bytes.iter().position(|byte| *byte == 0)?;
    let (path, rest) = bytes.split_at_checked(end)?;
    let (mut kind, mut min_address, mut symbols) = (0, 0, 0);
    let mut reader = Reader::new(rest.get(1..)?, big);
    reader.u32(&mut kind)?;
    reader.u64(&mut min_address)?;
    reader.u32(&mut symbols)?;
    let mut rest = rest.get(1 + 16..)?;
    for _ in 0..symbols {
        let name = rest.get(SYMBOL..)?;
        rest = name.get(name.iter().position(|byte| *byte == 0)? + 1..)?;
    }
    let mut offset = 0;
    let module_offset = Reader::new(rest, big).u64(&mut offset).map(|()| offset);
    let path = String::from_utf8_lossy(path).into_owned();
    Some(RecordedFile { path, kind: kind.into(), min_address, module_offset })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn build_ids_are_read_as_they_were_written() {
        let ids =
            vec![("/bin/a".to_owned(), vec![1; 20]), ("[kernel.kallsyms]".into(), vec![2; 8])];
        for big in [false, true] {
            assert_eq!(build_ids(&write_build_ids(&ids, big), big), ids);
        }
        assert!(same_build_id(&[1, 2, 3, 4, 0, 0, 0, 0], &[1, 2, 3, 4]));
        assert!(!same_build_id(&[1, 2, 3, 4], &[1, 2, 3, 5]));
    }

    #[test]
    fn texts_are_read_as_they_were_written() {
        let features = BTreeMap::from([
            (HOSTNAME, write_text("phone", false)),
            (COMMAND_LINE, write_command_line(&["perf", "record", "-e", "cs_etm//u"], false)),
        ]);
        let want = [("command line", "perf record -e cs_etm//u"), ("host", "phone")];
        let want = want.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(about(&features, false), want);
    }

    /// Messages by the encoding of protobuf: key = field << 3 | wire type; and the same files as
    /// FILE had them.
    #[test]
    fn files_of_simpleperf() {
        let module = |min_address, module_offset| RecordedFile {
            path: "/a".into(),
            kind: 1,
            min_address,
            module_offset: Some(module_offset),
        };
        let path = [0x0a, 2, b'/', b'a', 0x10, 1];
        let rows: [(&[u8], _, _); 4] = [
            (&[0x3a, 3, 0x08, 0x80, 0x20], module(0, 0x1000), Some(0x1000)),
            // The first symbol is at 0x40 in `.text`.
            (&[0x18, 0x40, 0x3a, 3, 0x08, 0xc0, 0x20], module(0x40, 0x1040), Some(0x1000)),
            (&[0x3a, 0], module(0, 0), None),
            (&[0x18, 0x40, 0x3a, 0], module(0x40, 0), None),
        ];
        for (fields, want, offset) in rows {
            let message = [&path, fields].concat();
            let section = [&(message.len() as u32).to_le_bytes(), message.as_slice()].concat();
            let want = [want];
            assert_eq!(recorded_files(&BTreeMap::from([(FILE2, section)]), false), want);
            let [file] = &want;
            assert_eq!(file.text_offset(), offset);
            for big in [false, true] {
                let mut writer = Writer::new(big);
                writer.out.extend(b"/a\0");
                let _ = writer.u32(&mut 1);
                let _ = writer.u64(&mut file.min_address.clone());
                // A symbol, with its address and length.
                let _ = writer.u32(&mut 1);
                let _ = writer.u64(&mut 7).and(writer.u32(&mut 8));
                writer.out.extend(b"main\0");
                let _ = writer.u64(&mut file.module_offset.unwrap_or(0));
                let mut section = Writer::new(big);
                let _ = section.u32(&mut (writer.out.len() as u32));
                section.out.extend(writer.out);
                let features = BTreeMap::from([(FILE, section.out)]);
                assert_eq!(recorded_files(&features, big), want);
            }
        }
    }
}
