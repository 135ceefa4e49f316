//! Making programs warm, with takes that are made up: what comes of them in a store, and what never does.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, FileExt, PermissionsExt, symlink};
use std::panic;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use steady_linux::Root;
use steady_model::Nanos;
use steady_preload::card::{Card, Outcome, demand};
use steady_warm::image::Image;
use steady_warm::launch::{Here, Launch, launch};
use steady_warm::make::{COPIES, Camera, Made, Maker, Unmade, Used};
use steady_warm::store::{Place, Store, Work};
use steady_warm::taken::{AskedFile, NotTaken, Refusal, Request, Stack, Taken, Thread};
use steady_warm::{identity, keeper};

/// Takes that show which files were asked for; images that say by whom.
#[derive(Clone, Default)]
struct Fake {
    files: Vec<(PathBuf, bool)>,
    variables: Vec<&'static str>,
    requests: Vec<Request>,
    refused: Option<&'static str>,
    failed: Option<&'static str>,
    panics: bool,
    /// How many takes there are before a file is changed.
    changes: Option<(usize, PathBuf)>,
    /// CPU time that others wanted, by the number of takes so far; none if it is absent.
    cpu: Option<fn(u64) -> Nanos>,
    /// What happens during the first take.
    meanwhile: Option<Rc<dyn Fn()>>,
}

impl Camera for &mut Fake {
    fn used(&self) -> Used {
        let cpu = self.cpu.map_or(Nanos::ZERO, |cpu| cpu(self.requests.len() as u64));
        Used { cpu, waited: Ok(cpu) }
    }

