//! Resolves the flags of `steady release compare` to a window of time and the question to answer about it.

use steady_feature::Failure;
use steady_linux::clock;
use steady_model::{Nanos, Timestamp};
use steady_render::letters::quoted;
use steady_render::timestamp;

use crate::flags::{ByFlag, ReleaseCompareFlags};
use crate::record::ReleaseQuestion;
use crate::run::Service;

/// Length of the window unless `--window` is given.
const DEFAULT_WINDOW: Nanos = Nanos(300_000_000_000);

/// Delay in seconds until the requests of a second are complete in an agent's store: a service sends the lines of three
/// seconds together, and the agent writes the rows of a second after its end.
pub(crate) const LATE: u64 = 5;

/// A half-open interval of seconds since 1970: `to` is excluded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    pub(crate) from: u64,
    pub(crate) to: u64,
}

impl Window {
    /// Resolves the flags at the time `now`. With `--watch`, the window begins now unless `--from` is given. Otherwise it
    /// ends at least [`LATE`] seconds ago, so that the same window always has the same requests.
    pub(crate) fn of(flags: &ReleaseCompareFlags, now: Timestamp) -> Result<Window, Failure> {
        let long = flags.window.unwrap_or(DEFAULT_WINDOW).seconds().ceil().max(1.0) as u64;
        let complete = now.0.saturating_sub(LATE);
        let mut window = match (flags.from, flags.to) {
            (Some(_), Some(_)) if flags.window.is_some() => {
                return Err(Failure::Usage(
                    "--from, --to and --window exclude each other: give at most two of them".to_owned(),
                ));
            }
            (Some(from), Some(to)) => Window { from: from.0, to: to.0 },
            (Some(from), None) if flags.window.is_some() => Window { from: from.0, to: from.0.saturating_add(long) },
            (Some(from), None) if flags.watch => Window { from: from.0, to: from.0.max(now.0).saturating_add(long) },
            (Some(from), None) => Window { from: from.0, to: now.0 },
            (None, Some(to)) => Window { from: to.0.saturating_sub(long), to: to.0 },
            (None, None) if flags.watch => Window { from: now.0, to: now.0.saturating_add(long) },
            (None, None) => Window { from: complete.saturating_sub(long), to: complete },
        };
        if !flags.watch && window.from > now.0 && flags.from.is_some() {
            return Err(Failure::Usage(format!(
                "--from {} is in the future: it is now {} (UTC)",
                at(window.from),
                at(now.0)
            )));
        }
        if window.from >= window.to {
            return Err(Failure::Usage("the window ends before it begins, or is empty".to_owned()));
        }
        if !flags.watch {
            window.to = window.to.min(complete);
        }
        if window.from >= window.to {
            return Err(Failure::Usage(format!(
                "the window begins less than {LATE} s ago, and the requests of these seconds may not have arrived yet; \
                 use an earlier --from, or --watch"
            )));
        }
        Ok(window)
    }

    /// Returns the window in which to look for services at second `now`: the part of this window that is over, extended
    /// backwards to at least the default length.
    pub(crate) fn looked_back(self, now: u64) -> Window {
        let to = self.to.min(now);
        Window { from: self.from.min(to.saturating_sub(DEFAULT_WINDOW.seconds() as u64)), to }
    }

    /// Returns the window without the time before the first stored row of the service. On a new agent, that time must
    /// not count as a gap.
    pub(crate) fn since_first_kept(self, service: &Service) -> Window {
        let first = service.kept.map_or(self.from, |(first, _)| first);
        Window { from: self.from.max(first), ..self }
    }

    /// Refuses a window for which the store has no rows of the service. Accepts it if the stored time is not known.
    pub(crate) fn holds_some_of(self, service: &Service) -> Result<(), Failure> {
        let Some((first, last)) = service.kept else { return Ok(()) };
        let name = quoted(&service.name);
        if self.to <= first {
            return Err(Failure::Usage(format!(
                "the first data of service {name} are from {}, after the window",
                at(first)
            )));
        }
        if self.from > last {
            return Err(Failure::Usage(format!(
                "service {name} reported nothing in the window, {} to {}: its last report was at {}. Use --to '{}' \
                 to compare the time before, and check with steady agent status whether the agent is running",
                at(self.from),
                at(self.to),
                at(last),
                at(last.saturating_add(1))
            )));
        }
        Ok(())
    }
}

