#include "runtime/tensor/stage_module.hpp"

#include <gmock/gmock.h>

#include "runtime/base/error.hpp"
#include "tests/support/error_of.hpp"

namespace d9d::test {
namespace {

class Plain final : public StageModule {
 public:
  TensorMap forward(const TensorMap&, const TensorMap&) override { return {}; }
  std::vector<StageParameter> parameters() override { return {}; }
  void set_training(bool) override {}
};

TEST(StageModule, TakesNoAdaptersUnlessItSaysSo) {
  EXPECT_THAT(error_of([&] { Plain().set_parameters({}); }, ErrorKind::input),
              testing::HasSubstr("remove model_provider.peft"));
}

}  // namespace
}  // namespace d9d::test
