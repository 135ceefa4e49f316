//! Where the nodes of trees lie: in a bump arena, whose next node is the next place and which is given back as a whole; each in
//! a box of the C library's malloc(3); or in a pool whose nodes lie far apart, which shows what it is worth that an arena's do
//! not.

use super::tree::{Exhausted, Nodes};
use super::{MOST_NODES, P};

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

/// A node in a place of its own. Boxes are made by the C library's allocator as long as a program does not name another.
pub struct Boxed {
    symbol: u32,
    frequency: u32,
    children: Option<[Box<Boxed>; 2]>,
}

/// The C library's allocator: it knows no more of us than of anybody.
#[derive(Default)]
pub struct Malloc;

impl Nodes for Malloc {
    type Node = Option<Box<Boxed>>;
    type At<'a> = Option<&'a Boxed>;

    #[inline(always)]
    fn make(
        &mut self,
        symbol: u32,
        frequency: u32,
        children: Option<[Option<Box<Boxed>>; 2]>,
    ) -> Result<Option<Box<Boxed>>, Exhausted> {
        let children = match children {
            Some([Some(left), Some(right)]) => Some([left, right]),
            _ => None,
        };
        Ok(Some(Box::new(Boxed { symbol, frequency, children })))
    }

    #[inline(always)]
    fn at<'a>(&'a self, node: &'a Option<Box<Boxed>>) -> Option<&'a Boxed> {
        node.as_deref()
    }

    #[inline(always)]
    fn look<'a>(&'a self, at: Option<&'a Boxed>) -> (u32, Option<[Option<&'a Boxed>; 2]>) {
        let Some(node) = at else { return (0, None) };
        let children = node.children.as_ref().map(|[left, right]| [Some(&**left), Some(&**right)]);
        (node.symbol + node.frequency, children)
    }

    fn release(&mut self, root: Option<Box<Boxed>>) {
        drop(root);
    }
}

/// A line of a cache, on the CPUs that there are.
const LINE: usize = 64;
/// A multiplier of the minimal standard generator (Park and Miller 1988), whose modulus is [`P`].
const MULTIPLIER: u64 = 48_271;

/// A node alone on a cache line.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct FarNode {
    symbol: u32,
    frequency: u32,
    children: [u32; 2],
}

/// A pool that starts over with each tree as [`super::Pool`] does, but gives its places out in an order drawn once, each on a
/// cache line of its own, out of an area of a given size.
pub struct Scattered {
    nodes: Vec<FarNode>,
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
        let blank = FarNode { symbol: 0, frequency: 0, children: [NONE; 2] };
        Scattered { nodes: vec![blank; places], order, used: 0 }
    }
}

impl Nodes for Scattered {
    type Node = u32;
    type At<'a> = u32;

    #[inline(always)]
    fn make(&mut self, symbol: u32, frequency: u32, children: Option<[u32; 2]>) -> Result<u32, Exhausted> {
        let at = *self.order.get(self.used).ok_or(Exhausted)?;
        self.nodes[at as usize] = FarNode { symbol, frequency, children: children.unwrap_or([NONE; 2]) };
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
