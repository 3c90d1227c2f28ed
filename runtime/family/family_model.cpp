#include "runtime/family/family_model.hpp"

#include "runtime/nn/model/build_options.hpp"
#include "runtime/nn/plan/causal_lm_plan.hpp"
#include "runtime/tensor/stage_module.hpp"
#include "runtime/tensor/torch_dtype.hpp"

namespace d9d {

std::vector<StageParameter> FamilyModel::parallelize(StageModule& stage, StageGroups& groups,
                                                     const ParallelOptions& options) const {
  return parallelize_causal_lm(stage, groups, options);
}

std::unique_ptr<StageModule> FamilyModel::build_shapes(Dtype element) const {
  BuildOptions options{.dtype = scalar_type_of(element)};
  options.device = at::Device(at::kMeta);
  return build_stage({}, options);
}

std::vector<FolderForm> FamilyModel::folder_forms() const {
  return {{"hugging_face", "as `d9d-node export` writes it, without copies of tied weights and old buffers",
           to_hugging_face()}};
}

std::vector<std::string> FamilyModel::unread_tensors() const {
  std::vector<std::string> patterns = {"model.layers.*.self_attn.rotary_emb.inv_freq",
                                       "model.rotary_emb.inv_freq"};
  if (tie_word_embeddings) patterns.emplace_back("lm_head.weight");
  return patterns;
}

AttentionOptions FamilyModel::attention_of(std::int64_t layer) const {
  AttentionOptions options = attention();
  options.window = windows.of(layer);
  return options;
}

}  // namespace d9d
