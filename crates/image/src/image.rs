//! Program memory.

use std::ops::RangeInclusive;
use std::sync::Arc;

use tracewright_base::{Security, Space};

use crate::bytes::Bytes;
use crate::classify::Classify;
use crate::elf::{Elf, ElfError, Load};
use crate::flat::{Flat, Interval};
use crate::region::Region;
use crate::space::SpaceMask;
use crate::symbols::Symbols;

/// Program memory: regions, of which a later one hides an earlier one where they overlap.
///
/// An image is immutable. If memory changes, another image is made [`with`](Image::with) regions on
/// top, and each [`Cache`](crate::Cache) gets it. A clone of an image copies no bytes.
#[derive(Clone, Debug)]
pub struct Image {
    regions: Vec<Region>,
    symbols: Symbols,
    classifier: Option<Arc<dyn Classify>>,
    version: u64,
    /// One for each distinct set of visible regions.
    views: Vec<Flat>,
    /// Index in `views` by [`Space::index`].
    view_of: [u8; Space::COUNT],
}

/// The memory that a [`Space`] sees. Spaces with the same memory have the same view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct View(u8);

impl View {
    /// The view of memory that has no others.
    pub const ONLY: View = View(0);

    /// The view as a number below 32.
    pub const fn number(self) -> u8 {
        self.0
    }
}

/// Two regions that overlap and hold different bytes there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// Index of the visible region.
    pub upper: usize,
    /// Index of the region that it hides.
    pub lower: usize,
    /// The addresses of both.
    pub overlap: RangeInclusive<u64>,
    /// The first address where they differ.
    pub differs: u64,
}

/// All spaces.
fn spaces() -> impl Iterator<Item = Space> {
    use Security::*;
    let security = [None, Some(Secure), Some(NonSecure), Some(Root), Some(Realm)];
    security.into_iter().flat_map(|security| {
        [None, Some(0), Some(1), Some(2), Some(3)]
            .into_iter()
            .map(move |el| Space::new(el, security))
    })
}

impl Image {
    /// The memory of `regions`. A later region hides an earlier one where they overlap; it does not
    /// hide it in its own gaps.
    pub fn new(regions: impl IntoIterator<Item = Region>) -> Image {
        Image::build(regions.into_iter().collect(), Symbols::default(), 0)
    }

    /// The memory and the symbols of one ELF file, with `bias` added to its addresses.
    /// [`Elf::read`] has more options.
    ///
    /// # Errors
    /// [`ElfError`] if the file has no usable memory.
    pub fn from_elf(file: &Bytes, name: &str, bias: u64) -> Result<Image, ElfError> {
        let elf = Elf::read(file, name, Load { bias, ..Load::default() })?;
        Ok(Image::build(elf.regions, elf.symbols, 0))
    }

    /// The same memory with `regions` on top, as the next version.
    #[must_use]
    pub fn with(&self, regions: impl IntoIterator<Item = Region>) -> Image {
        let regions = self.regions.iter().cloned().chain(regions).collect();
        let image = Image::build(regions, self.symbols.clone(), self.version + 1);
        Image { classifier: self.classifier.clone(), ..image }
    }

    /// The same memory with additional symbols. The version is the same: code did not change.
    #[must_use]
    pub fn with_symbols(self, symbols: &Symbols) -> Image {
        Image { symbols: self.symbols.and(symbols), ..self }
    }

    /// The same memory, of a processor whose instructions `classifier` knows.
    #[must_use]
    pub fn with_classifier(self, classifier: Arc<dyn Classify>) -> Image {
        Image { classifier: Some(classifier), ..self }
    }

    fn build(regions: Vec<Region>, symbols: Symbols, version: u64) -> Image {
        let mut view_of = [0; Space::COUNT];
        let mut seen: Vec<Vec<Interval>> = Vec::new();
        for space in spaces() {
            let mask = SpaceMask::of(space);
            let visible = regions.iter().zip(0..).filter(|(r, _)| r.spaces().meets(mask));
            let visible: Vec<_> = visible
                .filter_map(|(r, item)| Some(Interval { start: r.start(), last: r.last()?, item }))
                .collect();
            let view = seen.iter().position(|same| *same == visible).unwrap_or_else(|| {
                seen.push(visible);
                seen.len() - 1
            });
            view_of[space.index()] = view as u8;
        }
        let views = seen.into_iter().map(Flat::new).collect();
        Image { regions, symbols, classifier: None, version, views, view_of }
    }

    /// The number of changes since the first image.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// All regions, the lowest first.
    pub fn regions(&self) -> &[Region] {
        &self.regions
    }

    /// The symbols.
    pub fn symbols(&self) -> &Symbols {
        &self.symbols
    }

