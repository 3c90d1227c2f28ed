// A checkpoint of an earlier program goes on (tests/golden/earlier_checkpoint): what is on disk does not know where
// parameters lie in memory.
#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "tests/support/file_text.hpp"
#include "tests/support/tiny_job.hpp"

namespace d9d::test {
namespace {

using testing::ElementsAre;

const std::string golden = D9D_SOURCE_DIR "/tests/golden/earlier_checkpoint/";

// The float32 tensors of a safetensors file, by name.
std::map<std::string, std::vector<float>> tensors_of(const std::filesystem::path& path) {
  const std::string bytes = text_of_file(path);
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof(length));
  std::map<std::string, std::vector<float>> tensors;
  const auto header = nlohmann::json::parse(bytes.substr(8, length));
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__" || entry.at("dtype") != "F32") continue;
    const std::size_t begin = entry.at("data_offsets").at(0), end = entry.at("data_offsets").at(1);
    std::vector<float>& values = tensors[name];
    values.resize((end - begin) / sizeof(float));
    std::memcpy(values.data(), bytes.data() + 8 + length + begin, end - begin);
  }
  return tensors;
}

TEST(ACheckpointOfAnEarlierProgram, GoesOnToTheSameStateOnOneRankAndOnShards) {
  TinyJob job;
  job.folder().write("earlier.yaml", text_of_file(golden + "job.yaml"));
  const Words words = Words{"earlier.yaml"} + set("trainer.schedule.total_steps", "4") +
                      set("optimizer.lr", "1e-30") + set("optimizer.weight_decay", "0");
  const auto expected = tensors_of(golden + "save-4.safetensors");
  ASSERT_EQ(expected.size(), 3 * 15);

  for (const std::string run : {"one", "two"}) {
    std::filesystem::create_directories(job.run_folder(run) / "checkpoints");
    std::filesystem::copy(golden + "save-3", job.run_folder(run) / "checkpoints/save-3");
    ASSERT_THAT(job.call(words + set("trainer.run.name", run) +
                         set("mesh.data_parallel_shard", run == "one" ? "1" : "2")),
                says("resuming from"));
    EXPECT_THAT(job.checkpoints(run), ElementsAre(3, 4));
    EXPECT_THAT(job.losses(run), ElementsAre(testing::DoubleNear(1.9425202906131744, 1e-5)));
  }
  const auto given = tensors_of(job.run_folder("one") / "checkpoints/save-4/rank-00000.safetensors");
  ASSERT_EQ(given.size(), expected.size());
  for (const auto& [name, values] : expected) {
    ASSERT_TRUE(given.contains(name)) << name;
    const std::vector<float>& read = given.at(name);
    ASSERT_EQ(read.size(), values.size()) << name;
    const bool is_parameter = name.find("exp_avg") == std::string::npos;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const float most = is_parameter ? 0.0F : 1e-4F * std::abs(values[i]) + 1e-6F;
      EXPECT_LE(std::abs(read[i] - values[i]), most) << name << " " << i;
    }
  }
}

}  // namespace
}  // namespace d9d::test
