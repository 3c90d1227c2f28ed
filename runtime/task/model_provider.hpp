#pragma once
// What a user writes to bring a model: how a stage of it is built, where
// its weights come from and how they go out. One object per process, called
// from several stages at once: everything is const. No torch in this header.

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runtime/nn/model/layer_distribution.hpp"

namespace d9d {

class StageGroups;
class StageModule;
struct ParallelOptions;
struct StageParameter;

class ModelProvider {
 public:
  virtual ~ModelProvider() = default;

  // The layers of one stage, parameters uninitialised. Called on the stage's compute thread.
  virtual std::unique_ptr<StageModule> build_stage(StagePosition position) const = 0;
  // Lays the stage's parameters over the mesh and makes its modules compute with their blocks: called once,
  // before weights are drawn or loaded, on the stage's compute thread. Returns the parameters as they lie
  // from now on, in the module's order. Without an override every rank of a stage holds all of them, and a
  // mesh that shards parameters or splits samples is an input error.
  virtual std::vector<StageParameter> parallelize(StageModule& module, StageGroups& groups,
                                                  const ParallelOptions& options) const;
  // Copies the weights of `directory` (trainer.model_stage_factory.source_checkpoint) into the stage's
  // parameters, each its block. Every tensor of the folder and of the stage must be accounted for. Without an
  // override: an input error.
  virtual void load_weights(const std::string& directory, StagePosition position,
                            const std::vector<StageParameter>& parameters) const;
  // Before the job forms, and by `d9d-node check`: will load_weights() of this folder find all it needs?
  // Looks at headers at most and throws what load_weights() would; returns what is worth a warning. Without
  // an override: nothing is looked at.
  virtual std::vector<std::string> check_source(const std::string& directory) const;
  // Writes the model of a committed checkpoint as a folder
  // others can read. Without an override: an input error.
  virtual void export_model(const std::string& checkpoint, const std::string& target) const;
  // For trackers.
  virtual nlohmann::json hparams() const;
};

}  // namespace d9d
