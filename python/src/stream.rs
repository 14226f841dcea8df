//! What another thread makes, a part at a time.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use tracewright_columns::{Query, Stop, TableError};

/// Parts that are made before they are taken.
const AHEAD: usize = 4;
/// How long a signal such as Ctrl-C may wait.
const WAIT: Duration = Duration::from_millis(50);

/// A part, or the error that ends the parts.
type Part<T> = Result<T, TableError>;

/// Begins to make parts. `make` passes each to the function that it receives, which returns whether
/// more are wanted. The query is stopped when the parts are dropped.
pub(crate) fn begin<T: Send + 'static>(
    mut query: Query,
    make: impl FnOnce(&Query, &mut dyn FnMut(T) -> bool) -> Result<(), TableError> + Send + 'static,
) -> PyResult<Parts<T>> {
    let stop = Stop::default();
    query.stop = stop.clone();
    let (give, take): (SyncSender<Part<T>>, _) = sync_channel(AHEAD);
    let work = move || {
        let done = make(&query, &mut |part| give.send(Ok(part)).is_ok());
        if let Err(error) = done {
            // Without a receiver nobody wants the error.
            let _ = give.send(Err(error));
        }
    };
    let started = thread::Builder::new().name("tracewright".to_owned()).spawn(work);
    let unstarted = |error| PyRuntimeError::new_err(format!("cannot start a thread: {error}"));
    started.map_err(unstarted)?;
    Ok(Parts { receiver: Mutex::new(Some(take)), stop })
}

/// The result of `work`, which another thread does. Other threads of Python execute meanwhile.
/// After a signal its result is dropped; `work` receives what is then set, and may end early.
pub(crate) fn wait<T: Send + 'static, E: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce(&Stop) -> Result<T, E> + Send + 'static,
    failed: impl FnOnce(Python<'_>, E) -> PyErr,
) -> PyResult<T> {
    let parts = begin(Query::default(), move |query, put| {
        put(work(&query.stop));
        Ok(())
    })?;
    match parts.next(py)? {
        Some(done) => done.map_err(|error| failed(py, error)),
        None => Err(PyRuntimeError::new_err("the thread that decodes has ended")),
    }
}

/// Parts for objects of Python.
pub(crate) struct Parts<T> {
    receiver: Mutex<Option<Receiver<Part<T>>>>,
    stop: Stop,
}

impl<T: Send + 'static> Parts<T> {
    /// The next part; `None` at the end. Other threads of Python execute meanwhile, and a signal
    /// raises its exception.
    pub(crate) fn next(&self, py: Python<'_>) -> PyResult<Option<T>> {
        loop {
            match py.detach(|| self.wait(WAIT)) {
                Ok(Ok(part)) => return Ok(Some(part)),
                Ok(Err(error)) => {
                    self.close();
                    return Err(crate::errors::table(py, &error));
                }
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
                Err(RecvTimeoutError::Timeout) => {
                    if let Err(signal) = py.check_signals() {
                        self.close();
                        return Err(signal);
                    }
                }
            }
        }
    }

    /// The next part; `None` at the end. It may be called without the lock of Python.
    pub(crate) fn next_detached(&self) -> Option<Part<T>> {
        let own = self.receiver.lock().unwrap_or_else(PoisonError::into_inner);
        own.as_ref()?.recv().ok()
    }

    fn wait(&self, time: Duration) -> Result<Part<T>, RecvTimeoutError> {
        let own = self.receiver.lock().unwrap_or_else(PoisonError::into_inner);
        own.as_ref().map_or(Err(RecvTimeoutError::Disconnected), |parts| parts.recv_timeout(time))
    }

    fn close(&self) {
        self.stop.stop();
        self.receiver.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

impl<T> Drop for Parts<T> {
    fn drop(&mut self) {
        self.stop.stop();
    }
}
