//! The data of a source that views need: name, configuration, program.

use std::borrow::Cow;
use std::sync::Arc;

use tracewright_base::Context;
use tracewright_capture::Capture;
use tracewright_decode::{Memory, Plan, Program};
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
    /// The program memory of its core in the current context.
    pub image: Arc<Image>,
    /// The program memory in each context.
    pub program: Program,
    /// The current context, where the memory depends on it.
    context: Option<Context>,
}

impl Source {
    /// The sources of `plan`, in its order.
    pub fn all(capture: &Capture, plan: &Plan, memory: &Memory) -> Vec<Source> {
        let framed = plan.framed();
        let sources = plan.sources.iter().map(|planned| {
            let program = memory.seen_by(capture, plan.buffer, planned.source);
            Source {
                name: planned.name.clone(),
                id: framed.then_some(planned.id),
                config: planned.config.clone(),
                image: program.start(),
                program,
                context: None,
            }
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

    /// Whether there are symbols.
    pub fn has_symbols(&self) -> bool {
        matches!(self.program, Program::Spaces(_)) || !self.image.symbols().is_empty()
    }

    /// Appends ` <main+0x14>`, where a symbol contains `address`.
    #[inline]
    pub fn symbol(&self, address: u64, out: &mut String) {
        if !self.has_symbols() {
            return;
        }
        if let Some(symbol) = self.program.symbol(&self.image, address) {
            out.push_str(" <");
            name(&symbol, address, out);
            out.push('>');
        }
    }

    /// `main+0x14`, where a symbol contains `address`.
    pub fn symbol_name(&self, address: u64) -> Option<String> {
        let symbol = self.program.symbol(&self.image, address)?;
        let mut text = String::new();
        name(&symbol, address, &mut text);
        Some(text)
    }

    /// Execution continues in `context`. Returns whether the program memory is another one.
    pub fn enter(&mut self, context: &Context) -> bool {
        let Some(image) = self.program.image_in(context) else { return false };
        self.context = Some(*context);
        let other = !Arc::ptr_eq(&image, &self.image);
        self.image = image;
        other
    }

    /// The contexts of `sources`, where their memory depends on them.
    pub(crate) fn contexts(sources: &[Source]) -> Vec<Option<Context>> {
        sources.iter().map(|source| source.context).collect()
    }

    /// Continues in `contexts`.
    pub(crate) fn resume(sources: &mut [Source], contexts: &[Option<Context>]) {
        for (source, context) in sources.iter_mut().zip(contexts) {
            match context {
                Some(context) => _ = source.enter(context),
                None => (source.image, source.context) = (source.program.start(), None),
            }
        }
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
