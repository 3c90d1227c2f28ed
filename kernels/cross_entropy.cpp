#include "kernels/cross_entropy.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/zeros.h>

#include <optional>

#include "kernels/dispatch.hpp"
#include "kernels/gemm.hpp"
#include "kernels/node.hpp"

namespace d9d::kernels {
namespace {

// Logits of a block should stay in the second-level cache between the product, the softmax and the two
// products after it; fewer than 64 rows would make those products slow.
int64_t rows_per_block(int64_t vocabulary) {
  constexpr int64_t elements = int64_t{1} << 22;
  return std::clamp<int64_t>(elements / std::max<int64_t>(1, vocabulary), 64, 512);
}

// The tokens that count, in order.
struct Valid {
  at::Tensor index;   // int64 [n]
  at::Tensor labels;  // int64 [n]
};

Valid valid_tokens(const at::Tensor& labels, int64_t ignore_index, int64_t vocabulary) {
  const auto* label = data_of<int64_t>(labels);
  Valid valid{at::empty({labels.size(0)}, labels.options()), at::empty({labels.size(0)}, labels.options())};
  int64_t count = 0;
  for (int64_t t = 0; t < labels.size(0); ++t) {
    if (label[t] == ignore_index) continue;
    TORCH_CHECK_INDEX(label[t] >= 0 && label[t] < vocabulary, "linear_cross_entropy: label ", label[t],
                      " at token ", t, " is outside [0, ", vocabulary, ")");
    data_of<int64_t>(valid.index)[count] = t;
    data_of<int64_t>(valid.labels)[count++] = label[t];
  }
  return {valid.index.narrow(0, 0, count), valid.labels.narrow(0, 0, count)};
}

struct Wanted {
  at::Tensor loss;     // [n], or undefined
  at::Tensor dhidden;  // [n, H] for an upstream gradient of one, or undefined
  at::Tensor dweight;  // [V, H], or undefined
  double beta = 0;     // dweight = gradient + beta dweight
  at::Tensor scale;    // [n] upstream gradient for dweight, or undefined: one
};

// logits := their gradient times the denominator of the softmax, whose inverse is returned, [rows].
at::Tensor loss_of_block(const at::Tensor& logits, const Valid& valid, int64_t first, const Wanted& wanted) {
  const bool gradient = wanted.dhidden.defined() || wanted.dweight.defined();
  const int64_t width = logits.size(1);
  at::Tensor inverse = at::empty({logits.size(0)}, logits.options());
  dispatch(logits.scalar_type(), [&](auto tag) {
    using S = Sum<decltype(tag)>;
    const auto* label = data_of<int64_t>(valid.labels) + first;
    for_rows(logits.size(0), width, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const S loss = kernel_table<S>().cross_entropy_row(width, data_of<S>(logits) + i * width, label[i],
                                                           gradient, data_of<S>(inverse) + i);
        if (wanted.loss.defined()) data_of<S>(wanted.loss)[first + i] = loss;
      }
    });
  });
  return inverse;
}

// hidden [n, H] of the valid tokens. The denominators of the softmax are divided out on the side of hidden,
// whose rows are short.
void run_blocks(const at::Tensor& hidden, const at::Tensor& weight, const Valid& valid,
                const Wanted& wanted) {
  const int64_t count = hidden.size(0), block = rows_per_block(weight.size(0));
  const auto options = hidden.options().requires_grad(false).dtype(sum_dtype(hidden.scalar_type()));
  const at::Tensor buffer = at::empty({std::min(block, count), weight.size(0)}, options);
  if (count == 0 && wanted.dweight.defined() && wanted.beta == 0) wanted.dweight.zero_();
  for (int64_t first = 0; first < count; first += block) {
    const int64_t rows = std::min(block, count - first);
    const at::Tensor part = hidden.narrow(0, first, rows), logits = buffer.narrow(0, 0, rows);
    matmul(logits, part, weight.t());
    const at::Tensor inverse = loss_of_block(logits, valid, first, wanted).unsqueeze(1);
    if (wanted.dhidden.defined()) {
      const at::Tensor dhidden = wanted.dhidden.narrow(0, first, rows);
      matmul(dhidden, logits, weight);
      dhidden.mul_(inverse);
    }
    if (wanted.dweight.defined()) {
      const at::Tensor factor =
          wanted.scale.defined() ? inverse * wanted.scale.narrow(0, first, rows).unsqueeze(1) : inverse;
      matmul(wanted.dweight, logits.t(), part * factor, first == 0 ? wanted.beta : 1);
    }
  }
}

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

