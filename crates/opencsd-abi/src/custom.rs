//! Decoders that a client registers.

use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::{Mutex, PoisonError};

use tracewright_base::{Instruction, Isa, Kind, Role};
use tracewright_isa::{ItState, classify};
use tracewright_opencsd::client::codes::{Error, operation, protocol, response};
use tracewright_opencsd::client::element::TraceElement;

use crate::log::{self, Logged};
use crate::memory::Memory;
use crate::outlet::Outlet;
use crate::packets::callbacks::PacketCallbacks;

/// Takes trace data: decoder, operation, offset, size, data, bytes taken.
type TakeData = unsafe extern "C" fn(*const c_void, u32, u32, u32, *const u8, *mut u32) -> u32;
/// Takes which receivers of packets there are.
type TakeFlags = unsafe extern "C" fn(*const c_void, c_int);

/// A decoder of a client, `ocsd_extern_dcd_inst_t`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Instance {
    take_data: Option<TakeData>,
    take_flags: Option<TakeFlags>,
    decoder: *mut c_void,
    name: *mut c_char,
    id: u8,
}

/// The functions of this library for a decoder of a client, `ocsd_extern_dcd_cb_fns`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct LibraryCallbacks {
    element: unsafe extern "C" fn(*const c_void, u32, u8, *const TraceElement) -> u32,
    error: unsafe extern "C" fn(*const c_void, u32, Error, u32, u8, *const c_char),
    message: unsafe extern "C" fn(*const c_void, u32, *const c_char),
    instruction: unsafe extern "C" fn(*const c_void, *mut InstructionInfo) -> Error,
    memory: unsafe extern "C" fn(*const c_void, u64, u8, u32, *mut u32, *mut u8) -> Error,
    monitor: unsafe extern "C" fn(*const c_void, u32, u32, *const c_void, u32, *const u8),
    sink: unsafe extern "C" fn(*const c_void, u32, u32, *const c_void) -> u32,
    flags: c_int,
    context: *const c_void,
}

/// What a client registers, `ocsd_extern_dcd_fact_t`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Factory {
    create: Option<
        unsafe extern "C" fn(c_int, *const c_void, *const LibraryCallbacks, *mut Instance) -> Error,
    >,
    destroy: Option<unsafe extern "C" fn(*const c_void) -> Error>,
    id: Option<unsafe extern "C" fn(*const c_void, *mut u8) -> Error>,
    text: Option<unsafe extern "C" fn(*const c_void, *mut c_char, c_int) -> Error>,
    protocol: u32,
}

/// An instruction and what it is, `ocsd_instr_info`. Fields of releases after 1.3.3 are padding
/// before that.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct InstructionInfo {
    architecture: u32,
    profile: u32,
    isa: u32,
    address: u64,
    opcode: u32,
    barriers: u8,
    waits: u8,
    it_blocks: u8,
    kind: u32,
    target: u64,
    next_isa: u32,
    size: u8,
    conditional: u8,
    link: u8,
    it_count: u8,
    subtype: u32,
}

const _: () = assert!(size_of::<usize>() != 8 || size_of::<InstructionInfo>() == 64);

impl Factory {
    /// Sets the protocol that the registration gave.
    pub fn set_protocol(&mut self, number: u32) {
        self.protocol = number;
    }
}

// SAFETY: a factory holds functions only.
unsafe impl Send for Factory {}

/// The decoders that clients have registered, for all trees: the interface has no handle for them.
static FACTORIES: Mutex<Vec<(Vec<u8>, Factory)>> = Mutex::new(Vec::new());

