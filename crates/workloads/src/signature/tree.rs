//! Real trees: every node is allocated, linked, visited and freed.

use super::P;
use super::heap::{EMPTY, Heap, NODE, count, key, pop, push};

/// The error of an allocator without memory for a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exhausted;

/// An allocator of nodes. A node is a value (symbol and frequency) with two children or none.
pub trait Nodes {
    /// The handle of a node for its owner.
    type Node: Default;
    /// A reference to a node for reading.
    type At<'a>: Copy
    where
        Self: 'a;

    /// Allocates a node.
    ///
    /// # Errors
    /// There is not enough memory.
    fn make(&mut self, symbol: u32, frequency: u32, children: Option<[Self::Node; 2]>)
    -> Result<Self::Node, Exhausted>;

    /// Returns a reference to a node for reading.
    fn at<'a>(&'a self, node: &'a Self::Node) -> Self::At<'a>;

    /// Returns the content of a node: the sum of symbol and frequency, and its children.
    fn look<'a>(&'a self, at: Self::At<'a>) -> (u32, Option<[Self::At<'a>; 2]>);

    /// Frees a tree, children before their parents.
    fn release(&mut self, root: Self::Node);
}

/// Builds trees with nodes from the allocator `N`.
pub struct Builder<N: Nodes> {
    nodes: N,
    /// Size of a block, in bytes.
    block: usize,
    heap: Heap,
    /// The roots of the trees to which the node numbers in the heap refer.
    slots: Vec<N::Node>,
    made: u64,
}

impl<N: Nodes> Builder<N> {
    /// Creates a builder that allocates its nodes from `nodes`, for blocks of `block` bytes.
    pub fn new(nodes: N, block: usize) -> Self {
        Builder { nodes, block, heap: EMPTY, slots: (0..256).map(|_| N::Node::default()).collect(), made: 0 }
    }

    /// Returns the allocator of nodes.
    pub fn nodes(&self) -> &N {
        &self.nodes
    }

    /// Returns the number of nodes allocated so far.
    pub fn made(&self) -> u64 {
        self.made
    }

    /// Returns the sum modulo [`P`] of the hashes of the blocks of `bytes`; the last one may be shorter.
    ///
    /// # Errors
    /// There was not enough memory for a node.
    pub fn sum(&mut self, bytes: &[u8]) -> Result<u64, Exhausted> {
        bytes.chunks(self.block).try_fold(0, |sum, block| Ok((sum + self.hash(block)?) % P))
    }

    fn hash(&mut self, bytes: &[u8]) -> Result<u64, Exhausted> {
        let leaves = self.leaves(bytes)?;
        for held in (2..=leaves).rev() {
            let (left, right) = (pop(&mut self.heap, held), pop(&mut self.heap, held - 1));
            let frequency = (left >> 16) + (right >> 16);
            let children = [left, right].map(|key| std::mem::take(&mut self.slots[slot(key)]));
            self.slots[slot(left)] = self.make(0, frequency, Some(children))?;
            push(&mut self.heap, held - 1, key(frequency, left & NODE));
        }
        if leaves == 0 {
            return Ok(0);
        }
        let root = std::mem::take(&mut self.slots[slot(self.heap[1])]);
        let hash = self.walk(&root);
        self.nodes.release(root);
        Ok(hash)
    }

    /// Pushes a leaf for each value that occurs, in ascending order of values. Returns the number of leaves.
    fn leaves(&mut self, bytes: &[u8]) -> Result<usize, Exhausted> {
        let (mut occurring, mut leaves) = ([0; 257], 0);
        for (symbol, frequency) in (0..).zip(count(bytes)) {
            // Stored unconditionally to avoid a branch; a value that does not occur is overwritten by the next one.
            occurring[leaves] = key(u32::from(frequency), symbol);
            leaves += usize::from(frequency != 0);
        }
        self.heap = EMPTY;
        for (slot, found) in occurring[..leaves].iter().enumerate() {
            let (frequency, symbol) = (found >> 16, found & NODE);
            self.slots[slot] = self.make(symbol, frequency, None)?;
            push(&mut self.heap, slot + 1, key(frequency, slot as u32));
        }
        Ok(leaves)
    }

    fn make(&mut self, symbol: u32, frequency: u32, children: Option<[N::Node; 2]>) -> Result<N::Node, Exhausted> {
        self.made += 1;
        self.nodes.make(symbol, frequency, children)
    }

    /// Returns the hash in pre-order. The right child of each inner node is on a stack until the left subtree is done.
    fn walk(&self, root: &N::Node) -> u64 {
        let mut at = self.nodes.at(root);
        let mut waiting = [at; 256];
        let (mut waits, mut hash) = (0_usize, 0);
        loop {
            let (value, children) = self.nodes.look(at);
            // A partial reduction keeps the hash below 2^32; the end of the walk completes it.
            let next = hash * 31 + u64::from(value);
            hash = (next & P) + (next >> 31);
            if let Some([left, right]) = children {
                waiting[waits % 256] = right;
                waits += 1;
                at = left;
            } else if waits > 0 {
                waits -= 1;
                at = waiting[waits % 256];
            } else {
                return hash % P;
            }
        }
    }
}

/// Returns the slot of a key of the heap.
#[inline(always)]
fn slot(key: u32) -> usize {
    (key & NODE) as usize
}
