#include <gmock/gmock.h>

#include "runtime/base/config/decode.hpp"
#include "runtime/base/rng.hpp"
#include "runtime/job/job_paths.hpp"
#include "tests/runtime/job/job_text.hpp"

namespace d9d {
namespace {

using testing::HasSubstr;
using testing_job::changed;
using testing_job::error_of;
using testing_job::load;

TEST(JobConfig, ReadsAJob) {
  const LoadedJob loaded = load();

  EXPECT_EQ(loaded.job.mesh.world_size(), 4);
  EXPECT_EQ(loaded.job.trainer.run.name, "tiny");
  EXPECT_EQ(microbatches_per_step(loaded.job), 2);
  EXPECT_EQ(stages_per_rank(loaded.job.trainer.pipelining.schedule), 1);
  EXPECT_EQ(loaded.model->experts_per_layer(), 8);
  EXPECT_TRUE(loaded.warnings.empty());
}

TEST(JobConfig, HasTheDefaultsOfTheReference) {
  const LoadedJob loaded = load({}, changed("  pipelining:\n    schedule: 1f1b\n", ""));
  const JobConfig& job = loaded.job;

  EXPECT_EQ(job.mesh.tensor_parallel, 1);
  EXPECT_EQ(job.mesh.expert_parallel, 1);
  EXPECT_FALSE(job.trainer.run.description);
  EXPECT_EQ(job.trainer.run.hparams.dump(), "{}");
  EXPECT_EQ(job.trainer.data_prefetch.prefetch_factor, 1);
  EXPECT_TRUE(std::holds_alternative<GpipeSchedule>(job.trainer.pipelining.schedule));
  EXPECT_FALSE(job.trainer.model_stage_factory.source_checkpoint);
  EXPECT_FALSE(job.trainer.model_stage_factory.checkpoint_only_trainable_parameters);
  EXPECT_FALSE(job.trainer.checkpointing.num_to_keep);
  EXPECT_FALSE(job.trainer.profiling);
  EXPECT_FALSE(job.trainer.gradient_manager.grad_dtype);
  EXPECT_EQ(job.trainer.gradient_manager.bucket_size_mb, 32);
  EXPECT_EQ(job.trainer.timeout.init_timeout, 10000);
  EXPECT_EQ(job.trainer.timeout.step_timeout, 100);
  const auto& adamw = std::get<AdamWOptions>(job.optimizer);
  EXPECT_EQ(adamw.betas[0], 0.9);
  EXPECT_EQ(adamw.betas[1], 0.999);
  EXPECT_EQ(adamw.eps, 1e-8);
  EXPECT_EQ(adamw.weight_decay, 0.01);
  EXPECT_FALSE(adamw.amsgrad);
  EXPECT_EQ(build_lr(job)->multiplier(7), 1.0);
}

TEST(JobConfig, HasTheDefaultsOfTheReferenceForOtherChoices) {
  EXPECT_EQ(AdamOptions{}.weight_decay, 0.01);
  EXPECT_FALSE(AdamOptions{}.decoupled_weight_decay);
  EXPECT_EQ(SgdOptions{}.weight_decay, 0);
  EXPECT_EQ(SgdOptions{}.momentum, 0);
  EXPECT_FALSE(SgdOptions{}.nesterov);
  EXPECT_EQ(StochasticAdamWOptions{}.weight_decay, 0.01);
  EXPECT_EQ(AimTracker{}.system_tracking_interval, 10);
  EXPECT_EQ(WandbTracker{}.mode, WandbMode::online);
}

// The trainer section of the original's pretraining example (reference 4.1), 0.16 keys included.
TEST(JobConfig, AcceptsTheOriginalsTrainerSection) {
  const LoadedJob loaded = load({
      "trainer.run={name: qwen3-moe-pretrain, description: first, hparams: {note: 1}}",
      "trainer.data_loading={num_workers: 4, pin_memory: true, persistent_workers: false}",
      "trainer.logging={period_steps: 5, tracker: {provider: null}}",
      "trainer.pipelining={schedule: {schedule: 1f1b, num_stages_per_rank: 1, zero_bubble: false}}",
      "trainer.model_stage_factory={source_checkpoint: null, checkpoint_only_trainable_parameters: false}",
      "trainer.determinism={base_seed: 1337}",
      "trainer.gc={period_steps: 10}",
      "trainer.checkpointing={save_dir: ck, period_steps: 1000, num_to_keep: 3}",
      "trainer.gradient_clipping={max_norm: 5.0, log_total_steps: 5}",
      "trainer.profiling={enabled: false, traces_dir: t, period_steps: 10, warmup_steps: 5, active_steps: 1}",
      "trainer.gradient_manager={grad_dtype: float32, bucket_size_mb: 32}",
      "trainer.timeout={init_timeout: 10000, step_timeout: 100}",
  });

  const TrainerConfig& trainer = loaded.job.trainer;
  EXPECT_EQ(trainer.logging.period_steps, config::Period::every(5));
  EXPECT_EQ(trainer.determinism.base_seed, 1337);
  EXPECT_EQ(trainer.checkpointing.num_to_keep, 3);
  EXPECT_EQ(trainer.gradient_clipping.max_norm, 5.0);
  EXPECT_EQ(checkpoint_dir(loaded.job), "ck/qwen3-moe-pretrain");
  EXPECT_EQ(trainer.data_loading.num_workers, 4);
  EXPECT_EQ(loaded.warnings.size(), 5u);
  EXPECT_THAT(loaded.warnings,
              testing::Contains(HasSubstr("trainer.gradient_clipping.log_total_steps: has no effect: ")));
}

TEST(JobConfig, PutsFilesUnderTheOutputFolder) {
  const JobConfig job = load().job;

  EXPECT_EQ(output_dir(job), "runs/tiny");
  EXPECT_EQ(metrics_file(job), "runs/tiny/metrics.jsonl");
  EXPECT_EQ(checkpoint_dir(job), "runs/tiny/checkpoints");
  EXPECT_EQ(traces_dir(job), "runs/tiny/traces");
  EXPECT_EQ(tensorboard_dir(job, {}), "runs/tiny/tensorboard");
  EXPECT_EQ(output_dir(load({"output_dir=out"}).job), "out");
}

TEST(JobConfig, WritesBackWhatItRead) {
  const JobConfig job =
      load({"lr_scheduler={name: piecewise, scheduler: {initial_multiplier: 1, phases: [{mode: rest, "
            "target_multiplier: 0, curve: cosine}]}}"})
          .job;

  const config::Json keys = resolved_keys(job);

  EXPECT_EQ(keys, resolved_keys(load({}, keys.dump()).job));
}

TEST(JobConfig, HidesTheToken) {
  const config::Json keys = resolved_keys(load({"node.job_token=hush"}).job);

  EXPECT_EQ(keys["node"]["job_token"], "(hidden)");
}

TEST(JobConfig, HasAFingerprintOfAllButTheNode) {
  const std::uint64_t base = job_fingerprint(load().job);

  EXPECT_EQ(job_fingerprint(load({"node.ranks=2", "node.threads_per_rank=1"}).job), base);
  EXPECT_NE(job_fingerprint(load({"optimizer.lr=1e-3"}).job), base);
}

TEST(JobConfig, NamesWhereAKeyIsWrong) {
  EXPECT_THAT(error_of({}, changed("microbatch_size", "microbach_size")),
              HasSubstr("job.yaml:6:36: trainer.batching.microbach_size: unknown key; did you mean"));
  EXPECT_THAT(error_of({}, changed("  run: {name: tiny}\n", "")),
              HasSubstr("job.yaml:5:3: trainer.run: missing; add `run: ...` under `trainer`"));
  EXPECT_THAT(error_of({}, changed("lr: 3.0e-4", "lr: fast")),
              HasSubstr("job.yaml:24:30: optimizer.lr: expected a number"));
  EXPECT_THAT(
      error_of({"trainer.pipelining.schedule=gpip"}),
      HasSubstr(
          "--set trainer.pipelining.schedule=gpip: trainer.pipelining.schedule.schedule: \"gpip\" is not "
          "known; did you mean \"gpipe\"?"));
  EXPECT_THAT(error_of({"data={source: txt}"}),
              HasSubstr("data.source: \"txt\" is not known; did you mean \"text\"?"));
  EXPECT_THAT(error_of({"trainer.checkpointing={num_to_keep: 3}"}),
              HasSubstr("trainer.checkpointing.period_steps: missing"));
  EXPECT_THAT(error_of({"trainer.logging.tracker.provider=tensorbord", "trainer.logging.period_steps=1"}),
              HasSubstr("did you mean \"tensorboard\"?"));
}

// Any damage is either still a job or one input error, never anything else.
TEST(JobConfig, SurvivesDamagedFiles) {
  const RandomStream random(7, "damage");
  const std::string alphabet = "{}[]:,-#&*!|>'\"%@`\n\t .0aZ\xff\\";
  for (std::uint64_t round = 0; round < 1500; ++round) {
    std::string job = testing_job::text;
    for (std::uint64_t edit = 0; edit <= round % 4; ++edit) {
      const std::size_t at = random.below(8 * round + 2 * edit, job.size());
      job[at] = alphabet[random.below(8 * round + 2 * edit + 1, alphabet.size())];
    }
    const std::string outcome = error_of({}, job);
    EXPECT_TRUE(outcome == "no error" || outcome.starts_with("input error ")) << outcome << "\n" << job;
  }
}

}  // namespace
}  // namespace d9d
