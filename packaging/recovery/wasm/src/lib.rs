//! The recovery engine as a WebAssembly module without imports, for any host that has linear memory:
//!
//! 1. `tradepost_reserve(length)` makes room for a request of this many bytes and returns its address, or 0 when it is
//!    too long. The host writes the request there: an input of `vectors/vector.schema.json`, in UTF-8.
//! 2. `tradepost_advise()` returns the length of the answer, an output of that schema.
//! 3. `tradepost_answer()` returns its address. The answer stays until the next request.
//!
//! A module is used by one caller at a time.

#![expect(
    unsafe_code,
    reason = "a name that the host can call is an unsafe attribute; nothing here is unsafe"
)]

use std::sync::{Mutex, MutexGuard, PoisonError};

use tradepost_recovery::document::advise_json;

/// Longest request, in bytes: an answer of the largest size that is read, with every byte escaped, and some more.
const MAX_REQUEST: usize = 64 * 1024 * 1024;

static REQUEST: Mutex<Vec<u8>> = Mutex::new(Vec::new());

static ANSWER: Mutex<String> = Mutex::new(String::new());

/// Makes room for a request of this many bytes; null when it is too long.
#[unsafe(no_mangle)]
pub extern "C" fn tradepost_reserve(length: usize) -> *mut u8 {
    if length > MAX_REQUEST {
        return std::ptr::null_mut();
    }
    let mut request = held(&REQUEST);
    request.clear();
    request.resize(length, 0);
    request.as_mut_ptr()
}

/// Answers the request and returns the length of the answer, in bytes.
#[unsafe(no_mangle)]
pub extern "C" fn tradepost_advise() -> usize {
    // Its memory is given back with the answer.
    let request = std::mem::take(&mut *held(&REQUEST));
    let mut answer = held(&ANSWER);
    *answer = advise_json(&request);
    answer.len()
}

/// Returns the address of the answer.
#[unsafe(no_mangle)]
pub extern "C" fn tradepost_answer() -> *const u8 {
    held(&ANSWER).as_ptr()
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
