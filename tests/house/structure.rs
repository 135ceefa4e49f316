//! Rules for sources: the files of a crate do not import each other in cycles, functions have no tuple patterns as
//! parameters, and base crates name no feature.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::{fs, thread};

use syn::visit::{self, Visit};

use super::{ARROWS, folder, root, sources};

#[test]
fn files_of_a_crate_do_not_import_each_other_in_cycles() {
    let crates = fs::read_dir(root().join("crates")).expect("the workspace has crates");
    let mut crates: Vec<PathBuf> = crates.map(|entry| entry.expect("folders are readable").path()).collect();
    crates.sort();
    let found: Vec<String> = in_parallel(&crates, |path| {
        let modules = modules(&path.join("src"));
        let texts =
            modules.iter().map(|(module, file)| (module.clone(), parsed(file, without_tests(&text(file))))).collect();
        cycles(&texts).into_iter().map(|cycle| format!("{}: {cycle}", folder(path, &root()))).collect()
    });
    assert!(found.is_empty(), "import cycles:\n{found:#?}");
}

/// The crates that every feature may use. They must not change when a feature is added.
const BASE_CRATES: [&str; 5] = ["model", "render", "process", "feature", "history"];

/// Names in base crates that contain the name of a feature, by the reason why they are allowed. Records of comparisons
/// and rows of releases are in `model`, because several features share them.
const ALLOWED_NAMES: [(&str, &[&str]); 5] = [
    ("the machine", &["Host", "HostSecond", "host", "host_facts"]),
    ("a maximum", &["END_LIMIT", "EXIT_LIMIT", "TIME_LIMIT", "limit", "run_limit"]),
    (
        "the activity of the machine, and the instruction that reads memory",
        &["Load", "LoadL1", "LoadL2", "LoadMemory", "LoadShared", "load"],
    ),
    (
        "rows of requests and prices of events, which several features and `stats` or `workloads` share",
        &["ReleaseRow", "ReleaseRows", "release", "costs", "costs_cpu_time"],
    ),
    (
        "warm-up, and runs from snapshots in the record of a comparison, which `compare`, `explain` and `process` share",
        &["WARM_UP", "is_warm", "warm"],
    ),
];

#[test]
fn base_crates_name_no_feature() {
    let features = features();
    assert!(features.len() > 5 && features.contains(&"limit"), "{features:?}");
    let files: Vec<PathBuf> =
        BASE_CRATES.iter().flat_map(|name| sources(&root().join("crates").join(name).join("src"))).collect();
    let found = in_parallel(&files, |file| {
        let names = declared(&parsed(file, without_tests(&text(file))));
        names.into_iter().filter(|name| contains_word_of(name, &features)).collect()
    });
    let found: BTreeSet<String> = found.into_iter().collect();
    let allowed: BTreeSet<String> =
        ALLOWED_NAMES.iter().flat_map(|(_, names)| names.iter().map(|name| (*name).to_owned())).collect();
    let new: Vec<&String> = found.difference(&allowed).collect();
    assert!(new.is_empty(), "names of features in base crates: {new:?}");
    let unused: Vec<&String> = allowed.difference(&found).collect();
    assert!(unused.is_empty(), "exceptions that are not needed: {unused:?}");
}

/// Returns the names of the crates of features: those that depend on the interface of features, without `testing`.
fn features() -> Vec<&'static str> {
    let of_features = ARROWS.iter().filter(|(_, allowed)| allowed.contains(&"feature"));
    of_features.filter_map(|(name, _)| name.strip_prefix("crates/")).filter(|name| *name != "testing").collect()
}

/// Returns whether a name in any case (`HostSecond`, `is_warm`, `WARM_UP`) contains one of `words` as a word.
fn contains_word_of(name: &str, words: &[&str]) -> bool {
    let is_constant = !name.contains(|letter: char| letter.is_lowercase());
    let mut separated = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !is_constant {
            separated.push('_');
        }
        separated.extend(letter.to_lowercase());
    }
    separated.split('_').any(|part| words.contains(&part))
}

/// Returns the names that a file declares outside functions: types, variants, fields, functions, constants, modules.
fn declared(file: &syn::File) -> Vec<String> {
    let mut declared = Declared::default();
    declared.visit_file(file);
    declared.names
}

