//! The progress bar: how much of the effort is spent, and how the interval narrows.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use steady_compare::run::{Event, Progress};
use steady_model::Nanos;
use steady_render::letters::one_line;

use crate::letters::readable;

/// The bar's whole length: parts of the effort.
const PARTS: u64 = 1_000;
/// Pairs longer than this let the bar tick by itself, so that the time within them is seen to pass.
const LONG_PAIR: Nanos = Nanos(1_000_000_000);
const TICK: Duration = Duration::from_millis(500);

/// Draws events on standard error, if that is a terminal.
pub(crate) struct Bar {
    bar: ProgressBar,
    /// When the pair that now runs was started, and how long one takes; milliseconds on the bar's clock.
    running: Arc<(AtomicU64, AtomicU64)>,
}

/// Draws a bar again every so often, by a thread of its own. Not where the bar is hidden, or where no thread can be started:
/// the library would panic.
pub(crate) fn draw_steadily(bar: &ProgressBar, every: Duration) {
    if !bar.is_hidden() && std::thread::Builder::new().spawn(|| ()).is_ok() {
        bar.enable_steady_tick(every);
    }
}

impl Bar {
    /// A bar; an invisible one if `quiet`.
    pub(crate) fn new(quiet: bool) -> Self {
        let target = if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr_with_hz(10) };
        let bar = ProgressBar::with_draw_target(Some(PARTS), target);
        let running = Arc::new((AtomicU64::new(0), AtomicU64::new(0)));
        if let Ok(style) = ProgressStyle::with_template("{bar:16.dim} {elapsed:>3} {wide_msg} {pair}") {
            let running = Arc::clone(&running);
            let pair = move |state: &ProgressState, line: &mut dyn fmt::Write| {
                // What cannot be written is drawn again soon.
                let _ = line.write_str(&within_pair(state.elapsed(), &running));
            };
            bar.set_style(style.progress_chars("━━╌").with_key("pair", pair));
        }
        bar.set_message("warming up");
        draw_steadily(&bar, TICK);
        Bar { bar, running }
    }

    /// Draws what has happened.
    pub(crate) fn show(&self, event: &Event) {
        match event {
            Event::WarmedUp { blocks, last } => {
                if *last < LONG_PAIR {
                    self.bar.disable_steady_tick();
                }
                self.bar.set_message(format!("warming up: {blocks} pairs"));
                self.next_pair(*last);
            }
            Event::Begun(_) | Event::Looked(_) | Event::Watched(_) => {}
            Event::Measured(progress) => {
                self.bar.set_position((progress.fraction * PARTS as f64) as u64);
                self.bar.set_message(message(progress));
                self.next_pair(progress.per_pair);
            }
        }
    }

    fn next_pair(&self, takes: Nanos) {
        self.running.0.store(millis(self.bar.elapsed()), Ordering::Relaxed);
        self.running.1.store(millis(takes.into()), Ordering::Relaxed);
    }

    /// Removes the bar.
    pub(crate) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

/// Says on standard error, if that is a terminal, what is being done before anything is measured; gone when dropped.
pub(crate) struct Spinner(ProgressBar);

impl Spinner {
    /// A spinner; an invisible one if `quiet`.
    pub(crate) fn new(quiet: bool) -> Self {
        let target = if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr_with_hz(10) };
        let spinner = ProgressBar::with_draw_target(None, target);
        if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed:>3} {wide_msg}") {
            spinner.set_style(style);
        }
        draw_steadily(&spinner, TICK);
        Spinner(spinner)
    }

    /// Says what is being done now.
    pub(crate) fn show(&self, what: String) {
        self.0.set_message(what);
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// Draws on standard error, if that is a terminal, how much is done. It has no thread: features measure their own CPU time.
#[derive(Default)]
pub(crate) struct Share(Option<ProgressBar>);

impl Share {
    /// Draws the share that is done, if it is known, and words next to it.
    pub(crate) fn show(&mut self, share: Option<f64>, text: &str) {
        let template = if share.is_some() { "{bar:16.dim} {elapsed:>3} {wide_msg}" } else { "{elapsed:>3} {wide_msg}" };
        let bar = self
            .0
            .take()
            .filter(|bar| !bar.is_finished())
            .unwrap_or_else(|| ProgressBar::with_draw_target(Some(PARTS), ProgressDrawTarget::stderr_with_hz(10)));
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("━━╌"));
        }
        bar.set_position((share.unwrap_or(0.0) * PARTS as f64) as u64);
        bar.set_message(readable(one_line(text)));
        self.0 = Some(bar);
    }

    /// Removes it; the next one begins again.
    pub(crate) fn clear(&self) {
        self.0.iter().for_each(ProgressBar::finish_and_clear);
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.clear();
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// How far a long pair is: `4 s of 12 s`.
fn within_pair(elapsed: Duration, running: &(AtomicU64, AtomicU64)) -> String {
    let [started, takes] = [&running.0, &running.1].map(|time| Duration::from_millis(time.load(Ordering::Relaxed)));
    if Nanos::from(takes) < LONG_PAIR {
        return String::new();
    }
    format!("pair: {:.0} s of {:.0} s", elapsed.saturating_sub(started).as_secs_f64(), takes.as_secs_f64())
}

fn message(progress: &Progress) -> String {
    let effects: Vec<String> = progress
        .effects
        .iter()
        .map(|effect| match effect {
            Some((change, interval)) => {
                let digits = if interval.half_width() < 0.001 { 2 } else { 1 };
                let percent = |value: f64| format!("{:+.digits$}", value * 100.0);
                format!("{} % ({} to {})", percent(*change), percent(interval.low), percent(interval.high))
            }
            None => "…".to_owned(),
        })
        .collect();
    let pairs = progress.pairs;
    match effects.is_empty() {
        true => format!("{pairs} runs"),
        false => format!("{pairs} pairs  {} {}", progress.metric.name(), effects.join("  ")),
    }
}
