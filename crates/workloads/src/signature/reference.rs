//! A reference implementation that follows the definition of the signature literally, and tests of the others against
//! it.

use proptest::prelude::*;

use super::fast::Blocks;
use super::{Area, BLOCK_BYTES, BlockPools, Builder, FreeList, MOST_BLOCK_BYTES, Malloc, Nodes, P, Pool, Scattered};

enum Tree {
    Leaf(u64, u64),
    Inner(u64, Box<(Tree, Tree)>),
}

impl Tree {
    fn frequency(&self) -> u64 {
        match self {
            Tree::Leaf(_, frequency) | Tree::Inner(frequency, _) => *frequency,
        }
    }

    fn walk(&self, hash: u64) -> u64 {
        match self {
            Tree::Leaf(symbol, frequency) => (hash * 31 + frequency + symbol) % P,
            Tree::Inner(frequency, children) => {
                let hash = (hash * 31 + frequency) % P;
                children.1.walk(children.0.walk(hash))
            }
        }
    }
}

fn push(heap: &mut Vec<Tree>, tree: Tree) {
    heap.push(tree);
    let mut i = heap.len() - 1;
    while i > 0 {
        let p = (i - 1) / 2;
        if heap[p].frequency() < heap[i].frequency() {
            break;
        }
        heap.swap(p, i);
        i = p;
    }
}

fn pop(heap: &mut Vec<Tree>) -> Tree {
    let least = heap.swap_remove(0);
    let mut i = 0;
    loop {
        let (left, right) = (2 * i + 1, 2 * i + 2);
        let mut smallest = i;
        if left < heap.len() && heap[left].frequency() < heap[smallest].frequency() {
            smallest = left;
        }
        if right < heap.len() && heap[right].frequency() < heap[smallest].frequency() {
            smallest = right;
        }
        if smallest == i {
            return least;
        }
        heap.swap(i, smallest);
        i = smallest;
    }
}

fn block(bytes: &[u8]) -> u64 {
    let mut heap = Vec::new();
    for symbol in 0..=255_u8 {
        let frequency = bytes.iter().filter(|byte| **byte == symbol).count() as u64;
        if frequency > 0 {
            push(&mut heap, Tree::Leaf(u64::from(symbol), frequency));
        }
    }
    while heap.len() > 1 {
        let (left, right) = (pop(&mut heap), pop(&mut heap));
        push(&mut heap, Tree::Inner(left.frequency() + right.frequency(), Box::new((left, right))));
    }
    pop(&mut heap).walk(0)
}

/// Returns the signature of `bytes` with blocks of this size.
fn signature(bytes: &[u8], block_bytes: usize) -> u64 {
    bytes.chunks(block_bytes).fold(0, |sum, bytes| (sum + block(bytes)) % P)
}

fn built<N: Nodes>(nodes: N, bytes: &[u8], block: usize) -> u64 {
    Builder::new(nodes, block).sum(bytes).unwrap()
}

/// Generates bytes with many values, with few, in runs, and with equal frequencies, which cause many ties. Also
/// generates more blocks than are processed in parallel, with small values more frequent than large ones.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let few = (1_u8..=255).prop_flat_map(|most| prop::collection::vec(0..most, 0..3_000));
    let runs = prop::collection::vec((any::<u8>(), 1_usize..300), 0..12)
        .prop_map(|runs| runs.into_iter().flat_map(|(value, times)| vec![value; times]).collect());
    let even = (1_usize..256, 1_usize..12)
        .prop_map(|(values, times)| (0..values * times).map(|at| (at % values) as u8).collect());
    let many = (1_u64..=256, 0_usize..80_000, any::<u64>()).prop_map(|(values, length, seed)| {
        let mut random = crate::Random::new(seed);
        let mut number = || random.between(0, values - 1);
        (0..length).map(|_| (number() * number() / values) as u8).collect()
    });
    prop_oneof![prop::collection::vec(any::<u8>(), 0..3_000), few, runs, even, many]
}

/// Generates sizes of blocks: usually the published one.
fn sizes() -> impl Strategy<Value = usize> {
    prop_oneof![Just(BLOCK_BYTES), 1..=MOST_BLOCK_BYTES, Just(MOST_BLOCK_BYTES), 1_usize..16]
}

proptest! {
    #[test]
    fn all_implementations_agree_with_the_definition(bytes in bytes(), size in sizes()) {
        let expected = signature(&bytes, size);
        let (area, mut own, pools) = (Area::new(1).unwrap(), Area::new(1).unwrap(), Area::of_pools(1, 8_192).unwrap());
        prop_assert_eq!(Blocks::new(size).sum(&bytes), expected);
        prop_assert_eq!(Blocks::portable(size).sum(&bytes), expected);
        prop_assert_eq!(built(Pool::new(8_192), &bytes, size), expected);
        prop_assert_eq!(built(Pool::walked(20_000), &bytes, size), expected);
        prop_assert_eq!(built(Scattered::new(100_000), &bytes, size), expected);
        prop_assert_eq!(built(Malloc, &bytes, size), expected);
        prop_assert_eq!(built(FreeList::behind_the_lock(&area), &bytes, size), expected);
        prop_assert_eq!(built(FreeList::alone(&mut own), &bytes, size), expected);
        prop_assert_eq!(built(BlockPools::new(&pools, 8_192), &bytes, size), expected);
    }

    #[test]
    fn state_can_be_reused_for_further_bytes(all in prop::collection::vec(bytes(), 1..6)) {
        let (mut blocks, mut pool) = (Blocks::new(BLOCK_BYTES), Builder::new(Pool::new(8_192), BLOCK_BYTES));
        for bytes in all {
            prop_assert_eq!(blocks.sum(&bytes), signature(&bytes, BLOCK_BYTES));
            prop_assert_eq!(pool.sum(&bytes), Ok(signature(&bytes, BLOCK_BYTES)));
        }
    }
}

