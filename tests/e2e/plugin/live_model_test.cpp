// A task reads whole parameters of the model that trains, and saves it, on any mesh (STATE-20, STATE-47).
#include <ATen/TensorOperators.h>
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "runtime/state/checkpoint/checkpoint_reader.hpp"
#include "runtime/state/disk/disk.hpp"
#include "tests/support/tiny_job.hpp"

namespace d9d::test {
namespace {

using testing::HasSubstr;

class LiveModels : public testing::Test {
 protected:
  Words saving(const std::string& run, const std::string& task = "saving") const {
    return named(run) + set("plugins", "[" D9D_BINARY_DIR "/tests/e2e/libd9d_groups_plugin.so]") +
           set("task", "{name: " + task + "}") + set("trainer.schedule.total_steps", "2") +
           set("export_to", "exported");
  }
  std::filesystem::path in(const std::string& name) const { return job_.folder().path() / name; }
  // The export is made of the checkpoint of the same step, by the library alone.
  void expect_what_the_export_has(const std::string& run, int ranks) {
    SCOPED_TRACE(run);
    for (const char* file : {"model.safetensors", "config.json"}) {
      ASSERT_TRUE(std::filesystem::exists(in("live") / file)) << file;
      EXPECT_EQ(text_of_file(in("live") / file), text_of_file(in("exported") / file)) << file;
    }
    EXPECT_FALSE(std::filesystem::exists(in("live.weights")));
    const PosixDisk disk;
    const auto reader = CheckpointReader::open(disk, (job_.run_folder(run) / "checkpoints/save-2").string());
    std::set<std::string> seen;
    for (int rank = 0; rank < ranks; ++rank) {
      const auto sums = nlohmann::json::parse(text_of_file(in("live") / fmt::format("sums-{}.json", rank)));
      for (const auto& [name, sum] : sums.items()) {
        seen.insert(name);
        const at::Tensor whole = reader->read("param", name).to(at::kDouble);
        EXPECT_NEAR(sum.get<double>(), whole.sum().item<double>(), 1e-9 * whole.abs().sum().item<double>())
            << name;
      }
    }
    EXPECT_EQ(seen.size(), reader->specs("param").size());
    for (const char* folder : {"live", "exported"}) std::filesystem::remove_all(in(folder));
  }
  void expect_on(const std::string& run, const Words& words, int ranks) {
    const Outcome outcome = job_.run(saving(run) + words);
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    expect_what_the_export_has(run, ranks);
    EXPECT_THAT(outcome.err,
                HasSubstr("the pipeline stages of this rank have no parameter \"model.nothing\""));
  }

  TinyJob job_;
};

TEST_F(LiveModels, AreWhatAnExportOfTheSameStepIs) {
  expect_on("alone", {}, 1);
  expect_on("stages", mesh(2, 2) + set("trainer.pipelining.schedule", "{schedule: 1f1b}"), 4);
  expect_on("shards", set("mesh.data_parallel_shard", "2"), 2);
  expect_on("zero_1", mesh(1, 2) + set("parallelism.zero1", "true"), 2);
  expect_on("matrices", matrices_on(2) + mesh(1, 2), 4);
  expect_on("experts", mesh(1, 2) + experts_on(2), 2);
  expect_on("halves", set("model_provider.dtype", "bfloat16") + set("mesh.data_parallel_shard", "2"), 2);
  expect_on(
      "adapters",
      set("model_provider.peft", "{kind: lora, module_name_pattern: '.*q_proj', params: {r: 2, alpha: 4}}"),
      1);
  const auto [first, second] = job_.start_two(2, saving("two_nodes") + set("mesh.data_parallel_shard", "2"));
  ASSERT_EQ(first->wait(), 0) << first->err();
  ASSERT_EQ(second->wait(), 0) << second->err();
  expect_what_the_export_has("two_nodes", 2);
}

// One of the ranks alone writes there, and all of them say why it could not.
TEST_F(LiveModels, ThatCannotBeSavedAreAnErrorOfAllRanks) {
  EXPECT_THAT(job_.run(saving("nowhere", "saving_nowhere") + set("mesh.data_parallel_shard", "2")),
              fails("job.yaml/live.weights.tmp"));
}

}  // namespace
}  // namespace d9d::test
