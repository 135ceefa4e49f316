//! Job control: the time in which the command is stopped.

use steady_model::Nanos;

/// A moment of the command's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// On the monotonic clock.
    pub now: Nanos,
    /// For how long it has been stopped until now.
    pub stopped: Nanos,
    /// Whether it is stopped now.
    pub is_stopped: bool,
}

/// The stops of a command so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stops {
    stopped: Nanos,
    /// Since when it is stopped.
    since: Option<Nanos>,
}

impl Stops {
    /// It was stopped now, unless it was before.
    pub fn stop(&mut self, now: Nanos) {
        self.since = self.since.or(Some(now));
    }

    /// It goes on now.
    pub fn go_on(&mut self, now: Nanos) {
        self.stopped = self.at(now).stopped;
        self.since = None;
    }

    /// What there is to say of them at a moment.
    pub fn at(&self, now: Nanos) -> Moment {
        let stopped = self.stopped + self.since.map_or(Nanos::ZERO, |since| now - since);
        Moment { now, stopped, is_stopped: self.since.is_some() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stops_add_up_and_do_not_nest() {
        let mut stops = Stops::default();
        stops.stop(Nanos(10));
        stops.stop(Nanos(20));
        assert_eq!(stops.at(Nanos(50)), Moment { now: Nanos(50), stopped: Nanos(40), is_stopped: true });
        stops.go_on(Nanos(60));
        stops.go_on(Nanos(70));
        assert_eq!(stops.at(Nanos(99)), Moment { now: Nanos(99), stopped: Nanos(50), is_stopped: false });
        stops.stop(Nanos(100));
        assert_eq!(stops.at(Nanos(105)).stopped, Nanos(55));
    }
}
