//! Progress of a run as a line on a terminal.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use steady_model::Nanos;
use steady_render::letters::one_line;

use crate::letters::readable;

/// The number of steps of the bar.
const PARTS: u64 = 1_000;
/// The interval between updates during a long step.
const TICK: Duration = Duration::from_millis(500);

/// Shows progress on standard error, if that is a terminal. It has a thread only during long steps, because features
/// measure the CPU time of this process.
#[derive(Default)]
pub(crate) struct Share {
    bar: Option<ProgressBar>,
    /// Whether the bar shows a share. `None` before the bar has a style.
    has_share: Option<bool>,
    step: Arc<Mutex<Option<Step>>>,
}

struct Step {
    name: &'static str,
    /// The start of the step on the bar's clock.
    began: Duration,
    takes: Duration,
}

impl Share {
    /// Shows the completed share, if it is known, and a text.
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

    /// Starts a long step. Its time is updated until the next call of [`Share::show`].
    pub(crate) fn last(&mut self, name: &'static str, takes: Option<Nanos>) {
        let Some(bar) = &self.bar else { return };
        let began = bar.elapsed();
        let step = takes.map(|takes| Step { name, began, takes: takes.into() });
        *self.step.lock().unwrap_or_else(PoisonError::into_inner) = step;
        // The library panics if it cannot start a thread.
        if !bar.is_hidden() && std::thread::Builder::new().spawn(|| ()).is_ok() {
            bar.enable_steady_tick(TICK);
        }
    }

    /// Removes the line. The next call of [`Share::show`] starts a new one.
    pub(crate) fn clear(&self) {
        self.bar.iter().for_each(ProgressBar::finish_and_clear);
    }

    fn style(&self, has_share: bool) -> ProgressStyle {
        let bar = if has_share { "{bar:16.dim} " } else { "" };
        let step = Arc::clone(&self.step);
        let within = move |state: &ProgressState, line: &mut dyn fmt::Write| {
            let step = step.lock().unwrap_or_else(PoisonError::into_inner);
            // A failed update is repaired by the next one.
            let _ = step.iter().try_for_each(|step| line.write_str(&step.within(state.elapsed())));
        };
        let style = ProgressStyle::with_template(&format!("{bar}{{elapsed:>3}} {{wide_msg}} {{step}}"));
        style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("━━╌").with_key("step", within)
    }
}

impl Step {
    /// The time within the step, as in `pair: 4 s of 12 s`.
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
