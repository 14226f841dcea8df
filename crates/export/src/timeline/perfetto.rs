//! Perfetto's protobuf: packets of `perfetto.protos.Trace`. A track for each thread, a slice for
//! each frame, a counter track for each signal, an instant where trace was lost.
//!
//! Field numbers: Trace.packet 1; TracePacket.timestamp 8, trusted_packet_sequence_id 10,
//! track_event 11, interned_data 12, sequence_flags 13, track_descriptor 60;
//! TrackDescriptor.uuid 1, name 2, process 3, thread 4, parent_uuid 5, counter 8;
//! CounterDescriptor.unit_name 6; TrackEvent.type 9, name_iid 10, track_uuid 11, name 23,
//! double_counter_value 44; InternedData.event_names 2.

use super::TimelineView;
use crate::pieces::Pieces;
use tracewright_capture::proto::Message;

/// TrackEvent.Type.
const BEGIN: u64 = 1;
const END: u64 = 2;
const INSTANT: u64 = 3;
const COUNTER: u64 = 4;

/// The first packet of a sequence clears what is interned; those that use it need it.
const CLEARED: u64 = 1;
const NEEDS: u64 = 2;

/// The sequence of all packets.
const SEQUENCE: u64 = 1;

fn packet(out: &mut Pieces<'_>, fill: impl FnOnce(&mut Message)) {
    let mut packet = Message::default();
    packet.number(10, SEQUENCE);
    fill(&mut packet);
    out.field(1, &packet.0);
}

/// The file.
pub(super) fn write(view: &TimelineView<'_>, out: &mut Pieces<'_>) {
    let threads = view.timeline.by_thread();
    let (numbers, order) = view.numbers(&threads);
    let mut interned = Message::default();
    for (n, function) in (1..).zip(order) {
        let mut name = Message::default();
        name.number(1, n);
        name.text(2, &view.name(function));
        interned.bytes(2, &name.0);
    }
    packet(out, |packet| {
        packet.number(13, CLEARED);
        packet.bytes(12, &interned.0);
    });
    for source in 0..view.sources.len() {
        packet(out, |packet| {
            let (mut track, mut process) = (Message::default(), Message::default());
            track.number(1, source_track(source));
            process.number(1, source as u64 + 1);
            process.text(6, view.source_name(source));
            track.bytes(3, &process.0);
            packet.bytes(60, &track.0);
        });
    }
    for (thread, slices) in threads.iter().enumerate().filter(|(_, list)| !list.is_empty()) {
        let uuid = thread_track(thread);
        let source = view.source(thread);
        packet(out, |packet| {
            let (mut track, mut about) = (Message::default(), Message::default());
            track.number(1, uuid);
            track.number(5, source_track(source));
            about.number(1, source as u64 + 1);
            about.number(2, thread as u64 + 1);
            about.text(5, view.thread_name(thread));
            track.bytes(4, &about.0);
            packet.bytes(60, &track.0);
        });
        for event in view.events(thread, slices) {
            if !out.is_wanted() {
                return;
            }
            packet(out, |packet| {
                let mut track = Message::default();
                track.number(9, if event.begins { BEGIN } else { END });
                if event.begins {
                    let number = numbers.get(&event.slice.function).copied().unwrap_or(0);
                    track.number(10, number as u64 + 1);
                }
                track.number(11, uuid);
                packet.present(8, event.at / 1000);
                packet.number(13, NEEDS);
                packet.bytes(11, &track.0);
            });
        }
    }
    for (number, counter) in view.counters.iter().enumerate() {
        let uuid = counter_track(number);
        packet(out, |packet| {
            let (mut track, mut about) = (Message::default(), Message::default());
            track.number(1, uuid);
            track.text(2, &counter.name);
            track.number(5, source_track(counter.source));
            if !counter.unit.is_empty() {
                about.text(6, &counter.unit);
            }
            track.bytes(8, &about.0);
            packet.bytes(60, &track.0);
        });
        for &(at, value) in &counter.values {
            if !out.is_wanted() {
                return;
            }
            packet(out, |packet| {
                let mut track = Message::default();
                track.number(9, COUNTER);
                track.number(11, uuid);
                track.double(44, value);
                packet.present(8, view.time_of(counter, at) / 1000);
                packet.number(13, NEEDS);
                packet.bytes(11, &track.0);
            });
        }
    }
    for &(source, instructions) in &view.timeline.losses {
        packet(out, |packet| {
            let mut track = Message::default();
            track.number(9, INSTANT);
            track.number(11, source_track(source));
            track.text(23, "trace lost");
            packet.present(8, view.time(source, instructions) / 1000);
            packet.number(13, NEEDS);
            packet.bytes(11, &track.0);
        });
    }
}

/// The identifier of the track of a source.
const fn source_track(source: usize) -> u64 {
    source as u64 + 1
}

/// The identifier of the track of a counter.
const fn counter_track(number: usize) -> u64 {
    number as u64 + (1 << 33)
}

/// The identifier of the track of a thread.
const fn thread_track(thread: usize) -> u64 {
    thread as u64 + (1 << 32)
}
