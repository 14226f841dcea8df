//! Program memory that depends on the context, on time, and on what the program selects: images
//! that are loaded at the same addresses. (IHI 0014, chapter 9, "Tracing Dynamically Loaded
//! Images")

use tracewright_base::{Access, Context, Direction, Element, Range};

use crate::memory_id::MemoryId;
use crate::region::Region;

/// The most images with conditions.
pub const MAX_CONDITIONAL: usize = 64;

/// When an image is in memory. The default is always.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct When {
    /// In one of these contexts: context ID, or process ID. Empty: in any.
    pub contexts: Vec<u32>,
    /// In one of these virtual machines. Empty: in any.
    pub vmids: Vec<u32>,
    /// From this timestamp on: the value of [`Element::Timestamp`], in ticks.
    pub from: Option<u64>,
    /// Before this timestamp: the value of [`Element::Timestamp`], in ticks.
    pub until: Option<u64>,
    /// While it is selected.
    pub overlay: Option<Overlay>,
}

/// An image that the program selects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overlay {
    /// The name of the place in memory. An image that is selected replaces the others of its place.
    pub place: String,
    /// The execution of the instruction at this address selects the image.
    pub address: Option<u64>,
    /// A write of this value to this data address selects the image.
    pub write: Option<(u64, u64)>,
    /// The image is selected at the beginning.
    pub initial: bool,
}

impl When {
    /// Whether the image is always in memory.
    pub fn is_always(&self) -> bool {
        *self == When::default()
    }

    fn holds(&self, selection: &Selection, number: usize) -> bool {
        let among =
            |ids: &[u32], id: Option<u32>| ids.is_empty() || id.is_some_and(|id| ids.contains(&id));
        among(&self.contexts, selection.context_id)
            && among(&self.vmids, selection.vmid)
            && self.from.is_none_or(|from| selection.time >= from)
            && self.until.is_none_or(|until| selection.time < until)
            && (self.overlay.is_none() || selection.chosen >> number & 1 != 0)
    }
}

/// What selects the memory of a source. Before the first timestamp, time is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Selection {
    /// The memory.
    pub memory: MemoryId,
    pub(crate) context_id: Option<u32>,
    pub(crate) vmid: Option<u32>,
    /// The value of the last [`Element::Timestamp`], in ticks.
    pub(crate) time: u64,
    /// The selected overlays: bit n is set for image n.
    pub(crate) chosen: u64,
    /// The context is not of the system: see [`Host`](crate::Host).
    pub(crate) outside: bool,
    /// The context is of a guest of the system.
    pub(crate) in_guest: bool,
    /// The VMID of the guest whose EL1 was entered last, until the host's EL2.
    pub(crate) guest: Option<u32>,
}

/// Images with conditions.
#[derive(Clone, Debug, Default)]
pub struct Conditions {
    images: Vec<(When, Vec<Region>)>,
    times: bool,
    writes: bool,
    addresses: bool,
}

impl Conditions {
    /// Adds an image, which hides those before it. `false`: there are [`MAX_CONDITIONAL`] already,
    /// and it is not added.
    pub fn add(&mut self, when: When, regions: Vec<Region>) -> bool {
        if self.images.len() >= MAX_CONDITIONAL {
            return false;
        }
        self.times |= when.from.is_some() || when.until.is_some();
        let overlay = when.overlay.as_ref();
        self.writes |= overlay.is_some_and(|overlay| overlay.write.is_some());
        self.addresses |= overlay.is_some_and(|overlay| overlay.address.is_some());
        self.images.push((when, regions));
        true
    }

    /// Whether there are no images.
    pub fn is_empty(&self) -> bool {
        self.images.is_empty()
    }

    /// The selection at the beginning.
    pub(crate) fn begin(&self) -> Selection {
        let mut selection = Selection::default();
        for (n, (when, _)) in self.images.iter().enumerate() {
            if when.overlay.as_ref().is_some_and(|overlay| overlay.initial) {
                selection.chosen |= 1 << n;
            }
        }
        self.settle(&mut selection);
        selection
    }

    /// Whether executed instructions may select other memory.
    pub(crate) fn watches_addresses(&self) -> bool {
        self.addresses
    }

    /// Whether `element` may select other memory, other than by its address.
    pub(crate) fn watches(&self, element: &Element) -> bool {
        match element {
            Element::Context(_) => true,
            Element::Timestamp { .. } => self.times,
            Element::DataAccess(_) => self.writes,
            _ => false,
        }
    }

    /// Follows what an element selects.
    pub(crate) fn follow(&self, selection: &mut Selection, element: &Element) {
        match element {
            Element::Context(Context { context_id, vmid, .. }) => {
                (selection.context_id, selection.vmid) = (*context_id, *vmid);
            }
            Element::Timestamp { value, .. } if self.times => selection.time = *value,
            Element::DataAccess(access) if self.writes => self.written(selection, access),
            Element::Range(Range { start, bytes, .. }) => {
                return self.executed(selection, *start, *bytes);
            }
            _ => return,
        }
        self.settle(selection);
    }

    /// Follows what the execution of `bytes` bytes of code from `start` on selects.
    pub(crate) fn executed(&self, selection: &mut Selection, start: u64, bytes: u32) {
        if !self.addresses {
            return;
        }
        for (n, (when, _)) in self.images.iter().enumerate() {
            let address = when.overlay.as_ref().and_then(|overlay| overlay.address);
            if address.is_some_and(|address| address.wrapping_sub(start) < u64::from(bytes)) {
                self.choose(selection, n);
            }
        }
        self.settle(selection);
    }

