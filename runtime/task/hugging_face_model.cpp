#include "runtime/task/hugging_face_model.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "runtime/base/error.hpp"
#include "runtime/family/hugging_face_config.hpp"
#include "runtime/nn/model/build_options.hpp"
#include "runtime/state/mapper/mapper.hpp"
#include "runtime/state/model_files.hpp"
#include "runtime/state/model_reader.hpp"
#include "runtime/state/model_writer.hpp"
#include "runtime/state/safetensors.hpp"
#include "runtime/task/tokenizer_files.hpp"
#include "runtime/tensor/torch_dtype.hpp"

namespace d9d {
namespace {

// The description was validated, so its type has a name that we know.
at::ScalarType dtype_of_files(const FamilyModel& config) {
  const auto dtype = dtype_named(config.dtype);
  D9D_CHECK(dtype, "no element type is called {}", config.dtype);
  return scalar_type_of(*dtype);
}

// Parameters in the model's order and the type of the files, then buffers in their own.
std::vector<TensorSpec> tensors_of(const FamilyModel& config) {
  std::vector<TensorSpec> specs;
  const auto model = config.build_shapes();
  for (const StageParameter& parameter : model->parameters()) {
    specs.push_back(spec_of(parameter.name, parameter.tensor.detach().to(dtype_of_files(config))));
  }
  for (const StageBuffer& buffer : model->buffers()) specs.push_back(spec_of(buffer.name, buffer.tensor));
  return specs;
}

constexpr std::uint64_t body_config_bytes_max = std::uint64_t{1} << 24;

// What transformers calls the model with its head. A job with another one may begin from any of them.
void set_architecture(const FamilyModel& config, nlohmann::json& json) {
  if (config.heads.empty()) return;
  const HeadOptions& head = config.heads.begin()->second;
  std::string name = json["architectures"][0].get<std::string>();
  name.erase(name.rfind("ForCausalLM"));
  const auto* classes = std::get_if<ClassificationHead>(&head);
  json["architectures"] = {name + (classes != nullptr ? "ForSequenceClassification" : "Model")};
  if (classes == nullptr) return;
  for (std::int64_t label = 0; label < classes->num_labels; ++label) {
    const std::string text = fmt::format("LABEL_{}", label);
    json["id2label"][std::to_string(label)] = text;
    json["label2id"][text] = label;
  }
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

// Whatever the folder's head.
std::shared_ptr<FamilyModel> read_body_config(const Disk& disk, const std::string& path,
                                              const FamilyModel& config) {
  if (config.heads.empty()) return read_hugging_face_config(path);
  nlohmann::json document =
      nlohmann::json::parse(read_text(disk, path, body_config_bytes_max), nullptr, false);
  if (document.is_object()) document.erase("architectures");
  return parse_hugging_face_config(document.dump(), path);
}

// Whole where no strategy has placed it.
StageParameter as_parameter(const StageBuffer& buffer) {
  return {buffer.name, buffer.tensor, buffer.layout.value_or(Layout::local(buffer.tensor.sizes().vec())), {}};
}

// What the model says of them stays: training used its pad token.
std::string config_with(const FamilyModel& config, const SpecialTokens& tokens) {
  nlohmann::json json = nlohmann::json::parse(config.config_json());
  set_architecture(config, json);
  if (tokens.eos.size() == 1) json["eos_token_id"] = tokens.eos.front();
  if (tokens.eos.size() > 1) json["eos_token_id"] = tokens.eos;
  if (tokens.bos && !config.bos_token_id) json["bos_token_id"] = *tokens.bos;
  return json.dump(2) + "\n";
}

}  // namespace

void load_hugging_face_weights(const Disk& disk, const std::string& directory, const FamilyModel& config,
                               StagePosition position, const std::vector<StageParameter>& parameters) {
  const MapperPtr mapper = config.folder_to_parameters(ModelFiles(disk, directory).names());
  std::map<std::string, Destination> destinations;
  for (const StageParameter& parameter : parameters) {
    destinations[parameter.name] = {parameter.tensor.detach(), parameter.layout.global_shape(),
                                    parameter.layout.local_slice()};
  }
  LoadOptions options;
  options.allow_unread = config.unread_tensors();
  // Buffers are loaded by a call of their own.
  options.part_of_model = position.num_stages > 1 || !config.build_shapes()->buffers().empty();
  load_model_state(disk, directory, mapper, destinations, options);
}

bool head_starts_anew(const Disk& disk, const std::string& directory, const FamilyModel& config,
                      const std::string& parameter) {
  const std::vector<std::string> own = config.own_head_parameters();
  if (std::find(own.begin(), own.end(), parameter) == own.end()) return false;
  return !ModelFiles(disk, directory).names().contains(parameter);
}

void load_hugging_face_buffers(const Disk& disk, const std::string& directory, const FamilyModel& config,
                               StagePosition position, const std::vector<StageBuffer>& buffers) {
  std::vector<StageParameter> tensors;
  for (const StageBuffer& buffer : buffers) tensors.push_back(as_parameter(buffer));
  if (!tensors.empty()) load_hugging_face_weights(disk, directory, config, position, tensors);
}

void check_hugging_face_weights(const Disk& disk, const std::string& directory, const FamilyModel& config) {
  const MapperPtr mapper = config.folder_to_parameters(ModelFiles(disk, directory).names());
  std::map<std::string, Shape> parameters;
  const auto model = config.build_shapes();
  for (const StageParameter& parameter : model->parameters()) {
    if (head_starts_anew(disk, directory, config, parameter.name)) continue;
    parameters[parameter.name] = parameter.tensor.sizes().vec();
  }
  for (const StageBuffer& buffer : model->buffers()) parameters[buffer.name] = buffer.tensor.sizes().vec();
  LoadOptions options;
  options.allow_unread = config.unread_tensors();
  check_model_state(disk, directory, mapper, parameters, options);
}

std::vector<std::string> config_differences(const Disk& disk, const std::string& directory,
                                            const FamilyModel& config) {
  const std::string path = join_path(directory, "config.json");
  if (!disk.exists(path)) return {};
  using Json = nlohmann::ordered_json;
  Json theirs, ours = Json::parse(config.config_json());
  try {
    theirs = Json::parse(read_body_config(disk, path, config)->config_json());
  } catch (const Error& error) {
    return {error.what()};
  }
  std::vector<std::string> differences;
  // The other spelling of rope_scaling says the base as well; sizes are told by the weights' shapes.
  for (const char* key : {"rms_norm_eps", "rope_parameters", "num_experts_per_tok", "norm_topk_prob",
                          "max_position_embeddings", "pad_token_id"}) {
    const Json& there = theirs.contains(key) ? theirs[key] : Json();
    const Json& here = ours.contains(key) ? ours[key] : Json();
    if (there == here) continue;
    differences.push_back(
        fmt::format("{} says {} = {}, the job's model {}", path, key, there.dump(), here.dump()));
  }
  return differences;
}

LoadedModel load_hugging_face_model(const Disk& disk, const std::string& directory, at::ScalarType dtype) {
  LoadedModel model;
  model.config = read_hugging_face_config(directory);
  auto& ends = model.config->eos_token_ids;
  for (const std::int64_t id : special_tokens_in(disk, directory).eos) {
    if (std::find(ends.begin(), ends.end(), id) == ends.end()) ends.push_back(id);
  }
  BuildOptions options;
  options.dtype = dtype;
  model.stage = model.config->build_stage({}, options);
  load_hugging_face_weights(disk, directory, *model.config, {}, model.stage->parameters());
  load_hugging_face_buffers(disk, directory, *model.config, {}, model.stage->buffers());
  model.stage->set_training(false);
  return model;
}

void export_hugging_face(Disk& disk, const std::string& directory, const FamilyModel& config,
                         const std::function<at::Tensor(const std::string& name)>& read,
                         const SpecialTokens& tokens, std::uint64_t shard_bytes_max) {
  require_exportable_head(config);
  disk.make_directories(directory);
  const std::vector<TensorSpec> tensors = tensors_of(config);
  ExportOptions options;
  options.shard_bytes_max = shard_bytes_max;
  ModelWriter writer(disk, directory, config.parameters_to_folder(), tensors, options);
  for (const TensorSpec& tensor : tensors) {
    writer.put(tensor.name, on_host(read(tensor.name), scalar_type_of(tensor.dtype)));
  }
  write_text(disk, directory + "/config.json", config_with(config, tokens));
  publish_model_state(disk, directory, writer.finish());
}

}  // namespace d9d
