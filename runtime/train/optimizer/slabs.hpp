#pragma once
// Walks flat tensors slab by slab, so that the temporaries of plain tensor arithmetic stay in the cache.

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <vector>

namespace d9d {

// Calls f(views) for each slab, with the same range of each tensor. The tensors are flat and of one length.
template <class F>
void for_slabs(const std::vector<at::Tensor>& tensors, F&& f) {
  constexpr std::int64_t slab_elements = std::int64_t{1} << 16;
  for (std::int64_t begin = 0; begin < tensors[0].numel(); begin += slab_elements) {
    std::vector<at::Tensor> views;
    for (const at::Tensor& tensor : tensors) {
      views.push_back(tensor.narrow(0, begin, std::min(slab_elements, tensor.numel() - begin)));
    }
    f(views);
  }
}

}  // namespace d9d
