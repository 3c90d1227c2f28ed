#include "runtime/provider/model_provider.hpp"

#include "runtime/base/error.hpp"
#include "runtime/nn/plan/replicate.hpp"
#include "runtime/nn/shard/stage_groups.hpp"
#include "runtime/provider/mapped_folder.hpp"
#include "runtime/state/disk/disk.hpp"
#include "runtime/state/mapper/adapters.hpp"
#include "runtime/state/model/export_work.hpp"
#include "runtime/tensor/stage_module.hpp"

namespace d9d {

std::vector<StageParameter> ModelProvider::parallelize(StageModule& module, StageGroups& groups,
                                                       const ParallelOptions& /*options*/) const {
  const DeviceMeshParameters& mesh = groups.domains().parameters();
  D9D_REQUIRE(
      !mesh.has_data_parallel_shard() && mesh.context_parallel() == 1 && !mesh.has_tensor_parallel() &&
          !mesh.has_expert_parallel(),
      "this model has no plan for a mesh that shards parameters or splits samples: its provider has no "
      "parallelize; use pipeline_parallel and data_parallel_replicate only");
  StageParameters parameters = module.parameters();
  parallelize_replicate(parameters, groups.domains().mesh_for(dense_domain), dense_axes(), groups.rank());
  return parameters;
}

bool ModelProvider::starts_anew(const std::string& /*directory*/, const std::string& /*parameter*/) const {
  return false;
}

std::shared_ptr<const StateMapper> ModelProvider::load_mapper(const std::set<std::string>& stored) const {
  return identities(stored);
}

std::shared_ptr<const StateMapper> ModelProvider::export_mapper(const std::set<std::string>& names) const {
  return identities(names);
}

void ModelProvider::load_weights(const std::string& directory, StagePosition /*position*/,
                                 const std::vector<StageParameter>& parameters) const {
  load_mapped_weights(PosixDisk(), *this, directory, parameters);
}

void ModelProvider::load_buffers(const std::string& directory, StagePosition /*position*/,
                                 const std::vector<StageBuffer>& buffers) const {
  load_mapped_buffers(PosixDisk(), *this, directory, buffers);
}

void ModelProvider::load_adapter(const std::vector<StageParameter>& /*parameters*/) const {}

std::vector<std::string> ModelProvider::check_source(const std::string& directory) const {
  return check_mapped_folder(PosixDisk(), *this, directory);
}

void ModelProvider::export_model(const std::string& checkpoint, const std::string& target) const {
  PosixDisk disk;
  export_mapped(disk, *this, checkpoint, target);
}

void ModelProvider::export_share(const std::string& checkpoint, const std::string& target,
                                 const ExportWork& work) const {
  if (work.share.index == 0) export_model(checkpoint, target);
}

void ModelProvider::check_export(const ExportWork& /*work*/) const {}

void ModelProvider::export_adapter(const std::string& /*checkpoint*/, const std::string& target) const {
  throw Error(ErrorKind::input,
              fmt::format("there is no adapter to export to {}: the model has none, or its provider has no "
                          "export_adapter; remove export_adapter_to",
                          target));
}

nlohmann::json ModelProvider::hparams() const {
  return nlohmann::json::object();
}

}  // namespace d9d
