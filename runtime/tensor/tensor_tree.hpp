#pragma once
// Batches that are trees of tensors (CORE-34), for the collations and tasks of plugins: a struct with described members
// stands for the tree, and its tensors travel in a TensorMap under their paths.
//
//   struct Image { at::Tensor pixels; std::optional<at::Tensor> mask; };
//   BOOST_DESCRIBE_STRUCT(Image, (), (pixels, mask))
//   struct Batch { at::Tensor input_ids, labels; Image image; std::vector<at::Tensor> crops; };
//   BOOST_DESCRIBE_STRUCT(Batch, (), (input_ids, labels, image, crops))
//
//   TensorMap map = to_tensor_map(batch);   // input_ids, labels, image/pixels, crops/0, crops/1
//   Batch batch = tree_of<Batch>(map);
//
// Members are tensors, described structs, and std::optional, std::vector and std::map by text of those.

#include <boost/describe/class.hpp>

#include "runtime/tensor/tensor_branch.hpp"

namespace d9d {

// Input errors, by path: a tensor without values, an item of a vector or map without tensors.
template <class Tree>
TensorMap to_tensor_map(const Tree& tree) {
  TensorMap map;
  tensor_tree::Branch<Tree>::write(tree, "", map);
  return map;
}

// Other tensors of the map are left aside. Input error for one that is missing: `what` and its path.
template <class Tree>
Tree tree_of(const TensorMap& map, const char* what = "the batch") {
  Tree tree;
  tensor_tree::Branch<Tree>::read(tree, "", map, what);
  return tree;
}

}  // namespace d9d
