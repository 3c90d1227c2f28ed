#include "kernels/attention/rope.hpp"

#include "kernels/graph/node.hpp"
#include "kernels/rows.hpp"
#include "kernels/run_op.hpp"

namespace d9d::kernels {
namespace {

// Inputs: q, k, q_weight, k_weight (undefined for plain rope).
// Saved if there are weights: q, k, the weights, 1 / rms of q's and k's heads.
class RopeNode : public BackwardNode {
 public:
  std::string name() const override { return "d9d::rope"; }
  RopeAngles angles;
  RopeStyle style = RopeStyle::half;
  double offset = 0;
  bool normed = false;

 protected:
  Gradients backward(Gradients grads) override {
    Gradients result(4);
    for (std::size_t i = 0; i < 2; ++i) {
      if (!grads[i].defined() || !(wants(i) || (normed && wants(i + 2)))) continue;
      if (!normed) {
        const at::Tensor none;
        result[i] = run_op(&OpTable::rope_backward, grads[i], none, none, 0, none, angles, style).dx;
        continue;
      }
      const at::Tensor weight = saved(i + 2);
      const auto back =
          run_op(&OpTable::rope_backward, grads[i], saved(i), weight, offset, saved(i + 4), angles, style);
      result[i] = back.dx;
      result[i + 2] = weight_gradient(i + 2, weight, back.dweight);
    }
    return result;
  }
};

void check(const at::Tensor& q, const at::Tensor& k, const RopeAngles& angles) {
  TORCH_CHECK(q.dim() == 4 && k.dim() == 4 && q.size(0) == k.size(0) && q.size(1) == k.size(1) &&
                  q.size(3) == k.size(3),
              "rope of q ", q.sizes(), " and k ", k.sizes(), ": expected [B, S, Hq, D] and [B, S, Hkv, D]");
  const auto& cos = angles.cos;
  const bool table = cos.dim() == 2 && cos.size(0) == q.size(1);
  const bool per_token = cos.dim() == 3 && cos.size(0) == q.size(0) && cos.size(1) == q.size(1);
  TORCH_CHECK((table || per_token) && cos.sizes() == angles.sin.sizes() && cos.size(-1) <= q.size(3) &&
                  cos.size(-1) % 2 == 0 && q.size(3) <= 1024,
              "rope of q ", q.sizes(), " with cos ", cos.sizes(), " and sin ", angles.sin.sizes(),
              ": expected both [S, R] or [B, S, R] with R even and at most D, and D at most 1024");
}

std::tuple<at::Tensor, at::Tensor> run(const at::Tensor& q, const at::Tensor& k, const at::Tensor& q_weight,
                                       const at::Tensor& k_weight, double eps, double offset,
                                       RopeAngles angles, RopeStyle style) {
  check(q, k, angles);
  const auto node = node_for<RopeNode>({q, k, q_weight, k_weight});
  RotatedHeads rotated_q, rotated_k;
  {
    BelowAutograd below;
    const auto dtype = sum_dtype(q.scalar_type());
    angles = {angles.cos.to(dtype).contiguous(), angles.sin.to(dtype).contiguous()};
    rotated_q = run_op(&OpTable::rope, q, q_weight, eps, offset, angles, style);
    rotated_k = run_op(&OpTable::rope, k, k_weight, eps, offset, angles, style);
  }
  if (node) {
    node->angles = angles;
    node->style = style;
    node->offset = offset;
    node->normed = q_weight.defined();
    if (node->normed) node->save({q, k, q_weight, k_weight, rotated_q.inverse, rotated_k.inverse});
    torch::autograd::set_history(rotated_q.rotated, node);
    torch::autograd::set_history(rotated_k.rotated, node);
  }
  return {rotated_q.rotated, rotated_k.rotated};
}

}  // namespace

std::tuple<at::Tensor, at::Tensor> rope(const at::Tensor& q, const at::Tensor& k, const at::Tensor& cos,
                                        const at::Tensor& sin, RopeStyle style) {
  return run(q, k, {}, {}, 0, 0, {cos, sin}, style);
}

std::tuple<at::Tensor, at::Tensor> qk_norm_rope(const at::Tensor& q, const at::Tensor& k,
                                                const at::Tensor& q_weight, const at::Tensor& k_weight,
                                                double eps, const at::Tensor& cos, const at::Tensor& sin,
                                                RopeStyle style, bool zero_centered) {
  TORCH_CHECK(q_weight.dim() == 1 && q_weight.size(0) == q.size(-1) && k_weight.sizes() == q_weight.sizes(),
              "qk_norm_rope of q ", q.sizes(), " with weights ", q_weight.sizes(), " and ", k_weight.sizes(),
              ": expected [D] each");
  return run(q, k, q_weight, k_weight, eps, zero_centered ? 1 : 0, {cos, sin}, style);
}

}  // namespace d9d::kernels
