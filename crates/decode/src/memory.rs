//! A capture's dumps as program memory.

use std::sync::Arc;

use tracewright_base::{Context, Element, Isa, Profile, Space, Waypoints};
use tracewright_capture::{Capture, Dump, Form, Source};
use tracewright_image::{
    AddressSpaces, Cache, CacheOptions, Change, Classify, Conditions, ContextKey, Elf, Host, Image,
    LiveMemory, Load, MAX_CONDITIONAL, Module, ModuleFile, ReadMemory, Region, Segment, Selection,
    SpaceMask, Symbol, Symbols, Thread, Viewpoint, machine_name,
};

/// Program memory for each source of a capture.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    /// The image of all sources, where no two dumps contradict each other.
    shared: Option<Arc<Image>>,
    /// The memory of all sources, where there are dumps with conditions.
    spaces: Option<Arc<AddressSpaces>>,
    /// How many bytes of trace a byte of the files of the capture stands for, rounded up.
    unpacked: u64,
    /// Memory that a caller reads, and regions that it has added, above the dumps.
    live: Option<Arc<LiveMemory>>,
    added: Vec<Region>,
    /// What classifies the instructions of a source, by its index in the capture.
    classifiers: Vec<(usize, Arc<dyn Classify>)>,
    /// With these, the image of each source.
    own: Vec<Arc<Image>>,
    /// Why dumps could not be used, one line each.
    pub problems: Vec<String>,
}

impl Memory {
    /// Reads the dumps of `capture`.
    pub fn new(capture: &Capture) -> Memory {
        let mut problems = Vec::new();
        let dumps: Vec<_> = capture.memory.iter().filter(|d| d.bytes.is_some()).collect();
        let (one, unpacked) = (capture.one_memory(), capture.unpacked());
        if dumps.iter().any(|dump| !dump.when.is_always()) {
            let spaces = Arc::new(conditional(capture, &dumps, &mut problems));
            let spaces = one.then_some(spaces);
            return Memory { spaces, unpacked, problems, ..Memory::default() };
        }
        let image = Arc::new(image(capture, &dumps, &mut problems));
        Memory { shared: one.then_some(image), unpacked, problems, ..Memory::default() }
    }

    /// How many bytes of trace a byte of the files of the capture stands for.
    pub(crate) fn unpacked(&self) -> u64 {
        self.unpacked
    }

    /// The same, where what the dumps of `capture` lack is read by `reader`. Sources whose memory
    /// depends on more than the context, such as those of perf, are not affected.
    #[must_use]
    pub fn with_reader(mut self, capture: &Capture, reader: Arc<dyn ReadMemory>) -> Memory {
        self.live = Some(Arc::new(LiveMemory::new(reader)));
        self.overlay(capture);
        self
    }

    /// The same, where `classifier` knows the instructions of the processor of source `source`.
    /// Sources whose memory depends on more than the context, such as those of perf, are not
    /// affected.
    #[must_use]
    pub fn with_classifier(
        mut self,
        capture: &Capture,
        source: usize,
        classifier: Arc<dyn Classify>,
    ) -> Memory {
        self.classifiers.retain(|(own, _)| *own != source);
        self.classifiers.push((source, classifier));
        self.overlay(capture);
        self
    }

    /// Replaces the regions above the dumps of `capture`. Sessions have the memory that they were
    /// made with, until [`Session::set_memory`](crate::Session::set_memory).
    pub fn set_regions(&mut self, capture: &Capture, regions: Vec<Region>) {
        self.added = regions;
        self.overlay(capture);
    }

    /// Forgets what was read: the target has changed its code. Sessions have the memory that they
    /// were made with, until [`Session::set_memory`](crate::Session::set_memory).
    pub fn forget_read(&mut self, capture: &Capture) {
        if let Some(live) = &self.live {
            live.forget();
            self.overlay(capture);
        }
    }

    /// The memory that a caller reads.
    pub fn live(&self) -> Option<&Arc<LiveMemory>> {
        self.live.as_ref()
    }

