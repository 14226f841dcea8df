//! The contexts that execute the system whose files are known. The others are those of guests, of
//! firmware, and of the Secure world.

use tracewright_base::{Context, Security, Space};

use crate::conditions::Selection;

/// Which contexts execute the system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Host {
    /// All. On an Armv7 processor the system may itself be Secure.
    #[default]
    Any,
    /// EL0, EL1 and EL2 in Non-secure state.
    NonSecure,
    /// EL0 and EL2 in Non-secure state: the kernel executes at EL2. (FEAT_VHE) EL1 is a guest. So
    /// is EL0 that follows it without EL2 in between; other EL0 is the system, as what precedes it
    /// is not known.
    El2,
}

impl Host {
    /// Whether all code in `space` is outside of the system.
    pub fn excludes(self, space: Space) -> bool {
        let other_state = space.security().is_some_and(|state| state != Security::NonSecure);
        let guest = self == Host::El2 && space.el() == Some(1);
        self != Host::Any && (other_state || space.el() == Some(3) || guest)
    }

    /// Follows `context`: whether it is outside of the system. An exception level or a security
    /// state that is not known is that of the system.
    pub(crate) fn enter(self, selection: &mut Selection, context: &Context) {
        if self == Host::Any {
            return;
        }
        selection.outside = Host::NonSecure.excludes(context.space());
        selection.in_guest = false;
        if self == Host::El2 && !selection.outside {
            let vmid = Some(context.vmid.unwrap_or_default());
            match context.el {
                Some(1) => selection.guest = vmid,
                Some(0) if selection.guest == vmid => {}
                _ => selection.guest = None,
            }
            selection.outside = selection.guest.is_some();
            selection.in_guest = selection.outside;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows: exception level, security state, VMID, and whether the context is outside of a system
    /// with its kernel at EL1, and at EL2. (Linux commit 8d3031d39fe8, tools/perf/util/cs-etm.c,
    /// `cs_etm__get_machine`)
    #[test]
    fn levels_and_states_are_those_of_the_system() {
        use Security::*;
        let (mut any, mut el1, mut el2) =
            (Selection::default(), Selection::default(), Selection::default());
        for (el, security, vmid, want) in [
            (Some(0), Some(NonSecure), 7, (false, false)),
            (Some(2), Some(NonSecure), 7, (false, false)),
            (Some(1), Some(NonSecure), 7, (false, true)),
            (Some(0), Some(NonSecure), 7, (false, true)),
            // Firmware may be called in between.
            (Some(3), Some(Secure), 7, (true, true)),
            (Some(1), Some(Secure), 7, (true, true)),
            (Some(0), Some(NonSecure), 7, (false, true)),
            (Some(2), Some(NonSecure), 7, (false, false)),
            (Some(0), Some(NonSecure), 7, (false, false)),
            (Some(1), Some(NonSecure), 7, (false, true)),
            // Another thread of the host, where EL2 is not traced.
            (Some(0), Some(NonSecure), 8, (false, false)),
            (Some(0), Some(Secure), 8, (true, true)),
            (Some(1), Some(Security::Realm), 8, (true, true)),
            (Some(3), Some(Root), 8, (true, true)),
            (Some(3), None, 8, (true, true)),
            (None, None, 8, (false, false)),
            (None, Some(Secure), 8, (true, true)),
        ] {
            let context = Context { el, security, vmid: Some(vmid), ..Context::default() };
            Host::Any.enter(&mut any, &context);
            Host::NonSecure.enter(&mut el1, &context);
            Host::El2.enter(&mut el2, &context);
            assert_eq!((el1.outside, el2.outside), want, "{context:?}");
            assert!(!any.outside);
            let space = context.space();
            let excluded = [Host::Any, Host::NonSecure, Host::El2].map(|host| host.excludes(space));
            assert!(!excluded[0] && excluded[1] == want.0 && excluded[2] <= want.1, "{context:?}");
        }
    }
}
