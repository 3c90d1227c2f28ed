#include "runtime/task/metric_values.hpp"

#include <c10/core/ScalarType.h>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

template <class T>
std::vector<T> elements_of(const at::Tensor& tensor, at::ScalarType dtype) {
  const at::Tensor values = tensor.detach().to(at::kCPU, dtype).contiguous();
  const T* const first = values.const_data_ptr<T>();
  return {first, first + values.numel()};
}

}  // namespace

std::vector<double> numbers_of(const at::Tensor& tensor) {
  return elements_of<double>(tensor, at::kDouble);
}

std::vector<std::int64_t> integers_of(const at::Tensor& tensor) {
  D9D_REQUIRE(at::isIntegralType(tensor.scalar_type(), /*includeBool=*/true),
              "a tensor of {} where a metric takes integers", c10::toString(tensor.scalar_type()));
  return elements_of<std::int64_t>(tensor, at::kLong);
}

}  // namespace d9d
