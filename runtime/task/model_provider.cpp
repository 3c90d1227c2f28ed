#include "runtime/task/model_provider.hpp"

#include "runtime/base/error.hpp"

namespace d9d {

void ModelProvider::load_weights(const std::string& directory, StagePosition /*position*/,
                                 StageModule& /*module*/) const {
  throw Error(ErrorKind::input, fmt::format("this model cannot load weights from {}: its provider has no load_weights; "
                                            "remove trainer.model_stage_factory.source_checkpoint",
                                            directory));
}

void ModelProvider::export_model(const std::string& /*checkpoint*/, const std::string& target) const {
  throw Error(ErrorKind::input, fmt::format("this model cannot be exported to {}: its provider has no export_model; "
                                            "remove export_to",
                                            target));
}

nlohmann::json ModelProvider::hparams() const {
  return nlohmann::json::object();
}

}  // namespace d9d
