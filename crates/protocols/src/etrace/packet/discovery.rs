//! Discovery: the parameters of a unit as a packet and as registers. (0.026, "Discovery of
//! parameter values")
//!
//! The specification names the values, and which of them are stored minus 1, but neither widths
//! nor positions. Those here are defined by this project: the fields of [`Discovery`] in their
//! order, in 85 bits. The register view is the same bits in three words of 32 bits.

use super::fields::{Fields, Reader, Writer};
use crate::etrace::config::{Params, Version};

/// The values that discovery reports. Each has the name of the specification; those marked with −1
/// are stored minus 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Discovery {
    /// `minor_revision`, bits \[3:0].
    pub minor_revision: u8,
    /// `version`, bits \[11:4]: 0 for 0.026, 10, 20 and 21 for 1.0, 2.0 and 2.1.
    pub version: u8,
    /// `comparators` −1, bits \[15:12].
    pub comparators: u8,
    /// `filters` −1, bits \[19:16].
    pub filters: u8,
    /// `context_width` −1, bits \[24:20].
    pub context_width: u8,
    /// `ecause_choice`, bits \[27:25].
    pub ecause_choice: u8,
    /// `ecause_width` −1, bits \[33:28].
    pub ecause_width: u8,
    /// `filter_context`, bit \[34].
    pub filter_context: bool,
    /// `filter_ecause`, bits \[38:35].
    pub filter_ecause: u8,
    /// `filter_interrupt`, bit \[39].
    pub filter_interrupt: bool,
    /// `filter_privilege`, bit \[40].
    pub filter_privilege: bool,
    /// `filter_tval`, bit \[41].
    pub filter_tval: bool,
    /// `iaddress_lsb`, bits \[43:42].
    pub iaddress_lsb: u8,
    /// `iaddress_width` −1, bits \[50:44].
    pub iaddress_width: u8,
    /// `nocontext`, bit \[51].
    pub nocontext: bool,
    /// `notval`, bit \[52].
    pub notval: bool,
    /// `privilege_width` −1, bits \[54:53].
    pub privilege_width: u8,
    /// `rv32`, bit \[55].
    pub rv32: bool,
    /// `itype_width`, bits \[58:56].
    pub itype_width: u8,
    /// `iretire_width`, bits \[62:59].
    pub iretire_width: u8,
    /// `ntkn_width`, bits \[65:63].
    pub ntkn_width: u8,
    /// `ilastsize_width`, bits \[67:66].
    pub ilastsize_width: u8,
    /// `taken_branches`, bits \[71:68].
    pub taken_branches: u8,
    /// `context_type_width`, bits \[73:72].
    pub context_type_width: u8,
    /// `user_width`, bits \[82:74], which the specification's list leaves out.
    pub user_width: u16,
    /// Units without comparators have bit \[83], and those without filters bit \[84]: 0 minus 1 has
    /// no code.
    pub no_comparators: bool,
    /// See [`no_comparators`](Self::no_comparators).
    pub no_filters: bool,
}

/// The number of words in the register view.
pub const WORDS: usize = 3;

impl Discovery {
    /// The values of a unit with the parameters `params`.
    pub const fn of(params: &Params) -> Discovery {
        let (port, widths) = (&params.port, &params.widths);
        Discovery {
            minor_revision: port.minor_revision,
            version: params.version.number() as u8,
            comparators: port.comparators.saturating_sub(1),
            filters: port.filters.saturating_sub(1),
            context_width: widths.context.saturating_sub(1),
            ecause_choice: port.ecause_choice,
            ecause_width: widths.ecause.saturating_sub(1),
            filter_context: port.filter_context,
            filter_ecause: port.filter_ecause,
            filter_interrupt: port.filter_interrupt,
            filter_privilege: port.filter_privilege,
            filter_tval: port.filter_tval,
            iaddress_lsb: widths.iaddress_lsb,
            iaddress_width: widths.iaddress.saturating_sub(1),
            nocontext: widths.context == 0,
            notval: widths.tval == 0,
            privilege_width: widths.privilege.saturating_sub(1),
            rv32: !params.rv64,
            itype_width: port.itype_width,
            iretire_width: port.iretire_width,
            ntkn_width: port.ntkn_width,
            ilastsize_width: port.ilastsize_width,
            taken_branches: port.taken_branches,
            context_type_width: port.ctype_width,
            user_width: port.user_width,
            no_comparators: port.comparators == 0,
            no_filters: port.filters == 0,
        }
    }

