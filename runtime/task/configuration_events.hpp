#pragma once
// The events before a job's first step; see events.hpp. Actors hear of them without a context. No torch.

#include <memory>
#include <string_view>
#include <vector>

namespace d9d {

class FlatParameters;
class LrSchedule;
class Optimizer;
class Plan;
class SampleSource;
class StageModule;

namespace events {

// Compute, before anything of the rank is built.
struct ConfigurationStart {
  static constexpr std::string_view train = "train.configuration.start",
                                    infer = "inference.configuration.start";
  const Plan* plan = nullptr;  // mesh and placement of all ranks
};

// The Loader's thread: its source is open.
struct ConfigurationDataStream {
  static constexpr std::string_view train = "train.configuration.data_stream",
                                    infer = "inference.configuration.data_stream";
  const SampleSource* source = nullptr;
};

// A pipeline stage of the rank as it is in memory. `module` is also a torch::nn::Module where the model is one: that of
// every family. Its tensors are those of the parameters, unless FSDP gathers them for their use alone.
struct LiveStage {
  int stage = 0;  // of the pipeline's stages, from zero
  std::shared_ptr<StageModule> module;
};

// Compute: the rank's stages are built and have their weights. To change values is fine, on all copies alike. Modules
// and parameters stay until the job's end: a callback may keep them and look at them at later events of this thread,
// but not while the job sleeps.
struct ConfigurationModelStages {
  static constexpr std::string_view train = "train.configuration.model_stages",
                                    infer = "inference.configuration.model_stages";
  // Of all of the rank's stages: each with its name, this rank's block of it and the layout
  // (train/flat_parameters.hpp).
  const FlatParameters* parameters = nullptr;
  std::vector<LiveStage> stages = {};
  const Plan* plan = nullptr;
};

struct ConfigurationOptimizer {  // compute
  static constexpr std::string_view train = "train.configuration.optimizer", infer = "";
  Optimizer* optimizer = nullptr;
};

struct ConfigurationLrScheduler {  // compute
  static constexpr std::string_view train = "train.configuration.lr_scheduler", infer = "";
  const LrSchedule* schedule = nullptr;
};

}  // namespace events
}  // namespace d9d
