//! Cumulative use of a command at points in time: at short intervals first, then once a second, and less often in long
//! runs.

use steady_model::Nanos;

use crate::record::Progress;

/// Time of the first point, and the shortest interval between two points.
const CLOSEST: Nanos = Nanos(20_000_000);
/// The interval is the elapsed time divided by this, so that short runs have about as many points as long ones...
const SHARE: u64 = 4;
/// ... up to this interval.
const USUAL: Nanos = Nanos(1_000_000_000);
/// Maximal number of points. When it is exceeded, every second point is dropped and the interval doubles.
const MOST: usize = 1_200;

/// The points of a run so far.
#[derive(Clone, Debug)]
pub(super) struct Series {
    points: Vec<Progress>,
    usual: Nanos,
}

impl Series {
    pub(super) fn new() -> Self {
        Series { points: Vec::new(), usual: USUAL }
    }

    /// Adds a point. Times that are lower than in the point before are raised to it.
    pub(super) fn note(&mut self, point: Progress) {
        let last = self.points.last().copied();
        let most = |now: Nanos, of: fn(&Progress) -> Nanos| last.map_or(now, |last| now.max(of(&last)));
        let cpu = most(point.cpu_seconds, |last| last.cpu_seconds);
        self.points.push(Progress {
            at_seconds: most(point.at_seconds, |last| last.at_seconds),
            cpu_seconds: cpu,
            user_seconds: most(point.user_seconds, |last| last.user_seconds).min(cpu),
            waiting_seconds: point
                .waiting_seconds
                .map(|waiting| most(waiting, |last| last.waiting_seconds.unwrap_or_default())),
        });
        if self.points.len() > MOST {
            let mut place = 0;
            self.points.retain(|_| {
                place += 1;
                place % 2 == 0
            });
            self.usual = self.usual + self.usual;
        }
    }

    /// The interval from a point at `at` to the next.
    pub(super) fn step(&self, at: Nanos) -> Nanos {
        Nanos(at.0 / SHARE).max(CLOSEST).min(self.usual)
    }

    /// Returns the points with `end` as the last one, or no points if there were fewer than two before the end. A last
    /// interval that is less than half as long as the one before is merged into it: use that was not known until the
    /// end, such as the fractions of ticks of children, would look like a peak in it. Two points are both kept.
    pub(super) fn ended(mut self, end: Progress) -> Vec<Progress> {
        if let [_, .., before, last] = self.points[..]
            && (end.at_seconds - last.at_seconds).0 < (last.at_seconds - before.at_seconds).0 / 2
        {
            self.points.pop();
        }
        if self.points.len() < 2 {
            return Vec::new();
        }
        // Earlier points were read from ticks and may exceed the exact end by a tick.
        let least = |now: Nanos, end: Nanos| now.min(end);
        for point in &mut self.points {
            point.at_seconds = least(point.at_seconds, end.at_seconds);
            point.cpu_seconds = least(point.cpu_seconds, end.cpu_seconds);
            point.user_seconds = least(point.user_seconds, end.user_seconds).min(point.cpu_seconds);
            point.waiting_seconds =
                point.waiting_seconds.map(|waiting| end.waiting_seconds.map_or(waiting, |end| least(waiting, end)));
        }
        self.points.push(end);
        self.points
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(at: u64) -> Progress {
        Progress {
            at_seconds: Nanos(at),
            cpu_seconds: Nanos(at / 2),
            user_seconds: Nanos(at / 4),
            waiting_seconds: Some(Nanos(at / 8)),
        }
    }

    /// The points of a command that runs for `seconds`.
    fn points(seconds: u64) -> Vec<Progress> {
        let (mut series, mut at) = (Series::new(), Nanos(0));
        let end = seconds * 1_000_000_000;
        loop {
            at += series.step(at);
            if at.0 >= end {
                return series.ended(point(end));
            }
            series.note(point(at.0));
        }
    }

    #[test]
    fn short_runs_have_some_points_and_long_runs_not_too_many() {
        assert_eq!(points(0), []);
        assert!((10..30).contains(&points(3).len()), "{}", points(3).len());
        let minute = points(60);
        assert!((60..90).contains(&minute.len()), "{}", minute.len());
        assert!(minute.windows(2).all(|two| two[1].at_seconds - two[0].at_seconds <= USUAL));
        let day = points(86_400);
        assert!((MOST / 2..=MOST + 1).contains(&day.len()), "{}", day.len());
        assert_eq!(day.last().unwrap().at_seconds, Nanos(86_400_000_000_000));
        assert!(day.windows(2).all(|two| two[0].at_seconds < two[1].at_seconds));
    }

    #[test]
    fn a_short_last_interval_is_merged_into_the_one_before() {
        let mut series = Series::new();
        [100, 200, 300].into_iter().for_each(|at| series.note(point(at)));
        let ends = |at| series.clone().ended(point(at)).iter().map(|point| point.at_seconds.0).collect::<Vec<_>>();
        assert_eq!(ends(310), [100, 200, 310]);
        assert_eq!(ends(350), [100, 200, 300, 350]);
        series.points.truncate(2);
        assert_eq!(series.ended(point(210)).len(), 3, "two points before the end remain");
    }

    #[test]
    fn points_never_decrease_or_exceed_the_end() {
        let mut series = Series::new();
        series.note(point(100));
        series.note(Progress {
            cpu_seconds: Nanos(40),
            user_seconds: Nanos(70),
            waiting_seconds: Some(Nanos(3)),
            ..point(120)
        });
        let points = series.ended(Progress { cpu_seconds: Nanos(45), ..point(130) });
        assert_eq!(points.iter().map(|point| point.cpu_seconds.0).collect::<Vec<_>>(), [45, 45, 45]);
        assert!(points.iter().all(|point| point.user_seconds <= point.cpu_seconds), "{points:?}");
        assert_eq!(points[1].waiting_seconds, Some(Nanos(12)));
    }
}