    /// Sets the parameters that the values determine. The version is not one of them: the packets
    /// of another version cannot be read as those of this one.
    pub fn apply(&self, params: &mut Params) {
        let (port, widths) = (&mut params.port, &mut params.widths);
        port.minor_revision = self.minor_revision;
        port.comparators = if self.no_comparators { 0 } else { self.comparators + 1 };
        port.filters = if self.no_filters { 0 } else { self.filters + 1 };
        widths.context = if self.nocontext { 0 } else { self.context_width + 1 };
        port.ecause_choice = self.ecause_choice;
        widths.ecause = self.ecause_width + 1;
        port.filter_context = self.filter_context;
        port.filter_ecause = self.filter_ecause;
        port.filter_interrupt = self.filter_interrupt;
        port.filter_privilege = self.filter_privilege;
        port.filter_tval = self.filter_tval;
        widths.iaddress_lsb = self.iaddress_lsb;
        widths.iaddress = (self.iaddress_width + 1).min(64);
        widths.tval = if self.notval { 0 } else { widths.iaddress };
        widths.privilege = self.privilege_width + 1;
        params.rv64 = !self.rv32;
        port.itype_width = self.itype_width;
        port.iretire_width = self.iretire_width;
        port.ntkn_width = self.ntkn_width;
        port.ilastsize_width = self.ilastsize_width;
        port.taken_branches = self.taken_branches;
        port.ctype_width = self.context_type_width;
        port.user_width = self.user_width;
    }

    /// The version, if its number is known.
    pub const fn version(&self) -> Option<Version> {
        Version::of_number(self.version as u64)
    }

    /// The register view, the lowest bits first.
    pub fn words(self) -> [u32; WORDS] {
        let mut writer = Writer::default();
        self.fields(&mut writer);
        let mut words = [0; WORDS];
        let bytes = writer.at().div_ceil(8) as usize;
        for (n, byte) in writer.bytes(0..bytes).enumerate() {
            if let Some(word) = words.get_mut(n / 4) {
                *word |= u32::from(byte) << (n % 4 * 8);
            }
        }
        words
    }

    /// Reads the register view.
    pub fn of_words(words: [u32; WORDS]) -> Discovery {
        let mut bytes = [0; WORDS * 4];
        for (to, byte) in bytes.iter_mut().zip(words.iter().flat_map(|word| word.to_le_bytes())) {
            *to = byte;
        }
        match Reader::new(&bytes, 0, bytes.len(), 0) {
            Some(mut reader) => Discovery::default().fields(&mut reader),
            None => Discovery::default(),
        }
    }

    /// The fields in their order.
    pub(super) fn fields<F: Fields>(mut self, f: &mut F) -> Discovery {
        self.minor_revision = f.byte("minor_revision", self.minor_revision, 4);
        self.version = f.byte("version", self.version, 8);
        self.comparators = f.byte("comparators", self.comparators, 4);
        self.filters = f.byte("filters", self.filters, 4);
        self.context_width = f.byte("context_width", self.context_width, 5);
        self.ecause_choice = f.byte("ecause_choice", self.ecause_choice, 3);
        self.ecause_width = f.byte("ecause_width", self.ecause_width, 6);
        self.filter_context = f.flag("filter_context", self.filter_context);
        self.filter_ecause = f.byte("filter_ecause", self.filter_ecause, 4);
        self.filter_interrupt = f.flag("filter_interrupt", self.filter_interrupt);
        self.filter_privilege = f.flag("filter_privilege", self.filter_privilege);
        self.filter_tval = f.flag("filter_tval", self.filter_tval);
        self.iaddress_lsb = f.byte("iaddress_lsb", self.iaddress_lsb, 2);
        self.iaddress_width = f.byte("iaddress_width", self.iaddress_width, 7);
        self.nocontext = f.flag("nocontext", self.nocontext);
        self.notval = f.flag("notval", self.notval);
        self.privilege_width = f.byte("privilege_width", self.privilege_width, 2);
        self.rv32 = f.flag("rv32", self.rv32);
        self.itype_width = f.byte("itype_width", self.itype_width, 3);
        self.iretire_width = f.byte("iretire_width", self.iretire_width, 4);
        self.ntkn_width = f.byte("ntkn_width", self.ntkn_width, 3);
        self.ilastsize_width = f.byte("ilastsize_width", self.ilastsize_width, 2);
        self.taken_branches = f.byte("taken_branches", self.taken_branches, 4);
        self.context_type_width = f.byte("context_type_width", self.context_type_width, 2);
        self.user_width = f.uint("user_width", self.user_width.into(), 9) as u16;
        self.no_comparators = f.flag("no_comparators", self.no_comparators);
        self.no_filters = f.flag("no_filters", self.no_filters);
        self
    }
}

/// The words in a text: hexadecimal or decimal, with blanks or commas between them.
pub(in crate::etrace) fn words_of_text(text: &str) -> Option<[u32; WORDS]> {
    let mut words = [0; WORDS];
    let mut parts = text.split([' ', ',']).filter(|part| !part.is_empty());
    for word in &mut words {
        let part = parts.next()?;
        *word = match part.strip_prefix("0x") {
            Some(hex) => u32::from_str_radix(hex, 16).ok()?,
            None => part.parse().ok()?,
        };
    }
    parts.next().is_none().then_some(words)
}
