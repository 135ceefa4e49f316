//! The progress bar of `steady warm bench`: its sessions.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use steady_model::WarmBenchPlan;
use steady_warm::bench::Event;

use crate::letters::readable;
use crate::progress::draw_steadily;

const TICK: Duration = Duration::from_millis(500);

/// Draws events on standard error, if that is a terminal; gone when dropped.
pub(super) struct SessionBar {
    bar: ProgressBar,
    names: Vec<String>,
}

impl SessionBar {
    /// A bar; an invisible one if `quiet`.
    pub(super) fn new(quiet: bool, plan: &WarmBenchPlan) -> Self {
        let target = if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr_with_hz(10) };
        let bar = ProgressBar::with_draw_target(Some(1), target);
        if let Ok(style) = ProgressStyle::with_template("{bar:16.dim} {elapsed:>3} {wide_msg}") {
            bar.set_style(style.progress_chars("━━╌"));
        }
        bar.set_message("getting ready");
        draw_steadily(&bar, TICK);
        let visible = |name: &String| readable(name.chars().filter(|letter| !letter.is_control()).collect());
        SessionBar { bar, names: plan.programs.iter().map(|command| visible(&command.name)).collect() }
    }

    /// Draws what has happened.
    pub(super) fn show(&self, event: &Event) {
        self.bar.set_length(u64::from(event.of));
        self.bar.set_position(u64::from(event.done));
        let name = self.names.get(event.program).map_or("", String::as_str);
        self.bar.set_message(format!("session {} of {}: {name}", event.done, event.of));
    }
}

impl Drop for SessionBar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
