//! Work on threads, whose results are received in order.

use std::sync::mpsc;
use std::thread;

/// Computes `make` of each of `items` on `threads` threads, and passes the results to `each` in the
/// order of the items, until it fails. A thread holds at most two results that were not passed.
///
/// # Errors
/// Those of `each`.
pub fn in_order<T: Sync, R: Send, E>(
    items: &[T],
    threads: usize,
    make: &(dyn Fn(&T) -> R + Sync),
    each: &mut dyn FnMut(&T, R) -> Result<(), E>,
) -> Result<(), E> {
    let threads = threads.min(items.len());
    if threads <= 1 {
        return items.iter().try_for_each(|item| each(item, make(item)));
    }
    thread::scope(|scope| {
        let results = (0..threads).map(|n| {
            let (to, results) = mpsc::sync_channel(1);
            let mut own = items.iter().skip(n).step_by(threads);
            // The receiver is dropped after an error.
            scope.spawn(move || own.try_for_each(|item| to.send(make(item))));
            results
        });
        let results: Vec<_> = results.collect();
        for (item, results) in items.iter().zip(results.iter().cycle()) {
            // A thread that panicked has no result: the panic continues at the end of the scope.
            let Ok(result) = results.recv() else { break };
            each(item, result)?;
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn results_are_in_order_until_one_is_refused() {
        let items: Vec<usize> = (0..100).collect();
        for threads in [0, 1, 2, 7, 200] {
            let made = AtomicUsize::new(0);
            let make = |n: &usize| {
                made.fetch_add(1, Ordering::Relaxed);
                n * n
            };
            let mut all = Vec::new();
            let done = in_order(&items, threads, &make, &mut |n, square| {
                all.push((*n, square));
                if *n == 40 { Err("enough") } else { Ok(()) }
            });
            assert_eq!(done, Err("enough"), "{threads}");
            assert!(all.iter().enumerate().all(|(n, own)| *own == (n, n * n)), "{threads}");
            assert_eq!(all.len(), 41, "{threads}");
            let most = 41 + 3 * threads.max(1);
            assert!(made.into_inner() <= most, "{threads}");
            let mut count = 0;
            let done: Result<(), ()> = in_order(&items, threads, &|n| *n, &mut |_, n| {
                assert_eq!(n, count);
                count += 1;
                Ok(())
            });
            assert_eq!((done, count), (Ok(()), 100));
        }
    }
}
