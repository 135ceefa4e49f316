//! The trees, really built: every node is allocated, linked, walked and given back.

use super::heap::{EMPTY, Heap, NODE, count, key, pop, push};
use super::{BLOCK_BYTES, P};

/// There was no memory for a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exhausted;

/// Where nodes come from. A node is a value (symbol and frequency) and two children or none.
pub trait Nodes {
    /// What a node is known by to who has it.
    type Node: Default;
    /// A node as it is looked at.
    type At<'a>: Copy
    where
        Self: 'a;

    /// Allocates a node.
    ///
    /// # Errors
    /// Where there is no memory for it.
    fn make(&mut self, symbol: u32, frequency: u32, children: Option<[Self::Node; 2]>)
    -> Result<Self::Node, Exhausted>;

    /// The node, to be looked at.
    fn at<'a>(&'a self, node: &'a Self::Node) -> Self::At<'a>;

    /// What is in a node: symbol and frequency together, and its children.
    fn look<'a>(&'a self, at: Self::At<'a>) -> (u32, Option<[Self::At<'a>; 2]>);

    /// Gives a tree back, children before their parents.
    fn release(&mut self, root: Self::Node);
}

/// Builds trees of nodes from `N`.
pub struct Builder<N: Nodes> {
    nodes: N,
    heap: Heap,
    /// The roots of the trees that numbers in the heap stand for.
    slots: Vec<N::Node>,
    made: u64,
}

impl<N: Nodes> Builder<N> {
    /// One that takes its nodes from `nodes`.
    pub fn new(nodes: N) -> Self {
        Builder { nodes, heap: EMPTY, slots: (0..256).map(|_| N::Node::default()).collect(), made: 0 }
    }

    /// The allocator.
    pub fn nodes(&self) -> &N {
        &self.nodes
    }

    /// How many nodes were allocated so far.
    pub fn made(&self) -> u64 {
        self.made
    }

    /// The sum mod [`P`] of the hashes of the blocks of `bytes`: cut every 1,024 bytes, the last may be shorter.
    ///
    /// # Errors
    /// Where there was no memory for a node.
    pub fn sum(&mut self, bytes: &[u8]) -> Result<u64, Exhausted> {
        bytes.chunks(BLOCK_BYTES).try_fold(0, |sum, block| Ok((sum + self.block(block)?) % P))
    }

    fn block(&mut self, bytes: &[u8]) -> Result<u64, Exhausted> {
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

    /// Pushes a leaf for each value that occurs, by value; how many they are.
    fn leaves(&mut self, bytes: &[u8]) -> Result<usize, Exhausted> {
        let (mut occurring, mut leaves) = ([0; 257], 0);
        for (symbol, frequency) in (0..).zip(count(bytes)) {
            // Written where it occurs or not, so that there is nothing to guess; one that does not is written over.
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

    /// The hash in pre-order. Of each inner node the right child waits until all that is left of it is done.
    fn walk(&self, root: &N::Node) -> u64 {
        let mut at = self.nodes.at(root);
        let mut waiting = [at; 256];
        let (mut waits, mut hash) = (0_usize, 0);
        loop {
            let (value, children) = self.nodes.look(at);
            // As much as keeps it below 2^32: what is over is taken off in the end.
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

/// Which slot a key of the heap is of.
#[inline(always)]
fn slot(key: u32) -> usize {
    (key & NODE) as usize
}