    /// Makes the image of each source.
    fn overlay(&mut self, capture: &Capture) {
        let mut known: Vec<(Overlay, Arc<Image>)> = Vec::new();
        self.own.clear();
        for (n, source) in capture.sources.iter().enumerate() {
            let classifier = self.classifiers.iter().find(|(of, _)| *of == n);
            let overlay = Overlay {
                dumps: self.dumps_of(capture, source),
                reads: self.live.as_ref().and_then(|live| live.source(n)),
                classifier: classifier.map(|(_, classifier)| Arc::clone(classifier)),
            };
            // Sources with the same memory have the same image, and share a cache.
            let same = known.iter().find(|(own, _)| own.is(&overlay));
            let image = same.map(|(_, image)| Arc::clone(image)).unwrap_or_else(|| {
                let Overlay { dumps, classifier, .. } = &overlay;
                let live = self.live.as_ref().map(|live| live.regions(n)).unwrap_or_default();
                let regions = live.into_iter().chain(dumps.regions().iter().cloned());
                let image = Image::new(regions.chain(self.added.iter().cloned()));
                let image = image.with_symbols(dumps.symbols());
                Arc::new(match classifier {
                    Some(classifier) => image.with_classifier(Arc::clone(classifier)),
                    None => image,
                })
            });
            known.push((overlay, Arc::clone(&image)));
            self.own.push(image);
        }
    }

    /// The memory of `source`, where there are dumps with conditions.
    fn spaces(&self, capture: &Capture, source: &Source) -> Option<Arc<AddressSpaces>> {
        if self.spaces.is_some() || self.shared.is_some() {
            return self.spaces.clone();
        }
        let dumps = capture.images_for(source);
        let any = dumps.iter().any(|dump| !dump.when.is_always());
        any.then(|| Arc::new(conditional(capture, &dumps, &mut Vec::new())))
    }

    /// The program memory of the source with index `source` in the buffer with index `buffer`.
    pub fn seen_by(&self, capture: &Capture, buffer: usize, source: usize) -> Program {
        let linux = capture.linux.as_ref();
        match (linux.and_then(|linux| linux.viewpoint(buffer, source)), capture.sources.get(source))
        {
            (Some(viewpoint), _) => Program::Spaces(viewpoint),
            (None, Some(source)) => match self.spaces(capture, source) {
                Some(spaces) => {
                    let (key, host) = (ContextKey::ContextId, Host::Any);
                    let (thread, moment, clock) = (None, 0, None);
                    Program::Spaces(Viewpoint { spaces, key, host, thread, moment, clock })
                }
                None => Program::Image(self.of(capture, source)),
            },
            (None, None) => Program::Image(Arc::default()),
        }
    }

    /// The program memory of `source`.
    pub fn of(&self, capture: &Capture, source: &Source) -> Arc<Image> {
        let n = capture.sources.iter().position(|own| std::ptr::eq(own, source));
        match n.and_then(|n| self.own.get(n)) {
            Some(own) => Arc::clone(own),
            None => self.dumps_of(capture, source),
        }
    }

    fn dumps_of(&self, capture: &Capture, source: &Source) -> Arc<Image> {
        match &self.shared {
            Some(shared) => Arc::clone(shared),
            None => Arc::new(image(capture, &capture.images_for(source), &mut Vec::new())),
        }
    }
}

/// What the image of a source is made of, beside the regions that all have.
struct Overlay {
    dumps: Arc<Image>,
    /// The source, where the memory that is read depends on it.
    reads: Option<usize>,
    classifier: Option<Arc<dyn Classify>>,
}

impl Overlay {
    fn is(&self, other: &Overlay) -> bool {
        let pointer = |overlay: &Overlay| overlay.classifier.as_ref().map(Arc::as_ptr);
        let same = match (pointer(self), pointer(other)) {
            (Some(one), Some(other)) => std::ptr::addr_eq(one, other),
            (one, other) => one.is_none() && other.is_none(),
        };
        same && Arc::ptr_eq(&self.dumps, &other.dumps) && self.reads == other.reads
    }
}

/// The files of program memory that regions of images refer to ([`Region::module`]).
pub fn modules(capture: &Capture) -> Vec<ModuleFile> {
    if let Some(linux) = &capture.linux {
        return linux.spaces.modules().to_vec();
    }
    let modules = capture.memory.iter().map(|dump| {
        let load = Load::default();
        let elf = dump.bytes.as_ref().filter(|_| dump.form == Form::Elf);
        let elf = elf.and_then(|bytes| Elf::read(bytes, dump.name.as_str(), load).ok());
        let segment = Segment {
            address: dump.address,
            offset: dump.offset,
            file_size: dump.bytes.as_ref().map_or(0, |bytes| bytes.len() as u64),
            memory_size: 0,
            executable: true,
        };
        ModuleFile {
            path: dump.file.clone(),
            build_id: elf.as_ref().and_then(|elf| elf.build_id.clone()),
            found: dump.bytes.is_some().then(|| dump.path.clone()),
            content: dump.bytes.clone(),
            debug: None,
            symbols: Arc::new(elf.as_ref().map(|elf| elf.symbols.clone()).unwrap_or_default()),
            segments: elf.as_ref().map_or_else(|| vec![segment], |elf| elf.segments.clone()),
            movable: elf.is_some_and(|elf| elf.movable),
            kernel: false,
        }
    });
    modules.collect()
}

