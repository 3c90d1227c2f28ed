#pragma once
// Linear cross entropy of many shapes, with the memory that it takes beside what it is counted with.

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "kernels/cross_entropy.hpp"
#include "kernels/cross_entropy/loss_memory.hpp"
#include "kernels/graph/weight_work.hpp"
#include "kernels/memory/host_values.hpp"
#include "tests/support/gradcheck.hpp"

namespace d9d::test {

enum class Labels { all_count, one_does_not, a_third_do_not };

struct LossCase {
  std::string name;
  int64_t tokens, hidden, vocabulary;
  at::ScalarType dtype = at::kFloat;
  Labels labels = Labels::one_does_not;
  int parts = 1;  // ranks that share the vocabulary
  bool bias = false, trains = true;
};

inline std::vector<LossCase> loss_cases() {
  return {{"a_small_vocabulary", 700, 96, 300},
          {"a_small_vocabulary_bf16", 700, 96, 300, at::kBFloat16},
          {"one_block", 60, 64, 9000},
          {"many_blocks", 300, 64, 40000},
          {"many_blocks_bf16", 300, 64, 40000, at::kBFloat16},
          {"wide_states", 1200, 512, 1000},
          {"wide_states_bf16", 1200, 512, 1000, at::kBFloat16},
          {"by_columns", 600, 64, 70000},
          {"by_columns_bf16", 600, 64, 70000, at::kBFloat16},
          {"by_columns_of_few_tokens", 120, 64, 70000},
          {"all_labels_count", 700, 96, 5000, at::kFloat, Labels::all_count},
          {"a_third_do_not_count", 700, 96, 5000, at::kBFloat16, Labels::a_third_do_not},
          {"a_part", 700, 96, 9000, at::kFloat, Labels::one_does_not, 3},
          {"a_part_bf16", 700, 96, 9000, at::kBFloat16, Labels::one_does_not, 3},
          {"a_part_of_a_long_vocabulary", 200, 64, 80000, at::kFloat, Labels::one_does_not, 4},
          {"a_bias", 700, 96, 5000, at::kFloat, Labels::one_does_not, 1, true},
          {"a_bias_of_a_long_vocabulary", 100, 64, 70000, at::kBFloat16, Labels::one_does_not, 1, true},
          {"no_gradients", 700, 96, 5000, at::kFloat, Labels::one_does_not, 1, false, false},
          {"no_gradients_bf16", 700, 96, 70000, at::kBFloat16, Labels::one_does_not, 1, false, false}};
}

inline std::ostream& operator<<(std::ostream& out, const LossCase& loss) {
  return out << loss.name;
}

// Bytes beside what exists before: after forward, and at most in forward and in backward.
struct LossMemory {
  int64_t kept = 0, forward = 0, backward = 0;
};

inline kernels::LossShape shape_of(const LossCase& loss) {
  return {.tokens = loss.tokens,
          .hidden_size = loss.hidden,
          .vocabulary = loss.vocabulary,
          .rows = loss.vocabulary / loss.parts,
          .bytes = static_cast<int64_t>(at::elementSize(loss.dtype)),
          .of_part = loss.parts > 1,
          .bias = loss.bias,
          .gradient = loss.trains};
}

// `Meter`: counts from its construction on; now(), peak(). The gradient of the tables, which a stage keeps in a slot, is
// left out.
template <class Meter>
LossMemory measured_loss(const LossCase& loss, at::Device place) {
  const int64_t rows = loss.vocabulary / loss.parts;
  const auto there = [&](at::IntArrayRef sizes, std::uint64_t seed) {
    at::Tensor leaf = (values(sizes, seed, at::kFloat) * 0.1).to(loss.dtype).to(place);
    leaf.requires_grad_(loss.trains);
    return leaf;
  };
  const at::Tensor hidden = there({loss.tokens, loss.hidden}, 1), weight = there({rows, loss.hidden}, 2);
  const at::Tensor bias = loss.bias ? there({rows}, 3) : at::Tensor();
  at::Tensor known = integers({loss.tokens}, loss.vocabulary, 4);
  if (loss.labels == Labels::one_does_not) known[5] = -100;
  for (int64_t t = 0; loss.labels == Labels::a_third_do_not && t < loss.tokens; t += 3) known[t] = -100;
  const at::Tensor labels = known.to(place, known.scalar_type(), /*non_blocking=*/false, /*copy=*/true);
  if (!place.is_cpu()) kernels::keep_host_values(labels, known);
  for (const at::Tensor& leaf : {weight, bias}) {
    if (leaf.defined() && loss.trains)
      leaf.mutable_grad() = at::zeros(leaf.sizes(), leaf.options().dtype(at::kFloat));
  }
  const auto gather = [&](const at::Tensor& own) {  // as if all parts were alike
    const at::Tensor all = at::empty({loss.parts, own.size(0), own.size(1)}, own.options());
    for (int part = 0; part < loss.parts; ++part) all[part].copy_(own);
    return all;
  };
  const auto work = c10::make_intrusive<kernels::WeightWork>(kernels::WeightWork::Mode::now,
                                                             std::make_shared<kernels::TemporarySlot>());
  const int64_t in_slot = loss.trains ? rows * loss.hidden * 4 : 0;
  LossMemory found;
  at::Tensor sum;
  {
    const kernels::WeightWork::Scope scope(work);
    const Meter meter;
    const at::Tensor losses = loss.parts > 1
                                  ? kernels::linear_cross_entropy_of_part(
                                        hidden, weight, labels, {0, loss.vocabulary, gather}, -100, bias)
                                  : kernels::linear_cross_entropy(hidden, weight, labels, -100, bias);
    found.kept = meter.now() - in_slot;
    found.forward = meter.peak() - in_slot;
    sum = losses.sum();
  }
  if (!loss.trains) return found;
  const Meter meter;
  sum.backward();
  found.backward = found.kept + meter.peak();
  return found;
}

// Never more than the estimate, and within 2 % of it unless many labels do not count.
inline void expect_counted(const LossCase& loss, const LossMemory& found, kernels::Place place) {
  const kernels::LossBytes counted = kernels::loss_bytes(place, shape_of(loss), loss.parts);

  const int64_t copied = loss.labels == Labels::all_count ? 0 : counted.copy;
  const int64_t kept = copied + counted.kept;
  EXPECT_LE(found.kept, kept);
  EXPECT_LE(found.forward, kept + counted.forward);
  EXPECT_LE(found.backward, kept + counted.backward);
  if (loss.labels == Labels::a_third_do_not) return;
  // A device's tensors are rounded up, as if there were sixteen of each kind.
  const int64_t rounding = place == kernels::Place::cpu ? 0 : 2 * 16 * 512;
  const auto close = [rounding](int64_t bytes) { return bytes - bytes / 50 - rounding; };
  EXPECT_GE(found.kept, close(kept));
  EXPECT_GE(found.forward, close(kept + counted.forward));
  if (!loss.trains) return;
  EXPECT_GE(found.backward, close(kept + counted.backward));
}

}  // namespace d9d::test