    fn take(&mut self, request: &Request) -> Result<Taken, NotTaken> {
        self.requests.push(request.clone());
        if self.panics {
            // As a panic does, but without a word: nobody is to look for what failed here.
            panic::resume_unwind(Box::new("a take that fails"));
        }
        if let Some(meanwhile) = self.meanwhile.take() {
            meanwhile();
        }
        if let Some((takes, file)) = &self.changes
            && self.requests.len() == *takes
        {
            fs::write(file, "changed").unwrap();
        }
        let files = self.files.iter().map(|(path, found)| AskedFile { path: path.clone(), found: *found });
        match (self.refused, self.failed) {
            (Some(why), _) => return Err(NotTaken::Refused(Refusal(why.to_owned()), files.collect())),
            (_, Some(why)) => return Err(NotTaken::Failed(why.to_owned())),
            _ => {}
        }
        Ok(Taken {
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

    fn images(&mut self, _: [&Taken; 2], _: &Taken) -> Result<[Image; 2], Refusal> {
        Ok([b"first".to_vec().into(), b"second".to_vec().into()])
    }
}

/// A store and a program of a test's own, both removed in the end.
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
        let place = Place::of(&folder.join("cache"), &Root::default(), "test").unwrap();
        let store = Store::make(&place).unwrap();
        let program = folder.join("program");
        fs::copy("/bin/true", &program).unwrap();
        // What was changed a moment ago is not taken.
        std::thread::sleep(Duration::from_millis(80));
        Bench { folder, store, program }
    }

    fn make(&self, fake: &mut Fake) -> Result<Made, Unmade> {
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

    /// As the hook has it.
    fn wish(&self, path: &Path) {
        symlink(path, self.store.wanted().join(identity::key(path).unwrap())).unwrap();
    }

    fn launch(&self, environment: &[(&str, &str)]) -> Result<Vec<u8>, String> {
        let environment: Vec<_> = environment.iter().map(|(name, value)| (name.into(), value.into())).collect();
        match launch(&self.store, &self.program, Here { environment: &environment, root: &Root::default() }) {
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
fn fifos_in_a_store_keep_nobody_waiting() {
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
    let Some(Card::Warm(warm)) = Card::parse(&card.bytes) else { panic!("it is not warm") };
    assert_eq!((warm.copies, warm.name.to_bytes()), (COPIES, &b"program"[..]));
    assert_eq!(warm.dependencies().count(), 2, "the program itself is not one");
    assert_eq!(warm.conditions().count(), 2);
    let set = [("ASKED", "yes")];
    assert!([b"first".to_vec(), b"second".to_vec()].contains(&bench.launch(&set).unwrap()));
    assert!(bench.launch(&[]).unwrap_err().contains("ASKED is not 'yes'"));
    assert!(bench.launch(&[set[0], ("NOT_SET", "")]).unwrap_err().contains("NOT_SET is set"));
    assert!(bench.launch(&[set[0], ("GLIBC_TUNABLES", "x")]).unwrap_err().contains("GLIBC_TUNABLES"));
    fs::write(&absent, "").unwrap();
    assert!(bench.launch(&set).unwrap_err().contains("was not there"));
    fs::remove_file(&absent).unwrap();
    fs::write(&library, "y").unwrap();
    assert!(bench.launch(&set).unwrap_err().contains("has changed"));
    fs::remove_file(&library).unwrap();
    assert!(bench.launch(&set).unwrap_err().contains("not there any more"));
    fs::write(&bench.program, "#!/bin/sh\n").unwrap();
    assert!(bench.launch(&set).unwrap_err().contains("its file has changed"));
    assert_eq!(bench.store.counts().unwrap().work(Work::Taken).unwrap(), 1);
}

#[test]
fn takes_differ_in_all_that_a_launch_may_change() {
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
fn what_is_refused_is_remembered_and_what_fails_is_not() {
    let bench = Bench::new("refused");
    let mut fake = Fake { failed: Some("no process"), ..Fake::default() };
    assert_eq!(bench.make(&mut fake), Err(Unmade::Failed("no process".to_owned())));
    assert_eq!(bench.store.card(&bench.key()).unwrap(), None);
    let mut fake = Fake { refused: Some("it forks"), ..Fake::default() };
    assert_eq!(bench.make(&mut fake), Ok(Made::Refused(Refusal("it forks".to_owned()))));
    assert_eq!(bench.launch(&[]), Err("it forks".to_owned()));
    assert_eq!(bench.store.size(&bench.key()), 0);
}

/// A library that is the reason for a refusal is replaced, comes or goes: the program is looked at again.
#[test]
fn a_refusal_ends_with_what_it_is_based_on() {
    let bench = Bench::new("based");
    let (library, absent) = (bench.folder.join("library"), bench.folder.join("absent"));
    fs::write(&library, "").unwrap();
    std::thread::sleep(Duration::from_millis(80));
    let asked = vec![(library.clone(), true), (absent.clone(), false)];
    let refuse = |bench: &Bench| {
        let mut fake = Fake { refused: Some("it forks"), files: asked.clone(), ..Fake::default() };
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
        assert!(reasons.contains("changed since") || reasons.contains("there"), "{number}: {reasons}");
        std::thread::sleep(Duration::from_millis(80));
        bench.wish(&bench.program);
        keeper::keep(&mut Maker::new(&bench.store, &mut Fake::default(), vec![]), ended(), OsStr::new("")).unwrap();
        assert!(bench.launch(&[]).is_ok(), "{number}");
        if number == 0 {
            refuse(&bench);
        } else {
            let asked = [(library.clone(), library.exists()), (absent.clone(), absent.exists())].to_vec();
            let mut fake = Fake { refused: Some("it forks"), files: asked, ..Fake::default() };
            assert!(matches!(bench.make(&mut fake), Ok(Made::Refused(_))));
        }
    }
}

/// A library is away for a moment while a program is taken: this is no reason to refuse the program for good.
#[test]
fn what_is_refused_while_files_come_and_go_is_tried_again() {
    let bench = Bench::new("away");
    let library = bench.folder.join("library");
    fs::write(&library, "").unwrap();
    std::thread::sleep(Duration::from_millis(80));
    let mut fake = Fake { refused: Some("it ends"), files: vec![(library.clone(), false)], ..Fake::default() };
    assert!(matches!(bench.make(&mut fake), Err(Unmade::Unsettled(_))), "it was not there, and now it is");
    fs::remove_file(&library).unwrap();
    let mut fake = Fake { refused: Some("it ends"), files: vec![(library.clone(), true)], ..Fake::default() };
    assert!(matches!(bench.make(&mut fake), Err(Unmade::Unsettled(_))), "it was there, and now it is not");
    fs::write(&library, "").unwrap();
    assert!(matches!(bench.make(&mut fake), Err(Unmade::Unsettled(_))), "it was changed a moment ago");
    assert_eq!(bench.store.card(&bench.key()).unwrap(), None);
}

#[test]
fn snapshots_that_were_changed_are_not_used_and_made_again() {
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
        assert!(bench.launch(&[]).unwrap_err().contains("not the file that was written"));
        bench.wish(&bench.program);
        keeper::keep(&mut Maker::new(&bench.store, &mut Fake::default(), vec![]), ended(), OsStr::new("")).unwrap();
        assert!(bench.launch(&[]).is_ok());
    }
}

#[test]
fn what_changes_while_it_is_taken_is_put_off() {
    let bench = Bench::new("changes");
    let library = bench.folder.join("library");
    for takes in [1, 2, 3] {
        fs::write(&library, "x").unwrap();
        std::thread::sleep(Duration::from_millis(80));
        let mut fake =
            Fake { files: vec![(library.clone(), true)], changes: Some((takes, library.clone())), ..Fake::default() };
        let made = bench.make(&mut fake);
        assert!(matches!(made, Err(Unmade::Unsettled(_))), "{takes}: {made:?}");
        assert_eq!(bench.store.card(&bench.key()).unwrap(), None);
    }
    let mut fake = Fake { files: vec![(library.clone(), false)], ..Fake::default() };
    assert!(matches!(bench.make(&mut fake), Err(Unmade::Unsettled(_))), "it came meanwhile");
    // Its own file is too new. On a busy machine it may have become old enough before it is looked at: then once more.
    let is_put_off = (0..20).any(|_| {
        fs::write(&bench.program, fs::read("/bin/true").unwrap()).unwrap();
        matches!(bench.make(&mut Fake::default()), Err(Unmade::Unsettled(_)))
    });
    assert!(is_put_off, "its own file is too new");
}

#[test]
fn one_at_a_time_makes_a_program() {
    let bench = Bench::new("busy");
    let held = bench.store.shelf(&bench.key()).unwrap().unwrap();
    assert_eq!(bench.make(&mut Fake::default()), Err(Unmade::Busy));
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
fn names_are_kept_when_snapshots_are_made_anew() {
    let bench = Bench::new("names");
    bench.make(&mut Fake::default()).unwrap();
    let (key, store) = (bench.key(), &bench.store);
    store.name_too(&key, COPIES, OsStr::new("program"), OsStr::new("other")).unwrap();
    store.name_too(&key, COPIES, OsStr::new("program"), OsStr::new("other")).unwrap();
    let before = store.size(&key);
    bench.make(&mut Fake::default()).unwrap();
    for copy in 0..COPIES {
        let inode = |name: &str| identity::key(&store.snapshot(&key, copy, OsStr::new(name))).unwrap();
        assert_eq!(inode("program"), inode("other"), "both names are of the new one");
    }
    assert_eq!(store.size(&key), before, "files with two names count once");
    let left: Vec<_> = fs::read_dir(store.snapshot(&key, 0, OsStr::new("")).as_path()).unwrap().collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

#[test]
fn a_store_that_is_cleared_while_a_program_is_made_stays_clear() {
    let bench = Bench::new("cleared");
    let shelf = bench.store.shelf(&bench.key()).unwrap().unwrap();
    shelf.put(0, OsStr::new("program"), &b"image".to_vec().into()).unwrap();
    bench.store.clear().unwrap();
    let card = shelf.write_card(|_| unreachable!("there is nothing to write one for"));
    assert!(card.unwrap_err().to_string().contains("cleared"));
    assert_eq!(bench.store.cards().unwrap(), []);
    assert!(bench.store.hook().exists(), "it may be in use");
}

/// A process that has ended: a keeper of its makes what is wanted, and ends.
fn ended() -> OwnedFd {
    let mut child = std::process::Command::new("true").spawn().unwrap();
    let pid = rustix::process::Pid::from_raw(child.id() as i32).unwrap();
    let pidfd = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).unwrap();
    child.wait().unwrap();
    pidfd
}

#[test]
fn a_keeper_outlives_what_it_cannot_take() {
    let bench = Bench::new("keeper");
    let wish = |path: &Path| bench.wish(path);
    wish(&bench.program);
    let mut fake = Fake { panics: true, ..Fake::default() };
    keeper::keep(&mut Maker::new(&bench.store, &mut fake, vec![]), ended(), OsStr::new("")).unwrap();
    assert!(bench.launch(&[]).unwrap_err().contains("could not be understood"));
    assert_eq!(fs::read_dir(bench.store.wanted()).unwrap().count(), 0);
    fs::set_permissions(&bench.program, fs::Permissions::from_mode(0o700)).unwrap();
    std::thread::sleep(Duration::from_millis(80));
    wish(&bench.program);
    keeper::keep(&mut Maker::new(&bench.store, &mut Fake::default(), vec![]), ended(), OsStr::new("")).unwrap();
    assert!(bench.launch(&[]).is_ok());
}

/// What was launched most often comes first, and no more is spent than launches have saved.
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
        bench.wish(program);
        write(demand(&identity::existing(program).unwrap()), launches);
    }
    let keep = |fake: &mut Fake, command, except: &str| {
        keeper::keep(&mut Maker::new(&bench.store, &mut *fake, vec![]), command, OsStr::new(except)).unwrap();
        let mut captured: Vec<PathBuf> = fake.requests.iter().map(|request| request.program.clone()).collect();
        captured.dedup();
        captured
    };
    // Three takes are 30 ms, and six are more than there is to begin with, or after an hour.
    let cpu: fn(u64) -> Nanos = |takes| Nanos(if takes <= 3 { 10_000_000 * takes } else { 1_000_000_000_000 });
    let mut fake = Fake { cpu: Some(cpu), ..Fake::default() };
    assert_eq!(keep(&mut fake, ended(), "never"), [&programs[1], &programs[2]].map(PathBuf::clone));
    assert_eq!(bench.store.wishes().unwrap().len(), 1, "the one that is excepted is forgotten");
    bench.wish(&programs[1]);
    assert_eq!(bench.store.wishes().unwrap()[1].launches, 0, "launches are counted from then on");
    bench.store.clear().unwrap();
    // Launches that happen meanwhile allow more.
    programs.iter().for_each(|program| bench.wish(program));
    let saved = counts.try_clone().unwrap();
    let meanwhile = move || saved.write_all_at(&u64::to_ne_bytes(1_000), Outcome::Warm as u64 * 8).unwrap();
    let cpu: fn(u64) -> Nanos = |takes| Nanos(10_000_000 * takes);
    let mut fake = Fake { cpu: Some(cpu), meanwhile: Some(Rc::new(meanwhile)), ..Fake::default() };
    assert_eq!(keep(&mut fake, ended(), &programs[0].display().to_string()).len(), 3);
}

#[test]
fn snapshots_are_made_anew_after_many_launches_or_some_minutes_of_use() {
    const TAKES: usize = 3;
    for (launches, seconds, anew) in
        [(4096, 0, true), (4095, 0, false), (4095, 300, false), (1, 601, true), (0, 601, false), (0, 1 << 20, false)]
    {
        let bench = Bench::new(&format!("anew-{launches}-{seconds}"));
        assert_eq!(bench.make(&mut Fake::default()), Ok(Made::Warm));
        let stored = bench.store.card(&bench.key()).unwrap().unwrap();
        let Some(Card::Warm(warm)) = Card::parse(&stored.bytes) else { panic!("it is not warm") };
        let card = File::open(bench.store.folder().join("cards").join(bench.key())).unwrap();
        let written = card.metadata().unwrap().modified().unwrap();
        card.set_modified(written - Duration::from_secs(seconds)).unwrap();
        // Launches are counted while another program is taken.
        let counts = File::options().write(true).open(bench.store.folder().join("counts")).unwrap();
        let place = u64::from(warm.slot) * 8;
        let meanwhile = move || counts.write_all_at(&u64::to_ne_bytes(launches), place).unwrap();
        let other = bench.folder.join("other");
        fs::copy(&bench.program, &other).unwrap();
        std::thread::sleep(Duration::from_millis(80));
        bench.wish(&other);
        let mut fake = Fake { meanwhile: Some(Rc::new(meanwhile)), ..Fake::default() };
        keeper::keep(&mut Maker::new(&bench.store, &mut fake, vec![]), ended(), OsStr::new("")).unwrap();
        let taken = |path: &Path| fake.requests.iter().filter(|request| request.program == path).count();
        let expected = if anew { TAKES } else { 0 };
        assert_eq!((taken(&other), taken(&bench.program)), (TAKES, expected), "{launches} launches, {seconds} s");
    }
}