/// The program memory of one source in one buffer.
#[derive(Clone, Debug)]
pub enum Program {
    /// The same for each context, at all times.
    Image(Arc<Image>),
    /// It depends on the context, on time, or on what the program selects.
    Spaces(Viewpoint),
}

impl Program {
    /// An empty cache of blocks that end at `waypoints`.
    pub fn cache(&self, waypoints: Waypoints, options: CacheOptions) -> Cache {
        match self {
            Program::Image(image) => Cache::new(Arc::clone(image), waypoints, options),
            Program::Spaces(viewpoint) => {
                Cache::of_viewpoint(viewpoint.clone(), waypoints, options)
            }
        }
    }

    /// As [`cache`](Program::cache), from the cache of the same source in another buffer.
    pub fn cache_from(
        &self,
        before: Option<Cache>,
        waypoints: Waypoints,
        options: CacheOptions,
    ) -> Cache {
        if let (Some(mut cache), Program::Spaces(viewpoint)) = (before, self)
            && cache.move_to(viewpoint)
        {
            return cache;
        }
        self.cache(waypoints, options)
    }

    /// The memory at the beginning of the buffer.
    pub fn start(&self) -> Arc<Image> {
        match self {
            Program::Image(image) => Arc::clone(image),
            Program::Spaces(viewpoint) => viewpoint.spaces.image(viewpoint.start()),
        }
    }

    /// The selection of the memory at the beginning of the buffer.
    pub fn begin(&self) -> Selection {
        match self {
            Program::Image(_) => Selection::default(),
            Program::Spaces(viewpoint) => viewpoint.begin(),
        }
    }

    /// Follows what `element` selects, and what an executed range selects. Returns whether it is
    /// other memory.
    #[inline]
    pub fn follow(&self, selection: &mut Selection, element: &Element) -> bool {
        match self {
            Program::Image(_) => false,
            Program::Spaces(viewpoint) => viewpoint.follow(selection, element),
        }
    }

    /// The memory of `selection`, where it is not always the same.
    pub fn image_of(&self, selection: &Selection) -> Option<Arc<Image>> {
        match self {
            Program::Image(_) => None,
            Program::Spaces(viewpoint) => Some(viewpoint.spaces.image(selection.memory)),
        }
    }

    /// Whether the execution of a range may select other memory.
    pub fn watches_addresses(&self) -> bool {
        matches!(self, Program::Spaces(viewpoint) if viewpoint.watches_addresses())
    }

    /// The symbol of `address` in `image`, one of this program's.
    pub fn symbol<'a>(&'a self, image: &'a Image, address: u64) -> Option<Symbol<'a>> {
        match self {
            Program::Image(_) => image.symbols().at(address),
            Program::Spaces(viewpoint) => {
                let module = image.region(image.view(Space::ANY), address)?.module()?;
                let file = viewpoint.spaces.modules().get(module.index as usize)?;
                let symbol = file.symbols.at(address.wrapping_sub(module.bias))?;
                Some(Symbol { start: symbol.start.wrapping_add(module.bias), ..symbol })
            }
        }
    }

    /// The path of the file that `address` of `image`, one of this program's, is mapped from.
    pub fn file<'a>(&'a self, image: &Image, address: u64) -> Option<&'a str> {
        let Program::Spaces(viewpoint) = self else { return None };
        let module = image.region(image.view(Space::ANY), address)?.module()?;
        viewpoint.spaces.modules().get(module.index as usize).map(|file| file.path.as_str())
    }

    /// The thread that executes in `context`, where it is known.
    pub fn thread(&self, context: &Context) -> Option<&Thread> {
        match self {
            Program::Image(_) => None,
            Program::Spaces(viewpoint) => viewpoint.thread(context),
        }
    }
}

/// Overlays `dumps`: where two overlap, the earlier one is used.
fn image(capture: &Capture, dumps: &[&Dump], problems: &mut Vec<String>) -> Image {
    let mut regions = Vec::new();
    let mut symbols = Vec::new();
    for dump in dumps.iter().rev() {
        regions.extend(loaded(capture, dump, &mut symbols, problems));
    }
    let symbols = Symbols::new(symbols.iter().flat_map(Symbols::iter));
    Image::new(regions).with_symbols(&symbols)
}

