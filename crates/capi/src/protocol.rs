//! Protocols of the client.

use std::ffi::{c_char, c_void};
use std::fmt;
use std::sync::{Mutex, PoisonError};

use tracewright::base::MissingRegister;
use tracewright::base::{
    Block, BlockCache, Code, CoreType, Counted, Decode, Element, End, Fault, Isa, Last, Parse, Pc,
    Range, Register, Sink, Space, Spanned, SyncSearch, Waypoints, Wire,
};
use tracewright::protocols::external::{External, ExternalConfig, ExternalProtocol};
use tracewright::protocols::kind::PacketKinds;
use tracewright::protocols::registry::{About, AnyProtocol, Listed};
use tracewright::protocols::{external_config, PacketKind, Protocol, Resume, TraceForm};

use crate::convert;
use crate::error::TwError;
use crate::guard::guard;
use crate::plain::{self, Plain};
use crate::status::{Failure, TwStatus, TW_END, TW_OK};

/// The most bytes of a packet of a client's protocol.
pub const TW_PACKET_MAX: usize = 64;
/// The most bytes of the state of a client's decoder.
pub const TW_STATE_MAX: usize = 256;

/// Where a client's decoder reports what a packet means. It is valid during the call that received
/// it, and for the thread of that call.
pub struct TwEmit(());

/// A trace protocol of the client. Its functions may be called by several threads at once. They
/// must depend on their arguments only: the state of a decoder is `state_size` bytes, at first 0,
/// which the library copies and compares. What the structure points to is copied, except `user`,
/// which belongs to the client and must stay valid as long as captures with the protocol are used.
/// After undecodable bytes the state is 0 again, and decoding goes on where `sync` finds a start.
/// In frames, the register `TRACEID` of the device has its trace ID.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct TwProtocol {
    /// Size of the structure in bytes.
    pub size: u32,
    /// Bytes of the state of a decoder, at most `TW_STATE_MAX`.
    pub state_size: u32,
    /// The name that devices of captures have as their type, up to a full stop.
    pub name: *const c_char,
    /// The names of the kinds of `TW_ELEMENT_CUSTOM`, in lower case with hyphens.
    pub kinds: *const *const c_char,
    /// Their number.
    pub kind_count: usize,
    /// The first argument of each function.
    pub user: *mut c_void,
    /// Where in the bytes a decoder may start; a negative number where nowhere. The last
    /// `TW_PACKET_MAX - 1` of them are searched again with those that follow.
    pub sync:
        Option<unsafe extern "C" fn(user: *mut c_void, bytes: *const u8, length: usize) -> i64>,
    /// The length of the packet at the first byte, at most `TW_PACKET_MAX`; 0 where it continues
    /// after the bytes; a negative number where that many bytes are undecodable.
    pub parse:
        Option<unsafe extern "C" fn(user: *mut c_void, bytes: *const u8, length: usize) -> i64>,
    /// Takes a packet: changes the state, and calls `tw_emit_...`.
    pub decode: Option<
        unsafe extern "C" fn(
            user: *mut c_void,
            state: *mut c_void,
            packet: *const u8,
            length: usize,
            emit: *mut TwEmit,
        ),
    >,
}

// SAFETY: integers, raw pointers and functions that may be null, and the size is first.
unsafe impl Plain for TwProtocol {}

/// A protocol with copies of its names, which stay as long as the process.
#[derive(Clone, Copy)]
struct Described {
    functions: TwProtocol,
    names: &'static [&'static str],
    kinds: &'static [&'static str],
}

// SAFETY: the header states that threads may call the functions at once.
unsafe impl Send for Described {}
// SAFETY: as above.
unsafe impl Sync for Described {}

impl fmt::Debug for Described {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.names, f)
    }
}

/// Reads a protocol of the client.
///
/// # Safety
/// The header states what pointers are.
pub(crate) unsafe fn read(protocol: *const TwProtocol) -> Result<AnyProtocol, Failure> {
    // SAFETY: the caller states it.
    let functions = unsafe { plain::read(protocol, "protocols") }?;
    let TwProtocol { sync, parse, decode, state_size, .. } = functions;
    if sync.is_none() || parse.is_none() || decode.is_none() {
        return Err(Failure::argument("a protocol lacks `sync`, `parse` or `decode`"));
    }
    if state_size as usize > TW_STATE_MAX {
        return Err(Failure::argument("`state_size` is greater than TW_STATE_MAX"));
    }
    // SAFETY: the caller states it.
    let name = unsafe { plain::string(functions.name, "name") }?;
    // SAFETY: as above.
    let pointers = unsafe { plain::array(functions.kinds, functions.kind_count, "kinds") }?;
    let mut kinds = Vec::new();
    for kind in pointers {
        // SAFETY: as above.
        kinds.push(unsafe { plain::string(*kind, "kinds") }?);
    }
    Ok(AnyProtocol::External(External::new(Described::known(functions, name, &kinds))))
}

