// Products of two types are as exact as before, and no longer slow without a word.
#include "kernels/cuda/factors.hpp"

#include <ATen/ops/full.h>
#include <c10/util/Exception.h>
#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace d9d::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class KeptWarnings final : public c10::WarningHandler {
 public:
  void process(const c10::Warning& warning) override { texts.push_back(warning.msg()); }
  std::vector<std::string> texts;
};

TEST(Factors, OfTwoTypesBecomeFloat32WithOneWarning) {
  const at::Tensor half = at::full({3, 5}, 1.5, at::kBFloat16), full = at::full({5, 2}, 0.1, at::kFloat);
  KeptWarnings warnings;
  const c10::WarningUtils::WarningHandlerGuard guard(&warnings);

  const cuda::Factors same = cuda::of_one_type(half, half);
  EXPECT_TRUE(warnings.texts.empty());
  const cuda::Factors mixed = cuda::of_one_type(half, full);
  cuda::of_one_type(full.t(), half.t());

  EXPECT_TRUE(same.a.is_same(half) && same.b.is_same(half));
  EXPECT_TRUE(mixed.a.equal(half.to(at::kFloat)) && mixed.b.is_same(full));
  EXPECT_THAT(warnings.texts,
              ElementsAre(AllOf(HasSubstr("product of BFloat16 [3, 5] and Float [5, 2] on cpu"),
                                HasSubstr("Give both the same dtype"))));
}

}  // namespace
}  // namespace d9d::test
