// A head that is tied to the embedding, over several pipeline stages: the results are those of one rank.
#include <gmock/gmock.h>

#include "tests/support/curve_test.hpp"

namespace d9d::test {
namespace {

using testing::HasSubstr;
using testing::Not;

class Tied : public CurveTest {
 protected:
  Tied() {
    job_.rewrite("num_hidden_layers: 2", "num_hidden_layers: 4\n    tie_word_embeddings: true");
    job_.rewrite("microbatch_size: 2", "microbatch_size: 1");
    job_.rewrite("lr: 0.003", "lr: 0.01");  // four layers learn more slowly than two
  }
  void SetUp() override { run(named("alone")); }

  static Words shards(int ranks) { return set("mesh.data_parallel_shard", std::to_string(ranks)); }

  std::string bytes_of(const std::string& file) const { return text_of_file(job_.folder() / file); }
};

TEST_F(Tied, TrainsToTheSameCurveUnderEverySchedule) {
  expect_same("gpipe", mesh(2, 1) + schedule("gpipe"));
  expect_same("looped_bfs", mesh(2, 1) + schedule("looped_bfs, num_stages_per_rank: 2"));
  expect_same("one_f_one_b", mesh(4, 1) + schedule("1f1b"));
  expect_same("interleaved", mesh(2, 1) + schedule("1f1b, num_stages_per_rank: 2"));
  expect_same("zero_bubble", mesh(2, 1) + schedule("1f1b, zero_bubble: true"));
  expect_same("zero_bubble_v", mesh(2, 1) + schedule("zero_bubble_v"));
  expect_same("dual_pipe_v", mesh(2, 1) + schedule("dual_pipe_v"));
  expect_same("all_stages_on_a_rank", schedule("1f1b, num_stages_per_rank: 4"));
  expect_same("auto", mesh(2, 1) + schedule("auto, num_stages_per_rank: 2, topology: v"));
  expect_same("any_order", mesh(2, 2) + schedule("1f1b") + set("trainer.pipelining.order", "dynamic"));
}

TEST_F(Tied, TrainsToTheSameCurveBesideEachOtherStrategy) {
  expect_same("replicas", mesh(2, 2) + schedule("1f1b"));
  expect_same("zero1", mesh(2, 2) + schedule("1f1b") + set("parallelism.zero1", "true"));
  expect_same("shards", mesh(2, 1) + shards(2) + schedule("zero_bubble_v"));
  expect_same("each", mesh(2, 1) + shards(2) + schedule("1f1b") +
                          set("parallelism.fully_shard.reduce", "microbatch"));
  expect_same("matrices", mesh(2, 1) + matrices_on(2) + schedule("1f1b, zero_bubble: true"));
  expect_same("experts", mesh(2, 2) + experts_on(2) + schedule("dual_pipe_v"));
  expect_same("checked", mesh(4, 1) + set("debug.check_collectives", "true"));
}

TEST_F(Tied, TrainsToTheSameCurveInTwoProcesses) {
  expect_same_in_two_processes("stages", 2, mesh(2, 1) + schedule("1f1b"));
  expect_same_in_two_processes("shards", 4, mesh(2, 1) + shards(2) + schedule("1f1b"));
  expect_same_in_two_processes("both_ends_on_a_rank", 2, mesh(2, 1) + schedule("dual_pipe_v"));
}

// The copy of the last stage is not in the checkpoint: it is the first one's.
TEST_F(Tied, GoesOnFromItsOwnCheckpointToTheBit) {
  const Words split = mesh(2, 2) + schedule("1f1b, zero_bubble: true");
  const Words half = set("model_provider.dtype", "bfloat16");
  const std::vector<std::pair<std::string, Words>> jobs{
      {"stages", split},
      {"both_ends", mesh(2, 1) + shards(2) + schedule("zero_bubble_v")},
      {"masters", split + half},
      {"rounded",
       split + half + set("optimizer", "{name: stochastic_adamw, lr: 0.003, state_dtype: bfloat16}")},
      {"muon", split + set("optimizer", "{name: muon, lr: 0.01, adamw_for: [\"model.layers.*\"]}")}};
  for (const auto& [name, words] : jobs) {
    SCOPED_TRACE(name);
    run(named(name + "_through") + words);

    run_in_halves(name + "_halves", words, words);

    EXPECT_EQ(job_.exact_curve(name + "_halves"), job_.exact_curve(name + "_through"));
  }
}

TEST_F(Tied, GoesOnFromTheCheckpointOfAnotherMesh) {
  expect_same_in_halves("apart_then_together", mesh(2, 2) + schedule("1f1b"), {});
  expect_same_in_halves("together_then_apart", {}, mesh(4, 1) + shards(2));
  expect_same_in_halves("ends_meet", mesh(2, 1) + schedule("1f1b"), mesh(2, 1) + schedule("dual_pipe_v"));
}

TEST_F(Tied, StoresAndExportsTheTableOnce) {
  run(named("stages") + mesh(2, 2) + schedule("1f1b") + set("export_to", "of_stages"));
  const Outcome exported = job_.call({"export", "runs/alone/checkpoints", "of_one"});
  const std::string checkpoint = bytes_of("runs/stages/checkpoints/save-20/manifest.json");

  ASSERT_EQ(exported.code, 0) << exported.err;
  EXPECT_THAT(checkpoint, HasSubstr("model.embed_tokens.weight"));
  EXPECT_THAT(checkpoint, Not(HasSubstr("lm_head")));
  EXPECT_THAT(bytes_of("of_stages/config.json"), HasSubstr("\"tie_word_embeddings\": true"));
  EXPECT_EQ(bytes_of("of_stages/config.json"), bytes_of("of_one/config.json"));
  const std::string file = bytes_of("of_stages/model.safetensors");
  EXPECT_EQ(file.find("lm_head"), std::string::npos);
  EXPECT_EQ(file.size(), bytes_of("of_one/model.safetensors").size());
  EXPECT_EQ(file.substr(0, 200), bytes_of("of_one/model.safetensors").substr(0, 200));

  // Both stages begin with the table of the folder, which has no head.
  const Words from = set("trainer.model_stage_factory", "{source_checkpoint: of_stages}");
  run(named("from_alone") + from);
  run(named("from_stages") + from + mesh(2, 1) + schedule("1f1b"));
  run(named("from_ends") + from + mesh(2, 1) + schedule("zero_bubble_v"));
  EXPECT_LT(job_.losses("from_alone").front(), job_.losses("alone").front() - 0.5);
  for (const char* name : {"from_stages", "from_ends"}) expect_same_curve(name, "from_alone", 0);
}

TEST_F(Tied, TrainsToTheSameCurveWithPartsThatAreFrozenAndWithAdapters) {
  const Words adapters = set(
      "model_provider.peft",
      "{kind: stack, methods: [{kind: lora, module_name_pattern: \".*_proj\", params: {r: 8, alpha: 16}}, "
      "{kind: full_tune, module_name_pattern: model.embed_tokens}]}");
  const auto expect_same_in_pipelines = [&](const std::string& name, const Words& words) {
    SCOPED_TRACE(name);
    run(named(name) + words);
    for (const std::string form : {"1f1b", "dual_pipe_v"}) {
      run(named(name + form) + words + mesh(2, 2) + schedule(form));
      expect_same_curve(name + form, name, 0.1);
    }
  };

  expect_same_in_pipelines("adapters", adapters);
  job_.rewrite(
      "    vocab_size: 512\n",
      "    split_vocab_size: {regular: 480, special: 32}\n    split_vocab_order: [regular, special]\n");
  expect_same_in_pipelines(
      "parts", set("model_provider.peft", "{kind: freeze, module_name_pattern: model.embed_tokens.special}"));
}

}  // namespace
}  // namespace d9d::test
