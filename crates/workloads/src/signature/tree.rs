//! The trees, really built: every node is allocated, linked, walked and given back.

use super::heap::Heap;
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
    /// The root of the tree that a slot of the heap stands for.
    slots: Vec<N::Node>,
    made: u64,
}

impl<N: Nodes> Builder<N> {
    /// One that takes its nodes from `nodes`.
    pub fn new(nodes: N) -> Self {
        Builder { nodes, heap: Heap::new(), slots: (0..256).map(|_| N::Node::default()).collect(), made: 0 }
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
        self.leaves(bytes)?;
        while let Some((left, right)) = self.heap.two_least() {
            let frequency = left.frequency + right.frequency;
            let children = [left.slot, right.slot].map(|slot| std::mem::take(&mut self.slots[slot]));
            self.slots[left.slot] = self.make(0, frequency, Some(children))?;
            self.heap.push(frequency, left.slot);
        }
        let Some(root) = self.heap.pop() else { return Ok(0) };
        let root = std::mem::take(&mut self.slots[root.slot]);
        let hash = self.walk(&root);
        self.nodes.release(root);
        Ok(hash)
    }

    fn leaves(&mut self, bytes: &[u8]) -> Result<(), Exhausted> {
        let (nodes, slots) = (&mut self.nodes, &mut self.slots);
        let mut all = Ok(());
        let mut made = 0;
        self.heap.fill(bytes, |slot, symbol, frequency| match nodes.make(symbol, frequency, None) {
            Ok(node) => {
                slots[slot] = node;
                made += 1;
            }
            Err(exhausted) => all = Err(exhausted),
        });
        self.made += made;
        all
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