    /// What classifies instructions that are not those of the architecture.
    #[inline]
    pub fn classifier(&self) -> Option<&dyn Classify> {
        self.classifier.as_deref()
    }

    /// The view of `space`.
    #[inline]
    pub fn view(&self, space: Space) -> View {
        View(self.view_of[space.index()])
    }

    /// The visible region at `address`.
    pub fn region(&self, view: View, address: u64) -> Option<&Region> {
        let interval = self.views.get(usize::from(view.0))?.find(address)?;
        self.regions.get(interval.item as usize)
    }

    /// Bytes from `address` on, at least one, without a copy. They end before the next visible
    /// region, or earlier. Empty if the memory is not known.
    pub fn run(&self, view: View, address: u64) -> &[u8] {
        let Some(interval) = self.views.get(usize::from(view.0)).and_then(|v| v.find(address))
        else {
            return &[];
        };
        let Some(region) = self.regions.get(interval.item as usize) else { return &[] };
        let run = region.run(address);
        let room = usize::try_from(interval.last - address).unwrap_or(usize::MAX);
        run.get(..room.saturating_add(1)).unwrap_or(run)
    }

    /// Reads memory into `out` from `address` on, across regions; after the top of `mask` follows
    /// address 0. Returns the number of known bytes.
    pub fn read(&self, view: View, address: u64, mask: u64, out: &mut [u8]) -> usize {
        let mut done = 0;
        while let Some(rest) = out.get_mut(done..).filter(|rest| !rest.is_empty()) {
            let at = address.wrapping_add(done as u64) & mask;
            let run = self.run(view, at);
            let to_top = usize::try_from(mask - at).unwrap_or(usize::MAX).saturating_add(1);
            let len = run.len().min(rest.len()).min(to_top);
            let (Some(to), Some(from), 1..) = (rest.get_mut(..len), run.get(..len), len) else {
                break;
            };
            to.copy_from_slice(from);
            done += len;
        }
        done
    }

    /// The regions that overlap in a common space with different bytes: one conflict for each pair
    /// of regions. It compares all hidden bytes.
    pub fn conflicts(&self) -> Vec<Conflict> {
        let mut order: Vec<usize> = (0..self.regions.len()).collect();
        order.sort_by_key(|&i| self.regions.get(i).map(Region::start));
        let mut conflicts = Vec::new();
        let mut open: Vec<(usize, &Region, u64)> = Vec::new();
        for i in order {
            let Some(region) = self.regions.get(i) else { continue };
            let Some(last) = region.last() else { continue };
            open.retain(|&(_, _, last)| last >= region.start());
            for &(j, other, other_last) in &open {
                let overlap = region.start()..=last.min(other_last);
                if !region.spaces().meets(other.spaces()) {
                    continue;
                }
                if let Some(differs) = difference(region, other, overlap.clone()) {
                    conflicts.push(Conflict { upper: i.max(j), lower: i.min(j), overlap, differs });
                }
            }
            open.push((i, region, last));
        }
        conflicts.sort_by_key(|c| (c.upper, c.lower));
        conflicts
    }
}

/// An image without memory.
impl Default for Image {
    fn default() -> Self {
        Image::new([])
    }
}

