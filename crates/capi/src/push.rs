//! Trace data that the client pushes, for functions of the client that may ask it to wait.

use std::ffi::{c_char, c_void, CString};
use std::sync::Arc;

use tracewright::base::Fault;
use tracewright::decode::{
    Consumer, Event, Listener, Memory, Packets, Push, Report, Reports, Response, Severity,
    SourceBytes, Wants,
};
use tracewright::frames;
use tracewright::image::{ReadAnswer, ReadMemory, ReadRequest};
use tracewright::protocols::PacketKind;
use tracewright::Element;

use crate::element::TwElement;
use crate::error::TwError;
use crate::guard::guard;
use crate::handle::{free, make, shared, used, Kind};
use crate::opened::{text, Opened, Shared, TwCapture};
use crate::plain::{self, Plain};
use crate::status::{Failure, TwStatus, TW_ERR_ORDER, TW_ERR_SOURCES, TW_OK, TW_STOPPED, TW_WAIT};

/// A function of the client answers this: data may follow.
pub const TW_CONTINUE: i32 = 0;
/// A function of the client answers this: nothing may follow until `tw_push_flush`.
pub const TW_HOLD: i32 = 1;

/// `tw_read_memory` answers this: the bytes are not known yet, and the caller is to be asked again.
pub const TW_READ_LATER: i64 = -1;

/// Bytes are undecodable, or packets contradict each other or the program.
pub const TW_SEVERITY_ERROR: u32 = 1;
/// Trace or program memory is missing, or something has two meanings.
pub const TW_SEVERITY_WARNING: u32 = 2;
/// Bytes before the first synchronisation, and bytes of trace IDs without a source.
pub const TW_SEVERITY_INFO: u32 = 3;

/// `source` of what belongs to the trace link.
pub const TW_NO_SOURCE: u32 = 0xffff_ffff;

/// The frame is as it is in the buffer, with the IDs.
pub const TW_FRAME_PACKED: u32 = 1;

/// Receives an element, and the name of the kind and the bytes of `TW_ELEMENT_CUSTOM`, otherwise
/// NULL and none: all valid during the call. It returns `TW_CONTINUE`, `TW_HOLD`, or another number
/// to end decoding.
pub type TwReceiveElement = Option<
    unsafe extern "C" fn(
        user: *mut c_void,
        element: *const TwElement,
        name: *const c_char,
        content: *const u8,
        length: usize,
    ) -> i32,
>;

/// A packet, undecodable bytes, an event of the trace link, or a part of a frame. All pointers are
/// valid during the call.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct TwPacket {
    /// Size of the structure in bytes.
    pub size: u32,
    /// Number of the source; `TW_NO_SOURCE` for the trace link.
    pub source: u32,
    /// Offset in the buffer, in bytes.
    pub offset: u64,
    /// The bytes. Those of an STM are half bytes.
    pub bytes: *const u8,
    /// Their number.
    pub length: usize,
    /// The kind: of a packet among those of its protocol, `undecodable`, or `trigger`, `flush`,
    /// `full-sync`, `half-sync`, `barrier`, `footer`, `null`, `reserved`, `no-source`, `bad`.
    pub kind: *const c_char,
    /// The same as text.
    pub text: *const c_char,
    /// The value of a trigger or a flush; of a part of a frame its trace ID, or `TW_NO_SOURCE`.
    pub value: u32,
    /// `TW_FRAME_*`.
    pub flags: u32,
}

// SAFETY: integers and raw pointers, and the size is first.
unsafe impl Plain for TwPacket {}

/// Receives a packet.
pub type TwReceivePacket = Option<unsafe extern "C" fn(user: *mut c_void, packet: *const TwPacket)>;

/// An error or a warning at a place of the trace. Its texts are valid during the call.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct TwReport {
    /// Size of the structure in bytes.
    pub size: u32,
    /// `TW_SEVERITY_*`.
    pub severity: u32,
    /// Number of the source; `TW_NO_SOURCE` for the trace link.
    pub source: u32,
    /// 0.
    pub reserved: u32,
    /// Offset in the buffer, in bytes.
    pub offset: u64,
    /// What happened, in words with hyphens.
    pub code: *const c_char,
    /// The same as a sentence.
    pub text: *const c_char,
}

// SAFETY: integers and raw pointers, and the size is first.
unsafe impl Plain for TwReport {}

/// Receives a report.
pub type TwReceiveReport = Option<unsafe extern "C" fn(user: *mut c_void, report: *const TwReport)>;

