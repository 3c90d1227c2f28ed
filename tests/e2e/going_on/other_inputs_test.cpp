// What a start finds changed since its checkpoint was written: weights, data, dtypes, other keys; which checkpoint is
// the best, and that no export goes over what is read.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "runtime/state/tensor_file/safetensors.hpp"
#include "tests/support/curve_test.hpp"
#include "tests/support/inference_job.hpp"
#include "tests/support/npy_file.hpp"

namespace d9d::test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class OtherInputs : public CurveTest {
 protected:
  OtherInputs() {
    job_.rewrite("{source: synthetic, sequence_length: 32, vocab_size: 512}",
                 "{source: tokens, tokens: tokens.npy, epochs: as_needed}");
    job_.folder().write("infer.yaml", inference_yaml("{source: tokens, tokens: tokens.npy}"));
    write_tokens(1);
  }
  void write_tokens(int factor) {
    job_.folder().write("tokens.npy", npy_file(40, 32, [&](int row, int column) {
                          return static_cast<std::int32_t>((row * 97 + factor * column * column * 13) % 512);
                        }));
  }
  void make_model(const std::string& folder, int seed) {
    run(named(folder) + steps(6) + set("export_to", folder) +
        set("trainer.determinism.base_seed", std::to_string(seed)));
  }
  static Words steps(int count) { return set("trainer.schedule.total_steps", std::to_string(count)); }
  Outcome infer(const Words& words = {}) { return job_.call(Words{"infer.yaml"} + words); }
  static std::string shard_in(const fs::path& checkpoint) {
    for (const auto& entry : fs::directory_iterator(checkpoint))
      if (entry.path().extension() == ".safetensors") return entry.path().string();
    return {};
  }
  std::string bytes_of(const std::string& file) const { return text_of_file(job_.folder() / file); }

  const Words half_ = set("inference.schedule.total_steps", "2");
};

TEST_F(OtherInputs, OfAnotherModelDoNotMixResults) {
  make_model("model", 1);
  make_model("other", 2);
  ASSERT_EQ(infer(half_).code, 0);
  const std::string before = bytes_of("runs/inferred/results/00000.jsonl");

  const Outcome other = infer(set("inference.model_stage_factory.source_checkpoint", "other"));
  fs::copy(job_.folder() / "other/model.safetensors", job_.folder() / "model/model.safetensors",
           fs::copy_options::overwrite_existing);
  const Outcome in_place = infer();

  EXPECT_THAT(other, is_refused(AllOf(HasSubstr("runs/inferred/results holds results of another model"),
                                      HasSubstr("weights changed: other/model.safetensors"),
                                      HasSubstr("--fresh"), Not(HasSubstr("results in")))));
  EXPECT_THAT(in_place, is_refused("weights changed: model/model.safetensors"));
  EXPECT_EQ(bytes_of("runs/inferred/results/00000.jsonl"), before) << "a refused start changes nothing";

  ASSERT_THAT(infer({"--fresh"}), ends_well());
  EXPECT_EQ(bytes_of("runs/inferred/old-1.results/00000.jsonl"), before);
}

TEST_F(OtherInputs, OfTheSameModelAtAnotherPlaceGoOn) {
  make_model("model", 1);
  ASSERT_EQ(infer(half_).code, 0);
  fs::rename(job_.folder() / "model", job_.folder() / "moved");

  EXPECT_THAT(infer(set("inference.model_stage_factory.source_checkpoint", "moved") +
                    set("model_provider.from", "moved")),
              ends_well());
}

TEST_F(OtherInputs, OfChangedDataAreSaidAtAResume) {
  run(named("seen") + steps(6));
  write_tokens(2);

  EXPECT_THAT(job_.run(named("seen") + steps(8)),
              says(AllOf(HasSubstr("data changed since runs/seen/checkpoints/save-6 was written: tokens.npy "
                                   "has other bytes than then"),
                         HasSubstr("Sample 48, the next one"))));
}