// The value all entries share, if they do.
std::optional<double> uniform_value(const at::Tensor& grad) {
  if (grad.numel() == 0) return 1.0;
  const at::Tensor values = grad.to(at::kDouble).contiguous();
  const auto* value = data_of<double>(values);
  if (!std::all_of(value, value + grad.numel(), [&](double v) { return v == value[0]; })) return std::nullopt;
  return value[0];
}

// Inputs: hidden, weight. Saved: compact hidden, weight, index, labels, dhidden (when made).
class CrossEntropyNode : public BackwardNode {
 public:
  std::string name() const override { return "d9d::linear_cross_entropy"; }
  void release_variables() override {
    BackwardNode::release_variables();
    kept.reset();
  }
  int64_t tokens = 0;
  std::shared_ptr<KeptGradient> kept;

 protected:
  Gradients backward(Gradients grads) override {
    if (!grads[0].defined()) return {{}, {}};
    const at::Tensor hidden = saved(0), weight = saved(1), dhidden_one = saved(4);
    const Valid valid{saved(2), saved(3)};
    const at::Tensor scale = at::index_select(grads[0], 0, valid.index).to(sum_dtype(hidden.scalar_type()));
    Gradients result(2);
    if (wants(0))
      result[0] = spread(dhidden_one.mul(scale.unsqueeze(1)).to(hidden.scalar_type()), valid.index, tokens);
    const auto uniform = kept ? uniform_value(scale) : std::nullopt;
    if (uniform) {
      result[1] =
          weight_gradient(1, weight, [kept = kept, factor = *uniform](const at::Tensor& into, double beta) {
            beta == 0 ? into.copy_(kept->dweight()).mul_(factor) : into.add_(kept->dweight(), factor);
          });
    } else {
      const auto compute = [hidden, weight, valid, scale](const at::Tensor& into, double beta) {
        run_blocks(hidden, weight.detach(), valid, {{}, {}, into, beta, scale});
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

}  // namespace

at::Tensor linear_cross_entropy(const at::Tensor& hidden, const at::Tensor& weight, const at::Tensor& labels,
                                int64_t ignore_index) {
  check(hidden, weight, labels);
  const auto node = node_for<CrossEntropyNode>({hidden, weight});
  const auto sums = hidden.options().requires_grad(false).dtype(sum_dtype(hidden.scalar_type()));
  at::Tensor loss = at::zeros({hidden.size(0)}, sums);
  BelowAutograd below;
  const Valid valid = valid_tokens(labels.contiguous(), ignore_index, weight.size(0));
  const int64_t count = valid.index.size(0);
  const at::Tensor compact =
      count == hidden.size(0) ? as_rows(hidden.detach()) : at::index_select(hidden.detach(), 0, valid.index);
  Wanted wanted{.loss = at::empty({count}, sums)};
  if (node && hidden.requires_grad()) wanted.dhidden = at::empty(compact.sizes(), sums);
  if (node && weight.requires_grad()) {
    node->kept = KeptGradient::make(WeightWork::current(), weight, sums);
    if (node->kept) wanted.dweight = node->kept->dweight();
  }
  run_blocks(compact, weight.detach(), valid, wanted);
  loss.index_copy_(0, valid.index, wanted.loss);
  if (node) {
    node->tokens = hidden.size(0);
    node->save({compact, weight, valid.index, valid.labels, wanted.dhidden});
    torch::autograd::set_history(loss, node);
  }
  return loss;
}

}  // namespace d9d::kernels
