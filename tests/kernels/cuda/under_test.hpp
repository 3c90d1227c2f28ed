#pragma once
// Where the ops of kernels/cuda run in a test: on a GPU (on_gpu.cpp), or on a grid that the host emulates (emulated/).
// Both binaries have the same tests.

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>

#include "kernels/ops/table.hpp"

namespace d9d::test {

// Without a GPU, tests that need one are skipped; with D9D_REQUIRE_GPU=1 they fail.
class CudaOps : public testing::Test {
 protected:
  CudaOps();
  ~CudaOps() override;
  void SetUp() override;
  // Whether the tests compared each op of the table with the CPU's; unless a filter chose some of them.
  static void TearDownTestSuite();

 private:
  struct Place;
  std::unique_ptr<Place> place_;
};

// By name, what expect_same_as_cpu (same_as_cpu.hpp) has compared.
std::set<std::string>& compared_ops();

// Null where it is not part of this binary: what calls a library of CUDA.
const kernels::OpTable& table_under_test();

// An op is run so often, each time with another order of blocks and threads where that can be chosen. In every second
// run the host does not know the values of the integers that the op is given (kernels/memory/host_values.hpp).
constexpr int runs_of_an_op = 3;
void choose_run(int run);

// A copy of all of the tensor's memory, and the same view of it.
at::Tensor there(const at::Tensor& tensor);

}  // namespace d9d::test
