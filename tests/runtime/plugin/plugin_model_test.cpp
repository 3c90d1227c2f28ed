#include "runtime/plugin/plugin_model.hpp"

#include <gmock/gmock.h>

#include <stdexcept>

#include "runtime/tensor/stage_module.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using ::testing::HasSubstr;

struct AnyModel final : ModelProvider {
  explicit AnyModel(std::function<std::unique_ptr<StageModule>()> build) : build(std::move(build)) {}
  std::unique_ptr<StageModule> build_stage(StagePosition /*position*/) const override { return build(); }
  std::optional<std::int64_t> vocab_size() const override { return 128; }
  nlohmann::json hparams() const override { throw std::runtime_error("no width"); }
  std::function<std::unique_ptr<StageModule>()> build;
};

std::string error_of_building(const std::function<std::unique_ptr<StageModule>()>& build, ErrorKind kind) {
  const PluginModel model("mine", std::make_shared<AnyModel>(build));
  return test::error_of([&] { model.build_stage({}); }, kind);
}

TEST(PluginModel, NamesTheFunctionThatThrows) {
  EXPECT_THAT(error_of_building([]() -> std::unique_ptr<StageModule> { throw std::runtime_error("no luck"); },
                                ErrorKind::environment),
              HasSubstr("build_stage of the model \"mine\" threw: no luck"));
  EXPECT_THAT(error_of_building([] { return nullptr; }, ErrorKind::input),
              HasSubstr("build_stage of the model \"mine\" made no stage"));
  const PluginModel model("mine", std::make_shared<AnyModel>([] { return nullptr; }));
  EXPECT_THAT(test::error_of([&] { static_cast<void>(model.hparams()); }, ErrorKind::environment),
              HasSubstr("hparams of the model \"mine\" threw: no width"));
  EXPECT_THAT(test::error_of([] { PluginModel("mine", nullptr); }),
              HasSubstr("the factory of the model \"mine\" made none"));
}

TEST(PluginModel, PassesOnWhatTheModelSaysOfItself) {
  const PluginModel model("mine", std::make_shared<AnyModel>([] { return nullptr; }));

  EXPECT_EQ(model.vocab_size(), 128);
  EXPECT_FALSE(model.starts_anew("folder", "weight"));
  EXPECT_EQ(test::error_of([&] { model.load_weights("folder", {}, {}); }, ErrorKind::input),
            test::error_of([&] { AnyModel({}).load_weights("folder", {}, {}); }, ErrorKind::input));
}

}  // namespace
}  // namespace d9d
