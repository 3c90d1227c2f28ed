// A folder of 8-bit weights with scales of blocks, on meshes whose ranks read parts of those blocks: the losses of one
// rank, which are transformers' (tests/golden/folders/origin.md).
#include <ATen/core/Tensor.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "runtime/state/tensor_file/safetensors.hpp"
#include "tests/support/json_lines.hpp"
#include "tests/support/npy_file.hpp"
#include "tests/support/tiny_job.hpp"

namespace d9d::test {
namespace {

const std::string golden = D9D_SOURCE_DIR "/tests/golden/folders/deepseek_v3_float8";

constexpr const char* job_yaml = R"(inference:
  run: {name: one}
  batching: {global_batch_size: 2, microbatch_size: 1}
  model_stage_factory: {source_checkpoint: model}
model_provider: {name: deepseek_v3, from: model}
data: {source: tokens, tokens: tokens.npy, labels: labels.npy}
node: {threads_per_rank: 1, heartbeat_ms: 10000}
)";

class Float8Meshes : public testing::Test {
 protected:
  Float8Meshes() {
    std::filesystem::copy(golden, job_.folder() / "model");
    job_.folder().write("float8.yaml", job_yaml);
    const SafetensorsReader expect(PosixDisk(), golden + "/expect.safetensors");
    // One more position, which counts nothing and no token sees: tensor parallelism shares an even number.
    const auto write = [&](const char* name, const at::Tensor& values, std::int32_t last) {
      const at::Tensor rows = values.to(at::kLong).contiguous();
      const auto length = static_cast<int>(rows.size(1));
      job_.folder().write(
          name, npy_file(static_cast<int>(rows.size(0)), length + 1, [&](int row, int column) {
            return column == length ? last
                                    : static_cast<std::int32_t>(rows[row][column].item<std::int64_t>());
          }));
    };
    write("tokens.npy", expect.read("input_ids"), 0);
    write("labels.npy", expect.read("labels"), -100);
    const at::Tensor losses = expect.read("token_loss").to(at::kDouble);
    const at::Tensor labels = expect.read("labels");
    for (std::int64_t row = 0; row < losses.size(0); ++row)
      expected_.push_back(losses[row].sum().item<double>() / labels[row].ne(-100).sum().item<double>());
  }
  std::map<int, double> losses(const std::string& run, const Words& words) {
    const Outcome outcome = job_.call(Words{"float8.yaml"} + set("inference.run.name", run) + words);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    std::map<int, double> found;
    if (outcome.code != 0) return found;
    for (const nlohmann::json& line : json_lines_in(job_.run_folder(run) / "results"))
      found[line.at("sample").get<int>()] = line.at("loss").get<double>();
    return found;
  }

  TinyJob job_;
  std::vector<double> expected_;
};

TEST_F(Float8Meshes, ReadTheLossesOfTransformers) {
  const std::map<std::string, Words> meshes{{"one", {}},
                                            {"matrices", matrices_on(2)},
                                            {"stages", mesh(2, 1)},
                                            {"both", mesh(2, 1) + matrices_on(2)},
                                            {"sharded", set("mesh.data_parallel_shard", "2")},
                                            {"experts", mesh(1, 2) + experts_on(2)}};
  for (const auto& [name, words] : meshes) {
    const auto found = losses(name, words);
    ASSERT_EQ(found.size(), expected_.size()) << name;
    for (const auto& [sample, loss] : found)
      EXPECT_NEAR(loss, expected_[static_cast<std::size_t>(sample)], 2e-5 * loss)
          << name << ", sample " << sample;
  }
}

}  // namespace
}  // namespace d9d::test
