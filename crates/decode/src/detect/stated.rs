//! The registers of trace units of which the user states framing, protocol and trace ID.

use tracewright_capture::Capture;
use tracewright_frames::Framing;
use tracewright_protocols::registry::AnyProtocol;

use super::configs::Setting;
use super::fill::filled_from;
use super::link::streams;
use super::trial::Bench;
use super::{Given, arm};
use crate::raw::Unit;

/// The registers with which the data of each of `units` in `head` are explained best, however few
/// they are; none of a unit whose data have no synchronisation.
pub(super) fn settings(
    units: &[Unit],
    framing: Framing,
    (head, capture): (&[u8], &Capture),
    given: &Given<'_>,
) -> Vec<(Unit, AnyProtocol, Setting)> {
    let bench = Bench::new(capture, given.core);
    let streams = streams(head, framing);
    let of_unit = |unit: &Unit| {
        let protocol = AnyProtocol::named(&unit.protocol)?;
        let own = |id: &u16| framing == Framing::Raw || unit.id.is_none_or(|own| own == *id);
        let bytes = streams.iter().find(|(id, _)| own(id)).map_or(&[][..], |(_, bytes)| bytes);
        let bytes = bytes.get(..filled_from(bytes)).unwrap_or(bytes);
        let only = Given { only: vec![protocol], ..*given };
        let found = arm::inferences(bytes, &bench, &only, framing != Framing::Raw);
        Some((unit.clone(), protocol, found.into_iter().next()?.setting))
    };
    units.iter().filter_map(of_unit).collect()
}
