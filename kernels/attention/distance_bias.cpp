#include "kernels/attention/distance_bias.hpp"

#include <ATen/ops/mm.h>

#include <algorithm>
#include <cmath>

#include "kernels/graph/node.hpp"
#include "kernels/rows.hpp"

namespace d9d::kernels {
namespace {

// Inputs: the table. Saved: table, one_hot.
class BucketNode : public BackwardNode {
 public:
  std::string name() const override { return "d9d::bucketed_bias"; }

 protected:
  Gradients backward(Gradients grads) override {
    if (!grads[0].defined()) return Gradients(1);
    const at::Tensor of_columns = grads[0].flatten(0, 2), one_hot = saved(1);  // [H, W], [N, W]
    return {weight_gradient(0, saved(0), [of_columns, one_hot](const at::Tensor& into, double beta) {
      put(at::mm(one_hot, of_columns.t()), into, beta);
    })};
  }
};

}  // namespace

std::vector<double> alibi_slopes(int64_t heads) {
  TORCH_CHECK(heads > 0, "ALiBi of ", heads, " heads, expected at least 1");
  int64_t power = 1;
  while (power * 2 <= heads) power *= 2;
  std::vector<double> slopes;
  const auto slope = [](int64_t i, int64_t of) {
    return std::exp2(-8.0 * static_cast<double>(i) / static_cast<double>(of));
  };
  for (int64_t i = 1; i <= power; ++i) slopes.push_back(slope(i, power));
  for (int64_t i = 1; std::ssize(slopes) < heads; i += 2) slopes.push_back(slope(i, 2 * power));
  return slopes;
}

int64_t distance_bucket(int64_t distance, int64_t buckets, int64_t longest, bool both_ways) {
  int64_t first = 0;
  if (both_ways) {
    buckets /= 2;
    if (distance > 0) first = buckets;
  }
  const int64_t apart = both_ways ? std::abs(distance) : std::max<int64_t>(-distance, 0);
  const int64_t exact = buckets / 2;
  if (apart < exact) return first + apart;
  const float share = std::log(static_cast<float>(apart) / static_cast<float>(exact)) /
                      static_cast<float>(std::log(static_cast<double>(longest) / static_cast<double>(exact)));
  const auto further = static_cast<int64_t>(share * static_cast<float>(buckets - exact));
  return first + std::min(exact + further, buckets - 1);
}

at::Tensor bucketed_bias(const at::Tensor& table, const at::Tensor& one_hot) {
  TORCH_CHECK(table.dim() == 2 && one_hot.dim() == 2 && table.size(0) == one_hot.size(0),
              "a table of biases ", table.sizes(), " with buckets ", one_hot.sizes(),
              ": expected [N, H] and [N, W]");
  TORCH_CHECK(one_hot.scalar_type() == sum_dtype(table.scalar_type()), "buckets in ", one_hot.scalar_type(),
              " of a table in ", table.scalar_type(), ", expected ", sum_dtype(table.scalar_type()));
  const auto node = node_for<BucketNode>({table});
  at::Tensor bias;
  {
    BelowAutograd below;
    bias = at::mm(table.to(one_hot.scalar_type()).t(), one_hot);
    bias = bias.view({1, table.size(1), 1, one_hot.size(1)});
  }
  if (node) {
    node->save({table, one_hot});
    torch::autograd::set_history(bias, node);
  }
  return bias;
}

}  // namespace d9d::kernels
