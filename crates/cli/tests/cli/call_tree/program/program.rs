//! A program with closures, trait objects, iterators, destructors, and panics that are caught.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU64, Ordering};

static SINK: AtomicU64 = AtomicU64::new(0);

struct Guard<'a>(&'a mut u64);

impl Drop for Guard<'_> {
    #[inline(never)]
    fn drop(&mut self) {
        *self.0 += 1;
    }
}

trait Shape {
    fn area(&self) -> u64;
}

struct Square(u64);
struct Many(Vec<Box<dyn Shape>>);

impl Shape for Square {
    #[inline(never)]
    fn area(&self) -> u64 {
        self.0 * self.0
    }
}

impl Shape for Many {
    #[inline(never)]
    fn area(&self) -> u64 {
        self.0.iter().map(|shape| shape.area()).sum()
    }
}

#[inline(never)]
fn recursive(n: u64, each: &mut dyn FnMut(u64)) -> u64 {
    each(n);
    if n < 2 { n } else { recursive(n - 1, each) + recursive(n - 2, each) }
}

#[inline(never)]
fn fails(n: u64, dropped: &mut u64) -> u64 {
    let _guard = Guard(dropped);
    if n == 0 { std::panic::panic_any(7u32) } else { 0 }
}

/// The panic passes frames with and without a destructor, and is caught in one of several frames of
/// the same function.
#[inline(never)]
fn deep(n: u64, dropped: &mut u64) -> u64 {
    if n == 3 {
        return match catch_unwind(AssertUnwindSafe(|| deep(n - 1, dropped))) {
            Ok(value) => value,
            Err(_) => 1,
        };
    }
    if n == 0 { fails(n, dropped) } else { deep(n - 1, dropped) + 1 }
}

#[inline(never)]
fn again(dropped: &mut u64) {
    let caught = catch_unwind(AssertUnwindSafe(|| fails(0, dropped)));
    if let Err(reason) = caught {
        resume_unwind(reason);
    }
}

/// A part of the program: a closure, a panic, a destructor.
#[no_mangle]
#[inline(never)]
pub extern "C" fn part() {
    let mut count = 0;
    let mut dropped = 0;
    let sum = recursive(6, &mut |n| count += n) + deep(5, &mut dropped);
    SINK.fetch_add(sum + count + dropped, Ordering::Relaxed);
}

#[no_mangle]
#[inline(never)]
pub extern "C" fn program() {
    part();
    let mut count = 0;
    let mut dropped = 0;
    let sum = recursive(9, &mut |n| count += n);
    let mut words: Vec<String> = (0..24u64).map(|n| format!("{}", n * 7919 % 101)).collect();
    words.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
    let shapes = Many(vec![Box::new(Square(3)), Box::new(Many(vec![Box::new(Square(4))]))]);
    let total = sum + shapes.area() + words.len() as u64 + deep(5, &mut dropped);
    let _ = catch_unwind(AssertUnwindSafe(|| again(&mut dropped)));
    SINK.store(total + dropped + count, Ordering::Relaxed);
}

fn main() {
    std::panic::set_hook(Box::new(|_| {}));
    program();
}
