#include "actors/cli/use_device.hpp"

#include <gmock/gmock.h>

#include <fstream>

#include "actors/cli/running_commands.hpp"
#include "runtime/base/host/cuda_driver.hpp"
#include "runtime/state/tensor_file/safetensors.hpp"
#include "tests/actors/cli/called.hpp"
#include "tests/runtime/state/scratch.hpp"
#include "tests/support/npy_file.hpp"

namespace d9d {
namespace {

using testing::HasSubstr;

constexpr const char* model_folder = D9D_SOURCE_DIR "/tests/golden/qwen3/dense_tied";

TEST(CliUseDevice, GivesTheTextsOfTheCpuOnADelayedDevice) {
  const std::vector<std::string> words{model_folder,
                                       "--tokenizer",
                                       D9D_SOURCE_DIR "/tests/golden/tokenizer/qwen.json",
                                       "--tokens",
                                       "6",
                                       "--prompt",
                                       "X-Y",
                                       "--prompt",
                                       "A+B(C)D-E+F",
                                       "--temperature",
                                       "0"};
  std::vector<std::string> late = words;
  late.insert(late.end(), {"--device", "delayed"});

  const auto here = test::call(generate_command(), words), there = test::call(generate_command(), late);

  ASSERT_EQ(there.code, 0) << there.err;
  EXPECT_EQ(there.out, here.out);
}

TEST(CliUseDevice, ScoresWithTheBitsOfTheCpuOnADelayedDevice) {
  const test::Scratch scratch;
  std::ofstream(scratch / "ids.npy") << test::npy_file(
      3, 7, [](int row, int column) { return (5 * row + 3 * column) % 60; });
  const auto scores_on = [&](const std::string& device) {
    const std::string out = scratch / (device + ".safetensors");
    EXPECT_THAT(test::call(score_command(), {model_folder, "--tokens", scratch / "ids.npy", "--out", out,
                                             "--logits", "--device", device}),
                test::ends_well());
    const SafetensorsReader reader(PosixDisk(), out);
    return std::pair{reader.read("token_loss"), reader.read("logits")};
  };

  const auto here = scores_on("cpu"), there = scores_on("delayed");

  EXPECT_TRUE(there.first.equal(here.first));
  EXPECT_TRUE(there.second.equal(here.second));
}

TEST(CliUseDevice, RefusesOtherNamesAndAGpuThatIsNotThere) {
  const auto refusal = [](const std::string& device) {
    const auto called =
        test::call(score_command(), {model_folder, "--tokens", "ids.npy", "--out", "x", "--device", device});
    EXPECT_NE(called.code, 0);
    return called.err;
  };
  EXPECT_THAT(refusal("gpu"), HasSubstr("--device is gpu; choose cpu, cuda or delayed"));
  if (find_cuda_driver()) return;
  EXPECT_THAT(refusal("cuda"), HasSubstr("--device cuda, and this host has no NVIDIA driver"));
}

}  // namespace
}  // namespace d9d
