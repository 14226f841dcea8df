//! The text of protocols that OpenCSD does not decode: packets in Tracewright's own text.

use std::fmt::Write;
use std::marker::PhantomData;

use tracewright_base::Fault;
use tracewright_protocols::{Protocol, etmv1, etmv2, etmv4d, etrace, mtb, ntrace};

use super::packet_text::{Behaviour, OpencsdProtocol, PacketText};
use super::unsynced::Group;

/// How these protocols are listed.
pub(super) const PLAIN: Behaviour =
    Behaviour { plain_ranges: true, ..Behaviour::new(Group::EightOrZero) };

/// Packets of `P` in Tracewright's own text.
#[derive(Clone, Debug)]
pub(super) struct PlainText<P>(PhantomData<P>);

impl<P> Default for PlainText<P> {
    fn default() -> Self {
        PlainText(PhantomData)
    }
}

impl<P> PartialEq for PlainText<P> {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl<P: Protocol> PacketText for PlainText<P> {
    type Config = P::Config;
    type Packet = P::Packet;

    const BEHAVIOUR: Behaviour = PLAIN;

    fn packet(&mut self, _: &P::Config, packet: &P::Packet, out: &mut String) {
        let _ = write!(out, "{packet}");
    }

    fn bad(&mut self, _: &P::Config, _: &[u8], fault: Fault, out: &mut String) {
        let _ = write!(out, "{fault}");
    }
}

impl OpencsdProtocol for etmv1::Etmv1 {
    type Text = PlainText<Self>;
    const DECODER: &'static str = "DCD_CYCLES";
    const PACKET_PROCESSOR: &'static str = "PKTP_CYCLES";
}

impl OpencsdProtocol for etmv2::Etmv2 {
    type Text = PlainText<Self>;
    const DECODER: &'static str = "DCD_CYCLES";
    const PACKET_PROCESSOR: &'static str = "PKTP_CYCLES";
}

impl OpencsdProtocol for mtb::Mtb {
    type Text = PlainText<Self>;
    const DECODER: &'static str = "DCD_MTB";
    const PACKET_PROCESSOR: &'static str = "PKTP_MTB";
}

impl OpencsdProtocol for etmv4d::Etmv4d {
    type Text = PlainText<Self>;
    const DECODER: &'static str = "DCD_ETMV4D";
    const PACKET_PROCESSOR: &'static str = "PKTP_ETMV4D";
}

impl OpencsdProtocol for etrace::Etrace {
    type Text = PlainText<Self>;
    const DECODER: &'static str = "DCD_ETRACE";
    const PACKET_PROCESSOR: &'static str = "PKTP_ETRACE";
}

impl OpencsdProtocol for ntrace::Ntrace {
    type Text = PlainText<Self>;
    const DECODER: &'static str = "DCD_NTRACE";
    const PACKET_PROCESSOR: &'static str = "PKTP_NTRACE";
}
