//! A pool whose nodes lie far apart: what it costs beside a pool is what it is worth that a pool's nodes lie together.

use super::tree::{Exhausted, Nodes};
use super::{MOST_NODES, P};

/// A line of a cache, on the CPUs that there are.
const LINE: usize = 64;
const NONE: u32 = u32::MAX;
/// A multiplier of the minimal standard generator (Park and Miller 1988), whose modulus is [`P`].
const MULTIPLIER: u64 = 48_271;

/// A node alone on a cache line.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Node {
    symbol: u32,
    frequency: u32,
    children: [u32; 2],
}

/// A pool that starts over with each tree as [`super::Pool`] does, but gives its places out in an order drawn once, each on a
/// cache line of its own, out of an area of a given size.
pub struct Scattered {
    nodes: Vec<Node>,
    order: Vec<u32>,
    used: usize,
}

impl Scattered {
    /// One over so many bytes, or over as many as a tree needs.
    pub fn new(bytes: usize) -> Self {
        let places = (bytes / LINE).max(MOST_NODES);
        let mut order: Vec<u32> = (0..places as u32).collect();
        let mut state = 1_u64;
        for at in (1..places).rev() {
            state = state * MULTIPLIER % P;
            order.swap(at, (state % (at as u64 + 1)) as usize);
        }
        order.truncate(MOST_NODES);
        let blank = Node { symbol: 0, frequency: 0, children: [NONE; 2] };
        Scattered { nodes: vec![blank; places], order, used: 0 }
    }
}

impl Nodes for Scattered {
    type Node = u32;
    type At<'a> = u32;

    #[inline(always)]
    fn make(&mut self, symbol: u32, frequency: u32, children: Option<[u32; 2]>) -> Result<u32, Exhausted> {
        let at = *self.order.get(self.used).ok_or(Exhausted)?;
        self.nodes[at as usize] = Node { symbol, frequency, children: children.unwrap_or([NONE; 2]) };
        self.used += 1;
        Ok(at)
    }

    #[inline(always)]
    fn at(&self, node: &u32) -> u32 {
        *node
    }

    #[inline(always)]
    fn look(&self, at: u32) -> (u32, Option<[u32; 2]>) {
        let node = &self.nodes[at as usize];
        (node.symbol + node.frequency, (node.children[0] != NONE).then_some(node.children))
    }

    fn release(&mut self, _: u32) {
        self.used = 0;
    }
}
