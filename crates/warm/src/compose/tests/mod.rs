//! Compares pairs of made-up captures.

mod made;
mod meanings;

use proptest::prelude::*;
use steady_preload::table::{Patch, kind};

use self::made::{DATA, Draw, HEAP, LIBRARY, LOADER, PAGE, RELRO, made, put};
use self::meanings::Meaning;
use super::super::captured::Captured;
use super::compose;

/// Two launches in which all random values differ.
fn draws() -> impl Strategy<Value = [Draw; 2]> {
    let places = prop::array::uniform5(1_u64..1 << 20);
    let one = (places, any::<[u64; 2]>(), 2_u64..50, 2..1 << 22, any::<u64>());
    let draw = one.prop_map(|([program, libraries, stack, vdso, heap], random, arguments, tid, drawn)| Draw {
        program,
        libraries,
        stack,
        vdso,
        heap,
        random,
        arguments,
        tid,
        drawn,
    });
    [draw.clone(), draw].prop_filter("some values are equal", |[one, two]| {
        let moved = |draw: &Draw| [draw.program, draw.libraries, draw.stack, draw.vdso, draw.program + draw.heap];
        let apart = |(left, right): (u64, u64)| right.wrapping_sub(left);
        let mut distances: Vec<u64> = moved(one).into_iter().zip(moved(two)).map(apart).collect();
        distances.push(0);
        distances.sort_unstable();
        distances.dedup();
        let all_apart = distances.len() == 6;
        let canaries = one.random[0] & !0xff != two.random[0] & !0xff;
        all_apart
            && canaries
            && one.random[1] != two.random[1]
            && one.arguments != two.arguments
            && one.tid != two.tid
            && one.drawn != two.drawn
    })
}

/// Two launches with fixed values.
fn some_draws() -> [Draw; 2] {
    let draw = |at: u64| Draw {
        program: 17 * at,
        libraries: 1000 * at,
        stack: 70 * at,
        vdso: 333 * at,
        heap: 5 * at,
        random: [0x1111_2222_3333_4444 * at, 0x0102_0304_0506_0708 * at],
        arguments: 2 + at,
        tid: 100 + at as i32,
        drawn: 0x9999_8888_7777_0000 + at,
    };
    [draw(1), draw(2)]
}

fn captures(draws: &[Draw; 2]) -> [Captured; 2] {
    [made(&draws[0]), made(&draws[1])]
}

proptest! {
    #[test]
    fn words_with_a_reason_are_patched_and_others_stay(
        draws in draws(),
        words in prop::collection::btree_map((1_usize..6, 0_u64..1024), meanings::any(), 1..40),
    ) {
        let mut captures = captures(&draws);
        let mut expected: [Vec<Patch>; 2] = [vec![], vec![]];
        // The end of the heap is accepted in one place only.
        let ends = words.values().filter(|meaning| **meaning == Meaning::Of(kind::BREAK)).count();
        prop_assume!(ends < 2);
        for ((region, word), meaning) in &words {
            for side in 0..2 {
                let address = captures[side].regions[*region].address + word * 8;
                let (value, patches) = meaning.at(&captures[side], address);
                put(&mut captures[side], *region, word * 8, value);
                expected[side].extend(patches);
            }
        }
        let (one, two) = compose(&captures[0], &captures[1], None).expect("all differences have a reason");
        for (snapshot, (captured, mut expected)) in [one, two].into_iter().zip(captures.into_iter().zip(expected)) {
            expected.sort_by_key(|patch| patch.address);
            prop_assert_eq!(snapshot.patches, expected);
            prop_assert_eq!(snapshot.captured, captured);
        }
    }

    #[test]
    fn a_word_without_a_reason_is_refused(
        draws in draws(),
        region in 1_usize..4,
        word in 0_u64..1024,
        values in any::<[u64; 2]>(),
    ) {
        let mut captures = captures(&draws);
        for (captured, value) in captures.iter_mut().zip(values) {
            put(captured, region, word * 8, value);
        }
        // Random words are hardly ever equal, or equal to a known value.
        prop_assume!(values[0] >> 32 != values[1] >> 32 && values[0] as u32 != values[1] as u32);
        let why = compose(&captures[0], &captures[1], None).expect_err("an unexplained word").to_string();
        prop_assert!(why.contains("no known reason"), "{}", why);
    }

    #[test]
    fn addresses_on_the_stack_are_refused_unless_the_kernel_put_them_there(
        draws in draws(),
        offset in 0_u64..0x2_1000,
    ) {
        let mut captures = captures(&draws);
        let known = meanings::on_stack(&captures[0]);
        prop_assume!(!known.contains(&(captures[0].stack.range.0 + offset)));
        for captured in &mut captures {
            let address = captured.stack.range.0 + offset;
            put(captured, DATA, 8, address);
        }
        prop_assert!(compose(&captures[0], &captures[1], None).is_err());
    }
}

#[test]
fn an_address_that_ends_one_mapping_and_starts_another_means_what_holds_in_both_captures() {
    // In the first capture the vDSO ends where the loader begins; in the second it is elsewhere.
    let mut captures = captures(&some_draws());
    let loader = captures[0].regions[LOADER].address;
    captures[0].stack.vdso = (loader - 2 * PAGE, loader);
    let ends = [captures[0].stack.vdso.1, captures[1].stack.vdso.1];
    let starts = [loader, captures[1].regions[LOADER].address];
    for (offset, values) in [(0, ends), (8, starts)] {
        captures.iter_mut().zip(values).for_each(|(captured, value)| put(captured, DATA, offset, value));
    }
    let (one, _) = compose(&captures[0], &captures[1], None).expect("both words have a reason");
    let address = captures[0].regions[DATA].address;
    assert_eq!(one.patches, [Patch { address, kind: kind::VDSO, bytes: 8, addend: 2 * PAGE }]);
}

