#include "kernels/attention/rope.hpp"

#include <ATen/ops/empty.h>

#include "kernels/graph/node.hpp"
#include "kernels/rows.hpp"
#include "kernels/run_op.hpp"

namespace d9d::kernels {
namespace {

constexpr int64_t width_max = 1024;  // of a head

// Heads [B, S, H, D] as rows [B S, H D], where they are a view of such.
at::Tensor token_rows(const at::Tensor& heads) {
  if (!has_dense_heads(heads)) return {};
  const int64_t width = heads.size(2) * heads.size(3);
  return heads.as_strided({heads.size(0) * heads.size(1), width}, {heads.stride(1), 1},
                          heads.storage_offset());
}

// Whether q, k and v are the columns of one projection. Queries with a gate are not, nor one of several key heads, nor
// heads that are too wide for the op.
bool are_side_by_side(const ProjectedHeads& heads) {
  BelowAutograd below;
  const auto& [q, k, v] = heads;
  return v.defined() && v.size(3) <= width_max &&
         joined_columns({token_rows(q), token_rows(k), token_rows(v)}).defined();
}

// Inputs: q, k, q_weight, k_weight (undefined for plain rope), and v if it passes through. Outputs: q, k, v.
// Saved if there are weights: q, k, the weights, 1 / rms of q's and k's heads.
class RopeNode : public BackwardNode {
 public:
  std::string name() const override { return "d9d::rope"; }
  RopeAngles angles;
  RopeStyle style = RopeStyle::half;
  double offset = 0;
  bool normed = false, with_v = false;

 protected:
  Gradients backward(Gradients grads) override {
    Gradients result(with_v ? 5 : 4);
    const at::Tensor none;
    const bool joint = with_v && grads[0].defined() && grads[1].defined() && grads[2].defined() && wants(0) &&
                       wants(1) && wants(4);
    if (joint) {
      // A turn by no angles copies dv: whoever made it knew no place for it.
      std::tie(result[0], result[1], result[4]) = side_by_side(grads);
      const RopeAngles no_angles{angles.cos.narrow(-1, 0, 0), angles.sin.narrow(-1, 0, 0)};
      run_op(&OpTable::rope_backward, result[4], grads[2], none, none, 0, none, no_angles, style);
    } else if (with_v) {
      result[4] = grads[2];
    }
    for (std::size_t i = 0; i < 2; ++i) {
      if (!grads[i].defined() || !(wants(i) || (normed && wants(i + 2)))) continue;
      if (!joint) result[i] = at::empty(grads[i].sizes(), grads[i].options());
      if (!normed) {
        run_op(&OpTable::rope_backward, result[i], grads[i], none, none, 0, none, angles, style);
        continue;
      }
      const at::Tensor weight = saved(i + 2);
      const at::Tensor dweight = run_op(&OpTable::rope_backward, result[i], grads[i], saved(i), weight,
                                        offset, saved(i + 4), angles, style);
      result[i + 2] = weight_gradient(i + 2, weight, dweight);
    }
    return result;
  }

