#pragma once
// A model of a built-in family: its description, and what the rest of d9d needs from it. A family derives a
// plain struct with its options from it. No torch in this header.

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "runtime/family/layer_windows.hpp"
#include "runtime/nn/block/rope_options.hpp"
#include "runtime/nn/size/layer_distribution.hpp"
#include "runtime/nn/size/model_description.hpp"
#include "runtime/tensor/dtype.hpp"

namespace d9d {

struct ModelKey;
using ModelKeys = std::vector<ModelKey>;
class RankEvents;
class StageGroups;
class StageModule;
class StateMapper;
struct BuildOptions;
struct ParallelOptions;
struct StageParameter;

// A form of Hugging Face folders, for `d9d-node convert --mapper NAME`.
struct FolderForm {
  std::string name;  // "experts_fused"
  std::string meaning;
  std::shared_ptr<const StateMapper> from_parameters;
};

struct FamilyModel : ModelDescription {
  RopeOptions rope;
  LayerWindows windows;

  // attention(), with the window of this layer.
  virtual AttentionOptions attention_of(std::int64_t layer) const;

  // Parameters are uninitialised (see initial_weights.hpp). Input error for impossible
  // options and for more stages than layers.
  virtual std::unique_ptr<StageModule> build_stage(StagePosition position,
                                                   const BuildOptions& options) const = 0;
  // Parallelizes a stage of build_stage over the mesh; by causal_lm_plan.hpp unless the family has a plan.
  virtual std::vector<StageParameter> parallelize(StageModule& stage, StageGroups& groups,
                                                  const ParallelOptions& options) const;

  // The keys of the model, in the order of the job file (model_key.hpp).
  virtual const ModelKeys& keys() const = 0;
  // Values that follow from those of several keys; called when the keys are read.
  virtual void settle() {}
  // Input error that names the first impossible value; `where` leads the text.
  virtual void validate(const std::string& where) const = 0;
  // The text of a config.json that transformers 4 and 5 both read as this model.
  std::string config_json() const;
  // Map the tensors of a Hugging Face folder that has these names, in transformers' spelling, to parameters;
  // and back for an export.
  virtual std::shared_ptr<const StateMapper> from_hugging_face(const std::set<std::string>& stored) const = 0;
  virtual std::shared_ptr<const StateMapper> to_hugging_face() const = 0;
  // The whole model without storage: for names, shapes and layouts.
  std::unique_ptr<StageModule> build_shapes(Dtype element = Dtype::float32) const;
  // The same with what families know nothing of. A vocabulary in parts: such a folder holds its tables as one.
  // Names may be spelled in any way that folder/folder_names.hpp knows.
  // Heads: a classifier's is score.weight, as in transformers; a model without any has names without `model.`.
  // From a folder heads are taken where it has them (starts_anew), lm_head where the model has it.
  std::shared_ptr<const StateMapper> folder_to_parameters(const std::set<std::string>& stored) const;
  std::shared_ptr<const StateMapper> parameters_to_folder() const;
  // The names of the parameters of heads, lm_head aside.
  std::vector<std::string> own_head_parameters() const;
  // Of a head or of a module of multi-token prediction: training may begin without it.
  bool may_start_anew(const std::string& name) const;
  // And a folder with these tensors has nothing of it.
  bool starts_anew(const std::set<std::string>& stored, const std::string& name) const;
  // All forms in which such folders exist. Default: "hugging_face", that of an export.
  virtual std::vector<FolderForm> folder_forms() const;
  // Patterns of tensors that a folder with these tensors may hold and that are not parameters: a stored copy of a
  // tied head, buffers of old versions, modules that do not train.
  virtual std::vector<std::string> unread_tensors(const std::set<std::string>& stored) const;
  // Those of a folder with these tensors, as patterns of its own spelling (folder/folder_names.hpp); with them the
  // tensors of other parts of a multimodal model.
  std::vector<std::string> unread_in_folder(const std::set<std::string>& stored) const;
  // What a folder calls a parameter of own_head_parameters(), where the model has one head.
  virtual std::string head_in_folder(const std::string& parameter) const { return parameter; }
  // Whether transformers turns neighbouring elements (rope_interleave); without it, it turns halves in silence.
  virtual bool transformers_turns_pairs() const { return false; }
  // Whether peft 0.21 takes every target module with the name of an expert's projection for the fused experts of
  // transformers 5 (runtime/peft/adapter_targets.hpp).
  virtual bool peft_takes_projections() const { return false; }

  // As ModelProvider::register_events.
  virtual void register_events(RankEvents& /*events*/) const {}

  bool operator==(const FamilyModel&) const = default;
};

}  // namespace d9d
