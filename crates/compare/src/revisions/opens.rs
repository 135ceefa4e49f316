//! Finds out whether the runs open any file of their revisions. If none does, the comparison does not test the change.

use std::fs;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};

/// The most directories to watch. Each needs memory of the kernel, and users may watch a limited number (inotify(7)).
const MOST_DIRECTORIES: usize = 4096;

/// A watch for files that are opened in trees. It ends with the first one, so that it does not slow later runs down.
pub struct Opens {
    watcher: JoinHandle<bool>,
    /// If this is closed, the watcher ends.
    end: OwnedFd,
}

impl Opens {
    /// Begins to watch all directories below these, but those of git. Returns `None` if there are too many, or if they
    /// cannot be watched.
    pub(super) fn watch(trees: &[PathBuf]) -> Option<Self> {
        let events = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok()?;
        let mut open = trees.to_vec();
        let mut watched = 0;
        while let Some(directory) = open.pop() {
            watched += 1;
            if watched > MOST_DIRECTORIES {
                return None;
            }
            inotify::add_watch(&events, &directory, WatchFlags::OPEN | WatchFlags::ONLYDIR).ok()?;
            open.extend(directories_in(&directory).ok()?);
        }
        let (ended, end) = pipe_with(PipeFlags::CLOEXEC).ok()?;
        let watcher = std::thread::Builder::new().name("opens".to_owned());
        Some(Opens { watcher: watcher.spawn(move || is_file_opened(&events, &ended)).ok()?, end })
    }

    /// Ends the watch. Returns whether a file was opened.
    pub fn end(self) -> bool {
        drop(self.end);
        // The watcher does not panic. If it did, nothing would be known.
        self.watcher.join().unwrap_or(true)
    }
}

/// The directories in a directory, but not those of git. Symbolic links are not followed.
fn directories_in(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = vec![];
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() && entry.file_name() != ".git" {
            found.push(entry.path());
        }
    }
    Ok(found)
}

/// Waits until a file is opened, or until `ended` is closed. Directories do not count: an interpreter lists the current one
/// to find modules.
fn is_file_opened(events: &OwnedFd, ended: &OwnedFd) -> bool {
    let mut buffer = [const { MaybeUninit::uninit() }; 4096];
    let mut reader = inotify::Reader::new(events, &mut buffer);
    loop {
        match reader.next() {
            Ok(event) if !event.events().contains(ReadFlags::ISDIR) && event.events().contains(ReadFlags::OPEN) => {
                return true;
            }
            // Events were lost.
            Ok(event) if event.events().contains(ReadFlags::QUEUE_OVERFLOW) => return true,
            Ok(_) | Err(Errno::INTR) => continue,
            Err(Errno::WOULDBLOCK) => {}
            Err(_) => return true,
        }
        let mut both = [PollFd::new(events, PollFlags::IN), PollFd::new(ended, PollFlags::IN)];
        match poll(&mut both, None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return true,
        }
        let is_ready = |at: usize| !both[at].revents().is_empty();
        if is_ready(1) && !is_ready(0) {
            return false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_opening_of_files_counts() {
        let folder = std::env::temp_dir().join(format!("steady-opens-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        for tree in ["old", "new"] {
            fs::create_dir_all(folder.join(tree).join("deep/er")).unwrap();
            fs::create_dir_all(folder.join(tree).join(".git")).unwrap();
            fs::write(folder.join(tree).join("deep/er/file"), "").unwrap();
            fs::write(folder.join(tree).join(".git/file"), "").unwrap();
        }
        let trees = ["old", "new"].map(|tree| folder.join(tree));
        let after = |act: &dyn Fn()| {
            let opens = Opens::watch(&trees).unwrap();
            act();
            opens.end()
        };
        assert!(!after(&|| {}));
        assert!(!after(&|| drop(fs::read_dir(trees[0].join("deep")).unwrap())));
        assert!(!after(&|| assert!(trees[0].join("deep/er/file").exists())));
        assert!(!after(&|| drop(fs::read(trees[0].join(".git/file")).unwrap())));
        assert!(after(&|| drop(fs::read(trees[1].join("deep/er/file")).unwrap())));
        fs::remove_dir_all(folder).unwrap();
    }
}
