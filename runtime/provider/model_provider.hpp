#pragma once
// Implement this to bring your own model: how a stage of it is built, and how
// its weights are loaded and exported. There is one object per process, called
// by several stages at once: all functions are const. No torch in this header.

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "runtime/nn/size/layer_distribution.hpp"

namespace d9d {

class RankEvents;
class StageGroups;
class StageModule;
struct ExportWork;
struct ParallelOptions;
struct StageBuffer;
struct StageParameter;

class ModelProvider {
 public:
  virtual ~ModelProvider() = default;

  // Builds the layers of one stage on position.device, uninitialised. Called on the stage's compute thread.
  virtual std::unique_ptr<StageModule> build_stage(StagePosition position) const = 0;
  // Distributes the stage's parameters over the mesh and lets its modules compute with their
  // shards. Called once on the stage's compute thread, before weights are drawn or loaded. Returns
  // the parameters with their final layouts, in the module's order. Default: every rank of a stage
  // holds all of them, and a mesh that shards parameters or splits samples is an input error.
  virtual std::vector<StageParameter> parallelize(StageModule& module, StageGroups& groups,
                                                  const ParallelOptions& options) const;
  // Whether load_weights() leaves out the parameter of this name, because the folder has none and a new one is
  // wanted, such as a head for another task: it starts as from the seed. Default: false.
  virtual bool starts_anew(const std::string& directory, const std::string& parameter) const;
  // Copies the weights in `directory` (trainer.model_stage_factory.source_checkpoint)
  // into this rank's blocks of the stage's parameters. Every tensor of the
  // folder and of the stage must be accounted for. Default: an input error.
  virtual void load_weights(const std::string& directory, StagePosition position,
                            const std::vector<StageParameter>& parameters) const;
  // Copies what `directory` has of the stage's persistent buffers into them; called after load_weights().
  // Default: they keep the values that build_stage() gave them.
  virtual void load_buffers(const std::string& directory, StagePosition position,
                            const std::vector<StageBuffer>& buffers) const;
  // Sets the parameters of adapters (StageParameter::of_adapter) that do not start as they are drawn. Called
  // with this rank's blocks of all parameters of a stage, drawn or loaded. Default: they stay as they are.
  virtual void load_adapter(const std::vector<StageParameter>& parameters) const;
  // Checks, before the job forms and in `d9d-node check`, whether load_weights()
  // will find all it needs in this folder. Reads headers and little more, throws what
  // load_weights() would throw, and returns warnings. Default: no checks.
  virtual std::vector<std::string> check_source(const std::string& directory) const;
  // Writes the model of a committed checkpoint as a folder that other programs can read. There
  // CheckpointReader finds parameters as the kind "param" and buffers as `buffer_kind`.
  // Default: an input error.
  virtual void export_model(const std::string& checkpoint, const std::string& target) const;
  // Writes this share of the model's files; all shares together are the folder. Called by one process for each
  // share, by one process for several where others do not see the folder. Default: the first share is
  // export_model(), the others are empty.
  virtual void export_share(const std::string& checkpoint, const std::string& target,
                            const ExportWork& work) const;
  // Token ids of data have to be below it; none: the model takes no ids, or whatever comes. Default: none.
  virtual std::optional<std::int64_t> vocab_size() const { return std::nullopt; }
  // Throws, before a job begins, what export_share() would throw for these sizes. Default: no checks.
  virtual void check_export(const ExportWork& work) const;
  // Writes what adapters added to the model of a committed checkpoint as a folder that peft can load.
  // Default: an input error.
  virtual void export_adapter(const std::string& checkpoint, const std::string& target) const;
  // Once per rank, before the task's: subscribes to what happens on the rank (rank_events.hpp).
  virtual void register_events(RankEvents& /*events*/) const {}
  // The hyperparameters that trackers record.
  virtual nlohmann::json hparams() const;
};

}  // namespace d9d
