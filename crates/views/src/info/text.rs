//! [`Info`] as text.

use std::fmt::Write;

use tracewright_base::remedy::FORMAT;
use tracewright_capture::plain::line;

use super::{BufferInfo, ImageInfo, Info, RegisterInfo, SinkInfo, SourceInfo};

/// The defaults in a line.
const DEFAULTS: usize = 4;

/// The most buffers in the text.
const MAX_BUFFERS: usize = 256;

/// The most images in the text.
const MAX_IMAGES: usize = 256;

/// The most parts of an image in the text.
const MAX_PARTS: usize = 16;

/// The most notes in the text.
const MAX_NOTES: usize = 1000;

impl Info {
    /// The text, in paragraphs.
    pub fn text(&self) -> String {
        self.paragraphs(true)
    }

    /// The text without registers.
    pub fn brief(&self) -> String {
        self.paragraphs(false)
    }

    fn paragraphs(&self, registers: bool) -> String {
        let mut out = String::new();
        let _ = write!(out, "{}", line(&self.path.to_string_lossy()));
        if let Some(description) = &self.description {
            let _ = write!(out, ": {description}");
        }
        out.push('\n');
        if let Some(linux) = &self.linux {
            linux.text(&mut out);
        }
        head("buffers", self.buffers.len(), &mut out);
        for buffer in self.buffers.iter().take(MAX_BUFFERS) {
            self.buffer(buffer, registers, &mut out);
        }
        if self.buffers.len() > MAX_BUFFERS {
            let more = self.buffers.len() - MAX_BUFFERS;
            let _ = writeln!(out, "  {more} more buffers; `{FORMAT} json` lists them");
        }
        head("sources", self.sources.len(), &mut out);
        for source in &self.sources {
            self::source(source, registers, &mut out);
        }
        if registers && !self.devices.is_empty() {
            head("devices", self.devices.len(), &mut out);
            self.devices.iter().for_each(|device| device.text(&mut out));
        }
        head("images", self.images.len(), &mut out);
        for image in self.images.iter().take(MAX_IMAGES) {
            self::image(image, &mut out);
        }
        if self.images.len() > MAX_IMAGES {
            let more = self.images.len() - MAX_IMAGES;
            let _ = writeln!(out, "  {more} more images; `{FORMAT} json` lists them");
        }
        if !self.notes.is_empty() {
            head("notes", self.notes.len(), &mut out);
            for note in self.notes.iter().take(MAX_NOTES) {
                let _ = writeln!(out, "  {note}");
            }
            if self.notes.len() > MAX_NOTES {
                let more = self.notes.len() - MAX_NOTES;
                let _ = writeln!(out, "  {more} more notes; `{FORMAT} json` lists them");
            }
        }
        out
    }

    fn buffer(&self, buffer: &BufferInfo, registers: bool, out: &mut String) {
        let BufferInfo { name, bytes, format, framing, .. } = buffer;
        let _ = writeln!(out, "  {name}: {bytes} bytes, {format}, decoded as {framing}");
        for (file, size) in &buffer.files {
            let _ = writeln!(out, "    file {file}: {size} bytes");
        }
        if let Some(info) = &buffer.sink {
            sink(info, registers, out);
        }
        let Some(ids) = &buffer.ids else { return };
        let whose = |id| {
            let names =
                self.sources.iter().filter(|s| s.id == Some(id) && s.buffers.contains(name));
            let streams = buffer.streams.iter().filter(|(own, _)| *own == id);
            let names = names.map(|s| s.name.as_str());
            names.chain(streams.map(|(_, name)| name.as_str())).collect::<Vec<_>>().join(", ")
        };
        ids.lines(whose).iter().for_each(|line| {
            let _ = writeln!(out, "    {line}");
        });
    }
}

fn head(what: &str, count: usize, out: &mut String) {
    let _ = match count {
        0 => writeln!(out, "\n{what}: none"),
        _ => writeln!(out, "\n{what}:"),
    };
}

