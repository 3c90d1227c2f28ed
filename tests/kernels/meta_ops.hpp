#pragma once
// An op table for torch's `meta` device. Its ops give tensors of the right shape and dtype that have no memory,
// and note their names. Code that reads memory behind the table's back cannot work on such tensors.

#include <memory>
#include <string>
#include <vector>

#include "kernels/ops/table.hpp"

namespace d9d::test {

class MetaOps {
 public:
  MetaOps();
  ~MetaOps();
  MetaOps(const MetaOps&) = delete;
  MetaOps& operator=(const MetaOps&) = delete;

  // The ops that ran since the last call, in order.
  std::vector<std::string> take_names();

 private:
  struct TorchOps;
  kernels::OpTable table_;
  std::unique_ptr<TorchOps> torch_ops_;
};

}  // namespace d9d::test
