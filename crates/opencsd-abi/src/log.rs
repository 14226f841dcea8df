//! Messages: errors of the library, and what its printers print.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::fs::File;
use std::io::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tracewright_opencsd::client::codes::Error;

/// Receives a message for the client's context.
pub type PrintText = unsafe extern "C" fn(*const c_void, *const c_char, c_int);

/// A client's function for messages.
#[derive(Clone, Copy, Debug)]
pub struct Printer {
    /// The function.
    pub function: PrintText,
    /// What it is called with.
    pub context: *const c_void,
}

// SAFETY: the client states, by passing them, that function and context may be used where its tree
// is used; a tree is used by one thread at a time.
unsafe impl Send for Printer {}

/// Output to a file.
const TO_FILE: c_int = 1;
/// Output to standard error.
const TO_STDERR: c_int = 2;
/// Output to standard output.
const TO_STDOUT: c_int = 4;

/// The name of the log file where the client gives none.
const DEFAULT_FILE: &str = "ocsd_trace_decode.log";

/// The severity of an error.
pub const SEVERITY_ERROR: u32 = 1;

/// An error with its position.
#[derive(Clone, Debug)]
pub struct Logged {
    /// The error.
    pub error: Error,
    /// The offset in the trace, where it has one.
    pub at: Option<u64>,
    /// The trace ID, where it has one.
    pub id: Option<u8>,
    /// What happened.
    pub message: String,
}

impl Logged {
    /// The text in the form of OpenCSD's messages.
    pub fn text(&self) -> String {
        let (name, meaning) = self.error.text();
        let mut text = format!("0x{:04x} ({name}) [{meaning}]; ", self.error.0);
        if let Some(at) = self.at {
            text += &format!("TrcIdx={at}; ");
        }
        if let Some(id) = self.id {
            text += &format!("CS ID={id:02x}; ");
        }
        text + &self.message
    }
}

/// What the functions without a tree set: OpenCSD has one logger for all trees.
#[derive(Debug, Default)]
struct Settings {
    severity: u32,
    /// The logger has an output.
    has_output: bool,
    flags: c_int,
    file_name: Option<std::path::PathBuf>,
    file: Option<File>,
    /// The function for messages that was set last.
    printer: Option<Printer>,
    last: Option<Logged>,
}

/// The settings for all trees. The interface has no handle for them.
static SETTINGS: Mutex<Option<Settings>> = Mutex::new(None);

fn settings<T>(change: impl FnOnce(&mut Settings) -> T) -> T {
    let mut guard: MutexGuard<'_, Option<Settings>> =
        SETTINGS.lock().unwrap_or_else(PoisonError::into_inner);
    change(
        guard.get_or_insert_with(|| Settings { severity: SEVERITY_ERROR, ..Settings::default() }),
    )
}

/// Sets the least severe errors that are logged, and creates an output.
pub fn init(severity: u32, output: bool) {
    settings(|settings| {
        settings.severity = severity;
        if output {
            (settings.has_output, settings.flags) = (true, TO_STDERR);
            (settings.file, settings.file_name) = (None, None);
        }
    });
}

/// Sets where messages go.
pub fn configure(flags: c_int, file_name: Option<&CStr>) -> Error {
    settings(|settings| {
        if !settings.has_output {
            return Error::NOT_INIT;
        }
        settings.flags = flags & (TO_FILE | TO_STDERR | TO_STDOUT);
        if let Some(name) = file_name {
            let name = name.to_string_lossy();
            settings.file = None;
            if name.is_empty() {
                settings.flags &= !TO_FILE;
            } else {
                settings.flags |= TO_FILE;
                settings.file_name = Some(name.as_ref().into());
            }
        }
        Error::OK
    })
}

/// Records the function for messages that was set last.
pub fn set_printer(printer: Option<Printer>) -> Error {
    settings(|settings| {
        if !settings.has_output {
            return Error::NOT_INIT;
        }
        settings.printer = printer;
        Error::OK
    })
}