fn sink(sink: &SinkInfo, registers: bool, out: &mut String) {
    let SinkInfo { kind, stored, state, lost, .. } = sink;
    let device = sink.device.as_ref().map_or(String::new(), |device| format!(" {device}"));
    let _ = writeln!(out, "    {kind}{device}, {stored} bytes stored: {}", state.join("; "));
    for lost in lost {
        let _ = writeln!(out, "    lost: {lost}");
    }
    for register in sink.registers.iter().filter(|_| registers) {
        self::register(register, out);
    }
}

fn source(source: &SourceInfo, registers: bool, out: &mut String) {
    let SourceInfo { name, device_type, .. } = source;
    let title = source.protocol.unwrap_or("unknown protocol");
    let _ = write!(out, "  {name}: {device_type} ({title})");
    if let Some(id) = source.id {
        let _ = write!(out, ", ID {id:#04x}");
    }
    if let Some((core, kind)) = &source.core {
        let _ = write!(out, ", traces {core} ({kind})");
    }
    if !source.buffers.is_empty() {
        let _ = write!(out, ", in {}", source.buffers.join(", "));
    }
    if let Some(location) = source.location.as_ref().filter(|_| registers) {
        let _ = write!(out, ", location {location}");
    }
    out.push('\n');
    if !source.traces.is_empty() {
        let _ = writeln!(out, "    enabled: {}", source.traces.join("; "));
    }
    for register in &source.registers {
        if registers || register.value.is_none() {
            self::register(register, out);
        }
    }
    if !registers {
        return;
    }
    for (name, text) in &source.texts {
        let _ = writeln!(out, "    {name} = {text}");
    }
    for (n, pairs) in source.defaults.chunks(DEFAULTS).enumerate() {
        let pairs: Vec<_> = pairs.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        let head = if n == 0 { "defaults in force: " } else { "  " };
        let _ = writeln!(out, "    {head}{}", pairs.join(", "));
    }
}

fn register(register: &RegisterInfo, out: &mut String) {
    let RegisterInfo { name, about, .. } = register;
    match register.value {
        Some(value) => {
            let _ = write!(out, "    {name} = 0x{value:08x}");
        }
        None => {
            let _ = write!(out, "    {name} is missing; decoding needs it");
        }
    }
    if !about.is_empty() {
        let _ = write!(out, "  {about}");
    }
    out.push('\n');
    for field in &register.fields {
        let bits = match field.bits {
            (high, low) if high == low => format!("[{high}]"),
            (high, low) => format!("[{high}:{low}]"),
        };
        let _ = write!(out, "      {:<14} {bits:>7}  ", field.name);
        let _ = match field.word {
            Some(word) => writeln!(out, "{}: {word}", field.about),
            None => writeln!(out, "{}: {}", field.about, number(field.value)),
        };
    }
}

/// A number of 10 or more also in hexadecimal.
fn number(value: u64) -> String {
    if value < 10 { value.to_string() } else { format!("{value} ({value:#x})") }
}

fn image(image: &ImageInfo, out: &mut String) {
    let _ = write!(out, "  {}", line(&image.name));
    if image.file != image.name && !image.file.is_empty() {
        let _ = write!(out, " ({})", line(&image.file));
    }
    out.push(':');
    for (n, (first, last)) in image.parts.iter().take(MAX_PARTS).enumerate() {
        let _ = write!(out, "{} {first:#x}..={last:#x}", if n > 0 { "," } else { "" });
    }
    if image.parts.len() > MAX_PARTS {
        let _ = write!(out, ", {} more parts", image.parts.len() - MAX_PARTS);
    }
    if !image.spaces.is_empty() {
        let _ = write!(out, " in {}", image.spaces.join(" "));
    }
    if let Some(machine) = &image.machine {
        let _ = write!(out, ", ELF for {machine}, {} symbols", image.symbols);
    }
    if let Some(problem) = &image.problem {
        let _ = write!(out, " {problem}");
    }
    out.push('\n');
}