TEST_F(OtherInputs, OfChangedFrozenWeightsAreRefused) {
  make_model("model", 1);
  make_model("other", 2);
  const Words adapter =
      named("tuned") +
      set("trainer.model_stage_factory",
          "{source_checkpoint: model, checkpoint_only_trainable_parameters: true}") +
      set("model_provider.peft",
          "{kind: lora, module_name_pattern: \".*_proj\", params: {r: 2, alpha: 2, dropout: 0}}");
  run(adapter + steps(6));
  fs::copy(job_.folder() / "other/model.safetensors", job_.folder() / "model/model.safetensors",
           fs::copy_options::overwrite_existing);

  EXPECT_THAT(job_.run(adapter + steps(8)),
              is_refused("the frozen weights changed since runs/tuned/checkpoints/save-6 was written: "
                         "model/model.safetensors has other bytes"));
  EXPECT_THAT(job_.call({"export", "runs/tuned", "model-2"}),
              is_refused("the frozen weights changed since runs/tuned/checkpoints/save-6 was written"));
}

TEST_F(OtherInputs, OfAnotherOptimizerAreRefusedWithTheWayThatThereIs) {
  run(named("adam") + steps(6));

  EXPECT_THAT(
      job_.run(named("adam") + steps(8) + set("optimizer", "{name: sgd, lr: 0.1}")),
      is_refused(AllOf(HasSubstr("written with another model or optimizer"),
                       HasSubstr("d9d-node export runs/adam/checkpoints/save-6 FOLDER"),
                       HasSubstr("trainer.model_stage_factory.source_checkpoint: FOLDER"),
                       HasSubstr("The checkpoint was written with other keys: "), HasSubstr("optimizer."),
                       Not(HasSubstr("going on with it")), Not(HasSubstr("results in")))));
  // That way.
  ASSERT_EQ(job_.call({"export", "runs/adam/checkpoints/save-6", "weights"}).code, 0);
  EXPECT_EQ(job_.run(named("sgd") + steps(6) + set("optimizer", "{name: sgd, lr: 0.1}") +
                     set("trainer.model_stage_factory.source_checkpoint", "weights"))
                .code,
            0);
}

// A step that changes nothing: what the float32 model begins with are the master weights, bit for bit.
TEST_F(OtherInputs, OfANarrowModelGoOnFromItsMasterWeights) {
  run(named("narrow") + steps(6) + set("model_provider.dtype", "bfloat16"));

  ASSERT_THAT(job_.run(named("narrow") + steps(7) + set("model_provider.dtype", "float32") +
                       set("optimizer", "{name: adamw, lr: 1.0e-30, weight_decay: 0}")),
              says("was written by a bfloat16 model and this one is float32: its weights are converted, "
                   "from its master weights without loss"));
  const auto checkpoints = job_.run_folder("narrow") / "checkpoints";
  const PosixDisk disk;
  const SafetensorsReader then(disk, shard_in(checkpoints / "save-6")),
      now(disk, shard_in(checkpoints / "save-7"));
  int compared = 0;
  for (const std::string& name : then.names()) {
    const std::string kind = "master_weight/";
    if (!name.starts_with(kind)) continue;
    EXPECT_TRUE(then.read(name).equal(now.read("param/" + name.substr(kind.size())))) << name;
    ++compared;
  }
  EXPECT_GT(compared, 10);
}

TEST_F(OtherInputs, OfAnotherDtypeGoOnEitherWay) {
  run(named("there") + steps(6));
  const Outcome narrow = job_.run(named("there") + steps(10) + set("model_provider.dtype", "bfloat16"));
  ASSERT_EQ(narrow.code, 0) << narrow.err;

  ASSERT_THAT(job_.run(named("there") + steps(14)), ends_well());
  EXPECT_THAT(narrow.err, HasSubstr("was written by a float32 model and this one is bfloat16"));
  const auto losses = job_.losses("there");
  ASSERT_EQ(losses.size(), 14U);
  for (std::size_t i = 1; i < losses.size(); ++i) EXPECT_LT(losses[i], losses[0] + 0.5) << i;
}

