//! The plan: everything needed to judge the samples again.

use serde::{Deserialize, Serialize};
use steady_model::{Command, Effort, FailIf, FailureRule, Layout, Metric, Output, PerCommand, Plan, Seed, Verdict};

use super::{PathWire, Seconds, read_named, required};

/// [`Command`] in JSON: some of the fields of an element of `commands`.
#[derive(Deserialize)]
pub(in crate::json) struct CommandWire {
    name: String,
    argv: Vec<String>,
    program: PathWire,
    #[serde(deserialize_with = "required")]
    directory: Option<PathWire>,
    #[serde(deserialize_with = "read_named")]
    environment: Vec<(String, String)>,
    #[serde(deserialize_with = "read_named")]
    parameters: Vec<(String, String)>,
    #[serde(deserialize_with = "required")]
    revision: Option<String>,
}

impl From<CommandWire> for Command {
    fn from(wire: CommandWire) -> Self {
        Command {
            name: wire.name,
            argv: wire.argv,
            program: wire.program.into(),
            directory: wire.directory.map(Into::into),
            environment: wire.environment,
            parameters: wire.parameters,
            revision: wire.revision,
        }
    }
}

/// [`Plan`] in JSON, less the commands and the seed: those stand at the top.
#[derive(Serialize, Deserialize)]
pub(in crate::json) struct PlanWire {
    effort: EffortWire,
    resolution_ratio: f64,
    confidence: f64,
    #[serde(deserialize_with = "required")]
    metric: Option<Metric>,
    #[serde(deserialize_with = "required")]
    layout: Option<Layout>,
    #[serde(deserialize_with = "required")]
    warmup: Option<u32>,
    setup: PerCommand<String>,
    prepare: PerCommand<String>,
    conclude: PerCommand<String>,
    cleanup: PerCommand<String>,
    #[serde(deserialize_with = "required")]
    input: Option<PathWire>,
    output: Vec<OutputWire>,
    failures: FailureRule,
    #[serde(deserialize_with = "required")]
    timeout_seconds: Option<Seconds>,
    #[serde(deserialize_with = "required")]
    cpus: Option<Vec<usize>>,
    #[serde(deserialize_with = "required")]
    fail_if: Option<FailIfWire>,
    require_verdict: bool,
    /// Left out where it was not asked for.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    warm: bool,
}

/// [`Output`] in JSON.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum OutputWire {
    Null,
    Stderr,
    Pipe,
    Inherit,
    File(PathWire),
}

impl From<&Output> for OutputWire {
    fn from(output: &Output) -> Self {
        match output {
            Output::Null => OutputWire::Null,
            Output::Stderr => OutputWire::Stderr,
            Output::Pipe => OutputWire::Pipe,
            Output::Inherit => OutputWire::Inherit,
            Output::File(path) => OutputWire::File(path.as_path().into()),
        }
    }
}

impl From<OutputWire> for Output {
    fn from(wire: OutputWire) -> Self {
        match wire {
            OutputWire::Null => Output::Null,
            OutputWire::Stderr => Output::Stderr,
            OutputWire::Pipe => Output::Pipe,
            OutputWire::Inherit => Output::Inherit,
            OutputWire::File(path) => Output::File(path.into()),
        }
    }
}

/// [`Effort`] in JSON.
#[derive(Clone, Copy, Serialize, Deserialize)]
enum EffortWire {
    #[serde(rename = "budget_seconds")]
    Budget(Seconds),
    #[serde(rename = "pairs")]
    Pairs(u64),
}

/// [`FailIf`] in JSON.
#[derive(Serialize, Deserialize)]
struct FailIfWire {
    verdict: Verdict,
    beyond_ratio: f64,
}

impl From<&Plan> for PlanWire {
    fn from(plan: &Plan) -> Self {
        PlanWire {
            effort: match plan.effort {
                Effort::Budget(budget) => EffortWire::Budget(Seconds(budget)),
                Effort::Pairs(pairs) => EffortWire::Pairs(pairs),
            },
            resolution_ratio: plan.resolution,
            confidence: plan.confidence,
            metric: plan.metric,
            layout: plan.layout,
            warmup: plan.warmup,
            setup: plan.setup.clone(),
            prepare: plan.prepare.clone(),
            conclude: plan.conclude.clone(),
            cleanup: plan.cleanup.clone(),
            input: plan.input.as_deref().map(PathWire::from),
            output: plan.output.0.iter().map(OutputWire::from).collect(),
            failures: plan.failures.clone(),
            timeout_seconds: plan.timeout.map(Seconds),
            cpus: plan.cpus.clone(),
            fail_if: plan.fail_if.map(|rule| FailIfWire { verdict: rule.verdict, beyond_ratio: rule.beyond }),
            require_verdict: plan.require_verdict,
            warm: plan.warm,
        }
    }
}

impl PlanWire {
    /// The plan, with the commands and the seed from the top.
    pub(in crate::json) fn into_plan(self, commands: Vec<Command>, seed: Seed) -> Plan {
        Plan {
            commands,
            seed,
            effort: match self.effort {
                EffortWire::Budget(budget) => Effort::Budget(budget.0),
                EffortWire::Pairs(pairs) => Effort::Pairs(pairs),
            },
            resolution: self.resolution_ratio,
            confidence: self.confidence,
            metric: self.metric,
            layout: self.layout,
            warmup: self.warmup,
            setup: self.setup,
            prepare: self.prepare,
            conclude: self.conclude,
            cleanup: self.cleanup,
            input: self.input.map(Into::into),
            output: PerCommand(self.output.into_iter().map(Output::from).collect()),
            failures: self.failures,
            timeout: self.timeout_seconds.map(|seconds| seconds.0),
            cpus: self.cpus,
            fail_if: self.fail_if.map(|rule| FailIf { verdict: rule.verdict, beyond: rule.beyond_ratio }),
            require_verdict: self.require_verdict,
            warm: self.warm,
        }
    }
}
