//! A bump arena: the next node is the next place, and a whole tree is given back by starting over.

use super::tree::{Exhausted, Nodes};

/// No child.
const NONE: u32 = u32::MAX;

/// The bytes of a node in a pool.
pub const POOL_NODE_BYTES: usize = size_of::<Node>();

/// Symbol, frequency, and where the children are. Arrays of zeros are had from the kernel without being written to, so that what
/// is never used of a pool takes no memory.
type Node = [u32; 4];

/// A pool of its own for each worker. Nodes are known by their places, which take half of what addresses would.
pub struct Pool {
    nodes: Vec<Node>,
    used: usize,
    walked: bool,
}

impl Pool {
    /// A pool of so many bytes that starts over with each tree.
    pub fn new(bytes: usize) -> Self {
        Pool { nodes: vec![[0; 4]; bytes / POOL_NODE_BYTES], used: 0, walked: false }
    }

    /// The same, but it starts over only when the next tree might not fit behind the last: all of it is used in turn, so that
    /// its size is how much memory its nodes are spread over.
    pub fn walked(bytes: usize) -> Self {
        Pool { walked: true, ..Pool::new(bytes) }
    }
}

impl Nodes for Pool {
    type Node = u32;
    type At<'a> = u32;

    #[inline(always)]
    fn make(&mut self, symbol: u32, frequency: u32, children: Option<[u32; 2]>) -> Result<u32, Exhausted> {
        let at = self.used;
        let node = self.nodes.get_mut(at).ok_or(Exhausted)?;
        let [left, right] = children.unwrap_or([NONE; 2]);
        *node = [symbol, frequency, left, right];
        self.used = at + 1;
        Ok(at as u32)
    }

    #[inline(always)]
    fn at(&self, node: &u32) -> u32 {
        *node
    }

    #[inline(always)]
    fn look(&self, at: u32) -> (u32, Option<[u32; 2]>) {
        let [symbol, frequency, left, right] = self.nodes[at as usize];
        (symbol + frequency, (left != NONE).then_some([left, right]))
    }

    fn release(&mut self, _: u32) {
        let fits = self.used + super::MOST_NODES <= self.nodes.len();
        self.used = if self.walked && fits { self.used } else { 0 };
    }
}