TEST_F(OtherInputs, SayWhichCheckpointIsTheBestAndExportIt) {
  // As in evaluation_test: the learning rate becomes far too high.
  const Words words =
      named("best") + set("trainer.checkpointing", "{period_steps: 4, num_to_keep: 2}") +
      set("evaluation", "{data: {source: tokens, tokens: tokens.npy}, period_steps: 4, keep_best: true}") +
      set("export_to", "chosen") + set("export", "best") +
      set("lr_scheduler.scheduler",
          "{initial_multiplier: 1.0, phases: [{mode: steps, steps: 8, target_multiplier: 1.0, curve: "
          "{type: linear}}, {mode: rest, target_multiplier: 300.0, curve: {type: linear}}]}");
  const Outcome outcome = job_.run(words);
  ASSERT_EQ(outcome.code, 0) << outcome.err;

  const auto losses = job_.values("best", "evaluation/loss");
  ASSERT_EQ(losses.size(), 5U);
  const auto lowest = std::min_element(losses.begin(), losses.end()) - losses.begin();
  ASSERT_LT(lowest, 3) << "one of the newest is the best, so nothing is shown";
  const std::string best = "save-" + std::to_string(4 * (lowest + 1));
  EXPECT_THAT(job_.checkpoints("best"), ElementsAre(4 * (lowest + 1), 16, 20));
  EXPECT_THAT(outcome.err,
              AllOf(HasSubstr(best + " is the best checkpoint"),
                    HasSubstr("exported the model of runs/best/checkpoints/" + best + " to chosen")));
  EXPECT_EQ(fs::read_symlink(job_.run_folder("best") / "checkpoints/best"), best);
  const Outcome listed = job_.call({"checkpoint", "list", "runs/best"});
  EXPECT_THAT(listed.out, testing::ContainsRegex(best + ".*complete, the best"));
  ASSERT_EQ(job_.call({"export", "--best", "runs/best", "by_command"}).code, 0);
  EXPECT_EQ(bytes_of("chosen/model.safetensors"), bytes_of("by_command/model.safetensors"));
  ASSERT_EQ(job_.call({"export", "runs/best", "newest"}).code, 0);
  EXPECT_NE(bytes_of("chosen/model.safetensors"), bytes_of("newest/model.safetensors"));
}

TEST_F(OtherInputs, KeepTwoCheckpointsWhereTheBestIsOneOfThem) {
  run(named("falling") + set("trainer.checkpointing", "{period_steps: 4, num_to_keep: 2}") +
      set("evaluation", "{data: {source: tokens, tokens: tokens.npy}, period_steps: 4, keep_best: true}"));

  const auto losses = job_.values("falling", "evaluation/loss");
  ASSERT_EQ(std::min_element(losses.begin(), losses.end()) - losses.begin(), 4);
  EXPECT_THAT(job_.checkpoints("falling"), ElementsAre(16, 20));
}

TEST_F(OtherInputs, AreNeverExportedOver) {
  make_model("model", 1);
  const std::string before = bytes_of("model/model.safetensors");
  fs::create_directory_symlink("model", job_.folder() / "link");

  for (const char* target : {"model", "./link/", "runs/../model/new", "."}) {
    expect_refused(named("over") + set("trainer.model_stage_factory.source_checkpoint", "model") +
                       set("export_to", target),
                   "which trainer.model_stage_factory.source_checkpoint reads");
  }
  for (const char* target : {"model", "link/inside"}) {
    const Outcome converted = job_.call({"convert", "--from", "model", "--to", target, "--replace"});
    EXPECT_EQ(converted.code, 2) << target;
  }
  const Outcome exported = job_.call({"export", "runs/model/checkpoints", "runs/model/checkpoints/save-6"});
  EXPECT_EQ(exported.code, 2);
  EXPECT_EQ(bytes_of("model/model.safetensors"), before);
}

TEST_F(OtherInputs, OfADamagedCheckpointAreNotCalledResults) {
  run(named("hurt") + steps(6));
  std::ofstream(job_.run_folder("hurt") / "checkpoints/save-6/manifest.json") << "{}";

  EXPECT_THAT(job_.run(named("hurt") + steps(8)),
              fails(AllOf(HasSubstr("none can be used"), Not(HasSubstr("last checkpoint")))));
}

}  // namespace
}  // namespace d9d::test