/// The protocols so far. One that is given again is the same, so that their number does not grow
/// with that of captures.
static KNOWN: Mutex<Vec<&'static Described>> = Mutex::new(Vec::new());

impl Described {
    /// The protocol with these functions and names.
    fn known(functions: TwProtocol, name: &str, kinds: &[&str]) -> &'static Described {
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let is = |own: &&&Described| {
            own.addresses() == addresses(&functions) && own.names == [name] && own.kinds == kinds
        };
        if let Some(own) = known.iter().find(is) {
            return own;
        }
        let leak = |text: &str| -> &'static str { String::leak(text.to_owned()) };
        let names = Vec::leak(vec![leak(name)]);
        let kinds = Vec::leak(kinds.iter().copied().map(leak).collect());
        let own: &'static Described = Box::leak(Box::new(Described { functions, names, kinds }));
        known.push(own);
        own
    }

    fn addresses(&self) -> [usize; 5] {
        addresses(&self.functions)
    }
}

/// What two protocols with the same names differ in.
fn addresses(functions: &TwProtocol) -> [usize; 5] {
    let TwProtocol { sync, parse, decode, user, state_size, .. } = *functions;
    let (sync, parse) = (sync.map_or(0, |f| f as usize), parse.map_or(0, |f| f as usize));
    let decode = decode.map_or(0, |f| f as usize);
    [sync, parse, decode, user as usize, state_size as usize]
}

impl ExternalProtocol for Described {
    fn about(&self) -> About {
        About {
            names: self.names,
            title: "a protocol of the client",
            registers: Client::REGISTERS,
            texts: &[],
            form: TraceForm::Bytes,
            id_register: Client::ID_REGISTER,
            isas: Client::ISAS,
            packet_kinds: Packet::KINDS,
        }
    }

    fn configure(
        &'static self,
        core: Option<CoreType>,
        register: &dyn Fn(&str) -> Option<u64>,
    ) -> Result<ExternalConfig, MissingRegister> {
        let Config { trace_id, .. } = Client::configure(core, register)?;
        let config = Config { trace_id, protocol: Some(self) };
        Ok(external_config::<Client>(External::new(self), config))
    }
}

/// The protocol of all clients: what differs is in the configuration.
#[derive(Clone, Copy, Debug)]
struct Client;

#[derive(Clone, Copy, Debug)]
struct Config {
    trace_id: u8,
    protocol: Option<&'static Described>,
}

impl PartialEq for Config {
    fn eq(&self, other: &Self) -> bool {
        let pointer = |config: &Config| config.protocol.map(std::ptr::from_ref);
        self.trace_id == other.trace_id && pointer(self) == pointer(other)
    }
}

/// A packet: its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Packet {
    bytes: [u8; TW_PACKET_MAX],
    len: u8,
}

impl Packet {
    fn get(&self) -> &[u8] {
        self.bytes.get(..self.len.into()).unwrap_or_default()
    }
}

impl fmt::Display for Packet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("packet")?;
        self.get().iter().try_for_each(|byte| write!(f, " {byte:02x}"))
    }
}

impl PacketKinds for Packet {
    const KINDS: &'static [PacketKind] = &[PacketKind::named("Packet")];

    fn kind(&self) -> PacketKind {
        PacketKind::named("Packet")
    }
}

impl Wire<Config> for Packet {
    fn parse(bytes: &[u8], config: &Config) -> Parse<Self> {
        let functions = config.protocol.map(|own| own.functions);
        let Some((parse, user)) = functions.and_then(|own| Some((own.parse?, own.user))) else {
            return Parse::Bad(bytes.len().max(1), Fault::Sequence);
        };
        // SAFETY: the bytes are valid during the call.
        let length = unsafe { parse(user, bytes.as_ptr(), bytes.len()) };
        let len = usize::try_from(length.unsigned_abs()).unwrap_or(usize::MAX);
        match bytes.get(..len) {
            _ if length == 0 && bytes.len() < TW_PACKET_MAX => Parse::Partial,
            Some(own) if length > 0 && len <= TW_PACKET_MAX => {
                let mut copy = [0; TW_PACKET_MAX];
                copy.iter_mut().zip(own).for_each(|(to, from)| *to = *from);
                Parse::Packet(Packet { bytes: copy, len: len as u8 }, len)
            }
            _ => Parse::Bad(len.clamp(1, bytes.len().max(1)), Fault::Sequence),
        }
    }

