//! Parameters, names of commands, --env-new and --preload-new: one command line that stands for several commands.

mod steady;

use std::fs;

use serde_json::{Value, json as value};
use steady::{json, run, scratch};

/// Returns one field of every command.
fn each(report: &Value, field: &str) -> Vec<Value> {
    report["commands"].as_array().expect("there are commands").iter().map(|command| command[field].clone()).collect()
}

/// Runs a comparison that is a usage error, and returns standard error.
fn usage_error(args: &[&str]) -> String {
    let (status, stdout, stderr) = run(&[&["compare", "--runs", "2"], args].concat());
    assert_eq!((status, stdout.as_str()), (2, ""), "{stderr}");
    stderr
}

#[test]
fn lists_give_all_combinations_compared_with_the_first() {
    let report = json(0, &["--runs", "6", "-L", "a=x,y", "-L", "b=1,2", "echo {a}{b}"]);
    assert_eq!(each(&report, "name"), ["echo x1", "echo x2", "echo y1", "echo y2"]);
    assert_eq!(each(&report, "parameters")[2], value!({"a": "y", "b": "1"}));
    let compared: Vec<u64> =
        report["verdicts"].as_array().unwrap().iter().filter_map(|v| v["command"].as_u64()).collect();
    assert!([1, 2, 3].iter().all(|command| compared.contains(command)) && !compared.contains(&0), "{compared:?}");
}

#[test]
fn scans_have_exact_decimal_values() {
    let report = json(0, &["--runs", "2", "-P", "n", "-0.1", "0.2", "-D", "0.1", "echo {n}"]);
    assert_eq!(each(&report, "name"), ["echo -0.1", "echo 0.0", "echo 0.1", "echo 0.2"]);
}

#[test]
fn commands_without_parameters_are_not_repeated() {
    let report = json(0, &["--runs", "2", "-L", "n=1,2", "echo base", "echo {n}"]);
    assert_eq!(each(&report, "name"), ["echo base", "echo 1", "echo 2"]);
    assert_eq!(each(&report, "parameters")[0], value!({}));
}

#[test]
fn parameters_are_replaced_in_scripts_names_and_outputs() {
    let [log, output] = ["scripts", "output"].map(scratch);
    let script = format!("echo $STEADY_COMMAND {{n}} >>{}", log.display());
    let to = format!("{}-{{n}}", output.display());
    let args = ["--runs", "2", "-L", "n=7,8", "--setup", &script, "--output", &to, "-n", "with {n}", "echo it is {n}"];
    let report = json(0, &args);
    assert_eq!(each(&report, "name"), ["with 7", "with 8"]);
    assert_eq!(fs::read_to_string(&log).unwrap(), "0 7\n1 8\n");
    for n in [7, 8] {
        let file = format!("{}-{n}", output.display());
        assert_eq!(fs::read_to_string(&file).unwrap(), format!("it is {n}\n"));
        fs::remove_file(file).unwrap();
    }
    fs::remove_file(log).unwrap();
}

#[test]
fn names_show_values_that_the_command_does_not_contain() {
    let report = json(0, &["--runs", "2", "-L", "branch=a,b", "--setup", "echo {branch}", "true"]);
    assert_eq!(each(&report, "name"), ["true (branch=a)", "true (branch=b)"]);
}

#[test]
fn braces_are_literal_without_parameters_and_if_doubled() {
    let report = json(0, &["--runs", "2", "echo {n} {{n}}", "echo"]);
    assert_eq!(each(&report, "argv")[0], value!(["echo", "{n}", "{{n}}"]));
    let report = json(0, &["--runs", "2", "-L", "n=1,2", "echo {n} {{n}} {print $1} ${n}"]);
    assert_eq!(each(&report, "argv")[1], value!(["echo", "2", "{n}", "{print", "$1}", "${n}"]));
}

#[test]
fn invalid_parameters_are_usage_errors() {
    for (args, why) in [
        (&["-L", "n=1,2", "true"][..], "no command contains the parameter 'n'"),
        (&["-L", "n=1,2", "echo {n} {m}"], "there is no parameter of this name"),
        (&["-L", "n=1,2", "echo {n}", "true", "-n", "a", "-n", "b{n}"], "does not"),
        (&["-L", "n=1,2", "-L", "n=3", "echo {n}"], "given twice"),
        (&["-L", "n=1,1", "echo {n}"], "twice"),
        (&["-L", "n", "echo {n}"], "NAME=A,B"),
        (&["-P", "n", "2", "1", "echo {n}"], "above MAX"),
        (&["-P", "n", "1", "2", "-D", "0", "echo {n}"], "above zero"),
        (&["-P", "n", "1", "100000", "echo {n}"], "the maximum is 1000"),
        (&["-P", "n", "1", "100", "-P", "m", "1", "100", "echo {n} {m}"], "more than 1000 commands"),
        (&["-D", "1", "true"], "--parameter-scan"),
        (&["-L", "n=1,2,3", "--setup", "a", "--setup", "b", "echo {n}"], "given 2 times for 3 commands"),
    ] {
        let stderr = usage_error(args);
        assert!(stderr.contains(why), "{args:?}: {stderr}");
    }
}

