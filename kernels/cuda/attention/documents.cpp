#include "kernels/cuda/attention/documents.hpp"

#include <algorithm>
#include <vector>

#include "kernels/cuda/unwrap.hpp"
#include "kernels/memory/host_values.hpp"

namespace d9d::cuda {
namespace {

// Remembers values that it had to wait for, because every layer asks for those of the same tensor.
at::Tensor values_of(const at::Tensor& first) {
  const at::Tensor known = kernels::host_values(first);
  if (known.defined()) return known.contiguous();
  at::Tensor here = first.to(at::kCPU).contiguous();
  if (first.is_contiguous() && first.storage().nbytes() == first.nbytes())
    kernels::keep_host_values(first, here);
  return here;
}

}  // namespace

std::optional<Documents> documents_of(const at::Tensor& first) {
  const at::Tensor here = values_of(first);
  const int64_t batch = here.size(0), length = here.size(1);
  const auto* start = here.const_data_ptr<int64_t>();
  std::vector<int32_t> begins;
  for (int64_t row = 0; row < batch; ++row, start += length) {
    for (int64_t i = 0; i < length; ++i) {
      if (start[i] == i) {
        begins.push_back(static_cast<int32_t>(row * length + i));
      } else if (i == 0 || start[i] != start[i - 1]) {
        return {};
      }
    }
  }
  begins.push_back(static_cast<int32_t>(batch * length));
  int32_t longest = 0;
  for (std::size_t d = 1; d < begins.size(); ++d) longest = std::max(longest, begins[d] - begins[d - 1]);
  return Documents{uploaded(begins, first.device()), longest};
}

}  // namespace d9d::cuda