fn factories<T>(change: impl FnOnce(&mut Vec<(Vec<u8>, Factory)>) -> T) -> T {
    change(&mut FACTORIES.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Registers a decoder and returns its protocol.
///
/// # Errors
/// A function is missing, a decoder of this name exists, or there are too many.
pub fn register(name: &[u8], mut factory: Factory) -> Result<u32, Error> {
    let Factory { create, destroy, id, text, .. } = &factory;
    if create.is_none() || destroy.is_none() || id.is_none() || text.is_none() || name.is_empty() {
        return Err(Error::INVALID_PARAM_VAL);
    }
    factories(|known| {
        if tracewright_opencsd::registers::DecoderRegisters::named(name).is_some()
            || known.iter().any(|(own, _)| own == name)
        {
            return Err(Error::DCDREG_NAME_REPEAT);
        }
        let number = protocol::CUSTOM + known.len() as u32;
        if number >= protocol::CUSTOM_END {
            return Err(Error::DCDREG_TOOMANY);
        }
        factory.protocol = number;
        known.push((name.to_vec(), factory));
        Ok(number)
    })
}

/// Forgets all decoders of clients. Those of existing trees stay.
pub fn deregister() {
    factories(Vec::clear);
}

/// The decoder of this name.
pub fn named(name: &[u8]) -> Option<Factory> {
    factories(|known| known.iter().find(|(own, _)| own == name).map(|(_, factory)| *factory))
}

/// Writes the text of a packet of a client's protocol.
///
/// # Safety
/// `packet` is what the client's decoder takes; `buffer` has `size` bytes.
pub unsafe fn packet_text(
    number: u32,
    packet: *const c_void,
    buffer: *mut c_char,
    size: c_int,
) -> Error {
    let found = factories(|known| {
        known.iter().find(|(_, factory)| factory.protocol == number).map(|(_, factory)| *factory)
    });
    match found.and_then(|factory| factory.text) {
        // SAFETY: the client registered this function, and the caller states the rest.
        Some(text) => unsafe { text(packet, buffer, size) },
        None => Error::NO_PROTOCOL,
    }
}

/// What the functions for a decoder of a client need. It points to parts of the tree while the
/// tree calls the decoder.
#[derive(Debug)]
struct Context {
    id: u8,
    outlet: Cell<*const Outlet>,
    memory: Cell<*const Memory>,
    packets: Cell<PacketCallbacks>,
}

/// A decoder of a client in a tree.
#[derive(Debug)]
pub struct CustomDecoder {
    /// Its trace ID.
    pub id: u8,
    factory: Factory,
    instance: Instance,
    context: Box<Context>,
    /// Bytes that the decoder has not taken, and the offset of the first.
    rest: Vec<u8>,
    rest_at: u64,
}

impl CustomDecoder {
    /// The trace ID in a configuration.
    ///
    /// # Safety
    /// `config` is the structure that the client's decoder takes.
    pub unsafe fn id_of(factory: &Factory, config: *const c_void) -> Result<u8, Error> {
        let mut id = 0;
        let read = factory.id.ok_or(Error::FAIL)?;
        // SAFETY: the client registered this function; the caller states the rest.
        match unsafe { read(config, &mut id) } {
            Error::OK => Ok(id),
            error => Err(error),
        }
    }

    /// Creates a decoder.
    ///
    /// # Safety
    /// `config` is the structure that the client's decoder takes.
    pub unsafe fn new(
        id: u8,
        factory: Factory,
        flags: c_int,
        config: *const c_void,
    ) -> Result<Self, Error> {
        let context = Box::new(Context {
            id,
            outlet: Cell::new(ptr::null()),
            memory: Cell::new(ptr::null()),
            packets: Cell::default(),
        });
        let callbacks = LibraryCallbacks {
            element,
            error,
            message,
            instruction,
            memory,
            monitor,
            sink,
            flags: 0,
            context: ptr::from_ref(&*context).cast(),
        };
        let mut instance = Instance {
            take_data: None,
            take_flags: None,
            decoder: ptr::null_mut(),
            name: ptr::null_mut(),
            id,
        };
        let create = factory.create.ok_or(Error::FAIL)?;
        // SAFETY: the client registered this function; the caller states the rest.
        match unsafe { create(flags, config, &callbacks, &mut instance) } {
            Error::OK => {}
            error => return Err(error),
        }
        let (rest, rest_at) = (Vec::new(), 0);
        let made = CustomDecoder { id, factory, instance, context, rest, rest_at };
        if instance.take_data.is_none() || instance.take_flags.is_none() {
            return Err(Error::NOT_INIT);
        }
        Ok(made)
    }

    /// Sets who receives packets.
    pub fn set_packets(&mut self, change: impl FnOnce(&mut PacketCallbacks) -> Error) -> Error {
        let mut packets = self.context.packets.get();
        let error = change(&mut packets);
        self.context.packets.set(packets);
        if let Some(take_flags) = self.instance.take_flags {
            // SAFETY: the client's decoder gave this function with its handle.
            unsafe { take_flags(self.instance.decoder, packets.flags()) };
        }
        error
    }

    /// Takes bytes of the source.
    pub fn data(&mut self, at: u64, bytes: &[u8], memory: &Memory, outlet: &Outlet) {
        if self.rest.is_empty() {
            self.rest_at = at;
        }
        self.rest.extend_from_slice(bytes);
        self.resume(memory, outlet);
    }

    /// Gives the decoder the bytes that it has not taken.
    pub fn resume(&mut self, memory: &Memory, outlet: &Outlet) {
        while !self.rest.is_empty() && !outlet.is_closed() {
            let rest = std::mem::take(&mut self.rest);
            let taken = self.call(operation::DATA, self.rest_at, &rest, memory, outlet);
            let taken = taken.min(rest.len());
            self.rest = rest.get(taken..).unwrap_or_default().to_vec();
            self.rest_at = self.rest_at.wrapping_add(taken as u64);
            if taken == 0 {
                return;
            }
        }
    }

    /// Takes an operation without data at offset `at`.
    pub fn operation(&mut self, operation: u32, at: u64, memory: &Memory, outlet: &Outlet) {
        if operation == operation::RESET {
            self.rest.clear();
        }
        self.call(operation, at, &[], memory, outlet);
    }

    fn call(
        &self,
        operation: u32,
        at: u64,
        bytes: &[u8],
        memory: &Memory,
        outlet: &Outlet,
    ) -> usize {
        let Some(take_data) = self.instance.take_data else { return bytes.len() };
        self.context.outlet.set(outlet);
        self.context.memory.set(memory);
        let mut taken = 0;
        let data = if bytes.is_empty() { ptr::null() } else { bytes.as_ptr() };
        // SAFETY: the client's decoder gave this function with its handle; `data` has as many bytes
        // as are stated.
        let answer = unsafe {
            take_data(
                self.instance.decoder,
                operation,
                at as u32,
                bytes.len() as u32,
                data,
                &mut taken,
            )
        };
        self.context.outlet.set(ptr::null());
        self.context.memory.set(ptr::null());
        outlet.respond(answer);
        taken as usize
    }
}

impl Drop for CustomDecoder {
    fn drop(&mut self) {
        if let Some(destroy) = self.factory.destroy {
            // SAFETY: the client registered this function, and its decoder gave this handle.
            unsafe { destroy(self.instance.decoder) };
        }
    }
}

/// Calls `body` with the context of a decoder and the outlet of its tree.
///
/// # Safety
/// `context` is null or what [`LibraryCallbacks`] has.
unsafe fn within<T>(
    context: *const c_void,
    otherwise: T,
    body: impl FnOnce(&Context, &Outlet) -> T,
) -> T {
    // SAFETY: a client's decoder passes the pointer that it got, which lives as long as the
    // decoder.
    let Some(context) = (unsafe { context.cast::<Context>().as_ref() }) else { return otherwise };
    // SAFETY: it is null, or the outlet of the tree that is calling the decoder.
    let Some(outlet) = (unsafe { context.outlet.get().as_ref() }) else { return otherwise };
    catch_unwind(AssertUnwindSafe(|| body(context, outlet))).unwrap_or(otherwise)
}

unsafe extern "C" fn element(
    context: *const c_void,
    at: u32,
    id: u8,
    element: *const TraceElement,
) -> u32 {
    // SAFETY: the client's decoder passes what it got, and an element.
    unsafe { within(context, response::FATAL_SYS_ERR, |_, outlet| outlet.forward(at, id, element)) }
}

/// A string of a client.
///
/// # Safety
/// `text` is null or a string.
unsafe fn owned(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: it is not null, and the caller states the rest.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

unsafe extern "C" fn error(
    context: *const c_void,
    _severity: u32,
    error: Error,
    at: u32,
    id: u8,
    text: *const c_char,
) {
    // SAFETY: the client's decoder passes what it got, and a string.
    unsafe {
        within(context, (), |_, outlet| {
            let at = (at != u32::MAX).then_some(at.into());
            let id = (id != u8::MAX).then_some(id);
            let logged = Logged { error, at, id, message: owned(text) };
            log::error(outlet.printer.as_ref(), "custom", logged);
        });
    }
}

unsafe extern "C" fn message(context: *const c_void, _severity: u32, text: *const c_char) {
    // SAFETY: the client's decoder passes what it got, and a string.
    unsafe {
        within(context, (), |_, outlet| log::message(outlet.printer.as_ref(), &owned(text)));
    }
}

unsafe extern "C" fn instruction(_context: *const c_void, info: *mut InstructionInfo) -> Error {
    // SAFETY: the client's decoder passes null or the structure.
    match unsafe { info.as_mut() } {
        Some(info) => catch_unwind(AssertUnwindSafe(|| info.decode())).unwrap_or(Error::FAIL),
        None => Error::INVALID_PARAM_VAL,
    }
}

unsafe extern "C" fn memory(
    context: *const c_void,
    address: u64,
    _id: u8,
    space: u32,
    count: *mut u32,
    buffer: *mut u8,
) -> Error {
    if count.is_null() || buffer.is_null() {
        return Error::INVALID_PARAM_VAL;
    }
    // SAFETY: the client's decoder passes what it got; the count can be written, and the buffer has
    // as many bytes as the count states. The memory is that of the tree that calls the decoder.
    unsafe {
        within(context, Error::NOT_INIT, |own, _| {
            let Some(memory) = own.memory.get().as_ref() else { return Error::NOT_INIT };
            let mut bytes = vec![0; count.read().min(1 << 20) as usize];
            let len = memory.read(address, space, own.id, &mut bytes);
            ptr::copy_nonoverlapping(bytes.as_ptr(), buffer, len);
            count.write(len as u32);
            Error::OK
        })
    }
}

unsafe extern "C" fn monitor(
    context: *const c_void,
    operation: u32,
    at: u32,
    packet: *const c_void,
    size: u32,
    data: *const u8,
) {
    // SAFETY: the client's decoder passes what it got, and a packet with its bytes.
    unsafe {
        within(context, (), |own, _| own.packets.get().monitor(operation, at, packet, size, data));
    }
}

unsafe extern "C" fn sink(
    context: *const c_void,
    operation: u32,
    at: u32,
    packet: *const c_void,
) -> u32 {
    // SAFETY: the client's decoder passes what it got, and a packet.
    unsafe {
        within(context, response::FATAL_SYS_ERR, |own, _| {
            own.packets.get().sink(operation, at, packet)
        })
    }
}

impl InstructionInfo {
    /// Decodes the opcode. A narrow T32 opcode is in the high half.
    fn decode(&mut self) -> Error {
        let isa = match self.isa {
            0 => Isa::A32,
            1 => Isa::T32,
            2 => Isa::A64,
            _ => return Error::UNSUPPORTED_ISA,
        };
        let bytes = match isa {
            Isa::T32 => {
                let [c, d, a, b] = self.opcode.to_le_bytes();
                [a, b, c, d]
            }
            _ => self.opcode.to_le_bytes(),
        };
        let Some(found) = classify(isa, &bytes, self.address, &mut ItState::default()) else {
            return Error::INVALID_OPCODE;
        };
        let Instruction { kind, role, .. } = found;
        self.kind = match kind {
            Kind::Branch => 1,
            Kind::Indirect => 2,
            Kind::Isb => 3,
            Kind::Barrier if self.barriers != 0 => 4,
            Kind::Wait | Kind::TimedWait if self.waits != 0 => 5,
            Kind::TransactionStart => 6,
            _ => 0,
        };
        self.subtype = match role {
            Role::Call => 1,
            Role::Return if isa == Isa::A64 => 2,
            Role::ExceptionReturn if isa == Isa::A64 => 3,
            Role::ImpliedReturn => 4,
            _ => 0,
        };
        self.target = found.target.unwrap_or(0);
        self.next_isa = match found.target_isa {
            Isa::T32 if found.target.is_some() => 1,
            Isa::A32 if found.target.is_some() => 0,
            _ => self.isa,
        };
        (self.size, self.conditional) = (found.size, found.conditional.into());
        self.link = (role == Role::Call).into();
        self.it_count = it_count(isa, self.opcode);
        Error::OK
    }
}

/// The number of instructions that an IT instruction makes conditional; 0 for any other.
fn it_count(isa: Isa, opcode: u32) -> u8 {
    let half = opcode >> 16;
    if isa != Isa::T32 || half >> 8 != 0xbf || half & 0xf == 0 {
        return 0;
    }
    4 - (half & 0xf).trailing_zeros() as u8
}
