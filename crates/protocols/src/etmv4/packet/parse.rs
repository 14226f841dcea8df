//! Parses packets by header. The valid headers depend on version and configuration.

use tracewright_base::{Fault, Parse};

use super::read::{Bytes, Stop};
use super::{Address, Before, Conditional, ContextInfo, Exception, Packet, Q, SubIsa, TraceInfo};
use crate::etmv4::{Config, QSupport};

/// Parses any packet but an Atom packet. `bytes` begin with `header`.
pub(super) fn parse(header: u8, bytes: &[u8], config: &Config) -> Parse<Packet> {
    if header == 0x00 {
        return extension(bytes);
    }
    let mut payload = Bytes::after_header(bytes);
    match packet(header, &mut payload, config) {
        Ok(packet) => Parse::Packet(packet, payload.taken),
        Err(Stop::Partial) => Parse::Partial,
        Err(Stop::Bad(len, fault)) => Parse::Bad(len, fault),
    }
}

/// `0000_0000`: Discard, Overflow, or at least 11 of these bytes and `1000_0000`.
fn extension(bytes: &[u8]) -> Parse<Packet> {
    let Some(zeros) = bytes.iter().position(|&byte| byte != 0) else { return Parse::Partial };
    match (zeros, bytes.get(zeros)) {
        (1, Some(0x03)) => Parse::Packet(Packet::Discard, 2),
        (1, Some(0x05)) => Parse::Packet(Packet::Overflow, 2),
        (11.., Some(0x80)) => Parse::Packet(Packet::AlignSync, zeros + 1),
        _ => Parse::Bad(zeros + 1, Fault::Sequence),
    }
}

fn packet(header: u8, bytes: &mut Bytes<'_>, config: &Config) -> Result<Packet, Stop> {
    let reserved = Err(Stop::Bad(1, Fault::Reserved(header)));
    let not_here = Err(Stop::Bad(1, Fault::ReservedForConfig(header)));
    let ete = config.is_ete();
    Ok(match header {
        0x01 => Packet::TraceInfo(TraceInfo::parse(bytes, config)?),
        0x02 | 0x03 => {
            let time = bytes.groups(64)?;
            let cycles = if header & 1 != 0 { Some(bytes.uleb(20)?) } else { None };
            Packet::Timestamp { bits: time.bits, count: time.count, cycles }
        }
        0x04 => Packet::TraceOn,
        0x05 if has_function_return(config) => Packet::FunctionReturn,
        0x06 => Packet::Exception(exception(bytes, config)?),
        0x07 if !ete => Packet::ExceptionReturn,
        0x07 => return not_here,
        0x09 if ete && config.version() >= 0x53 => {
            Packet::Instrumentation { el: bytes.byte()?, value: bytes.u64()? }
        }
        0x0a if ete => Packet::TransactionStart,
        0x0b if ete => Packet::TransactionCommit,
        0x0c | 0x0d => {
            let byte = bytes.byte()?;
            let from_max = header & 1 != 0;
            Packet::CycleCount2 { from_max, commit: byte >> 4, cycles: byte & 0xf }
        }
        0x0e | 0x0f => {
            let commit = if config.commit_mode_1() { None } else { Some(bytes.uleb(32)?) };
            let cycles = if header & 1 == 0 { Some(bytes.uleb(20)?) } else { None };
            Packet::CycleCount1 { commit, cycles }
        }
        0x10..=0x1f => Packet::CycleCount3 { commit: header >> 2 & 0b11, cycles: header & 0b11 },
        0x20..=0x2c if !config.data_trace() => return not_here,
        0x20..=0x27 => Packet::NumberedSync(header & 0b111),
        0x28..=0x2c => Packet::UnnumberedSync(header & 0b111),
        0x2d => Packet::Commit(bytes.uleb(32)?),
        0x2e | 0x2f => Packet::Cancel1 { count: bytes.uleb(32)?, mispredict: header & 1 != 0 },
        0x30..=0x33 => Packet::Mispredict(Before::from_field(header)),
        0x34..=0x37 => Packet::Cancel2(Before::from_field(header)),
        0x38..=0x3f => Packet::Cancel3 { atom: header & 1 != 0, count: (header >> 1 & 0b11) + 2 },
        0x40..=0x6f if Conditional::is_header(header) && !config.conditions() => return not_here,
        0x40..=0x6f => match Conditional::parse(header, bytes) {
            Some(conditional) => Packet::Conditional(conditional?),
            None => return reserved,
        },
        0x70 if config.version() >= 0x43 => Packet::Ignore,
        0x71..=0x7f => Packet::Event(header & 0xf),
        0x80 => Packet::Context(None),
        0x81 => Packet::Context(Some(context(bytes, config)?)),
        0x82 => Packet::AddressContext(long32(SubIsa::Is0, bytes)?, context(bytes, config)?),
        0x83 => Packet::AddressContext(long32(SubIsa::Is1, bytes)?, context(bytes, config)?),
        0x85 => Packet::AddressContext(long64(SubIsa::Is0, bytes)?, context(bytes, config)?),
        0x86 => Packet::AddressContext(long64(SubIsa::Is1, bytes)?, context(bytes, config)?),
        0x88 if config.knows_timestamp_marker() => Packet::TimestampMarker,
        0x90..=0x9f => match Address::parse(header, bytes.rest()) {
            Some(address) => Packet::Address(bytes.take(address)?),
            None => return reserved,
        },
        0xa0..=0xaf if config.q_support() == QSupport::None => return reserved,
        0xa0..=0xa2 => q(Address::Match(header & 0b11), bytes)?,
        0xa5 => q(short(SubIsa::Is0, bytes)?, bytes)?,
        0xa6 => q(short(SubIsa::Is1, bytes)?, bytes)?,
        0xaa => q(long32(SubIsa::Is0, bytes)?, bytes)?,
        0xab => q(long32(SubIsa::Is1, bytes)?, bytes)?,
        0xac => Packet::Q(Q::Counted(bytes.uleb(32)?)),
        0xaf => Packet::Q(Q::Uncounted),
        0xb0..=0xbf if !ete => return reserved,
        0xb0..=0xb2 => Packet::SourceAddress(Address::Match(header & 0b11)),
        0xb4 => Packet::SourceAddress(short(SubIsa::Is0, bytes)?),
        0xb5 => Packet::SourceAddress(short(SubIsa::Is1, bytes)?),
        0xb6 => Packet::SourceAddress(long32(SubIsa::Is0, bytes)?),
        0xb7 => Packet::SourceAddress(long32(SubIsa::Is1, bytes)?),
        0xb8 => Packet::SourceAddress(long64(SubIsa::Is0, bytes)?),
        0xb9 => Packet::SourceAddress(long64(SubIsa::Is1, bytes)?),
        _ => return reserved,
    })
}

