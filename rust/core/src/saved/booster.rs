//! Boosters in a container (the file format of saved models): the nodes, leaf values and covers of all trees, the gain
//! per feature and the validation scores. The cover of a leaf is the weight of its training rows.

use super::{SavedModel, Section, SectionWriter};
use crate::boost::{Booster, CodedCache, ScoreTree};
use crate::error::Result;
use crate::rankings::MAX_LABELS;
use crate::tree::walker::FlatNode;

impl SavedModel for Booster {
    const NAME: &'static str = "booster";

    fn write(&self, section: &mut SectionWriter<'_>) {
        section.vector("compared", &self.compared);
        section.vector("start", &self.start);
        section.vector("gains", &self.gains);
        section.vector("validation", &self.validation);
        let shape = [self.trees.len()];
        let nodes = self.trees.iter().map(|tree| tree.nodes.len() as u64);
        section.unsigned("nodes_per_tree", &shape, nodes);
        let values = self.trees.iter().map(|tree| tree.values.len() as u64);
        section.unsigned("values_per_tree", &shape, values);
        let nodes = self.trees.iter().flat_map(|tree| &tree.nodes);
        let shape = [nodes.clone().count()];
        section.array("thresholds", &shape, nodes.clone().map(|n| n.threshold));
        section.unsigned("features", &shape, nodes.clone().map(|node| node.feature));
        section.unsigned("children", &shape, nodes.map(|node| node.child));
        let sides = self.trees.iter().flat_map(|tree| &tree.missing_left);
        section.array("missing_left", &shape, sides.copied());
        let values = self.trees.iter().flat_map(|tree| &tree.values).copied();
        section.array("values", &[values.clone().count()], values);
        let covers = self.trees.iter().flat_map(|tree| &tree.covers).copied();
        section.array("covers", &[covers.clone().count()], covers);
    }

    fn read(section: &mut Section<'_, '_>) -> Result<Self> {
        let compared: Vec<bool> = section.vector("compared")?;
        let start: Vec<f32> = section.vector("start")?;
        let gains: Vec<f64> = section.vector("gains")?;
        let validation: Vec<f64> = section.vector("validation")?;
        let (features, labels) = (gains.len(), compared.len());
        let is_possible = (1..u32::MAX as usize).contains(&features)
            && (2..=MAX_LABELS).contains(&labels)
            && start.len() == 2 * labels;
        if !is_possible {
            return Err(section.problem("the number of features, labels or scores is out of range"));
        }
        if !(start.iter().all(|v| v.is_finite()) && gains.iter().all(|v| v.is_finite())) {
            return Err(section.problem("a score or a gain is not finite"));
        }
        Ok(Self {
            features,
            trees: read_trees(section, features, 2 * labels)?,
            start,
            compared,
            gains,
            validation,
            coded: CodedCache::default(),
        })
    }
}

fn read_trees(
    section: &mut Section<'_, '_>,
    features: usize,
    outputs: usize,
) -> Result<Vec<ScoreTree>> {
    let node_counts: Vec<usize> = section.unsigned("nodes_per_tree")?;
    let value_counts: Vec<usize> = section.unsigned("values_per_tree")?;
    let mut values = section.vector::<f32>("values")?.into_iter();
    let mut covers = section.vector::<f64>("covers")?.into_iter();
    let nodes = read_nodes(section)?;
    let sides: Vec<bool> = section.vector("missing_left")?;
    if sides.len() != nodes.len() {
        return Err(section.problem("the arrays of the nodes have different lengths"));
    }
    let (mut nodes, mut sides) = (nodes.into_iter(), sides.into_iter());
    if node_counts.len() != value_counts.len() {
        return Err(
            section.problem("expected one number of nodes and one number of values per tree")
        );
    }
    let mut trees = Vec::new();
    for (node_count, value_count) in node_counts.into_iter().zip(value_counts) {
        let leaf_count = value_count / outputs;
        if node_count > nodes.len() || value_count > values.len() || leaf_count > covers.len() {
            return Err(section.problem("the arrays of the trees are too short"));
        }
        let arrays = ScoreTreeArrays {
            nodes: nodes.by_ref().take(node_count).collect(),
            missing_left: sides.by_ref().take(node_count).collect(),
            values: values.by_ref().take(value_count).collect(),
            covers: covers.by_ref().take(leaf_count).collect(),
        };
        let tree = arrays.into_tree(features, outputs);
        trees.push(tree.map_err(|text| section.problem(text))?);
    }
    if nodes.len() == 0 && values.len() == 0 && covers.len() == 0 {
        Ok(trees)
    } else {
        Err(section.problem("there are nodes, values or covers after the last tree"))
    }
}

