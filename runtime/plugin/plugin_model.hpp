#pragma once
// A plugin's model, watched: what its functions throw names the model and the function, and is no bug of d9d. No torch.

#include <memory>
#include <string>
#include <vector>

#include "runtime/provider/model_provider.hpp"

namespace d9d {

class PluginModel final : public ModelProvider {
 public:
  // Input error for no model.
  PluginModel(std::string name, std::shared_ptr<const ModelProvider> inner);

  // Input error where it makes no stage.
  std::unique_ptr<StageModule> build_stage(StagePosition position) const override;
  std::vector<StageParameter> parallelize(StageModule& module, StageGroups& groups,
                                          const ParallelOptions& options) const override;
  bool starts_anew(const std::string& directory, const std::string& parameter) const override;
  void load_weights(const std::string& directory, StagePosition position,
                    const std::vector<StageParameter>& parameters) const override;
  void load_buffers(const std::string& directory, StagePosition position,
                    const std::vector<StageBuffer>& buffers) const override;
  void load_adapter(const std::vector<StageParameter>& parameters) const override;
  std::vector<std::string> check_source(const std::string& directory) const override;
  void export_model(const std::string& checkpoint, const std::string& target) const override;
  void export_share(const std::string& checkpoint, const std::string& target,
                    const ExportWork& work) const override;
  std::optional<std::int64_t> vocab_size() const override;
  void check_export(const ExportWork& work) const override;
  void export_adapter(const std::string& checkpoint, const std::string& target) const override;
  void register_events(RankEvents& events) const override;
  nlohmann::json hparams() const override;

 private:
  const std::string name_;
  const std::shared_ptr<const ModelProvider> inner_;
};

}  // namespace d9d
