//! What the fuzz targets share: a folder for files, and a limit on what an input may cost.

use std::alloc::{GlobalAlloc, Layout, System};
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use tempfile::TempDir;

/// A folder for the files of this process, in memory where there is such a place.
pub fn scratch() -> &'static Path {
    static FOLDER: OnceLock<TempDir> = OnceLock::new();
    let make = || {
        let memory = Path::new("/dev/shm");
        let made = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
        made.expect("a folder")
    };
    FOLDER.get_or_init(make).path()
}

/// What an input may cost: so many bytes whatever it is, and so many for each byte of it.
#[derive(Clone, Copy)]
pub struct Allowance {
    pub always: usize,
    pub for_each_byte: usize,
}

impl Allowance {
    /// Does `work` with an input of `length` bytes, and panics if more memory was in use meanwhile than is allowed for it.
    pub fn hold<Answer>(self, length: usize, work: impl FnOnce() -> Answer) -> Answer {
        let before = IN_USE.load(Relaxed);
        MOST.store(before, Relaxed);
        let answer = work();
        let took = MOST.load(Relaxed).saturating_sub(before);
        let allowed = self.always + self.for_each_byte * length;
        assert!(took <= allowed, "{length} bytes took {took} bytes of memory, where {allowed} are allowed");
        answer
    }
}

static IN_USE: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static COUNTED: Counted = Counted;

/// The system's allocator, with an eye on how much is in use.
struct Counted;

impl Counted {
    fn took(bytes: usize) {
        MOST.fetch_max(IN_USE.fetch_add(bytes, Relaxed) + bytes, Relaxed);
    }
}

// SAFETY: every call goes to the system's allocator as it came.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        Counted::took(layout.size());
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        Counted::took(layout.size());
        // SAFETY: the caller's promise.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        IN_USE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        Counted::took(size);
        IN_USE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.realloc(place, layout, size) }
    }
}
