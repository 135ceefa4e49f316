//! Cards are parsed as they were written. All other bytes are rejected.

use std::ffi::CString;

use proptest::prelude::*;
use steady_preload::card::{COUNTERS, Card, FIRST_PROGRAM, LONGEST_CARD, MOST_COPIES, PROGRAM_COUNTERS, Warm};
use steady_preload::identity::{Identity, Key, Time};
use steady_preload::{CardDraft, WarmDraft};

fn text() -> impl Strategy<Value = CString> {
    prop::collection::vec(1..=255_u8, 0..60).prop_map(|bytes| CString::new(bytes).expect("the text has no NUL"))
}

fn named() -> impl Strategy<Value = CString> {
    "[^/\0]{1,30}".prop_map(|name| CString::new(name).expect("the text has no NUL"))
}

fn path() -> impl Strategy<Value = CString> {
    "/[^\0]{0,80}".prop_map(|path| CString::new(path).expect("the text has no NUL"))
}

fn time() -> impl Strategy<Value = Time> {
    (any::<i64>(), any::<i64>()).prop_map(|(seconds, nanoseconds)| Time { seconds, nanoseconds })
}

fn identity() -> impl Strategy<Value = Identity> {
    (any::<[u64; 4]>(), time(), time()).prop_map(|([device, inode, mount, bytes], modified, changed)| Identity {
        device,
        inode,
        mount,
        bytes,
        modified,
        changed,
    })
}

fn files() -> impl Strategy<Value = Vec<(CString, Option<Identity>)>> {
    prop::collection::vec((path(), prop::option::of(identity())), 0..20)
}

fn warm() -> impl Strategy<Value = WarmDraft> {
    let last = (COUNTERS - PROGRAM_COUNTERS) as u32;
    let slot = prop_oneof![Just(0), FIRST_PROGRAM as u32..=last];
    let images = prop::collection::vec(identity(), 1..=MOST_COPIES as usize);
    (
        (identity(), any::<u32>(), images, slot, any::<bool>(), any::<[u64; 2]>()),
        (named(), path()),
        files(),
        prop::collection::vec((text(), prop::option::of(text())), 0..10),
    )
        .prop_map(|((identity, uid, images, slot, hook_inside, stack_limits), (name, program), files, conditions)| {
            let dependencies = files;
            #[rustfmt::skip]
            let warm = WarmDraft { identity, uid, images, slot, hook_inside, stack_limits, name, program, dependencies, conditions };
            warm
        })
}

fn card() -> impl Strategy<Value = CardDraft> {
    prop_oneof![
        warm().prop_map(CardDraft::Warm),
        (identity(), text(), text(), files()).prop_map(|(identity, program, reason, dependencies)| {
            CardDraft::Refused { identity, program, reason, dependencies }
        }),
        (identity(), text(), text(), prop::option::of(text())).prop_map(
            |(identity, program, interpreter, argument)| CardDraft::Script { identity, program, interpreter, argument }
        ),
    ]
}

/// Converts a parsed card to an owned one.
fn draft(card: &Card<'_>) -> CardDraft {
    match *card {
        Card::Refused { identity, program, reason, dependencies } => {
            let dependencies = dependencies.iter().map(|file| (file.path.into(), file.identity)).collect();
            CardDraft::Refused { identity, program: program.into(), reason: reason.into(), dependencies }
        }
        Card::Script { identity, program, interpreter, argument } => {
            let argument = argument.map(Into::into);
            CardDraft::Script { identity, program: program.into(), interpreter: interpreter.into(), argument }
        }
        Card::Warm(warm) => CardDraft::Warm(warm_draft(&warm)),
    }
}

fn warm_draft(warm: &Warm<'_>) -> WarmDraft {
    WarmDraft {
        identity: warm.identity,
        uid: warm.uid,
        images: warm.images().collect(),
        slot: warm.slot,
        hook_inside: warm.hook_inside,
        stack_limits: warm.stack_limits,
        name: warm.name.into(),
        program: warm.program.into(),
        dependencies: warm.dependencies().map(|file| (file.path.into(), file.identity)).collect(),
        conditions: warm.conditions().map(|of| (of.name.into(), of.value.map(Into::into))).collect(),
    }
}

proptest! {
    #[test]
    fn written_cards_are_parsed(card in card()) {
        let bytes = card.to_bytes().expect("the card is short enough");
        let read = Card::parse(&bytes).expect("the bytes are a card");
        prop_assert_eq!(draft(&read), card);
    }

    #[test]
    fn truncated_cards_are_rejected(card in card()) {
        let bytes = card.to_bytes().expect("the card is short enough");
        for end in 0..bytes.len() {
            prop_assert_eq!(Card::parse(&bytes[..end]), None);
        }
    }

    #[test]
    fn cards_with_trailing_bytes_are_rejected(card in card(), more in prop::collection::vec(any::<u8>(), 1..40)) {
        let mut bytes = card.to_bytes().expect("the card is short enough");
        bytes.extend(more);
        prop_assert_eq!(Card::parse(&bytes), None);
    }

    #[test]
    fn damaged_cards_are_rejected(card in card(), place in any::<prop::sample::Index>(), change in 1..=u8::MAX) {
        let mut bytes = card.to_bytes().expect("the card is short enough");
        let place = place.index(bytes.len());
        bytes[place] ^= change;
        prop_assert_eq!(Card::parse(&bytes), None);
    }

    #[test]
    fn random_bytes_are_rejected(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        prop_assert_eq!(Card::parse(&bytes), None);
    }

    #[test]
    fn different_files_have_different_keys(one in any::<[u64; 3]>(), other in any::<[u64; 3]>()) {
        let keys = [one, other].map(|[device, inode, mount]| Key::new(device, inode, mount));
        prop_assert_eq!(keys[0] == keys[1], one == other);
        prop_assert_eq!(keys[0].as_str(), format!("{:x}-{:x}-{:x}", one[0], one[1], one[2]));
    }
}

#[test]
fn cards_that_are_too_long_are_not_written() {
    let reason = |bytes: usize| {
        let reason = CString::new(vec![b'x'; bytes]).expect("the text has no NUL");
        let (identity, program) = (Identity::default(), CString::default());
        CardDraft::Refused { identity, program, reason, dependencies: vec![] }.to_bytes()
    };
    let others = reason(0).expect("the card is short enough").len();
    let longest = reason(LONGEST_CARD - others).expect("the card is short enough");
    assert_eq!(longest.len(), LONGEST_CARD);
    assert!(Card::parse(&longest).is_some());
    assert_eq!(reason(LONGEST_CARD - others + 1), None);
}

#[test]
fn invalid_fields_are_rejected() {
    let card = |change: fn(&mut WarmDraft)| {
        let images = vec![Identity::default(); 2];
        let mut warm = WarmDraft { images, name: c"true".into(), program: c"/bin/true".into(), ..WarmDraft::default() };
        change(&mut warm);
        let bytes = CardDraft::Warm(warm).to_bytes().expect("the card is short enough");
        Card::parse(&bytes).is_some()
    };
    assert!(card(|_| ()));
    assert!(!card(|warm| warm.images.clear()));
    assert!(!card(|warm| warm.images.resize(MOST_COPIES as usize + 1, Identity::default())));
    assert!(!card(|warm| warm.slot = 1));
    assert!(!card(|warm| warm.slot = COUNTERS as u32));
    assert!(!card(|warm| warm.name = c"".into()));
    assert!(!card(|warm| warm.name = c"../true".into()));
    assert!(!card(|warm| warm.program = c"true".into()));
}