/// Reads up to `length` bytes of memory at `address` into `into`, and returns their number; 0 where
/// there is no memory at the address, `TW_READ_LATER` where it is not known yet. `space` has one
/// bit for the address space: 1 EL1 Secure, 2 EL1 Non-secure, 4 EL2 Non-secure, 8 EL3, 16 EL2
/// Secure, 32 EL1 Realm, 64 EL2 Realm, 128 Root. `source` is the number of the source in the
/// capture. The library copies the bytes, and does not ask again for what was read, nor where there
/// is no memory, until `tw_push_forget_memory`. The thread is that of the call of `tw_push_...`.
pub type TwReadMemory = Option<
    unsafe extern "C" fn(
        user: *mut c_void,
        address: u64,
        space: u32,
        source: u32,
        into: *mut u8,
        length: usize,
    ) -> i64,
>;

/// The functions of the client that receive what is decoded; each may be NULL. All calls are made
/// by the thread that calls a function of the `tw_push`, within that call. A call with the
/// `tw_push` in one of them returns `TW_ERR_BUSY`. The structure is copied; `user` belongs to the
/// client, and must stay valid until `tw_push_free`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct TwPushOptions {
    /// Size of the structure in bytes.
    pub size: u32,
    /// Number of the trace buffer of the capture.
    pub buffer: u32,
    /// The first argument of each function.
    pub user: *mut c_void,
    /// Receives elements.
    pub element: TwReceiveElement,
    /// Receives packets and undecodable bytes of sources, before their elements.
    pub packet: TwReceivePacket,
    /// Receives events of the trace link.
    pub link: TwReceivePacket,
    /// Receives frames, packed and by trace ID.
    pub frame: TwReceivePacket,
    /// Receives errors and warnings of `level` and more severe ones.
    pub report: TwReceiveReport,
    /// Reads program memory that the capture does not have.
    pub read: TwReadMemory,
    /// `TW_SEVERITY_*`; 0 stands for `TW_SEVERITY_ERROR`.
    pub level: u32,
    /// 0.
    pub reserved: u32,
    /// After this many errors in the trace, such as undecodable packets, decoding ends with
    /// `TW_STOPPED`; 0: never.
    pub stop_after: u64,
}

// SAFETY: integers, raw pointers and functions that may be null, and the size is first.
unsafe impl Plain for TwPushOptions {}

/// Decodes data that the client pushes.
pub struct TwPush(());

/// The functions, and the client's pointer.
#[derive(Clone, Copy)]
struct Client(TwPushOptions);

/// Memory that the client reads.
#[derive(Debug)]
struct ClientMemory {
    client: Client,
    /// The index of each source in the capture, and the number that the client knows it by.
    numbers: Vec<(usize, u32)>,
}

// SAFETY: the header states which thread calls the functions: the one that uses the handle.
unsafe impl Send for Client {}
// SAFETY: as above.
unsafe impl Sync for Client {}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Client")
    }
}

struct Pushing {
    client: Client,
    push: Push,
    memory: Memory,
    opened: Arc<Opened>,
    /// The last error or warning of each source, and of the link.
    last: Vec<(u32, CString)>,
    /// The number of reports of each severity.
    counts: [u64; 3],
}

impl Kind for Pushing {
    type Opaque = TwPush;
    const NAME: &'static str = "push";
}

impl ReadMemory for ClientMemory {
    fn read(&self, request: ReadRequest, into: &mut [u8]) -> ReadAnswer {
        let Client(TwPushOptions { read: Some(read), user, .. }) = self.client else {
            return ReadAnswer::Absent;
        };
        let known = |index| self.numbers.iter().find(|(own, _)| *own == index);
        let source = request.source.and_then(known).map_or(TW_NO_SOURCE, |(_, number)| *number);
        let space = request.space.bits().into();
        // SAFETY: `into` has as many bytes; the header states what the function may do.
        let count =
            unsafe { read(user, request.address, space, source, into.as_mut_ptr(), into.len()) };
        match usize::try_from(count) {
            Ok(count @ 1..) => ReadAnswer::Bytes(count),
            _ if count == TW_READ_LATER => ReadAnswer::Later,
            _ => ReadAnswer::Absent,
        }
    }

    fn by_space(&self) -> bool {
        true
    }

    fn by_source(&self) -> bool {
        true
    }
}

