//! Memory for the nodes of trees: a bump arena, which is released as a whole; a box of malloc(3) for each node; or a
//! pool whose nodes are far apart, which shows the benefit of nodes that are close together.

use super::tree::{Exhausted, Nodes};
use super::{MOST_NODES, P};

/// The position that means "no child".
const NONE: u32 = u32::MAX;

/// The size of a node in a pool, in bytes.
pub const POOL_NODE_BYTES: usize = size_of::<Node>();

/// Symbol, frequency, and the positions of the children. The kernel provides zeroed arrays without writing to them, so
/// unused parts of a pool take no memory.
type Node = [u32; 4];

/// A pool for one worker. Nodes are identified by their positions, which are half as long as addresses.
pub struct Pool {
    nodes: Vec<Node>,
    used: usize,
    walked: bool,
}

impl Pool {
    /// Creates a pool of this size in bytes, which is reset after each tree.
    pub fn new(bytes: usize) -> Self {
        Pool { nodes: vec![[0; 4]; bytes / POOL_NODE_BYTES], used: 0, walked: false }
    }

    /// Creates a pool that is reset only when the next tree might not fit behind the last one. All of it is used in
    /// turn, so its size is the amount of memory over which its nodes are spread.
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

/// A node in an allocation of its own. Boxes use the C library's allocator unless a program declares another one.
pub struct Boxed {
    symbol: u32,
    frequency: u32,
    children: Option<[Box<Boxed>; 2]>,
}

/// The C library's allocator, without any state of its own here.
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

/// The size of a cache line on common CPUs, in bytes.
const LINE: usize = 64;
/// The multiplier of the minimal standard generator (Park and Miller 1988), whose modulus is [`P`].
const MULTIPLIER: u64 = 48_271;

/// A node on a cache line of its own.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct FarNode {
    symbol: u32,
    frequency: u32,
    children: [u32; 2],
}

/// A pool that is reset after each tree like [`super::Pool`]. It allocates positions in an order that is drawn once,
/// each on a cache line of its own, in an area of a given size.
pub struct Scattered {
    nodes: Vec<FarNode>,
    order: Vec<u32>,
    used: usize,
}

impl Scattered {
    /// Creates a pool of this size in bytes, or of the size that a tree needs if that is larger.
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
