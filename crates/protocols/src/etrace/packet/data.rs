//! Data trace packets. ("Data Trace Encoder Output Packets"; for 2.1 "Data Trace of Multiple-Memory
//! Access and Compare and Swap")

use super::fields::Fields;
use crate::etrace::config::Params;

/// The kind of a data access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Transfer {
    /// A load, or the request of a split load.
    #[default]
    Load,
    /// A store.
    Store,
    /// The response of a split load.
    LoadData,
    /// A control and status register is read, and written (0), bits of it set (1) or cleared (2).
    Csr(u8),
    /// An atomic operation: swap 0, add 1, and 2, or 3, xor 4, max 5, min 6; 7 is a conditional
    /// store that failed.
    Atomic(u8),
    /// The response of a split atomic operation.
    AtomicData,
    /// A compare and swap that failed. (2.1)
    CasFailure,
}

/// A number with its length in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Amount {
    /// The number.
    pub value: u64,
    /// The length in bytes, 1 to 8.
    pub bytes: u8,
}

/// The fields of a data access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct DataAccess {
    /// The kind of the access.
    pub transfer: Transfer,
    /// The access is one of several of an instruction. (2.1)
    pub multiple: bool,
    /// The address is not a multiple of the size, and is in bytes.
    pub unaligned: bool,
    /// The access has 2 to this power bytes.
    pub size: u8,
    /// The coding of address and data: see [`Coding`].
    pub diff: u8,
    /// The number of the request, if loads are split.
    pub lrid: u8,
    /// The coding of the data of a split load; 0 is an error without data.
    pub resp: u8,
    /// The operand of an atomic operation or of a CSR access.
    pub operand: Option<Amount>,
    /// The data.
    pub data: Option<Amount>,
    /// The address, or its difference; in units of the size unless `unaligned`. The number of a
    /// CSR.
    pub address: Option<u64>,
}

/// The coding of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coding {
    /// In full.
    Full,
    /// The exclusive or with the last value of the same size.
    Xor,
    /// The difference to the last value of the same size.
    Difference,
}

impl DataAccess {
    /// The coding of the address.
    pub const fn address_coding(&self) -> Coding {
        if self.diff == 0 { Coding::Full } else { Coding::Difference }
    }

    /// The coding of the data.
    pub const fn data_coding(&self, params: &Params) -> Coding {
        let code = match self.transfer {
            Transfer::LoadData | Transfer::AtomicData => self.resp,
            _ => self.diff,
        };
        // All other packets have two bits.
        let plain = matches!(self.transfer, Transfer::Load | Transfer::Store);
        let narrow = plain && params.data.no_address && params.data.diff_width == 1;
        match code {
            1 if params.data.arithmetic => Coding::Difference,
            1 if narrow => Coding::Difference,
            1 => Coding::Xor,
            3 => Coding::Difference,
            _ => Coding::Full,
        }
    }

