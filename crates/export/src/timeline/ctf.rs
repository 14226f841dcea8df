//! Common Trace Format 1.8: a folder with the file `metadata` and a stream for each source. The
//! events have the names of those of LTTng for instrumented functions, which Trace Compass shows as
//! call stacks. (CTF 1.8.3, sections 5, 6 and 7)

use std::collections::HashMap;

use tracewright_analysis::FunctionId;

use super::{Event, TimelineView};
use crate::pieces::Pieces;

const METADATA: &str = "/* CTF 1.8 */
typealias integer { size = 16; align = 8; signed = false; } := uint16_t;
typealias integer { size = 32; align = 8; signed = false; } := uint32_t;
typealias integer { size = 64; align = 8; signed = false; } := uint64_t;
typealias integer { size = 64; align = 8; signed = false; base = 16; } := address_t;
trace {
  major = 1;
  minor = 8;
  byte_order = le;
  packet.header := struct { uint32_t magic; uint32_t stream_id; };
};
clock { name = trace; freq = 1000000000000; };
typealias integer { size = 64; align = 8; signed = false; map = clock.trace.value; } := time_t;
stream {
  id = 0;
  packet.context := struct {
    time_t timestamp_begin;
    time_t timestamp_end;
    uint64_t content_size;
    uint64_t packet_size;
    uint32_t cpu_id;
  };
  event.header := struct { uint16_t id; time_t timestamp; };
  event.context := struct { uint32_t vtid; };
};
event {
  name = \"lttng_ust_cyg_profile:func_entry\";
  id = 0;
  stream_id = 0;
  fields := struct { address_t addr; address_t call_site; string name; };
};
event {
  name = \"lttng_ust_cyg_profile:func_exit\";
  id = 1;
  stream_id = 0;
  fields := struct { address_t addr; address_t call_site; string name; };
};
";

const MAGIC: u32 = 0xc1fc_1fc1;

/// Bytes of the packet header and the packet context.
const HEADER: usize = 2 * 4 + 4 * 8 + 4;

/// Bytes of an event without the characters of its name.
const EVENT: usize = 2 + 8 + 4 + 8 + 8 + 1;

impl TimelineView<'_> {
    /// Writes the files of a folder in the Common Trace Format. `write` receives the name of a file
    /// and its next bytes, and returns whether more are needed.
    pub fn ctf(&self, write: &mut dyn FnMut(&str, Vec<u8>) -> bool) {
        if !write("metadata", METADATA.into()) {
            return;
        }
        let threads = self.timeline.by_thread();
        for source in 0..self.sources.len() {
            let mut events: Vec<(usize, Event<'_>)> = Vec::new();
            for (thread, slices) in threads.iter().enumerate() {
                if self.source(thread) == source {
                    let own = self.events(thread, slices);
                    events.extend(own.into_iter().map(|event| (thread, event)));
                }
            }
            if !events.is_empty() {
                events.sort_by_key(|(_, event)| event.at);
                let (name, mut wanted) = (format!("stream_{source}"), true);
                let mut write = |piece| {
                    wanted = write(&name, piece);
                    wanted
                };
                let mut out = Pieces::new(&mut write);
                self.stream(source, &events, &mut out);
                out.finish();
                if !wanted {
                    return;
                }
            }
        }
    }

    /// A stream of one packet.
    fn stream(&self, source: usize, events: &[(usize, Event<'_>)], out: &mut Pieces<'_>) {
        let mut names: HashMap<FunctionId, String> = HashMap::new();
        for (_, event) in events {
            let function = event.slice.function;
            names.entry(function).or_insert_with(|| self.name(function).replace('\0', ""));
        }
        let name = |event: &Event<'_>| names.get(&event.slice.function).map_or("", String::as_str);
        let sizes = events.iter().map(|(_, event)| EVENT + name(event).len());
        let bits = 8 * (HEADER + sizes.sum::<usize>()) as u64;
        let first = events.first().map_or(0, |(_, event)| event.at);
        let last = events.last().map_or(0, |(_, event)| event.at);
        out.bytes(&MAGIC.to_le_bytes());
        out.bytes(&0u32.to_le_bytes());
        for value in [first, last, bits, bits] {
            out.bytes(&value.to_le_bytes());
        }
        out.bytes(&(source as u32).to_le_bytes());
        for (thread, event) in events {
            if !out.is_wanted() {
                return;
            }
            out.bytes(&u16::from(!event.begins).to_le_bytes());
            out.bytes(&event.at.to_le_bytes());
            out.bytes(&(*thread as u32 + 1).to_le_bytes());
            out.bytes(&self.address(event.slice.function).to_le_bytes());
            out.bytes(&0u64.to_le_bytes());
            out.text(name(event));
            out.bytes(&[0]);
        }
    }

    /// The address of a function, 0 where it is not known.
    fn address(&self, function: FunctionId) -> u64 {
        match function {
            FunctionId::Known(number) => {
                self.code.get(number).map_or(0, |known| known.function.start)
            }
            FunctionId::At(address) => address,
            FunctionId::Handler(_) | FunctionId::Unknown => 0,
        }
    }
}