fn read_nodes(section: &mut Section<'_, '_>) -> Result<Vec<FlatNode>> {
    let thresholds: Vec<f64> = section.vector("thresholds")?;
    let features: Vec<u32> = section.unsigned("features")?;
    let children: Vec<u32> = section.unsigned("children")?;
    if features.len() != thresholds.len() || children.len() != thresholds.len() {
        return Err(section.problem("the arrays of the nodes have different lengths"));
    }
    let nodes = thresholds.into_iter().zip(features).zip(children);
    Ok(nodes
        .map(|((threshold, feature), child)| FlatNode {
            threshold,
            feature,
            child,
        })
        .collect())
}

/// The arrays of one tree as they were read.
struct ScoreTreeArrays {
    nodes: Vec<FlatNode>,
    /// Per node: whether missing values go to the left child.
    missing_left: Vec<bool>,
    values: Vec<f32>,
    covers: Vec<f64>,
}

impl ScoreTreeArrays {
    /// The tree, if every walk ends at a leaf and all leaves have finite values.
    fn into_tree(
        self,
        features: usize,
        outputs: usize,
    ) -> std::result::Result<ScoreTree, &'static str> {
        self.check_leaves(outputs)?;
        self.check_nodes(features)?;
        Ok(ScoreTree::new(
            self.nodes,
            self.missing_left,
            self.values,
            self.covers,
        ))
    }

    fn check_leaves(&self, outputs: usize) -> std::result::Result<(), &'static str> {
        let nodes = self.nodes.iter().enumerate();
        let leaves = nodes.filter(|(index, node)| node.is_leaf(*index));
        if self.nodes.is_empty() || leaves.count() * outputs != self.values.len() {
            return Err("the tree is not complete");
        }
        if !self.values.iter().all(|value| value.is_finite()) {
            return Err("a value of a leaf is not finite");
        }
        if !(self.covers.iter()).all(|cover| cover.is_finite() && *cover >= 0.0) {
            return Err("the weight of a leaf is negative or not finite");
        }
        Ok(())
    }

    /// Checks the splits, and that each node except the root has one parent: otherwise the number of paths to the
    /// leaves could grow exponentially with the number of nodes.
    fn check_nodes(&self, features: usize) -> std::result::Result<(), &'static str> {
        let mut has_parent = vec![false; self.nodes.len()];
        for (index, node) in self.nodes.iter().enumerate() {
            if *node == FlatNode::leaf(index) {
                if !self.missing_left[index] {
                    return Err("a leaf sends missing values to another node");
                }
                continue;
            }
            let child = node.child as usize;
            if node.feature as usize >= features || node.threshold.is_nan() {
                return Err(
                    "a node splits a feature that does not exist, or a threshold is not a number",
                );
            }
            if child <= index || child + 1 >= self.nodes.len() {
                return Err("a node has children that do not exist");
            }
            for child in [child, child + 1] {
                if std::mem::replace(&mut has_parent[child], true) {
                    return Err("a node has two parents");
                }
            }
        }
        // Children come after their parents, so the root has no parent.
        if has_parent.iter().skip(1).all(|&has| has) {
            Ok(())
        } else {
            Err("a node has no parent")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads a tree of two features and two labels from the left children of its nodes; 0 marks a leaf.
    fn read(children: &[u32]) -> std::result::Result<ScoreTree, &'static str> {
        let node = |(index, &child): (usize, &u32)| match child {
            0 => FlatNode::leaf(index),
            child => FlatNode {
                threshold: 0.5,
                feature: 1,
                child,
            },
        };
        let leaves = children.iter().filter(|&&child| child == 0).count();
        let arrays = ScoreTreeArrays {
            nodes: children.iter().enumerate().map(node).collect(),
            missing_left: vec![true; children.len()],
            values: vec![0.0; 4 * leaves],
            covers: vec![1.0; leaves],
        };
        arrays.into_tree(2, 4)
    }

    #[test]
    fn only_trees_are_read() {
        assert!(read(&[0]).is_ok());
        assert!(read(&[1, 3, 0, 0, 0]).is_ok());
        assert_eq!(read(&[1, 2, 3, 0, 0]).err(), Some("a node has two parents"));
        assert_eq!(read(&[1, 0, 0, 0]).err(), Some("a node has no parent"));
        let error = "a node has children that do not exist";
        assert_eq!(read(&[1, 3, 0]).err(), Some(error));
    }
}
