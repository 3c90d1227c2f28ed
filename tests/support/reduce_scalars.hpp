#pragma once
// A few numbers over a group, in double.

#include <ATen/ops/from_blob.h>

#include <vector>

#include "runtime/comm/communicator.hpp"

namespace d9d::test {

inline std::vector<double> all_reduce_scalars(Communicator& communicator, std::vector<double> values,
                                              ReduceOp op = ReduceOp::sum) {
  at::Tensor tensor = at::from_blob(values.data(), {static_cast<std::int64_t>(values.size())}, at::kDouble);
  communicator.all_reduce(tensor, op).wait();
  communicator.wait();
  return values;
}

}  // namespace d9d::test
