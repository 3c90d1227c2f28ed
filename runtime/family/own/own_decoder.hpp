#pragma once
// The base of a plugin's family of decoders, dense or with experts in some layers. A family derives from it a plain
// struct that says its defaults, its keys and, where they are not the usual ones, its layer, the layer's costs and the
// names of tensors in its folders; all else follows: every mesh, loading and export, adapters, heads, checkpointing,
// bfloat16, packed documents, generation, the estimate of `check`. examples/own_model is one. No torch.
//
// The usual layer: norm, attention, norm, SwiGLU or experts, as in a Qwen3 mixture; see make_layer() and
// nn/model/decoder_layer.hpp for others, make_attention() and make_feed_forward() for other blocks.
// Layers with experts: is_sparse_layer(); none while num_experts is 0.

#include "runtime/family/decoder_keys.hpp"  // IWYU pragma: export
#include "runtime/family/expert_keys.hpp"   // IWYU pragma: export
#include "runtime/family/sparse_decoder.hpp"

namespace d9d {

struct OwnDecoder : SparseDecoder {
  // What the folders call a tensor that the model calls `name`. Different names for different tensors; an expert's are
  // asked for one by one: model.layers.N.mlp.experts.E.gate_proj.weight [I, H]. Default: the same.
  virtual std::string in_folder(const std::string& name) const { return name; }

  void validate(const std::string& where) const override;
  // Every parameter and buffer of the model, under in_folder()'s names. A family whose folders hold other tensors puts
  // mappers (state/mapper) before or after it by sequential().
  std::shared_ptr<const StateMapper> from_hugging_face(const std::set<std::string>& stored) const override;
  std::shared_ptr<const StateMapper> to_hugging_face() const override;
  std::vector<FolderForm> folder_forms() const override;
  std::vector<std::string> unread_tensors(const std::set<std::string>& stored) const override;

  bool operator==(const OwnDecoder&) const = default;
};

}  // namespace d9d
