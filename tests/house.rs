//! Rules that the compiler does not check: dependencies between crates, comments that justify libraries, places of
//! `unsafe`, and contents of documents. The module `structure` checks imports between the files of a crate.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

#[path = "house/structure.rs"]
mod structure;

/// The allowed dependencies: for each folder of the workspace, the folders that its code, tests and build may depend
/// on.
const ARROWS: &[(&str, &[&str])] = &[
    ("crates/model", &[]),
    ("crates/linux", &["model"]),
    ("crates/stats", &["model"]),
    ("crates/workloads", &["model", "linux"]),
    ("crates/process", &["model", "linux"]),
    ("crates/rulers", &["model", "linux", "stats", "process", "workloads"]),
    (
        "crates/compare",
        &[
            "model",
            "linux",
            "stats",
            "process",
            "workloads",
            "rulers",
            "render",
            "feature",
            "host",
            "warm",
            "history",
            "testing",
        ],
    ),
    ("crates/render", &["model"]),
    ("crates/feature", &["model", "linux", "process", "render"]),
    // Shared code of the tests of reports.
    ("crates/testing", &["model", "render", "feature"]),
    ("crates/limit", &["model", "linux", "process", "render", "feature", "testing"]),
    ("crates/locks", &["model", "linux", "process", "render", "feature", "preload", "testing"]),
    (
        "crates/costs",
        &["model", "linux", "stats", "process", "workloads", "rulers", "render", "feature", "host", "testing"],
    ),
    (
        "crates/load",
        &["model", "linux", "stats", "workloads", "process", "rulers", "render", "feature", "host", "testing"],
    ),
    // It depends on `compare`, because it compares two commands and has the fields of a comparison in its JSON.
    (
        "crates/explain",
        &[
            "model",
            "linux",
            "stats",
            "workloads",
            "process",
            "rulers",
            "render",
            "feature",
            "costs",
            "compare",
            "testing",
        ],
    ),
    // It builds revisions and runs processes as `compare` does.
    ("crates/bench", &["model", "linux", "stats", "process", "render", "feature", "compare", "host", "testing"]),
    // It compares commits with the comparisons of `compare`.
    ("crates/bisect", &["model", "linux", "stats", "process", "render", "feature", "compare", "host", "testing"]),
    ("crates/host", &["model", "linux", "stats", "process", "rulers", "render", "feature", "testing"]),
    ("crates/signature", &["model", "linux", "stats", "workloads", "render", "feature", "testing"]),
    ("crates/warm", &["model", "linux", "stats", "process", "render", "feature", "preload", "testing"]),
    // It stores records as text without parsing them. `linux` creates its private file.
    ("crates/history", &["model", "linux", "render"]),
    (
        "crates/release",
        &["model", "linux", "stats", "process", "rulers", "preload", "render", "feature", "agent", "fleet", "testing"],
    ),
    ("crates/agent", &["model", "linux", "stats", "workloads", "process", "render", "feature", "preload", "testing"]),
    ("crates/fleet", &["model"]),
    ("preload", &[]),
];

/// The folders that may depend on everything: the command line, and the fuzz targets.
const ABOVE_ALL: [&str; 2] = ["crates/cli", "fuzz"];

/// The files and folders that may contain `unsafe` code.
const UNSAFE_PLACES: [&str; 3] = ["crates/linux/src/sys", "crates/workloads/src/raw", "preload"];

/// Concatenated, so that this file does not contain the word.
const UNSAFE: &str = concat!("un", "safe");

/// The pages that a newcomer reads first, each with its maximum size in bytes.
const SHORT_PAGES: [(&str, usize); 2] = [("README.md", 12 * 1024), ("ARCHITECTURE.md", 12 * 1024)];

/// Words that documents must not use. CONTRIBUTING.md has the replacements.
const AVOIDED_WORDS: [&str; 5] = ["told", "anew", "whoever", "meanwhile", "dearer"];

/// Directories without documents: build products, data, and golden reports, which are the program's own output.
const WITHOUT_DOCUMENTS: [&str; 4] = ["target", "testdata", "tests", "results"];

#[test]
fn crates_have_only_allowed_dependencies() {
    let root = root();
    let metadata = cargo_metadata(&root);
    let packages = metadata["packages"].as_array().expect("cargo metadata lists packages");
    let forbidden: Vec<String> = packages.iter().flat_map(|package| forbidden_dependencies(package, &root)).collect();
    assert!(packages.len() > 1, "no workspace found");
    assert!(forbidden.is_empty(), "dependencies that ARROWS does not allow:\n{}", forbidden.join("\n"));
}

