//! What keeping programs warm gains, as comma-separated values: a line per program and mode.

use steady_model::{PaidBack, WarmBenchReport, WarmFigures, WarmMeasure};

use crate::csv::{field, number, quoted};

/// The means and differences, below a line of names; where a program could not be measured, the last field says why.
pub fn warm_bench_csv(report: &WarmBenchReport) -> String {
    let mut names: Vec<String> = ["program", "mode", "sessions", "warm_ratio"].map(str::to_owned).to_vec();
    for measure in WarmMeasure::ALL {
        names.extend([measure.name().to_owned(), format!("{}_deviation", measure.name())]);
    }
    for measure in WarmMeasure::JUDGED {
        let name = measure.name().trim_end_matches("_seconds");
        names.extend(["verdict", "change", "low", "high"].map(|what| format!("{name}_{what}")));
    }
    for time in ["wall", "cpu"] {
        names.extend([format!("{time}_taking_seconds"), format!("{time}_paid_back"), format!("{time}_surely")]);
    }
    names.push("absent".to_owned());
    let mut out = names.join(",") + "\n";
    for (command, program) in report.record.plan.programs.iter().zip(&report.programs) {
        match program {
            Ok(program) => program.modes.iter().for_each(|figures| {
                let fields = [vec![quoted(&command.name)], of(figures), vec![String::new()]].concat();
                out.push_str(&(fields.join(",") + "\n"));
            }),
            Err(absent) => {
                let fields =
                    [vec![quoted(&command.name)], vec![String::new(); names.len() - 2], vec![quoted(&absent.0)]];
                out.push_str(&(fields.concat().join(",") + "\n"));
            }
        }
    }
    out
}

fn of(figures: &WarmFigures) -> Vec<String> {
    let sessions = figures.mean(WarmMeasure::Wall).map(|mean| mean.sessions).ok();
    let mut fields = vec![figures.mode.name().to_owned(), field(sessions), field(figures.warm_ratio.as_ref().ok())];
    for measure in WarmMeasure::ALL {
        let mean = figures.mean(measure).ok();
        fields.push(mean.map_or_else(String::new, |mean| number(mean.mean)));
        fields.push(mean.and_then(|mean| mean.deviation).map_or_else(String::new, number));
    }
    for measure in WarmMeasure::JUDGED {
        let effect = figures.effect(measure);
        fields.push(field(effect.map(|effect| effect.verdict.name())));
        fields.push(field(effect.and_then(|effect| effect.change.as_ref().ok())));
        let interval = effect.and_then(|effect| effect.interval.as_ref().ok());
        fields.push(interval.map_or_else(String::new, |interval| number(interval.low)));
        fields.push(interval.map_or_else(String::new, |interval| number(interval.high)));
    }
    for at in 0..2 {
        let one = figures.break_even.as_ref().ok().map(|both| &both[at]);
        fields.push(one.map_or_else(String::new, |one| number(one.taking)));
        fields.push(match one.map(|one| one.paid_back) {
            Some(PaidBack::After(launch)) => launch.to_string(),
            Some(PaidBack::Probably(launch)) => format!("about {launch}"),
            Some(PaidBack::Never) => "never".to_owned(),
            None => String::new(),
        });
        fields.push(field(one.and_then(|one| one.certain)));
    }
    fields
}
