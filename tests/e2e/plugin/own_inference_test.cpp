// The inference task, the gradient hook and the mapper of examples/own_project, with a built-in model.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/support/curve_test.hpp"
#include "tests/support/json_lines.hpp"

namespace d9d::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

constexpr const char* library = D9D_BINARY_DIR "/tests/e2e/libd9d_own_plugin.so";
Words with_plugin() {
  return set("plugins", std::string("[") + library + "]");
}

class OwnInference : public CurveTest {
 protected:
  void make_model() {
    run(named("source") + set("trainer.schedule.total_steps", "4") + set("export_to", "model"));
  }
  // Each line of the results without its sample, by sample.
  std::map<int, std::string> lines_of(const std::string& run) const {
    std::map<int, std::string> lines;
    for (const nlohmann::json& line : json_lines_in(job_.run_folder(run) / "results")) {
      EXPECT_GT(line.at("surprise").get<double>(), 0);
      const int sample = line.at("sample");
      EXPECT_TRUE(lines.emplace(sample, line.at("position").dump()).second) << sample << " twice";
    }
    return lines;
  }
};

TEST_F(OwnInference, GivesARowForEachSampleOnAnyMesh) {
  make_model();
  job_.folder().write("infer.yaml", R"(inference:
  run: {name: inferred}
  batching: {global_batch_size: 4, microbatch_size: 2}
  schedule: {total_steps: 3}
  model_stage_factory: {source_checkpoint: model}
model_provider: {name: qwen3_moe, from: model}
data: {source: synthetic, sequence_length: 32, vocab_size: 512}
task: {name: surprise}
node: {threads_per_rank: 1, heartbeat_ms: 10000}
)");
  const auto infer = [&](const std::string& name, const Words& mesh) {
    EXPECT_THAT(job_.call(Words{"infer.yaml"} + set("inference.run.name", name) + with_plugin() + mesh),
                ends_well());
  };

  infer("alone", mesh(1, 1));
  infer("stages", mesh(2, 1));

  EXPECT_THAT(lines_of("alone"), SizeIs(12));
  EXPECT_EQ(lines_of("stages"), lines_of("alone"));
}

TEST_F(OwnInference, AHookKeepsAWeightAsItIsForTheFirstSteps) {
  const Words hook = with_plugin() + set("gradient_hooks", "[{name: thaw, names: '', after: 2}]") +
                     set("optimizer.weight_decay", "0");
  run(named("plain") + with_plugin());
  run(named("thawed") + hook);

  const auto plain = job_.values("plain", "grad_norm"), thawed = job_.values("thawed", "grad_norm");
  EXPECT_EQ(thawed[0], 0) << "of no gradient";
  EXPECT_EQ(thawed[1], 0);
  EXPECT_GT(thawed[2], 0);
  EXPECT_GT(plain[0], 0);
}

TEST_F(OwnInference, AMapperConvertsAFolderByItsName) {
  make_model();

  ASSERT_THAT(
      job_.call({"convert", "--from", "model", "--to", "bare", "--mapper", "backbone", "--plugin", library}),
      ends_well());
  std::string names;
  for (const auto& entry : std::filesystem::directory_iterator(job_.folder() / "bare")) {
    if (entry.path().extension() != ".safetensors") continue;
    std::ifstream file(entry.path(), std::ios::binary);
    std::uint64_t size = 0;
    file.read(reinterpret_cast<char*>(&size), sizeof size);
    std::string header(size, ' ');
    file.read(header.data(), static_cast<std::streamsize>(size));
    names += header;
  }
  EXPECT_THAT(names, AllOf(HasSubstr("\"embed_tokens.weight\""), HasSubstr("\"lm_head.weight\""),
                           Not(HasSubstr("\"model.embed_tokens.weight\""))));
}

}  // namespace
}  // namespace d9d::test
