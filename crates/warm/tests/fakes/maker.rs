//! Creates snapshots from made-up captures, and checks the store and the keeper.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, FileExt, PermissionsExt, symlink};
use std::panic;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::rc::Rc;
use std::time::Duration;

use steady_linux::{Root, clock};
use steady_model::Nanos;
use steady_preload::card::{Card, Outcome, demand};
use steady_warm::captured::{Captured, NotCaptured, Refusal, Request, Stack, Thread, UsedFile};
use steady_warm::image::Image;
use steady_warm::launch::{Launch, StartingProcess, launch};
use steady_warm::make::{COPIES, Capturer, Made, Maker, NotMade, Used};
use steady_warm::status::status;
use steady_warm::store::{Store, StoreDirectory, Work};
use steady_warm::{ProgramState, Question, identity, keeper};

/// A fake that makes empty captures, and images with a fixed text.
#[derive(Clone, Default)]
struct Fake {
    files: Vec<(PathBuf, bool)>,
    variables: Vec<&'static str>,
    requests: Vec<Request>,
    refused: Option<&'static str>,
    failed: Option<&'static str>,
    panics: bool,
    /// A file to change, and the number of the capture before which it is changed.
    changes: Option<(usize, PathBuf)>,
    /// CPU time that the captures used while other processes wanted it, by the number of captures so far.
    cpu: Option<fn(u64) -> Nanos>,
    /// A function that is called during the first capture.
    during_first: Option<Rc<dyn Fn()>>,
    /// When each capture began.
    began: Vec<Nanos>,
}

impl Capturer for &mut Fake {
    fn used(&self) -> Used {
        let cpu = self.cpu.map_or(Nanos::ZERO, |cpu| cpu(self.requests.len() as u64));
        Used { cpu, waited: Ok(cpu) }
    }

    fn capture(&mut self, request: &Request) -> Result<Captured, NotCaptured> {
        self.requests.push(request.clone());
        self.began.push(clock::monotonic());
        if self.panics {
            // Panics without a message, because the panic is expected.
            panic::resume_unwind(Box::new("a capture that panics"));
        }
        if let Some(during_first) = self.during_first.take() {
            during_first();
        }
        if let Some((captures, file)) = &self.changes
            && self.requests.len() == *captures
        {
            fs::write(file, "changed").unwrap();
        }
        let files = self.files.iter().map(|(path, found)| UsedFile { path: path.clone(), found: *found });
        match (self.refused, self.failed) {
            (Some(why), _) => return Err(NotCaptured::Refused(Refusal(why.to_owned()), files.collect())),
            (_, Some(why)) => return Err(NotCaptured::Failed(why.to_owned())),
            _ => {}
        }
        Ok(Captured {
            regions: vec![],
            entry: 0,
            at_exit: 0,
            thread: Thread::default(),
            stack: Stack::default(),
            stack_limit: 8 << 20,
            heap_end: 0,
            drawn: vec![],
            files: files.collect(),
            variables: self.variables.iter().map(Into::into).collect(),
        })
    }

    fn images(&mut self, _: [&Captured; 2], _: &Captured) -> Result<[Image; 2], Refusal> {
        Ok([b"first".to_vec().into(), b"second".to_vec().into()])
    }
}

/// The store and the program of a test, both removed at its end.
struct Bench {
    folder: PathBuf,
    store: Store,
    program: PathBuf,
}

impl Bench {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("steady-made-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        DirBuilder::new().mode(0o700).create(&folder).unwrap();
        let place = StoreDirectory::of(&folder.join("cache"), &Root::default(), "test").unwrap();
        let store = Store::make(&place).unwrap();
        let program = folder.join("program");
        fs::copy("/bin/true", &program).unwrap();
        // A program that was changed a moment ago is not captured.
        std::thread::sleep(Duration::from_millis(80));
        Bench { folder, store, program }
    }

    fn make(&self, fake: &mut Fake) -> Result<Made, NotMade> {
        self.maker(fake).make(&self.program)
    }

