//! Setup and cleanup scripts around a comparison on a simulated machine.

use steady_compare::judge;
use steady_compare::run::{CompareError, between_scripts, compare};
use steady_model::{Hook, Outcome, Verdict};
use steady_process::runner::RunError;
use steady_process::simulated::{Conditions, SimulatedMachine};

use crate::common::{plan, primary, setting};

/// Scripts that record when they ran.
struct Scripts {
    ran: Vec<(Hook, usize)>,
    /// The script that fails.
    fails: Option<(Hook, usize)>,
}

impl Scripts {
    fn new(fails: Option<(Hook, usize)>) -> Self {
        Scripts { ran: Vec::new(), fails }
    }

    fn hook(&mut self, hook: Hook, command: usize) -> Result<(), RunError> {
        self.ran.push((hook, command));
        match self.fails {
            Some(one) if one == (hook, command) => Err(failure(hook, command)),
            _ => Ok(()),
        }
    }
}

fn failure(hook: Hook, command: usize) -> RunError {
    RunError::ScriptFailed { command, hook, script: "x".to_owned(), outcome: Outcome::Exited(1), printed: None }
}

const ALL: [(Hook, usize); 4] = [(Hook::Setup, 0), (Hook::Setup, 1), (Hook::Cleanup, 0), (Hook::Cleanup, 1)];

#[test]
fn measuring_begins_after_all_setup_scripts_and_ends_before_the_cleanup_scripts() {
    let (mut scripts, plan) = (Scripts::new(None), plan(2, 1.0, 7));
    let (record, cleaned) = between_scripts(&plan, &mut scripts, Scripts::hook, |scripts| {
        assert_eq!(scripts.ran, ALL[..2]);
        let mut machine = SimulatedMachine::new(&[0.010, 0.020], Conditions::QUIET, 7);
        compare(&plan, setting(), &mut machine, &mut |_| {})
    })
    .unwrap();
    assert_eq!((&scripts.ran[..], cleaned), (&ALL[..], Ok(())));
    assert_eq!(primary(&judge(record)).verdict, Verdict::Slower);
}

#[test]
fn each_command_that_was_set_up_is_cleaned_up() {
    let plan = plan(2, 1.0, 8);
    let machine = || SimulatedMachine::new(&[0.010, 0.020], Conditions::QUIET, 8);
    // The second setup script was not started, so it has no cleanup.
    let fails = (Hook::Setup, 0);
    let mut scripts = Scripts::new(Some(fails));
    let ended = between_scripts(&plan, &mut scripts, Scripts::hook, |_| panic!("nothing is measured"));
    assert_eq!(ended, Err(CompareError::Run(failure(fails.0, fails.1))));
    assert_eq!(scripts.ran, [fails, (Hook::Cleanup, 0)]);
    // A cleanup script that fails leaves the record, and the other script runs.
    let fails = (Hook::Cleanup, 0);
    let mut scripts = Scripts::new(Some(fails));
    let measure = |_: &mut Scripts| compare(&plan, setting(), &mut machine(), &mut |_| {});
    let (record, cleaned) = between_scripts(&plan, &mut scripts, Scripts::hook, measure).unwrap();
    assert!(!record.blocks.is_empty());
    assert_eq!((&scripts.ran[..], cleaned), (&ALL[..], Err(failure(fails.0, fails.1))));
}