impl Consumer for Client {
    fn element(&mut self, source: usize, at: u64, element: Element, content: &[u8]) -> Response {
        let Some(receive) = self.0.element else { return Response::Continue };
        let own = TwElement::new(source as u32, at, &element);
        let name = match element {
            Element::Custom(custom) => Some(text(custom.kind)),
            _ => None,
        };
        let (name, content) = match &name {
            Some(name) => (name.as_ptr(), content),
            None => (std::ptr::null(), &[][..]),
        };
        // SAFETY: all pointers are valid during the call.
        match unsafe { receive(self.0.user, &own, name, content.as_ptr(), content.len()) } {
            TW_CONTINUE => Response::Continue,
            TW_HOLD => Response::Wait,
            _ => Response::Failed,
        }
    }
}

/// Passes packets, link events and frames to the client.
struct Monitor(Client);

impl Monitor {
    fn packet(&self, to: TwReceivePacket, own: TwPacket, kind: &str, described: &str) {
        let Some(receive) = to else { return };
        let (kind, described) = (text(kind), text(described));
        let (kind, described) = (kind.as_ptr(), described.as_ptr());
        let own = TwPacket { size: size_of::<TwPacket>() as u32, kind, text: described, ..own };
        // SAFETY: all pointers are valid during the call.
        unsafe { receive(self.0 .0.user, &own) };
    }

    fn of_source(&self, source: usize, bytes: &SourceBytes<'_>, kind: &str, described: &str) {
        let own = raw(source as u32, bytes.at(), bytes.get());
        self.packet(self.0 .0.packet, own, kind, described);
    }

    fn link(&self, at: u64, event: frames::Event) {
        let value = match event {
            frames::Event::Trigger(value) | frames::Event::Flush(value) => value.into(),
            _ => 0,
        };
        let own = TwPacket { value, ..raw(TW_NO_SOURCE, at, &[]) };
        let described = match event {
            frames::Event::Bad { len, fault } => format!("{len} undecodable bytes: {fault}"),
            other => format!("{other:?}"),
        };
        self.packet(self.0 .0.link, own, PacketKind::of(&event).as_str(), &described);
    }

    fn frame(&self, at: u64, bytes: &[u8], id: Option<u8>, flags: u32) {
        let value = id.map_or(TW_NO_SOURCE, u32::from);
        let own = TwPacket { value, flags, ..raw(TW_NO_SOURCE, at, bytes) };
        let kind = if flags == TW_FRAME_PACKED { "packed" } else { "unpacked" };
        self.packet(self.0 .0.frame, own, kind, kind);
    }
}

fn raw(source: u32, offset: u64, bytes: &[u8]) -> TwPacket {
    TwPacket { source, offset, bytes: bytes.as_ptr(), length: bytes.len(), ..plain::zeroed() }
}

impl Listener for Monitor {
    fn element(&mut self, _: usize, _: u64, _: Element) {}

    fn batch(&mut self, _: &tracewright::base::Batch<'_>) {}

    fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::Packet { source, bytes, packet } => {
                self.of_source(*source, bytes, packet.kind().as_str(), &packet.to_string());
            }
            Event::Undecodable { source, bytes, fault } => {
                let fault: &Fault = fault;
                self.of_source(*source, bytes, "undecodable", &fault.to_string());
            }
            Event::Link { at, event } => self.link(*at, *event),
            Event::Packed { at, bytes } => self.frame(*at, bytes, None, TW_FRAME_PACKED),
            Event::Fragment { id, at, bytes } => self.frame(*at, bytes, *id, 0),
            _ => {}
        }
    }

    fn wants(&self) -> Wants {
        let TwPushOptions { packet, link, frame, .. } = self.0 .0;
        let packets = match (packet, link) {
            (Some(_), _) => Packets::Each,
            (None, Some(_)) => Packets::Counted,
            (None, None) => Packets::None,
        };
        Wants::ANY_ORDER.with_packets(packets).with_frames(frame.is_some())
    }

    /// The reports beside it decide when decoding ends.
    fn full(&self) -> bool {
        true
    }
}

/// A report for the client.
fn report(client: Client, report: &Report) {
    let Some(receive) = client.0.report else { return };
    let (code, described) = (text(report.code.as_str()), text(&report.text));
    let own = TwReport {
        size: size_of::<TwReport>() as u32,
        severity: number(report.severity),
        source: report.source.map_or(TW_NO_SOURCE, |source| source as u32),
        offset: report.offset,
        code: code.as_ptr(),
        text: described.as_ptr(),
        ..plain::zeroed()
    };
    // SAFETY: the texts are valid during the call.
    unsafe { receive(client.0.user, &own) };
}

const fn number(severity: Severity) -> u32 {
    match severity {
        Severity::Error => TW_SEVERITY_ERROR,
        Severity::Warning => TW_SEVERITY_WARNING,
        Severity::Info => TW_SEVERITY_INFO,
    }
}

