//! The decode trees of all clients, by handle.

use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::{Arc, Mutex, PoisonError, TryLockError};

use tracewright_opencsd::client::codes::Error;

use crate::tree::Tree;

type Shared = Arc<Mutex<Tree>>;

/// The trees and the last handle. A handle is a number that was never used before, so one of a
/// destroyed tree, or of none, is recognised.
static TREES: Mutex<Option<(HashMap<usize, Shared>, usize)>> = Mutex::new(None);

fn trees<T>(change: impl FnOnce(&mut HashMap<usize, Shared>, &mut usize) -> T) -> T {
    let mut guard = TREES.lock().unwrap_or_else(PoisonError::into_inner);
    let (trees, last) = guard.get_or_insert_with(Default::default);
    change(trees, last)
}

/// Adds a tree and returns its handle.
pub fn add(tree: Tree) -> *mut c_void {
    trees(|trees, last| {
        // Handles look like aligned pointers, for clients that print or compare them.
        *last += 16;
        trees.insert(*last, Arc::new(Mutex::new(tree)));
        std::ptr::without_provenance_mut(*last)
    })
}

/// Removes a tree. A call that uses it goes on to its end.
pub fn remove(handle: *mut c_void) -> Option<Shared> {
    trees(|trees, _| trees.remove(&handle.addr()))
}

/// Calls `use_tree` with the tree of `handle`.
///
/// # Errors
/// `missing` where the handle has no tree; [`Error::FAIL`] where the tree is in use, by another
/// thread or by the call that called the client back.
pub fn with<T>(
    handle: *mut c_void,
    missing: Error,
    use_tree: impl FnOnce(&mut Tree) -> T,
) -> Result<T, Error> {
    let tree = trees(|trees, _| trees.get(&handle.addr()).cloned()).ok_or(missing)?;
    match tree.try_lock() {
        Ok(mut tree) => Ok(use_tree(&mut tree)),
        Err(TryLockError::Poisoned(poisoned)) => Ok(use_tree(&mut poisoned.into_inner())),
        Err(TryLockError::WouldBlock) => Err(Error::FAIL),
    }
}
