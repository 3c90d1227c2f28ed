#pragma once
// The events before a job's first step; see events.hpp. Actors hear of them without a context. No torch.

#include <string_view>

namespace d9d {

class FlatParameters;
class LrSchedule;
class Optimizer;
class Plan;
class SampleSource;

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

// Compute: the rank's stages are built and have their weights. To change values is fine, on all copies alike.
struct ConfigurationModelStages {
  static constexpr std::string_view train = "train.configuration.model_stages",
                                    infer = "inference.configuration.model_stages";
  const FlatParameters* parameters = nullptr;  // of all of the rank's stages
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
