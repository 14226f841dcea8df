//! Software writes of ITM and STM.

use tracewright::base::{Channel, Element, Software};

use super::common::{Of, infos, place, read};
use super::{Definition, Division, WINDOW};
use crate::arrays::column;
use crate::output::Column;

pub(super) const TABLE: Definition = Definition {
    name: "software_writes",
    about: "values that software wrote to a port (ITM) or a channel (STM)",
    columns: || infos(columns()),
    by: WINDOW,
    division: Division::Segments,
    read: |input, batches| read(input, columns(), write, batches),
};

pub(super) fn write(element: &Element) -> Option<Software> {
    match element {
        Element::SoftwareWrite(write) => Some(*write),
        _ => None,
    }
}

/// The number of a port in all pages.
pub(super) fn port(channel: Channel) -> Option<u16> {
    match channel {
        Channel::Port { page, port } => Some(u16::from(page.unwrap_or(0)) * 32 + u16::from(port)),
        Channel::Master { .. } => None,
    }
}

pub(super) fn page(channel: Channel) -> Option<u8> {
    match channel {
        Channel::Port { page, .. } => page,
        Channel::Master { .. } => None,
    }
}

pub(super) fn master(channel: Channel) -> Option<u16> {
    match channel {
        Channel::Port { .. } => None,
        Channel::Master { master, .. } => master,
    }
}

pub(super) fn channel(channel: Channel) -> Option<u16> {
    match channel {
        Channel::Port { .. } => None,
        Channel::Master { channel, .. } => channel,
    }
}

fn columns() -> Vec<Column<Of<Software>>> {
    type Own = Of<Software>;
    let mut columns = place();
    columns.extend([
        column!(U16 "port" ? "stimulus port of an ITM, in all pages", |_, r| port(r.own.channel)),
        column!(U8 "page" ? "page of the port, where the trace states it",
            |_, r| page(r.own.channel)),
        column!(U16 "master" ? "master of an STM", |_, r| master(r.own.channel)),
        column!(U16 "channel" ? "channel of an STM", |_, r| channel(r.own.channel)),
        column!(U8 "bits" ! "size of the value; 0 without a value", |_, r| r.own.bits),
        column!(Hex "value" ? "the value", |_, r| (r.own.bits > 0).then(|| r.own.value())),
        column!(U64 "write_time" ? "timestamp of the write itself", |_, r| r.own.time()),
        column!(Bool "marker" ! "it is marked", |_, r| r.own.has(Software::MARKER)),
        column!(Bool "trigger" ! "it is a trigger", |_, r| r.own.has(Software::TRIGGER)),
        column!(Bool "after_overflow" ! "packets were lost before it",
            |_, r| r.own.has(Software::AFTER_OVERFLOW)),
        column!(Bool "frequency" ! "the value is a frequency",
            |_, r| r.own.has(Software::FREQUENCY)),
        column!(Bool "master_error" ! "error of a master",
            |_, r| r.own.has(Software::MASTER_ERROR)),
        column!(Bool "global_error" ! "error of the STM", |_, r| r.own.has(Software::GLOBAL_ERROR)),
        column!(Bool "channel_error" ! "error of a channel",
            |_, r| r.own.has(Software::CHANNEL_ERROR)),
        column!(Bool "cross_sync" ! "synchronisation with other trace",
            |_, r| r.own.has(Software::CROSS_SYNC)),
        column!(Bool "flag" ! "it is a flag", |_, r| r.own.has(Software::FLAG)),
        column!(Bool "user" ! "it is a user packet", |_, r| r.own.has(Software::USER)),
    ]);
    columns
}
