#include "runtime/provider/hugging_face_model.hpp"

#include <algorithm>
#include <boost/describe/enum_to_string.hpp>
#include <map>

#include "runtime/base/count.hpp"
#include "runtime/base/error.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/log.hpp"
#include "runtime/family/hugging_face_config.hpp"
#include "runtime/model_folder/carried_keys.hpp"
#include "runtime/model_folder/folder_checks.hpp"
#include "runtime/nn/model/build_options.hpp"
#include "runtime/peft/adapter_cover.hpp"
#include "runtime/peft/merged_folder.hpp"
#include "runtime/provider/load_from_folder.hpp"
#include "runtime/state/convert/model_converter.hpp"
#include "runtime/state/mapper/mapper.hpp"
#include "runtime/state/model/model_files.hpp"
#include "runtime/state/model/model_reader.hpp"
#include "runtime/state/model/publish_model.hpp"
#include "runtime/tensor/torch_dtype.hpp"

namespace d9d {
namespace {

// Of the whole model: parameters in its order, then buffers. Without storage.
std::vector<std::pair<std::string, at::Tensor>> tensors_of(StageModule& model) {
  std::vector<std::pair<std::string, at::Tensor>> tensors;
  for (const StageParameter& parameter : model.parameters())
    tensors.emplace_back(parameter.name, parameter.tensor.detach());
  for (const StageBuffer& buffer : model.buffers()) tensors.emplace_back(buffer.name, buffer.tensor);
  return tensors;
}

// Returns the names. Input error when a tensor of the source has another shape than the model's.
std::vector<std::string> require_shapes(const TensorSource& weights,
                                        const std::vector<std::pair<std::string, at::Tensor>>& tensors) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : tensors) {
    const Shape& stored = weights.spec(name).shape;
    D9D_REQUIRE(tensor.sizes() == at::IntArrayRef(stored),
                "\"{}\" has shape {} in the checkpoint and {} in the model: is it another job's?", name,
                to_text(stored), to_text(tensor.sizes().vec()));
    names.push_back(name);
  }
  return names;
}

// Buffers keep their type whatever that of the parameters is.
std::map<std::string, Dtype> dtypes_of_buffers(StageModule& model, const StateMapper& mapper) {
  std::map<std::string, Dtype> buffers, outputs;
  for (const StageBuffer& buffer : model.buffers())
    buffers[buffer.name] = dtype_of(buffer.tensor.scalar_type());
  for (const StateGroup& group : mapper.groups()) {
    const auto buffer = group.inputs.empty() ? buffers.end() : buffers.find(*group.inputs.begin());
    if (buffer == buffers.end()) continue;
    for (const std::string& name : group.outputs) outputs[name] = buffer->second;
  }
  return outputs;
}

constexpr std::uint64_t body_config_bytes_max = std::uint64_t{1} << 24;

std::string_view name_of(ProblemType type) {
  return boost::describe::enum_to_string(type, "");
}

// What transformers calls the model with its head. A job with another one may begin from any of them.
void set_architecture(const FamilyModel& config, nlohmann::json& json) {
  if (config.heads.empty()) return;
  const HeadOptions& head = config.heads.begin()->second;
  std::string name = json["architectures"][0].get<std::string>();
  name.erase(name.rfind("For"));  // ForCausalLM, ForMaskedLM
  const auto* classes = std::get_if<ClassificationHead>(&head);
  json["architectures"] = {name + (classes != nullptr ? "ForSequenceClassification" : "Model")};
  if (classes == nullptr) return;
  json["problem_type"] = std::string(name_of(classes->learns()));
  for (std::int64_t label = 0; label < classes->num_labels; ++label) {
    const std::string text = fmt::format("LABEL_{}", label);
    json["id2label"][std::to_string(label)] = text;
    json["label2id"][text] = label;
  }
}

std::int64_t labels_of(const FamilyModel& config) {
  if (config.heads.empty()) return 0;
  const auto* classes = std::get_if<ClassificationHead>(&config.heads.begin()->second);
  return classes == nullptr ? 0 : classes->num_labels;
}

void require_exportable_head(const FamilyModel& config) {
  const bool alone = config.heads.empty() || config.heads.begin()->first.empty();
  D9D_REQUIRE(alone, "a model with several heads has no form among Hugging Face's: leave export_to out");
  const bool projects = !config.heads.empty() && !config.own_head_parameters().empty() &&
                        std::holds_alternative<EmbeddingHead>(config.heads.begin()->second);
  D9D_REQUIRE(
      !projects,
      "an embedding head with a projection has no form among Hugging Face's models: leave export_to or "
      "embedding_dim out");
}