    fn written(&self, selection: &mut Selection, access: &Access) {
        let (Direction::Write, Some(address), Some(value)) =
            (access.direction, access.address(), access.value())
        else {
            return;
        };
        for (n, (when, _)) in self.images.iter().enumerate() {
            if when.overlay.as_ref().is_some_and(|its| its.write == Some((address, value))) {
                self.choose(selection, n);
            }
        }
    }

    /// Selects image `n` in place of the others of its place.
    fn choose(&self, selection: &mut Selection, n: usize) {
        let place = |n: usize| Some(&self.images.get(n)?.0.overlay.as_ref()?.place);
        for other in 0..self.images.len() {
            if place(other).is_some() && place(other) == place(n) {
                selection.chosen &= !(1 << other);
            }
        }
        selection.chosen |= 1 << n;
    }

    fn settle(&self, selection: &mut Selection) {
        let mut visible = 0;
        for (n, (when, _)) in self.images.iter().enumerate() {
            visible |= u64::from(when.holds(selection, n)) << n;
        }
        selection.memory = MemoryId::of_images(visible);
    }

    /// The regions of the images that `memory` has, the lowest first.
    pub(crate) fn regions(&self, memory: MemoryId) -> impl Iterator<Item = &Region> {
        let visible = memory.images().unwrap_or(0);
        let images = self.images.iter().enumerate().filter(move |(n, _)| visible >> n & 1 != 0);
        images.flat_map(|(_, (_, regions))| regions)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tracewright_base::{Counted, Instruction, Isa, Last};

    fn visible(conditions: &Conditions, selection: &Selection) -> Vec<u64> {
        conditions.regions(selection.memory).map(Region::start).collect()
    }

    fn conditions(all: impl IntoIterator<Item = When>) -> Conditions {
        let mut conditions = Conditions::default();
        for (n, when) in all.into_iter().enumerate() {
            let region = Region::new("image", n as u64, vec![0; 4]);
            assert!(conditions.add(when, vec![region]));
        }
        conditions
    }

    fn write(address: u64, value: u64) -> Element {
        let access = Access::new(Direction::Write, 4, 0);
        Element::DataAccess(access.at(address).of(value))
    }

    #[test]
    fn contexts_and_times_select_images() {
        let of = |contexts: &[u32], vmids: &[u32], from, until| When {
            contexts: contexts.to_vec(),
            vmids: vmids.to_vec(),
            from,
            until,
            overlay: None,
        };
        let conditions = conditions([
            of(&[5], &[], None, None),
            of(&[6, 7], &[], None, None),
            of(&[7], &[1], None, None),
            of(&[], &[], None, Some(100)),
            of(&[], &[], Some(100), Some(200)),
            of(&[5], &[], Some(200), None),
        ]);
        let mut selection = conditions.begin();
        assert_eq!(visible(&conditions, &selection), [3]);
        let context =
            |context_id, vmid| Element::Context(Context { context_id, vmid, ..Context::default() });
        let time = |value| Element::Timestamp { value, cycles: None };
        for (element, want) in [
            (context(Some(5), None), &[0, 3][..]),
            (time(99), &[0, 3]),
            (time(100), &[0, 4]),
            (time(200), &[0, 5]),
            (context(Some(7), None), &[1]),
            (context(Some(7), Some(1)), &[1, 2]),
            (context(None, Some(1)), &[]),
            // Time may go back: another buffer.
            (time(0), &[3]),
        ] {
            conditions.follow(&mut selection, &element);
            assert_eq!(visible(&conditions, &selection), want, "{element:?}");
        }
    }

    #[test]
    fn a_selected_overlay_replaces_the_others_of_its_place() {
        let overlay = |place: &str, address, write, initial| When {
            overlay: Some(Overlay { place: place.into(), address, write, initial }),
            ..When::default()
        };
        let conditions = conditions([
            overlay("a", Some(0x1004), None, true),
            overlay("a", None, Some((0x2000, 1)), false),
            overlay("b", Some(0x1008), Some((0x2000, 2)), false),
        ]);
        let mut selection = conditions.begin();
        assert_eq!(visible(&conditions, &selection), [0]);
        let range = |start, bytes| {
            let nop = Instruction { size: 4, isa: Isa::A64, ..Instruction::default() };
            let (last, cycles) = (Last::new(&nop, true), Counted::of(0));
            Element::Range(Range { start, bytes, instructions: bytes / 4, cycles, last })
        };
        for (element, want) in [
            (write(0x2000, 3), &[0][..]),
            (write(0x2000, 1), &[1]),
            (range(0x1008, 4), &[1, 2]),
            (range(0x0ff8, 12), &[1, 2]),
            (range(0x0ff8, 16), &[0, 2]),
            (write(0x2000, 2), &[0, 2]),
        ] {
            conditions.follow(&mut selection, &element);
            assert_eq!(visible(&conditions, &selection), want, "{element:?}");
        }
    }

    #[test]
    fn the_number_of_images_is_limited() {
        let mut conditions = Conditions::default();
        for _ in 0..MAX_CONDITIONAL {
            assert!(conditions.add(When { from: Some(1), ..When::default() }, Vec::new()));
        }
        assert!(!conditions.add(When::default(), Vec::new()));
    }
}
