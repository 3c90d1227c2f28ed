#pragma once
// Multi-token prediction in training (DeepSeek-V3, arXiv 2412.19437, section 2.2). Module k =
// 1 .. D predicts token i + k + 1 from token i + k and from the state of module k - 1 at
// token i. Module 0 is the model:
//   x_i   = eh_proj [enorm(Emb(t_(i+k))); hnorm(h_i^(k-1))]   (eq. 21, in the published weights' order)
//   h_i^k = norm(layer(x)_i)                                  (eq. 22)
//   P_i^k = head(h_i^k)                                       (eq. 23)
//   loss  = cross entropy of the model + factor / D * sum over k of that of P^k   (eq. 24, 25)
// Embedding and head are the model's. All means are over the tokens that the model predicts, as in eq. 24,
// although module k predicts up to k fewer. Module k has the names of layer num_hidden_layers + k - 1 of the
// model. Shared inputs: next_ids, next_labels int64 [B, S, D] (data/next_tokens.hpp).

#include <functional>
#include <vector>

#include "runtime/nn/block/head.hpp"
#include "runtime/nn/model/decoder_layer.hpp"
#include "runtime/nn/size/model_description.hpp"

namespace d9d {

// Of the losses of tokens and their labels, [B, S] both: fp32 [2] without gradient, the sum of the losses and how many
// labels count.
at::Tensor sum_and_count(const at::Tensor& losses, const at::Tensor& labels);

// The parts of the model that the modules use.
struct PredictingModel {
  // ids int64 [N, S] -> this rank's tokens [N, S / ranks, H]; computed within `unit`.
  std::function<at::Tensor(const at::Tensor& ids, const Unit& unit)> embed;
  // `token_mask`: of this depth's tokens, see FeedForward; undefined: the mask of the model's own tokens.
  std::function<Residual(const std::shared_ptr<DecoderLayer>& layer, const at::Tensor& x,
                         const at::Tensor& token_mask)>
      run_layer;
  const Head& head;
  at::Tensor token_masks = {};  // next_token_mask() of all depths
};

class MultiTokenPrediction {
 public:
  // Makes the modules as children of `layers`. Unit hooks may be set until the object is destroyed.
  MultiTokenPrediction(ParameterMaker& make, torch::nn::Module& layers, const ModelDescription& model,
                       const MakeLayer& make_layer);

  std::int64_t depths() const { return static_cast<std::int64_t>(modules_.size()); }
  // The layers of the modules, in order.
  std::vector<std::shared_ptr<DecoderLayer>> layers() const;
  // `tables`, `head`: the weights of embedding and head.
  std::vector<UnitUse> unit_uses(const std::vector<at::Tensor>& tables, const std::vector<at::Tensor>& head);

  // Adds the modules' losses to the outputs of the model's own head: to cross_entropy [B, S] of labels [B,
  // S]. `normed`: the state that this head read. Also adds the output depth_losses, fp32 [D + 1, 2], without
  // gradient: for the model and each module the sum of the losses and the number of tokens that count. Input
  // error when the shared inputs lack next_ids or next_labels.
  void add_losses(TensorMap& outputs, at::Tensor normed, const TensorMap& shared,
                  const PredictingModel& model) const;

 private:
  struct Depth {
    std::shared_ptr<DecoderLayer> layer;  // owns the others
    std::shared_ptr<RmsNorm> enorm, hnorm;
    std::shared_ptr<Linear> eh_proj;
    std::shared_ptr<RmsNorm> norm;
    std::int64_t index = 0;  // of the layer
    Unit unit;               // all of the above
    Unit head_unit;
  };
  static at::Tensor run(const Depth& module, const at::Tensor& embedded, const at::Tensor& hidden,
                        const PredictingModel& model, const at::Tensor& token_mask);

  std::vector<Depth> modules_;
  Unit embedding_unit_;
  double factor_;  // of the sum of the modules' losses
};

}  // namespace d9d
