//! Unwind targets: where execution continues when an exception of C++ or a panic of Rust passes or
//! ends in a function. (Itanium C++ ABI, "Exception Handling Tables"; LSB, "Exception Frames"; Arm
//! EHABI 32, sections 5 and 6)

use gimli::{BaseAddresses, EhFrame, EndianSlice, Pointer, RunTimeEndian, UnwindSection};
use object::{Object, ObjectSection};
use tracewright_image::Bytes;

/// A call whose exceptions continue at an unwind target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Site {
    target: u64,
    /// The first and the last address of the calls.
    start: u64,
    last: u64,
}

/// Bits of the filter of unwind targets, a power of two.
const FILTER: u64 = 1 << 15;

/// The unwind targets of programs, and the calls of each.
#[derive(Clone, Debug, Default)]
pub struct UnwindTargets {
    /// In order.
    sites: Vec<Site>,
    /// Hashes of the unwind targets, so that most other addresses are found at once.
    filter: Vec<u64>,
}

fn bit(address: u64) -> (usize, u64) {
    let hash = (address >> 1 ^ address >> 16) & (FILTER - 1);
    ((hash / 64) as usize, 1 << (hash % 64))
}

impl UnwindTargets {
    /// The unwind targets of several ELF files, each with the load bias that is added to its
    /// addresses. A file that cannot be read has none.
    pub fn of_files<'a>(files: impl IntoIterator<Item = (&'a Bytes, u64)>) -> UnwindTargets {
        let mut sites = Vec::new();
        for (file, bias) in files {
            let data: &[u8] = file;
            let Ok(file) = object::File::parse(data) else { continue };
            let mut own = of_eh_frame(&file).unwrap_or_default();
            own.extend(of_exidx(&file).unwrap_or_default());
            sites.extend(own.into_iter().map(|site| Site {
                target: site.target.wrapping_add(bias),
                start: site.start.wrapping_add(bias),
                last: site.last.wrapping_add(bias),
            }));
        }
        UnwindTargets::of_sites(sites)
    }

    /// Unwind targets, each with the first and the last address of calls.
    pub fn of_calls(calls: impl IntoIterator<Item = (u64, u64, u64)>) -> UnwindTargets {
        let site = |(target, start, last)| Site { target, start, last };
        UnwindTargets::of_sites(calls.into_iter().map(site).collect())
    }

    fn of_sites(mut sites: Vec<Site>) -> UnwindTargets {
        sites.sort_unstable();
        let mut filter = Vec::new();
        for site in &sites {
            filter.resize((FILTER / 64) as usize, 0);
            let (word, mask) = bit(site.target);
            if let Some(word) = filter.get_mut(word) {
                *word |= mask;
            }
        }
        UnwindTargets { sites, filter }
    }

    /// Whether `address` is an unwind target.
    #[inline]
    pub fn is_target(&self, address: u64) -> bool {
        let (word, mask) = bit(address);
        self.filter.get(word).is_some_and(|word| word & mask != 0)
            && self.sites_of(address).next().is_some()
    }

    /// Whether exceptions of the call that returns to `ret` continue at `target`.
    pub fn is_target_of(&self, target: u64, ret: u64) -> bool {
        let call = ret.wrapping_sub(1);
        self.sites_of(target).any(|site| site.start <= call && call <= site.last)
    }

    fn sites_of(&self, target: u64) -> impl Iterator<Item = &Site> {
        let first = self.sites.partition_point(|site| site.target < target);
        let rest = self.sites.get(first..).unwrap_or_default();
        rest.iter().take_while(move |site| site.target == target)
    }
}

/// The data of an ELF file at addresses.
struct Memory<'a> {
    /// By their addresses.
    sections: Vec<(u64, &'a [u8])>,
    little: bool,
    /// The size of an address in bytes.
    size: u8,
}

impl<'a> Memory<'a> {
    fn of(file: &object::File<'a>) -> Memory<'a> {
        let named = |name: &&str| file.section_by_name(name);
        let sections = [".gcc_except_table", ".ARM.extab"].iter().filter_map(named);
        let with_data = |section: object::Section<'a, '_>| {
            Some((section.address(), section.data().ok().filter(|data| !data.is_empty())?))
        };
        let mut sections: Vec<(u64, &[u8])> = sections.filter_map(with_data).collect();
        // The linker may have put them into another section, or not have joined those of functions.
        for section in file.sections() {
            let name = section.name().unwrap_or_default();
            if (name.starts_with(".gcc_except_table.") || name == ".rodata")
                && let Ok(data) = section.data()
            {
                sections.push((section.address(), data));
            }
        }
        sections.sort_by_key(|(start, _)| *start);
        Memory { sections, little: file.is_little_endian(), size: if file.is_64() { 8 } else { 4 } }
    }

    /// The bytes from `address` on.
    fn at(&self, address: u64) -> Option<Cursor<'a>> {
        let next = self.sections.partition_point(|(start, _)| *start <= address);
        let (start, data) = self.sections.get(next.checked_sub(1)?)?;
        let offset = usize::try_from(address.checked_sub(*start)?).ok()?;
        let rest = data.get(offset..).filter(|rest| !rest.is_empty())?;
        Some(Cursor { rest, address, little: self.little, size: self.size })
    }