    fn emit(&self, _: &Config, out: &mut impl Extend<u8>) {
        out.extend(self.get().iter().copied());
    }
}

/// The state of a client's decoder.
#[derive(Clone, Debug, PartialEq, Eq)]
#[repr(C, align(16))]
struct Decoder([u8; TW_STATE_MAX]);

impl Default for Decoder {
    fn default() -> Self {
        Decoder([0; TW_STATE_MAX])
    }
}

/// What a [`TwEmit`] refers to.
struct Emit<'a> {
    code: &'a mut dyn Code,
    each: &'a mut dyn FnMut(Emitted<'_>),
    kinds: &'static [&'static str],
}

enum Emitted<'a> {
    Element(Element),
    Custom(&'static str, &'a [u8]),
}

impl Decode<Config, Packet> for Decoder {
    fn packet<K: BlockCache, S: Sink>(
        &mut self,
        Spanned { at, packet, .. }: Spanned<&Packet>,
        config: &Config,
        code: &mut K,
        sink: &mut S,
    ) {
        let Some(Described { functions, kinds, .. }) = config.protocol else { return };
        let Some(decode) = functions.decode else { return };
        let bytes = packet.get();
        let mut each = |what: Emitted<'_>| match what {
            Emitted::Element(element) => sink.element(at, element),
            Emitted::Custom(kind, bytes) => sink.custom(at, kind, bytes),
        };
        let mut emit = Emit { code, each: &mut each, kinds };
        let (state, emit) = (self.0.as_mut_ptr().cast(), (&raw mut emit).cast());
        // SAFETY: all pointers are valid during the call.
        unsafe { decode(functions.user, state, bytes.as_ptr(), bytes.len(), emit) };
    }

    fn bad<S: Sink>(&mut self, _: u64, _: Fault, _: &mut S) {
        *self = Decoder::default();
    }

    fn finish<K: BlockCache, S: Sink>(&mut self, _: u64, _: &Config, _: &mut K, _: &mut S) {}
}

impl Protocol for Client {
    const NAMES: &'static [&'static str] = &[];
    const TITLE: &'static str = "a protocol of the client";
    const REGISTERS: &'static [Register] = &[Register {
        name: "TRACEID",
        aliases: &[],
        about: "trace ID",
        required: false,
        fields: &[],
    }];
    const RESUME: Resume = Resume::Seek;
    const ID_REGISTER: Option<(&'static str, u32)> = Some(("TRACEID", 0));
    const ISAS: &'static [Isa] = &[Isa::A64, Isa::A32, Isa::T32, Isa::Rv32, Isa::Rv64];

    type Config = Config;
    type Packet = Packet;
    type Decoder = Decoder;

    fn configure(
        _: Option<CoreType>,
        register: &dyn Fn(&str) -> Option<u64>,
    ) -> Result<Config, MissingRegister> {
        let trace_id = register("TRACEID").unwrap_or(0) as u8 & 0x7f;
        Ok(Config { trace_id, protocol: None })
    }

    fn trace_id(config: &Config) -> u8 {
        config.trace_id
    }

    fn waypoints(_: &Config) -> Waypoints {
        Waypoints::BRANCHES
    }

    fn sync(config: &Config, bytes: &[u8]) -> SyncSearch {
        let functions = config.protocol.map(|own| own.functions);
        let Some((sync, user)) = functions.and_then(|own| Some((own.sync?, own.user))) else {
            return SyncSearch::NotIn(bytes.len());
        };
        // SAFETY: the bytes are valid during the call.
        let found = unsafe { sync(user, bytes.as_ptr(), bytes.len()) };
        match usize::try_from(found) {
            Ok(at) if at < bytes.len() => SyncSearch::At(at),
            // A synchronisation may begin in the last bytes.
            _ => SyncSearch::NotIn(bytes.len().saturating_sub(TW_PACKET_MAX - 1)),
        }
    }

    fn is_sync(_: &Packet) -> bool {
        false
    }
}

impl Listed for Client {}

