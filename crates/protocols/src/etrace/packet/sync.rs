//! Format 3: synchronisation, traps, contexts.

use super::fields::Fields;
use crate::etrace::config::{Compression, Params, TrapPacket, Version};

/// The privilege, context and time of an instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct PrivilegeContext {
    /// The privilege level: 0 U, 1 S, 3 M; with 3 bits 4 is D, 5 VU, 6 VS.
    pub privilege: u8,
    /// The time, if packets have it.
    pub time: u64,
    /// The context, if packets have it.
    pub context: u32,
}

impl PrivilegeContext {
    /// `privilege`, `time`, `context`. 0.026 has the context before, 1.0 no time.
    #[inline]
    fn fields<F: Fields>(mut self, f: &mut F, params: &Params) -> PrivilegeContext {
        let w = &params.widths;
        if params.is_draft() {
            self.context = f.uint("context", self.context.into(), w.context.into()) as u32;
        }
        self.privilege = f.byte("privilege", self.privilege, w.privilege.into());
        if matches!(params.version, Version::V2_0 | Version::V2_1) {
            self.time = f.uint("time", self.time, w.time.into());
        }
        if !params.is_draft() {
            self.context = f.uint("context", self.context.into(), w.context.into()) as u32;
        }
        self
    }
}

/// Sub-format 0: the full address of an instruction, and its privilege, context and time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Start {
    /// `false` only if `address` is a branch and it was taken. 0.026: `true` only if it is a branch
    /// and it was not taken.
    pub branch: bool,
    /// The privilege, context and time.
    pub privilege_context: PrivilegeContext,
    /// The address, without the bits below `iaddress_lsb`.
    pub address: u64,
}

impl Start {
    pub(super) fn fields<F: Fields>(mut self, f: &mut F, params: &Params) -> Start {
        if params.is_draft() {
            self.privilege_context = self.privilege_context.fields(f, params);
            self.branch = f.flag("branch", self.branch);
        } else {
            self.branch = f.flag("branch", self.branch);
            self.privilege_context = self.privilege_context.fields(f, params);
        }
        self.address = address(self.address, f, params, 0);
        self
    }
}

/// Sub-format 1: a trap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Trap {
    /// As in [`Start`].
    pub branch: bool,
    /// The privilege, context and time of the handler.
    pub privilege_context: PrivilegeContext,
    /// The cause, without its interrupt bit.
    pub ecause: u64,
    /// The trap is an interrupt.
    pub interrupt: bool,
    /// `thaddr`: the address is that of the handler, whose first instruction was retired. Else no
    /// instruction was retired, and the address is that of the exception if no other packet has it.
    pub thaddr: bool,
    /// The address, without the bits below `iaddress_lsb`. `None` if the cause
    /// determines it.
    pub address: Option<u64>,
    /// The trap value; 1.0: for illegal instructions their address.
    pub tval: Option<u64>,
}

impl Trap {
    pub(super) fn fields<F: Fields>(mut self, f: &mut F, params: &Params) -> Trap {
        let w = &params.widths;
        if params.is_draft() {
            self.privilege_context = self.privilege_context.fields(f, params);
            self.branch = f.flag("branch", self.branch);
            self.thaddr = true;
            self.address = Some(f.uint("address", self.address.unwrap_or(0), w.address()));
            self.ecause = f.uint("ecause", self.ecause, w.ecause.into());
            self.interrupt = f.flag("interrupt", self.interrupt);
        } else {
            self.branch = f.flag("branch", self.branch);
            self.privilege_context = self.privilege_context.fields(f, params);
            self.ecause = f.uint("ecause", self.ecause, w.ecause.into());
            self.interrupt = f.flag("interrupt", self.interrupt);
            self.thaddr = match params.choices.trap {
                TrapPacket::TvalEpc => true,
                TrapPacket::ThAddr => f.flag("thaddr", self.thaddr),
            };
            let implicit = params.options.implicit_exception && self.thaddr;
            let after = if self.has_tval(params) { w.tval.into() } else { 0 };
            self.address =
                (!implicit).then(|| address(self.address.unwrap_or_default(), f, params, after));
        }
        self.tval = self.has_tval(params).then(|| {
            let name = match params.choices.trap {
                TrapPacket::TvalEpc if !params.is_draft() => "tvalepc",
                _ => "tval",
            };
            f.uint(name, self.tval.unwrap_or(0), w.tval.into())
        });
        self
    }

    const fn has_tval(&self, params: &Params) -> bool {
        params.widths.tval > 0 && (params.choices.tval_always || !self.interrupt)
    }
}

/// Sub-format 2: the context alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ContextChange {
    /// The privilege, context and time, imprecisely from here on.
    pub privilege_context: PrivilegeContext,
}

impl ContextChange {
    pub(super) fn fields<F: Fields>(self, f: &mut F, params: &Params) -> ContextChange {
        ContextChange { privilege_context: self.privilege_context.fields(f, params) }
    }
}

/// A full address.
fn address<F: Fields>(value: u64, f: &mut F, params: &Params, after: u32) -> u64 {
    let width = params.widths.address();
    if params.choices.compression == Compression::Address {
        f.cut("address", value, width, after)
    } else {
        f.uint("address", value, width)
    }
}
