#include "runtime/data/npy_tensor.hpp"

#include <ATen/ops/empty.h>

#include "runtime/base/error.hpp"
#include "runtime/data/npy.hpp"

namespace d9d {
namespace {

NpyType npy_type_of(at::ScalarType type) {
  switch (type) {
    case at::kInt:
      return NpyType::int32;
    case at::kLong:
      return NpyType::int64;
    case at::kFloat:
      return NpyType::float32;
    case at::kDouble:
      return NpyType::float64;
    default:
      throw Error(ErrorKind::input,
                  fmt::format("a tensor of {} cannot be written as .npy; convert it to float32 or int64",
                              at::toString(type)));
  }
}

}  // namespace

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

void save_npy(const std::filesystem::path& path, const at::Tensor& tensor) {
  const at::Tensor plain = tensor.detach().cpu().contiguous();
  const std::span bytes(static_cast<const std::byte*>(plain.const_data_ptr()), plain.nbytes());
  write_npy(path, npy_type_of(plain.scalar_type()), plain.sizes(), bytes);
}

}  // namespace d9d
