#pragma once
// What a rank's model is made of, and with which weights it begins. No torch.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/job/job_config.hpp"
#include "runtime/job/step_phases.hpp"
#include "runtime/nn/plan/parallel_options.hpp"
#include "runtime/provider/tokenizer_files.hpp"
#include "runtime/rank/state/awake_ranks.hpp"
#include "runtime/state/disk/disk.hpp"
#include "runtime/task/rank_events.hpp"
#include "runtime/train/gradient/norm_type.hpp"

namespace d9d {

class LrSchedule;
class ModelProvider;
class OptimizerProvider;

struct ModelOptions {
  std::shared_ptr<const ModelProvider> provider;
  std::string plugin_name = {};  // in the job file, for checks and errors; empty: built in
  // parameter_patterns() for a plugin's model, whose parameters are known only when its stages are built.
  std::map<std::string, std::string> patterns = {};
  bool trains = true;                      // false in an inference job
  std::vector<StepUpdate> updates = {{}};  // of a step
  ParallelOptions parallel = {};
  std::uint64_t seed = 0;
  GradientManagerConfig gradients = {};
  NormType norm = NormType::l2;  // of the gradients
  std::shared_ptr<const OptimizerProvider> optimizer;
  std::string optimizer_plugin_name = {};
  std::shared_ptr<const LrSchedule> lr_schedule = {};  // for the event
  std::shared_ptr<const RankEvents> events = std::make_shared<RankEvents>(0, false);
};

struct StateOptions {
  Disk* disk = nullptr;
  std::string source_checkpoint = {};  // weights to start from; empty: drawn from the seed
  TokenizerFiles tokenizer = {};       // of the model, for folders that are written of it
  bool only_trainable = false;   // of checkpoints: a resume reads frozen weights where the first start did
  std::string resume_from = {};  // committed checkpoint; empty: none
  std::vector<std::uint64_t> skipped = {0};  // how often each update of its steps was not made
  std::shared_ptr<AwakeRanks> awake = std::make_shared<AwakeRanks>();  // one for all ranks of the process
};

}  // namespace d9d