#[test]
fn state_can_be_reused_for_other_lengths() {
    let mut random = crate::Random::new(7);
    let bytes: Vec<u8> = (0..100_000).map(|_| random.between(0, 255) as u8).collect();
    for mut blocks in [Blocks::new(BLOCK_BYTES), Blocks::portable(BLOCK_BYTES)] {
        for length in [100_000, 1, 0, 16 * 1024, 40 * 1024 + 3, 1024] {
            assert_eq!(blocks.sum(&bytes[..length]), signature(&bytes[..length], BLOCK_BYTES), "{length} bytes");
        }
    }
}

#[test]
fn published_inputs_have_their_signatures() {
    let ramp: Vec<u8> = (0..=255).cycle().take(1025).collect();
    let text: Vec<u8> = b"The quick brown fox jumps over the lazy dog.\n".iter().copied().cycle().take(5000).collect();
    let zeros = [0; 1024];
    let known: [(&[u8], u64); 7] = [
        (b"", 0),
        (b"a", 98),
        (&zeros, 1024),
        (&ramp[..256], 90_270_473),
        (&ramp[..1023], 1_186_086_835),
        (&ramp, 732_957_472),
        (&text, 2_111_241_842),
    ];
    for (bytes, number) in known {
        assert_eq!(Blocks::new(BLOCK_BYTES).sum(bytes), number);
        assert_eq!(Blocks::portable(BLOCK_BYTES).sum(bytes), number);
        assert_eq!(signature(bytes, BLOCK_BYTES), number);
    }
}

#[test]
fn the_largest_block_may_have_one_value_only() {
    for value in [0, 255] {
        let bytes = vec![value; 40 * MOST_BLOCK_BYTES];
        let expected = 40 * (MOST_BLOCK_BYTES as u64 + u64::from(value));
        assert_eq!(Blocks::new(MOST_BLOCK_BYTES).sum(&bytes), expected);
        assert_eq!(Blocks::portable(MOST_BLOCK_BYTES).sum(&bytes), expected);
        assert_eq!(signature(&bytes, MOST_BLOCK_BYTES), expected);
    }
}

#[test]
fn a_full_pool_is_an_error() {
    let ramp: Vec<u8> = (0..=255).collect();
    assert!(Builder::new(Pool::new(16 * 510), BLOCK_BYTES).sum(&ramp).is_err());
    let mut builder = Builder::new(Pool::new(16 * 511), BLOCK_BYTES);
    assert_eq!((builder.sum(&ramp), builder.made()), (Ok(90_270_473), 511));
}

#[test]
fn a_pool_per_block_acquires_the_lock_twice_a_block() {
    let ramp: Vec<u8> = (0..=255).cycle().take(10 * 1_024).collect();
    let area = Area::of_pools(2, 128 << 10).unwrap();
    for (blocks, acquisitions) in [(5, 10), (1_024, 2_048)] {
        let bytes = ramp.repeat(103)[..blocks << 10].to_vec();
        let mut builder = Builder::new(BlockPools::new(&area, 128 << 10), BLOCK_BYTES);
        assert_eq!(builder.sum(&bytes), Ok(732_957_471 * blocks as u64 % P));
        assert_eq!(builder.nodes().waits().acquisitions, acquisitions);
    }
    let too_small = Area::of_pools(1, 16 * 510).unwrap();
    assert!(Builder::new(BlockPools::new(&too_small, 16 * 510), BLOCK_BYTES).sum(&ramp).is_err());
    assert!(Area::of_pools(4_096, 1 << 30).is_err(), "positions have 32 bits");
}

#[test]
fn the_lock_is_acquired_once_to_allocate_and_once_to_free_each_node() {
    let area = Area::new(2).unwrap();
    let ramp: Vec<u8> = (0..=255).cycle().take(10 * 1_024).collect();
    std::thread::scope(|scope| {
        let sum = || {
            let mut builder = Builder::new(FreeList::behind_the_lock(&area), BLOCK_BYTES);
            assert_eq!(builder.sum(&ramp), Ok(732_957_471 * 10 % P));
            let waits = builder.nodes().waits();
            assert_eq!(waits.acquisitions, 2 * builder.made());
            assert!(waits.contended <= waits.acquisitions);
        };
        scope.spawn(sum);
        sum();
    });
}
