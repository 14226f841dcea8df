//! The data of a source that views need: name, configuration, program.

use std::borrow::Cow;
use std::sync::Arc;

use tracewright_capture::Capture;
use tracewright_decode::{Memory, Plan};
use tracewright_image::Image;
use tracewright_protocols::TraceForm;
use tracewright_protocols::registry::AnyConfig;

use crate::digits::{hex, hex_padded};

/// A source of a view.
#[derive(Clone, Debug)]
pub struct Source {
    /// Its name in the capture.
    pub name: String,
    /// Its trace ID, or its number in messages; `None` for raw trace data.
    pub id: Option<u16>,
    /// Its configuration.
    pub config: AnyConfig,
    /// The program memory of its core.
    pub image: Arc<Image>,
}

impl Source {
    /// The sources of `plan`, in its order.
    pub fn all(capture: &Capture, plan: &Plan, memory: &Memory) -> Vec<Source> {
        let framed = plan.framed();
        let sources = plan.sources.iter().filter_map(|planned| {
            Some(Source {
                name: planned.name.clone(),
                id: framed.then_some(planned.id),
                config: planned.config.clone(),
                image: memory.of(capture, capture.sources.get(planned.source)?),
            })
        });
        sources.collect()
    }

    /// Appends the bytes of a packet in hexadecimal, each followed by `between`. A nibble has
    /// one digit.
    pub fn packet_bytes(&self, bytes: &[u8], between: &str, out: &mut String) {
        let digits = if self.config.protocol().form() == TraceForm::HalfBytes { 1 } else { 2 };
        for &byte in bytes {
            hex_padded(byte.into(), digits, out);
            out.push_str(between);
        }
    }

    /// The name of its protocol.
    pub fn protocol(&self) -> &'static str {
        self.config.protocol().about().names.first().copied().unwrap_or_default()
    }

    /// The name of exception `number`, where it has one.
    pub fn exception_name(&self, number: u16) -> Option<Cow<'static, str>> {
        self.config.exception_name(number)
    }

    /// Appends ` <main+0x14>`, where a symbol contains `address`.
    #[inline]
    pub fn symbol(&self, address: u64, out: &mut String) {
        if self.image.symbols().is_empty() {
            return;
        }
        if let Some(symbol) = self.image.symbols().at(address) {
            out.push_str(" <");
            name(&symbol, address, out);
            out.push('>');
        }
    }

    /// `main+0x14`, where a symbol contains `address`.
    pub fn symbol_name(&self, address: u64) -> Option<String> {
        let symbol = self.image.symbols().at(address)?;
        let mut text = String::new();
        name(&symbol, address, &mut text);
        Some(text)
    }
}

fn name(symbol: &tracewright_image::Symbol<'_>, address: u64, out: &mut String) {
    out.push_str(symbol.name);
    let offset = address.wrapping_sub(symbol.start);
    if offset != 0 {
        out.push_str("+0x");
        hex(offset, out);
    }
}
