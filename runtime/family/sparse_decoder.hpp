#pragma once
// What families of decoders with experts share beside dense_decoder.hpp: a layer's feed-forward block is a
// mixture of experts, with a shared expert where the family has one, or dense. No torch.

#include "runtime/family/dense_decoder.hpp"

namespace d9d {

enum class ExpertStorage;  // expert_tensors.hpp

struct SparseDecoder : DenseDecoder {
  std::int64_t moe_intermediate_size = 0;  // of one expert; intermediate_size is that of dense layers
  std::int64_t shared_expert_intermediate_size = 0;  // 0: no shared expert
  std::int64_t num_experts = 0;
  std::int64_t num_experts_per_tok = 0;
  bool norm_topk_prob = false;  // divide the chosen probabilities by their sum
  // A layer is sparse unless it is listed in mlp_only_layers or (index + 1) % decoder_sparse_step != 0.
  std::int64_t decoder_sparse_step = 1;
  std::vector<std::int64_t> mlp_only_layers;
  double router_aux_loss_coef = 0;  // weight of the load balancing loss; 0: the loss is without it
  double router_z_loss_coef = 0;    // weight of the routers' z-loss

  virtual bool is_sparse_layer(std::int64_t layer) const;
  virtual MoeOptions moe() const;

  std::int64_t experts_per_layer() const override { return num_experts; }
  bool fixes_expert_weights() const override;
  BalanceOptions balance() const override;
  BlockCosts layer(std::int64_t index, int ranks = 1) const override;
  void require_tensor_parallel(int ranks) const override;
  void validate(const std::string& where) const override;
  // A mixture of experts where is_sparse_layer() says so.
  std::shared_ptr<FeedForward> make_feed_forward(ParameterMaker& make, torch::nn::Module& layer,
                                                 std::int64_t index) const override;
  std::shared_ptr<const StateMapper> from_hugging_face(const std::set<std::string>& stored) const override;
  // The tensors of a layer outside of its feed-forward block; those of a block with experts beside the
  // experts themselves, without the block's name. As a folder and the model name them.
  virtual std::vector<std::string> tensors_outside_mlp(std::int64_t layer) const;
  virtual std::vector<std::string> tensors_beside_experts() const;
  // Writes the experts one by one.
  std::shared_ptr<const StateMapper> to_hugging_face() const override;
  // Experts one by one, or fused under the names that transformers 5 gives its modules.
  std::vector<FolderForm> folder_forms() const override;

  bool operator==(const SparseDecoder&) const = default;

 protected:
  // What a folder calls the block with the experts, "mlp" here, its router, "gate" here, and the projections of an
  // expert.
  struct StoredNames {
    std::string block = "mlp", router = "gate";
    std::string gate = "gate_proj", up = "up_proj", down = "down_proj";
    // None: as the names of a folder say, and one by one in an export.
    std::optional<ExpertStorage> experts = {};
  };
  virtual StoredNames names_in(const std::set<std::string>& stored) const;
  virtual StoredNames names_of_export() const { return {}; }

 private:
  template <class Add>
  void for_equal_tensors(const std::vector<std::int64_t>& layers, const StoredNames& names, Add add) const;
  std::shared_ptr<const StateMapper> to_folder(const StoredNames& names, bool fused) const;
};

}  // namespace d9d