/// The first address where two regions hold different bytes.
fn difference(a: &Region, b: &Region, overlap: RangeInclusive<u64>) -> Option<u64> {
    let mut at = *overlap.start();
    loop {
        let left = usize::try_from(*overlap.end() - at).unwrap_or(usize::MAX).saturating_add(1);
        let (a, b) = (a.run(at), b.run(at));
        let len = a.len().min(b.len()).min(left);
        let (a, b) = (a.get(..len)?, b.get(..len)?);
        if a != b {
            let same = a.iter().zip(b).take_while(|(a, b)| a == b).count();
            return Some(at.wrapping_add(same as u64));
        }
        at = at.checked_add(len as u64).filter(|at| overlap.contains(at) && len > 0)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MASK: u64 = u64::MAX;
    const ANY: Space = Space::ANY;

    fn space(el: u8, security: Security) -> Space {
        Space::new(Some(el), Some(security))
    }

    fn bytes(image: &Image, space: Space, address: u64, len: usize) -> Vec<u8> {
        let mut out = vec![0xaa; len];
        let read = image.read(image.view(space), address, MASK, &mut out);
        out.truncate(read);
        out
    }

    #[test]
    fn a_later_region_hides_an_earlier_one_except_in_its_gaps() {
        let image = Image::new([
            Region::new("low", 0x100, vec![1; 8]),
            Region::new("over", 0x102, vec![2; 2]),
            Region::new("over", 0x106, vec![3; 4]),
        ]);
        assert_eq!(bytes(&image, ANY, 0x100, 16), [1, 1, 2, 2, 1, 1, 3, 3, 3, 3]);
        assert_eq!(bytes(&image, ANY, 0xff, 16), []);
        assert_eq!(bytes(&image, ANY, 0x10a, 16), []);
        let view = image.view(ANY);
        assert_eq!(image.region(view, 0x103).map(Region::name), Some("over"));
        assert_eq!(image.region(view, 0x104).map(Region::name), Some("low"));
        // A run ends before the next visible region.
        assert_eq!(image.run(view, 0x100), [1, 1]);
        assert_eq!(image.run(view, 0x107), [3, 3, 3]);
    }

    #[test]
    fn an_overlay_is_another_image() {
        let before = Image::new([Region::new("code", 0x100, vec![1; 8])]);
        let after = before.with([Region::new("patch", 0x104, vec![2; 8])]);
        assert_eq!(bytes(&before, ANY, 0x100, 16), [1; 8]);
        assert_eq!(bytes(&after, ANY, 0x100, 16), [1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2]);
        assert_eq!((before.version(), after.version()), (0, 1));
    }

    #[test]
    fn each_space_has_its_own_memory() {
        use Security::*;
        let image = Image::new([
            Region::new("el1", 0, vec![1]).within(SpaceMask::EL1N),
            Region::new("el2", 0, vec![2]).within(SpaceMask::EL2N),
            Region::new("secure", 0, vec![3]).within(SpaceMask::SECURE),
            Region::new("realm", 0, vec![4]).within(SpaceMask::REALM),
            Region::new("all", 1, vec![5]),
        ]);
        for (space, want) in [
            (space(0, NonSecure), &[1, 5][..]),
            (space(1, NonSecure), &[1, 5]),
            (space(2, NonSecure), &[2, 5]),
            (space(1, Secure), &[3, 5]),
            (space(3, Secure), &[3, 5]),
            (space(3, NonSecure), &[3, 5]),
            (space(2, Realm), &[4, 5]),
            (space(3, Root), &[]),
            (Space::new(None, Some(NonSecure)), &[2, 5]),
            (Space::new(Some(2), None), &[4, 5]),
            (ANY, &[4, 5]),
        ] {
            assert_eq!(bytes(&image, space, 0, 4), want, "{space}");
        }
        assert_eq!(bytes(&image, space(3, Root), 1, 4), [5]);
        assert_eq!(image.view(space(0, NonSecure)), image.view(space(1, NonSecure)));
        assert_ne!(image.view(space(2, NonSecure)), image.view(space(1, NonSecure)));
    }

    #[test]
    fn spaces_with_the_same_memory_share_a_view() {
        let image = Image::new([Region::new("a", 0, vec![1]), Region::new("b", 8, vec![2])]);
        assert!(spaces().all(|space| image.view(space) == image.view(ANY)));
    }

    #[test]
    fn reads_cross_regions_and_wrap_at_the_top() {
        let image = Image::new([
            Region::new("a", 0x100, vec![1, 2]),
            Region::new("b", 0x102, vec![3, 4]),
            Region::new("zeros", 0x104, vec![]),
            Region::zeros("bss", 0x104, 3),
            Region::new("top", 0xffff_fffe, vec![5, 6, 7]),
            Region::new("bottom", 0, vec![8, 9]),
        ]);
        assert_eq!(bytes(&image, ANY, 0x101, 8), [2, 3, 4, 0, 0, 0]);
        let mut out = [0; 4];
        assert_eq!(image.read(image.view(ANY), 0xffff_fffe, 0xffff_ffff, &mut out), 4);
        assert_eq!(out, [5, 6, 8, 9]);
        assert_eq!(image.read(image.view(ANY), 0xffff_fffe, u64::MAX, &mut out), 3);
    }

    #[test]
    fn conflicts_are_overlaps_with_different_bytes() {
        let image = Image::new([
            Region::new("a", 0x10, vec![0, 1, 2, 3]),
            Region::new("same", 0x12, vec![2, 3, 4, 5]),
            Region::new("differs", 0x13, vec![3, 4, 6]),
            Region::new("elsewhere", 0x10, vec![9]).within(SpaceMask::EL3),
            Region::new("unseen", 0x10, vec![8]).within(SpaceMask::EL2N),
            Region::zeros("zeros", 0x10, 1).within(SpaceMask::EL2N),
        ]);
        let conflicts: Vec<_> = image.conflicts().into_iter().collect();
        let found: Vec<_> = conflicts
            .iter()
            .map(|c| (c.upper, c.lower, *c.overlap.start(), *c.overlap.end(), c.differs))
            .collect();
        assert_eq!(
            found,
            [
                (2, 1, 0x13, 0x15, 0x15),
                (3, 0, 0x10, 0x10, 0x10),
                (4, 0, 0x10, 0x10, 0x10),
                (5, 4, 0x10, 0x10, 0x10),
            ]
        );
    }
}
