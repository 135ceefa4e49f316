//! Two made-up takes, and what is found to differ between them.

mod made;
mod meanings;

use proptest::prelude::*;
use steady_preload::table::{Patch, kind};

use self::made::{DATA, Draw, HEAP, LIBRARY, LOADER, PAGE, RELRO, made, put};
use self::meanings::Meaning;
use super::super::taken::Taken;
use super::compose;

/// Two launches: all that is drawn is another in both.
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
    [draw.clone(), draw].prop_filter("they are alike", |[one, two]| {
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

/// Two launches that a test may take as they are.
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

fn takes(draws: &[Draw; 2]) -> [Taken; 2] {
    [made(&draws[0]), made(&draws[1])]
}

proptest! {
    #[test]
    fn what_has_a_reason_is_made_anew_and_the_rest_stays(
        draws in draws(),
        words in prop::collection::btree_map((1_usize..6, 0_u64..1024), meanings::any(), 1..40),
    ) {
        let mut takes = takes(&draws);
        let mut expected: [Vec<Patch>; 2] = [vec![], vec![]];
        // The end of the heap is known for what it is where it stands once.
        let ends = words.values().filter(|meaning| **meaning == Meaning::Of(kind::BREAK)).count();
        prop_assume!(ends < 2);
        for ((region, word), meaning) in &words {
            for side in 0..2 {
                let address = takes[side].regions[*region].address + word * 8;
                let (value, patches) = meaning.at(&takes[side], address);
                put(&mut takes[side], *region, word * 8, value);
                expected[side].extend(patches);
            }
        }
        let (one, two) = compose(&takes[0], &takes[1], None).expect("all has a reason");
        for (snapshot, (taken, mut expected)) in [one, two].into_iter().zip(takes.into_iter().zip(expected)) {
            expected.sort_by_key(|patch| patch.address);
            prop_assert_eq!(snapshot.patches, expected);
            prop_assert_eq!(snapshot.taken, taken);
        }
    }

    #[test]
    fn what_has_none_is_refused(draws in draws(), region in 1_usize..4, word in 0_u64..1024, values in any::<[u64; 2]>()) {
        let mut takes = takes(&draws);
        for (taken, value) in takes.iter_mut().zip(values) {
            put(taken, region, word * 8, value);
        }
        // Two random words are hardly ever alike, and never are what any word could be by chance.
        prop_assume!(values[0] >> 32 != values[1] >> 32 && values[0] as u32 != values[1] as u32);
        let why = compose(&takes[0], &takes[1], None).expect_err("nothing explains it").to_string();
        prop_assert!(why.contains("no known reason"), "{}", why);
    }

    #[test]
    fn what_lies_on_the_stack_is_refused_but_for_what_the_kernel_puts_there(draws in draws(), offset in 0_u64..0x2_1000) {
        let mut takes = takes(&draws);
        let known = meanings::on_stack(&takes[0]);
        prop_assume!(!known.contains(&(takes[0].stack.range.0 + offset)));
        for taken in &mut takes {
            let address = taken.stack.range.0 + offset;
            put(taken, DATA, 8, address);
        }
        prop_assert!(compose(&takes[0], &takes[1], None).is_err());
    }
}

#[test]
fn an_address_at_the_end_of_one_thing_and_the_start_of_another_is_what_holds_in_both() {
    // In the first take the kernel's object ends where the loader begins; in the second it lies elsewhere.
    let mut takes = takes(&some_draws());
    let loader = takes[0].regions[LOADER].address;
    takes[0].stack.vdso = (loader - 2 * PAGE, loader);
    let ends = [takes[0].stack.vdso.1, takes[1].stack.vdso.1];
    let starts = [loader, takes[1].regions[LOADER].address];
    for (offset, values) in [(0, ends), (8, starts)] {
        takes.iter_mut().zip(values).for_each(|(taken, value)| put(taken, DATA, offset, value));
    }
    let (one, _) = compose(&takes[0], &takes[1], None).expect("both have a reason");
    let address = takes[0].regions[DATA].address;
    assert_eq!(one.patches, [Patch { address, kind: kind::VDSO, bytes: 8, addend: 2 * PAGE }]);
}

#[test]
fn what_is_left_of_an_address_is_no_reason_to_refuse() {
    // So far apart that a hidden link has not moved along with what it leads to, whatever its first byte.
    let far = |draw: Draw| Draw { libraries: draw.libraries << 20, program: draw.program << 12, ..draw };
    let draws = some_draws().map(far);
    let half = |taken: &Taken| taken.regions[LIBRARY].address >> 32 << 32;
    let composed = |addends: [u64; 2]| {
        let mut takes = takes(&draws);
        let values = [0, 1].map(|side| half(&takes[side]) + addends[side]);
        takes.iter_mut().zip(values).for_each(|(taken, value)| put(taken, HEAP, 8, value));
        compose(&takes[0], &takes[1], None).map(|(one, _)| one.patches)
    };
    assert_eq!(composed([1, 1]), Ok(vec![]), "written over by a number");
    assert!(composed([1, 2]).is_err(), "another number at each launch");
    assert!(composed([1, 1 + (1 << 32)]).is_err(), "half of no address");
    let bytes = |written: [u64; 2], shift: u32| {
        let mut takes = takes(&draws);
        for (taken, written) in takes.iter_mut().zip(written) {
            let place = taken.regions[HEAP].address + 8;
            let link = (place + 0x100) ^ place >> shift;
            put(taken, HEAP, 8, link & !0xff | written);
        }
        compose(&takes[0], &takes[1], None).map(|(one, _)| one.patches)
    };
    assert_eq!(bytes([7, 7], 12), Ok(vec![]), "a hidden link whose first byte was written over");
    assert!(bytes([7, 9], 12).is_err(), "written over by another number at each launch");
    assert!(bytes([7, 7], 13).is_err(), "hidden by another rule");
}

#[test]
fn takes_that_cannot_be_told_apart_are_refused() {
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
        let why = compose(&made(&one), &made(&two), None).expect_err("they are alike").to_string();
        assert!(why.contains("cannot be told apart"), "{why}");
    }
}

#[test]
fn memory_that_is_laid_out_otherwise_is_refused() {
    let draws = some_draws();
    let changes: [fn(&mut Taken); 5] = [
        |taken| drop(taken.regions.pop()),
        |taken| taken.regions[HEAP].bytes.truncate(PAGE as usize),
        |taken| taken.regions[LIBRARY].protection.execute = true,
        |taken| taken.regions[LIBRARY].file = None,
        |taken| taken.regions.swap(LIBRARY, DATA),
    ];
    for change in changes {
        let [one, mut two] = takes(&draws);
        change(&mut two);
        assert!(compose(&one, &two, None).is_err());
    }
}

#[test]
fn the_end_of_a_heap_in_two_places_is_refused() {
    let mut takes = takes(&some_draws());
    for taken in &mut takes {
        let end = taken.heap_end;
        put(taken, DATA, 0, end);
        put(taken, DATA, 8, end);
    }
    assert!(compose(&takes[0], &takes[1], None).is_err());
}

#[test]
fn a_stack_that_may_be_executed_is_refused() {
    let mut takes = takes(&some_draws());
    for taken in &mut takes {
        taken.regions[0].bytes[64 + 2 * 56 + 4] = 1;
    }
    let why = compose(&takes[0], &takes[1], None).expect_err("its stack is executable");
    assert_eq!(why.to_string(), "its stack is executable");
}

#[test]
fn the_dynamic_section_is_found() {
    let takes = takes(&some_draws());
    let (one, _) = compose(&takes[0], &takes[1], None).expect("nothing differs");
    assert_eq!(one.dynamic, Some((takes[0].regions[DATA].address + 16, 0)));
    assert_eq!(one.program, std::path::Path::new("/bin/made"));
}

#[test]
fn that_functions_are_bound_late_is_put_back_where_it_can_be_told() {
    let [one, two] = takes(&some_draws());
    let mut unbound = made(&Draw { program: 40, libraries: 50, ..some_draws()[1] });
    assert!(compose(&one, &two, Some(&unbound)).is_err(), "there is no such word");
    unbound.regions[RELRO].bytes[100] = 1;
    let (first, second) = compose(&one, &two, Some(&unbound)).expect("there is one");
    for (snapshot, taken) in [(first, &one), (second, &two)] {
        let mut expected = taken.clone();
        expected.regions[RELRO].bytes[100] = 1;
        assert_eq!(snapshot.taken, expected);
    }
    unbound.regions[RELRO].bytes[200] = 1;
    assert!(compose(&one, &two, Some(&unbound)).is_err(), "there are two");
}