#[test]
fn names_are_given_once_per_command() {
    let report = json(0, &["--runs", "2", "-n", "one", "-n", "two", "true", "true"]);
    assert_eq!(each(&report, "name"), ["one", "two"]);
    assert!(usage_error(&["-n", "one", "true", "true"]).contains("--command-name is given 1 time for 2 commands"));
}

#[test]
fn a_variable_is_set_for_the_new_command_alone() {
    let file = scratch("variable");
    let note = format!("sh -c 'echo \"$STEADY_COMMAND $NOVEL\" >>{}'", file.display());
    let report = json(0, &["--runs", "6", "--env-new", "NOVEL=a b", &note]);
    let text = fs::read_to_string(&file).unwrap();
    fs::remove_file(file).unwrap();
    assert!(text.lines().all(|line| line == "0 " || line == "1 a b"), "{text}");
    assert!(text.contains("1 a b") && text.contains("0 \n"));
    assert_eq!(each(&report, "environment"), [value!({}), value!({"NOVEL": "a b"})]);
    assert_eq!(report["commands"][1]["name"], format!("{note} (NOVEL=a b)"));
    for (args, why) in [
        (&["--env-new", "A=1", "true", "true"][..], "2 were given"),
        (&["--env-new", "A", "true"], "NAME=VALUE"),
        (&["--env-new", "STEADY_RUN=1", "true"], "steady sets STEADY_RUN"),
        (&["--env-new", "A=1", "--env-new", "A=2", "true"], "sets A twice"),
        (&["--env-new", "A=1", "--rev", "a..b", "true"], "cannot be used with"),
    ] {
        assert!(usage_error(args).contains(why), "{args:?}");
    }
}

/// Compiles C source with these options and returns the path of the result.
fn compiled(name: &str, source: &str, options: &[&str]) -> std::path::PathBuf {
    let (text, file) = (scratch(&format!("{name}.c")), scratch(name));
    fs::write(&text, source).unwrap();
    let mut compiler = std::process::Command::new("cc");
    assert!(compiler.args(options).arg("-o").args([&file, &text]).status().unwrap().success());
    fs::remove_file(text).unwrap();
    file
}

#[test]
fn a_library_is_preloaded_into_the_new_command_alone() {
    let library = compiled(
        "early.so",
        "#include <unistd.h>\n__attribute__((constructor)) void go(void) { _exit(7); }\n",
        &["-shared", "-fPIC"],
    );
    let path = library.to_str().unwrap();
    // The second command ends with the library's status.
    let (status, _, stderr) = run(&["compare", "--runs", "6", "--preload-new", path, "true"]);
    assert_eq!(status, 3, "{stderr}");
    assert!(
        stderr.contains(&format!("'true (preload {})' exited with status 7", library.file_name().unwrap().display())),
        "{stderr}"
    );
    let fixed = compiled("fixed", "int main(void) { return 0; }\n", &["-static"]);
    let (status, _, stderr) = run(&["compare", "--runs", "6", "--preload-new", path, fixed.to_str().unwrap()]);
    assert_eq!(status, 0, "{stderr}");
    assert!(stderr.contains("linked statically"), "{stderr}");
    for (wrong, why) in [("/etc/passwd", "not an ELF file"), ("/nonexistent", "No such file"), ("/", "directory")] {
        assert!(usage_error(&["--preload-new", wrong, "true"]).contains(why), "{wrong}");
    }
    assert!(usage_error(&["--preload-new", fixed.to_str().unwrap(), "true"]).contains("not a shared library"));
    fs::remove_file(library).unwrap();
    fs::remove_file(fixed).unwrap();
}

/// An option that belongs to another one is refused where that one is excluded. Without this, it would have no effect.
#[test]
fn options_without_effect_are_refused() {
    for words in [
        &["bench", "--draws", "--env-new", "A=1"][..],
        &["bench", "--draws", "old", "new"],
        &["compare", "--build", "make", "--env-new", "A=1", "true"],
        &["compare", "--build", "make", "-L", "a=1,2", "echo {a}"],
        &["load", "--window", "1s", "--rulers"],
        &["load", "--window", "1s", "--workload", "hash"],
        &["load", "--neighbour", "stream", "--", "true"],
        &["load", "--neighbour", "stream", "--workload", "hash"],
        &["release", "compare", "old", "new", "--store", "file", "--block", "5m"],
    ] {
        let (status, stdout, stderr) = run(words);
        assert!(status == 2 && stdout.is_empty() && stderr.contains("cannot be used with"), "{words:?}: {stderr}");
    }
}