    /// The most bytes of tables of calls that are read: functions may share one, or parts of it.
    fn most_calls(&self) -> usize {
        let all = self.sections.iter().map(|(_, data)| data.len()).fold(0, usize::saturating_add);
        all.saturating_mul(2).saturating_add(1 << 20)
    }
}

/// Reads the bytes from an address on.
#[derive(Clone, Copy, Debug)]
struct Cursor<'a> {
    rest: &'a [u8],
    address: u64,
    little: bool,
    size: u8,
}

impl Cursor<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (byte, rest) = self.rest.split_first()?;
        (self.rest, self.address) = (rest, self.address.wrapping_add(1));
        Some(*byte)
    }

    /// A number of `size` bytes.
    fn number(&mut self, size: u8) -> Option<u64> {
        let mut value = 0u64;
        for n in 0..size {
            let shift = if self.little { n } else { size - 1 - n };
            value |= u64::from(self.byte()?) << (8 * shift);
        }
        Some(value)
    }

    /// LEB128, whose bits above 63 are left out.
    fn leb(&mut self, signed: bool) -> Option<u64> {
        let (mut value, mut shift) = (0u64, 0);
        loop {
            let byte = self.byte()?;
            if shift < 64 {
                value |= u64::from(byte & 0x7f) << shift;
            }
            shift += 7;
            if byte & 0x80 == 0 {
                if signed && byte & 0x40 != 0 && shift < 64 {
                    value |= u64::MAX << shift;
                }
                return Some(value);
            }
        }
    }

    /// A value in one of the encodings `DW_EH_PE_*`, without the application that bits \[6:4]
    /// select, which is 0 for a table of calls.
    fn encoded(&mut self, encoding: u8) -> Option<u64> {
        Some(match encoding & 0xf {
            0x0 => self.number(self.size)?,
            0x1 => self.leb(false)?,
            0x2 | 0xa => self.number(2)?,
            0x3 | 0xb => self.number(4)?,
            0x4 | 0xc => self.number(8)?,
            0x9 => self.leb(true)?,
            _ => return None,
        })
    }
}

/// The calls in the language-specific data of the function at `function`. `left`: the bytes of
/// tables that may still be read.
fn calls(
    mut data: Cursor<'_>,
    function: u64,
    sites: &mut Vec<Site>,
    left: &mut usize,
) -> Option<()> {
    const OMITTED: u8 = 0xff;
    let encoding = data.byte()?;
    let base = if encoding == OMITTED {
        function
    } else {
        let at = data.address;
        let value = data.encoded(encoding)?;
        // DW_EH_PE_pcrel
        if encoding >> 4 & 7 == 1 { value.wrapping_add(at) } else { value }
    };
    if data.byte()? != OMITTED {
        data.leb(false)?;
    }
    let encoding = data.byte()?;
    let length = data.leb(false)?;
    let size = usize::try_from(length).unwrap_or(usize::MAX).min(data.rest.len());
    *left = left.checked_sub(size)?;
    let end = data.address.wrapping_add(length);
    while data.address < end {
        let start = data.encoded(encoding)?;
        let length = data.encoded(encoding)?;
        let target = data.encoded(encoding)?;
        // The action.
        data.leb(false)?;
        if target != 0 && length != 0 {
            let start = function.wrapping_add(start);
            let last = start.wrapping_add(length - 1);
            sites.push(Site { target: base.wrapping_add(target), start, last });
        }
    }
    Some(())
}

/// The unwind targets of the functions in `.eh_frame`.
fn of_eh_frame(file: &object::File<'_>) -> Option<Vec<Site>> {
    let section = file.section_by_name(".eh_frame")?;
    let endian = if file.is_little_endian() { RunTimeEndian::Little } else { RunTimeEndian::Big };
    let mut frames = EhFrame::from(EndianSlice::new(section.data().ok()?, endian));
    frames.set_address_size(if file.is_64() { 8 } else { 4 });
    let mut bases = BaseAddresses::default().set_eh_frame(section.address());
    if let Some(text) = file.section_by_name(".text") {
        bases = bases.set_text(text.address());
    }
    let memory = Memory::of(file);
    let (mut sites, mut left) = (Vec::new(), memory.most_calls());
    let mut entries = frames.entries(&bases);
    while let Ok(Some(entry)) = entries.next() {
        let gimli::CieOrFde::Fde(partial) = entry else { continue };
        let Ok(function) = partial.parse(EhFrame::cie_from_offset) else { continue };
        if let Some(Pointer::Direct(data)) = function.lsda()
            && let Some(data) = memory.at(data)
        {
            // What is read before an error is used.
            let _ = calls(data, function.initial_address(), &mut sites, &mut left);
        }
    }
    Some(sites)
}