#[test]
fn the_rest_of_an_address_is_accepted() {
    // The distances are so large that a hidden link does not move with its target, whatever its first byte is.
    let far = |draw: Draw| Draw { libraries: draw.libraries << 20, program: draw.program << 12, ..draw };
    let draws = some_draws().map(far);
    let half = |captured: &Captured| captured.regions[LIBRARY].address >> 32 << 32;
    let composed = |addends: [u64; 2]| {
        let mut captures = captures(&draws);
        let values = [0, 1].map(|side| half(&captures[side]) + addends[side]);
        captures.iter_mut().zip(values).for_each(|(captured, value)| put(captured, HEAP, 8, value));
        compose(&captures[0], &captures[1], None).map(|(one, _)| one.patches)
    };
    assert_eq!(composed([1, 1]), Ok(vec![]), "overwritten by a number");
    assert!(composed([1, 2]).is_err(), "another number in each capture");
    assert!(composed([1, 1 + (1 << 32)]).is_err(), "the upper half is not that of an address");
    let bytes = |written: [u64; 2], shift: u32| {
        let mut captures = captures(&draws);
        for (captured, written) in captures.iter_mut().zip(written) {
            let place = captured.regions[HEAP].address + 8;
            let link = (place + 0x100) ^ place >> shift;
            put(captured, HEAP, 8, link & !0xff | written);
        }
        compose(&captures[0], &captures[1], None).map(|(one, _)| one.patches)
    };
    assert_eq!(bytes([7, 7], 12), Ok(vec![]), "a hidden link whose first byte was overwritten");
    assert!(bytes([7, 9], 12).is_err(), "overwritten by another number in each capture");
    assert!(bytes([7, 7], 13).is_err(), "hidden by another shift");
}

#[test]
fn captures_with_equal_random_values_are_refused() {
    let [one, two] = some_draws();
    let same = [
        Draw { stack: one.stack, arguments: one.arguments, ..two },
        Draw { arguments: one.arguments, ..two },
        Draw { tid: one.tid, ..two },
        Draw { random: [one.random[0], two.random[1]], ..two },
        Draw { random: [two.random[0], one.random[1]], ..two },
        Draw { drawn: one.drawn, ..two },
    ];
    for two in same {
        let why = compose(&made(&one), &made(&two), None).expect_err("equal values").to_string();
        assert!(why.contains("cannot be compared"), "{why}");
    }
}

#[test]
fn captures_with_different_layouts_are_refused() {
    let draws = some_draws();
    let changes: [fn(&mut Captured); 5] = [
        |captured| drop(captured.regions.pop()),
        |captured| captured.regions[HEAP].bytes.truncate(PAGE as usize),
        |captured| captured.regions[LIBRARY].protection.execute = true,
        |captured| captured.regions[LIBRARY].file = None,
        |captured| captured.regions.swap(LIBRARY, DATA),
    ];
    for change in changes {
        let [one, mut two] = captures(&draws);
        change(&mut two);
        assert!(compose(&one, &two, None).is_err());
    }
}

#[test]
fn the_end_of_a_heap_in_two_places_is_refused() {
    let mut captures = captures(&some_draws());
    for captured in &mut captures {
        let end = captured.heap_end;
        put(captured, DATA, 0, end);
        put(captured, DATA, 8, end);
    }
    assert!(compose(&captures[0], &captures[1], None).is_err());
}

#[test]
fn an_executable_stack_is_refused() {
    let mut captures = captures(&some_draws());
    for captured in &mut captures {
        captured.regions[0].bytes[64 + 2 * 56 + 4] = 1;
    }
    let why = compose(&captures[0], &captures[1], None).expect_err("an executable stack");
    assert_eq!(why.to_string(), "its stack is executable");
}

#[test]
fn the_dynamic_section_is_found() {
    let captures = captures(&some_draws());
    let (one, _) = compose(&captures[0], &captures[1], None).expect("no difference");
    assert_eq!(one.dynamic, Some((captures[0].regions[DATA].address + 16, 0)));
    assert_eq!(one.program, std::path::Path::new("/bin/made"));
}

#[test]
fn late_binding_is_restored_if_its_word_is_identified() {
    let [one, two] = captures(&some_draws());
    let mut unbound = made(&Draw { program: 40, libraries: 50, ..some_draws()[1] });
    assert!(compose(&one, &two, Some(&unbound)).is_err(), "no word differs");
    unbound.regions[RELRO].bytes[100] = 1;
    let (first, second) = compose(&one, &two, Some(&unbound)).expect("one word differs");
    for (snapshot, captured) in [(first, &one), (second, &two)] {
        let mut expected = captured.clone();
        expected.regions[RELRO].bytes[100] = 1;
        assert_eq!(snapshot.captured, expected);
    }
    unbound.regions[RELRO].bytes[200] = 1;
    assert!(compose(&one, &two, Some(&unbound)).is_err(), "two words differ");
}
