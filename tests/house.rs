//! The rules that no compiler checks: which crate may depend on which, why each library is here, where `unsafe` is, what
//! documents must hold, and in `structure` what holds between the files of a crate.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

#[path = "house/structure.rs"]
mod structure;

/// The arrows: which folders of the workspace each may depend on, for its tests and its build too.
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
    // What tests of reports share.
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
    // It compares two commands, and has the fields of a comparison in its JSON.
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
    ("crates/host", &["model", "linux", "stats", "process", "rulers", "render", "feature", "testing"]),
    ("crates/signature", &["model", "linux", "stats", "workloads", "render", "feature", "testing"]),
    ("crates/warm", &["model", "linux", "stats", "process", "render", "feature", "preload", "testing"]),
    // It keeps texts, and looks into none of them; its file is made as a private one of Linux.
    ("crates/history", &["model", "linux", "render"]),
    (
        "crates/release",
        &["model", "linux", "stats", "process", "rulers", "preload", "render", "feature", "agent", "fleet", "testing"],
    ),
    ("crates/agent", &["model", "linux", "stats", "workloads", "process", "render", "feature", "preload", "testing"]),
    ("crates/fleet", &["model"]),
    ("preload", &[]),
];

/// Above all others: the command line, which knows features by its table, and the fuzz targets.
const ABOVE_ALL: [&str; 2] = ["crates/cli", "fuzz"];

/// The only places where `unsafe` may stand: a file or a folder of these names.
const UNSAFE_PLACES: [&str; 3] = ["crates/linux/src/sys", "crates/workloads/src/raw", "preload"];

/// Put together, so that this file does not hold the word.
const UNSAFE: &str = concat!("un", "safe");

/// The pages that a newcomer reads first, and the bytes that each may have.
const SHORT_PAGES: [(&str, usize); 2] = [("README.md", 12 * 1024), ("ARCHITECTURE.md", 12 * 1024)];

/// Words that documents avoid; CONTRIBUTING.md has what to write instead.
const AVOIDED_WORDS: [&str; 5] = ["told", "anew", "whoever", "meanwhile", "dearer"];

/// Directories without documents: build products, data, and golden reports, which are the program's own output.
const WITHOUT_DOCUMENTS: [&str; 4] = ["target", "testdata", "tests", "results"];

#[test]
fn crates_depend_along_the_arrows_only() {
    let root = root();
    let metadata = cargo_metadata(&root);
    let packages = metadata["packages"].as_array().expect("cargo metadata lists packages");
    let crossing: Vec<String> = packages.iter().flat_map(|package| off_the_arrows(package, &root)).collect();
    assert!(packages.len() > 1, "no workspace found");
    assert!(crossing.is_empty(), "off the table of arrows:\n{}", crossing.join("\n"));
}

#[test]
fn an_arrow_off_the_table_is_seen() {
    let package = |name: &str, dependency: &str| {
        let dependencies = json!([{ "name": "libc" }, { "path": format!("/root/crates/{dependency}") }]);
        json!({ "manifest_path": format!("/root/{name}/Cargo.toml"), "dependencies": dependencies })
    };
    let seen = |name, dependency| off_the_arrows(&package(name, dependency), Path::new("/root"));
    assert!(seen("crates/render", "model").is_empty());
    assert_eq!(seen("crates/render", "stats"), ["crates/render -> crates/stats"]);
    assert_eq!(seen("crates/novelty", "model"), ["crates/novelty is not in the table"]);
    assert_eq!(seen("preload/warm", "linux"), ["preload/warm -> crates/linux"]);
}

/// What in a package's dependencies the table does not allow, in words.
fn off_the_arrows(package: &Value, root: &Path) -> Vec<String> {
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
fn every_library_has_its_reason() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).expect("the workspace has a manifest");
    assert_eq!(without_reason(&manifest), Vec::<&str>::new(), "no comment above these");
}

