#pragma once
// The small sections of `trainer` (reference A.2; keys that only 0.16 had are in A.3).

#include <boost/describe/class.hpp>

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "runtime/base/config/codec_enum.hpp"
#include "runtime/base/config/keys.hpp"
#include "runtime/base/config/period.hpp"
#include "runtime/model_folder/new_row_values.hpp"

namespace d9d {

struct RunConfig {
  std::string name;
  std::optional<std::string> description;
  nlohmann::json hparams = nlohmann::json::object();
};
BOOST_DESCRIBE_STRUCT(RunConfig, (), (name, description, hparams))
constexpr auto keys_of(config::Tag<RunConfig>) {
  using namespace config;
  return std::array{Key{"name", "", "name of the run and of its default folder", required},
                    Key{"description", "", "a sentence for the tracker"},
                    Key{"hparams", "", "free map for the tracker"}};
}

struct BatchingConfig {
  std::int64_t global_batch_size = 0;
  std::int64_t microbatch_size = 0;
  bool cut_to_longest = false;
  bool drop_last = true;
};
BOOST_DESCRIBE_STRUCT(BatchingConfig, (), (global_batch_size, microbatch_size, cut_to_longest, drop_last))
constexpr auto keys_of(config::Tag<BatchingConfig>) {
  using namespace config;
  return std::array{
      Key{"global_batch_size", "samples",
          "samples of one optimizer step over all replicas; divisible by replicas x microbatch_size",
          required, at_least(1)},
      Key{"microbatch_size", "samples", "samples that a stage computes at once", required, at_least(1)},
      Key{"cut_to_longest", "",
          "samples that are filled up: a microbatch is as long as its longest one, rounded up to what ranks "
          "that share sequences can share; data.order.sorted puts samples of one length together. RoPE of "
          "kind dynamic or longrope sees the shorter length"},
      Key{"drop_last", "",
          "training leaves out the samples at the end of the data that make no whole step; false: its last "
          "step has them alone, its other rows count nowhere. Evaluation and inference leave out none"}};
}

struct ScheduleConfigSection {
  std::optional<std::int64_t> total_steps;
};
BOOST_DESCRIBE_STRUCT(ScheduleConfigSection, (), (total_steps))
constexpr auto keys_of(config::Tag<ScheduleConfigSection>) {
  using namespace config;
  return std::array{Key{"total_steps", "steps", "optimizer steps of the run; null: as long as the data lasts",
                        config::optional, at_least(1)}};
}

struct DataPrefetchConfig {
  std::int64_t prefetch_factor = 1;
};
BOOST_DESCRIBE_STRUCT(DataPrefetchConfig, (), (prefetch_factor))
constexpr auto keys_of(config::Tag<DataPrefetchConfig>) {
  using namespace config;
  return std::array{
      Key{"prefetch_factor", "steps", "steps of data made ahead; 0: none", config::optional, at_least(0)}};
}

struct DataLoadingConfig {
  std::int64_t num_workers = 0;
  std::int64_t timeout = 0;
};
BOOST_DESCRIBE_STRUCT(DataLoadingConfig, (), (num_workers, timeout))
constexpr auto keys_of(config::Tag<DataLoadingConfig>) {
  using namespace config;
  return std::array{
      Key{"num_workers", "threads",
          "threads of each loader that read a step's samples at once, for samples that take long to "
          "decode or to fetch; 0: the loader reads one after another",
          config::optional, within(0, 1024)},
      Key{"timeout", "s",
          "how long a loader with such threads waits for a sample; 0: until `timeout.step_timeout`",
          config::optional, at_least(0)}};
}

struct ModelStageFactoryConfig {
  std::optional<std::string> source_checkpoint;
  bool checkpoint_only_trainable_parameters = false;
  NewRowValues new_rows = NewRowValues::mean;
};
BOOST_DESCRIBE_STRUCT(ModelStageFactoryConfig, (),
                      (source_checkpoint, checkpoint_only_trainable_parameters, new_rows))
constexpr auto keys_of(config::Tag<ModelStageFactoryConfig>) {
  using namespace config;
  return std::array{
      Key{"source_checkpoint", "",
          "Hugging Face folder with the weights to start from; null: drawn from the seed"},
      Key{"checkpoint_only_trainable_parameters", "", "leave frozen parameters out of checkpoints"},
      Key{"new_rows", "",
          "what tokens begin with that model_provider.model.vocab_size has beyond the folder's: the mean of "
          "its rows, or drawn by the seed as the family's initial weights are"}};
}

struct DeterminismConfig {
  std::int64_t base_seed = 0;
  bool strict = false;
};
BOOST_DESCRIBE_STRUCT(DeterminismConfig, (), (base_seed, strict))
constexpr auto keys_of(config::Tag<DeterminismConfig>) {
  using namespace config;
  return std::array{
      Key{"base_seed", "",
          "seed of all randomness: weights, rounding, the data's order unless data.seed is given, torch's "
          "generator",
          required, at_least(0)},
      Key{"strict", "",
          "on GPUs, too, two runs give the same bits: an op that cannot is an error, NCCL takes rings; some "
          "are slower. Elsewhere they do without"}};
}

struct CheckpointingConfig {
  std::optional<std::string> save_dir;
  config::Period period_steps;
  std::optional<std::int64_t> num_to_keep;
  std::int64_t roll_backs_max = 3;
  bool resume_ended = false;
};
BOOST_DESCRIBE_STRUCT(CheckpointingConfig, (),
                      (save_dir, period_steps, num_to_keep, roll_backs_max, resume_ended))
constexpr auto keys_of(config::Tag<CheckpointingConfig>) {
  using namespace config;
  return std::array{
      Key{"save_dir", "",
          "checkpoints go to `<save_dir>/<run name>/save-<step>/`; null: "
          "`<output_dir>/checkpoints/save-<step>/`"},
      Key{"period_steps", "steps", "period of checkpoints; a periodic one also writes after the last step",
          required},
      Key{"num_to_keep", "checkpoints", "the newest so many are kept; null: all", config::optional,
          at_least(1)},
      Key{"roll_backs_max", "",
          "how often an actor may have the job go back to its last checkpoint; one more ends it",
          config::optional, at_least(0)},
      Key{"resume_ended", "",
          "train on also where an actor or evaluation.stop_after has ended the run; false: a further start "
          "says so and trains nothing"}};
}

}  // namespace d9d
