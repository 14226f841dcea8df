//! Stage 1: the byte stream to elements. (K10.5.2)

use super::bits::{Bytes, Stop};
use super::{AnalyzerContext, Element, Malformed, SubIsa, Unit};

type Entry = (u64, SubIsa);

/// `InstructionParserState`. (K10.5.2.1.1)
pub(super) struct Parser<'a> {
    unit: Unit,
    stream: Bytes<'a>,
    aligned: bool,
    started: bool,
    /// There was a Trace Info packet since the last loss of trace.
    synchronised: bool,
    timestamp: u64,
    address_history: [Entry; 3],
    context: AnalyzerContext,
    depth: u128,
    /// The transactional state.
    t: bool,
    cc_threshold: u64,
}

impl<'a> Parser<'a> {
    pub(super) fn new(unit: &Unit, stream: &'a [u8]) -> Parser<'a> {
        Parser {
            unit: *unit,
            stream: Bytes(stream),
            aligned: false,
            started: false,
            synchronised: false,
            timestamp: 0,
            address_history: [(0, SubIsa::Is0); 3],
            context: AnalyzerContext::default(),
            depth: 0,
            t: false,
            cc_threshold: 0,
        }
    }

    /// Sets the transactional state, which the pseudocode leaves as it was before a cancel.
    pub(super) fn set_transaction(&mut self, open: bool) {
        self.t = open;
    }

    /// `Parse_Trace`: one packet. `false` where the stream ends. (K10.5.2.2.1)
    pub(super) fn packet(&mut self, out: &mut Vec<Element>) -> Result<bool, Malformed> {
        let mut stream = self.stream;
        let parsed = self.parse(&mut stream, out);
        self.stream = stream;
        match parsed {
            Ok(()) => Ok(true),
            // A packet that the end of the stream cuts is not a packet.
            Err(Stop::End) => Ok(false),
            Err(Stop::Malformed(malformed)) => Err(malformed),
        }
    }

    fn parse(&mut self, s: &mut Bytes<'_>, out: &mut Vec<Element>) -> Result<(), Stop> {
        let header = s.byte()?;
        // After a loss of trace, Alignment Synchronization comes first (K10.5.2.7); Event elements
        // may precede it in an ETE (K10.5.9).
        let early = self.unit.ete && self.started && matches!(header, 0x70..=0x7f);
        if !self.aligned && header != 0 && !early {
            return Err(Malformed::NoAlignment.into());
        }
        let ete = self.unit.ete;
        match header {
            0x00 => self.extension(s, out)?,
            0x01 => self.trace_info(s, out)?,
            0x02 | 0x03 => {
                self.timestamp = s.bit_replacement(64, self.timestamp.into())? as u64;
                let cycles = if header & 1 == 1 { Some(s.uleb128(20)? as u32) } else { None };
                out.push(Element::Timestamp { value: self.timestamp, cycles });
            }
            0x04 => out.push(Element::TraceOn),
            0x06 => self.exception(s, out)?,
            0x07 if !ete => out.push(Element::ExceptionReturn),
            0x0a if ete => {
                out.push(Element::TransactionStart);
                self.t = true;
                if self.unit.transaction_start_is_p0 {
                    self.update_depth(out);
                }
            }
            0x0b if ete => {
                out.push(Element::TransactionCommit);
                self.t = false;
            }
            0x0c..=0x1f => self.cycle_count(header, s, out)?,
            0x2d => {
                let count = s.uleb128(32)?;
                self.commit(count, out)?;
            }
            0x2e | 0x2f => {
                let count = s.uleb128(32)?;
                self.cancel(count, out)?;
                if header & 1 == 1 {
                    out.push(Element::Mispredict);
                }
            }
            0x30..=0x33 => {
                self.some_atoms(header & 3, out);
                out.push(Element::Mispredict);
            }
            0x34..=0x37 => {
                self.some_atoms(header & 3, out);
                self.cancel(1, out)?;
                out.push(Element::Mispredict);
            }
            0x38..=0x3f => {
                if header & 1 == 1 {
                    self.atom(true, out);
                }
                self.cancel(u128::from(header >> 1 & 3) + 2, out)?;
                out.push(Element::Mispredict);
            }
            0x70 => {}
            0x71..=0x7f => {
                for event in (0..4).filter(|n| header >> n & 1 == 1) {
                    out.push(Element::Event(event));
                }
            }
            0x80 => out.push(Element::Context(self.context)),
            0x81 => {
                self.context_bytes(s)?;
                out.push(Element::Context(self.context));
            }
            0x82 | 0x83 | 0x85 | 0x86 => {
                self.long_address(header, s)?;
                self.context_bytes(s)?;
                out.push(Element::Context(self.context));
                out.push(self.target());
            }
            0x90..=0x92 | 0x95 | 0x96 | 0x9a | 0x9b | 0x9d | 0x9e => {
                self.address(header, s)?;
                out.push(self.target());
            }
            0xa0..=0xaf => self.q(header & 0xf, s, out)?,
            0xb0..=0xb2 | 0xb4..=0xb9 if ete => self.source_address(header, s, out)?,
            0xc0..=0xff => self.atoms(header, out),
            _ => return Err(Malformed::Reserved.into()),
        }
        Ok(())
    }

    /// Alignment Synchronization, Discard and Overflow. (K10.5.2.3 to K10.5.2.5)
    fn extension(&mut self, s: &mut Bytes<'_>, out: &mut Vec<Element>) -> Result<(), Stop> {
        let mut zeros = 1;
        let mut last = s.byte()?;
        while last == 0 {
            zeros += 1;
            last = s.byte()?;
        }
        match (zeros, last) {
            // "a header byte, followed by a minimum of ten payload bytes": the pseudocode of
            // K10.5.2.3.1 does not count them.
            (11.., 0x80) => {
                self.aligned = true;
                self.started = true;
            }
            _ if !self.started => return Err(Malformed::NoAlignment.into()),
            (1, 3) => self.lost(&[Element::Discard], out),
            (1, 5) => self.lost(&[Element::Discard, Element::Overflow], out),
            _ => return Err(Malformed::Reserved.into()),
        }
        Ok(())
    }

    fn lost(&mut self, elements: &[Element], out: &mut Vec<Element>) {
        out.extend_from_slice(elements);
        self.aligned = false;
        self.synchronised = false;
        if self.t {
            out.push(Element::TransactionFailure);
        }
        self.t = false;
        self.depth = 0;
    }

    /// Trace Info. (K10.5.2.6)
    fn trace_info(&mut self, s: &mut Bytes<'_>, out: &mut Vec<Element>) -> Result<(), Stop> {
        let plctl = s.byte()?;
        if plctl & !0b1101 != 0 {
            return Err(Malformed::Reserved.into());
        }
        let info = if plctl & 1 != 0 { s.byte()? } else { 0 };
        if info & 0x80 != 0 {
            return Err(Malformed::Reserved.into());
        }
        let spec = if plctl & 4 != 0 { s.uleb128(96)? } else { 0 };
        let cyct = if plctl & 8 != 0 { s.uleb128(96)? } else { 0 };
        if spec > self.unit.max_spec_depth.into() {
            return Err(Malformed::TraceInfo.into());
        }
        self.timestamp = 0;
        self.context = AnalyzerContext::default();
        self.address_history = [(0, SubIsa::Is0); 3];
        self.cc_threshold = if info & 1 == 1 { cyct as u64 } else { 0 };
        self.depth = spec;
        // An ETMv4 has no transactions.
        let in_transaction = self.unit.ete && info >> 6 & 1 == 1;
        if self.synchronised && self.t != in_transaction {
            return Err(Malformed::TraceInfo.into());
        }
        self.synchronised = true;
        // K10.5.2.6.2 does not set the transactional state, without which K10.5.2.4 cannot report
        // the failure of a transaction in which the trace begins.
        self.t = in_transaction;
        out.push(Element::TraceInfo { current_spec_depth: spec, in_transaction });
        Ok(())
    }

    /// A commit of `count` elements. (K10.5.2.8.2)
    fn commit(&mut self, count: u128, out: &mut Vec<Element>) -> Result<(), Stop> {
        self.depth = self.depth.checked_sub(count).ok_or(Malformed::Commit)?;
        out.push(Element::Commit(count));
        Ok(())
    }

    /// A cancel of `count` elements. (K10.5.2.8.4 to K10.5.2.8.6)
    fn cancel(&mut self, count: u128, out: &mut Vec<Element>) -> Result<(), Stop> {
        self.depth = self.depth.checked_sub(count).ok_or(Malformed::Cancel)?;
        out.push(Element::Cancel(count));
        Ok(())
    }

    /// `UpdateSpecDepth(1)`. (K10.5.2.18.3)
    fn update_depth(&mut self, out: &mut Vec<Element>) {
        self.depth += 1;
        let max = u128::from(self.unit.max_spec_depth);
        if self.depth > max {
            out.push(Element::Commit(self.depth - max));
            self.depth = max;
        }
    }

    /// `HandleAtom`. (K10.5.2.18.2)
    fn atom(&mut self, e: bool, out: &mut Vec<Element>) {
        out.push(Element::Atom { e });
        self.update_depth(out);
    }

    /// The atoms of Cancel packets of format 2 and of Mispredict packets. (K10.5.2.8.5,
    /// K10.5.2.9.2)
    fn some_atoms(&mut self, a: u8, out: &mut Vec<Element>) {
        let atoms: &[bool] = [&[][..], &[true], &[true, true], &[false]][usize::from(a)];
        for e in atoms {
            self.atom(*e, out);
        }
    }

    /// Atom packets. (K10.5.2.10)
    fn atoms(&mut self, header: u8, out: &mut Vec<Element>) {
        let each = |n: u8| (0..n).map(|i| header >> i & 1 == 1).collect::<Vec<_>>();
        let (e, n) = (true, false);
        let atoms = match header {
            0xf6 | 0xf7 => each(1),
            0xd8..=0xdb => each(2),
            0xf8..=0xff => each(3),
            0xdc => vec![n, e, e, e],
            0xdd => vec![n, n, n, n],
            0xde => vec![n, e, n, e],
            0xdf => vec![e, n, e, n],
            0xf5 => vec![n, e, e, e, e],
            0xd5 => vec![n, n, n, n, n],
            0xd6 => vec![n, e, n, e, n],
            0xd7 => vec![e, n, e, n, e],
            _ => {
                let mut atoms = vec![e; usize::from(header & 0x1f) + 3];
                atoms.push(header & 0x20 == 0);
                atoms
            }
        };
        for e in atoms {
            self.atom(e, out);
        }
    }

    /// Q packets. (K10.5.2.11)
    fn q(&mut self, kind: u8, s: &mut Bytes<'_>, out: &mut Vec<Element>) -> Result<(), Stop> {
        let (with_address, with_count) = match kind {
            0..=2 => (true, true),
            5 | 6 | 0xa | 0xb => (true, true),
            0xc => (false, true),
            0xf => (false, false),
            _ => return Err(Malformed::Reserved.into()),
        };
        if with_address {
            self.address(0x90 | kind, s)?;
        }
        let count = if with_count { Some(s.uleb128(32)? as u32) } else { None };
        out.push(Element::Q { count });
        self.update_depth(out);
        // K10.5.2.11.2 leaves out the address of an exact match, after K10.5.2.11.1 has pushed it.
        if with_address {
            out.push(self.target());
        }
        Ok(())
    }

    /// Source Address packets. (K10.5.2.12)
    fn source_address(
        &mut self,
        header: u8,
        s: &mut Bytes<'_>,
        out: &mut Vec<Element>,
    ) -> Result<(), Stop> {
        let (last, _) = self.address_history[0];
        let low = |s: &mut Bytes<'_>| -> Result<u64, Stop> {
            let byte = s.byte()?;
            if byte & 0x80 == 0 { Ok(byte.into()) } else { Err(Malformed::ShouldBeZero.into()) }
        };
        let short = |s: &mut Bytes<'_>| -> Result<(u64, u32), Stop> {
            let first = s.byte()?;
            if first & 0x80 == 0 {
                return Ok((first.into(), 7));
            }
            Ok((u64::from(first & 0x7f) | u64::from(s.byte()?) << 7, 15))
        };
        let replaced = |value: u64, bits: u32| last & !((1 << bits) - 1) | value;
        let entry = match header {
            0xb8 => {
                let address = low(s)? << 2 | low(s)? << 9 | s.pod(6)? << 16;
                (address, SubIsa::Is0)
            }
            0xb9 => (low(s)? << 1 | s.pod(7)? << 8, SubIsa::Is1),
            0xb6 => {
                let address = low(s)? << 2 | low(s)? << 9 | s.pod(2)? << 16;
                (replaced(address, 32), SubIsa::Is0)
            }
            0xb7 => (replaced(low(s)? << 1 | s.pod(3)? << 8, 32), SubIsa::Is1),
            0xb4 => {
                let (value, bits) = short(s)?;
                (replaced(value << 2, bits + 2), SubIsa::Is0)
            }
            0xb5 => {
                let (value, bits) = short(s)?;
                (replaced(value << 1, bits + 1), SubIsa::Is1)
            }
            _ => self.address_history[usize::from(header & 3)],
        };
        self.push(entry);
        // K10.5.2.12.1 updates the speculation depth first, which would commit before the element
        // is there. HandleAtom has the usual order.
        out.push(Element::SourceAddress(entry.0, entry.1));
        self.update_depth(out);
        Ok(())
    }

    /// Exception packets. (K10.5.2.13)
    fn exception(&mut self, s: &mut Bytes<'_>, out: &mut Vec<Element>) -> Result<(), Stop> {
        let payload = s.byte()?;
        let e = payload & 1 | (payload >> 6 & 1) << 1;
        // The text does not read bit 7. An ETMv4 has another form of the packet for it.
        if payload & 0x80 != 0 && !self.unit.ete || !matches!(e, 0b01 | 0b10) {
            return Err(Malformed::Reserved.into());
        }
        let kind = payload >> 1 & 0x1f;
        let header = s.byte()?;
        let (mut with_context, mut known) = (false, true);
        match header {
            0x82 | 0x83 | 0x85 | 0x86 => {
                with_context = true;
                self.long_address(header, s)?;
                self.context_bytes(s)?;
            }
            0x70 if self.unit.ete => {
                known = false;
                self.push((0, SubIsa::Is0));
            }
            _ => self.address(header, s)?,
        }
        if e == 0b10 {
            if with_context {
                out.push(Element::Context(self.context));
            }
            out.push(if known { self.target() } else { Element::UnknownTarget });
        }
        let failure = self.unit.ete && kind == 0b11000;
        if failure || self.unit.ete && kind == 0 && self.t {
            out.push(Element::TransactionFailure);
            self.t = false;
        }
        // A Transaction Failure is no P0 element (K10.5.3.3.1), though K10.5.2.13.2 updates the
        // speculation depth for it.
        if !failure {
            let address = known.then_some(self.address_history[0].0);
            out.push(Element::Exception { kind: kind.into(), address });
            self.update_depth(out);
        }
        Ok(())
    }

    fn target(&self) -> Element {
        let (address, sub_isa) = self.address_history[0];
        Element::TargetAddress(address, sub_isa)
    }

    fn push(&mut self, entry: Entry) {
        self.address_history = [entry, self.address_history[0], self.address_history[1]];
    }

    /// The address of any packet but those with a context. (K10.5.2.14.1)
    fn address(&mut self, header: u8, s: &mut Bytes<'_>) -> Result<(), Stop> {
        let (last, _) = self.address_history[0];
        match header {
            0x90..=0x92 => self.push(self.address_history[usize::from(header & 3)]),
            0x95 => {
                let data = s.bit_replacement(15, (last >> 2 & 0x7fff).into())? as u64;
                self.push((last & !0x1_ffff | data << 2, SubIsa::Is0));
            }
            0x96 => {
                let data = s.bit_replacement(15, (last >> 1 & 0x7fff).into())? as u64;
                self.push((last & !0xffff | data << 1, SubIsa::Is1));
            }
            0x9a | 0x9b | 0x9d | 0x9e => self.long_address(header, s)?,
            _ => return Err(Malformed::Reserved.into()),
        }
        Ok(())
    }

    /// `LongAddressBytes`. (K10.5.2.14.2)
    fn long_address(&mut self, header: u8, s: &mut Bytes<'_>) -> Result<(), Stop> {
        let high = self.address_history[0].0 & !0xffff_ffff;
        let mut low = || -> Result<u64, Stop> {
            let byte = s.byte()?;
            if byte & 0x80 == 0 { Ok(byte.into()) } else { Err(Malformed::ShouldBeZero.into()) }
        };
        let entry = match header & 7 {
            0b010 => (high | low()? << 2 | low()? << 9 | s.pod(2)? << 16, SubIsa::Is0),
            0b011 => (high | low()? << 1 | s.pod(3)? << 8, SubIsa::Is1),
            0b101 => (low()? << 2 | low()? << 9 | s.pod(6)? << 16, SubIsa::Is0),
            _ => (low()? << 1 | s.pod(7)? << 8, SubIsa::Is1),
        };
        self.push(entry);
        Ok(())
    }

    /// `ContextBytes`. (K10.5.2.14.9) An identifier of an ETE has 4 bytes, also where Table K10-1
    /// gives the size 0.
    fn context_bytes(&mut self, s: &mut Bytes<'_>) -> Result<(), Stop> {
        let payload = s.byte()?;
        if payload & 0b1100 != 0 {
            return Err(Malformed::ShouldBeZero.into());
        }
        let size = |bytes: u32| if self.unit.ete && bytes == 0 { 4 } else { bytes };
        if payload >> 6 & 1 == 1 {
            self.context.vmid = s.pod(size(self.unit.vmid_bytes))? as u32;
        }
        if payload >> 7 == 1 {
            self.context.context_id = s.pod(size(self.unit.context_id_bytes))? as u32;
        }
        self.context.exception_level = payload & 3;
        self.context.sixty_four_bit = payload >> 4 & 1 == 1;
        self.context.non_secure = payload >> 5 & 1 == 1;
        Ok(())
    }

    /// Cycle Count packets. (K10.5.2.16.2)
    fn cycle_count(
        &mut self,
        header: u8,
        s: &mut Bytes<'_>,
        out: &mut Vec<Element>,
    ) -> Result<(), Stop> {
        let commits = !self.unit.commit_mode_1;
        let (commit, count) = match header {
            0x0e | 0x0f => {
                let commit = if commits { s.uleb128(32)? as i128 } else { 0 };
                (commit, if header & 1 == 0 { Some(s.uleb128(20)? as u64) } else { None })
            }
            0x0c | 0x0d => {
                let payload = s.byte()?;
                let aaaa = i128::from(payload >> 4);
                let commit = match header & 1 {
                    1 => i128::from(self.unit.max_spec_depth) + aaaa - 15,
                    _ => aaaa + 1,
                };
                (commit, Some(u64::from(payload & 0xf)))
            }
            _ => (i128::from(header >> 2 & 3) + 1, Some(u64::from(header & 3))),
        };
        // K10.5.2.16.5 commits in commit mode 1, too, which contradicts the mode.
        if commits && commit != 0 {
            self.commit(u128::try_from(commit).map_err(|_| Malformed::Commit)?, out)?;
        }
        out.push(Element::CycleCount(count.map(|count| count + self.cc_threshold)));
        Ok(())
    }
}
