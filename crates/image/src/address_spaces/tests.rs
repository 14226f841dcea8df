use super::*;
use tracewright_base::Space as Any;

fn load(byte: u8, address: u64) -> Change {
    Change::Load(vec![Region::new(format!("{byte}"), address, vec![byte; 4])])
}

fn byte(spaces: &AddressSpaces, thread: Option<u32>, moment: u64, address: u64) -> Option<u8> {
    let image = spaces.image(spaces.memory(thread, moment));
    image.run(image.view(Any::ANY), address).first().copied()
}

#[test]
fn memory_changes_with_time() {
    let mut spaces = AddressSpaces::default();
    spaces.change(Some(7), 10, load(1, 0x100));
    spaces.change(Some(7), 20, load(2, 0x100));
    spaces.change(Some(7), 30, Change::Clear);
    spaces.change(Some(7), 30, load(3, 0x200));
    for (moment, address, want) in [
        // Before the first record, the first memory is used.
        (5, 0x100, Some(1)),
        (10, 0x100, Some(1)),
        (19, 0x100, Some(1)),
        (20, 0x100, Some(2)),
        // The program before the current one.
        (30, 0x100, Some(2)),
        (30, 0x200, Some(3)),
        // A later program, for what the buffer has after the moment of its record.
        (10, 0x200, Some(3)),
        (30, 0x300, None),
    ] {
        assert_eq!(byte(&spaces, Some(7), moment, address), want, "{moment} {address:#x}");
    }
    assert_eq!(byte(&spaces, Some(8), 20, 0x100), None);
}

#[test]
fn a_child_has_the_memory_of_its_parent_until_it_changes_its_own() {
    let mut spaces = AddressSpaces::default();
    spaces.change(Some(1), 10, load(1, 0x100));
    spaces.fork(1, 2, 20);
    spaces.add_thread(20, Thread { id: 2, process: 2, name: None });
    spaces.change(Some(1), 30, load(9, 0x100));
    spaces.change(Some(2), 40, load(2, 0x200));
    assert_eq!(byte(&spaces, Some(2), 50, 0x100), Some(1));
    assert_eq!(byte(&spaces, Some(2), 50, 0x200), Some(2));
    assert_eq!(byte(&spaces, Some(1), 50, 0x100), Some(9));
    assert_eq!(byte(&spaces, Some(1), 50, 0x200), None);
}

/// 100 mappings at 100 moments: the memory of each moment has all of them.
#[test]
fn images_of_too_many_regions_have_no_memory() {
    let mut spaces = AddressSpaces::default();
    (0..100).for_each(|n| spaces.change(Some(1), n, load(1, 4 * n)));
    assert!((0..11).all(|moment| byte(&spaces, Some(1), moment, 0) == Some(1)));
    assert!(!spaces.needed_too_many());
    assert_eq!(byte(&spaces, Some(1), 99, 0), None);
    assert!(spaces.needed_too_many());
    // An image that is in memory has its memory.
    assert_eq!(byte(&spaces, Some(1), 0, 0), Some(1));
}

/// Each image takes time for the 100 changes, which load one region.
#[test]
fn images_after_too_many_changes_have_no_memory() {
    let mut spaces = AddressSpaces::default();
    spaces.change(Some(1), 0, load(1, 0));
    (1..100).for_each(|n| spaces.change(Some(1), n, Change::Clear));
    assert!((0..11).all(|moment| byte(&spaces, Some(1), moment, 0) == Some(1)));
    assert_eq!(byte(&spaces, Some(1), 99, 0), None);
    assert!(spaces.needed_too_many());
}

#[test]
fn memory_that_is_not_known_is_no_change() {
    let mut spaces = AddressSpaces::default();
    (0..100).for_each(|n| spaces.change(Some(1), n, Change::Load(Vec::new())));
    let memory = spaces.memory(Some(1), 0);
    assert_eq!(spaces.memory(Some(1), 99), memory);
    assert_eq!(spaces.process(memory), Some(1));
    assert!(!spaces.changes_between(0, 99));
}

#[test]
fn threads_share_the_memory_of_their_process_and_all_see_the_kernel() {
    let mut spaces = AddressSpaces::default();
    spaces.change(Some(1), 10, load(1, 0x100));
    spaces.change(None, 10, load(5, 0xff00));
    spaces.change(None, 20, load(6, 0xff00));
    spaces.add_thread(5, Thread { id: 3, process: 1, name: Some("worker".into()) });
    for thread in [Some(1), Some(3)] {
        assert_eq!(byte(&spaces, thread, 10, 0x100), Some(1));
    }
    for thread in [None, Some(1), Some(4)] {
        assert_eq!(byte(&spaces, thread, 10, 0xff00), Some(5));
        assert_eq!(byte(&spaces, thread, 20, 0xff00), Some(6));
    }
    assert_eq!(byte(&spaces, None, 20, 0x100), None);
    assert_eq!(spaces.thread(3, 0).and_then(|t| t.name.clone()), Some("worker".into()));
}

#[test]
fn a_context_selects_the_thread() {
    let mut spaces = AddressSpaces::default();
    spaces.change(Some(1), 1, load(1, 0));
    spaces.change(Some(2), 1, load(2, 0));
    let spaces = Arc::new(spaces);
    let context = |context_id, vmid| Context { context_id, vmid, ..Context::default() };
    for (key, context, want) in [
        (ContextKey::ContextId, context(Some(2), Some(1)), Some(2)),
        (ContextKey::Vmid, context(Some(2), Some(1)), Some(1)),
        (ContextKey::Vmid, context(Some(2), None), Some(1)),
        (ContextKey::ContextId, context(Some(0), None), Some(1)),
    ] {
        let viewpoint = Viewpoint {
            spaces: Arc::clone(&spaces),
            key,
            host: Host::Any,
            thread: Some(1),
            moment: 9,
            clock: None,
        };
        let image = spaces.image(viewpoint.memory(&context));
        assert_eq!(image.run(image.view(Any::ANY), 0).first().copied(), want, "{context:?}");
    }
}

