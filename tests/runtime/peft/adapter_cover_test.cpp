// What is covered is what peft 0.21 gives factors to (check_target_module_exists of peft/tuners/tuners_utils.py).
#include "runtime/peft/adapter_cover.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/runtime/family/golden_model.hpp"

namespace d9d::test {
namespace {

using Json = nlohmann::ordered_json;
using testing::HasSubstr;
using testing::Not;

const Names base{"model.layers.0.q_proj.weight", "model.layers.0.v_proj.weight",
                 "model.layers.1.q_proj.weight", "model.layers.1.v_proj.weight",
                 "model.layers.1.v_proj.bias"};
const Names changed{"model.layers.0.q_proj.weight"};

std::string missing(const Json& config) {
  return modules_without_factors(config, base, changed, "adapter");
}

TEST(AdapterCover, NamesTheModulesThatTheAdapterLacks) {
  EXPECT_EQ(missing({{"target_modules", {"q_proj"}}}),
            "adapter has no factors of 1 module that its target_modules name, which stay as they are: "
            "model.layers.1.q_proj");
  EXPECT_THAT(
      missing({{"target_modules", R"(.*layers\.1\.._proj)"}}),
      HasSubstr("2 modules that its target_modules name, which stay as they are: model.layers.1.q_proj, "
                "model.layers.1.v_proj"));
}

TEST(AdapterCover, LeavesOutWhatTheAdapterIsNotToHave) {
  EXPECT_EQ(missing({{"target_modules", {"0.q_proj"}}}), "");
  EXPECT_EQ(missing({{"target_modules", "all-linear"}}), "");
  EXPECT_EQ(missing({{"target_modules", {"q_proj"}}, {"layers_to_transform", {0}}}), "");
  EXPECT_EQ(missing({{"target_modules", {"q_proj"}}, {"layers_to_transform", 0}}), "");
  EXPECT_THAT(missing({{"target_modules", {"q_proj"}}, {"layers_to_transform", {1}}}), HasSubstr("1.q_proj"));
  EXPECT_EQ(missing({{"target_modules", {"q_proj"}}, {"exclude_modules", R"(.*\.1\..*)"}}), "");
  EXPECT_EQ(missing({{"target_modules", {"q_proj"}}, {"modules_to_save", {"1.q_proj"}}}), "");
}

TEST(AdapterCover, IsSaidOfAFolderAlone) {
  const PosixDisk disk;
  const std::string golden = golden_folder("peft/dense");
  const ModelFiles files(disk, golden_folder("dense_bias_yarn"));
  const AdapterFolder adapter(disk, golden);
  const MergedFolder merged(files, adapter);

  testing::internal::CaptureStderr();
  say_modules_without_factors(disk, golden, files, merged);

  EXPECT_THAT(testing::internal::GetCapturedStderr(), Not(HasSubstr("no factors")))
      << "it has all that it names";
}

}  // namespace
}  // namespace d9d::test
