#pragma once
// The model of a pipeline stage, as the rest of the framework sees it. A model is a torch::nn::Module that
// builds only its stage's layers and implements this interface.
//
// Names of the built-in language models (a user's model may choose its own):
//   first stage in   input_ids     int64 [B, S]
//   between stages   hidden_states dtype of the model [B, S, H]
//                    router_sums, of models with a balance loss in training (nn/model/router_balance.hpp)
//   shared           position_ids  int64 [B, S]; labels int64 [B, S], already shifted, -100 = ignored;
//                    sequence_length int64 [] where ranks share sequences (rank/feed/context_split.hpp);
//                    document_starts int64 [B, S] where rows hold several documents
//                    (nn/model/document_starts.hpp): the model must not let them see each other
//                    token_mask bool [B, S] where rows are filled up: false for what fills them
//   last stage out   with labels: cross_entropy fp32 [B, S], 0 where ignored
//                    without labels: logits [B, S, V]

#include <ATen/core/Tensor.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/tensor/layout.hpp"
#include "runtime/tensor/parameter_role.hpp"
#include "runtime/tensor/sharded_unit.hpp"
#include "runtime/tensor/tensor_map.hpp"

namespace d9d {

// The initial values of a parameter that is not loaded from a checkpoint.
struct Initial {
  enum class Kind { normal, constant, uniform, log_uniform };
  Kind kind = Kind::normal;
  // normal: the standard deviation. constant: the constant. uniform: b of the range [-b, b).
  // log_uniform: b; values are logarithms of numbers drawn uniformly from [b / 1600, b).
  float value = 0.02F;
};

// One parameter of a stage. `tensor` is the local block that `layout` describes. Its storage may be replaced
// (flat buffers), but the tensor object stays the same.
struct StageParameter {
  std::string name;  // global: the same on every mesh
  at::Tensor tensor;
  Layout layout;
  Initial initial;
  // Set if `tensor` is only a shard: the unit with which it is gathered for the module.
  std::shared_ptr<ShardedUnit> unit = {};
  // Whether an adapter has added it to the model, so that folders of the model's weights do not contain it.
  bool of_adapter = false;
  ParameterRole role = ParameterRole::unsaid;
};

// A tensor that is part of the trained model but has no gradient: running statistics, a counter. It is what
// torch's register_buffer() registers with persistent=True. Checkpoints contain it, a resume on any mesh
// restores its bits, and export_model() finds it in the checkpoint.
//
// forward() may write to it, in place or by a new tensor. Several ranks hold the same buffer, and their
// copies may differ within a step, because each rank sees other samples. After each update all of them get
// the copy of the first rank (coordinate 0 on the axes on which the buffer is replicated), as with torch's
// DDP, also with FSDP and ZeRO-1, which do not shard buffers.
struct StageBuffer {
  std::string name;   // global: the same on every mesh, and no other buffer's
  at::Tensor tensor;  // integers and bool too; build_stage() gives it the first values
  // Set if the module's parallelize() has split the buffer. It needs only the axes that shard it. None:
  // every rank of the stage holds the whole tensor.
  std::optional<Layout> layout = {};
};

class StageModule {
 public:
  virtual ~StageModule() = default;

  // Computes one microbatch. `inputs`: the pipeline input on the first stage, otherwise the
  // transfer of the stage before. The result is differentiable unless gradients are off. Called on
  // the stage's compute thread.
  virtual TensorMap forward(const TensorMap& inputs, const TensorMap& shared) = 0;

  // Returns the parameters in definition order, the same on every rank of a stage.
  // Tied parameters appear once.
  virtual std::vector<StageParameter> parameters() = 0;
  // Sets the list that parameters() returns afterwards. Called when adapters have added their parameters,
  // before anything is sharded. Default: throws an input error, because the model supports no adapters.
  virtual void set_parameters(std::vector<StageParameter> parameters);

  // Returns the persistent buffers, in the same order on every rank of a stage. Loaded values are written
  // into these tensors. Leave out tensors that the module can compute anew (tables of positions, masks).
  // Called between two steps, on the stage's compute thread.
  virtual std::vector<StageBuffer> buffers() { return {}; }

  virtual void set_training(bool training) = 0;
};

}  // namespace d9d
