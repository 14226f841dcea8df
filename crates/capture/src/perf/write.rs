//! Writing of `perf.data`: everything that is read can be written.

use super::compressed::pack;
use super::data::{
    COMPRESSED, COMPRESSED2, Events, FEATURE_BITS, FILE_HEADER, Header, MAGIC, PIPE_HEADER,
    PerfData,
};
use super::fields::{Fields, Writer};
use super::record::{Body, HEADER};
use super::{Form, features};

/// How a file is laid out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// The records other than trace are in COMPRESSED records of at most this many bytes before
    /// compression.
    pub compressed: Option<usize>,
    /// The compressed records are COMPRESSED2: they have the length of their bytes, and a multiple
    /// of 8 bytes.
    pub padded: bool,
}

/// The number of bytes of a COMPRESSED record: its size has 16 bits.
const MAX_COMPRESSED: usize = 60_000;

impl PerfData {
    /// The bytes of the file: in its form and byte order, which may be other than those that it was
    /// read in.
    pub fn write(&self, layout: Layout) -> Vec<u8> {
        let mut out = Vec::new();
        match self.form {
            Form::Pipe => {
                self.integer(&mut out, u64::from_le_bytes(MAGIC));
                self.integer(&mut out, PIPE_HEADER);
                self.write_records(&mut out, layout);
            }
            Form::File => self.write_file(&mut out, layout),
        }
        out
    }

    fn integer(&self, out: &mut Vec<u8>, value: u64) {
        out.extend(if self.big { value.to_be_bytes() } else { value.to_le_bytes() });
    }

    fn write_file(&self, out: &mut Vec<u8>, layout: Layout) {
        // Identifiers, events, records, table of features, features.
        let size = self.attrs.iter().map(|attr| attr.size.max(64)).max().unwrap_or(64);
        let mut header = Header { attr_size: u64::from(size) + 16, ..Header::default() };
        let mut ids = Vec::new();
        let mut sections = Vec::new();
        for attr in &self.attrs {
            sections.push((FILE_HEADER + ids.len() as u64, attr.ids.len() as u64 * 8));
            attr.ids.iter().for_each(|id| self.integer(&mut ids, *id));
        }
        header.attrs.0 = FILE_HEADER + ids.len() as u64;
        header.attrs.1 = header.attr_size * self.attrs.len() as u64;
        header.data.0 = header.attrs.0 + header.attrs.1;
        let mut data = Vec::new();
        let traces = self.write_records(&mut data, layout);
        header.data.1 = data.len() as u64;
        header.bits = vec![0; FEATURE_BITS / 64];
        let mut features: Vec<(u32, Vec<u8>)> = self
            .features
            .iter()
            .filter(|(number, _)| **number != features::AUXTRACE)
            .map(|(number, bytes)| (*number, bytes.clone()))
            .collect();
        if !traces.is_empty() {
            let mut index = Vec::new();
            self.integer(&mut index, traces.len() as u64);
            for at in &traces {
                self.integer(&mut index, header.data.0 + at);
                self.integer(&mut index, 48);
            }
            features.push((features::AUXTRACE, index));
            features.sort_by_key(|(number, _)| *number);
        }
        for (number, _) in &features {
            if let Some(word) = header.bits.get_mut(*number as usize / 64) {
                *word |= 1 << (number % 64);
            }
        }
        let mut writer = Writer::new(self.big);
        // A writer takes every field.
        let _ = header.fields(&mut writer);
        out.extend(writer.out);
        out.extend(ids);
        for (attr, (at, len)) in self.attrs.iter().zip(sections) {
            let mut bytes = attr.write(self.big);
            bytes.resize(size as usize, 0);
            out.extend(bytes);
            self.integer(out, at);
            self.integer(out, len);
        }
        out.extend(data);
        let mut at = out.len() as u64 + 16 * features.len() as u64;
        for (_, bytes) in &features {
            self.integer(out, at);
            self.integer(out, bytes.len() as u64);
            at += bytes.len() as u64;
        }
        features.into_iter().for_each(|(_, bytes)| out.extend(bytes));
    }

    /// Appends the records and their trace. Returns the offsets of the AUXTRACE records.
    fn write_records(&self, out: &mut Vec<u8>, layout: Layout) -> Vec<u64> {
        let mut traces = Vec::new();
        let mut bytes = self.trace.iter();
        let mut packed = Vec::new();
        let events = Events::new(&self.attrs);
        for record in &self.records {
            // The events of a pipe precede the records that they identify.
            let attr = events.of(&self.attrs, record.id.identifier.or(record.id.id));
            let written = record.write(attr, self.big);
            if let Body::AuxTrace(_) = record.body {
                self.flush(out, &mut packed, layout);
                traces.push(out.len() as u64);
                out.extend(written);
                out.extend_from_slice(bytes.next().map_or(&[][..], |bytes| bytes));
                continue;
            }
            // perf compresses the records of the kernel only.
            match layout.compressed.filter(|_| record.body.number() < 64) {
                Some(size) => {
                    packed.extend(written);
                    while packed.len() >= size.clamp(1, MAX_COMPRESSED) {
                        let rest = packed.split_off(size.clamp(1, MAX_COMPRESSED));
                        self.flush(out, &mut packed, layout);
                        packed = rest;
                    }
                }
                None => {
                    self.flush(out, &mut packed, layout);
                    out.extend(written);
                }
            }
        }
        self.flush(out, &mut packed, layout);
        traces
    }

    /// Appends a COMPRESSED or COMPRESSED2 record with `packed`, which may begin and end within a
    /// record.
    fn flush(&self, out: &mut Vec<u8>, packed: &mut Vec<u8>, layout: Layout) {
        if packed.is_empty() {
            return;
        }
        let mut bytes = pack(packed);
        packed.clear();
        let mut writer = Writer::new(self.big);
        let mut number = COMPRESSED;
        if layout.padded {
            number = COMPRESSED2;
            let mut len = Writer::new(self.big);
            let _ = len.u64(&mut (bytes.len() as u64));
            bytes.resize(bytes.len().next_multiple_of(8), 0);
            bytes.splice(..0, len.out);
        }
        let (mut misc, mut size) = (0, (HEADER + bytes.len()) as u16);
        let _ = writer.u32(&mut number).and(writer.u16(&mut misc)).and(writer.u16(&mut size));
        out.extend(writer.out);
        out.extend(bytes);
    }
}
