//! What is different at each launch, as it was at a take.

use steady_preload::table::kind;

use crate::taken::{Refusal, Taken};

const AT_PLATFORM: u64 = 15;
const AT_RANDOM: u64 = 25;
const AT_EXECFN: u64 = 31;

/// What a take's launch made of what the stub makes anew.
pub(super) struct Launch {
    /// Words of 8 bytes: what they are ([`kind`]), which of them, and what they were.
    pub(super) words: Vec<(u32, u64, u64)>,
    /// Words of 4 bytes: what they are, and what they were.
    pub(super) halves: [(u32, u32); 2],
    /// What pointers are mangled with.
    pub(super) guard: u64,
    /// The soft limit on the stack. It may have been the same in both.
    pub(super) stack_limit: u64,
}

impl Launch {
    pub(super) fn new(taken: &Taken) -> Result<Launch, Refusal> {
        let stack = &taken.stack;
        let told = |kind: u64| stack.auxiliary.1.iter().find(|pair| pair.0 == kind).map(|pair| pair.1);
        let (first, second) = stack.random.split_at(8);
        let [first, guard] =
            [first, second].map(|half| half.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)));
        let mut words = vec![
            (kind::STACK, 0, stack.pointer),
            (kind::ARGV, 0, stack.pointer + 8),
            (kind::ENVIRONMENT, 0, stack.environment),
            (kind::AUXILIARY, 0, stack.auxiliary.0),
            (kind::ARGV0, 0, stack.name.0),
            (kind::ARGV0_NAME, 0, stack.name_part),
            (kind::CANARY, 0, first & !0xff),
            (kind::POINTER_GUARD, 0, guard),
        ];
        let pointers = [(kind::RANDOM, AT_RANDOM), (kind::PLATFORM, AT_PLATFORM), (kind::EXECFN, AT_EXECFN)];
        words.extend(pointers.into_iter().filter_map(|(kind, name)| Some((kind, 0, told(name)?))));
        words.extend((taken.heap_end != 0).then_some((kind::BREAK, 0, taken.heap_end)));
        words.extend(taken.drawn.iter().enumerate().map(|(which, word)| (kind::DRAWN, which as u64, *word)));
        let count = u32::try_from(stack.arguments).map_err(|_| Refusal("it has very many arguments".into()))?;
        Ok(Launch {
            words,
            halves: [(kind::ARGC, count), (kind::TID, taken.thread.tid.cast_unsigned())],
            guard,
            stack_limit: taken.stack_limit,
        })
    }
}
