//! Progress of a run as a line on a terminal.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use std::{fmt, io};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use steady_model::Nanos;
use steady_render::letters::{one_line, width};

use crate::letters::readable;
use crate::output::style_on;

/// The number of steps of the bar.
const PARTS: u64 = 1_000;
/// The columns of the bar, and the fewest with which it is shown.
const BAR: usize = 16;
const LEAST_BAR: usize = 4;
/// The columns of the time since the start, with the space after it.
const ELAPSED: usize = 4;
/// The interval between updates during a long step.
const TICK: Duration = Duration::from_millis(500);

/// Shows progress on standard error, if that is a terminal. It has a thread only during long steps, because features
/// measure the CPU time of this process.
#[derive(Default)]
pub(crate) struct Share {
    bar: Option<ProgressBar>,
    has_share: bool,
    text: String,
    /// How the line is divided. `None` before the bar has a style.
    layout: Option<Layout>,
    step: Arc<Mutex<Option<Step>>>,
}

/// The parts of the line. The text comes first if there is too little room, then the time within the step, then the bar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Layout {
    /// Columns of the bar; 0 if it is not shown.
    bar: usize,
    /// Columns of the text.
    text: usize,
    has_step: bool,
}

impl Layout {
    /// Divides a line of `columns` for a text and a step of these widths. A step of width 0 is none.
    fn of(columns: usize, has_share: bool, text: usize, step: usize) -> Self {
        let room = columns.saturating_sub(ELAPSED);
        let has_step = step > 0 && text + 1 + step <= room;
        let room = if has_step { room - 1 - step } else { room };
        let free = room.saturating_sub(text + 1);
        let bar = if has_share && free >= LEAST_BAR { free.min(BAR) } else { 0 };
        Layout { bar, text: if bar > 0 { room - 1 - bar } else { room }, has_step }
    }
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
            self.layout = None;
            ProgressBar::with_draw_target(Some(PARTS), ProgressDrawTarget::stderr_with_hz(10))
        });
        bar.disable_steady_tick();
        self.has_share = share.is_some();
        self.text = readable(one_line(text));
        self.set_layout(&bar, 0);
        bar.set_position((share.unwrap_or(0.0) * PARTS as f64) as u64);
        self.bar = Some(bar);
    }

    /// Starts a long step. Its time is updated until the next call of [`Share::show`].
    pub(crate) fn last(&mut self, name: &'static str, takes: Option<Nanos>) {
        let Some(bar) = self.bar.clone() else { return };
        let began = bar.elapsed();
        let step = takes.map(|takes| Step { name, began, takes: takes.into() });
        let widest = step.as_ref().map_or(0, |step| width(&step.within(began + step.takes)));
        *self.step.lock().unwrap_or_else(PoisonError::into_inner) = step;
        self.set_layout(&bar, widest);
        // The library panics if it cannot start a thread.
        if !bar.is_hidden() && std::thread::Builder::new().spawn(|| ()).is_ok() {
            bar.enable_steady_tick(TICK);
        }
    }

    /// Divides the line for the current text and a step of this width.
    fn set_layout(&mut self, bar: &ProgressBar, step: usize) {
        let columns = style_on(&io::stderr()).width;
        let layout = Layout::of(columns, self.has_share, width(&self.text), step);
        if self.layout != Some(layout) {
            self.layout = Some(layout);
            bar.set_style(self.style(layout));
        }
        bar.set_message(readable(cut_end(&self.text, layout.text)));
    }

    /// Removes the line. The next call of [`Share::show`] starts a new one.
    pub(crate) fn clear(&self) {
        self.bar.iter().for_each(ProgressBar::finish_and_clear);
    }

    fn style(&self, layout: Layout) -> ProgressStyle {
        let bar = if layout.bar > 0 { format!("{{bar:{}.dim}} ", layout.bar) } else { String::new() };
        let after = if layout.has_step { " {step}" } else { "" };
        let step = Arc::clone(&self.step);
        let within = move |state: &ProgressState, line: &mut dyn fmt::Write| {
            let step = step.lock().unwrap_or_else(PoisonError::into_inner);
            // A failed update is repaired by the next one.
            let _ = step.iter().try_for_each(|step| line.write_str(&step.within(state.elapsed())));
        };
        let style = ProgressStyle::with_template(&format!("{bar}{{elapsed:>3}} {{wide_msg}}{after}"));
        style
            .unwrap_or_else(|_| ProgressStyle::default_bar())
            .progress_chars(&readable("━━╌".to_owned()))
            .with_key("step", within)
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

/// Shortens a text to at most so many columns. The beginning of a progress text is its most important part.
fn cut_end(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut shown = String::new();
    for letter in text.chars() {
        shown.push(letter);
        if width(&shown) >= columns {
            shown.pop();
            break;
        }
    }
    shown + "…"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_has_room_before_the_step_and_the_bar() {
        let of = |columns, text, step| Layout::of(columns, true, text, step);
        assert_eq!(of(80, 20, 0), Layout { bar: BAR, text: 59, has_step: false });
        assert_eq!(of(80, 41, 19), Layout { bar: 14, text: 41, has_step: true });
        assert_eq!(of(80, 55, 19), Layout { bar: 0, text: 56, has_step: true });
        assert_eq!(of(80, 60, 19), Layout { bar: 15, text: 60, has_step: false });
        assert_eq!(of(80, 90, 19), Layout { bar: 0, text: 76, has_step: false });
        assert_eq!(Layout::of(80, false, 20, 0), Layout { bar: 0, text: 76, has_step: false });
    }

    #[test]
    fn a_long_text_loses_its_end() {
        assert_eq!(cut_end("session 10 of 34", 16), "session 10 of 34");
        assert_eq!(cut_end("session 10 of 34", 11), "session 10…");
        assert_eq!(cut_end("日本語", 5), "日本…");
    }
}
