#include "runtime/provider/mapped_provider.hpp"

#include <map>

#include "runtime/base/error.hpp"
#include "runtime/base/log.hpp"
#include "runtime/state/checkpoint/checkpoint_source.hpp"
#include "runtime/state/checkpoint/manifest.hpp"
#include "runtime/state/convert/model_converter.hpp"
#include "runtime/state/disk/disk.hpp"
#include "runtime/state/mapper/adapters.hpp"
#include "runtime/state/mapper/mapper.hpp"
#include "runtime/state/model/model_files.hpp"
#include "runtime/state/model/model_reader.hpp"
#include "runtime/tensor/stage_module.hpp"

namespace d9d {
namespace {

using Destinations = std::map<std::string, Destination>;

Destination destination_of(const at::Tensor& tensor, const Layout& layout) {
  return {tensor.detach(), layout.global_shape(), layout.local_slice()};
}

// `destinations` may be a part of what the mapper makes: those of a stage, parameters without buffers.
void load(const Disk& disk, const std::string& directory, const MapperPtr& mapper,
          const Destinations& destinations) {
  if (destinations.empty()) return;
  const LoadReport report = load_model_state(disk, directory, mapper, destinations, {.part_of_model = true});
  const std::string not_finite = not_finite_text(disk, directory, report.not_finite);
  if (!not_finite.empty()) log::warn("{}", not_finite);
}

}  // namespace

MapperPtr MappedProvider::load_mapper(const Names& stored) const {
  return identities(stored);
}

MapperPtr MappedProvider::export_mapper(const Names& names) const {
  return identities(names);
}

void MappedProvider::load_weights(const std::string& directory, StagePosition /*position*/,
                                  const std::vector<StageParameter>& parameters) const {
  const PosixDisk disk;
  Destinations destinations;
  for (const StageParameter& parameter : parameters)
    destinations[parameter.name] = destination_of(parameter.tensor, parameter.layout);
  load(disk, directory, load_mapper(ModelFiles(disk, directory).names()), destinations);
}

void MappedProvider::load_buffers(const std::string& directory, StagePosition /*position*/,
                                  const std::vector<StageBuffer>& buffers) const {
  if (buffers.empty()) return;
  const PosixDisk disk;
  const MapperPtr mapper = load_mapper(ModelFiles(disk, directory).names());
  const Names made = outputs_of(*mapper);
  Destinations destinations;
  for (const StageBuffer& buffer : buffers) {
    const Layout whole = Layout::local(buffer.tensor.sizes().vec());
    if (made.contains(buffer.name))
      destinations[buffer.name] = destination_of(buffer.tensor, buffer.layout.value_or(whole));
  }
  load(disk, directory, mapper, destinations);
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