#[test]
fn a_dependency_that_is_not_allowed_is_found() {
    let package = |name: &str, dependency: &str| {
        let dependencies = json!([{ "name": "libc" }, { "path": format!("/root/crates/{dependency}") }]);
        json!({ "manifest_path": format!("/root/{name}/Cargo.toml"), "dependencies": dependencies })
    };
    let seen = |name, dependency| forbidden_dependencies(&package(name, dependency), Path::new("/root"));
    assert!(seen("crates/render", "model").is_empty());
    assert_eq!(seen("crates/render", "stats"), ["crates/render -> crates/stats"]);
    assert_eq!(seen("crates/novelty", "model"), ["crates/novelty is not in the table"]);
    assert_eq!(seen("preload/warm", "linux"), ["preload/warm -> crates/linux"]);
}

/// Returns the dependencies of a package that `ARROWS` does not allow, each as `FROM -> TO`.
fn forbidden_dependencies(package: &Value, root: &Path) -> Vec<String> {
    let manifest = Path::new(package["manifest_path"].as_str().expect("a package has a manifest"));
    let from = folder(manifest.parent().expect("a manifest has a folder"), root);
    if ABOVE_ALL.iter().any(|name| is_at(&from, name)) {
        return vec![];
    }
    let Some((_, allowed)) = ARROWS.iter().find(|(name, _)| is_at(&from, name)) else {
        return vec![format!("{from} is not in the table")];
    };
    let dependencies = package["dependencies"].as_array().expect("a package lists dependencies");
    let paths = dependencies.iter().filter_map(|dependency| dependency["path"].as_str());
    let targets = paths.map(|path| folder(Path::new(path), root));
    let forbidden = targets.filter(|to| !allowed.iter().any(|name| to == name || *to == format!("crates/{name}")));
    forbidden.map(|to| format!("{from} -> {to}")).collect()
}

#[test]
fn every_library_has_a_comment_with_its_reason() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).expect("the workspace has a manifest");
    assert_eq!(without_reason(&manifest), Vec::<&str>::new(), "libraries without a comment above them");
}

/// Returns the third-party dependencies of the workspace without a comment above them. A comment applies to the lines
/// below it, up to an empty line or a crate of the workspace.
fn without_reason(manifest: &str) -> Vec<&str> {
    let section = manifest.split("[workspace.dependencies]").nth(1).expect("the workspace names its dependencies");
    let lines = section.lines().skip(1).take_while(|line| !line.starts_with('['));
    let (mut explained, mut missing) = (false, Vec::new());
    for line in lines {
        match line.split_once(" = ") {
            _ if line.starts_with('#') => explained = true,
            Some((_, value)) if value.contains("path =") => explained = false,
            Some((name, _)) if !explained => missing.push(name),
            None if line.trim().is_empty() => explained = false,
            _ => {}
        }
    }
    missing
}

#[test]
fn a_library_without_a_comment_is_found() {
    let manifest = "[workspace.dependencies]\na = \"1\"\n# Why.\nb = \"1\"\nc = { version = \"1\" }\n\
                    own = { path = \"x\" }\nd = \"1\"\n# Why.\n\ne = \"1\"\n[lints]\nf = \"1\"\n";
    assert_eq!(without_reason(manifest), ["a", "d", "e"]);
}

#[test]
fn unsafe_code_is_in_the_allowed_places_only() {
    let root = root();
    let sources: Vec<PathBuf> = ["crates", "preload", "fuzz", "tests", "bench", "python"]
        .iter()
        .flat_map(|top| sources(&root.join(top)))
        .collect();
    assert!(sources.len() > 10, "no sources found");
    let elsewhere = sources.iter().filter(|path| !UNSAFE_PLACES.iter().any(|place| is_at(&folder(path, &root), place)));
    let found: Vec<String> = elsewhere.flat_map(|path| lines_with_unsafe(path)).collect();
    assert!(found.is_empty(), "{UNSAFE} code outside the allowed places:\n{}", found.join("\n"));
}