/// The unwind targets of the functions in `.ARM.exidx` whose personality routine is that of a
/// language: it has the data in the format of the Itanium C++ ABI.
fn of_exidx(file: &object::File<'_>) -> Option<Vec<Site>> {
    let section = file.section_by_name(".ARM.exidx")?;
    let memory = Memory::of(file);
    let data = section.data().ok()?;
    let (address, little, size) = (section.address(), file.is_little_endian(), memory.size);
    let mut index = Cursor { rest: data, address, little, size };
    // Bits [30:0] relative to the address of the word.
    let relative = |at: u64, word: u64| {
        let distance = (word as u32) << 1;
        at.wrapping_add_signed(i64::from(distance.cast_signed() >> 1)) & 0xffff_ffff
    };
    let (mut sites, mut left) = (Vec::new(), memory.most_calls());
    while !index.rest.is_empty() {
        let at = index.address;
        let (function, entry) = (index.number(4)?, index.number(4)?);
        // Bit 31: the entry has the unwinding instructions; 1: the function cannot be unwound.
        if entry >> 31 != 0 || entry == 1 {
            continue;
        }
        let Some(mut data) = memory.at(relative(at.wrapping_add(4), entry)) else { continue };
        let Some(first) = data.number(4) else { continue };
        // Bit 31: a routine of the EHABI, which has other data.
        if first >> 31 != 0 {
            continue;
        }
        let Some(second) = data.number(4) else { continue };
        // Bits [31:24]: the number of words that follow with unwinding instructions.
        if (0..second >> 24).all(|_| data.number(4).is_some()) {
            let _ = calls(data, relative(at, function), &mut sites, &mut left);
        }
    }
    Some(sites)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_of_calls() {
        // No base, type table at 9, calls in ULEB128: two with an unwind target, one without.
        let bytes = [
            0xff, 0x9b, 9, 0x01, 12, // header
            0x10, 4, 0x40, 1, // calls at 0x10..0x14
            0x20, 0x84, 0x01, // length 0x84
            0, 0, // no unwind target
        ];
        let mut data = bytes.to_vec();
        data.splice(9..9, [0x18, 2, 0x40]);
        data.insert(12, 0);
        data[4] = 13;
        let cursor = Cursor { rest: &data, address: 0x8000, little: true, size: 8 };
        let mut sites = Vec::new();
        assert_eq!(calls(cursor, 0x1000, &mut sites, &mut 64), Some(()));
        let targets = UnwindTargets::of_sites(sites);
        assert!(
            targets.is_target(0x1040) && !targets.is_target(0x1041) && !targets.is_target(0x1000)
        );
        for (ret, want) in [
            (0x1010, false),
            (0x1011, true),
            (0x1014, true),
            (0x1015, false),
            (0x101a, true),
            (0x101b, false),
            (0x1024, false),
        ] {
            assert_eq!(targets.is_target_of(0x1040, ret), want, "{ret:#x}");
        }
    }

    /// Functions that share a table read it as long as the bytes for all tables last.
    #[test]
    fn shared_tables_are_bounded() {
        let data = [0xff, 0xff, 0x01, 4, 0, 4, 0x40, 1];
        let (mut sites, mut left) = (Vec::new(), 9);
        for function in [0x1000, 0x2000, 0x3000] {
            let cursor = Cursor { rest: &data, address: 0x8000, little: true, size: 8 };
            let read = calls(cursor, function, &mut sites, &mut left);
            assert_eq!(read.is_some(), function < 0x3000, "{function:#x}");
        }
        assert_eq!((sites.len(), left), (2, 1));
        let sections = vec![(0x1000, &data[..]), (0x2000, &data[..])];
        let memory = Memory { sections, little: true, size: 8 };
        assert_eq!(memory.most_calls(), 2 * 16 + (1 << 20));
    }

    #[test]
    fn tables_that_end_early() {
        let data = [0xff, 0xff, 0x03, 8, 1, 0, 0, 0, 2];
        let cursor = Cursor { rest: &data, address: 0, little: true, size: 4 };
        let mut sites = Vec::new();
        assert_eq!(calls(cursor, 0, &mut sites, &mut 64), None);
        assert_eq!(sites, []);
        assert!(!UnwindTargets::default().is_target(0));
    }
}