/// Forgets a function that belongs to a tree which is destroyed.
pub fn forget(printer: Printer) {
    settings(|settings| {
        let same = |own: &Printer| {
            std::ptr::eq(own.context, printer.context)
                && std::ptr::fn_addr_eq(own.function, printer.function)
        };
        if settings.printer.as_ref().is_some_and(same) {
            settings.printer = None;
        }
    });
}

/// Writes a message to the outputs that are set, and to the function of a tree.
pub fn message(own: Option<&Printer>, text: &str) {
    let has_output = settings(|settings| {
        if !settings.has_output {
            return false;
        }
        // A message that cannot be written is lost: there is nobody to report it to.
        if settings.flags & TO_STDOUT != 0 {
            standard_output::write(text);
        }
        if settings.flags & TO_STDERR != 0 {
            let _ = std::io::stderr().write_all(text.as_bytes());
        }
        if settings.flags & TO_FILE != 0 {
            if settings.file.is_none() {
                let name = settings.file_name.clone().unwrap_or_else(|| DEFAULT_FILE.into());
                settings.file = File::options().create(true).append(true).open(name).ok();
            }
            if let Some(file) = &mut settings.file {
                let _ = file.write_all(text.as_bytes());
            }
        }
        true
    });
    // The client's function is called without the lock, because it may call the library.
    if has_output && let Some(printer) = own {
        print(printer, text);
    }
}

/// Writes a message of the client to all outputs.
pub fn message_of_client(text: &str) {
    let printer = settings(|settings| settings.printer);
    message(printer.as_ref(), text);
}

fn print(printer: &Printer, text: &str) {
    let text: Vec<u8> = text.bytes().filter(|&byte| byte != 0).collect();
    let len = text.len() as c_int;
    if let Ok(text) = CString::new(text) {
        // SAFETY: the client passed this function with this context, and the text ends with a zero.
        unsafe { (printer.function)(printer.context, text.as_ptr(), len) };
    }
}

/// Logs an error of a component.
pub fn error(own: Option<&Printer>, component: &str, logged: Logged) {
    let text = format!("{component} : {}", logged.text());
    let wanted = settings(|settings| {
        let wanted = settings.severity >= SEVERITY_ERROR;
        if wanted {
            settings.last = Some(logged);
        }
        wanted
    });
    if wanted {
        message(own, &text);
    }
}

/// The last error.
pub fn last() -> Option<Logged> {
    settings(|settings| settings.last.clone())
}

/// The standard output of the C library, in whose buffer a client's own lines may wait: they are
/// before the messages that follow them.
#[cfg(any(target_os = "linux", target_os = "freebsd", target_os = "macos"))]
mod standard_output {
    use std::ffi::{c_int, c_void};
    use std::sync::atomic::{AtomicPtr, Ordering};

    unsafe extern "C" {
        #[cfg_attr(target_os = "linux", link_name = "stdout")]
        #[cfg_attr(not(target_os = "linux"), link_name = "__stdoutp")]
        static STDOUT: AtomicPtr<c_void>;
        fn fwrite(bytes: *const c_void, size: usize, count: usize, file: *mut c_void) -> usize;
        fn fflush(file: *mut c_void) -> c_int;
    }

    /// Writes `text` behind what the client has written.
    pub fn write(text: &str) {
        // SAFETY: the variable is a pointer of the C library, which the client may set; its stream
        // is open, or writing to it fails. `text` has as many bytes.
        unsafe {
            let out = STDOUT.load(Ordering::Relaxed);
            if !out.is_null() {
                fwrite(text.as_ptr().cast(), 1, text.len(), out);
                fflush(out);
            }
        }
    }
}

/// Standard output without the buffer of a C library.
#[cfg(not(any(target_os = "linux", target_os = "freebsd", target_os = "macos")))]
mod standard_output {
    use std::io::Write;

    /// Writes `text`.
    pub fn write(text: &str) {
        let mut out = std::io::stdout();
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    }
}
