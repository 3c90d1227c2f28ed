#include "runtime/task/hugging_face_model.hpp"

#include "runtime/base/error.hpp"
#include "runtime/nn/hugging_face_config.hpp"
#include "runtime/state/model_files.hpp"
#include "runtime/state/model_reader.hpp"
#include "runtime/state/model_writer.hpp"
#include "runtime/state/qwen3_mappers.hpp"
#include "runtime/state/safetensors.hpp"

namespace d9d {
namespace {

Qwen3Tensors tensors_of(const Qwen3Config& config) {
  Qwen3Tensors tensors;
  for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    tensors.sparse_layers.push_back(config.is_sparse_layer(layer));
  }
  tensors.num_experts = config.num_experts;
  tensors.attention_bias = config.attention_bias;
  tensors.tied_embeddings = config.tie_word_embeddings;
  return tensors;
}

at::ScalarType dtype_from(const std::string& name) {
  if (name == "bfloat16") return at::kBFloat16;
  return name == "float16" ? at::kHalf : at::kFloat;
}

std::vector<TensorSpec> parameters_of(const Qwen3Config& config) {
  Qwen3Options shapes_only;
  shapes_only.device = at::Device(at::kMeta);
  std::vector<TensorSpec> specs;
  for (const StageParameter& parameter : build_qwen3_stage(config, {}, shapes_only)->parameters()) {
    specs.push_back(spec_of(parameter.name, parameter.tensor.detach().to(dtype_from(config.dtype))));
  }
  return specs;
}

}  // namespace

void load_hugging_face_weights(const Disk& disk, const std::string& directory, const Qwen3Config& config,
                               StagePosition position, const std::vector<StageParameter>& parameters) {
  const Qwen3Tensors tensors = tensors_of(config);
  const ExpertStorage storage = expert_storage_of(ModelFiles(disk, directory).names());
  std::map<std::string, Destination> destinations;
  for (const StageParameter& parameter : parameters) {
    destinations[parameter.name] = {parameter.tensor.detach(), parameter.layout.global_shape(),
                                    parameter.layout.local_slice()};
  }
  LoadOptions options;
  options.allow_unread = qwen3_unread_tensors(tensors);
  options.part_of_model = position.num_stages > 1;
  load_model_state(disk, directory, qwen3_from_hugging_face(tensors, storage), destinations, options);
}

LoadedModel load_hugging_face_model(const Disk& disk, const std::string& directory, at::ScalarType dtype) {
  LoadedModel model;
  model.config = read_hugging_face_config(directory);
  Qwen3Options options;
  options.dtype = dtype;
  model.stage = build_qwen3_stage(model.config, {}, options);
  load_hugging_face_weights(disk, directory, model.config, {}, model.stage->parameters());
  model.stage->set_training(false);
  return model;
}

void export_hugging_face(Disk& disk, const std::string& directory, const Qwen3Config& config,
                         const std::function<at::Tensor(const std::string& name)>& read,
                         std::uint64_t shard_bytes_max) {
  disk.make_directories(directory);
  const std::vector<TensorSpec> parameters = parameters_of(config);
  ExportOptions options;
  options.shard_bytes_max = shard_bytes_max;
  ModelWriter writer(disk, directory, qwen3_to_hugging_face(tensors_of(config)), parameters, options);
  for (const TensorSpec& parameter : parameters) {
    writer.put(parameter.name, on_host(read(parameter.name), dtype_from(config.dtype)));
  }
  write_text(disk, directory + "/config.json", format_hugging_face_config(config));
  publish_model_state(disk, directory, writer.finish());
}

}  // namespace d9d