const fn status(response: Response) -> TwStatus {
    match response {
        Response::Continue => TW_OK,
        Response::Wait => TW_WAIT,
        Response::Failed => TW_STOPPED,
    }
}

impl Pushing {
    /// Calls `call` with the functions of the client.
    fn call<T>(&mut self, call: impl FnOnce(&mut Push, &mut Client, &mut dyn Listener) -> T) -> T {
        let Pushing { client, push, last, counts, .. } = self;
        let level = match client.0.level {
            TW_SEVERITY_INFO => Severity::Info,
            TW_SEVERITY_WARNING => Severity::Warning,
            _ => Severity::Error,
        };
        let own = *client;
        let left = match client.0.stop_after {
            0 => u64::MAX,
            most => most.saturating_sub(counts[Severity::Error as usize]),
        };
        let reports = Reports::new(Severity::Info, |one: &Report| {
            counts[one.severity as usize] += 1;
            let source = one.source.map_or(TW_NO_SOURCE, |source| source as u32);
            let described = text(&one.to_string());
            match last.iter_mut().find(|(of, _)| *of == source) {
                Some((_, last)) => *last = described,
                None => last.push((source, described)),
            }
            if one.severity <= level {
                report(own, one);
            }
        });
        call(push, client, &mut (Monitor(own), reports.stop_after(left)))
    }
}

/// Makes what decodes buffer `options->buffer` of `capture`, whose own bytes are not read. `push`
/// receives the handle, or NULL. `TW_ERR_RANGE` where there is no such buffer, `TW_ERR_SOURCES`
/// where it has no source that can be decoded. The capture may be freed before the handle.
#[no_mangle]
pub unsafe extern "C" fn tw_push_new(
    capture: *const TwCapture,
    options: *const TwPushOptions,
    push: *mut *mut TwPush,
    error: *mut TwError,
) -> TwStatus {
    // SAFETY: the header states what pointers are.
    unsafe {
        guard(error, || {
            plain::not_null(push, "push")?;
            plain::give(push, std::ptr::null_mut());
            let capture = shared::<Shared>(capture)?;
            let Shared(opened) = &*capture;
            let client = Client(plain::read(options, "options")?);
            if client.0.level > TW_SEVERITY_INFO || client.0.reserved != 0 {
                return Err(Failure::argument("`options` has an unknown level"));
            }
            let mut plans = opened.plans();
            let buffer = client.0.buffer as usize;
            let (plan, first) = plans.find(|(plan, _)| plan.buffer == buffer).ok_or_else(|| {
                Failure::range("buffer", buffer, opened.trace.capture().buffers.len())
            })?;
            if plan.sources.is_empty() {
                return Err(Failure::new(TW_ERR_SOURCES, "the buffer has no source to decode"));
            }
            let (trace, mut memory) = (&opened.trace, opened.trace.memory().clone());
            if client.0.read.is_some() {
                let sources = plan.sources.iter().map(|planned| planned.source);
                let numbers = sources.zip(first as u32..).collect();
                let reader = ClientMemory { client, numbers };
                memory = memory.with_reader(trace.capture(), Arc::new(reader));
            }
            let session =
                tracewright::decode::Session::new(trace.capture(), plan, &memory, trace.options());
            let session = session.map_err(|error| Failure::new(TW_ERR_SOURCES, error))?;
            let made = Push::new(session.numbered_from(first), memory.live().cloned());
            let (opened, last, counts) = (Arc::clone(opened), Vec::new(), [0; 3]);
            let own = Pushing { client, push: made, memory, opened, last, counts };
            plain::give(push, make(own));
            Ok(TW_OK)
        })
    }
}

/// Frees it. Elements that wait are dropped.
#[no_mangle]
pub unsafe extern "C" fn tw_push_free(push: *mut *mut TwPush, error: *mut TwError) -> TwStatus {
    // SAFETY: the header states what pointers are.
    unsafe { guard(error, || free::<Pushing>(push)) }
}

