//! From the flags of `steady release compare` to what is asked: which seconds are looked at, and the question about them.

use steady_feature::Failure;
use steady_linux::clock;
use steady_model::{Nanos, Timestamp};
use steady_render::timestamp;

use crate::flags::{ByFlag, ReleaseCompareFlags};
use crate::record::ReleaseQuestion;
use crate::run::Service;

/// What is looked at where nothing was said.
const USUAL: Nanos = Nanos(300_000_000_000);

/// Seconds since 1970, the last one not among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    pub(crate) from: u64,
    pub(crate) to: u64,
}

impl Window {
    /// The window that the flags ask for, if it is `now`; one that is followed begins now.
    pub(crate) fn of(flags: &ReleaseCompareFlags, now: Timestamp) -> Result<Window, Failure> {
        let long = flags.window.unwrap_or(USUAL).seconds().ceil().max(1.0) as u64;
        let window = match (flags.from, flags.to) {
            (Some(_), Some(_)) if flags.window.is_some() => {
                return Err(Failure::Usage("two of --from, --to and --window say all".to_owned()));
            }
            (Some(from), Some(to)) => Window { from: from.0, to: to.0 },
            (Some(from), None) if flags.window.is_some() => Window { from: from.0, to: from.0.saturating_add(long) },
            (Some(from), None) if flags.watch => Window { from: from.0, to: from.0.max(now.0).saturating_add(long) },
            (Some(from), None) => Window { from: from.0, to: now.0 },
            (None, Some(to)) => Window { from: to.0.saturating_sub(long), to: to.0 },
            (None, None) if flags.watch => Window { from: now.0, to: now.0.saturating_add(long) },
            (None, None) => Window { from: now.0.saturating_sub(long), to: now.0 },
        };
        if window.from >= window.to {
            return Err(Failure::Usage("the window must end after it begins".to_owned()));
        }
        Ok(window)
    }

    /// Where services are looked for, if it is second `now`: as much of it as is over, and no less than is usually
    /// looked at.
    pub(crate) fn looked_back(self, now: u64) -> Window {
        let to = self.to.min(now);
        Window { from: self.from.min(to.saturating_sub(USUAL.seconds() as u64)), to }
    }

    /// The window without the time before anything was kept of the service: on a new agent, that time is no gap.
    pub(crate) fn since_first_kept(self, service: &Service) -> Window {
        let first = service.kept.map_or(self.from, |(first, _)| first);
        Window { from: self.from.max(first), ..self }
    }

    /// Refuses a window that nothing is kept of, as far as that is known.
    pub(crate) fn holds_some_of(self, service: &Service) -> Result<(), Failure> {
        let Some((first, last)) = service.kept else { return Ok(()) };
        let name = service.name.escape_debug();
        if self.to <= first {
            return Err(Failure::Usage(format!(
                "what is kept of service '{name}' begins at {}, after the window",
                at(first)
            )));
        }
        if self.from > last {
            return Err(Failure::Usage(format!(
                "nothing was told of service '{name}' in the window, {} to {}: the last was at {}; --to '{}' looks at \
                 the time before, and steady agent status says whether the agent runs",
                at(self.from),
                at(self.to),
                at(last),
                at(last.saturating_add(1))
            )));
        }
        Ok(())
    }
}

/// What is asked of a service about the requests of a window.
pub(crate) fn question(flags: &ReleaseCompareFlags, service: &Service, window: Window) -> ReleaseQuestion {
    ReleaseQuestion {
        service: service.name.clone(),
        old: flags.old.clone(),
        new: flags.new.clone(),
        asked: Some(clock::time_of_day()),
        from: window.from,
        to: window.to,
        by_route: flags.by == Some(ByFlag::Route),
        confidence: flags.precision.confidence,
        resolution: flags.precision.resolution,
        fail_if: flags.gate.fail_if,
    }
}

/// A time of day, as --from and --to take it.
pub(crate) fn at(second: u64) -> String {
    timestamp::text(Timestamp(second))
}

#[cfg(test)]
mod tests {
    use clap::{Args, Command, FromArgMatches};

    use super::*;
    use crate::flags::{ReleaseCommands, ReleaseFlags};

    fn of(words: &str) -> Result<(u64, u64), String> {
        let words =
            ["release", "compare", "v1", "v2"].into_iter().chain(words.split(' ').filter(|word| !word.is_empty()));
        let matches = ReleaseFlags::augment_args(Command::new("release")).try_get_matches_from(words);
        let flags = ReleaseFlags::from_arg_matches(&matches.map_err(|error| error.to_string())?);
        let flags = flags.map_err(|error| error.to_string())?;
        let ReleaseCommands::Compare(flags) = flags.command else { return Err("another command".to_owned()) };
        let window = Window::of(&flags, Timestamp(100_000)).map_err(|failure| failure.to_string())?;
        Ok((window.from, window.to))
    }

    #[test]
    fn two_of_beginning_end_and_length_say_all() {
        assert_eq!(of(""), Ok((99_700, 100_000)));
        assert_eq!(of("--window 1m"), Ok((99_940, 100_000)));
        assert_eq!(of("--from 1970-01-02"), Ok((86_400, 100_000)));
        assert_eq!(of("--to 1970-01-02"), Ok((86_100, 86_400)));
        assert_eq!(of("--from 1970-01-02 --window 30s"), Ok((86_400, 86_430)));
        assert_eq!(of("--from 1970-01-01 --to 1970-01-02"), Ok((0, 86_400)));
        assert_eq!(of("--watch"), Ok((100_000, 100_300)));
        assert_eq!(of("--watch --from 1970-01-02"), Ok((86_400, 100_300)));
        for wrong in
            ["--from 1970-01-02 --to 1970-01-02", "--from 1970-01-01 --to 1970-01-02 --window 1m", "--from 1999-01-01"]
        {
            assert!(of(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn services_are_looked_for_in_what_is_over() {
        let back = |from, to| Window { from, to }.looked_back(10_000);
        assert_eq!(back(9_000, 9_500), Window { from: 9_000, to: 9_500 });
        assert_eq!(back(9_990, 11_000), Window { from: 9_700, to: 10_000 });
        assert_eq!(back(10_000, 10_300), Window { from: 9_700, to: 10_000 });
    }

    #[test]
    fn time_before_anything_was_kept_is_not_in_the_window() {
        let from = |kept| {
            let service = Service { name: "shop".to_owned(), versions: vec![], kept };
            Window { from: 1_000, to: 1_300 }.since_first_kept(&service)
        };
        assert_eq!(from(Some((1_200, 1_299))), Window { from: 1_200, to: 1_300 });
        assert_eq!([from(Some((900, 1_299))), from(None)], [Window { from: 1_000, to: 1_300 }; 2]);
    }

    #[test]
    fn a_window_without_rows_says_where_they_are() {
        let service = Service { name: "shop".to_owned(), versions: vec![], kept: Some((1_000, 2_000)) };
        let told = |from, to| Window { from, to }.holds_some_of(&service).map_err(|failure| failure.to_string());
        assert_eq!([told(0, 1_001), told(2_000, 9_000)], [Ok(()), Ok(())]);
        assert!(told(0, 1_000).is_err_and(|why| why.contains("1970-01-01T00:16:40Z, after the window")));
        assert!(told(2_001, 9_000).is_err_and(|why| why.contains("--to '1970-01-01T00:33:21Z'")));
    }
}
