//! The progress bar of `steady load`: the rows that are done, and the one that runs.

use std::cell::Cell;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use steady_experiments::load::Event;
use steady_model::{LoadPlan, LoadWork, Machine, Nanos};

use crate::progress::draw_steadily;

/// The bar's whole length: parts of the effort.
const PARTS: f64 = 1_000.0;
const TICK: Duration = Duration::from_millis(500);

/// Draws events on standard error, if that is a terminal.
pub(super) struct RowBar {
    bar: ProgressBar,
    plan: LoadPlan,
    usable_cpus: f64,
    /// When the row that now runs was begun, and how long it may take or 0; milliseconds on the bar's clock.
    running: Arc<(AtomicU64, AtomicU64)>,
    /// How many rows are done.
    done: Cell<usize>,
}

impl RowBar {
    /// A bar; an invisible one if `quiet`.
    pub(super) fn new(quiet: bool, plan: &LoadPlan, machine: &Machine) -> Self {
        let target = if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr_with_hz(10) };
        let bar = ProgressBar::with_draw_target(Some(PARTS as u64), target);
        let running = Arc::new((AtomicU64::new(0), AtomicU64::new(0)));
        if let Ok(style) = ProgressStyle::with_template("{bar:16.dim} {elapsed:>3} {wide_msg} {row}") {
            let running = Arc::clone(&running);
            let row = move |state: &ProgressState, line: &mut dyn fmt::Write| {
                // What cannot be written is drawn again soon.
                let _ = line.write_str(&within_row(state.elapsed(), &running));
            };
            bar.set_style(style.progress_chars("━━╌").with_key("row", row));
        }
        bar.set_message("getting ready");
        draw_steadily(&bar, TICK);
        let usable_cpus = machine.usable_cpus();
        RowBar { bar, plan: plan.clone(), usable_cpus, running, done: Cell::new(0) }
    }

    /// Draws what has happened.
    pub(super) fn show(&self, event: &Event) {
        match event {
            Event::Begun(_) => {}
            Event::RowBegun { procs } => {
                let (row, rows) = (self.done.get() + 1, self.plan.procs.len());
                let processes = if *procs == 1 { "process" } else { "processes" };
                self.running.0.store(millis(self.bar.elapsed()), Ordering::Relaxed);
                self.running.1.store(self.expected(*procs).map_or(0, |time| millis(time.into())), Ordering::Relaxed);
                self.bar.set_message(format!("row {row} of {rows}: {procs} {processes}"));
            }
            Event::RowEnded(row) => {
                self.done.set(self.done.get() + 1);
                let all: f64 = self.plan.procs.iter().map(|procs| self.stretch(*procs)).sum();
                // Rounded up, so that a bar of a thousand rows moves.
                self.bar.inc((PARTS * self.stretch(row.procs) / all).ceil() as u64);
            }
        }
    }

    /// By how much so many processes are held up by one another, if nobody else is there.
    fn stretch(&self, procs: u32) -> f64 {
        (f64::from(procs) / self.usable_cpus).max(1.0)
    }

    /// How long a row should take, where the plan tells.
    fn expected(&self, procs: u32) -> Option<Nanos> {
        match &self.plan.work {
            LoadWork::Hash { cpu_time, .. } => Some(Nanos::from_seconds(cpu_time.seconds() * self.stretch(procs))),
            LoadWork::Command { window, .. } => Some(*window),
            LoadWork::Sum { .. } => None,
        }
    }

    /// Removes the bar.
    pub(super) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// How far the row is: `4 s of about 12 s`; with neighbours it may take longer.
fn within_row(elapsed: Duration, running: &(AtomicU64, AtomicU64)) -> String {
    let [begun, takes] = [&running.0, &running.1].map(|time| Duration::from_millis(time.load(Ordering::Relaxed)));
    let passed = elapsed.saturating_sub(begun).as_secs_f64();
    match takes.as_secs_f64() {
        takes if takes < 1.0 => String::new(),
        takes if takes < passed => format!("{passed:.0} s"),
        takes => format!("{passed:.0} s of about {takes:.0} s"),
    }
}