#[test]
fn timestamps_select_the_memory_of_their_time() {
    let mut spaces = AddressSpaces::default();
    spaces.change(Some(1), 10, load(1, 0));
    spaces.change(Some(1), 20, load(2, 0));
    spaces.change(Some(2), 30, load(3, 0));
    assert!(spaces.changes_between(10, 20) && spaces.changes_between(25, 30));
    assert!(!spaces.changes_between(20, 29) && !spaces.changes_between(30, 99));
    let spaces = Arc::new(spaces);
    // Two ticks are one nanosecond.
    let conversion = TimeConversion { shift: 1, multiplier: 1, zero: 0 };
    let clock = Some(Clock { conversion, since: 12 });
    let viewpoint = Viewpoint {
        spaces: Arc::clone(&spaces),
        key: ContextKey::ContextId,
        host: Host::NonSecure,
        thread: Some(1),
        moment: 40,
        clock,
    };
    let mut selection = viewpoint.begin();
    let byte = |selection: &Selection| {
        let image = spaces.image(selection.memory);
        image.run(image.view(Any::ANY), 0).first().copied()
    };
    assert_eq!(byte(&selection), Some(1));
    let time = |value| Element::Timestamp { value, cycles: None };
    let context = |id| Element::Context(Context { context_id: Some(id), ..Context::default() });
    for (element, want) in [
        (time(38), 1),
        (time(40), 2),
        (context(2), 3),
        (time(62), 3),
        (context(1), 2),
        // Not later than the record.
        (time(1000), 2),
    ] {
        viewpoint.follow(&mut selection, &element);
        assert_eq!(byte(&selection), Some(want), "{element:?}");
    }
}

/// The memory of a process is only that of the system's contexts; what was added for all is
/// that of every context.
#[test]
fn contexts_outside_of_the_system_have_added_memory_only() {
    let mut spaces = AddressSpaces::default();
    spaces.change(Some(1), 1, load(1, 0));
    spaces.change(None, 1, load(2, 8));
    spaces.change(None, 20, load(3, 8));
    spaces.add_image(None, vec![Region::new("added", 16, vec![4; 4])]);
    let spaces = Arc::new(spaces);
    let conversion = TimeConversion { shift: 0, multiplier: 1, zero: 0 };
    for clock in [None, Some(Clock { conversion, since: 2 })] {
        let viewpoint = Viewpoint {
            spaces: Arc::clone(&spaces),
            key: ContextKey::Vmid,
            host: Host::El2,
            thread: Some(1),
            moment: 9,
            clock,
        };
        let mut selection = viewpoint.begin();
        let context = |el| Context { el: Some(el), vmid: Some(1), ..Context::default() };
        let time = Element::Timestamp { value: 3, cycles: None };
        for (el, want) in [(2, Some(2)), (1, None), (0, None), (2, Some(2)), (3, None)] {
            viewpoint.follow(&mut selection, &Element::Context(context(el)));
            viewpoint.follow(&mut selection, &time);
            let image = spaces.image(selection.memory);
            let byte = |address| image.run(image.view(Any::ANY), address).first().copied();
            let process = want.map(|_| 1);
            assert_eq!((byte(0), byte(8), byte(16)), (process, want, Some(4)), "EL{el}");
            assert_eq!(spaces.process(selection.memory), process.map(u32::from), "EL{el}");
        }
        assert_eq!(viewpoint.memory(&context(1)), MemoryId::OUTSIDE);
    }
}

#[test]
fn added_memory_is_over_all_other_in_its_process() {
    let mut spaces = AddressSpaces::default();
    spaces.change(Some(1), 1, load(1, 0));
    spaces.change(None, 1, load(2, 8));
    assert_eq!(byte(&spaces, Some(1), 9, 0), Some(1));
    let image = |byte: u8, address| vec![Region::new("added", address, vec![byte; 4])];
    spaces.add_image(Some(7), image(5, 0));
    spaces.add_image(None, image(6, 0));
    spaces.add_image(None, image(7, 8));
    // The program that a process executes later does not hide it.
    spaces.change(Some(1), 5, Change::Clear);
    spaces.change(Some(1), 5, load(8, 0));
    for (thread, want) in [(Some(1), (6, 7)), (Some(7), (5, 7)), (None, (6, 7))] {
        let found = [0, 8].map(|address| byte(&spaces, thread, 9, address));
        assert_eq!(found, [Some(want.0), Some(want.1)], "{thread:?}");
    }
    let copy = spaces.clone();
    assert_eq!(byte(&copy, Some(7), 9, 0), Some(5));
}

/// The images that are in memory are bounded, and made again when they are needed.
#[test]
fn images_are_made_again() {
    let mut spaces = AddressSpaces::default();
    let processes = MAX_IMAGES as u32 + 4;
    for process in 0..processes {
        spaces.change(Some(process), 0, load(process as u8, 0));
    }
    for process in (0..processes).chain(0..processes) {
        assert_eq!(byte(&spaces, Some(process), 0, 0), Some(process as u8));
        assert!(spaces.images.lock().unwrap().images.len() <= MAX_IMAGES);
    }
}
