#include "runtime/provider/model_provider.hpp"

#include "runtime/base/error.hpp"
#include "runtime/nn/plan/replicate.hpp"
#include "runtime/nn/shard/stage_groups.hpp"
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

void ModelProvider::load_weights(const std::string& directory, StagePosition /*position*/,
                                 const std::vector<StageParameter>& /*parameters*/) const {
  throw Error(ErrorKind::input,
              fmt::format("this model cannot load weights from {}: its provider has no load_weights; "
                          "remove trainer.model_stage_factory.source_checkpoint",
                          directory));
}

void ModelProvider::load_buffers(const std::string& /*directory*/, StagePosition /*position*/,
                                 const std::vector<StageBuffer>& /*buffers*/) const {}

void ModelProvider::load_adapter(const std::vector<StageParameter>& /*parameters*/) const {}

std::vector<std::string> ModelProvider::check_source(const std::string& /*directory*/) const {
  return {};
}

void ModelProvider::export_model(const std::string& /*checkpoint*/, const std::string& target) const {
  throw Error(ErrorKind::input,
              fmt::format("this model cannot be exported to {}: its provider has no export_model; "
                          "remove export_to",
                          target));
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
