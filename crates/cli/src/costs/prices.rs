//! What events cost on this host: from a small file of the data directory, or measured now.

use steady_experiments::costs::prices::{keep, kept, measured};
use steady_experiments::costs::{CostsError, ProberRunner};
use steady_linux::Root;
use steady_model::Prices;

use super::bar::RoundBar;
use super::{plan, setting};
use crate::failure::{Failure, notice};
use crate::history::Home;
use crate::resolve;

/// The prices of this host, under this kernel and since its last boot. What is not kept of them is measured, which takes 5 s
/// at most; `fresh` has all measured. A signal meanwhile does to this process what it does to any.
pub(crate) fn prices(fresh: bool, quiet: bool) -> Result<Prices, Failure> {
    let root = Root::default();
    let file = Home::find().and_then(|home| home.make().map(|()| home.prices()));
    let known = file.as_ref().ok().filter(|_| !fresh).and_then(|file| kept(file, &root));
    let machine = plan::machine();
    let cpus = plan::cpus(&machine, None)?;
    let bar = RoundBar::new(quiet);
    let mut runner = ProberRunner::new(cpus.clone(), None);
    let with = (cpus, resolve::seed(None)?);
    let before = known.clone();
    let found = measured(known, || setting(machine), with, &mut runner, &mut |event| bar.show(&event));
    drop((runner, bar));
    let found = found.map_err(|error| match error {
        // Nobody is listened to.
        CostsError::Interrupted => Failure::Own("interrupted".to_owned()),
        error => Failure::Own(format!("prices could not be measured: {error}")),
    })?;
    if before.as_ref() != Some(&found) {
        let saved =
            file.and_then(|file| keep(&file, &root, &found).map_err(|why| format!("'{}': {why}", file.display())));
        if let Err(why) = saved {
            notice(&format!("the prices of this host are not kept for later runs: {why}"));
        }
    }
    Ok(found)
}
