//! From the bytes of a debug probe, as they arrive, to the elements of an ITM.

use std::collections::BTreeMap;

use tracewright_base::{Element, Fault, NoMemory};
use tracewright_frames::{Event, Framing, Link, Source, Split, Splitter, sync};
use tracewright_protocols::itm::{Config, Itm};
use tracewright_protocols::{Stream, itm};

use super::Form;
use super::evidence::few;
use super::form::splitter;
use super::resume::{damage_end, resume};

/// The form is determined for good from this number of bytes, or from all of a shorter trace.
pub(super) const HEAD: usize = 1 << 16;

/// From this number of bytes on, the share of those in packets shows the form.
const FEW: usize = 256;

/// What the user states of the form.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// The framing.
    pub framing: Option<Framing>,
    /// The trace ID.
    pub id: Option<u8>,
}

/// Decodes the trace of one ITM without its registers, as it arrives.
///
/// Where [`Wanted`] has the framing [`Raw`](Framing::Raw), or a framing and the trace ID, nothing is
/// determined and nothing waits: the first byte begins a packet or a frame, and of a trace port the
/// first synchronisation packet does. The elements do not depend on when bytes arrive.
///
/// Otherwise the form is determined from the first bytes, and elements wait until it is found. It
/// is searched for in the first 256 bytes, each time that their number has doubled, and at each
/// [`pause`](Receiver::pause). A pause after fewer bytes finds it where they are evidence enough,
/// as a few writes of text are, or some frames with them; after 256 bytes it always does.
///
/// The form is provisional until 65,536 bytes have arrived or the trace ends, and is determined
/// again each time that their number has doubled. If it is then another one, the bytes of which
/// elements were reported are not decoded again: the elements from the next byte on are those of a
/// receiver that knew the form from the beginning.
///
/// ```
/// use tracewright_base::Element;
/// use tracewright_decode::swo::{Receiver, Wanted};
///
/// let (mut receiver, mut elements) = (Receiver::new(Wanted::default()), Vec::new());
/// receiver.feed(b"\x01H\x01e\x01l\x01l\x01o", &mut elements);
/// // The target is silent: a few writes of text are enough.
/// receiver.pause(&mut elements);
/// let writes = elements.iter().filter_map(|(_, element)| match element {
///     Element::SoftwareWrite(write) => u8::try_from(write.value()).ok(),
///     _ => None,
/// });
/// assert_eq!(writes.collect::<Vec<_>>(), b"Hello");
/// receiver.finish(&mut elements);
/// ```
#[derive(Debug)]
pub struct Receiver {
    wanted: Wanted,
    /// The first bytes, until the form is final.
    head: Vec<u8>,
    form: Option<(Form, bool)>,
    /// The form does not change.
    is_final: bool,
    /// The first bytes have a full synchronisation packet of a trace port.
    aligned: bool,
    /// The form is searched for when this number of bytes has arrived.
    next: usize,
    /// The number of bytes in which it was searched for at the last pause.
    searched: usize,
    link: Option<Splitter>,
    router: Router,
    /// Bytes that were taken.
    fed: u64,
    /// The first packet is searched for after damage, too.
    searches: bool,
}

/// Decodes the bytes of the ITM, and counts those of the other sources.
#[derive(Debug)]
struct Router {
    source: Source,
    stream: Stream<Itm>,
    elements: Vec<(u64, Element)>,
    /// The offset after the last byte of the ITM.
    end: u64,
    /// Bytes of the ITM that are skipped.
    skip: usize,
    /// The bytes of the ITM begin with a synchronisation packet.
    synced: bool,
    others: BTreeMap<u16, u64>,
    /// Undecodable bytes of the frames.
    bad: u64,
    /// The first packet is searched for after damage, too; `None`: not of a trace that arrives
    /// while it is decoded.
    searches: Option<Searches>,
}

/// The searches for a first packet after damage.
#[derive(Debug, Default)]
struct Searches {
    /// Their number.
    count: usize,
    /// Bytes wait for those that follow, in which the packet is searched for.
    waiting: bool,
}

/// The most searches of one trace: noise has damage everywhere.
const MAX_SEARCHES: usize = 1 << 12;

impl Split for Router {
    fn piece(&mut self, id: u16, at: u64, fragment: bool, bytes: &[u8]) {
        if id == self.source.id() {
            self.source.push(at, fragment, bytes);
            self.end = at + bytes.len() as u64;
        } else {
            *self.others.entry(id).or_default() += bytes.len() as u64;
        }
    }

