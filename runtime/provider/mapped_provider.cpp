#include "runtime/provider/mapped_provider.hpp"

#include <map>

#include "runtime/base/error.hpp"
#include "runtime/provider/load_from_folder.hpp"
#include "runtime/state/checkpoint/checkpoint_source.hpp"
#include "runtime/state/checkpoint/manifest.hpp"
#include "runtime/state/convert/model_converter.hpp"
#include "runtime/state/disk/disk.hpp"
#include "runtime/state/mapper/adapters.hpp"
#include "runtime/state/mapper/mapper.hpp"
#include "runtime/state/model/model_files.hpp"
#include "runtime/state/model/model_reader.hpp"
#include "runtime/state/model/publish_model.hpp"
#include "runtime/tensor/stage_module.hpp"

namespace d9d {

MapperPtr MappedProvider::load_mapper(const Names& stored) const {
  return identities(stored);
}

MapperPtr MappedProvider::export_mapper(const Names& names) const {
  return identities(names);
}

void MappedProvider::load_weights(const std::string& directory, StagePosition /*position*/,
                                  const std::vector<StageParameter>& parameters) const {
  if (parameters.empty()) return;
  const PosixDisk disk;
  // Buffers and other stages' parameters have calls of their own.
  load_from_folder(disk, directory, load_mapper(ModelFiles(disk, directory).names()), parameters,
                   {.part_of_model = true});
}

void MappedProvider::load_buffers(const std::string& directory, StagePosition position,
                                  const std::vector<StageBuffer>& buffers) const {
  if (buffers.empty()) return;
  const Names made = outputs_of(*load_mapper(ModelFiles(PosixDisk(), directory).names()));
  std::vector<StageParameter> tensors;
  for (const StageBuffer& buffer : buffers)
    if (made.contains(buffer.name)) tensors.push_back(as_parameter(buffer));
  MappedProvider::load_weights(directory, std::move(position), tensors);
}

std::vector<std::string> MappedProvider::check_source(const std::string& directory) const {
  const PosixDisk disk;
  const MapperPtr mapper = load_mapper(ModelFiles(disk, directory).names());
  std::unique_ptr<StageModule> whole;
  try {
    whole = build_stage({.device = "meta"});
  } catch (const std::exception& error) {
    return {
        fmt::format("{} is not compared with the model, whose stage cannot be built without memory "
                    "(position.device is \"meta\"): {}",
                    directory, error.what())};
  }
  std::map<std::string, Shape> parameters;
  for (const StageParameter& parameter : whole->parameters()) {
    if (!parameter.of_adapter && !starts_anew(directory, parameter.name))
      parameters[parameter.name] = parameter.layout.global_shape();
  }
  Names known;
  for (const StageBuffer& buffer : whole->buffers()) known.insert(buffer.name);
  const bool has_buffers = !known.empty();
  for (const auto& [name, shape] : parameters) known.insert(name);
  for (const std::string& made : outputs_of(*mapper)) {
    D9D_REQUIRE(
        known.contains(made),
        "{}: the model has no parameter or buffer \"{}\", which its load_mapper makes of the folder's "
        "tensors; it has {}",
        directory, made, to_text(known));
  }
  check_model_state(disk, directory, mapper, parameters, {.part_of_model = has_buffers});
  return {};
}

void MappedProvider::export_model(const std::string& checkpoint, const std::string& target) const {
  PosixDisk disk;
  const auto reader = CheckpointReader::open(disk, checkpoint);
  std::vector<std::string> names;
  for (const char* const kind : {parameter_kind, buffer_kind})
    for (const TensorSpec& spec : reader->specs(kind)) names.push_back(spec.name);
  const CheckpointSource parameters(*reader, parameter_kind);
  const WithBuffers all(parameters, *reader);
  const MapperPtr mapper = export_mapper({names.begin(), names.end()});
  disk.make_directories(target);
  const auto shards = convert_model_state(all, *mapper, groups_in_order(*mapper, names), disk, target, {});
  publish_model_state(disk, target, shards, {});
}

}  // namespace d9d