 private:
  // Places for the gradients of q, k and v in one matrix.
  static std::tuple<at::Tensor, at::Tensor, at::Tensor> side_by_side(const Gradients& grads) {
    const auto width = [&](std::size_t i) { return grads[i].size(2) * grads[i].size(3); };
    const at::Tensor all =
        at::empty({grads[0].size(0), grads[0].size(1), width(0) + width(1) + width(2)}, grads[0].options());
    const auto part = [&](std::size_t i, int64_t column) {
      return all.narrow(-1, column, width(i)).view(grads[i].sizes());
    };
    return {part(0, 0), part(1, width(0)), part(2, width(0) + width(1))};
  }
};

void check(const ProjectedHeads& heads, const RopeAngles& angles) {
  const auto& [q, k, v] = heads;
  TORCH_CHECK(q.dim() == 4 && k.dim() == 4 && q.size(0) == k.size(0) && q.size(1) == k.size(1) &&
                  q.size(3) == k.size(3),
              "rope of q ", q.sizes(), " and k ", k.sizes(), ": expected [B, S, Hq, D] and [B, S, Hkv, D]");
  TORCH_CHECK(!v.defined() || (v.dim() == 4 && v.size(0) == q.size(0) && v.size(1) == q.size(1)),
              "rope of q ", q.sizes(), " and v ", v.sizes(), ": expected v [B, S, Hkv, Dv]");
  const auto& cos = angles.cos;
  const bool table = cos.dim() == 2 && cos.size(0) == q.size(1);
  const bool per_token = cos.dim() == 3 && cos.size(0) == q.size(0) && cos.size(1) == q.size(1);
  TORCH_CHECK((table || per_token) && cos.sizes() == angles.sin.sizes() && cos.size(-1) <= q.size(3) &&
                  cos.size(-1) % 2 == 0 && q.size(3) <= width_max,
              "rope of q ", q.sizes(), " with cos ", cos.sizes(), " and sin ", angles.sin.sizes(),
              ": expected both [S, R] or [B, S, R] with R even and at most D, and D at most ", width_max);
}

ProjectedHeads run(const ProjectedHeads& heads, const at::Tensor& q_weight, const at::Tensor& k_weight,
                   double eps, double offset, RopeAngles angles, RopeStyle style) {
  const auto& [q, k, v] = heads;
  check(heads, angles);
  const bool with_v = c10::GradMode::is_enabled() && are_side_by_side(heads);
  std::vector<at::Tensor> inputs{q, k, q_weight, k_weight};
  if (with_v) inputs.push_back(v);
  const auto node = node_for<RopeNode>(inputs);
  at::Tensor passed = v;
  RotatedHeads rotated_q, rotated_k;
  {
    BelowAutograd below;
    const auto dtype = sum_dtype(q.scalar_type());
    angles = {angles.cos.to(dtype).contiguous(), angles.sin.to(dtype).contiguous()};
    rotated_q = run_op(&OpTable::rope, q, q_weight, eps, offset, angles, style);
    rotated_k = run_op(&OpTable::rope, k, k_weight, eps, offset, angles, style);
    if (node && with_v) passed = v.detach();
  }
  if (node) {
    node->angles = angles;
    node->style = style;
    node->offset = offset;
    node->normed = q_weight.defined();
    node->with_v = with_v;
    if (node->normed) node->save({q, k, q_weight, k_weight, rotated_q.inverse, rotated_k.inverse});
    torch::autograd::set_history(rotated_q.rotated, node);
    torch::autograd::set_history(rotated_k.rotated, node);
    if (with_v) torch::autograd::set_history(passed, node);
  }
  return {rotated_q.rotated, rotated_k.rotated, passed};
}

}  // namespace

ProjectedHeads rope(const ProjectedHeads& heads, const at::Tensor& cos, const at::Tensor& sin,
                    RopeStyle style) {
  return run(heads, {}, {}, 0, 0, {cos, sin}, style);
}

std::tuple<at::Tensor, at::Tensor> rope(const at::Tensor& q, const at::Tensor& k, const at::Tensor& cos,
                                        const at::Tensor& sin, RopeStyle style) {
  const ProjectedHeads turned = rope({q, k, {}}, cos, sin, style);
  return {turned.q, turned.k};
}

ProjectedHeads qk_norm_rope(const ProjectedHeads& heads, const at::Tensor& q_weight,
                            const at::Tensor& k_weight, double eps, const at::Tensor& cos,
                            const at::Tensor& sin, RopeStyle style, bool zero_centered) {
  TORCH_CHECK(
      q_weight.dim() == 1 && q_weight.size(0) == heads.q.size(-1) && k_weight.sizes() == q_weight.sizes(),
      "qk_norm_rope of q ", heads.q.sizes(), " with weights ", q_weight.sizes(), " and ", k_weight.sizes(),
      ": expected [D] each");
  return run(heads, q_weight, k_weight, eps, zero_centered ? 1 : 0, {cos, sin}, style);
}

std::tuple<at::Tensor, at::Tensor> qk_norm_rope(const at::Tensor& q, const at::Tensor& k,
                                                const at::Tensor& q_weight, const at::Tensor& k_weight,
                                                double eps, const at::Tensor& cos, const at::Tensor& sin,
                                                RopeStyle style, bool zero_centered) {
  const ProjectedHeads turned =
      qk_norm_rope({q, k, {}}, q_weight, k_weight, eps, cos, sin, style, zero_centered);
  return {turned.q, turned.k};
}

}  // namespace d9d::kernels