    fn event(&mut self, at: u64, event: Event) {
        if let Event::Bad { len, .. } = event {
            self.bad += u64::from(len);
            self.decode(true);
            self.stream.lost(at, &mut self.elements);
        }
    }
}

impl Router {
    fn new(id: u16, skip: usize) -> Router {
        Router {
            source: Source::new(id),
            stream: Stream::new(Config { assume_synced: true, ..Config::default() }),
            elements: Vec::new(),
            end: 0,
            skip,
            synced: false,
            others: BTreeMap::new(),
            bad: 0,
            searches: None,
        }
    }

    /// Decodes the bytes of the ITM so far. `last`: none follow that continue them.
    fn decode(&mut self, last: bool) {
        self.begin();
        while self.pass_damage(last) {}
        if self.searches.as_ref().is_some_and(|searches| searches.waiting) {
            return;
        }
        let Router { source, stream, elements, .. } = self;
        let taken = stream.feed(source.bytes(), &source.offsets(), &mut NoMemory, elements);
        source.consume(taken);
    }

    /// Decodes the bytes up to the end of the first damage, and skips those before the next whole
    /// packet. Returns whether more may follow.
    fn pass_damage(&mut self, last: bool) -> bool {
        let Router { source, stream, elements, searches: Some(searches), .. } = self else {
            return false;
        };
        if searches.waiting {
            let Some(skip) = resume(source.bytes(), last) else { return false };
            searches.waiting = false;
            if skip > 0 {
                let at = source.offsets().at(0);
                stream.lost(at, elements);
                let fault = Fault::Unsynchronised;
                elements.push((at, Element::Undecodable { len: skip as u32, fault }));
                source.consume(skip);
            }
        }
        if searches.count >= MAX_SEARCHES {
            return false;
        }
        let Some(end) = damage_end(source.bytes()) else { return false };
        let part = source.bytes().get(..end).unwrap_or_default();
        let taken = stream.feed(part, &source.offsets(), &mut NoMemory, elements);
        source.consume(taken);
        if taken < end {
            return false;
        }
        searches.count += 1;
        searches.waiting = true;
        true
    }

    /// Skips the bytes before the first packet.
    fn begin(&mut self) {
        let Router { source, stream, elements, .. } = self;
        if self.skip > 0 && !source.bytes().is_empty() {
            let len = self.skip.min(source.bytes().len());
            let fault = Fault::Unsynchronised;
            let at = source.offsets().at(0);
            elements.push((at, Element::Undecodable { len: len as u32, fault }));
            source.consume(len);
            self.skip -= len;
        }
        if !self.synced && stream.decoder() == &itm::Decoder::default() {
            let zeros = source.bytes().iter().take_while(|&&byte| byte == 0).count();
            self.synced = zeros >= 5 && source.bytes().get(zeros) == Some(&0x80);
        }
    }

    /// The offset of the first byte that is not decoded.
    fn next(&self) -> u64 {
        match self.source.bytes() {
            [] => self.end,
            _ => self.source.offsets().at(0),
        }
    }
}

impl Receiver {
    /// A receiver of a trace of which `wanted` is known.
    pub fn new(wanted: Wanted) -> Receiver {
        let mut receiver = Receiver { next: FEW, searches: false, ..Receiver::recorded(wanted) };
        if let (Some(framing), id @ Some(_)) | (Some(framing @ Framing::Raw), id) =
            (wanted.framing, wanted.id)
        {
            let form = Form { framing, skip: 0, id, start: 0 };
            receiver.begin(form, true, Splitter::new(Link::new(framing)));
            receiver.is_final = true;
        }
        receiver
    }

    /// A receiver of a trace that was recorded, and may begin at any byte: all of the form is
    /// determined from the first 65,536 bytes, but for what `wanted` has. Elements wait for them.
    pub fn recorded(wanted: Wanted) -> Receiver {
        Receiver {
            wanted,
            head: Vec::new(),
            form: None,
            is_final: false,
            aligned: false,
            next: HEAD,
            searched: 0,
            link: None,
            router: Router::new(0, 0),
            fed: 0,
            searches: true,
        }
    }