/// Builds the question about the requests of a service within a window.
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
        require_verdict: flags.gate.require_verdict,
    }
}

/// Formats a second since 1970 so that `--from` and `--to` accept it.
pub(crate) fn at(second: u64) -> String {
    timestamp::text(Timestamp(second))
}

#[cfg(test)]
mod tests {
    use clap::{Args, Command, FromArgMatches};

    use super::*;
    use crate::flags::{ReleaseCommands, ReleaseFlags};

    fn window(words: &str) -> Result<(u64, u64), String> {
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
    fn any_two_of_start_end_and_length_define_the_window() {
        assert_eq!(window(""), Ok((99_695, 99_995)));
        assert_eq!(window("--window 1m"), Ok((99_935, 99_995)));
        assert_eq!(window("--from 1970-01-02"), Ok((86_400, 99_995)));
        assert_eq!(window("--to 1970-01-02"), Ok((86_100, 86_400)));
        assert_eq!(window("--from 1970-01-02 --window 30s"), Ok((86_400, 86_430)));
        assert_eq!(window("--from 1970-01-01 --to 1970-01-02"), Ok((0, 86_400)));
        assert_eq!(window("--watch"), Ok((100_000, 100_300)));
        assert_eq!(window("--watch --from 1970-01-02"), Ok((86_400, 100_300)));
        for wrong in
            ["--from 1970-01-02 --to 1970-01-02", "--from 1970-01-01 --to 1970-01-02 --window 1m", "--from 1999-01-01"]
        {
            assert!(window(wrong).is_err(), "{wrong}");
        }
        let future = window("--from 1999-01-01").unwrap_err();
        assert!(future.ends_with("is in the future: it is now 1970-01-02T03:46:40Z (UTC)"), "{future}");
        assert!(window("--watch --from 1999-01-01").is_ok());
        let empty = window("--from 1970-01-02T03:46:40Z").unwrap_err();
        assert!(empty.ends_with("or is empty"), "{empty}");
        // The newest seconds are not complete.
        assert_eq!(window("--from 99990 --to 99999"), Ok((99_990, 99_995)));
        assert_eq!(window("--from 99990 --window 1m"), Ok((99_990, 99_995)));
        let new = window("--from 99996 --window 1m").unwrap_err();
        assert!(new.starts_with("the window begins less than 5 s ago"), "{new}");
    }

    #[test]
    fn services_are_looked_up_in_the_elapsed_part_of_the_window() {
        let back = |from, to| Window { from, to }.looked_back(10_000);
        assert_eq!(back(9_000, 9_500), Window { from: 9_000, to: 9_500 });
        assert_eq!(back(9_990, 11_000), Window { from: 9_700, to: 10_000 });
        assert_eq!(back(10_000, 10_300), Window { from: 9_700, to: 10_000 });
    }

    #[test]
    fn the_window_starts_no_earlier_than_the_first_stored_row() {
        let from = |kept| {
            let service = Service { name: "shop".to_owned(), versions: vec![], kept };
            Window { from: 1_000, to: 1_300 }.since_first_kept(&service)
        };
        assert_eq!(from(Some((1_200, 1_299))), Window { from: 1_200, to: 1_300 });
        assert_eq!([from(Some((900, 1_299))), from(None)], [Window { from: 1_000, to: 1_300 }; 2]);
    }

    #[test]
    fn an_error_for_a_window_without_rows_says_when_there_were_rows() {
        let service = Service { name: "shop".to_owned(), versions: vec![], kept: Some((1_000, 2_000)) };
        let check = |from, to| Window { from, to }.holds_some_of(&service).map_err(|failure| failure.to_string());
        assert_eq!([check(0, 1_001), check(2_000, 9_000)], [Ok(()), Ok(())]);
        assert!(check(0, 1_000).is_err_and(|why| why.contains("1970-01-01T00:16:40Z, after the window")));
        assert!(check(2_001, 9_000).is_err_and(|why| why.contains("--to '1970-01-01T00:33:21Z'")));
    }
}
