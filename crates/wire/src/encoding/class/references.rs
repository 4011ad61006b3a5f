//! The references between instances of encoding 1.0, and the check of their depth.

use super::GRAPH_DEPTH_MAX;

/// The references of an encapsulation in encoding 1.0, by ids from 1 without gaps.
///
/// Instances of encoding 1.0 are not nested, so their depth is known only when all are written.
#[derive(Default)]
pub(super) struct References {
    from_parameters: Vec<i32>,
    /// For each id, the ids that the instance refers to.
    from_instances: Vec<Vec<i32>>,
}

/// How much of an instance has been visited.
#[derive(Clone, Copy)]
enum NodeProgress {
    Unread,
    Open,
    /// Visited, with this depth.
    Complete(usize),
}

/// An instance that is being read.
struct OpenNode {
    id: i32,
    next: usize,
    height: usize,
}

impl References {
    /// Adds a reference, from an instance or from parameters.
    pub(super) fn add(&mut self, from: Option<i32>, to: i32) {
        match from {
            None => self.from_parameters.push(to),
            Some(id) => {
                let at = id as usize;
                if self.from_instances.len() <= at {
                    self.from_instances.resize_with(at + 1, Vec::new);
                }
                self.from_instances[at].push(to);
            }
        }
    }

    /// Returns true if a decoder, which reads depth first from the parameters, stays within [`GRAPH_DEPTH_MAX`].
    pub(super) fn can_be_read(&self) -> bool {
        let ids = self.from_instances.iter().flatten();
        let last = ids.chain(&self.from_parameters).max().copied().unwrap_or(0);
        let mut progress = vec![NodeProgress::Unread; last as usize + 1];
        let mut roots = self.from_parameters.iter();
        roots.all(|root| self.read(*root, &mut progress))
    }

    fn read(&self, root: i32, progress: &mut [NodeProgress]) -> bool {
        let mut open: Vec<OpenNode> = Vec::new();
        let mut reference = Some(root);
        loop {
            if let Some(id) = reference {
                match progress[id as usize] {
                    NodeProgress::Unread if open.len() >= GRAPH_DEPTH_MAX => return false,
                    NodeProgress::Unread => {
                        progress[id as usize] = NodeProgress::Open;
                        let (next, height) = (0, 1);
                        open.push(OpenNode { id, next, height });
                    }
                    NodeProgress::Open => {}
                    NodeProgress::Complete(height) => {
                        if let Some(top) = open.last_mut() {
                            top.height = top.height.max(height + 1);
                        }
                    }
                }
            }
            let Some(top) = open.last_mut() else {
                return true;
            };
            let targets = self.from_instances.get(top.id as usize);
            reference = targets.and_then(|ids| ids.get(top.next)).copied();
            top.next += 1;
            if reference.is_none() {
                let OpenNode { id, height, .. } = *top;
                if height > GRAPH_DEPTH_MAX {
                    return false;
                }
                progress[id as usize] = NodeProgress::Complete(height);
                reference = Some(id);
                open.pop();
            }
        }
    }
}