#[derive(Default)]
struct Declared {
    names: Vec<String>,
}

impl<'ast> Visit<'ast> for Declared {
    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        self.names.push(item.ident.to_string());
        visit::visit_item_struct(self, item);
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        self.names.push(item.ident.to_string());
        visit::visit_item_enum(self, item);
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        self.names.push(item.ident.to_string());
        visit::visit_item_trait(self, item);
    }

    fn visit_item_type(&mut self, item: &'ast syn::ItemType) {
        self.names.push(item.ident.to_string());
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_for_tests(&item.attrs) {
            self.names.push(item.ident.to_string());
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_const(&mut self, item: &'ast syn::ItemConst) {
        self.names.push(item.ident.to_string());
    }

    fn visit_item_static(&mut self, item: &'ast syn::ItemStatic) {
        self.names.push(item.ident.to_string());
    }

    fn visit_impl_item_const(&mut self, item: &'ast syn::ImplItemConst) {
        self.names.push(item.ident.to_string());
    }

    fn visit_variant(&mut self, variant: &'ast syn::Variant) {
        self.names.push(variant.ident.to_string());
        visit::visit_variant(self, variant);
    }

    fn visit_field(&mut self, field: &'ast syn::Field) {
        self.names.extend(field.ident.as_ref().map(ToString::to_string));
    }

    fn visit_signature(&mut self, signature: &'ast syn::Signature) {
        self.names.push(signature.ident.to_string());
    }

    /// Skips the bodies of functions: the names of variables are private to them.
    fn visit_block(&mut self, _: &'ast syn::Block) {}
}

#[test]
fn names_of_features_are_found() {
    let text = "mod limit; struct LoadOf { is_warm: bool, limits: u8 } enum E { Costs } const HOST_END: u8 = 0; \
                impl E { fn of_locks(load: u8) { let agent = 1; } } #[cfg(test)] mod warm {}";
    let names = declared(&syn::parse_file(text).expect("the text is Rust"));
    let words = ["limit", "load", "warm", "costs", "host", "locks", "agent"];
    let found: Vec<String> = names.into_iter().filter(|name| contains_word_of(name, &words)).collect();
    assert_eq!(found, ["limit", "LoadOf", "is_warm", "Costs", "HOST_END", "of_locks"]);
}

#[test]
fn functions_have_no_tuple_patterns_as_parameters() {
    let root = root();
    let files: Vec<PathBuf> =
        ["crates", "preload", "fuzz", "tests"].iter().flat_map(|top| sources(&root.join(top))).collect();
    let found = in_parallel(&files, |file| {
        // Parsing takes most of the time. Only files with `): ` are parsed, because a type follows a tuple pattern.
        let text = Some(text(file)).filter(|text| text.contains("): "));
        let functions = text.map(|text| with_tuple_patterns(&parsed(file, &text)));
        functions.unwrap_or_default().into_iter().map(|name| format!("{}: {name}", folder(file, &root))).collect()
    });
    assert!(found.is_empty(), "functions with tuple patterns as parameters:\n{found:#?}");
}

/// A module's path within its crate: `["run", "store"]`; empty for the crate itself.
type Module = Vec<String>;

/// Returns the modules of a crate that are files, without modules of tests.
fn modules(src: &Path) -> BTreeMap<Module, PathBuf> {
    let module = |file: &PathBuf| {
        let path = file.strip_prefix(src).expect("sources are below src").with_extension("");
        let mut module: Module = path.iter().map(|part| part.to_string_lossy().into_owned()).collect();
        if matches!(module.last().map(String::as_str), Some("mod" | "lib" | "main")) {
            module.pop();
        }
        (!module.iter().any(|part| part == "tests")).then(|| (module, file.clone()))
    };
    sources(src).iter().filter_map(module).collect()
}

/// Returns the groups of modules that import each other, directly or through others, as lists of names. A module and
/// its descendants may import each other.
fn cycles(modules: &BTreeMap<Module, syn::File>) -> Vec<String> {
    let imports: BTreeMap<&Module, BTreeSet<&Module>> =
        modules.iter().map(|(module, file)| (module, imports(module, file, modules))).collect();
    let reached: BTreeMap<&Module, BTreeSet<&Module>> =
        imports.keys().map(|module| (*module, reached(module, &imports))).collect();
    let mut groups = BTreeSet::new();
    for (module, from_it) in &reached {
        let group: Vec<String> =
            from_it.iter().filter(|other| reached[*other].contains(module)).map(|other| other.join("::")).collect();
        if !group.is_empty() {
            groups.insert(group.join(", "));
        }
    }
    groups.into_iter().collect()
}

/// Returns all modules that a module imports, directly or through others. In a cycle, the module itself is among them.
fn reached<'a>(module: &Module, imports: &BTreeMap<&'a Module, BTreeSet<&'a Module>>) -> BTreeSet<&'a Module> {
    let mut reached = BTreeSet::new();
    let mut left: Vec<&Module> = imports[module].iter().copied().collect();
    while let Some(next) = left.pop() {
        if reached.insert(next) {
            left.extend(&imports[next]);
        }
    }
    reached
}

/// Returns the modules that the paths in a file refer to, without ancestors and descendants of the file's module.
fn imports<'a>(module: &Module, file: &syn::File, modules: &'a BTreeMap<Module, syn::File>) -> BTreeSet<&'a Module> {
    let mut paths = Paths { module: module.clone(), modules, found: BTreeSet::new() };
    paths.visit_file(file);
    let related = |other: &Module| other.starts_with(module) || module.starts_with(other);
    paths.found.into_iter().filter(|other| !related(other)).collect()
}

