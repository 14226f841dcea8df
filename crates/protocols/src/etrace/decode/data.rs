//! Data trace packets to accesses.

use alloc::vec::Vec;

use tracewright_base::{Access, Direction, Element, Sink};

use crate::etrace::config::Params;
use crate::etrace::packet::{Amount, Coding, DataAccess, Transfer};

/// The last access of each size, which differences refer to, and the requests without a response.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct History {
    sizes: [Last; 4],
    csr: Last,
    /// Requests by `lrid`. The memory is allocated once, with the first request.
    requests: Vec<Option<Request>>,
}

/// The last access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Last {
    address: Option<u64>,
    value: Option<u64>,
    operand: Option<u64>,
}

/// A request without a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Request {
    address: Option<u64>,
    /// `None` for a load.
    atomic: Option<(u8, Option<u64>)>,
    size: u8,
}

impl History {
    /// Drops all state, because packets were lost.
    pub(super) fn forget(&mut self) {
        *self = History::default();
    }

    /// One packet.
    pub(super) fn packet<S: Sink>(
        &mut self,
        at: u64,
        access: &DataAccess,
        params: &Params,
        sink: &mut S,
    ) {
        let answers = matches!(access.transfer, Transfer::LoadData | Transfer::AtomicData);
        let slot = self.requests.get_mut(usize::from(access.lrid & 63)).filter(|_| answers);
        let request = slot.and_then(Option::take);
        // The response of an atomic access has no size.
        let size = request.map_or(access.size, |request| request.size);
        let size = usize::from(size & 3);
        let mut emit = |access: Access| sink.element(at, Element::DataAccess(access));
        if let Transfer::Csr(_) = access.transfer {
            return self.csr(access, params, &mut emit);
        }
        let width = 8u32 << size;
        let Some(last) = self.sizes.get_mut(size) else { return };
        let address = access.address.and_then(|raw| {
            let raw = if access.unaligned { raw } else { raw << size };
            let base = last.address;
            let address = decoded(raw, access.address_coding(), base, params)?;
            Some(low(address, params.data.address_width.into()))
        });
        if access.address.is_some() {
            last.address = address;
        }
        let coding = access.data_coding(params);
        let value = access.data.and_then(|data| {
            let value = decoded(extended(data), coding, last.value, params)?;
            Some(low(value, width))
        });
        if access.data.is_some() {
            last.value = value;
        }
        let operand = access.operand.and_then(|operand| {
            let value = decoded(extended(operand), Coding::Full, last.operand, params)?;
            Some(low(value, width))
        });
        let flags = if access.multiple { Access::CONTINUED } else { 0 };
        let of = |direction, address: Option<u64>, value: Option<u64>, flags, bytes| {
            let access = Access::new(direction, bytes, flags);
            let access = address.map_or(access, |address| access.at(address));
            value.map_or(access, |value| access.of(value))
        };
        let bytes = 1 << size;
        match access.transfer {
            Transfer::Load if params.data.split => {
                self.request(access.lrid, Request { address, atomic: None, size: access.size });
            }
            Transfer::Atomic(kind) if params.data.split => {
                let request = Request { address, atomic: Some((kind, operand)), size: access.size };
                self.request(access.lrid, request);
            }
            Transfer::Load => emit(of(Direction::Read, address, value, flags, bytes)),
            Transfer::Store => emit(of(Direction::Write, address, value, flags, bytes)),
            Transfer::LoadData | Transfer::AtomicData => {
                let address = request.and_then(|request| request.address);
                // A bus error has no data.
                emit(of(Direction::Read, address, value, Access::LATE, bytes));
                if let Some(Request { atomic: Some((kind, operand)), .. }) = request {
                    let written = written(kind, value, operand);
                    let written = written.map(|value| low(value, u32::from(bytes) * 8));
                    emit(of(Direction::Write, address, written, Access::LATE, bytes));
                }
            }
            Transfer::Atomic(7) | Transfer::CasFailure => {
                emit(of(Direction::Write, address, operand, Access::STORE_FAILED, bytes));
            }
            Transfer::Atomic(kind) => {
                emit(of(Direction::Read, address, value, flags, bytes));
                let written = written(kind, value, operand).map(|value| low(value, width));
                emit(of(Direction::Write, address, written, flags | Access::CONTINUED, bytes));
            }
            Transfer::Csr(_) => {}
        }
    }

    fn request(&mut self, lrid: u8, request: Request) {
        if self.requests.is_empty() {
            self.requests.resize(64, None);
        }
        if let Some(slot) = self.requests.get_mut(usize::from(lrid & 63)) {
            *slot = Some(request);
        }
    }

    /// A CSR access: the number of the CSR is the address. It is a read of the old value and a
    /// write of the new one.
    fn csr(&mut self, access: &DataAccess, params: &Params, emit: &mut impl FnMut(Access)) {
        let Transfer::Csr(kind) = access.transfer else { return };
        let bytes = params.data.width.div_ceil(8);
        let width = params.data.width.into();
        let value = access.data.and_then(|data| {
            let value =
                decoded(extended(data), access.data_coding(params), self.csr.value, params)?;
            Some(low(value, width))
        });
        if access.data.is_some() {
            self.csr.value = value;
        }
        let operand = access.operand.map(|operand| low(extended(operand), width));
        let of = |direction, value: Option<u64>, flags| {
            let made = Access::new(direction, bytes, Access::COPROCESSOR | flags);
            let made = access.address.map_or(made, |number| made.at(number));
            value.map_or(made, |value| made.of(value))
        };
        emit(of(Direction::Read, value, 0));
        // Without data a swap still writes, unless the CSR is read-only: bits [11:10] of its number
        // are 11.
        let read_only = access.address.is_some_and(|number| number >> 10 == 0b11);
        if operand.is_some() || kind == 0 && params.data.no_data && !read_only {
            let written = operand.and_then(|operand| match kind {
                0 => Some(operand),
                1 => value.map(|value| value | operand),
                _ => value.map(|value| value & !operand),
            });
            emit(of(Direction::Write, written, Access::CONTINUED));
        }
    }
}

/// The sign-extended value of a number of bytes.
const fn extended(amount: Amount) -> u64 {
    let shift = match amount.bytes {
        bytes @ 1..=7 => 64 - bytes as u32 * 8,
        _ => 0,
    };
    ((amount.value << shift) as i64 >> shift) as u64
}

/// A value by its coding. The `reference-flow` encoder marks the first value as a difference,
/// though it is sent in full.
fn decoded(raw: u64, coding: Coding, base: Option<u64>, params: &Params) -> Option<u64> {
    let base = if params.data.arithmetic { Some(base.unwrap_or(0)) } else { base };
    match coding {
        Coding::Full => Some(raw),
        Coding::Xor => base.map(|base| base ^ raw),
        Coding::Difference => base.map(|base| base.wrapping_add(raw)),
    }
}

/// The value that an atomic operation writes. `None` for minimum and maximum, whose signedness is
/// not traced.
fn written(kind: u8, value: Option<u64>, operand: Option<u64>) -> Option<u64> {
    let operand = operand?;
    match kind {
        0 => Some(operand),
        1 => value.map(|value| value.wrapping_add(operand)),
        2 => value.map(|value| value & operand),
        3 => value.map(|value| value | operand),
        4 => value.map(|value| value ^ operand),
        _ => None,
    }
}

const fn low(value: u64, width: u32) -> u64 {
    if width >= 64 { value } else { value & !(u64::MAX << width) }
}
