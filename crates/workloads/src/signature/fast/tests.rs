use proptest::prelude::*;

use super::{BLOCK_BYTES, Blocks, P};

/// The hash of a block as it is defined, step by step.
fn defined(block: &[u8]) -> u64 {
    struct Node {
        symbol: u64,
        frequency: u64,
        below: Option<Box<(Node, Node)>>,
    }
    fn push(heap: &mut Vec<Node>, node: Node) {
        let mut at = heap.len();
        heap.push(node);
        while at > 0 && heap[(at - 1) / 2].frequency >= heap[at].frequency {
            heap.swap(at, (at - 1) / 2);
            at = (at - 1) / 2;
        }
    }
    fn pop(heap: &mut Vec<Node>) -> Node {
        let least = heap.swap_remove(0);
        let mut at = 0;
        loop {
            let mut smallest = at;
            for child in [2 * at + 1, 2 * at + 2] {
                if child < heap.len() && heap[child].frequency < heap[smallest].frequency {
                    smallest = child;
                }
            }
            if smallest == at {
                return least;
            }
            heap.swap(at, smallest);
            at = smallest;
        }
    }
    fn walk(node: &Node, hash: u64) -> u64 {
        let hash = (hash * 31 + node.frequency + node.symbol) % P;
        node.below.as_ref().map_or(hash, |below| walk(&below.1, walk(&below.0, hash)))
    }
    let mut heap = Vec::new();
    for symbol in 0..256 {
        let frequency = block.iter().filter(|byte| u64::from(**byte) == symbol).count() as u64;
        if frequency > 0 {
            push(&mut heap, Node { symbol, frequency, below: None });
        }
    }
    while heap.len() > 1 {
        let (left, right) = (pop(&mut heap), pop(&mut heap));
        let frequency = left.frequency + right.frequency;
        push(&mut heap, Node { symbol: 0, frequency, below: Some(Box::new((left, right))) });
    }
    heap.first().map_or(0, |root| walk(root, 0))
}

fn expected(bytes: &[u8]) -> u64 {
    bytes.chunks(BLOCK_BYTES).map(defined).sum::<u64>() % P
}

/// Bytes of a few values or of all, in any mixture, of any length that is of interest.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let values = prop_oneof![Just(1_u16), 2..6_u16, 6..80_u16, Just(256_u16)];
    let length = prop_oneof![0..40_usize, 1000..1050_usize, 0..80_000_usize];
    (values, length, any::<u64>()).prop_map(|(values, length, seed)| {
        let mut random = crate::Random::new(seed);
        // Squares make small values more frequent than great ones.
        (0..length)
            .map(|_| {
                (random.between(0, u64::from(values) - 1) * random.between(0, u64::from(values) - 1)
                    / u64::from(values)) as u8
            })
            .collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_way_leads_to_the_number_that_is_defined(bytes in bytes()) {
        let expected = expected(&bytes);
        prop_assert_eq!(Blocks::new().sum(&bytes), expected);
        prop_assert_eq!(Blocks::portable().sum(&bytes), expected);
    }
}

#[test]
fn a_worker_that_is_used_again_says_the_same() {
    let mut random = crate::Random::new(7);
    let bytes: Vec<u8> = (0..100_000).map(|_| random.between(0, 255) as u8).collect();
    for mut blocks in [Blocks::new(), Blocks::portable()] {
        for length in [100_000, 1, 0, 16 * 1024, 40 * 1024 + 3, 1024] {
            assert_eq!(blocks.sum(&bytes[..length]), expected(&bytes[..length]), "of {length} bytes");
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
    for (bytes, signature) in known {
        assert_eq!(Blocks::new().sum(bytes), signature);
        assert_eq!(Blocks::portable().sum(bytes), signature);
        assert_eq!(expected(bytes), signature);
    }
}