    fn maker<'a>(&'a self, fake: &'a mut Fake) -> Maker<'a, &'a mut Fake> {
        let environment = [("LANG", "C"), ("LD_DEBUG", "all"), ("MALLOC_X", "1"), ("ASKED", "yes")];
        let environment = environment.map(|(name, value)| (name.into(), value.into())).to_vec();
        Maker::new(&self.store, fake, environment)
    }

    fn key(&self) -> String {
        identity::key(&self.program).unwrap()
    }

    /// Requests a snapshot, as the hook does.
    fn request(&self, path: &Path) {
        symlink(path, self.store.wanted().join(identity::key(path).unwrap())).unwrap();
    }

    /// Runs a keeper that keeps its priority, which this process shares with its session.
    fn keep(&self, fake: &mut Fake, command: OwnedFd, except: &str) {
        keeper::keep(&mut Maker::new(&self.store, fake, vec![]), command, OsStr::new(except), || {}).unwrap();
    }

    fn launch(&self, environment: &[(&str, &str)]) -> Result<Vec<u8>, String> {
        let environment: Vec<_> = environment.iter().map(|(name, value)| (name.into(), value.into())).collect();
        match launch(&self.store, &self.program, StartingProcess { environment: &environment, root: &Root::default() })
        {
            Launch::Warm(snapshot) => Ok(fs::read(snapshot).unwrap()),
            Launch::AsUsual(reasons) => Err(reasons.join("; ")),
        }
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

#[test]
fn fifos_in_a_store_block_no_reader() {
    let bench = Bench::new("fifos");
    bench.make(&mut Fake::default()).unwrap();
    let (card, trouble) = (bench.store.folder().join("cards").join(bench.key()), bench.store.folder().join("trouble"));
    fs::remove_file(&card).unwrap();
    for path in [&card, &trouble, &bench.store.keeper_path()] {
        let _ = fs::remove_file(path);
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    }
    assert!(bench.store.card(&bench.key()).is_err());
    assert_eq!((bench.store.trouble(), bench.store.has_keeper()), (None, false));
    assert!(bench.launch(&[]).is_err());
}

#[test]
fn a_script_whose_interpreter_is_a_script_or_missing_starts_as_usual() {
    let bench = Bench::new("nested");
    let path = |name: &str| bench.folder.join(name);
    let [inner, outer, cycle, old] = ["inner", "outer", "cycle", "old"].map(path);
    for (script, interpreter) in
        [(&inner, &bench.program), (&outer, &inner), (&cycle, &cycle), (&old, &path("missing"))]
    {
        fs::write(script, format!("#!{}\n", interpreter.display())).unwrap();
        fs::set_permissions(script, fs::Permissions::from_mode(0o755)).unwrap();
    }
    fs::write(path("missing"), "").unwrap();
    std::thread::sleep(Duration::from_millis(80));
    let mut fake = Fake::default();
    let mut maker = bench.maker(&mut fake);
    let [Made::Script(script), ..] = [&inner, &outer, &cycle, &old].map(|script| maker.make(script).unwrap()) else {
        panic!("it is a script")
    };
    assert_eq!(maker.make_for(&script, &inner), Ok(true));
    drop(maker);
    fs::remove_file(path("missing")).unwrap();
    let why = |script: &Path| {
        let here = StartingProcess { environment: &[], root: &Root::default() };
        match launch(&bench.store, script, here) {
            Launch::Warm(_) => Ok(()),
            Launch::AsUsual(reasons) => Err(reasons.join("; ")),
        }
    };
    assert!(why(&inner).is_ok());
    let nested = "it is a script itself, which the hook leaves to the kernel";
    assert_eq!(why(&outer), Err(format!("for its interpreter {}: {nested}", inner.display())));
    assert_eq!(why(&cycle), Err(format!("for its interpreter {}: {nested}", cycle.display())));
    assert!(why(&old).unwrap_err().ends_with("missing: it does not exist"));
    fs::write(bench.store.folder().join("cards").join(identity::key(&old).unwrap()), "damaged").unwrap();
    assert_eq!(why(&old), Err("its card is damaged".to_owned()));
    let states = status(Question::Why, &Ok(bench.store.clone()), &[outer, cycle, old], None).programs;
    let interpreter = |state: &ProgramState| match state {
        ProgramState::Script { interpreter_state, .. } => interpreter_state.reason().map(str::to_owned),
        _ => None,
    };
    let states: Vec<_> = states.iter().map(|program| interpreter(&program.state)).collect();
    assert_eq!(states, [Some(nested.to_owned()), Some(nested.to_owned()), Some("it does not exist".to_owned())]);
}

#[test]
fn a_script_is_refused_while_its_interpreter_does_not_exist() {
    let bench = Bench::new("missing");
    let interpreter = bench.folder.join("interpreter");
    fs::write(&bench.program, format!("#!{}\n", interpreter.display())).unwrap();
    std::thread::sleep(Duration::from_millis(80));
    let keep = || {
        bench.request(&bench.program);
        bench.keep(&mut Fake::default(), ended(), "");
        assert_eq!(bench.store.requests().unwrap(), []);
    };
    for _ in 0..2 {
        keep();
        assert!(bench.launch(&[]).unwrap_err().ends_with("interpreter', does not exist"));
        fs::copy("/bin/true", &interpreter).unwrap();
        assert!(bench.launch(&[]).unwrap_err().ends_with("did not exist when the program was captured"));
        std::thread::sleep(Duration::from_millis(80));
        keep();
        assert!(bench.launch(&[]).is_ok());
        fs::remove_file(&interpreter).unwrap();
    }
}

#[test]
fn a_program_gets_snapshots_and_a_card() {
    let bench = Bench::new("card");
    let (library, absent) = (bench.folder.join("library"), bench.folder.join("absent"));
    fs::write(&library, "x").unwrap();
    std::thread::sleep(Duration::from_millis(80));
    let mut fake = Fake {
        files: vec![(bench.program.clone(), true), (library.clone(), true), (absent.clone(), false)],
        variables: vec!["ASKED", "NOT_SET", "STEADY_PADDING"],
        ..Fake::default()
    };
    assert_eq!(bench.make(&mut fake), Ok(Made::Warm));
    let card = bench.store.card(&bench.key()).unwrap().unwrap();
    let Some(Card::Warm(warm)) = Card::parse(&card.bytes) else { panic!("the program has no snapshots") };
    assert_eq!((warm.copies, warm.name.to_bytes()), (COPIES, &b"program"[..]));
    assert_eq!(warm.dependencies().count(), 2, "the program itself is not a dependency");
    assert_eq!(warm.conditions().count(), 2);
    let set = [("ASKED", "yes")];
    assert!([b"first".to_vec(), b"second".to_vec()].contains(&bench.launch(&set).unwrap()));
    assert!(bench.launch(&[]).unwrap_err().contains("ASKED is not 'yes'"));
    assert!(bench.launch(&[set[0], ("NOT_SET", "")]).unwrap_err().contains("NOT_SET is set"));
    assert!(bench.launch(&[set[0], ("GLIBC_TUNABLES", "x")]).unwrap_err().contains("GLIBC_TUNABLES"));
    fs::write(&absent, "").unwrap();
    assert!(bench.launch(&set).unwrap_err().contains("did not exist"));
    fs::remove_file(&absent).unwrap();
    fs::write(&library, "y").unwrap();
    assert!(bench.launch(&set).unwrap_err().contains("has changed"));
    fs::remove_file(&library).unwrap();
    assert!(bench.launch(&set).unwrap_err().contains("does not exist any more"));
    fs::write(&bench.program, "#!/bin/sh\n").unwrap();
    assert!(bench.launch(&set).unwrap_err().contains("its file has changed"));
    assert_eq!(bench.store.counts().unwrap().work(Work::Captured).unwrap(), 1);
}

#[test]
fn captures_differ_in_everything_that_a_launch_can_change() {
    let bench = Bench::new("differ");
    let mut fake = Fake::default();
    bench.make(&mut fake).unwrap();
    let [first, unbound, second] = &fake.requests[..] else { panic!("{:?}", fake.requests) };
    let base = |request: &Request| Path::new(&request.name).file_name().unwrap().len();
    assert!(base(first) != base(second) && first.name.len() - base(first) != second.name.len() - base(second));
    assert!(first.arguments != second.arguments && first.environment.len() != second.environment.len());
    assert!(first.bind_now && second.bind_now && !unbound.bind_now);
    let loader = |name: &OsStr| name == "LD_DEBUG" || name == "MALLOC_X";
    assert!(fake.requests.iter().all(|request| request.environment.iter().all(|(name, _)| !loader(name))));
}

#[test]
fn a_refusal_is_stored_and_a_failure_is_not() {
    let bench = Bench::new("refused");
    let mut fake = Fake { failed: Some("no process"), ..Fake::default() };
    assert_eq!(bench.make(&mut fake), Err(NotMade::Failed("no process".to_owned())));
    assert_eq!(bench.store.card(&bench.key()).unwrap(), None);
    let mut fake = Fake { refused: Some("it forks"), ..Fake::default() };
    assert_eq!(bench.make(&mut fake), Ok(Made::Refused(Refusal("it forks".to_owned()))));
    assert_eq!(bench.launch(&[]), Err("it forks".to_owned()));
    assert_eq!(bench.store.size(&bench.key()), 0);
}

/// If a library that caused a refusal is replaced, created or removed, the program is captured again.
#[test]
fn a_refusal_ends_when_a_file_it_depends_on_changes() {
    let bench = Bench::new("based");
    let (library, absent) = (bench.folder.join("library"), bench.folder.join("absent"));
    fs::write(&library, "").unwrap();
    std::thread::sleep(Duration::from_millis(80));
    let used = vec![(library.clone(), true), (absent.clone(), false)];
    let refuse = |bench: &Bench| {
        let mut fake = Fake { refused: Some("it forks"), files: used.clone(), ..Fake::default() };
        assert_eq!(bench.make(&mut fake), Ok(Made::Refused(Refusal("it forks".to_owned()))));
        assert_eq!(bench.launch(&[]), Err("it forks".to_owned()));
    };
    let changes: [fn(&Path, &Path); 3] = [
        |library, _| fs::write(library, "other").unwrap(),
        |_, absent| fs::write(absent, "").unwrap(),
        |library, absent| fs::remove_file(library).and_then(|()| fs::remove_file(absent)).unwrap(),
    ];
    refuse(&bench);
    for (number, change) in changes.into_iter().enumerate() {
        change(&library, &absent);
        let reasons = bench.launch(&[]).unwrap_err();
        assert!(reasons.contains("changed since") || reasons.contains("exist"), "{number}: {reasons}");
        std::thread::sleep(Duration::from_millis(80));
        bench.request(&bench.program);
        bench.keep(&mut Fake::default(), ended(), "");
        assert!(bench.launch(&[]).is_ok(), "{number}");
        if number == 0 {
            refuse(&bench);
        } else {
            let used = [(library.clone(), library.exists()), (absent.clone(), absent.exists())].to_vec();
            let mut fake = Fake { refused: Some("it forks"), files: used, ..Fake::default() };
            assert!(matches!(bench.make(&mut fake), Ok(Made::Refused(_))));
        }
    }
}

/// A library that is missing for a moment during the capture does not cause a permanent refusal.
#[test]
fn a_refusal_while_files_change_is_retried() {
    let bench = Bench::new("away");
    let library = bench.folder.join("library");
    fs::write(&library, "").unwrap();
    std::thread::sleep(Duration::from_millis(80));
    let mut fake = Fake { refused: Some("it ends"), files: vec![(library.clone(), false)], ..Fake::default() };
    assert!(matches!(bench.make(&mut fake), Err(NotMade::Unsettled(_))), "the library was created");
    fs::remove_file(&library).unwrap();
    let mut fake = Fake { refused: Some("it ends"), files: vec![(library.clone(), true)], ..Fake::default() };
    assert!(matches!(bench.make(&mut fake), Err(NotMade::Unsettled(_))), "the library was removed");
    assert_eq!(bench.store.card(&bench.key()).unwrap(), None);
    // On a busy machine the change may be old enough when it is checked, so try again.
    let is_put_off = (0..20).any(|_| {
        bench.store.clear().unwrap();
        fs::write(&library, "").unwrap();
        matches!(bench.make(&mut fake), Err(NotMade::Unsettled(_)))
    });
    assert!(is_put_off, "the library was changed a moment ago");
    assert_eq!(bench.store.card(&bench.key()).unwrap(), None);
}

#[test]
fn changed_snapshots_are_not_used_and_are_created_again() {
    let bench = Bench::new("damaged");
    let damages: [fn(&Path); 3] = [
        |path| drop(File::options().write(true).truncate(true).open(path).unwrap()),
        |path| File::options().write(true).open(path).unwrap().write_all_at(b"#!", 0).unwrap(),
        |path| {
            fs::copy(path, path.with_extension("new"))
                .and_then(|_| fs::rename(path.with_extension("new"), path))
                .unwrap()
        },
    ];
    bench.make(&mut Fake::default()).unwrap();
    for damage in damages {
        for copy in 0..COPIES {
            let path = bench.store.snapshot(&bench.key(), copy, OsStr::new("program"));
            fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
            damage(&path);
        }
        assert!(bench.launch(&[]).unwrap_err().contains("changed after it was written"));
        bench.request(&bench.program);
        bench.keep(&mut Fake::default(), ended(), "");
        assert!(bench.launch(&[]).is_ok());
    }
}

#[test]
fn a_program_whose_files_change_during_the_capture_is_put_off() {
    let bench = Bench::new("changes");
    let library = bench.folder.join("library");
    for captures in [1, 2, 3] {
        fs::write(&library, "x").unwrap();
        std::thread::sleep(Duration::from_millis(80));
        let mut fake = Fake {
            files: vec![(library.clone(), true)],
            changes: Some((captures, library.clone())),
            ..Fake::default()
        };
        let made = bench.make(&mut fake);
        assert!(matches!(made, Err(NotMade::Unsettled(_))), "{captures}: {made:?}");
        assert_eq!(bench.store.card(&bench.key()).unwrap(), None);
    }
    let mut fake = Fake { files: vec![(library.clone(), false)], ..Fake::default() };
    assert!(matches!(bench.make(&mut fake), Err(NotMade::Unsettled(_))), "the library was created");
    // A program that has just changed is put off. On a busy machine it may be old enough when it is checked, so try
    // again.
    let is_put_off = (0..20).any(|_| {
        fs::write(&bench.program, fs::read("/bin/true").unwrap()).unwrap();
        matches!(bench.make(&mut Fake::default()), Err(NotMade::Unsettled(_)))
    });
    assert!(is_put_off, "the program has just changed");
}

#[test]
fn one_process_at_a_time_creates_snapshots_of_a_program() {
    let bench = Bench::new("busy");
    let held = bench.store.lock_program(&bench.key()).unwrap().unwrap();
    assert_eq!(bench.make(&mut Fake::default()), Err(NotMade::Busy));
    std::thread::scope(|scope| {
        scope.spawn(move || {
            std::thread::sleep(Duration::from_millis(300));
            drop(held);
        });
        assert_eq!(
            bench.maker(&mut Fake::default()).make_patiently(&bench.program),
            Ok(Made::Warm),
            "it waits for the other process"
        );
    });
}

#[test]
fn names_stay_when_snapshots_are_replaced() {
    let bench = Bench::new("names");
    bench.make(&mut Fake::default()).unwrap();
    let (key, store) = (bench.key(), &bench.store);
    store.add_name(&key, COPIES, OsStr::new("program"), OsStr::new("other")).unwrap();
    store.add_name(&key, COPIES, OsStr::new("program"), OsStr::new("other")).unwrap();
    let before = store.size(&key);
    bench.make(&mut Fake::default()).unwrap();
    for copy in 0..COPIES {
        let inode = |name: &str| identity::key(&store.snapshot(&key, copy, OsStr::new(name))).unwrap();
        assert_eq!(inode("program"), inode("other"), "both names lead to the new snapshot");
    }
    assert_eq!(store.size(&key), before, "files with two names count once");
    let left: Vec<_> = fs::read_dir(store.snapshot(&key, 0, OsStr::new("")).as_path()).unwrap().collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

#[test]
fn a_renamed_program_starts_from_snapshots_by_its_old_name() {
    let bench = Bench::new("renamed");
    let other = bench.folder.join("program-1");
    bench.make(&mut Fake::default()).unwrap();
    bench.store.add_name(&bench.key(), COPIES, OsStr::new("program"), OsStr::new("script")).unwrap();
    let before = bench.store.size(&bench.key());
    fs::rename(&bench.program, &other).and_then(|()| symlink(&other, &bench.program)).unwrap();
    std::thread::sleep(Duration::from_millis(80));
    bench.make(&mut Fake::default()).unwrap();
    assert!(bench.launch(&[]).is_ok());
    assert_eq!(bench.store.size(&bench.key()), before, "the snapshots of the old name are removed");
    let of = |question, names: &[&PathBuf]| {
        let names: Vec<PathBuf> = names.iter().copied().cloned().collect();
        status(question, &Ok(bench.store.clone()), &names, None).programs
    };
    assert_eq!(of(Question::Status, &[&bench.program, &other]).len(), 1, "it is one program");
    assert_eq!(of(Question::Why, &[&bench.program, &other]).len(), 2, "each name has an answer");
    fs::remove_file(&other).unwrap();
    assert_eq!(of(Question::Status, &[&other])[0].state.reason(), Some("its file does not exist any more"));
}

#[test]
fn a_store_that_is_cleared_during_a_capture_stays_empty() {
    let bench = Bench::new("cleared");
    let program_lock = bench.store.lock_program(&bench.key()).unwrap().unwrap();
    program_lock.put(0, OsStr::new("program"), &b"image".to_vec().into()).unwrap();
    bench.store.clear().unwrap();
    let card = program_lock.write_card(|_| unreachable!("the store was cleared"));
    assert!(card.unwrap_err().to_string().contains("cleared"));
    assert_eq!(bench.store.cards().unwrap(), []);
    assert!(bench.store.hook().exists(), "the hook may be in use");
}

/// A pidfd of a process that has ended. A keeper for it captures the requested programs and ends.
fn ended() -> OwnedFd {
    let (mut child, pidfd) = sleeping("0");
    child.wait().unwrap();
    pidfd
}

/// A process that ends after so many seconds, and its pidfd.
fn sleeping(seconds: &str) -> (Child, OwnedFd) {
    let child = Command::new("sleep").arg(seconds).spawn().unwrap();
    let pid = rustix::process::Pid::from_raw(child.id() as i32).unwrap();
    let pidfd = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).unwrap();
    (child, pidfd)
}

#[test]
fn a_keeper_survives_a_capture_that_panics() {
    let bench = Bench::new("keeper");
    let request = |path: &Path| bench.request(path);
    request(&bench.program);
    let mut fake = Fake { panics: true, ..Fake::default() };
    bench.keep(&mut fake, ended(), "");
    assert!(bench.launch(&[]).unwrap_err().contains("internal error"));
    assert_eq!(fs::read_dir(bench.store.wanted()).unwrap().count(), 0);
    fs::set_permissions(&bench.program, fs::Permissions::from_mode(0o700)).unwrap();
    std::thread::sleep(Duration::from_millis(80));
    request(&bench.program);
    bench.keep(&mut Fake::default(), ended(), "");
    assert!(bench.launch(&[]).is_ok());
}

/// A capture that was not requested, as in mode prewarm, also fulfils a request that waits for a keeper.
#[test]
fn a_capture_fulfils_the_request_for_its_program() {
    let bench = Bench::new("fulfils");
    bench.request(&bench.program);
    assert_eq!(bench.make(&mut Fake::default()), Ok(Made::Warm));
    assert_eq!(bench.store.requests().unwrap(), []);
    // The snapshots do not have this name yet.
    let other = bench.folder.join("other-name");
    symlink(&bench.program, &other).unwrap();
    symlink(&other, bench.store.wanted().join(bench.key())).unwrap();
    assert_eq!(bench.make(&mut Fake::default()), Ok(Made::Warm));
    assert_eq!(bench.store.requests().unwrap().len(), 1);
}

/// A keeper uses no CPU time while it waits: neither for the next attempt to capture a program that does not exist any
/// more, nor for credit.
#[test]
fn a_keeper_sleeps_while_it_waits() {
    let keep = |name: &str, change: fn(&Path, &mut Fake)| {
        let bench = Bench::new(name);
        bench.request(&bench.program);
        let mut fake = Fake::default();
        change(&bench.program, &mut fake);
        let (mut child, command) = sleeping("2");
        let before = clock::thread_cpu();
        bench.keep(&mut fake, command, "");
        child.wait().unwrap();
        let used = clock::thread_cpu() - before;
        assert_eq!(bench.store.requests().unwrap(), [], "{name}");
        used
    };
    let vanishes = keep("vanishes", |program, fake| {
        let program = program.to_owned();
        fake.failed = Some("no process");
        fake.during_first = Some(Rc::new(move || fs::remove_file(&program).unwrap()));
    });
    // The program changes during a capture that uses more than a keeper may use.
    let credit = keep("credit", |program, fake| {
        fake.changes = Some((1, program.to_owned()));
        fake.cpu = Some(|captures| Nanos(1_000_000_000_000 * captures));
    });
    assert!(vanishes.max(credit) < Nanos(300_000_000), "{vanishes:?} {credit:?}");
}

/// The most often launched programs come first, and captures use no more CPU time than launches have saved until the
/// command has ended.
#[test]
fn a_keeper_captures_what_pays() {
    let bench = Bench::new("pays");
    let counts = File::options().write(true).open(bench.store.folder().join("counts")).unwrap();
    let write = |place: u32, number: u64| counts.write_all_at(&number.to_ne_bytes(), u64::from(place) * 8).unwrap();
    let names = ["rare", "often", "sometimes", "never"];
    let programs = names.map(|name| bench.folder.join(name));
    for program in &programs {
        fs::copy("/bin/true", program).unwrap();
    }
    std::thread::sleep(Duration::from_millis(80));
    for (program, launches) in programs.iter().zip([1, 50, 7, 90]) {
        bench.request(program);
        write(demand(&identity::existing(program).unwrap()), launches);
    }
    // Returns the captured programs, and how many captures began while the command ran.
    let keep = |mut fake: Fake, except: &str| {
        // The command does not end before this, however late this thread gets a CPU again.
        let end = clock::monotonic() + Nanos(3_000_000_000);
        let (mut child, command) = sleeping("3");
        bench.keep(&mut fake, command, except);
        child.wait().unwrap();
        let mut captured: Vec<PathBuf> = fake.requests.iter().map(|request| request.program.clone()).collect();
        captured.dedup();
        (captured, fake.began.iter().filter(|began| **began < end).count())
    };
    // Three captures use 30 ms. Six use more than a keeper may use at the start, or after an hour.
    let cpu: fn(u64) -> Nanos = |captures| Nanos(if captures <= 3 { 10_000_000 * captures } else { 1_000_000_000_000 });
    let (captured, early) = keep(Fake { cpu: Some(cpu), ..Fake::default() }, "never");
    assert_eq!((captured, early), ([1, 2, 0].map(|at| programs[at].clone()).to_vec(), 6));
    assert_eq!(bench.store.requests().unwrap(), [], "the request of the excepted program is removed");
    bench.request(&programs[1]);
    assert_eq!(bench.store.requests().unwrap()[0].launches, 0, "the count of launches starts again");
    bench.store.clear().unwrap();
    // Launches from snapshots during the captures allow more captures.
    programs.iter().for_each(|program| bench.request(program));
    let saved = counts.try_clone().unwrap();
    let during_first = move || saved.write_all_at(&u64::to_ne_bytes(1_000), Outcome::Warm as u64 * 8).unwrap();
    let cpu: fn(u64) -> Nanos = |captures| Nanos(10_000_000 * captures);
    let fake = Fake { cpu: Some(cpu), during_first: Some(Rc::new(during_first)), ..Fake::default() };
    assert_eq!(keep(fake, &programs[0].display().to_string()).1, 9);
}

/// The launches of the command itself are not counted: `steady warm` requests a snapshot if that of the command is old.
#[test]
fn a_request_replaces_old_snapshots() {
    for (seconds, by_link, replaced) in [(300, false, false), (601, false, true), (601, true, true)] {
        let bench = Bench::new(&format!("request-{seconds}-{by_link}"));
        assert_eq!(bench.make(&mut Fake::default()), Ok(Made::Warm));
        let card = File::open(bench.store.folder().join("cards").join(bench.key())).unwrap();
        let written = card.metadata().unwrap().modified().unwrap();
        card.set_modified(written - Duration::from_secs(seconds)).unwrap();
        let link = bench.folder.join("link");
        symlink(&bench.program, &link).unwrap();
        bench.request(if by_link { &link } else { &bench.program });
        let mut fake = Fake::default();
        bench.keep(&mut fake, ended(), "");
        assert_eq!(!fake.requests.is_empty(), replaced, "{seconds} s");
        assert_eq!(bench.store.requests().unwrap(), []);
    }
}

#[test]
fn snapshots_are_replaced_after_many_launches_or_some_minutes_of_use() {
    const TAKES: usize = 3;
    for (launches, seconds, replaced) in
        [(4096, 0, true), (4095, 0, false), (4095, 300, false), (1, 601, true), (0, 601, false), (0, 1 << 20, false)]
    {
        let bench = Bench::new(&format!("replaced-{launches}-{seconds}"));
        assert_eq!(bench.make(&mut Fake::default()), Ok(Made::Warm));
        let stored = bench.store.card(&bench.key()).unwrap().unwrap();
        let Some(Card::Warm(warm)) = Card::parse(&stored.bytes) else { panic!("the program has no snapshots") };
        let card = File::open(bench.store.folder().join("cards").join(bench.key())).unwrap();
        let written = card.metadata().unwrap().modified().unwrap();
        card.set_modified(written - Duration::from_secs(seconds)).unwrap();
        // The launches are counted while another program is captured.
        let counts = File::options().write(true).open(bench.store.folder().join("counts")).unwrap();
        let place = u64::from(warm.slot) * 8;
        let during_first = move || counts.write_all_at(&u64::to_ne_bytes(launches), place).unwrap();
        let other = bench.folder.join("other");
        fs::copy(&bench.program, &other).unwrap();
        std::thread::sleep(Duration::from_millis(80));
        bench.request(&other);
        let mut fake = Fake { during_first: Some(Rc::new(during_first)), ..Fake::default() };
        bench.keep(&mut fake, ended(), "");
        let captured = |path: &Path| fake.requests.iter().filter(|request| request.program == path).count();
        let expected = if replaced { TAKES } else { 0 };
        assert_eq!((captured(&other), captured(&bench.program)), (TAKES, expected), "{launches} launches, {seconds} s");
    }
}