/// The memory of `dumps`, of which some have conditions: they hide the others.
fn conditional(capture: &Capture, dumps: &[&Dump], problems: &mut Vec<String>) -> AddressSpaces {
    let mut spaces = AddressSpaces::default();
    for module in modules(capture) {
        spaces.add_module(module);
    }
    let (mut always, mut conditions) = (Vec::new(), Conditions::default());
    let mut refused = 0;
    for dump in dumps.iter().rev() {
        let regions = loaded(capture, dump, &mut Vec::new(), problems);
        if dump.when.is_always() {
            always.extend(regions);
        } else if !conditions.add(dump.when.clone(), regions) {
            refused += 1;
        }
    }
    if refused > 0 {
        problems.push(format!(
            "{refused} images are not used: more than {MAX_CONDITIONAL} have conditions"
        ));
    }
    spaces.change(None, 0, Change::Load(always));
    spaces.set_conditions(conditions);
    spaces
}

/// The regions of a dump. Its symbols are added to `symbols`.
fn loaded(
    capture: &Capture,
    dump: &Dump,
    symbols: &mut Vec<Symbols>,
    problems: &mut Vec<String>,
) -> Vec<Region> {
    let Some(bytes) = dump.bytes.clone() else { return Vec::new() };
    let index = capture.memory.iter().position(|own| std::ptr::eq(own, dump));
    let module = Module { index: index.unwrap_or(0) as u32, bias: dump.address };
    let spaces = match spaces(dump) {
        Ok(spaces) => spaces,
        Err(problem) => {
            problems.push(format!("{}: {problem}; it is used for every space", dump.name));
            SpaceMask::ANY
        }
    };
    match dump.form {
        Form::Raw => {
            let region = Region::new(dump.name.as_str(), dump.address, bytes).within(spaces);
            vec![region.of_module(Module { bias: 0, ..module })]
        }
        Form::Elf => {
            let load = Load { bias: dump.address, spaces, ..Load::default() };
            match Elf::read(&bytes, dump.name.as_str(), load) {
                Ok(elf) => {
                    if let Some(why) = foreign(capture, elf.machine) {
                        problems.push(format!("{}: {why}", dump.name));
                        return Vec::new();
                    }
                    symbols.push(elf.symbols);
                    elf.regions.into_iter().map(|region| region.of_module(module)).collect()
                }
                Err(error) => {
                    problems.push(format!("{}: {error}", dump.name));
                    Vec::new()
                }
            }
        }
    }
}

/// The machines of ELF files whose code a trace unit traces: none stated, Arm, AArch64, RISC-V.
/// (System V gABI, "ELF Header", `e_machine`)
const TRACED: [u16; 4] = [0, ARM, AARCH64, RISCV];
const ARM: u16 = 40;
const AARCH64: u16 = 183;
const RISCV: u16 = 243;

/// Why the code of an ELF file of `machine` is not used: no source of `capture` traces such a
/// processor. `None` where one does, or may.
pub fn foreign(capture: &Capture, machine: u16) -> Option<String> {
    let isas = |source: &Source| {
        let protocol = capture.protocols.named(&source.device_type);
        let isas = protocol.map(|protocol| protocol.about().isas);
        isas.filter(|isas| !isas.is_empty())
    };
    let executes = |source: &Source, isas: &[Isa]| {
        let core = capture.core_type(source);
        let is_small = core.is_some_and(|core| core.profile == Profile::Microcontroller);
        match machine {
            ARM => isas.contains(&Isa::T32),
            AARCH64 => isas.contains(&Isa::A64) && !is_small,
            RISCV => isas.contains(&Isa::Rv32),
            _ => machine == 0,
        }
    };
    let mut traced = capture.sources.iter().filter_map(|source| Some((source, isas(source)?)));
    let first = traced.clone().next();
    if TRACED.contains(&machine)
        && (first.is_none() || traced.any(|(source, isas)| executes(source, isas)))
    {
        return None;
    }
    let traced = match first {
        Some((source, isas)) if isas.contains(&Isa::Rv32) => {
            format!("{} traces RISC-V", source.name)
        }
        Some((source, _)) => match capture.core(source).filter(|core| !core.device_type.is_empty())
        {
            Some(core) => format!("{} traces {}", source.name, core.device_type),
            None => format!("{} traces Arm", source.name),
        },
        None => "no trace unit traces it".to_owned(),
    };
    let machine = machine_name(machine);
    Some(format!("it is a program of another processor, {machine}, and is not used: {traced}"))
}

fn spaces(dump: &Dump) -> Result<SpaceMask, tracewright_image::UnknownSpace> {
    let mut masks = dump.spaces.iter().map(|word| word.parse::<SpaceMask>());
    let Some(first) = masks.next() else { return Ok(SpaceMask::ANY) };
    masks.try_fold(first?, |all, mask| Ok(all | mask?))
}
