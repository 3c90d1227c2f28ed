#pragma once
// What a pipeline stage runs: the only view the rest of the framework has of a model.
// A model is a torch::nn::Module that builds only its stage's layers and implements this.
//
// Names of the built-in language models (a user's model may choose its own):
//   first stage in   input_ids     int64 [B, S]
//   between stages   hidden_states dtype of the model [B, S, H]
//                    router_sums, of models with a balance loss in training (nn/model/router_balance.hpp)
//   shared           position_ids  int64 [B, S]; labels int64 [B, S], already shifted, -100 = ignored;
//                    sequence_length int64 [] where ranks share sequences (rank/context_split.hpp);
//                    document_starts int64 [B, S] where rows hold several documents
//                    (nn/model/document_starts.hpp): the model must not let them see each other
//                    token_mask bool [B, S] where rows are filled up (nn/model/token_mask.hpp)
//   last stage out   with labels: cross_entropy fp32 [B, S], 0 where ignored
//                    without labels: logits [B, S, V]

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/tensor/layout.hpp"
#include "runtime/tensor/parameter_role.hpp"
#include "runtime/tensor/sharded_unit.hpp"
#include "runtime/tensor/tensor_map.hpp"

namespace d9d {

// How a parameter starts when no checkpoint gives it.
struct Initial {
  enum class Kind { normal, constant, uniform, log_uniform };
  Kind kind = Kind::normal;
  // Standard deviation; the constant; b of the range [-b, b); log_uniform: b of the logarithm of [b / 1600, b)
  float value = 0.02F;
};

// One parameter of a stage. `tensor` is the local block described by `layout`; the owner may replace its
// storage (flat buffers) as long as the tensor object stays the same.
struct StageParameter {
  std::string name;  // global: the same on every mesh
  at::Tensor tensor;
  Layout layout;
  Initial initial;
  // The unit it is gathered with, when `tensor` is only a shard of what the module computes with.
  std::shared_ptr<ShardedUnit> unit = {};
  // Added to the model by an adapter: folders of the model's weights do not hold it.
  bool of_adapter = false;
  ParameterRole role = ParameterRole::unsaid;
};

// A tensor that is part of the trained model but gets no gradient: running statistics, a counter. It is what
// torch's register_buffer() registers with persistent=True. Checkpoints keep it, a resume on any mesh
// restores its bits, and export_model() finds it in the checkpoint.
//
// forward() may write to it, in place or by a new tensor. Several ranks hold the same buffer, and their
// copies may differ within a step, because each rank sees other samples. After each update all of them get
// the copy of the first rank (coordinate 0 on the axes on which the buffer is replicated), as with torch's
// DDP. It is the same with FSDP and ZeRO-1, which do not shard buffers.
struct StageBuffer {
  std::string name;   // global: the same on every mesh, and no other buffer's
  at::Tensor tensor;  // integers and bool too; build_stage() gives it the first values
  // Of a buffer that the module's parallelize() has split: the shards, the other axes may be left out. None:
  // every rank of the stage holds the whole tensor.
  std::optional<Layout> layout = {};
};

class StageModule {
 public:
  virtual ~StageModule() = default;

  // One microbatch. `inputs` is the pipeline input on the first stage, else the transfer of the stage before.
  // Called on the stage's compute thread; differentiable unless gradients are off.
  virtual TensorMap forward(const TensorMap& inputs, const TensorMap& shared) = 0;

  // In definition order, the same order on every rank of a stage. Tied parameters appear once.
  virtual std::vector<StageParameter> parameters() = 0;
  // What parameters() returns afterwards: adapters added theirs to the modules, before anything is sharded.
  // Default: an input error, the model takes no adapters.
  virtual void set_parameters(std::vector<StageParameter> parameters);

  // The persistent buffers, in the same order on every rank of a stage. Called between two steps, on the
  // stage's compute thread; what is loaded is written into the tensors that it returns. Tensors that the
  // module can compute anew (tables of positions, masks) are not among them.
  virtual std::vector<StageBuffer> buffers() { return {}; }

  virtual void set_training(bool training) = 0;
};

}  // namespace d9d
