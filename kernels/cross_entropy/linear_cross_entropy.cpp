#include "kernels/cross_entropy.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/zeros.h>

#include <optional>

#include "kernels/cross_entropy/blocks.hpp"
#include "kernels/node.hpp"
#include "kernels/rows.hpp"
#include "kernels/run_op.hpp"

namespace d9d::kernels {
namespace {

// d weight [V, H] for an upstream gradient of one, kept from forward to backward.
class KeptGradient {
 public:
  // Null when the temporary of `work` is borrowed.
  static std::shared_ptr<KeptGradient> make(const c10::intrusive_ptr<WeightWork>& work,
                                            const at::Tensor& weight, const at::TensorOptions& options) {
    auto slot = work ? work->slot() : nullptr;
    at::Tensor dweight = slot ? slot->borrow(weight.sizes(), options) : at::empty(weight.sizes(), options);
    if (!dweight.defined()) return nullptr;
    return std::shared_ptr<KeptGradient>(new KeptGradient(std::move(slot), std::move(dweight)));
  }
  ~KeptGradient() {
    if (slot_) slot_->give_back();
  }
  KeptGradient(const KeptGradient&) = delete;
  KeptGradient& operator=(const KeptGradient&) = delete;

  const at::Tensor& dweight() const { return dweight_; }

 private:
  KeptGradient(std::shared_ptr<TemporarySlot> slot, at::Tensor dweight)
      : slot_(std::move(slot)), dweight_(std::move(dweight)) {}
  std::shared_ptr<TemporarySlot> slot_;
  at::Tensor dweight_;
};

at::Tensor spread(const at::Tensor& compact, const at::Tensor& index, int64_t count) {
  at::Tensor all = at::zeros({count, compact.size(1)}, compact.options());
  return all.index_copy_(0, index, compact);
}

// Inputs: hidden, weight. Saved: compact hidden, weight, index, labels, dhidden (when made).
class CrossEntropyNode : public BackwardNode {
 public:
  std::string name() const override { return "d9d::linear_cross_entropy"; }
  void release_variables() override {
    BackwardNode::release_variables();
    kept.reset();
    shared.reset();
  }
  int64_t tokens = 0;
  std::shared_ptr<KeptGradient> kept;
  std::optional<SharedVocabulary> shared;

 protected:
  Gradients backward(Gradients grads) override {
    if (!grads[0].defined()) return {{}, {}};
    const at::Tensor hidden = saved(0), weight = saved(1), dhidden_one = saved(4);
    const ValidTokens valid{saved(2), saved(3)};
    const at::Tensor scale = at::index_select(grads[0], 0, valid.index).to(sum_dtype(hidden.scalar_type()));
    Gradients result(2);
    if (wants(0))
      result[0] = spread(dhidden_one.mul(scale.unsqueeze(1)).to(hidden.scalar_type()), valid.index, tokens);
    const auto uniform = kept ? run_op(&OpTable::uniform_value, scale) : std::nullopt;
    if (uniform) {
      result[1] =
          weight_gradient(1, weight, [kept = kept, factor = *uniform](const at::Tensor& into, double beta) {
            beta == 0 ? into.copy_(kept->dweight()).mul_(factor) : into.add_(kept->dweight(), factor);
          });
    } else {
      const auto compute = [=, shared = shared](const at::Tensor& into, double beta) mutable {
        run_blocks(hidden, weight.detach(), valid, {{}, {}, into, beta, scale}, shared ? &*shared : nullptr);
      };
      result[1] = weight_gradient(1, weight, compute, /*reads=*/true);
    }
    kept.reset();
    return result;
  }
};

void check(const at::Tensor& hidden, const at::Tensor& weight, const at::Tensor& labels) {
  TORCH_CHECK(hidden.dim() == 2 && weight.dim() == 2 && labels.dim() == 1 &&
                  hidden.size(1) == weight.size(1) && hidden.size(0) == labels.size(0) &&
                  labels.scalar_type() == at::kLong && hidden.scalar_type() == weight.scalar_type(),
              "linear_cross_entropy of hidden ", hidden.sizes(), " ", hidden.scalar_type(), ", weight ",
              weight.sizes(), " ", weight.scalar_type(), ", labels ", labels.sizes(), " ",
              labels.scalar_type(), ": expected [T, H], [V, H] of one dtype and int64 [T]");
}

at::Tensor loss_of(const at::Tensor& hidden, const at::Tensor& weight, const at::Tensor& labels,
                   int64_t ignore_index, std::optional<SharedVocabulary> shared) {
  check(hidden, weight, labels);
  const auto node = node_for<CrossEntropyNode>({hidden, weight});
  const auto sums = hidden.options().requires_grad(false).dtype(sum_dtype(hidden.scalar_type()));
  at::Tensor loss = at::zeros({hidden.size(0)}, sums);
  BelowAutograd below;
  const ValidTokens valid = run_op(&OpTable::valid_tokens, labels.contiguous(), ignore_index,
                                   shared ? shared->part.vocab_size : weight.size(0));
  const int64_t count = valid.index.size(0);
  const at::Tensor compact =
      count == hidden.size(0) ? as_rows(hidden.detach()) : at::index_select(hidden.detach(), 0, valid.index);
  CrossEntropyWanted wanted{.loss = at::empty({count}, sums)};
  if (shared) shared->softmax = at::empty({2, count}, sums);
  if (node && hidden.requires_grad()) wanted.dhidden = at::empty(compact.sizes(), sums);
  if (node && weight.requires_grad()) {
    node->kept = KeptGradient::make(WeightWork::current(), weight, sums);
    if (node->kept) wanted.dweight = node->kept->dweight();
  }
  run_blocks(compact, weight.detach(), valid, wanted, shared ? &*shared : nullptr);
  loss.index_copy_(0, valid.index, wanted.loss);
  if (node) {
    node->tokens = hidden.size(0);
    node->shared = std::move(shared);
    node->save({compact, weight, valid.index, valid.labels, wanted.dhidden});
    torch::autograd::set_history(loss, node);
  }
  return loss;
}

}  // namespace

at::Tensor linear_cross_entropy(const at::Tensor& hidden, const at::Tensor& weight, const at::Tensor& labels,
                                int64_t ignore_index) {
  return loss_of(hidden, weight, labels, ignore_index, {});
}

at::Tensor linear_cross_entropy_of_part(const at::Tensor& hidden, const at::Tensor& weight,
                                        const at::Tensor& labels, const VocabularyPart& part,
                                        int64_t ignore_index) {
  TORCH_CHECK(part.first >= 0 && weight.size(0) > 0 && part.first + weight.size(0) <= part.vocab_size,
              "linear_cross_entropy of ", weight.size(0), " rows from ", part.first, " of a vocabulary of ",
              part.vocab_size);
  return loss_of(hidden, weight, labels, ignore_index, SharedVocabulary{part, {}});
}

}  // namespace d9d::kernels
