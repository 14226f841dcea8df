//! Where the elements of a tree go, and what the client answered.

use std::cell::Cell;
use std::ffi::c_void;

use tracewright_base::{Element, Gap, Inconsistency};
use tracewright_opencsd::Reported;
use tracewright_opencsd::client::codes::{Error, response};
use tracewright_opencsd::client::element::{Maker, TraceElement};
use tracewright_opencsd::client::text::text;

use crate::client_element::{of_client, payload};
use crate::log::{self, Logged, Printer};

/// Receives an element: context, offset of its packet, trace ID, element.
pub type ReceiveElement = unsafe extern "C" fn(*const c_void, u32, u8, *const TraceElement) -> u32;

/// Who receives elements.
#[derive(Clone, Copy, Debug, Default)]
pub enum Receiver {
    /// Nobody.
    #[default]
    None,
    /// A function of the client.
    Client(Client),
    /// They are printed as messages.
    Printed,
}

/// A function of the client that receives elements, and its context.
#[derive(Clone, Copy, Debug)]
pub struct Client {
    /// The function.
    pub function: ReceiveElement,
    /// Its first argument.
    pub context: *const c_void,
}

impl Client {
    /// Passes an element to the client, and returns the response.
    #[inline]
    pub fn receive(self, at: u64, id: u8, element: &TraceElement) -> u32 {
        // SAFETY: the client passed this function with this context for as long as the tree exists;
        // the element and its payload live until the function returns.
        unsafe { (self.function)(self.context, at as u32, id, element) }
    }
}

/// Where the elements and messages of a tree go.
#[derive(Debug, Default)]
pub struct Outlet {
    /// The tree has several sources: messages name the trace ID with the component.
    pub framed: bool,
    /// Who receives elements.
    pub receiver: Receiver,
    /// Who receives messages.
    pub printer: Option<Printer>,
    /// The client wants no element until it asks for a flush.
    pub waits: Cell<bool>,
    /// The most severe response of the current operation.
    pub response: Cell<u32>,
}

impl Outlet {
    /// An operation begins.
    pub fn begin(&self) {
        self.waits.set(false);
        self.response.set(response::CONT);
    }

    /// Takes the response of the client.
    pub fn respond(&self, answer: u32) {
        self.response.set(self.response.get().max(answer));
        if response::waits(answer) {
            self.waits.set(true);
        }
    }

    /// Whether the client ended decoding.
    pub fn is_fatal(&self) -> bool {
        response::is_fatal(self.response.get())
    }

    /// Whether nothing more can be delivered in this operation.
    pub fn is_closed(&self) -> bool {
        self.waits.get() || self.is_fatal()
    }

    /// Delivers an element.
    pub fn send(&self, id: u8, decoder: &str, maker: &mut Maker, reported: &Reported) {
        match reported.element {
            Element::Gap(Gap::BadPacket) => {
                self.error(id, decoder, reported.at, Error::BAD_DECODE_PKT, "Bad packet.");
            }
            Element::Inconsistency(Inconsistency::InvalidOpcode) => {
                self.error(id, decoder, reported.at, Error::INVALID_OPCODE, "Invalid opcode.");
            }
            _ => {}
        }
        if matches!(self.receiver, Receiver::None) {
            return;
        }
        let Some(element) = maker.make(reported) else { return };
        match self.receiver {
            Receiver::None => {}
            Receiver::Client(client) => self.respond(client.receive(reported.at, id, element)),
            Receiver::Printed => {
                let what = text(element, |bits| payload(element, bits));
                let line = format!("Idx:{}; ID:{id:x}; {what}\n", reported.at as u32);
                log::message(self.printer.as_ref(), &line);
            }
        }
    }

    /// The function of the client that can receive elements now.
    pub fn open_client(&self) -> Option<Client> {
        match self.receiver {
            Receiver::Client(client) if !self.is_closed() => Some(client),
            _ => None,
        }
    }

    /// Delivers an element of a client's decoder, and returns the response.
    ///
    /// # Safety
    /// `element` is null or an element.
    pub unsafe fn forward(&self, at: u32, id: u8, element: *const TraceElement) -> u32 {
        if element.is_null() {
            return response::FATAL_INVALID_PARAM;
        }
        match self.receiver {
            Receiver::None => response::CONT,
            // SAFETY: the client passed this function with this context for as long as the tree
            // exists; the caller states the rest.
            Receiver::Client(Client { function, context }) => unsafe {
                function(context, at, id, element)
            },
            Receiver::Printed => {
                // SAFETY: it is not null, and the caller states the rest.
                let element = unsafe { of_client(element) };
                let what = text(&element, |bits| payload(&element, bits));
                log::message(self.printer.as_ref(), &format!("Idx:{at}; ID:{id:x}; {what}\n"));
                response::CONT
            }
        }
    }

    /// Logs an error of a decoder.
    pub fn error(&self, id: u8, component: &str, at: u64, error: Error, message: &str) {
        self.log(id, component, at, error, message);
        self.response.set(self.response.get().max(response::ERR_CONT));
    }

    /// Logs an error that does not change the response: one of a packet processor, which passes the
    /// bad packet on.
    pub fn log(&self, id: u8, component: &str, at: u64, error: Error, message: &str) {
        let message = message.to_owned();
        let logged = Logged { error, at: Some(at), id: Some(id), message };
        let component = match self.framed {
            true => format!("{component}_{id:04}"),
            false => component.to_owned(),
        };
        log::error(self.printer.as_ref(), &component, logged);
    }
}
