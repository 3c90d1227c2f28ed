#include "tests/kernels/cuda/under_test.hpp"

#include "kernels/ops/every_op.hpp"
#include "kernels/run_op.hpp"

namespace d9d::test {

std::set<std::string>& compared_ops() {
  static std::set<std::string> of_binary;
  return of_binary;
}

// Products have a test of their own types (matmul_test.cpp); uniform_value gives no tensor.
void CudaOps::TearDownTestSuite() {
  const testing::TestSuite& suite = *testing::UnitTest::GetInstance()->current_test_suite();
  if (suite.test_to_run_count() < suite.total_test_count() || suite.skipped_test_count() > 0) return;
  kernels::for_each_op([]<auto op>() {
    const std::string name = (kernels::op_detail::names.*op).name();
    const bool is_elsewhere = name == "matmul" || name == "uniform_value";
    if ((table_under_test().*op).function() == nullptr || is_elsewhere) return;
    EXPECT_TRUE(compared_ops().contains(name)) << name << " is compared with the CPU's by no test";
  });
}

}  // namespace d9d::test
