//! [`Info`] as JSON Lines: an object for the capture, its overview, what was detected, the cause of
//! a poor result, and for each buffer, source, image, note and missing input.

use tracewright_decode::detect::{Candidate, Inference, SourceCandidate};

use super::{BufferInfo, FieldInfo, ImageInfo, Info, Overview, RegisterInfo, SourceInfo};
use crate::json_object::{Object, string};

impl Info {
    /// All lines after the first. `spelled` gives the texts the words of the program for
    /// [`Remedy`](tracewright_base::Remedy)s.
    pub fn json(&self, spelled: &dyn Fn(&str) -> String) -> String {
        let mut out = String::new();
        let mut line = |write: &dyn Fn(&mut String)| {
            write(&mut out);
            out.push('\n');
        };
        line(&|out| {
            Object::new(out)
                .text("type", "capture")
                .text("path", &self.path.to_string_lossy())
                .maybe_text("description", self.description.as_deref())
                .end();
        });
        line(&|out| overview(&self.overview, out));
        if let Some(detected) = &self.overview.detected {
            line(&|out| detection(detected, spelled, out));
        }
        if let Some(remark) = &self.overview.remark {
            line(&|out| {
                let o = Object::new(out).text("type", "cause").text("what", &spelled(&remark.what));
                o.text("help", &spelled(&remark.help)).end();
            });
        }
        for problem in self.problems(None) {
            line(&|out| {
                let o =
                    Object::new(out).text("type", "problem").text("what", &spelled(&problem.what));
                o.text("help", &spelled(&problem.help)).end();
            });
        }
        if let Some(linux) = &self.linux {
            linux.json(&mut line);
        }
        self.buffers.iter().for_each(|it| line(&|out| buffer(it, out)));
        self.sources.iter().for_each(|it| line(&|out| source(it, out)));
        self.devices.iter().for_each(|it| line(&|out| it.json(out)));
        self.images.iter().for_each(|it| line(&|out| image(it, out)));
        for note in &self.notes {
            line(&|out| Object::new(out).text("type", "note").text("text", &spelled(note)).end());
        }
        for it in &self.missing {
            line(&|out| {
                let o = Object::new(out).text("type", "missing").text("what", &spelled(&it.what));
                o.text("help", &spelled(&it.help)).end();
            });
        }
        out
    }
}

fn overview(overview: &Overview, out: &mut String) {
    Object::new(out)
        .text("type", "overview")
        .text("kind", overview.kind)
        .number("bytes", overview.bytes)
        .number("decoded_bytes", overview.decoded)
        .number("packets", overview.packets)
        .number("instructions", overview.instructions)
        .number("ranges", overview.ranges)
        .number("addresses_without_memory", overview.outside)
        .number("timestamps", overview.timestamps)
        .number("cycle_counts", overview.cycles)
        .end();
}

fn detection(detected: &Candidate, spelled: &dyn Fn(&str) -> String, out: &mut String) {
    let options = spelled(&detected.description().line());
    let source = |source: &SourceCandidate, out: &mut String| {
        let best = source.best();
        let title = best.map(Inference::title);
        let reasons = best.map_or(&[][..], |best| &best.reasons);
        Object::new(out)
            .number("id", source.id.into())
            .number("bytes", source.bytes as u64)
            .maybe_text("protocol", title.as_deref())
            .text("certainty", source.certainty().name())
            .list("reasons", reasons, |reason, out| string(reason, out))
            .end();
    };
    Object::new(out)
        .text("type", "detection")
        .text("framing", if detected.words { "etb" } else { detected.framing.option() })
        .number("align", detected.skip as u64)
        .text("reason", &detected.reason)
        .text("options", &options)
        .list("sources", &detected.sources, source)
        .end();
}

fn buffer(buffer: &BufferInfo, out: &mut String) {
    let o = Object::new(out)
        .text("type", "buffer")
        .text("name", &buffer.name)
        .number("bytes", buffer.bytes)
        .text("format", &buffer.format)
        .text("framing", buffer.framing)
        .list("files", &buffer.files, |(name, bytes), out| {
            Object::new(out).text("name", name).number("bytes", *bytes).end();
        });
    let o = match &buffer.sink {
        Some(sink) => o
            .text("sink", &sink.kind)
            .maybe_text("sink_device", sink.device.as_deref())
            .number("stored_bytes", sink.stored)
            .list("state", &sink.state, |text, out| string(text, out))
            .list("lost", &sink.lost, |text, out| string(text, out))
            .list("sink_registers", &sink.registers, register),
        None => o,
    };
    let Some(ids) = &buffer.ids else { return o.end() };
    o.list("ids", ids.sources(), |(id, bytes), out| {
        Object::new(out).number("id", id.into()).number("bytes", bytes).end();
    })
    .number("padding_bytes", ids.padding)
    .number("no_id_bytes", ids.no_source)
    .number("reserved_bytes", ids.reserved)
    .number("undecodable_frame_bytes", ids.bad)
    .number("frame_syncs", ids.syncs)
    .number("barriers", ids.barriers)
    .number("triggers", ids.triggers)
    .number("flushes", ids.flushes)
    .end();
}

fn source(source: &SourceInfo, out: &mut String) {
    let o = Object::new(out)
        .text("type", "source")
        .text("name", &source.name)
        .text("device_type", &source.device_type)
        .maybe_text("location", source.location.as_deref())
        .maybe_text("protocol", source.protocol)
        .maybe_number("id", source.id.map(u64::from));
    let o = match &source.core {
        Some((name, kind)) => o.text("core", name).text("core_type", kind),
        None => o,
    };
    let o = o
        .list("buffers", &source.buffers, |name, out| string(name, out))
        .list("enabled", &source.traces, |about, out| string(about, out))
        .list("registers", &source.registers, register);
    let text = |(name, text): &(String, String), out: &mut String| {
        Object::new(out).text("name", name).text("text", text).end();
    };
    let o =
        if source.texts.is_empty() { o } else { o.list("text_parameters", &source.texts, text) };
    let value = |(name, value): &(String, String), out: &mut String| {
        Object::new(out).text("name", name).text("value", value).end();
    };
    if source.defaults.is_empty() { o } else { o.list("defaults", &source.defaults, value) }.end();
}

fn register(register: &RegisterInfo, out: &mut String) {
    Object::new(out)
        .text("name", &register.name)
        .maybe_hex("value", register.value)
        .text("description", register.about)
        .flag("required", register.required)
        .list("fields", &register.fields, field)
        .end();
}

fn field(field: &FieldInfo, out: &mut String) {
    Object::new(out)
        .text("name", field.name)
        .number("high", field.bits.0.into())
        .number("low", field.bits.1.into())
        .hex("value", field.value)
        .maybe_text("value_name", field.word)
        .text("description", field.about)
        .end();
}

fn image(image: &ImageInfo, out: &mut String) {
    Object::new(out)
        .text("type", "image")
        .text("name", &image.name)
        .text("file", &image.file)
        .list("parts", &image.parts, |(first, last), out| {
            Object::new(out).hex("first", *first).hex("last", *last).end();
        })
        .list("spaces", &image.spaces, |space, out| string(space, out))
        .maybe_text("machine", image.machine.as_deref())
        .number("symbols", image.symbols as u64)
        .maybe_text("problem", image.problem.as_deref())
        .end();
}
