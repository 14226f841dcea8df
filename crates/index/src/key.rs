//! What can be counted and searched for without decoding.

use tracewright_base::{Channel, Context, Element, Gap, Software};

/// A kind of occurrence. The numbers are those of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Kind {
    /// The first instruction of a function was executed. Value: its address.
    Function = 0,
    /// An exception. Value: its number.
    Exception = 1,
    /// A context. Value: the context ID plus 1, or 0 where it is not known.
    Context = 2,
    /// A software write. Value: [`channel`] of its port or channel.
    Write = 3,
    /// A data access. Value: its address divided by 64, or `u64::MAX` where it is not known.
    Access = 4,
    /// An event of the trace unit. Value: its number.
    Event = 5,
    /// The trigger fired. Value: 0.
    Trigger = 6,
    /// Trace was lost or could not be decoded. Value: 0.
    Gap = 7,
    /// A timestamp. Value: 0.
    Time = 8,
    /// An event of the Data Watchpoint and Trace unit. Value: 0.
    Dwt = 9,
    /// A packet from which a decoder may start. Value: 0. It is not counted, and only records of a
    /// full index have it.
    Sync = 10,
}

impl Kind {
    /// Every kind, in order of the numbers.
    pub const ALL: [Kind; 11] = [
        Kind::Function,
        Kind::Exception,
        Kind::Context,
        Kind::Write,
        Kind::Access,
        Kind::Event,
        Kind::Trigger,
        Kind::Gap,
        Kind::Time,
        Kind::Dwt,
        Kind::Sync,
    ];
}

/// An occurrence: what, and of which.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// The kind.
    pub kind: Kind,
    /// Its value.
    pub value: u64,
}

impl Key {
    /// A key.
    pub const fn new(kind: Kind, value: u64) -> Key {
        Key { kind, value }
    }

    /// Passes the keys of `element` to `each`, except those of functions, which depend on the
    /// program.
    pub fn each(element: &Element, mut each: impl FnMut(Key)) {
        let key = match element {
            Element::Exception(exception) => Key::new(Kind::Exception, exception.number.into()),
            Element::Context(context) => Key::context(context),
            Element::SoftwareWrite(write) => {
                if write.has(Software::TRIGGER) {
                    each(Key::new(Kind::Trigger, 0));
                }
                if write.has(Software::AFTER_OVERFLOW) {
                    each(Key::new(Kind::Gap, 0));
                }
                if write.time().is_some() {
                    each(Key::new(Kind::Time, 0));
                }
                Key::new(Kind::Write, channel(write.channel))
            }
            Element::DataAccess(access) => {
                Key::new(Kind::Access, access.address().map_or(u64::MAX, |address| address / 64))
            }
            Element::Events(bits) => {
                (0..8).filter(|bit| bits >> bit & 1 != 0).for_each(|bit| {
                    each(Key::new(Kind::Event, bit));
                });
                return;
            }
            Element::Trigger => Key::new(Kind::Trigger, 0),
            element if is_gap(element) => {
                if element.ticks().is_some() {
                    each(Key::new(Kind::Time, 0));
                }
                if matches!(element, Element::DwtEvent(_)) {
                    each(Key::new(Kind::Dwt, 0));
                }
                Key::new(Kind::Gap, 0)
            }
            Element::DwtEvent(_) => Key::new(Kind::Dwt, 0),
            element if element.ticks().is_some() => Key::new(Kind::Time, 0),
            _ => return,
        };
        each(key);
    }

    /// The key of a context.
    pub fn context(context: &Context) -> Key {
        Key::new(Kind::Context, context.context_id.map_or(0, |id| u64::from(id) + 1))
    }
}

/// Whether trace was lost or cannot be decoded at `element`: a gap other than the beginning of the
/// trace, undecodable bytes, missing program memory, or the first packet after an overflow.
pub fn is_gap(element: &Element) -> bool {
    match element {
        Element::Gap(gap) => !matches!(gap, Gap::Start),
        Element::Undecodable { .. } | Element::NoCode { .. } => true,
        element => element.is_after_overflow(),
    }
}

/// A port or channel in one number. An ITM's port has the number of its page times 32 plus its
/// number in the page, or its number in the page where the page is not known. An STM's channel has
/// the master plus 1 in bits \[48:32] and the channel in bits \[15:0], and bit \[31] where the
/// channel is not known.
pub fn channel(channel: Channel) -> u64 {
    match channel {
        Channel::Port { page, port } => u64::from(page.unwrap_or(0)) << 5 | u64::from(port),
        Channel::Master { master, channel } => {
            let master = master.map_or(0, |master| u64::from(master) + 1);
            master << 32 | channel.map_or(1 << 31, u64::from) | 1 << 56
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tracewright_base::{Direction, Exception};

    #[test]
    fn each_element_has_its_keys() {
        let keys = |element: Element| {
            let mut keys = Vec::new();
            Key::each(&element, |key| keys.push((key.kind, key.value)));
            keys
        };
        let exception =
            Exception { number: 3, return_address: None, also_target: false, tail_chain: false };
        let port = Channel::Port { page: Some(1), port: 2 };
        let write = Software::new(port, 8, 0).with(Software::AFTER_OVERFLOW).at_time(7);
        let access = tracewright_base::Access::new(Direction::Read, 4, 0);
        for (element, want) in [
            (Element::Exception(exception), vec![(Kind::Exception, 3)]),
            (Element::Context(Context::default()), vec![(Kind::Context, 0)]),
            (
                Element::Context(Context { context_id: Some(0), ..Context::default() }),
                vec![(Kind::Context, 1)],
            ),
            (
                Element::SoftwareWrite(write),
                vec![(Kind::Gap, 0), (Kind::Time, 0), (Kind::Write, 34)],
            ),
            (Element::DataAccess(access), vec![(Kind::Access, u64::MAX)]),
            (Element::DataAccess(access.at(0x80)), vec![(Kind::Access, 2)]),
            (Element::Events(0b1010), vec![(Kind::Event, 1), (Kind::Event, 3)]),
            (Element::Trigger, vec![(Kind::Trigger, 0)]),
            (Element::Gap(Gap::Start), vec![]),
            (Element::Gap(Gap::Overflow), vec![(Kind::Gap, 0)]),
            (Element::Timestamp { value: 1, cycles: None }, vec![(Kind::Time, 0)]),
            (
                Element::GlobalTimestamp { value: 1, clock_changed: false, after_overflow: true },
                vec![(Kind::Time, 0), (Kind::Gap, 0)],
            ),
            (Element::End, vec![]),
        ] {
            assert_eq!(keys(element), want, "{element:?}");
        }
    }
}
