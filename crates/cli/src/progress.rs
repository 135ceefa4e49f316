//! How far a run has come, as a line on a terminal.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use steady_model::Nanos;
use steady_render::letters::one_line;

use crate::letters::readable;

/// The bar's whole length.
const PARTS: u64 = 1_000;
/// How often a step that lasts is drawn again.
const TICK: Duration = Duration::from_millis(500);

/// Draws on standard error, if that is a terminal, how much is done. It has a thread during steps that last, and none else:
/// features measure their own CPU time.
#[derive(Default)]
pub(crate) struct Share {
    bar: Option<ProgressBar>,
    /// Whether the bar shows a share; none before it has a style.
    has_share: Option<bool>,
    step: Arc<Mutex<Option<Step>>>,
}

/// A step that lasts.
struct Step {
    name: &'static str,
    /// When it began, on the bar's clock.
    began: Duration,
    takes: Duration,
}

impl Share {
    /// Draws the share that is done, if it is known, and words next to it.
    pub(crate) fn show(&mut self, share: Option<f64>, text: &str) {
        *self.step.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let bar = self.bar.take().filter(|bar| !bar.is_finished()).unwrap_or_else(|| {
            self.has_share = None;
            ProgressBar::with_draw_target(Some(PARTS), ProgressDrawTarget::stderr_with_hz(10))
        });
        bar.disable_steady_tick();
        if self.has_share != Some(share.is_some()) {
            self.has_share = Some(share.is_some());
            bar.set_style(self.style(share.is_some()));
        }
        bar.set_position((share.unwrap_or(0.0) * PARTS as f64) as u64);
        bar.set_message(readable(one_line(text)));
        self.bar = Some(bar);
    }

    /// Draws the time as it passes in a step that begins now, until the next call of [`Share::show`].
    pub(crate) fn last(&mut self, name: &'static str, takes: Option<Nanos>) {
        let Some(bar) = &self.bar else { return };
        let began = bar.elapsed();
        let step = takes.map(|takes| Step { name, began, takes: takes.into() });
        *self.step.lock().unwrap_or_else(PoisonError::into_inner) = step;
        // Where no thread can be started, the library would panic.
        if !bar.is_hidden() && std::thread::Builder::new().spawn(|| ()).is_ok() {
            bar.enable_steady_tick(TICK);
        }
    }

    /// Removes it; the next one begins again.
    pub(crate) fn clear(&self) {
        self.bar.iter().for_each(ProgressBar::finish_and_clear);
    }

    fn style(&self, has_share: bool) -> ProgressStyle {
        let bar = if has_share { "{bar:16.dim} " } else { "" };
        let step = Arc::clone(&self.step);
        let within = move |state: &ProgressState, line: &mut dyn fmt::Write| {
            let step = step.lock().unwrap_or_else(PoisonError::into_inner);
            // What cannot be written is drawn again soon.
            let _ = step.iter().try_for_each(|step| line.write_str(&step.within(state.elapsed())));
        };
        let style = ProgressStyle::with_template(&format!("{bar}{{elapsed:>3}} {{wide_msg}} {{step}}"));
        style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("━━╌").with_key("step", within)
    }
}

impl Step {
    /// How far it is: `pair: 4 s of 12 s`.
    fn within(&self, now: Duration) -> String {
        let seconds = now.saturating_sub(self.began).as_secs_f64();
        format!("{}: {seconds:.0} s of {:.0} s", self.name, self.takes.as_secs_f64())
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.clear();
    }
}
