//! Nodes from the C library's malloc(3), each given back by free(3).

use super::tree::{Exhausted, Nodes};

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
