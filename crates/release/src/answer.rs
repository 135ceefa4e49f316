//! What a design has to say, before it is told.

use crate::record::{Refusal, ReleaseWarning, RestsOn, Settling};
use steady_model::{Absent, Reading};

use crate::effect::{Effect, Plain};
use crate::groups::Groups;

/// One route.
pub(crate) struct RouteAnswer {
    /// Which.
    pub(crate) route: u32,
    /// Its plain sums.
    pub(crate) plain: Plain,
    /// The effect on its total.
    pub(crate) effect: Reading<Effect>,
    /// The effect on its usual request.
    pub(crate) usual: Reading<Effect>,
}

impl RouteAnswer {
    /// A route that was compared with others alone.
    pub(crate) fn pooled(route: u32, plain: Plain) -> RouteAnswer {
        let why = || {
            Absent::because(
                "the version decides which requests are on it, so they were compared with those of other routes",
            )
        };
        RouteAnswer { route, plain, effect: Err(why()), usual: Err(why()) }
    }
}

/// One host of several.
pub(crate) struct HostAnswer {
    /// Which.
    pub(crate) host: u32,
    /// Its plain sums.
    pub(crate) plain: Plain,
    /// Its own effect.
    pub(crate) effect: Reading<Effect>,
    /// How far its cost lies above that of the others, where it has one version.
    pub(crate) level: Option<f64>,
}

/// The answer of a design.
pub(crate) struct Answer {
    /// By what the load was taken off.
    pub(crate) rests_on: RestsOn,
    /// The effect on the total of all routes.
    pub(crate) total: Reading<Effect>,
    /// The effect on the usual request, routes mixed by CPU time.
    pub(crate) usual: Reading<Effect>,
    /// The routes that both versions served, and those that were compared with others.
    pub(crate) routes: Vec<RouteAnswer>,
    /// The hosts, each by itself, where there are several.
    pub(crate) hosts: Vec<HostAnswer>,
    /// Which routes and classes were compared as one.
    pub(crate) groups: Groups,
    /// Why there is none.
    pub(crate) refused: Vec<Refusal>,
    /// What would give one.
    pub(crate) settle: Option<Settling>,
    /// Whether the total is that of the CPU time of processes, and not of requests alone.
    pub(crate) counts_processes: bool,
    /// What the reader should know.
    pub(crate) warnings: Vec<ReleaseWarning>,
}

impl Answer {
    /// Nothing yet, of a design with a coin for each request.
    pub(crate) fn of_coins() -> Answer {
        Answer {
            rests_on: RestsOn::Coins,
            total: Err(Absent::because("nothing was compared")),
            usual: Err(Absent::because("nothing was compared")),
            routes: Vec::new(),
            hosts: Vec::new(),
            groups: Groups::default(),
            refused: Vec::new(),
            settle: None,
            counts_processes: false,
            warnings: Vec::new(),
        }
    }
}