    /// `None` for a reserved code.
    pub(super) fn fields<F: Fields>(mut self, f: &mut F, params: &Params) -> Option<DataAccess> {
        if params.data.mmacas {
            self.header_mmacas(f, params)?
        } else {
            self.header(f, params)?
        }
        let d = &params.data;
        let split_atomic = d.split && matches!(self.transfer, Transfer::Atomic(_));
        match self.transfer {
            Transfer::Load | Transfer::Store => {
                self.size_field(f, params)?;
                if d.split && self.transfer == Transfer::Load {
                    self.lrid = f.byte("lrid", self.lrid, d.lrid_width.into());
                    self.diff = f.byte("diff", self.diff, 1);
                    self.address_field(f, params);
                } else if d.no_data {
                    self.diff = f.byte("diff", self.diff, 1);
                    self.address_field(f, params);
                } else if d.no_address {
                    self.diff = f.byte("diff", self.diff, d.diff_width.into());
                    self.data = Some(last(self.data, "data", f, params));
                } else {
                    self.diff = f.byte("diff", self.diff, 2);
                    self.data = Some(counted(self.data, "data_len", "data", self.size, f));
                    self.address_field(f, params);
                }
            }
            Transfer::LoadData => {
                self.size_field(f, params)?;
                self.lrid = f.byte("lrid", self.lrid, d.lrid_width.into());
                self.resp = f.byte("resp", self.resp, 2);
                self.data = (self.resp != 0).then(|| last(self.data, "data", f, params));
            }
            // The request has the size. The widest one is assumed.
            Transfer::AtomicData => {
                self.lrid = f.byte("lrid", self.lrid, d.lrid_width.into());
                self.resp = f.byte("resp", self.resp, 2);
                let widest = len_width(params) as u8;
                let data = self.data;
                self.data = (self.resp != 0).then(|| counted(data, "data_len", "data", widest, f));
            }
            Transfer::Csr(_) => self.csr_fields(f, params),
            Transfer::Atomic(_) | Transfer::CasFailure => {
                self.size_field(f, params)?;
                if split_atomic {
                    self.lrid = f.byte("lrid", self.lrid, d.lrid_width.into());
                }
                if d.no_data {
                    self.diff = f.byte("diff", self.diff, 1);
                    self.address_field(f, params);
                    return Some(self);
                }
                self.diff = f.byte("diff", self.diff, 2);
                if split_atomic && d.no_address {
                    self.operand = Some(last(self.operand, "operand", f, params));
                    return Some(self);
                }
                self.operand = Some(counted(self.operand, "op_len", "operand", self.size, f));
                let has_data = !split_atomic && self.transfer != Transfer::CasFailure;
                if d.no_address {
                    let data = self.data;
                    self.data = has_data.then(|| last(data, "data", f, params));
                    return Some(self);
                }
                let (data, size) = (self.data, self.size);
                self.data = has_data.then(|| counted(data, "data_len", "data", size, f));
                self.address_field(f, params);
            }
        }
        Some(self)
    }

    /// `format`, and `subtype` of atomics and CSR accesses.
    fn header<F: Fields>(&mut self, f: &mut F, params: &Params) -> Option<()> {
        let code = match (self.transfer, self.unaligned) {
            (Transfer::Load, unaligned) => u8::from(unaligned),
            (Transfer::Store, unaligned) => 0b010 | u8::from(unaligned),
            (Transfer::LoadData, _) => 0b100,
            (Transfer::Csr(_), _) => 0b101,
            (Transfer::Atomic(_) | Transfer::CasFailure, _) => 0b110,
            (Transfer::AtomicData, _) => 0b111,
        };
        let subtype = self.subtype();
        let code = f.byte("format", code, params.data.format_width.into());
        self.unaligned = code < 4 && code & 1 != 0;
        self.transfer = match code {
            0b000 | 0b001 => Transfer::Load,
            0b010 | 0b011 => Transfer::Store,
            0b100 => Transfer::LoadData,
            0b101 => Transfer::Csr(f.byte("subtype", subtype, 2)),
            0b110 => Transfer::Atomic(f.byte("subtype", subtype, 3)),
            _ => Transfer::AtomicData,
        };
        (self.transfer != Transfer::Csr(3)).then_some(())
    }

