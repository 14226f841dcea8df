//! From the bytes of a debug probe, as they arrive, to the elements of an ITM.

use std::collections::BTreeMap;

use tracewright_base::{Element, Fault, NoMemory};
use tracewright_frames::{Event, Framing, Source, Split, Splitter};
use tracewright_protocols::itm::{Config, Itm};
use tracewright_protocols::{Stream, itm};

use super::Form;
use super::form::splitter;

/// The bytes from which the form is determined, if as many arrive at once.
const HEAD: usize = 1 << 14;

/// With fewer bytes, only a form that is certain is used.
const FEW: usize = 256;

/// What the user states of the form.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// The framing.
    pub framing: Option<Framing>,
    /// The trace ID.
    pub id: Option<u8>,
}

/// Decodes the trace of one ITM without its registers. The form is determined from the first bytes.
#[derive(Debug)]
pub struct Receiver {
    wanted: Wanted,
    /// The first bytes, until the form is known.
    head: Vec<u8>,
    form: Option<(Form, bool)>,
    link: Option<Splitter>,
    router: Router,
    stream: Stream<Itm>,
    /// Bytes that were taken.
    fed: u64,
    /// Bytes of the source that are skipped.
    skip: usize,
    synced: bool,
}

/// The bytes of the ITM, and the number of bytes of the other sources.
#[derive(Debug)]
struct Router {
    id: u16,
    source: Source,
    others: BTreeMap<u16, u64>,
    /// Undecodable bytes of the frames.
    bad: u64,
    /// The offset of the first bytes of the frames that were undecodable since the last call.
    lost: Option<u64>,
}

impl Split for Router {
    fn piece(&mut self, id: u16, at: u64, fragment: bool, bytes: &[u8]) {
        if id == self.id {
            self.source.push(at, fragment, bytes);
        } else {
            *self.others.entry(id).or_default() += bytes.len() as u64;
        }
    }

    fn event(&mut self, at: u64, event: Event) {
        if let Event::Bad { len, .. } = event {
            self.bad += u64::from(len);
            self.lost.get_or_insert(at);
        }
    }
}

impl Receiver {
    /// A receiver of a trace of which `wanted` is known.
    pub fn new(wanted: Wanted) -> Receiver {
        let config = Config { assume_synced: true, ..Config::default() };
        Receiver {
            wanted,
            head: Vec::new(),
            form: None,
            link: None,
            router: Router {
                id: 0,
                source: Source::new(0),
                others: BTreeMap::new(),
                bad: 0,
                lost: None,
            },
            stream: Stream::new(config),
            fed: 0,
            skip: 0,
            synced: false,
        }
    }

    /// Takes the next bytes.
    pub fn feed(&mut self, bytes: &[u8], elements: &mut Vec<(u64, Element)>) {
        if self.form.is_some() {
            return self.pass(bytes, elements);
        }
        self.head.extend_from_slice(bytes);
        if self.head.len() >= HEAD {
            self.decide(true, elements);
        }
    }

    /// No bytes follow for some time: determines the form from those that have arrived, if they are
    /// enough.
    pub fn pause(&mut self, elements: &mut Vec<(u64, Element)>) {
        if self.form.is_none() && !self.head.is_empty() {
            self.decide(self.head.len() >= FEW, elements);
        }
    }

    /// The trace ends.
    pub fn finish(&mut self, elements: &mut Vec<(u64, Element)>) {
        if self.form.is_none() {
            self.decide(true, elements);
        }
        if let Some(link) = &mut self.link {
            link.finish(&mut self.router);
            self.take(elements);
        }
        let source = &self.router.source;
        let (rest, offsets) = (source.bytes(), source.offsets());
        self.stream.finish(rest, &offsets, &mut NoMemory, elements);
    }

    /// The form, and whether it is certain; `None` until enough bytes have arrived.
    pub fn form(&self) -> Option<(Form, bool)> {
        self.form
    }

    /// Whether the trace begins with a synchronisation packet.
    pub fn begins_synced(&self) -> bool {
        self.synced
    }

    /// The bytes that were taken.
    pub fn bytes(&self) -> u64 {
        self.fed + self.head.len() as u64
    }

    /// The bytes of each of the other trace IDs.
    pub fn others(&self) -> impl Iterator<Item = (u16, u64)> {
        self.router.others.iter().map(|(&id, &bytes)| (id, bytes))
    }

    /// The bytes that are no frames.
    pub fn bad_frame_bytes(&self) -> u64 {
        self.router.bad
    }

    fn decide(&mut self, always: bool, elements: &mut Vec<(u64, Element)>) {
        let (form, certain) = Form::find(&self.head, &self.wanted);
        if !certain && !always {
            return;
        }
        self.form = Some((form, certain));
        self.skip = form.start;
        let id = form.id.map_or(0, u16::from);
        (self.router.id, self.router.source) = (id, Source::new(id));
        if form.framing != Framing::Raw {
            self.link = Some(splitter(form.framing));
        }
        let head = std::mem::take(&mut self.head);
        let skip = form.skip.min(head.len());
        self.fed = skip as u64;
        self.router.bad = skip as u64;
        self.pass(head.get(skip..).unwrap_or_default(), elements);
    }

