//! The progress bar of a file whose signature takes its time.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use steady_linux::clock;
use steady_model::Nanos;

use crate::letters::readable;

/// What is over sooner has no bar.
const PATIENCE: Nanos = Nanos(500_000_000);

/// Draws on standard error how much of a file was read, if that is a terminal; gone when dropped.
pub(super) struct FileBar {
    name: String,
    begun: Nanos,
    quiet: bool,
    bar: Option<ProgressBar>,
}

impl FileBar {
    /// A bar that is not seen yet; never seen if `quiet`.
    pub(super) fn new(name: &str, quiet: bool) -> Self {
        let name = readable(name.chars().filter(|letter| !letter.is_control()).collect());
        FileBar { name, begun: clock::monotonic(), quiet, bar: None }
    }

    /// Draws that so much was read, of so much where that is known.
    pub(super) fn show(&mut self, bytes: u64, of: Option<u64>) {
        if self.quiet || clock::monotonic() - self.begun < PATIENCE {
            return;
        }
        let bar = self.bar.get_or_insert_with(|| bar(of, &self.name));
        bar.set_position(bytes);
    }
}

fn bar(of: Option<u64>, name: &str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(of, ProgressDrawTarget::stderr_with_hz(10));
    let template = match of {
        Some(_) => "{bar:16.dim} {elapsed:>3} {binary_bytes} of {binary_total_bytes}  {wide_msg}",
        None => "{elapsed:>3} {binary_bytes}  {wide_msg}",
    };
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.progress_chars("━━╌"));
    }
    bar.set_message(name.to_owned());
    bar
}

impl Drop for FileBar {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