// A folder with scores of its own says what they learnt, where it was trained.
void require_same_problem(const Disk& disk, const std::string& directory, const FamilyModel& config) {
  const std::string path = join_path(directory, "config.json");
  const auto* classes =
      config.heads.empty() ? nullptr : std::get_if<ClassificationHead>(&config.heads.begin()->second);
  if (classes == nullptr || !disk.exists(path)) return;
  const auto document = try_parse_json<nlohmann::json>(read_text(disk, path, body_config_bytes_max));
  if (!document.is_object()) return;  // whoever reads the rest says so
  const auto architectures = document.value("architectures", nlohmann::json::array());
  const auto type = document.value("problem_type", nlohmann::json());
  const bool has_scores = architectures.is_array() && !architectures.empty() &&
                          architectures[0].is_string() &&
                          architectures[0].get<std::string>().ends_with("ForSequenceClassification");
  if (!has_scores || !type.is_string() || type == name_of(classes->learns())) return;
  throw Error(
      ErrorKind::input,
      fmt::format(
          "{}: problem_type is {}, but model_provider.head of the job learns {}{}", path,
          type.get<std::string>(), name_of(classes->learns()),
          type == "multi_label_classification"
              ? "; texts of several labels are not supported: take the folder of a model without scores"
              : "; give num_labels and problem_type as the folder has them, or take the folder of a "
                "model without scores"));
}

// Whatever the folder's head.
std::shared_ptr<FamilyModel> read_body_config(const Disk& disk, const std::string& path,
                                              const FamilyModel& config) {
  if (config.heads.empty()) return read_hugging_face_config(path);
  nlohmann::json document = try_parse_json<nlohmann::json>(read_text(disk, path, body_config_bytes_max));
  if (document.is_object()) document.erase("architectures");
  return parse_hugging_face_config(json_text(document), path);
}

// What the model says of them stays: training used its pad token.
std::string config_with(const FamilyModel& config, const SpecialTokens& tokens,
                        const nlohmann::json& carried) {
  nlohmann::json json = parse_json<nlohmann::json>(config.config_json());
  set_architecture(config, json);
  add_carried_keys(carried, labels_of(config), json);
  if (config.rope.interleaved && !config.transformers_turns_pairs())
    log::warn(
        "the exported config.json has rope_interleave: true, which transformers ignores in this family: "
        "there the model computes other numbers; d9d reads the folder right");
  if (tokens.eos.size() == 1) json["eos_token_id"] = tokens.eos.front();
  if (tokens.eos.size() > 1) json["eos_token_id"] = tokens.eos;
  if (tokens.bos && !config.bos_token_id) json["bos_token_id"] = *tokens.bos;
  return json_text(json, 2) + "\n";
}

using Replaced = decltype(LoadOptions::replaced);

void load_weights(const Disk& disk, const std::string& directory, const FamilyModel& config,
                  StagePosition position, const std::vector<StageParameter>& parameters,
                  const Replaced& replaced, const NewRows& rows) {
  const ModelFiles files(disk, directory);
  const Names stored = files.names();
  const MapperPtr mapper = folder_to_parameters(config, files, rows);
  LoadOptions options;
  options.allow_unread = config.unread_in_folder(stored);
  // Buffers are loaded by a call of their own.
  options.part_of_model = position.num_stages > 1 || !config.build_shapes()->buffers().empty();
  options.replaced = replaced;
  load_from_folder(disk, directory, mapper, parameters, std::move(options));
}

// An adapter and the folder that it is added to.
struct Adapted {
  Adapted(const Disk& disk, const std::string& directory, const std::string& base)
      : adapter(disk, directory),
        base(disk, base_of_adapter(disk, adapter, base)),
        merged(this->base, adapter) {
    say_modules_without_factors(disk, directory, this->base, merged);
    D9D_REQUIRE(merged.added().empty(),
                "{} holds {}, which {} does not have: a head of its own; give the model with that head "
                "(model_provider.head) and the adapter (model_provider.peft.from) to a job with a section "
                "`inference`",
                directory, merged.added().front().name, this->base.directory());
  }
  // All tensors alike in fp32: the sum keeps what the base's dtype would round off, and tensors that become
  // one parameter have one dtype.
  std::optional<at::Tensor> replaced(const std::string& name) const { return merged.read_exact(name); }

  const AdapterFolder adapter;
  const ModelFiles base;
  const MergedFolder merged;
};

}  // namespace

void load_hugging_face_weights(const Disk& disk, const std::string& directory, const FamilyModel& config,
                               StagePosition position, const std::vector<StageParameter>& parameters,
                               const NewRows& rows) {
  load_weights(disk, directory, config, position, parameters, {}, rows);
}

bool head_starts_anew(const Disk& disk, const std::string& directory, const FamilyModel& config,
                      const std::string& parameter) {
  return config.may_start_anew(parameter) &&
         config.starts_anew(ModelFiles(disk, directory).names(), parameter);
}

void load_hugging_face_buffers(const Disk& disk, const std::string& directory, const FamilyModel& config,
                               StagePosition position, const std::vector<StageBuffer>& buffers) {
  const Names stored = ModelFiles(disk, directory).names();
  std::vector<StageParameter> tensors;
  for (const StageBuffer& buffer : buffers) {
    if (!config.starts_anew(stored, buffer.name)) tensors.push_back(as_parameter(buffer));
  }
  if (!tensors.empty()) load_hugging_face_weights(disk, directory, config, position, tensors);
}

