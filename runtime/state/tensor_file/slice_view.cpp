#include "runtime/state/tensor_file/slice_view.hpp"

namespace d9d {

at::Tensor slice_view(at::Tensor tensor, const Slice& slice) {
  for (std::size_t d = 0; d < slice.begin.size(); ++d)
    tensor = tensor.narrow(static_cast<std::int64_t>(d), slice.begin[d], slice.end[d] - slice.begin[d]);
  return tensor;
}

}  // namespace d9d
