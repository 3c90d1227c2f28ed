#include "runtime/tensor/stage_module.hpp"

#include <gmock/gmock.h>

#include "runtime/base/error.hpp"

namespace d9d::test {
namespace {

class Plain final : public StageModule {
 public:
  TensorMap forward(const TensorMap&, const TensorMap&) override { return {}; }
  std::vector<StageParameter> parameters() override { return {}; }
  void set_training(bool) override {}
};

TEST(StageModule, TakesNoAdaptersUnlessItSaysSo) {
  try {
    Plain().set_parameters({});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input);
    EXPECT_THAT(error.what(), testing::HasSubstr("remove model_provider.peft"));
  }
}

}  // namespace
}  // namespace d9d::test
