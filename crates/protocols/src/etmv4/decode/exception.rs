//! Exceptions and transaction failures. (ETE K10.5.2.13)

use tracewright_base::{Element, Gap, Inconsistency, Sink, Spanned, Transaction};

use super::flow::Rules;
use super::window::What;
use super::{Config, Decoder, Exception, Packet, SubIsa};

impl Decoder {
    /// An Exception packet. The address packet after it is part of it.
    #[cold]
    pub(super) fn exception(&mut self, at: u64, e: Exception, config: &Config) {
        if e.unknown_address {
            self.history.unknown_address();
            if e.also_target {
                self.push(at, What::UnknownTarget);
            }
            self.push_exception(at, e, None, config);
        } else {
            self.exception = Some((at, e));
        }
    }

    /// The packet after an Exception packet, which has its address. With E=10 the address is also
    /// that of a Target Address element, and a context that of a Context element. With E=01 they
    /// only update the history: the address is not the target of a branch.
    #[cold]
    pub(super) fn complete_exception<S: Sink>(
        &mut self,
        p: &Spanned<&Packet>,
        config: &Config,
        rules: Rules,
        sink: &mut S,
    ) {
        let Some((at, e)) = self.exception.take() else { return };
        let info = match *p.packet {
            Packet::Address(address) => {
                self.history.complete(address);
                None
            }
            Packet::AddressContext(address, info) => {
                self.history.complete(address);
                self.history.set_context(&info);
                self.note_identifiers(&info);
                Some(info)
            }
            // In an ETE, this byte instead of the address is part of the Exception packet.
            Packet::Ignore if !config.is_ete() => {
                self.exception = Some((at, e));
                return;
            }
            _ => {
                self.drain(sink);
                self.lose();
                sink.element(p.at, Element::Inconsistency(Inconsistency::Unexpected));
                sink.element(p.at, Element::Gap(Gap::BadPacket));
                return self.start(*p, config, sink);
            }
        };
        let last = self.history.last();
        if e.also_target {
            if info.is_some() {
                self.context(at, info.as_ref(), rules);
            }
            self.push_target(at);
        }
        self.push_exception(at, e, Some(last.address), config);
    }

    /// The newest address of the history is the target of the last branch.
    fn push_target(&mut self, at: u64) {
        let last = self.history.last();
        let is1 = last.is() == SubIsa::Is1;
        self.push(at, What::Address { address: last.address, is1 });
    }

    fn push_exception(&mut self, at: u64, e: Exception, address: Option<u64>, config: &Config) {
        let Exception { number, also_target, .. } = e;
        if config.is_ete() && number == Exception::TRANSACTION_FAILURE {
            return self.fail_transaction(at);
        }
        if config.is_ete() && number == Exception::PE_RESET && self.in_transaction() {
            self.fail_transaction(at);
        }
        // Where no return address is defined for the type, the traced one has no meaning.
        let unknown = config.is_ete() && !also_target && Exception::has_unknown_return(number);
        let return_address = address.filter(|_| !unknown);
        self.push(at, What::Exception { number, return_address, also_target });
        self.depth = self.depth.saturating_add(1);
    }

    fn fail_transaction(&mut self, at: u64) {
        self.push(at, What::Transaction { step: Transaction::Failure, p0: false });
    }

    /// Whether the next element is inside a transaction.
    pub(super) fn in_transaction(&self) -> bool {
        self.newest_step().map_or(self.transaction, Transaction::opens)
    }

    /// Whether the start of the open transaction may have been cancelled with P0 elements that this
    /// decoder has not seen.
    pub(super) fn may_be_cancelled(&self) -> bool {
        self.start_unknown && self.newest_step().is_none_or(|step| step == Transaction::Inside)
    }

    /// The newest step of a transaction in the window.
    fn newest_step(&self) -> Option<Transaction> {
        self.window.iter().rev().find_map(|item| item.what.step())
    }
}
