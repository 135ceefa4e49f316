//! The progress bar of `steady costs`: the probes that are being made ready, then the rounds.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use steady_experiments::costs::Event;

use crate::progress::draw_steadily;

/// The bar's whole length, and how much of it making ready is.
const PARTS: u64 = 1_000;
const READY: u64 = 100;
const TICK: Duration = Duration::from_millis(500);

/// Draws events on standard error, if that is a terminal; gone when dropped.
pub(super) struct RoundBar(ProgressBar);

impl RoundBar {
    /// A bar; an invisible one if `quiet`.
    pub(super) fn new(quiet: bool) -> Self {
        let target = if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr_with_hz(10) };
        let bar = ProgressBar::with_draw_target(Some(PARTS), target);
        if let Ok(style) = ProgressStyle::with_template("{bar:16.dim} {elapsed:>3} {wide_msg}") {
            bar.set_style(style.progress_chars("━━╌"));
        }
        bar.set_message("getting ready");
        draw_steadily(&bar, TICK);
        RoundBar(bar)
    }

    /// Draws what has happened.
    pub(super) fn show(&self, event: &Event) {
        let part = |done: u64, of: u64, parts: u64| parts * done / of.max(1);
        match event {
            Event::Opening { probe, done, of } => {
                self.0.set_position(part(*done as u64, *of as u64, READY));
                self.0.set_message(format!("getting ready: {}", probe.name()));
            }
            Event::Round { done, of } => {
                self.0.set_position(READY + part(u64::from(*done), u64::from(*of), PARTS - READY));
                self.0.set_message(format!("repetition {done} of {of}"));
            }
        }
    }
}

impl Drop for RoundBar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
