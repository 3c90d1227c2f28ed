#pragma once
// What differs between the releases of LibTorch that d9d builds with (2.11 and newer): since 2.13 nodes of autograd
// are held by intrusive pointers, before by shared ones.

#include <torch/headeronly/version.h>

#include <memory>
#include <utility>

#if TORCH_VERSION_MAJOR > 2 || TORCH_VERSION_MINOR >= 13
#include <torch/csrc/autograd/node.h>  // an intrusive pointer counts in the node, so it needs all of it
#else
namespace torch::autograd {
struct Node;
void deleteNode(Node* function);
}  // namespace torch::autograd
#endif

namespace d9d::kernels {

#if TORCH_VERSION_MAJOR > 2 || TORCH_VERSION_MINOR >= 13

template <class N>
using NodePointer = c10::intrusive_ptr<N>;

template <class N, class... Arguments>
NodePointer<N> make_node(Arguments&&... arguments) {
  return c10::make_intrusive<N>(std::forward<Arguments>(arguments)...);
}

#else

template <class N>
using NodePointer = std::shared_ptr<N>;

template <class N, class... Arguments>
NodePointer<N> make_node(Arguments&&... arguments) {
  return NodePointer<N>(new N(std::forward<Arguments>(arguments)...), torch::autograd::deleteNode);
}

#endif

}  // namespace d9d::kernels
