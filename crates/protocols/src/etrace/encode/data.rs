//! Data trace: accesses to packets. ("Data Trace Encoder Output Packets")

use alloc::collections::VecDeque;

use tracewright_base::{Access, Direction};

use super::length::length;
use crate::bits::sign_extend;
use crate::etrace::config::Params;
use crate::etrace::packet::fields::low;
use crate::etrace::packet::{Amount, DataAccess, Packet, Payload, Transfer};

/// The settings of a data trace unit, beside its parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DataSettings {
    /// Data accesses are traced.
    pub enabled: bool,
    /// Addresses are never differences.
    pub full_address: bool,
    /// Data are never differences.
    pub full_data: bool,
    /// The number of accesses between the request of a split load and its data.
    pub latency: u8,
}

/// Encodes data accesses. Each is a packet, or two where loads are split.
#[derive(Clone, Debug)]
pub struct DataEncoder {
    settings: DataSettings,
    /// The last access of each size, as the decoder knows it.
    sizes: [Last; 4],
    csr: Option<u64>,
    /// A read that may be one access with the next write.
    held: Option<Access>,
    /// Loads and atomic accesses without a response.
    requests: VecDeque<Request>,
    next_request: u8,
}

/// The last access of a size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Last {
    address: Option<u64>,
    value: Option<u64>,
}

/// A load, or an atomic access, without a response.
#[derive(Clone, Copy, Debug)]
struct Request {
    atomic: bool,
    lrid: u8,
    size: u8,
    value: Option<u64>,
    /// The number of accesses until the response.
    left: u8,
}

impl DataEncoder {
    /// A unit that is enabled now.
    pub fn new(settings: DataSettings) -> Self {
        DataEncoder {
            settings,
            sizes: [Last::default(); 4],
            csr: None,
            held: None,
            requests: VecDeque::new(),
            next_request: 0,
        }
    }

    /// A synchronisation packet was sent: the next packets must not depend on earlier ones.
    pub fn synchronise(&mut self) {
        self.sizes = [Last::default(); 4];
        self.csr = None;
    }

    /// Packets were lost: requests without a response are lost too.
    pub fn lose(&mut self) {
        self.synchronise();
        self.held = None;
        self.requests.clear();
    }

    /// Takes one access.
    pub fn access(&mut self, access: &Access, params: &Params, out: &mut impl Extend<Packet>) {
        if let Some(read) = self.held.take() {
            let pair = access.direction == Direction::Write
                && access.has(Access::CONTINUED)
                && access.address() == read.address()
                && access.size == read.size;
            if pair {
                let kind = if read.has(Access::COPROCESSOR) {
                    Transfer::Csr(0)
                } else {
                    Transfer::Atomic(0)
                };
                return self.send(kind, &read, access.value(), params, out);
            }
            self.single(&read, params, out);
        }
        // A read and the write after it may be one access: an atomic one.
        let may_pair = params.data.format_width > 2 && access.direction == Direction::Read;
        if may_pair && !access.has(Access::LATE) {
            self.held = Some(*access);
        } else {
            self.single(access, params, out);
        }
    }

    /// Tracing ends: sends the accesses that wait.
    pub fn finish(&mut self, params: &Params, out: &mut impl Extend<Packet>) {
        if let Some(read) = self.held.take() {
            self.single(&read, params, out);
        }
        self.requests.iter_mut().for_each(|request| request.left = 0);
        self.respond(params, out);
    }

    /// An access that is not part of a pair.
    fn single(&mut self, access: &Access, params: &Params, out: &mut impl Extend<Packet>) {
        let wide = params.data.format_width > 2;
        let kind = match access.direction {
            Direction::Read if access.has(Access::COPROCESSOR) && wide => Transfer::Csr(1),
            Direction::Write if access.has(Access::COPROCESSOR) && wide => Transfer::Csr(0),
            Direction::Write if access.has(Access::STORE_FAILED) && wide => Transfer::Atomic(7),
            Direction::Write => Transfer::Store,
            _ => Transfer::Load,
        };
        let operand = match kind {
            Transfer::Csr(1) => Some(0),
            Transfer::Csr(_) | Transfer::Atomic(_) => access.value(),
            _ => None,
        };
        self.send(kind, access, operand, params, out);
    }

