#include "kernels/embedding.hpp"

#include "kernels/graph/node.hpp"
#include "kernels/run_op.hpp"

namespace d9d::kernels {
namespace {

// Inputs: weight. Saved: rows, weight.
class EmbeddingNode : public BackwardNode {
 public:
  std::string name() const override { return "d9d::embedding"; }

 protected:
  Gradients backward(Gradients grads) override {
    if (!grads[0].defined()) return {{}};
    const at::Tensor weight = saved(1), grad = grads[0].reshape({-1, weight.size(1)}).contiguous();
    return {weight_gradient(0, weight, [rows = saved(0), grad](const at::Tensor& into, double beta) {
      run_op(&OpTable::embedding_dw, grad, rows, into, beta);
    })};
  }
};

}  // namespace

at::Tensor embedding_of_part(const at::Tensor& ids, const at::Tensor& weight, int64_t first,
                             int64_t vocab_size) {
  TORCH_CHECK(ids.scalar_type() == at::kLong && weight.dim() == 2 && weight.stride(1) == 1,
              "embedding of ids ", ids.scalar_type(), " with weight ", weight.sizes(),
              ": expected int64 ids and a weight [V, H] with dense rows");
  const auto node = node_for<EmbeddingNode>({weight});
  EmbeddedRows result;
  {
    BelowAutograd below;
    result = run_op(&OpTable::embedding, ids, weight, first, vocab_size);
  }
  if (node) {
    node->save({result.rows, weight});
    torch::autograd::set_history(result.embedded, node);
  }
  return result.embedded;
}

at::Tensor embedding(const at::Tensor& ids, const at::Tensor& weight) {
  return embedding_of_part(ids, weight, 0, weight.size(0));
}

}  // namespace d9d::kernels