    /// Takes the next bytes.
    pub fn feed(&mut self, bytes: &[u8], elements: &mut Vec<(u64, Element)>) {
        let room = if self.is_final { 0 } else { HEAD - self.head.len() };
        let (first, rest) = bytes.split_at_checked(room).unwrap_or((bytes, &[]));
        // The first full synchronisation packet of a trace port aligns the frames.
        let before = self.head.len().saturating_sub(sync::FULL.len() - 1);
        self.head.extend_from_slice(first);
        let full = !self.is_final && self.head.len() >= HEAD;
        if !self.aligned && self.form.is_some() {
            let mut ends = self.head.get(before..).unwrap_or_default().windows(sync::FULL.len());
            self.aligned = ends.any(|bytes| *bytes == sync::FULL);
            self.next = if self.aligned { self.head.len() } else { self.next };
        }
        if !self.is_final && self.head.len() >= self.next {
            self.next = self.head.len() * 2;
            let found = if full { Some(self.best()) } else { self.search() };
            self.adopt(found, first, elements);
        } else if self.form.is_some() {
            self.pass(first, elements);
        }
        if full {
            self.is_final = true;
            self.head = Vec::new();
        }
        if self.is_final {
            self.pass(rest, elements);
        }
    }

    /// No bytes follow for some time: decodes those that have arrived, if they suffice to determine
    /// the form.
    pub fn pause(&mut self, elements: &mut Vec<(u64, Element)>) {
        if self.form.is_some() || self.head.len() == self.searched {
            return;
        }
        self.searched = self.head.len();
        let found = self.search().or_else(|| {
            let (form, certain) = self.best();
            let given = self.wanted.framing.is_some() && form.id.is_some();
            (given || self.head.len() >= FEW).then_some((form, certain))
        });
        self.adopt(found, &[], elements);
    }

    /// The trace ends.
    pub fn finish(&mut self, elements: &mut Vec<(u64, Element)>) {
        if !self.is_final {
            let found = Some(self.best());
            self.adopt(found, &[], elements);
            self.is_final = true;
        }
        if let Some(link) = &mut self.link {
            link.finish(&mut self.router);
        }
        self.router.decode(true);
        elements.append(&mut self.router.elements);
        let Router { source, stream, elements: last, .. } = &mut self.router;
        stream.finish(source.bytes(), &source.offsets(), &mut NoMemory, last);
        elements.append(last);
    }

    /// The form, and whether it is certain; `None` until enough bytes have arrived. It is not
    /// certain while it is provisional, nor where few of the bytes are packets of an ITM.
    pub fn form(&self) -> Option<(Form, bool)> {
        self.form.map(|(form, certain)| (form, certain && self.is_final))
    }

    /// Whether the trace begins with a synchronisation packet.
    pub fn begins_synced(&self) -> bool {
        self.router.synced
    }

    /// The bytes that were taken.
    pub fn bytes(&self) -> u64 {
        self.fed.max(self.head.len() as u64)
    }

    /// The bytes of each of the other trace IDs.
    pub fn others(&self) -> impl Iterator<Item = (u16, u64)> {
        self.router.others.iter().map(|(&id, &bytes)| (id, bytes))
    }

    /// The bytes that are no frames.
    pub fn bad_frame_bytes(&self) -> u64 {
        self.router.bad
    }

    /// The form of the first bytes, if they suffice.
    fn search(&self) -> Option<(Form, bool)> {
        if self.head.len() < FEW {
            return few(&self.head, &self.wanted).map(|form| (form, true));
        }
        Some(Form::find(&self.head, &self.wanted)).filter(|(_, certain)| *certain)
    }

    /// The form that explains the first bytes best.
    fn best(&self) -> (Form, bool) {
        self.search().unwrap_or_else(|| Form::find(&self.head, &self.wanted))
    }

    /// Uses the form that was found, if any, for all bytes but those of which elements were
    /// reported. `bytes`: the last of the first bytes, which were not passed on.
    fn adopt(
        &mut self,
        found: Option<(Form, bool)>,
        bytes: &[u8],
        elements: &mut Vec<(u64, Element)>,
    ) {
        let before = self.form.map(|(form, _)| form);
        let Some((form, certain)) = found.filter(|(form, _)| before != Some(*form)) else {
            if let Some((form, certain)) = found {
                self.form = Some((form, certain));
            }
            if self.form.is_some() {
                self.pass(bytes, elements);
            }
            return;
        };
        let reported = if before.is_some() { self.router.next() } else { 0 };
        self.begin(form, certain, splitter(form.framing));
        let (head, mut again) = (std::mem::take(&mut self.head), Vec::new());
        let skip = form.skip.min(head.len());
        self.fed = skip as u64;
        self.router.bad = skip as u64;
        self.pass(head.get(skip..).unwrap_or_default(), &mut again);
        self.head = head;
        elements.extend(again.into_iter().filter(|(at, _)| *at >= reported));
    }