    fn send(
        &mut self,
        transfer: Transfer,
        access: &Access,
        operand: Option<u64>,
        params: &Params,
        out: &mut impl Extend<Packet>,
    ) {
        let d = &params.data;
        let packet = match transfer {
            Transfer::Csr(_) => self.csr(transfer, access, operand, params),
            _ => self.memory(transfer, access, operand, params),
        };
        out.extend([Packet::sent(Payload::Data(packet), params)]);
        self.requests.iter_mut().for_each(|request| request.left = request.left.saturating_sub(1));
        // A store that failed has no data.
        let atomic = matches!(transfer, Transfer::Atomic(kind) if kind != 7);
        if d.split && (atomic || transfer == Transfer::Load) {
            self.requests.push_back(Request {
                atomic,
                lrid: packet.lrid,
                size: packet.size,
                value: access.value().filter(|_| !d.no_data),
                left: self.settings.latency,
            });
            // No two requests may have one number.
            let most = 1usize << d.lrid_width.min(6);
            if self.requests.len() >= most
                && let Some(oldest) = self.requests.front_mut()
            {
                oldest.left = 0;
            }
        }
        self.respond(params, out);
    }

    /// Sends the responses that are due.
    fn respond(&mut self, params: &Params, out: &mut impl Extend<Packet>) {
        while let Some(request) = self.requests.front().copied().filter(|r| r.left == 0) {
            self.requests.pop_front();
            // The response of an atomic access has a length in place of a size.
            let (transfer, size) = match request.atomic {
                true => (Transfer::AtomicData, 0),
                false => (Transfer::LoadData, request.size),
            };
            let mut packet =
                DataAccess { transfer, size, lrid: request.lrid, ..DataAccess::default() };
            if let Some(value) = request.value {
                let bytes = 1 << request.size;
                let last = self.sizes.get(usize::from(request.size)).copied().unwrap_or_default();
                // resp: 1 exclusive or, 2 full, 3 difference.
                let codes = if self.settings.full_data { &[2][..] } else { &[2, 1, 3] };
                packet = shortest(
                    codes.iter().filter(|&&resp| allowed(resp, params)).filter_map(|&resp| {
                        let value = coded(resp, value, last.value, bytes, params)?;
                        let bytes = match request.atomic {
                            true => needed(value, bytes, params),
                            false => bytes,
                        };
                        Some(DataAccess { resp, data: Some(Amount { value, bytes }), ..packet })
                    }),
                    params,
                )
                .unwrap_or(packet);
                if let Some(last) = self.sizes.get_mut(usize::from(request.size)) {
                    last.value = Some(value);
                }
            }
            out.extend([Packet::sent(Payload::Data(packet), params)]);
        }
    }

    /// A load, a store or an atomic access.
    fn memory(
        &mut self,
        transfer: Transfer,
        access: &Access,
        operand: Option<u64>,
        params: &Params,
    ) -> DataAccess {
        let (d, settings) = (params.data, self.settings);
        let size = access.size.max(1).ilog2().min(3) as u8;
        let bytes = 1u8 << size;
        let last = self.sizes.get(usize::from(size)).copied().unwrap_or_default();
        let atomic = matches!(transfer, Transfer::Atomic(_));
        let split_load = d.split && transfer == Transfer::Load;
        let address = access.address().map(|address| low(address, d.address_width.into()));
        let value = access.value().map(|value| low(value, u32::from(bytes) * 8));
        let has_data = !d.no_data
            && !split_load
            && !(atomic && (d.split || operand.is_some() && transfer == Transfer::Atomic(7)));
        let lrid = self.next_request;
        if split_load || d.split && atomic {
            self.next_request = (self.next_request + 1) & ((1 << d.lrid_width.min(6)) - 1);
        }
        // The address is in units of the size, unless it or the one before is unaligned.
        let aligned = |address: u64| address & (u64::from(bytes) - 1) == 0;
        let unaligned = !atomic && address.is_some_and(|address| !aligned(address))
            || !atomic && !last.address.is_none_or(aligned) && !settings.full_address;
        let unit = if unaligned { 0 } else { u32::from(size) };
        let place = |diff: u8| {
            let address = address.unwrap_or(0);
            let by = match diff {
                0 => address,
                _ => address.wrapping_sub(match last.address {
                    Some(last) => last,
                    // The reference flow has differences to nothing.
                    None if d.arithmetic => 0,
                    None => return None,
                }),
            };
            if by & !(u64::MAX << unit) != 0 {
                // After an unaligned access an atomic one can only have a full address.
                return None;
            }
            let width = d.address_width.into();
            let by = (sign_extend(by, width) as i64 >> unit) as u64;
            Some(low(if diff == 0 { address >> unit } else { by }, width))
        };
        let narrow = !atomic && d.no_address && d.diff_width == 1;
        let codes: &[u8] = match (d.no_data || split_load, d.no_address) {
            (true, _) if settings.full_address => &[0],
            (true, _) => &[0, 1],
            (false, true) if settings.full_data => &[0],
            (false, true) if narrow || d.arithmetic => &[0, 1],
            (false, true) => &[0, 1, 3],
            (false, false) if settings.full_address => &[0],
            (false, false) if settings.full_data => &[0, 2],
            (false, false) if d.arithmetic => &[1],
            (false, false) => &[0, 2, 1, 3],
        };
        let amount = |value: u64| Amount { value, bytes: needed(value, bytes, params) };
        let base = DataAccess {
            transfer,
            unaligned,
            size,
            lrid: if split_load || d.split && atomic { lrid } else { 0 },
            operand: operand
                .filter(|_| atomic && !d.no_data)
                .map(|operand| amount(low(operand, u32::from(bytes) * 8))),
            ..DataAccess::default()
        };
        // Without data, code 1 is that of an address.
        let packets = codes.iter().filter(|&&diff| !has_data || narrow || allowed(diff, params));
        let packets = packets.filter_map(|&diff| {
            let address = if d.no_address { None } else { Some(place(diff)?) };
            let data = if has_data {
                let code = match diff {
                    0 | 2 => 2,
                    1 if narrow || d.arithmetic => 3,
                    code => code,
                };
                let value = coded(code, value.unwrap_or(0), last.value, bytes, params)?;
                let all = Amount { value, bytes };
                Some(if d.no_address { all } else { amount(value) })
            } else {
                None
            };
            Some(DataAccess { diff, address, data, ..base })
        });
        let packet = shortest(packets, params).unwrap_or(base);
        if let Some(last) = self.sizes.get_mut(usize::from(size)) {
            if !d.no_address {
                last.address = address;
            }
            if has_data {
                last.value = value;
            }
        }
        packet
    }