/// Collects the modules that paths refer to.
struct Paths<'a> {
    /// The module that contains the current path.
    module: Module,
    modules: &'a BTreeMap<Module, syn::File>,
    found: BTreeSet<&'a Module>,
}

impl Paths<'_> {
    /// Records the module that the path `words` refers to: its longest prefix that is a module.
    fn note(&mut self, words: &[String]) {
        let Some(first) = words.first() else { return };
        let mut path = self.module.clone();
        path.push(first.clone());
        let (mut path, mut rest) = match first.as_str() {
            "crate" => (vec![], &words[1..]),
            "self" => (self.module.clone(), &words[1..]),
            "super" => (self.module.clone(), words),
            _ if self.modules.contains_key(&path) => (self.module.clone(), words),
            _ => return,
        };
        while rest.first().is_some_and(|word| word == "super") {
            path.pop();
            rest = &rest[1..];
        }
        path.extend(rest.iter().cloned());
        while !path.is_empty() && !self.modules.contains_key(&path) {
            path.pop();
        }
        self.found.extend(self.modules.get_key_value(&path).map(|(module, _)| module));
    }

    /// Records the modules of each path of an import. `words` is the common prefix of the paths.
    fn note_import(&mut self, words: &mut Module, tree: &syn::UseTree) {
        match tree {
            syn::UseTree::Path(path) => {
                words.push(path.ident.to_string());
                self.note_import(words, &path.tree);
                words.pop();
            }
            syn::UseTree::Group(group) => group.items.iter().for_each(|tree| self.note_import(words, tree)),
            syn::UseTree::Name(syn::UseName { ident, .. }) | syn::UseTree::Rename(syn::UseRename { ident, .. }) => {
                words.push(ident.to_string());
                self.note(words);
                words.pop();
            }
            _ => self.note(words),
        }
    }
}

impl<'ast> Visit<'ast> for Paths<'_> {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if item.content.is_some() && !is_for_tests(&item.attrs) {
            self.module.push(item.ident.to_string());
            visit::visit_item_mod(self, item);
            self.module.pop();
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        if !is_for_tests(&item.attrs) {
            self.note_import(&mut vec![], &item.tree);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let words: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        if words.len() > 1 {
            self.note(&words);
        }
        visit::visit_path(self, path);
    }

    /// Searches the arguments of a macro for paths as text, because `syn` does not parse them.
    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        let text = call.tokens.to_string().replace(" :: ", "::");
        let is_of_path = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == ':';
        for path in text.split(|letter| !is_of_path(letter)).filter(|path| path.contains("::")) {
            self.note(&path.split("::").map(str::to_owned).collect::<Vec<_>>());
        }
        visit::visit_macro(self, call);
    }
}

/// Returns whether an item is compiled for tests only (`#[cfg(test)]`).
fn is_for_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        syn::Meta::List(list) => list.path.is_ident("cfg") && list.tokens.to_string() == "test",
        _ => false,
    })
}