/// The third-party dependencies of the workspace that no comment stands above. One comment may speak for the lines
/// right below it; an empty line or one of our own crates ends what it speaks for.
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
fn a_library_without_reason_is_seen() {
    let manifest = "[workspace.dependencies]\na = \"1\"\n# Why.\nb = \"1\"\nc = { version = \"1\" }\n\
                    own = { path = \"x\" }\nd = \"1\"\n# Why.\n\ne = \"1\"\n[lints]\nf = \"1\"\n";
    assert_eq!(without_reason(manifest), ["a", "d", "e"]);
}

#[test]
fn unsafe_stands_in_its_places_only() {
    let root = root();
    let sources: Vec<PathBuf> = ["crates", "preload", "fuzz", "tests", "bench", "python"]
        .iter()
        .flat_map(|top| sources(&root.join(top)))
        .collect();
    assert!(sources.len() > 10, "no sources found");
    let elsewhere = sources.iter().filter(|path| !UNSAFE_PLACES.iter().any(|place| is_at(&folder(path, &root), place)));
    let guilty: Vec<String> = elsewhere.flat_map(|path| lines_with_unsafe(path)).collect();
    assert!(guilty.is_empty(), "{UNSAFE} code out of place:\n{}", guilty.join("\n"));
}

fn lines_with_unsafe(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).expect("sources are readable UTF-8");
    let lines = text.lines().enumerate().filter(|(_, line)| holds_unsafe(line));
    lines.map(|(index, line)| format!("{}:{}: {}", path.display(), index + 1, line.trim())).collect()
}

/// Whether the word stands in a line as code: by itself, before any comment.
fn holds_unsafe(line: &str) -> bool {
    let code = line.split("//").next().unwrap_or_default();
    code.split(|letter: char| !letter.is_alphanumeric() && letter != '_').any(|word| word == UNSAFE)
}

#[test]
fn unsafe_is_told_from_words_about_it() {
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
        let size = fs::read(root().join(name)).expect("the page is there").len();
        assert!(size <= most, "{name} has {size} bytes, of {most} at most");
    }
}

#[test]
fn links_of_documents_lead_somewhere() {
    let documents = documents(&root());
    assert!(documents.len() > 30, "no documents found");
    let dead: Vec<String> = documents.iter().flat_map(|path| dead_links(path)).collect();
    assert!(dead.is_empty(), "dead links:\n{}", dead.join("\n"));
}

/// The links of a document to files or headings that do not exist. Links out of the tree are not checked.
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
fn dead_links_are_seen() {
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

/// The targets of a document's links and images, outside of code.
fn links(text: &str) -> Vec<String> {
    let prose = without_code(text);
    let after = |mark: &str, end: char| -> Vec<String> {
        let rests = prose.split(mark).skip(1);
        rests.filter_map(|rest| rest.split_once(end)).map(|(link, _)| link.to_owned()).collect()
    };
    [after("](", ')'), after("src=\"", '"'), after("srcset=\"", '"')].concat()
}

/// The anchors of a document's headings, as GitHub and mdBook make them.
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

/// A document without its code: blocks that are indented or fenced, and spans in backticks.
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
fn documents_avoid_words_that_newcomers_look_up_in_vain() {
    let used: Vec<String> = documents(&root()).iter().flat_map(|path| avoided_words(path)).collect();
    assert!(used.is_empty(), "words to avoid (CONTRIBUTING.md):\n{}", used.join("\n"));
}

/// The avoided words of a document. A word in backticks is quoted, not used.
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
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).expect("the page is there");
    for (name, _) in ARROWS {
        assert!(text.contains(&format!("\n| `{name}` | ")), "ARCHITECTURE.md has no row for {name}");
    }
}

/// The repository's root.
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

/// A path below the root, as the tables above write it.
fn folder(path: &Path, root: &Path) -> String {
    path.strip_prefix(root).expect("the workspace lies below its root").display().to_string()
}

/// Whether a path is `place`, the module file of that name, or below it.
fn is_at(path: &str, place: &str) -> bool {
    path.strip_prefix(place).is_some_and(|rest| rest.is_empty() || rest == ".rs" || rest.starts_with('/'))
}

/// Every document below a folder, sorted.
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

/// Every Rust source below a folder, which need not exist; what was built is left out.
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