fn lines_with_unsafe(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).expect("sources are readable UTF-8");
    let lines = text.lines().enumerate().filter(|(_, line)| holds_unsafe(line));
    lines.map(|(index, line)| format!("{}:{}: {}", path.display(), index + 1, line.trim())).collect()
}

/// Returns whether a line contains the word as code: as a whole word, and before any comment.
fn holds_unsafe(line: &str) -> bool {
    let code = line.split("//").next().unwrap_or_default();
    code.split(|letter: char| !letter.is_alphanumeric() && letter != '_').any(|word| word == UNSAFE)
}

#[test]
fn unsafe_code_is_distinguished_from_comments_about_it() {
    for line in ["{} {", "    let x = {}{ 1 };", "#[{}(no_mangle)]", "{} extern \"C\" {"] {
        assert!(holds_unsafe(&line.replacen("{}", UNSAFE, 1)), "{line}");
    }
    for line in ["// {}", "#![forbid({}_code)]", "let {}ty = 1;", "/// `{}` is not here"] {
        assert!(!holds_unsafe(&line.replacen("{}", UNSAFE, 1)), "{line}");
    }
}

#[test]
fn the_first_pages_are_short() {
    for (name, most) in SHORT_PAGES {
        let size = fs::read(root().join(name)).expect("the page can be read").len();
        assert!(size <= most, "{name} has {size} bytes; the limit is {most}");
    }
}

#[test]
fn links_of_documents_have_targets() {
    let documents = documents(&root());
    assert!(documents.len() > 30, "no documents found");
    let dead: Vec<String> = documents.iter().flat_map(|path| dead_links(path)).collect();
    assert!(dead.is_empty(), "dead links:\n{}", dead.join("\n"));
}

/// Returns the links of a document to files or headings that do not exist. Links to other sites are not checked.
fn dead_links(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).expect("documents are readable UTF-8");
    let folder = path.parent().expect("a document has a folder");
    let leads_somewhere = |link: &String| {
        let (file, anchor) = link.split_once('#').unwrap_or((link.as_str(), ""));
        let target = if file.is_empty() { path.to_path_buf() } else { folder.join(file) };
        let has_heading = || fs::read_to_string(&target).is_ok_and(|text| anchors(&text).contains(anchor));
        target.exists() && (anchor.is_empty() || has_heading())
    };
    let dead = links(&text).into_iter().filter(|link| !link.contains("://") && !leads_somewhere(link));
    dead.map(|link| format!("{}: {link}", path.display())).collect()
}

#[test]
fn dead_links_are_found() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let write = |name: &str, text: &str| {
        fs::write(folder.join(name), text).expect("the scratch folder is writable");
        folder.join(name)
    };
    write("there.md", "# A Heading, `code` & more\n\n## A heading\n\n## A heading\n");
    let good = "[a](there.md) [b](there.md#a-heading-code--more) [c](there.md#a-heading-1) [d](#here) <img src=\"there.md\">\n\
                [e](https://example.org) `[f](nowhere.md)`\n\n    [g](nowhere.md)\n\n## Here\n";
    assert_eq!(dead_links(&write("good.md", good)), Vec::<String>::new());
    for dead in ["[a](nowhere.md)", "[a](there.md#heading)", "[a](#there)", "<img src=\"no.svg\">"] {
        assert_eq!(dead_links(&write("dead.md", dead)).len(), 1, "{dead}");
    }
}

/// Returns the targets of a document's links and images, without those in code.
fn links(text: &str) -> Vec<String> {
    let prose = without_code(text);
    let after = |mark: &str, end: char| -> Vec<String> {
        let rests = prose.split(mark).skip(1);
        rests.filter_map(|rest| rest.split_once(end)).map(|(link, _)| link.to_owned()).collect()
    };
    [after("](", ')'), after("src=\"", '"'), after("srcset=\"", '"')].concat()
}

/// Returns the anchors of a document's headings, as GitHub and mdBook create them.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    for line in text.lines().filter(|line| line.starts_with('#')) {
        let heading = line.trim_start_matches('#').trim().to_lowercase().replace(' ', "-");
        let anchor: String =
            heading.chars().filter(|letter| letter.is_alphanumeric() || "-_".contains(*letter)).collect();
        let numbered = (1..).map(|number| format!("{anchor}-{number}"));
        let free = std::iter::once(anchor.clone()).chain(numbered).find(|name| !anchors.contains(name));
        anchors.extend(free);
    }
    anchors
}