/// Returns the functions of a file that have a tuple pattern as a parameter. Closures may have them.
fn with_tuple_patterns(file: &syn::File) -> Vec<String> {
    let mut functions = Functions::default();
    functions.visit_file(file);
    functions.with_tuples
}

#[derive(Default)]
struct Functions {
    with_tuples: Vec<String>,
}

impl<'ast> Visit<'ast> for Functions {
    fn visit_signature(&mut self, signature: &'ast syn::Signature) {
        let has_tuple = |argument: &syn::FnArg| match argument {
            syn::FnArg::Typed(typed) => is_tuple(&typed.pat),
            _ => false,
        };
        if signature.inputs.iter().any(has_tuple) {
            self.with_tuples.push(signature.ident.to_string());
        }
    }
}

fn is_tuple(pattern: &syn::Pat) -> bool {
    match pattern {
        syn::Pat::Tuple(_) => true,
        syn::Pat::Reference(reference) => is_tuple(&reference.pat),
        _ => false,
    }
}

fn text(file: &Path) -> String {
    fs::read_to_string(file).expect("sources are readable UTF-8")
}

/// Returns the text of a file without the module of tests at its end, which need not be parsed.
fn without_tests(text: &str) -> &str {
    text.split_once("\n#[cfg(test)]\nmod tests {").map_or(text, |(before, _)| before)
}

fn parsed(file: &Path, text: &str) -> syn::File {
    syn::parse_file(text).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// Calls `find` for each of `places`, with one thread per CPU. Returns all results in the order of the places.
fn in_parallel(places: &[PathBuf], find: impl Fn(&Path) -> Vec<String> + Sync) -> Vec<String> {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let share = |first: usize| places.iter().skip(first).step_by(threads).map(|place| find(place)).collect::<Vec<_>>();
    let mut found: Vec<String> = thread::scope(|scope| {
        let share = &share;
        let running: Vec<_> = (0..threads).map(|first| scope.spawn(move || share(first))).collect();
        running.into_iter().flat_map(|thread| thread.join().expect("no thread panics")).flatten().collect()
    });
    found.sort();
    found
}

#[test]
fn a_cycle_of_imports_is_found() {
    let cycles = |texts: &[(&str, &str)]| {
        let module = |path: &str| path.split("::").filter(|part| !part.is_empty()).map(str::to_owned).collect();
        cycles(
            &texts
                .iter()
                .map(|(path, text)| (module(path), syn::parse_file(text).expect("the text is Rust")))
                .collect(),
        )
    };
    let two = [("", "mod a; mod b;"), ("a", "use super::b::{self, X};"), ("b", "fn f() -> crate::a::Y { todo() }")];
    assert_eq!(cycles(&two), ["a, b"]);
    let in_a_macro = [("a", "fn f() { assert!(crate::b::g(1), \"x\") }"), ("b", "use crate::{a::h, c};"), ("c", "")];
    assert_eq!(cycles(&in_a_macro), ["a, b"]);
    let three =
        [("a", "use crate::b::X;"), ("b", "mod inner { use super::super::c::Y; }"), ("c", "use crate::a::d::Z;")];
    assert_eq!(cycles(&[&three[..], &[("a::d", "use super::super::b::X;")]].concat()), ["a::d, b, c"]);
    // A module and its child, and modules of tests, form no cycle.
    let fine = [("a", "mod b; use b::X;"), ("a::b", "use super::Y; use crate::c::Z;"), ("c", "")];
    assert!(cycles(&fine).is_empty());
    let in_tests = [("a", "use crate::b::X;"), ("b", "#[cfg(test)] mod tests { use crate::a::Y; }")];
    assert!(cycles(&in_tests).is_empty());
}

#[test]
fn a_tuple_pattern_as_a_parameter_is_found() {
    let found = |text: &str| with_tuple_patterns(&syn::parse_file(text).expect("the text is Rust"));
    assert_eq!(found("fn f((a, b): (u8, u8)) {} impl X { fn g(&self, &(c, d): &(u8, u8)) {} }"), ["f", "g"]);
    assert!(found("fn f(both: (u8, u8), Nanos(n): Nanos) { let g = |(a, b): (u8, u8)| a; }").is_empty());
}
