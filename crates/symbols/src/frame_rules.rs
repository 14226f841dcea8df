//! Unwind tables: where a function saves registers, at each of its instructions. (DWARF 5, section
//! 6.4; LSB, "Exception Frames")

use std::sync::Arc;

use gimli::{
    BaseAddresses, CfaRule, CieOrFde, DebugFrame, EhFrame, Register, RegisterRule, SectionId,
    UnwindContext, UnwindSection,
};
use object::{Object, ObjectSection};
use tracewright_image::Bytes;
use tracewright_image::debug_sections::DebugSections;

use crate::lines::Slice;

/// Where a function has the value that a register had in its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SavedIn {
    /// In memory, at this offset from the canonical frame address.
    Memory(i64),
    /// In the register itself.
    Same,
    /// It is not known, or elsewhere.
    Lost,
}

/// The rules at one instruction. Registers have the numbers of DWARF.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FrameRules {
    /// The register and the offset that make the canonical frame address: the value of the stack
    /// pointer before the call. `None` where an expression makes it.
    pub frame: Option<(u16, i64)>,
    /// The register with the return address.
    pub return_register: u16,
    /// The registers with a rule, in order of their numbers. All others are not stated.
    pub saved: Vec<(u16, SavedIn)>,
}

impl FrameRules {
    /// Where `register` of the caller is; `None` where it is not stated.
    pub fn saved(&self, register: u16) -> Option<SavedIn> {
        self.saved.iter().find(|(number, _)| *number == register).map(|(_, saved)| *saved)
    }
}

/// The addresses of a description, and its offset in the section.
#[derive(Clone, Copy, Debug)]
struct Described {
    start: u64,
    end: u64,
    offset: usize,
}

/// A section with descriptions.
#[derive(Debug)]
struct Section<S> {
    section: S,
    bases: BaseAddresses,
    bias: u64,
    /// In order of their addresses.
    described: Vec<Described>,
}

/// The unwind tables of programs.
#[derive(Debug, Default)]
pub struct FrameTables {
    eh: Vec<Section<EhFrame<Slice>>>,
    debug: Vec<Section<DebugFrame<Slice>>>,
}

impl<S: UnwindSection<Slice>> Section<S> {
    fn new(section: S, bases: BaseAddresses, bias: u64) -> Section<S> {
        let mut described = Vec::new();
        let mut entries = section.entries(&bases);
        // What is read before an error is used.
        while let Ok(Some(entry)) = entries.next() {
            let CieOrFde::Fde(partial) = entry else { continue };
            let Ok(one) = partial.parse(S::cie_from_offset) else { continue };
            let (start, end) = (one.initial_address(), one.end_address());
            if start < end {
                described.push(Described { start, end, offset: one.offset() });
            }
        }
        described.sort_by_key(|one| one.start);
        Section { section, bases, bias, described }
    }

    fn at(&self, address: u64) -> Option<FrameRules> {
        let address = address.wrapping_sub(self.bias);
        let next = self.described.partition_point(|one| one.start <= address);
        let one = self.described.get(next.checked_sub(1)?).filter(|one| address < one.end)?;
        let offset = S::Offset::from(one.offset);
        let entry = self.section.fde_from_offset(&self.bases, offset, S::cie_from_offset).ok()?;
        let mut context = UnwindContext::new();
        let row = entry
            .unwind_info_for_address(&self.section, &self.bases, &mut context, address)
            .ok()?;
        let frame = match row.cfa() {
            &CfaRule::RegisterAndOffset { register, offset } => Some((register.0, offset)),
            CfaRule::Expression(_) => None,
        };
        let rule = |(register, rule): &(Register, RegisterRule<usize>)| {
            let saved = match rule {
                RegisterRule::Offset(offset) => SavedIn::Memory(*offset),
                RegisterRule::SameValue => SavedIn::Same,
                _ => SavedIn::Lost,
            };
            (register.0, saved)
        };
        let mut saved: Vec<_> = row.registers().map(rule).collect();
        saved.sort_by_key(|(register, _)| *register);
        Some(FrameRules { frame, return_register: entry.cie().return_address_register().0, saved })
    }
}

impl FrameTables {
    /// The tables of several ELF files, each with the load bias that is added to its addresses. A
    /// file that cannot be read has none.
    pub fn of_files<'a>(files: impl IntoIterator<Item = (&'a Bytes, u64)>) -> FrameTables {
        let mut tables = FrameTables::default();
        for (bytes, bias) in files {
            let data: &[u8] = bytes;
            let (Ok(file), Some(mut sections)) =
                (object::File::parse(data), DebugSections::read(bytes))
            else {
                continue;
            };
            let endian = sections.endian();
            let size = if file.is_64() { 8 } else { 4 };
            let address = |name| file.section_by_name(name).map_or(0, |section| section.address());
            let bases = BaseAddresses::default()
                .set_eh_frame(address(".eh_frame"))
                .set_text(address(".text"))
                .set_got(address(".got"));
            let mut slice = |id| {
                let data = sections.load(id).ok().filter(|data| !data.is_empty())?;
                Some(Slice::new(Arc::from(data.as_ref()), endian))
            };
            if let Some(slice) = slice(SectionId::EhFrame) {
                let mut section = EhFrame::from(slice);
                section.set_address_size(size);
                tables.eh.push(Section::new(section, bases.clone(), bias));
            }
            if let Some(slice) = slice(SectionId::DebugFrame) {
                let mut section = DebugFrame::from(slice);
                section.set_address_size(size);
                tables.debug.push(Section::new(section, bases, bias));
            }
        }
        tables
    }

    /// Whether there are no tables.
    pub fn is_empty(&self) -> bool {
        self.eh.iter().all(|section| section.described.is_empty())
            && self.debug.iter().all(|section| section.described.is_empty())
    }

    /// The rules at `address`: after the instructions of the function before it.
    pub fn at(&self, address: u64) -> Option<FrameRules> {
        let debug = self.debug.iter().find_map(|section| section.at(address));
        debug.or_else(|| self.eh.iter().find_map(|section| section.at(address)))
    }
}