/// Function Return packets: M profile, Armv8 on, from ETMv4.2 on.
fn has_function_return(config: &Config) -> bool {
    !config.is_ete()
        && config.version() >= 0x42
        && config.microcontroller()
        && config.core().is_some_and(|core| core.version >= 8)
}

/// `cett_ttte`: E1 and E0 around TYPE. If `c` is 1, TYPE bits \[9:5] and P follow, which an ETE
/// does not have.
///
/// An address packet follows. In an ETE one byte can replace it, whatever the TYPE. Alone that byte
/// would be an Ignore packet, so it is part of this packet. (Arm ARM K10.5.2.13)
fn exception(bytes: &mut Bytes<'_>, config: &Config) -> Result<Exception, Stop> {
    let low = bytes.byte()?;
    let mut number = u16::from(low >> 1 & 0x1f);
    let mut fault_pending = false;
    // Bit 7 has no meaning in an ETE. (K10.5.2.13.1)
    if low & 0x80 != 0 && !config.is_ete() {
        let high = bytes.byte()?;
        number |= u16::from(high & 0x1f) << 5;
        fault_pending = high >> 5 & 1 != 0;
    }
    let also_target = match low & 0b100_0001 {
        0b000_0001 => false,
        0b100_0000 => true,
        _ => return Err(bytes.bad(Fault::Reserved(0x06))),
    };
    let mut unknown_address = false;
    if config.is_ete() {
        unknown_address = *bytes.rest().first().ok_or(Stop::Partial)? == 0x70;
        bytes.taken += usize::from(unknown_address);
    }
    Ok(Exception { number, also_target, unknown_address, fault_pending })
}

fn q(address: Address, bytes: &mut Bytes<'_>) -> Result<Packet, Stop> {
    Ok(Packet::Q(Q::To(address, bytes.uleb(32)?)))
}

fn short(is: SubIsa, bytes: &mut Bytes<'_>) -> Result<Address, Stop> {
    bytes.take(Address::short(is, bytes.rest()))
}

fn long32(is: SubIsa, bytes: &mut Bytes<'_>) -> Result<Address, Stop> {
    bytes.take(Address::long32(is, bytes.rest()).map(|address| (address, 4)))
}

fn long64(is: SubIsa, bytes: &mut Bytes<'_>) -> Result<Address, Stop> {
    bytes.take(Address::long64(is, bytes.rest()).map(|address| (address, 8)))
}

fn context(bytes: &mut Bytes<'_>, config: &Config) -> Result<ContextInfo, Stop> {
    bytes.take(ContextInfo::parse(bytes.rest(), config))
}