    fn pass(&mut self, bytes: &[u8], elements: &mut Vec<(u64, Element)>) {
        let at = self.fed;
        self.fed += bytes.len() as u64;
        match &mut self.link {
            Some(link) => link.split(at, bytes, &mut self.router),
            None => self.router.source.push(at, true, bytes),
        }
        self.take(elements);
    }

    /// Decodes the bytes of the ITM.
    fn take(&mut self, elements: &mut Vec<(u64, Element)>) {
        let source = &mut self.router.source;
        if self.skip > 0 && !source.bytes().is_empty() {
            let len = self.skip.min(source.bytes().len());
            let fault = Fault::Unsynchronised;
            let at = source.offsets().at(0);
            elements.push((at, Element::Undecodable { len: len as u32, fault }));
            source.consume(len);
            self.skip -= len;
        }
        if !self.synced && self.stream.decoder() == &itm::Decoder::default() {
            let zeros = source.bytes().iter().take_while(|&&byte| byte == 0).count();
            self.synced = zeros >= 5 && source.bytes().get(zeros) == Some(&0x80);
        }
        let taken = self.stream.feed(source.bytes(), &source.offsets(), &mut NoMemory, elements);
        source.consume(taken);
        if let Some(at) = self.router.lost.take() {
            self.stream.lost(at, elements);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tracewright_base::{DwtEvent, Software};
    use tracewright_frames::Joiner;

    /// Text on port 0, samples of the program counter and timestamps.
    fn trace() -> Vec<u8> {
        let mut bytes = Vec::new();
        for n in 0..200u8 {
            bytes.extend([0x01, b'a' + n % 26, 0xc0, 0x85, 0x02, 0x17, n, 0x02, 0x00, 0x08]);
        }
        bytes
    }

    fn receive(bytes: &[u8], by: usize) -> (Vec<Element>, Form) {
        let (mut receiver, mut elements) = (Receiver::new(Wanted::default()), Vec::new());
        for part in bytes.chunks(by) {
            receiver.feed(part, &mut elements);
        }
        receiver.finish(&mut elements);
        let sent =
            |element: &Element| matches!(element, Element::SoftwareWrite(_) | Element::DwtEvent(_));
        let elements = elements.into_iter().map(|(_, element)| element).filter(sent).collect();
        (elements, receiver.form().unwrap().0)
    }

    /// The elements of the trace, in order.
    fn want() -> Vec<Element> {
        let port = tracewright_base::Channel::Port { page: None, port: 0 };
        let elements = (0..200u8).flat_map(|n| {
            let value = 0x0800_0200 | u32::from(n);
            [
                Element::SoftwareWrite(Software::new(port, 8, u64::from(b'a' + n % 26))),
                Element::DwtEvent(DwtEvent {
                    discriminator: 2,
                    size: 4,
                    value,
                    after_overflow: false,
                }),
            ]
        });
        elements.collect()
    }

    #[test]
    fn unframed_bytes_from_any_one_on() {
        let (bytes, want) = (trace(), want());
        for cut in 0..40 {
            let (got, form) = receive(&bytes[cut..], 7);
            assert_eq!((form.framing, form.id), (Framing::Raw, None));
            assert!(form.start < 7, "cut at {cut}: {form:?}");
            assert!(want.ends_with(&got), "cut at {cut}: {:?}", &got[..4]);
            assert!(got.len() + 2 + cut / 5 >= want.len(), "cut at {cut}");
        }
    }

    /// Frames with another source, from any byte on.
    #[test]
    fn frames_from_any_byte_on() {
        let (bytes, want) = (trace(), want());
        for framing in [Framing::Coresight, Framing::Tpiu, Framing::TpiuHalfOnly] {
            let (mut frames, mut joiner) = (Vec::new(), Joiner::new(framing));
            for (n, part) in bytes.chunks(23).enumerate() {
                joiner.push(0x13, part, &mut frames).unwrap();
                joiner.push(0x14, &[n as u8 ^ 0xb4; 11], &mut frames).unwrap();
            }
            joiner.finish(&mut frames);
            for cut in 0..17 {
                let (got, form) = receive(&frames[cut..], 100);
                assert_eq!(form.id, Some(0x13), "{framing:?} cut at {cut}");
                if framing == Framing::Coresight {
                    assert_eq!((form.framing, form.skip), (framing, (16 - cut % 16) % 16));
                }
                if framing == Framing::TpiuHalfOnly {
                    assert_eq!(form.framing, framing, "cut at {cut}");
                }
                assert!(want.ends_with(&got), "{framing:?} cut at {cut}: {form:?}");
                assert!(got.len() + 20 >= want.len(), "{framing:?} cut at {cut}: {}", got.len());
            }
        }
    }

    /// A few bytes are decoded as soon as there is a pause.
    #[test]
    fn few_bytes_are_decoded_at_a_pause() {
        let (mut receiver, mut elements) = (Receiver::new(Wanted::default()), Vec::new());
        receiver.feed(b"\x01h\x01i\x01\n", &mut elements);
        assert_eq!(elements, []);
        receiver.pause(&mut elements);
        assert_eq!(elements.len(), 4);
        receiver.feed(b"\x01!", &mut elements);
        assert_eq!(elements.len(), 5);
    }
}
