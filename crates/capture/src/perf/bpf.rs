//! The machine code of BPF programs: the section BPF_PROG_INFO.
//! (tools/perf/util/bpf-utils.h of Linux, `struct perf_bpil`; include/uapi/linux/bpf.h, `struct
//! bpf_prog_info`)
//!
//! The section has the number of programs, and for each: the length of the structure and of the
//! data after it, a word with the arrays that the data have, the structure, and the data. In the
//! place of each address the structure has an offset in the data.

use super::fields::{Fields, Reader};

/// Offsets in the structure: length of the machine code, and offset of it in the data.
const CODE_LEN: usize = 16;
const CODE: usize = 24;
/// The number of functions, and offsets in the data of their addresses and of their lengths.
const FUNCTIONS: usize = 104;
const LENGTHS: usize = 108;
const ADDRESSES: usize = 112;
const LENGTH_LIST: usize = 120;
/// Offset of the name, and its length.
const NAME: usize = 64;
const NAME_LEN: usize = 16;
/// The most functions of all programs.
pub(super) const MAX_FUNCTIONS: usize = 1 << 16;

/// The machine code of a function of a BPF program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BpfCode {
    /// The name of the program.
    pub(super) name: String,
    /// The address in memory.
    pub(super) address: u64,
    pub(super) bytes: Vec<u8>,
}

/// The functions of all programs in a section. What is damaged is not among them.
pub(super) fn programs(section: &[u8], big: bool) -> Vec<BpfCode> {
    let mut found = Vec::new();
    let mut reader = Reader::new(section, big);
    let mut count = 0;
    if reader.u32(&mut count).is_none() {
        return found;
    }
    let mut rest = section.get(4..).unwrap_or_default();
    for _ in 0..count {
        let mut head = Reader::new(rest, big);
        let (mut info, mut data, mut arrays) = (0, 0, 0);
        let read = head.u32(&mut info).and(head.u32(&mut data)).and(head.u64(&mut arrays));
        let parts = rest.get(16..).and_then(|rest| rest.split_at_checked(info as usize));
        let Some((info, after)) = parts.filter(|_| read.is_some()) else { break };
        let Some((data, after)) = after.split_at_checked(data as usize) else { break };
        let _ = program(info, data, big, &mut found);
        rest = after;
    }
    found
}

/// Adds the functions of one program.
fn program(info: &[u8], data: &[u8], big: bool, found: &mut Vec<BpfCode>) -> Option<()> {
    let u32_at = |bytes: &[u8], at: usize| {
        let mut value = 0;
        Reader::new(bytes.get(at..)?, big).u32(&mut value)?;
        usize::try_from(value).ok()
    };
    let u64_at = |bytes: &[u8], at: usize| {
        let mut value = 0;
        Reader::new(bytes.get(at..)?, big).u64(&mut value)?;
        Some(value)
    };
    let offset = |at: usize| usize::try_from(u64_at(info, at)?).ok();
    let name = info.get(NAME..NAME + NAME_LEN)?;
    let end = name.iter().position(|byte| *byte == 0).unwrap_or(NAME_LEN);
    let name = String::from_utf8_lossy(name.get(..end)?).into_owned();
    let code = data.get(offset(CODE)?..)?.get(..u32_at(info, CODE_LEN)?)?;
    let (addresses, lengths) = (offset(ADDRESSES)?, offset(LENGTH_LIST)?);
    let count = u32_at(info, FUNCTIONS)?.min(u32_at(info, LENGTHS)?);
    let mut at = 0;
    for n in 0..count {
        if found.len() >= MAX_FUNCTIONS {
            return None;
        }
        let address = u64_at(data, addresses.checked_add(8 * n)?)?;
        let len = u32_at(data, lengths.checked_add(4 * n)?)?;
        let bytes = code.get(at..)?.get(..len)?.to_vec();
        at += len;
        found.push(BpfCode { name: name.clone(), address, bytes });
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The offsets follow from the sizes of the fields. (include/uapi/linux/bpf.h)
    #[test]
    fn offsets_are_those_of_the_structure() {
        let fields = [
            ("type", 4),
            ("id", 4),
            ("tag", 8),
            ("jited_prog_len", 4),
            ("xlated_prog_len", 4),
            ("jited_prog_insns", 8),
            ("xlated_prog_insns", 8),
            ("load_time", 8),
            ("created_by_uid", 4),
            ("nr_map_ids", 4),
            ("map_ids", 8),
            ("name", 16),
            ("ifindex", 4),
            ("gpl_compatible", 4),
            ("netns_dev", 8),
            ("netns_ino", 8),
            ("nr_jited_ksyms", 4),
            ("nr_jited_func_lens", 4),
            ("jited_ksyms", 8),
            ("jited_func_lens", 8),
        ];
        let offset = |name: &str| -> usize {
            fields.iter().take_while(|(its, _)| *its != name).map(|(_, size)| size).sum()
        };
        assert_eq!(
            [CODE_LEN, CODE, NAME, FUNCTIONS, LENGTHS, ADDRESSES, LENGTH_LIST],
            [
                offset("jited_prog_len"),
                offset("jited_prog_insns"),
                offset("name"),
                offset("nr_jited_ksyms"),
                offset("nr_jited_func_lens"),
                offset("jited_ksyms"),
                offset("jited_func_lens"),
            ]
        );
        assert_eq!(offset("ifindex") - NAME, NAME_LEN);
    }

    /// A section with a program of two functions.
    fn section() -> Vec<u8> {
        let mut info = vec![0; 128];
        let mut put = |at: usize, bytes: &[u8]| info[at..at + bytes.len()].copy_from_slice(bytes);
        put(CODE_LEN, &12u32.to_le_bytes());
        put(CODE, &16u64.to_le_bytes());
        put(NAME, b"filter");
        put(FUNCTIONS, &2u32.to_le_bytes());
        put(LENGTHS, &2u32.to_le_bytes());
        put(ADDRESSES, &0u64.to_le_bytes());
        put(LENGTH_LIST, &28u64.to_le_bytes());
        let mut data = Vec::new();
        data.extend(0xffff_8000_0000_1000u64.to_le_bytes());
        data.extend(0xffff_8000_0000_2000u64.to_le_bytes());
        data.extend((1..=12).collect::<Vec<u8>>());
        data.extend(8u32.to_le_bytes());
        data.extend(4u32.to_le_bytes());
        data.resize(40, 0);
        let mut section = 2u32.to_le_bytes().to_vec();
        for _ in 0..2 {
            section.extend((info.len() as u32).to_le_bytes());
            section.extend((data.len() as u32).to_le_bytes());
            section.extend(0u64.to_le_bytes());
            section.extend(&info);
            section.extend(&data);
        }
        section
    }

    #[test]
    fn functions_have_their_parts_of_the_code() {
        let code = |address, bytes: &[u8]| BpfCode {
            name: "filter".into(),
            address,
            bytes: bytes.to_vec(),
        };
        let first = code(0xffff_8000_0000_1000, &[1, 2, 3, 4, 5, 6, 7, 8]);
        let second = code(0xffff_8000_0000_2000, &[9, 10, 11, 12]);
        let bytes = section();
        assert_eq!(programs(&bytes, false), [first.clone(), second.clone(), first, second]);
        for len in 0..bytes.len() {
            assert!(programs(&bytes[..len], false).len() < 4, "{len}");
        }
    }
}
