#pragma once
// Built-in models as Hugging Face folders: load the stages
// of a job or a whole model, export. Blocks on the disk.

#include <ATen/core/Tensor.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runtime/family/family_model.hpp"
#include "runtime/model_folder/new_rows.hpp"
#include "runtime/provider/tokenizer_files.hpp"
#include "runtime/state/disk/disk.hpp"
#include "runtime/state/model/export_work.hpp"
#include "runtime/state/tensor_file/tensor_source.hpp"
#include "runtime/tensor/stage_module.hpp"

namespace d9d {

// Copies the folder's weights into a stage of the model, each rank only its slices. Input error, with names,
// unless every parameter is filled and every tensor of the folder is one of the whole model's.
void load_hugging_face_weights(const Disk& disk, const std::string& directory, const FamilyModel& config,
                               StagePosition position, const std::vector<StageParameter>& parameters,
                               const NewRows& rows = {});

// The same for a stage's persistent buffers; those that no strategy has placed are whole.
void load_hugging_face_buffers(const Disk& disk, const std::string& directory, const FamilyModel& config,
                               StagePosition position, const std::vector<StageBuffer>& buffers);

// Whether this is the parameter of a head or of a module of multi-token prediction that the folder does not
// have: a classifier begun from a language model. It has to be drawn.
bool head_starts_anew(const Disk& disk, const std::string& directory, const FamilyModel& config,
                      const std::string& parameter);

// Whether load_hugging_face_weights() will find all it
// needs, in any stage: the same errors, from headers, and what model_folder/folder_checks.hpp sees. Returns its notes.
std::vector<std::string> check_hugging_face_weights(const Disk& disk, const std::string& directory,
                                                    const FamilyModel& config);
// Keys of the folder's config.json that change the numbers and say something else than `config`, a sentence
// each. Empty without such a file.
std::vector<std::string> config_differences(const Disk& disk, const std::string& directory,
                                            const FamilyModel& config, const NewRows& rows = {});

// The folder of a model that `folder` means: itself, or for the folder of an adapter that of its base (`base`, or
// what adapter_config.json says).
std::string folder_of_model(const Disk& disk, const std::string& folder, const std::string& base);

// A whole model in one stage, for use without training. `directory` may be that of an adapter as peft saved it: then
// the model is that of its base folder (`base`, or what adapter_config.json says) with the adapter added. Notes
// on the folder are logged.
// Its config knows the ends of generation_config.json too. A device that is not the CPU is known to device_of().
struct LoadedModel {
  std::shared_ptr<FamilyModel> config;
  std::unique_ptr<StageModule> stage;
};
LoadedModel load_hugging_face_model(const Disk& disk, const std::string& directory,
                                    at::ScalarType dtype = at::kFloat,
                                    c10::Device device = c10::Device(at::kCPU), const std::string& base = "");

// Writes `directory` as transformers 4 and 5 load it: config.json, sharded safetensors, index last; of several
// shares the first writes what is not weights. `weights` has the model's parameters and buffers by their global
// names. `config.dtype` is the dtype of the files; `tokens` go into config.json where they are known, and the
// keys `carried` from the folder that the model came from (carried_keys.hpp).
void export_hugging_face(Disk& disk, const std::string& directory, const FamilyModel& config,
                         const TensorSource& weights, const SpecialTokens& tokens = {},
                         const ExportWork& work = {},
                         const nlohmann::json& carried = nlohmann::json::object());

}  // namespace d9d
