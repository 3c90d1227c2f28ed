#pragma once
// Batches that are trees of tensors (CORE-34), for the collations and tasks of plugins. A struct with
// described members is the tree; its tensors are stored in a TensorMap under their paths.
//
//   struct Image { at::Tensor pixels; std::optional<at::Tensor> mask; };
//   BOOST_DESCRIBE_STRUCT(Image, (), (pixels, mask))
//   struct Batch { at::Tensor input_ids, labels; Image image; std::vector<at::Tensor> crops; };
//   BOOST_DESCRIBE_STRUCT(Batch, (), (input_ids, labels, image, crops))
//
//   TensorMap map = to_tensor_map(batch);   // input_ids, labels, image/pixels, crops/0, crops/1
//   Batch batch = tree_of<Batch>(map);
//
// Members may be tensors, texts and bytes (std::string, in the map uint8 [n]), described structs, and
// std::optional, std::vector and std::map<std::string, ...> of these.

#include <boost/describe/class.hpp>

#include "runtime/tensor/tensor_branch.hpp"

namespace d9d {

// Input error, with the path, for an undefined tensor and for an item of a vector or map without tensors.
template <class Tree>
TensorMap to_tensor_map(const Tree& tree) {
  TensorMap map;
  tensor_tree::Branch<Tree>::write(tree, "", map);
  return map;
}

// Ignores other tensors of the map. Input error, with `what` and the path, for a missing tensor.
template <class Tree>
Tree tree_of(const TensorMap& map, const char* what = "the batch") {
  Tree tree;
  tensor_tree::Branch<Tree>::read(tree, "", map, what);
  return tree;
}

// Calls function(path, leaf) for the leaves whose type it takes, at::Tensor& or std::string&, const or not.
// The order is that of members, items and names.
template <class Tree, class Function>
void for_each_leaf(Tree& tree, Function&& function) {
  tensor_tree::Branch<std::remove_const_t<Tree>>::visit(tree, "", function);
}

// Returns the tree with function(tensor) in the place of each tensor.
template <class Tree, class Function>
Tree map_tensors(Tree tree, Function&& function) {
  for_each_leaf(tree, [&](const std::string&, at::Tensor& tensor) { tensor = function(tensor); });
  return tree;
}

}  // namespace d9d
