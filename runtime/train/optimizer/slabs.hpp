#pragma once
// Walks flat tensors slab by slab, so that the temporaries of plain tensor arithmetic stay small.

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <vector>

namespace d9d {

// How many elements are worked on at once: on the CPU so few that temporaries stay in its cache, elsewhere so many that
// launches take less time than the work.
inline std::int64_t elements_at_once(const at::Tensor& tensor, std::int64_t on_cpu) {
  return tensor.is_cpu() ? on_cpu : std::int64_t{1} << 24;
}

// Calls f(views) for each slab, with the same range of each tensor. The tensors are flat and of one length.
template <class F>
void for_slabs(const std::vector<at::Tensor>& tensors, F&& f) {
  const std::int64_t slab_elements = elements_at_once(tensors[0], std::int64_t{1} << 16);
  for (std::int64_t begin = 0; begin < tensors[0].numel(); begin += slab_elements) {
    std::vector<at::Tensor> views;
    for (const at::Tensor& tensor : tensors) {
      views.push_back(tensor.narrow(0, begin, std::min(slab_elements, tensor.numel() - begin)));
    }
    f(views);
  }
}

}  // namespace d9d