    /// `format` and `subformat`.
    fn header_mmacas<F: Fields>(&mut self, f: &mut F, params: &Params) -> Option<()> {
        let class = match self.transfer {
            Transfer::Load | Transfer::Store => u8::from(self.multiple),
            Transfer::Csr(_) | Transfer::Atomic(_) | Transfer::CasFailure => 0b10,
            Transfer::LoadData | Transfer::AtomicData => 0b11,
        };
        let (transfer, subtype) = (self.transfer, self.subtype());
        let class = f.byte("format", class, params.data.format_width.min(2).into());
        self.multiple = class == 1;
        match class {
            0b00 | 0b01 => {
                let store = u8::from(transfer == Transfer::Store);
                let code = f.byte("subformat", store << 1 | u8::from(self.unaligned), 2);
                self.unaligned = code & 1 != 0;
                self.transfer = if code & 2 != 0 { Transfer::Store } else { Transfer::Load };
            }
            0b10 => {
                let code = match transfer {
                    Transfer::Csr(_) => 0b0100 | subtype,
                    Transfer::CasFailure => 0b0111,
                    _ => 0b1000 | subtype,
                };
                self.transfer = match f.byte("subformat", code, 4) {
                    code @ 0b0100..=0b0110 => Transfer::Csr(code & 0b11),
                    0b0111 => Transfer::CasFailure,
                    code @ 0b1000..=0b1111 => Transfer::Atomic(code & 0b111),
                    _ => return None,
                };
            }
            _ => self.transfer = Transfer::LoadData,
        }
        Some(())
    }

    const fn subtype(&self) -> u8 {
        match self.transfer {
            Transfer::Csr(kind) | Transfer::Atomic(kind) => kind,
            _ => 0,
        }
    }

    /// `size`: `None` if it is wider than the data.
    fn size_field<F: Fields>(&mut self, f: &mut F, params: &Params) -> Option<()> {
        self.size = f.byte("size", self.size, size_width(params));
        (self.size <= 3).then_some(())
    }

    fn address_field<F: Fields>(&mut self, f: &mut F, params: &Params) {
        let width = params.data.address_width.into();
        self.address = Some(f.uint("address", self.address.unwrap_or(0), width));
    }

    /// The address of a CSR is in two parts. A read-only CSR has no operand.
    fn csr_fields<F: Fields>(&mut self, f: &mut F, params: &Params) {
        let address = self.address.unwrap_or(0);
        let len = len_width(params) as u8;
        if params.data.no_data {
            self.diff = f.byte("diff", self.diff, 1);
        } else {
            self.diff = f.byte("diff", self.diff, 2);
            self.data = Some(counted(self.data, "data_len", "data", len, f));
        }
        let high = f.uint("addr_msbs", address >> 6, 6);
        if !params.data.no_data && high >> 4 != 0b11 {
            self.operand = Some(counted(self.operand, "op_len", "operand", len, f));
        }
        self.address = Some(high << 6 | f.uint("addr_lsbs", address & 0x3f, 6));
    }
}

/// Width of `size`: max(1, clog2(clog2(data_width / 8 + 1))).
const fn size_width(params: &Params) -> u32 {
    let bytes = params.data.width as u32 / 8 + 1;
    let width = clog2(clog2(bytes));
    if width == 0 { 1 } else { width }
}

/// Width of a length in bytes of the widest data.
const fn len_width(params: &Params) -> u32 {
    clog2(params.data.width as u32 / 8)
}

const fn clog2(n: u32) -> u32 {
    if n <= 1 { 0 } else { 32 - (n - 1).leading_zeros() }
}

/// Data before the last field: their length comes first, in `width` bits.
fn counted<F: Fields>(
    amount: Option<Amount>,
    len_name: &'static str,
    name: &'static str,
    width: u8,
    f: &mut F,
) -> Amount {
    let Amount { value, bytes } = amount.unwrap_or_default();
    let bytes = f.byte(len_name, bytes.saturating_sub(1), width.into()) + 1;
    let value = f.uint(name, value, u32::from(bytes.min(8)) * 8);
    Amount { value, bytes }
}

/// Data in the last field: of the full width, or less if the omitted bits repeat the last one.
fn last<F: Fields>(amount: Option<Amount>, name: &'static str, f: &mut F, p: &Params) -> Amount {
    let value = amount.unwrap_or_default().value;
    Amount { value: f.uint(name, value, p.data.width.into()), bytes: p.data.width.div_ceil(8) }
}
