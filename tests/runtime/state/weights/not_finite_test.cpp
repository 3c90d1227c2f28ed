#include "runtime/state/weights/not_finite.hpp"

#include <ATen/ops/full.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "runtime/tensor/torch_dtype.hpp"
#include "tests/runtime/state/model/model_support.hpp"

namespace d9d {
namespace {

using test::blank_like;
using test::counting;
using test::Scratch;
using test::write_folder;
using testing::HasSubstr;

bool found_in(const at::Tensor& values) {
  return has_not_finite(values.const_data_ptr(), values.nbytes(), dtype_of(values.scalar_type()));
}

TEST(NotFinite, IsFoundInEveryTypeAndPlace) {
  for (const auto type : {at::kDouble, at::kFloat, at::kHalf, at::kBFloat16}) {
    for (const double value : {double(NAN), -double(NAN), double(INFINITY), -double(INFINITY)}) {
      for (std::int64_t size = 1; size < 40; ++size) {
        at::Tensor values = at::full({size}, -3.25, at::TensorOptions(type));
        EXPECT_FALSE(found_in(values)) << type << " " << size;
        values[size - 1] = value;
        EXPECT_TRUE(found_in(values)) << type << " " << size;
        values[size - 1] = 1;
        values[size / 2] = value;
        EXPECT_TRUE(found_in(values)) << type << " " << size;
      }
    }
  }
}

TEST(NotFinite, IsNoValueThatATypeCanHold) {
  const at::Tensor floats = at::full({9}, std::numeric_limits<float>::max());
  const at::Tensor halves = at::full({9}, -65504.0, at::TensorOptions(at::kHalf));
  const at::Tensor small = at::full({9}, std::numeric_limits<float>::denorm_min());

  EXPECT_FALSE(found_in(floats));
  EXPECT_FALSE(found_in(halves));
  EXPECT_FALSE(found_in(small));
  EXPECT_FALSE(found_in(at::full({9}, -1, at::TensorOptions(at::kInt))));
}

TEST(NotFinite, InAFolderIsReportedByTensorAndFile) {
  const Scratch scratch;
  test::QuickDisk disk;
  TensorMap state{{"a", counting({4, 3})}, {"b", counting({5}, at::kBFloat16)}, {"c", counting({2})}};
  state.at("b")[3] = NAN;
  write_folder(disk, scratch.path(), state, 48);

  const LoadReport report =
      load_model_state(disk, scratch.path(), identities({"a", "b", "c"}), blank_like(state));

  EXPECT_EQ(report.not_finite, Names{"b"});
  EXPECT_THAT(not_finite_text(disk, scratch.path(), report.not_finite),
              testing::AllOf(HasSubstr("model-0000"), HasSubstr("\"b\" holds NaN or infinite values")));
}

}  // namespace
}  // namespace d9d
