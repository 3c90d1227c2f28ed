#include "runtime/state/tensor_file/slice_view.hpp"

#include "tests/runtime/state/expect.hpp"

namespace d9d {
namespace {

TEST(SliceView, ShowsTheBoxWithoutCopyingIt) {
  const at::Tensor matrix = test::counting({4, 5});

  const at::Tensor view = slice_view(matrix, {{1, 2}, {3, 5}});

  EXPECT_TRUE(test::same(view, matrix.narrow(0, 1, 2).narrow(1, 2, 3)));
  EXPECT_EQ(view.storage().data(), matrix.storage().data());
  EXPECT_TRUE(test::same(slice_view(test::counting({}), {}), test::counting({})));
}

}  // namespace
}  // namespace d9d
