//! The progress bar: how much of the effort is spent, and how the interval narrows.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use steady_experiments::compare::{Event, Progress};
use steady_model::Nanos;

/// The bar's whole length: parts of the effort.
const PARTS: u64 = 1_000;
/// Pairs longer than this let the bar tick by itself, so that the time within them is seen to pass.
const LONG_PAIR: Nanos = Nanos(1_000_000_000);
const TICK: Duration = Duration::from_millis(500);

/// Draws events on standard error, if that is a terminal.
pub(crate) struct Bar {
    bar: ProgressBar,
}

impl Bar {
    /// A bar; an invisible one if `quiet`.
    pub(crate) fn new(quiet: bool) -> Self {
        let target = if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr_with_hz(10) };
        let bar = ProgressBar::with_draw_target(Some(PARTS), target);
        if let Ok(style) = ProgressStyle::with_template("{bar:16.dim} {elapsed:>3} {wide_msg}") {
            bar.set_style(style.progress_chars("━━╌"));
        }
        bar.set_message("warming up");
        bar.enable_steady_tick(TICK);
        Bar { bar }
    }

    /// Draws what has happened.
    pub(crate) fn show(&self, event: &Event) {
        match event {
            Event::WarmedUp { blocks, last } => {
                if *last < LONG_PAIR {
                    self.bar.disable_steady_tick();
                }
                self.bar.set_message(format!("warming up: {blocks} pairs, {} s each", round(last.seconds())));
            }
            Event::Measured(progress) => {
                self.bar.set_position((progress.fraction * PARTS as f64) as u64);
                self.bar.set_message(message(progress));
            }
        }
    }

    /// Removes the bar.
    pub(crate) fn clear(&self) {
        self.bar.finish_and_clear();
    }
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
    let slow = if progress.per_pair > LONG_PAIR {
        format!(", {} s each", round(progress.per_pair.seconds()))
    } else {
        String::new()
    };
    let pairs = progress.pairs;
    match effects.is_empty() {
        true => format!("{pairs} runs{slow}"),
        false => format!("{pairs} pairs{slow}  {} {}", progress.metric.name(), effects.join("  ")),
    }
}

fn round(seconds: f64) -> String {
    if seconds < 1.0 { format!("{seconds:.3}") } else { format!("{seconds:.1}") }
}
