#include "runtime/task/hugging_face_model.hpp"

#include "runtime/base/error.hpp"
#include "runtime/family/hugging_face_config.hpp"
#include "runtime/nn/model/build_options.hpp"
#include "runtime/state/mapper/mapper.hpp"
#include "runtime/state/model_files.hpp"
#include "runtime/state/model_reader.hpp"
#include "runtime/state/model_writer.hpp"
#include "runtime/state/safetensors.hpp"

namespace d9d {
namespace {

at::ScalarType dtype_from(const std::string& name) {
  if (name == "bfloat16") return at::kBFloat16;
  return name == "float16" ? at::kHalf : at::kFloat;
}

std::vector<TensorSpec> parameters_of(const FamilyModel& config) {
  BuildOptions shapes_only;
  shapes_only.device = at::Device(at::kMeta);
  std::vector<TensorSpec> specs;
  for (const StageParameter& parameter : config.build_stage({}, shapes_only)->parameters()) {
    specs.push_back(spec_of(parameter.name, parameter.tensor.detach().to(dtype_from(config.dtype))));
  }
  return specs;
}

}  // namespace

void load_hugging_face_weights(const Disk& disk, const std::string& directory, const FamilyModel& config,
                               StagePosition position, const std::vector<StageParameter>& parameters) {
  const MapperPtr mapper = config.from_hugging_face(ModelFiles(disk, directory).names());
  std::map<std::string, Destination> destinations;
  for (const StageParameter& parameter : parameters) {
    destinations[parameter.name] = {parameter.tensor.detach(), parameter.layout.global_shape(),
                                    parameter.layout.local_slice()};
  }
  LoadOptions options;
  options.allow_unread = config.unread_tensors();
  options.part_of_model = position.num_stages > 1;
  load_model_state(disk, directory, mapper, destinations, options);
}

LoadedModel load_hugging_face_model(const Disk& disk, const std::string& directory, at::ScalarType dtype) {
  LoadedModel model;
  model.config = read_hugging_face_config(directory);
  BuildOptions options;
  options.dtype = dtype;
  model.stage = model.config->build_stage({}, options);
  load_hugging_face_weights(disk, directory, *model.config, {}, model.stage->parameters());
  model.stage->set_training(false);
  return model;
}

void export_hugging_face(Disk& disk, const std::string& directory, const FamilyModel& config,
                         const std::function<at::Tensor(const std::string& name)>& read,
                         std::uint64_t shard_bytes_max) {
  disk.make_directories(directory);
  const std::vector<TensorSpec> parameters = parameters_of(config);
  ExportOptions options;
  options.shard_bytes_max = shard_bytes_max;
  ModelWriter writer(disk, directory, config.to_hugging_face(), parameters, options);
  for (const TensorSpec& parameter : parameters) {
    writer.put(parameter.name, on_host(read(parameter.name), dtype_from(config.dtype)));
  }
  write_text(disk, directory + "/config.json", config.config_json());
  publish_model_state(disk, directory, writer.finish());
}

}  // namespace d9d
