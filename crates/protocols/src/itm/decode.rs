//! ITM packets to elements.

use tracewright_base::{
    BlockCache, Channel, Decode, DwtEvent, Element, Fault, Gap, LocalTimestamp, Sink, Software,
    Spanned, TimeDelay,
};

use super::packet::LOW;
use super::{Config, Packet};

/// The state that the next ITM packet depends on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decoder {
    state: State,
    /// The page of the stimulus ports of the next packets.
    page: Option<u8>,
    /// Whether there was a [`Packet::Overflow`], and no element since.
    overflowed: bool,
    /// Timestamp clock cycles since the start, or since the last overflow.
    local: u64,
    global: Global,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// No byte was decoded.
    #[default]
    Fresh,
    /// All bytes since the last packet, or since the beginning, are undecodable.
    Lost,
    /// The last bytes are a packet.
    Running,
}

/// The global timestamp, as far as it was transmitted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Global {
    value: u64,
    /// The bits of `value` that are known.
    known: u64,
    /// Whether there was a packet with ClkCh set, and no element since.
    clock_changed: bool,
}

impl Global {
    /// Sets the low bits: 7 for each of `bytes`, at most bits \[25:0].
    fn low(&mut self, bits: u32, bytes: u8, wrapped: bool) {
        let mask = u64::from(LOW & ((1u64 << (7 * u32::from(bytes))) - 1) as u32);
        self.value = self.value & !mask | u64::from(bits) & mask;
        self.known |= mask;
        if wrapped {
            self.known &= u64::from(LOW);
        }
    }

    /// Sets bits \[63:26]. (A timestamp of 48 bits has bits \[47:26]; those above are 0.)
    fn high(&mut self, bits: u64) {
        self.value = self.value & u64::from(LOW) | bits << 26;
        self.known |= !u64::from(LOW);
    }

    fn take(&mut self) -> Option<(u64, bool)> {
        (self.known == u64::MAX).then(|| (self.value, core::mem::take(&mut self.clock_changed)))
    }
}

impl Decoder {
    fn begin(&mut self, at: u64, state: State, sink: &mut impl Sink) {
        if self.state == State::Fresh {
            sink.element(at, Element::Gap(Gap::Start));
        }
        self.state = state;
    }

    /// Reports an overflow that no element follows.
    fn report_overflow(&mut self, at: u64, sink: &mut impl Sink) {
        if core::mem::take(&mut self.overflowed) {
            sink.element(at, Element::Gap(Gap::Overflow));
        }
    }

    fn local(
        &mut self,
        ticks: u32,
        delay: TimeDelay,
        config: &Config,
        overflowed: bool,
    ) -> Element {
        self.local = self.local.wrapping_add(u64::from(ticks) * config.prescale());
        let (total, after_overflow) = (self.local, overflowed);
        Element::LocalTimestamp(LocalTimestamp { delta: ticks, total, delay, after_overflow })
    }

    fn global(&mut self, overflowed: bool) -> Option<Element> {
        let (value, clock_changed) = self.global.take()?;
        Some(Element::GlobalTimestamp { value, clock_changed, after_overflow: overflowed })
    }
}

impl Decode<Config, Packet> for Decoder {
    #[inline]
    fn packet<K: BlockCache, S: Sink>(
        &mut self,
        p: Spanned<&Packet>,
        config: &Config,
        _: &mut K,
        sink: &mut S,
    ) {
        self.begin(p.at, State::Running, sink);
        let after_overflow = self.overflowed;
        let element = match *p.packet {
            Packet::Sync { .. } => {
                // A synchronisation packet resets the page to 0.
                self.page = Some(0);
                None
            }
            Packet::Overflow => {
                // A Page packet may be among the lost packets. The global timestamp is compressed
                // against the last timestamp sent, so it remains valid.
                self.page = None;
                self.local = 0;
                self.overflowed = true;
                return;
            }
            Packet::Page(page) => {
                self.page = Some(page);
                None
            }
            Packet::Extension { .. } => None,
            Packet::LocalTime { delay, ticks, .. } => {
                Some(self.local(ticks, delay, config, after_overflow))
            }
            Packet::LocalTimeShort { ticks } => {
                Some(self.local(ticks.into(), TimeDelay::None, config, after_overflow))
            }
            Packet::GlobalTimeLow { bits, bytes, clock_changed, wrapped } => {
                self.global.low(bits, bytes, wrapped);
                self.global.clock_changed |= clock_changed;
                self.global(after_overflow)
            }
            Packet::GlobalTimeHigh { bits, .. } => {
                self.global.high(bits);
                self.global(after_overflow)
            }
            Packet::Software { port, data } => {
                let channel = Channel::Port { page: self.page, port };
                let write = Software::new(channel, data.size() * 8, data.value().into());
                Some(Element::SoftwareWrite(if after_overflow {
                    write.with(Software::AFTER_OVERFLOW)
                } else {
                    write
                }))
            }
            Packet::Hardware { discriminator, data } => Some(Element::DwtEvent(DwtEvent {
                discriminator,
                size: data.size(),
                value: data.value(),
                after_overflow,
            })),
        };
        if let Some(element) = element {
            self.overflowed = false;
            sink.element(p.at, element);
        }
    }

    fn bad<S: Sink>(&mut self, at: u64, fault: Fault, sink: &mut S) {
        if self.state == State::Running && fault != Fault::Truncated {
            sink.element(at, Element::Gap(Gap::BadPacket));
        }
        self.begin(at, State::Lost, sink);
        self.report_overflow(at, sink);
        *self = Decoder { state: State::Lost, ..Decoder::default() };
    }

    fn finish<K: BlockCache, S: Sink>(&mut self, at: u64, _: &Config, _: &mut K, sink: &mut S) {
        self.report_overflow(at, sink);
    }
}