/// Takes `length` bytes, of which the first one is at `offset` of the buffer: the end of those
/// before, 0 at first. `taken` receives the number of bytes taken. Returns `TW_OK`; `TW_WAIT` where
/// the client is to flush, and give the bytes that were not taken again; `TW_STOPPED` where a
/// function of the client, or a number of errors, ended decoding. `taken` may be NULL.
/// `TW_ERR_ORDER`, and nothing is taken, where the offset is another one, a flush comes first, or
/// decoding has ended. What the trace contains is never an error. The bytes are used during the
/// call only.
#[no_mangle]
pub unsafe extern "C" fn tw_push_data(
    push: *mut TwPush,
    offset: u64,
    bytes: *const u8,
    length: usize,
    taken: *mut usize,
    error: *mut TwError,
) -> TwStatus {
    // SAFETY: the header states what pointers are.
    unsafe {
        guard(error, || {
            plain::give(taken, 0);
            let mut own = used::<Pushing>(push)?;
            let bytes = plain::array(bytes, length, "bytes")?;
            let done = own.call(|push, client, monitor| push.data(offset, bytes, client, monitor));
            let (count, response) = done.map_err(|error| Failure::new(TW_ERR_ORDER, error))?;
            plain::give(taken, count);
            Ok(status(response))
        })
    }
}

/// Delivers elements that wait, and asks again for memory. Returns as `tw_push_data`; `TW_STOPPED`
/// after decoding has ended.
#[no_mangle]
pub unsafe extern "C" fn tw_push_flush(push: *mut TwPush, error: *mut TwError) -> TwStatus {
    // SAFETY: the header states what pointers are.
    unsafe {
        guard(error, || {
            let mut own = used::<Pushing>(push)?;
            Ok(status(own.call(|push, client, monitor| push.flush(client, monitor))))
        })
    }
}

/// The data end. Returns as `tw_push_data`, `TW_ERR_ORDER` included; after `TW_WAIT`,
/// `tw_push_flush` continues.
#[no_mangle]
pub unsafe extern "C" fn tw_push_end(push: *mut TwPush, error: *mut TwError) -> TwStatus {
    // SAFETY: the header states what pointers are.
    unsafe {
        guard(error, || {
            let mut own = used::<Pushing>(push)?;
            let done = own.call(|push, client, monitor| push.end(client, monitor));
            Ok(status(done.map_err(|error| Failure::new(TW_ERR_ORDER, error))?))
        })
    }
}

/// Drops all state, all elements that wait and what was reported, whose numbers count from 0 again:
/// data at `offset` follow. After `TW_STOPPED`, too.
#[no_mangle]
pub unsafe extern "C" fn tw_push_reset(
    push: *mut TwPush,
    offset: u64,
    error: *mut TwError,
) -> TwStatus {
    // SAFETY: the header states what pointers are.
    unsafe {
        guard(error, || {
            let mut own = used::<Pushing>(push)?;
            own.push.reset(offset);
            own.last.clear();
            own.counts = [0; 3];
            Ok(TW_OK)
        })
    }
}

/// The program has changed: memory that was read is forgotten, and read again for the data that
/// follow.
#[no_mangle]
pub unsafe extern "C" fn tw_push_forget_memory(push: *mut TwPush, error: *mut TwError) -> TwStatus {
    // SAFETY: the header states what pointers are.
    unsafe {
        guard(error, || {
            let mut own = used::<Pushing>(push)?;
            let Pushing { push, memory, opened, .. } = &mut *own;
            let capture = opened.trace.capture();
            memory.forget_read(capture);
            push.session().set_memory(capture, memory);
            Ok(TW_OK)
        })
    }
}

/// The last error or warning of source `source`, of any level; of the trace link for
/// `TW_NO_SOURCE`. `text` receives a text that is valid until the next call with `push`, or NULL
/// where there is none.
#[no_mangle]
pub unsafe extern "C" fn tw_push_last_report(
    push: *mut TwPush,
    source: u32,
    text: *mut *const c_char,
    error: *mut TwError,
) -> TwStatus {
    // SAFETY: the header states what pointers are.
    unsafe {
        guard(error, || {
            plain::not_null(text, "text")?;
            let own = used::<Pushing>(push)?;
            let last = own.last.iter().find(|(of, _)| *of == source);
            plain::give(text, last.map_or(std::ptr::null(), |(_, text)| text.as_ptr()));
            Ok(TW_OK)
        })
    }
}

/// The number of errors, warnings or other reports since the last reset: those of the severity
/// `severity`, `TW_SEVERITY_*`, also where no function receives them.
#[no_mangle]
pub unsafe extern "C" fn tw_push_report_count(
    push: *mut TwPush,
    severity: u32,
    count: *mut u64,
    error: *mut TwError,
) -> TwStatus {
    // SAFETY: the header states what pointers are.
    unsafe {
        guard(error, || {
            plain::not_null(count, "count")?;
            let own = used::<Pushing>(push)?;
            let index = (severity as usize).wrapping_sub(1);
            let wrong = || Failure::argument(format_args!("severity {severity}"));
            plain::give(count, *own.counts.get(index).ok_or_else(wrong)?);
            Ok(TW_OK)
        })
    }
}