/// Returns a document without its code: without blocks that are indented or fenced, and spans in backticks.
fn without_code(text: &str) -> String {
    let (mut fenced, mut indented, mut after_blank) = (false, false, true);
    let mut prose = String::new();
    for line in text.lines() {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        indented = line.starts_with("    ") && (indented || after_blank);
        after_blank = line.trim().is_empty();
        if !fenced && !fence && !indented {
            prose.push_str(line);
            prose.push('\n');
        }
    }
    prose.split('`').step_by(2).collect()
}

#[test]
fn documents_do_not_use_the_words_to_avoid() {
    let used: Vec<String> = documents(&root()).iter().flat_map(|path| avoided_words(path)).collect();
    assert!(used.is_empty(), "words to avoid (CONTRIBUTING.md):\n{}", used.join("\n"));
}

/// Returns the lines of a document that use words to avoid. A word in backticks is quoted, not used.
fn avoided_words(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).expect("documents are readable UTF-8").to_lowercase();
    let used = |line: &str| {
        let prose: String = line.split('`').step_by(2).collect();
        let mut words = prose.split(|letter: char| !letter.is_alphanumeric());
        words.any(|word| AVOIDED_WORDS.contains(&word))
    };
    let lines = text.lines().enumerate().filter(|(_, line)| used(line));
    lines.map(|(index, line)| format!("{}:{}: {line}", path.display(), index + 1)).collect()
}

#[test]
fn every_page_of_the_book_is_in_its_summary_and_links_within_it() {
    let docs = root().join("docs");
    let summary = docs.join("SUMMARY.md");
    let listed: BTreeSet<String> =
        links(&fs::read_to_string(&summary).expect("the book has a summary")).into_iter().collect();
    let pages = documents(&docs).into_iter().filter(|page| *page != summary);
    for page in pages {
        let name = folder(&page, &docs);
        assert!(listed.contains(&name), "docs/{name} is not in docs/SUMMARY.md");
        let text = fs::read_to_string(&page).expect("documents are readable UTF-8");
        let outside: Vec<String> = links(&text).into_iter().filter(|link| link.starts_with("../")).collect();
        assert!(outside.is_empty(), "docs/{name} links to files that the book does not have: {outside:?}");
    }
}

#[test]
fn the_architecture_names_every_crate() {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).expect("the page can be read");
    for (name, _) in ARROWS {
        assert!(text.contains(&format!("\n| `{name}` | ")), "ARCHITECTURE.md has no row for {name}");
    }
}

/// Returns the root directory of the repository.
fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let lock = here.ancestors().find(|folder| folder.join("Cargo.lock").exists());
    lock.expect("the tests run inside the workspace").to_path_buf()
}

fn cargo_metadata(root: &Path) -> Value {
    let words = ["metadata", "--format-version", "1", "--no-deps", "--offline"];
    let output = Command::new(env!("CARGO")).args(words).current_dir(root).output().expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("cargo metadata prints JSON")
}

/// Returns a path relative to the root, as in the tables above.
fn folder(path: &Path, root: &Path) -> String {
    path.strip_prefix(root).expect("the path is below the root").display().to_string()
}

/// Returns whether a path is `place`, the module file of that name, or below it.
fn is_at(path: &str, place: &str) -> bool {
    path.strip_prefix(place).is_some_and(|rest| rest.is_empty() || rest == ".rs" || rest.starts_with('/'))
}

/// Returns all Markdown documents below a folder, sorted.
fn documents(folder: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder).into_iter().flatten().map(|entry| entry.expect("folders are readable").path()).collect();
    entries.sort();
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let visited = entries.into_iter().filter(|path| {
        let name = name(path);
        !name.starts_with('.') && !WITHOUT_DOCUMENTS.contains(&name.as_str())
    });
    visited
        .flat_map(|path| match path.is_dir() {
            true => documents(&path),
            false if path.extension().is_some_and(|extension| extension == "md") => vec![path],
            false => vec![],
        })
        .collect()
}

/// Returns all Rust sources below a folder, without build products; none if the folder does not exist.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().map(|entry| entry.expect("folders are readable").path());
    entries
        .flat_map(|path| match path.is_dir() {
            true if path.ends_with("target") => vec![],
            true => sources(&path),
            false if path.extension().is_some_and(|extension| extension == "rs") => vec![path],
            false => vec![],
        })
        .collect()
}
