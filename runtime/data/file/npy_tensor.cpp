#include "runtime/data/file/npy_tensor.hpp"

#include <ATen/ops/empty.h>

#include "runtime/data/file/npy.hpp"

namespace d9d {

at::Tensor load_npy(const std::filesystem::path& path) {
  const NpyArray array(path);
  const bool floating = !is_integer(array.type());
  at::Tensor out = at::empty(array.shape(), floating ? at::kFloat : at::kLong);
  const auto count = static_cast<std::size_t>(array.num_elements());
  if (floating) {
    array.read(0, std::span(out.mutable_data_ptr<float>(), count));
  } else {
    array.read(0, std::span(out.mutable_data_ptr<std::int64_t>(), count));
  }
  return out;
}

}  // namespace d9d