    /// Begins to decode in `form`.
    fn begin(&mut self, form: Form, certain: bool, link: Splitter) {
        self.form = Some((form, certain));
        self.link = Some(link).filter(|_| form.framing != Framing::Raw);
        self.router = Router::new(form.id.map_or(0, u16::from), form.start);
        self.router.searches = self.searches.then(Searches::default);
    }

    fn pass(&mut self, bytes: &[u8], elements: &mut Vec<(u64, Element)>) {
        if bytes.is_empty() {
            return;
        }
        let at = self.fed;
        self.fed += bytes.len() as u64;
        match &mut self.link {
            Some(link) => link.split(at, bytes, &mut self.router),
            None => self.router.piece(self.router.source.id(), at, true, bytes),
        }
        self.router.decode(false);
        elements.append(&mut self.router.elements);
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

    /// The trace in frames with another source.
    fn frames(framing: Framing) -> Vec<u8> {
        let (mut frames, mut joiner) = (Vec::new(), Joiner::new(framing));
        for (n, part) in trace().chunks(23).enumerate() {
            joiner.push(0x13, part, &mut frames).unwrap();
            joiner.push(0x14, &[n as u8 ^ 0xb4; 11], &mut frames).unwrap();
        }
        joiner.finish(&mut frames);
        frames
    }

    /// Frames with another source, from any byte on.
    #[test]
    fn frames_from_any_byte_on() {
        let want = want();
        for framing in [Framing::Coresight, Framing::Tpiu, Framing::TpiuHalfOnly] {
            let frames = frames(framing);
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

    /// The elements of `bytes` with a pause before each offset of `pauses`.
    fn with_pauses(bytes: &[u8], pauses: &[usize], wanted: Wanted) -> Vec<(u64, Element)> {
        let (mut receiver, mut elements) = (Receiver::new(wanted), Vec::new());
        let mut from = 0;
        for &to in pauses {
            receiver.feed(&bytes[from..to], &mut elements);
            receiver.pause(&mut elements);
            from = to;
        }
        receiver.feed(&bytes[from..], &mut elements);
        receiver.finish(&mut elements);
        elements
    }

    /// Text alone, text with samples and timestamps, and the latter in frames.
    fn traces() -> Vec<Vec<u8>> {
        let text = (0..500u16).flat_map(|n| [0x01, b'a' + (n % 26) as u8]).collect();
        let framings = [Framing::Coresight, Framing::Tpiu, Framing::TpiuHalf];
        let framed = framings.map(frames);
        let mut traces: Vec<_> = [text, trace()].into_iter().chain(framed).collect();
        traces.iter_mut().for_each(|bytes| bytes.truncate(800));
        traces
    }

    #[test]
    fn a_pause_after_any_byte_changes_nothing() {
        for (n, bytes) in traces().iter().enumerate() {
            let whole = with_pauses(bytes, &[], Wanted::default());
            for cut in (1..200).chain((200..700).step_by(23)) {
                let got = with_pauses(bytes, &[cut], Wanted::default());
                assert!(got == whole, "trace {n}, cut at {cut}");
            }
            for step in [1, 3, 7, 20, 33] {
                let pauses: Vec<_> = (step..bytes.len()).step_by(step).collect();
                let got = with_pauses(bytes, &pauses, Wanted::default());
                assert!(got == whole, "trace {n}, pauses each {step} bytes");
            }
        }
    }

    /// Of a trace that begins inside a packet or a frame, only elements of the first bytes depend
    /// on when they arrive.
    #[test]
    fn a_provisional_form_changes_the_beginning_only() {
        for (n, bytes) in traces().iter().enumerate() {
            for begin in 1..18 {
                let bytes = &bytes[begin..];
                let later = |elements: Vec<(u64, Element)>| {
                    elements.into_iter().filter(|(at, _)| *at >= 512).collect::<Vec<_>>()
                };
                let whole = later(with_pauses(bytes, &[], Wanted::default()));
                for cut in (begin..256).step_by(17) {
                    let got = later(with_pauses(bytes, &[cut], Wanted::default()));
                    assert!(got == whole, "trace {n} from {begin}, cut at {cut}");
                }
            }
        }
    }

    /// With a form that is given nothing waits, and nothing depends on when bytes arrive.
    #[test]
    fn a_given_form_waits_for_nothing() {
        let id = Some(0x13);
        for (framing, bytes, id) in [
            (Framing::Raw, trace(), None),
            (Framing::Raw, trace()[3..].to_vec(), None),
            (Framing::Coresight, frames(Framing::Coresight), id),
            (Framing::Coresight, frames(Framing::Coresight)[5..].to_vec(), id),
            (Framing::Tpiu, frames(Framing::Tpiu), id),
            (Framing::Tpiu, frames(Framing::Tpiu)[5..].to_vec(), id),
        ] {
            let wanted = Wanted { framing: Some(framing), id };
            let whole = with_pauses(&bytes, &[], wanted);
            for cut in 1..200 {
                let every: Vec<usize> = (0..bytes.len()).step_by(cut).collect();
                assert!(with_pauses(&bytes, &[cut], wanted) == whole, "{framing:?}, cut at {cut}");
                assert!(with_pauses(&bytes, &every, wanted) == whole, "{framing:?}, each {cut}");
            }
        }
        let wanted = Wanted { framing: Some(Framing::Raw), id: None };
        let (mut receiver, mut elements) = (Receiver::new(wanted), Vec::new());
        receiver.feed(b"\x01h\x01", &mut elements);
        assert_eq!(elements.len(), 2, "the start, and a write");
    }

    /// Elements of a live trace come after 256 bytes, with pauses earlier, and the form is
    /// provisional.
    #[test]
    fn elements_come_when_they_are_certain() {
        for (bytes, early) in traces().iter().zip([8, 20, 60, 60, 60]) {
            for (pauses, most) in [(false, 256), (true, early)] {
                let (mut receiver, mut elements) = (Receiver::new(Wanted::default()), Vec::new());
                let first = (0..bytes.len()).find(|&n| {
                    receiver.feed(&bytes[n..=n], &mut elements);
                    if pauses {
                        receiver.pause(&mut elements);
                    }
                    !elements.is_empty()
                });
                assert!(first.unwrap() < most, "{first:?} of {most}");
                assert!(matches!(receiver.form(), Some((_, false))));
                receiver.finish(&mut elements);
                assert!(
                    matches!(receiver.form(), Some((_, true))),
                    "{most}: {:?}",
                    receiver.form()
                );
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

#[cfg(test)]
mod many_ports {
    use tracewright_testing::Random;

    use super::*;

    /// Writes to 32 ports, without synchronisation packets and timestamps, from any byte on: the
    /// first packet that a pause finds is one, but for few of 600 random traces.
    #[test]
    fn a_pause_finds_the_first_packet() {
        let mut random = Random::new(7);
        let (mut wrong, mut found, mut all) = (Vec::new(), 0, 0);
        for round in 0..600 {
            let (size, header): (usize, u8) = [(1, 1), (2, 2), (4, 3)][round % 3];
            let mut bytes = Vec::new();
            for n in 0..200u32 {
                let port = if round % 2 == 0 { n as u8 % 32 } else { random.below(32) as u8 };
                bytes.push(port << 3 | header);
                bytes.extend((0..size).map(|_| match round % 5 {
                    0 => b'a' + random.below(26) as u8,
                    1 => random.next() as u8,
                    2 => n as u8,
                    _ => b' ' + random.below(90) as u8,
                }));
            }
            let cut = random.index(size + 1);
            let len = 6 + random.index(300);
            let mut receiver = Receiver::new(Wanted::default());
            let mut elements = Vec::new();
            receiver.feed(&bytes[cut..cut + len], &mut elements);
            receiver.pause(&mut elements);
            all += 1;
            let Some((form, _)) = receiver.form() else { continue };
            found += 1;
            let packet = size + 1;
            if form.framing != Framing::Raw || !(form.start + cut).is_multiple_of(packet) {
                wrong.push((round, size, cut, len, form));
            }
        }
        assert!(found * 2 >= all, "{found} of {all} are found");
        assert!(wrong.len() * 50 <= found, "{} of {found}: {wrong:?}", wrong.len());
    }
}
