//! Functions of the client that receive packets.

use std::ffi::{c_int, c_void};

use tracewright_opencsd::client::codes::{Error, response};

/// The sink of packets: context, operation, offset, packet.
pub type SinkPacket = unsafe extern "C" fn(*const c_void, u32, u32, *const c_void) -> u32;

/// The monitor of packets: context, operation, offset, packet, number of bytes, bytes.
pub type MonitorPacket =
    unsafe extern "C" fn(*const c_void, u32, u32, *const c_void, u32, *const u8);

/// The functions of a client that receive the packets of a source, each with its context.
#[derive(Clone, Copy, Debug, Default)]
pub struct PacketCallbacks {
    sink: Option<(SinkPacket, *const c_void)>,
    monitor: Option<(MonitorPacket, *const c_void)>,
}

impl PacketCallbacks {
    /// Sets the sink.
    pub fn set_sink(&mut self, sink: SinkPacket, context: *const c_void) -> Error {
        if self.sink.is_some() {
            return Error::ATTACH_TOO_MANY;
        }
        self.sink = Some((sink, context));
        Error::OK
    }

    /// Sets the monitor.
    pub fn set_monitor(&mut self, monitor: MonitorPacket, context: *const c_void) -> Error {
        if self.monitor.is_some() {
            return Error::ATTACH_TOO_MANY;
        }
        self.monitor = Some((monitor, context));
        Error::OK
    }

    /// Whether there is a sink.
    pub fn has_sink(&self) -> bool {
        self.sink.is_some()
    }

    /// Whether there is a monitor.
    pub fn has_monitor(&self) -> bool {
        self.monitor.is_some()
    }

    /// Bit 0: there is a monitor. Bit 1: there is a sink.
    pub fn flags(&self) -> c_int {
        c_int::from(self.has_monitor()) | c_int::from(self.has_sink()) << 1
    }

    /// Passes a packet to the sink, and returns its response.
    ///
    /// # Safety
    /// `packet` is null or a packet of the protocol.
    pub unsafe fn sink(&self, operation: u32, at: u32, packet: *const c_void) -> u32 {
        match self.sink {
            // SAFETY: the client passed this function with this context; the caller states the
            // rest.
            Some((sink, context)) => unsafe { sink(context, operation, at, packet) },
            None => response::CONT,
        }
    }

    /// Passes a packet and its bytes to the monitor.
    ///
    /// # Safety
    /// `packet` is null or a packet of the protocol; `data` is null or has `size` bytes.
    pub unsafe fn monitor(
        &self,
        operation: u32,
        at: u32,
        packet: *const c_void,
        size: u32,
        data: *const u8,
    ) {
        if let Some((monitor, context)) = self.monitor {
            // SAFETY: the client passed this function with this context; the caller states the
            // rest.
            unsafe { monitor(context, operation, at, packet, size, data) };
        }
    }
}