    fn csr(
        &mut self,
        transfer: Transfer,
        access: &Access,
        operand: Option<u64>,
        params: &Params,
    ) -> DataAccess {
        let bytes = params.data.width.div_ceil(8);
        let amount = |value: u64| {
            let value = low(value, params.data.width.into());
            Amount { value, bytes: needed(value, bytes, params) }
        };
        let number = access.address().unwrap_or(0) & 0xfff;
        let base = DataAccess {
            transfer,
            address: Some(number),
            operand: operand.filter(|_| number >> 10 != 0b11 && !params.data.no_data).map(amount),
            ..DataAccess::default()
        };
        let value = access.value().unwrap_or(0);
        if params.data.no_data {
            return base;
        }
        let codes = if self.settings.full_data { &[0u8][..] } else { &[0, 1, 3] };
        let packets = codes.iter().filter(|&&diff| allowed(diff, params));
        let packets = packets.filter_map(|&diff| {
            let code = if diff == 0 { 2 } else { diff };
            let value = coded(code, value, self.csr, bytes, params)?;
            Some(DataAccess { diff, data: Some(amount(value)), ..base })
        });
        let packet = shortest(packets, params).unwrap_or(base);
        self.csr = Some(low(value, params.data.width.into()));
        packet
    }
}

/// Whether data can have a code. In 0.026 (7.1) data are sent in full or as a difference to the
/// value before; the exclusive or, code 1, is that of later versions.
const fn allowed(code: u8, params: &Params) -> bool {
    code != 1 || params.data.arithmetic || !params.is_draft()
}

/// The shortest packet; of several the first.
fn shortest(packets: impl Iterator<Item = DataAccess>, params: &Params) -> Option<DataAccess> {
    packets.min_by_key(|packet| length(&Payload::Data(*packet), params))
}

/// A value as a code has it: 1 exclusive or, 2 full, 3 difference. `None` where it would need what
/// the decoder does not know.
fn coded(code: u8, value: u64, last: Option<u64>, bytes: u8, params: &Params) -> Option<u64> {
    let width = u32::from(bytes) * 8;
    let last = if params.data.arithmetic { Some(last.unwrap_or(0)) } else { last };
    // With the reference flow's mistake an exclusive or is a difference.
    let value = match code {
        1 if params.data.arithmetic => value.wrapping_sub(last?),
        1 => value ^ last?,
        3 => value.wrapping_sub(last?),
        _ => value,
    };
    Some(low(value, width))
}

/// Bytes of a sign-extended value, at most `bytes`.
fn needed(value: u64, bytes: u8, params: &Params) -> u8 {
    if params.data.arithmetic {
        // The reference flow leaves nothing out.
        return bytes;
    }
    let value = sign_extend(value, u32::from(bytes) * 8);
    (1..bytes).find(|&n| sign_extend(value, u32::from(n) * 8) == value).unwrap_or(bytes)
}
