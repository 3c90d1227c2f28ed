#include "runtime/nn/plan/widened_heads.hpp"

#include <ATen/ops/constant_pad_nd.h>

#include <algorithm>

namespace d9d {
namespace {

at::Tensor widened(const at::Tensor& x, std::int64_t width) {
  return x.size(3) == width ? x : at::constant_pad_nd(x, {0, width - x.size(3)});
}

}  // namespace

at::Tensor attend_equally_wide(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                               const Attend& attend) {
  if (k.size(3) == v.size(3)) return attend(q, k, v);
  const std::int64_t width = std::max(k.size(3), v.size(3));
  return attend(widened(q, width), widened(k, width), widened(v, width)).narrow(3, 0, v.size(3));
}

}  // namespace d9d
