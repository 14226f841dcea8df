//! What a program writes to the trace.

use std::collections::HashMap;

use tracewright_base::{Channel, Element};
use tracewright_decode::{Listener, Merge};

/// The most bytes of a channel that are stored.
const MOST: usize = 1 << 16;

/// The bytes that were written to each channel of each source, from the beginning of the trace on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Texts {
    /// Bytes by source and channel.
    channels: HashMap<(usize, Channel), Vec<u8>>,
}

impl Texts {
    fn add(&mut self, source: usize, channel: Channel, bytes: &[u8]) {
        let own = self.channels.entry((source, channel)).or_default();
        let room = MOST.saturating_sub(own.len());
        own.extend(bytes.iter().take(room));
    }

    /// The channels with text: printable characters and white space. The source, the name of the
    /// channel, the text.
    pub fn texts(&self) -> Vec<(usize, String, String)> {
        let mut all: Vec<(usize, String, String)> = self
            .channels
            .iter()
            .filter_map(|((source, channel), bytes)| {
                let bytes: Vec<u8> = bytes.iter().copied().filter(|byte| *byte != 0).collect();
                let text = String::from_utf8_lossy(&bytes).into_owned();
                let odd = |c: char| c.is_control() && !c.is_whitespace() || c == '\u{fffd}';
                let odd = text.chars().filter(|c| odd(*c)).count();
                let is_text = !text.is_empty() && odd * 10 <= text.len();
                is_text.then(|| (*source, name(*channel), text))
            })
            .collect();
        all.sort();
        all
    }
}

/// The name of a channel.
fn name(channel: Channel) -> String {
    match channel {
        Channel::Port { page: None | Some(0), port } => format!("port {port}"),
        Channel::Port { page: Some(page), port } => {
            format!("port {}", 32 * u32::from(page) + u32::from(port))
        }
        Channel::Master { master, channel } => {
            let number = |n: Option<u16>| n.map_or_else(|| "?".to_owned(), |n| n.to_string());
            format!("master {} channel {}", number(master), number(channel))
        }
    }
}

impl Merge for Texts {
    fn merge(&mut self, later: Self) {
        for ((source, channel), bytes) in later.channels {
            self.add(source, channel, &bytes);
        }
    }
}

impl Listener for Texts {
    const PACKETS: bool = false;
    const ERASED: bool = true;
    const BY_SOURCE: bool = true;

    #[inline]
    fn element(&mut self, source: usize, _: u64, element: Element) {
        if let Element::SoftwareWrite(write) = element {
            let bytes = write.value().to_le_bytes();
            let count = usize::from(write.bits / 8).min(bytes.len());
            self.add(source, write.channel, bytes.get(..count).unwrap_or_default());
        }
    }

    #[inline]
    fn repeat(&mut self, _: usize, _: u64, _: tracewright_base::Range, _: u32) {}

    fn repeat_path(&mut self, _: usize, _: u64, _: &[tracewright_base::Range], _: u64) {}
}