std::vector<std::string> check_hugging_face_weights(const Disk& disk, const std::string& directory,
                                                    const FamilyModel& config) {
  require_same_problem(disk, directory, config);
  const ModelFiles files(disk, directory);
  require_layers(files, config);
  const Names stored = files.names();
  const MapperPtr mapper = folder_to_parameters(config, files);
  std::map<std::string, Shape> parameters;
  const auto model = config.build_shapes();
  const auto expect = [&](const std::string& name, const at::Tensor& tensor) {
    if (!config.starts_anew(stored, name)) parameters[name] = tensor.sizes().vec();
  };
  for (const StageParameter& parameter : model->parameters()) expect(parameter.name, parameter.tensor);
  for (const StageBuffer& buffer : model->buffers()) expect(buffer.name, buffer.tensor);
  LoadOptions options;
  options.allow_unread = config.unread_in_folder(stored);
  check_model_state(disk, directory, mapper, parameters, options);
  require_one_head(files, config);
  return folder_notes(disk, files, config);
}

std::vector<std::string> config_differences(const Disk& disk, const std::string& directory,
                                            const FamilyModel& config, const NewRows& rows) {
  const std::string path = join_path(directory, "config.json");
  if (!disk.exists(path)) return {};
  using Json = nlohmann::ordered_json;
  Json theirs, ours = parse_json<Json>(config.config_json());
  try {
    theirs = parse_json<Json>(read_body_config(disk, path, config)->config_json());
  } catch (const Error& error) {
    return {error.what()};
  }
  std::vector<std::string> differences;
  const std::string of_rows = new_rows_text(config, ModelFiles(disk, directory), rows);
  if (!of_rows.empty()) differences.push_back(of_rows);
  // The other spelling of rope_scaling says the base as well; sizes are told by the weights' shapes.
  for (const char* key : {"rms_norm_eps", "rope_parameters", "num_experts_per_tok", "norm_topk_prob",
                          "max_position_embeddings", "pad_token_id", "rope_interleave"}) {
    const Json& there = theirs.contains(key) ? theirs[key] : Json();
    const Json& here = ours.contains(key) ? ours[key] : Json();
    if (there == here) continue;
    differences.push_back(
        fmt::format("{} says {} = {}, the job's model {}", path, key, json_text(there), json_text(here)));
  }
  return differences;
}

std::string folder_of_model(const Disk& disk, const std::string& folder, const std::string& base) {
  if (!is_adapter_folder(disk, folder)) return folder;
  return base_of_adapter(disk, AdapterFolder(disk, folder), base);
}

LoadedModel load_hugging_face_model(const Disk& disk, const std::string& folder, at::ScalarType dtype,
                                    c10::Device device, const std::string& base) {
  LoadedModel model;
  std::optional<Adapted> adapted;
  if (is_adapter_folder(disk, folder)) adapted.emplace(disk, folder, base);
  D9D_REQUIRE(adapted || base.empty(), "--base is for the folder of an adapter, and {} is none; leave it out",
              folder);
  const std::string& directory = adapted ? adapted->base.directory() : folder;
  model.config = read_hugging_face_config(directory);
  for (const std::string& note : check_hugging_face_weights(disk, directory, *model.config))
    log::warn("{}", note);
  // Rows of new tokens are for a job that asks for them.
  D9D_REQUIRE(
      new_rows(*model.config, ModelFiles(disk, directory)) == 0,
      "{}: config.json says vocab_size = {}, and the embedding has fewer rows; is it another model's?",
      directory, model.config->vocab_size);
  auto& ends = model.config->eos_token_ids;
  for (const std::int64_t id : special_tokens_in(disk, directory).eos) {
    if (std::find(ends.begin(), ends.end(), id) == ends.end()) ends.push_back(id);
  }
  BuildOptions options;
  options.dtype = dtype;
  options.device = device;
  model.stage = model.config->build_stage({}, options);
  Replaced replaced;
  if (adapted) replaced = [&](const std::string& name) { return adapted->replaced(name); };
  load_weights(disk, directory, *model.config, {}, model.stage->parameters(), replaced, {});
  load_hugging_face_buffers(disk, directory, *model.config, {}, model.stage->buffers());
  model.stage->set_training(false);
  return model;
}

void export_hugging_face(Disk& disk, const std::string& directory, const FamilyModel& config,
                         const TensorSource& weights, const SpecialTokens& tokens, const ExportWork& work,
                         const nlohmann::json& carried) {
  require_exportable_head(config);
  const MapperPtr mapper = config.parameters_to_folder();
  const auto model = config.build_shapes();
  const std::vector<std::string> names = require_shapes(weights, tensors_of(*model));
  disk.make_directories(directory);
  ConversionOptions options;
  options.shard_bytes_max = work.shard_bytes_max;
  options.dtype = dtype_named(config.dtype);
  options.dtypes = dtypes_of_buffers(*model, *mapper);
  options.threads = work.threads;
  options.share = work.share;
  options.progress = work.progress;
  const auto groups = groups_in_order(*mapper, names);
  const auto shards = convert_model_state(weights, *mapper, groups, disk, directory, options);
  if (work.share.index == 0)
    write_text(disk, directory + "/config.json", config_with(config, tokens, carried));
  publish_model_state(disk, directory, shards, work.share);
}

}  // namespace d9d