/// # Safety
/// `emit` is null, or what a function of the client received in this call.
unsafe fn used<'a>(emit: *mut TwEmit) -> Result<&'a mut Emit<'a>, Failure> {
    plain::not_null(emit, "emit")?;
    // SAFETY: the caller states it.
    Ok(unsafe { &mut *emit.cast::<Emit<'a>>() })
}

/// Reports the instructions from `address` on, up to and including the next branch, which was taken
/// if `taken` is not 0: a range. `address` and `isa` (`TW_ISA_*`) receive what is executed next,
/// for a branch that was taken the target in its opcode. Returns `TW_END` where that is not known:
/// the target is not in the opcode, or the program memory is missing, which is reported.
/// `TW_ERR_ARGUMENT` for a number that is no `TW_ISA_*`.
#[no_mangle]
pub unsafe extern "C" fn tw_emit_branch(
    emit: *mut TwEmit,
    taken: i32,
    address: *mut u64,
    isa: *mut u32,
    error: *mut TwError,
) -> TwStatus {
    // SAFETY: the header states what pointers are.
    unsafe {
        guard(error, || {
            plain::not_null(address, "address")?;
            plain::not_null(isa, "isa")?;
            let emit = used(emit)?;
            let number = isa.read_unaligned();
            let known = convert::isa_of(number)
                .ok_or_else(|| Failure::argument(format_args!("{number} is no TW_ISA_")))?;
            let address_now = address.read_unaligned();
            let mut pc = Pc { address: address_now, isa: known, space: Space::ANY };
            for _ in 0..emit.code.max_expansion() {
                let block = match emit.code.block(pc) {
                    Ok(block) => *block,
                    Err(miss) => {
                        (emit.each)(Emitted::Element(pc.unreadable(miss.address)));
                        return Ok(TW_END);
                    }
                };
                let ends = block.end == End::Waypoint;
                if block.instructions > 0 {
                    let range = range(&block, ends && taken != 0);
                    (emit.each)(Emitted::Element(Element::Range(range)));
                }
                let next = Pc { address: block.next(), ..pc };
                match (block.end, taken != 0, block.last.target) {
                    (End::Limit, ..) => pc = next,
                    (End::Waypoint, false, _) => {
                        plain::give(address, next.address);
                        return Ok(TW_OK);
                    }
                    (End::Waypoint, true, Some(target)) => {
                        plain::give(address, target);
                        plain::give(isa, convert::isa(block.last.target_isa).into());
                        return Ok(TW_OK);
                    }
                    (End::Waypoint, true, None) => return Ok(TW_END),
                    _ => {
                        (emit.each)(Emitted::Element(next.unreadable(next.address)));
                        return Ok(TW_END);
                    }
                }
            }
            Ok(TW_END)
        })
    }
}

/// A block as a range.
fn range(block: &Block, taken: bool) -> Range {
    Range {
        start: block.start,
        bytes: block.bytes,
        instructions: block.instructions,
        cycles: Counted::UNKNOWN,
        last: Last::new(&block.last, taken),
    }
}

/// Reports a timestamp, in ticks.
#[no_mangle]
pub unsafe extern "C" fn tw_emit_timestamp(
    emit: *mut TwEmit,
    value: u64,
    error: *mut TwError,
) -> TwStatus {
    // SAFETY: the header states what pointers are.
    unsafe {
        guard(error, || {
            (used(emit)?.each)(Emitted::Element(Element::Timestamp { value, cycles: None }));
            Ok(TW_OK)
        })
    }
}

/// Reports `TW_ELEMENT_CUSTOM` of the kind with this number among those of the protocol, with a
/// copy of `length` bytes. `TW_ERR_RANGE` where the protocol has no such kind.
#[no_mangle]
pub unsafe extern "C" fn tw_emit_custom(
    emit: *mut TwEmit,
    kind: usize,
    bytes: *const u8,
    length: usize,
    error: *mut TwError,
) -> TwStatus {
    // SAFETY: the header states what pointers are.
    unsafe {
        guard(error, || {
            let emit = used(emit)?;
            let count = emit.kinds.len();
            let name = emit.kinds.get(kind).ok_or_else(|| Failure::range("kind", kind, count))?;
            let bytes = plain::array(bytes, length, "bytes")?;
            (emit.each)(Emitted::Custom(name, bytes));
            Ok(TW_OK)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_protocol_is_stored_once() {
        let functions = plain::zeroed::<TwProtocol>();
        let one = Described::known(functions, "one", &["note"]);
        assert!(std::ptr::eq(one, Described::known(functions, "one", &["note"])));
        let wider = TwProtocol { state_size: 8, ..functions };
        for other in [
            Described::known(functions, "other", &["note"]),
            Described::known(functions, "one", &[]),
            Described::known(wider, "one", &["note"]),
        ] {
            assert!(!std::ptr::eq(one, other), "{other:?}");
        }
    }
}
