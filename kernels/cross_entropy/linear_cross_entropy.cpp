#include "kernels/cross_entropy.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "kernels/cross_entropy/blocks.hpp"
#include "kernels/cross_entropy/columns.hpp"
#include "kernels/graph/node.hpp"
#include "kernels/rows.hpp"
#include "kernels/run_op.hpp"

namespace d9d::kernels {
namespace {

// The gradients [V_i, H] of the tables that need one, for an upstream gradient of one. They are in one
// buffer, which is kept from forward to backward.
class KeptGradient {
 public:
  // Returns null if the temporary of `work` is borrowed and there is one table: its gradient is then
  // computed in backward. Several tables get memory of their own instead. Computing one of them later
  // would need all tables at the same time, and frozen ones are gathered separately.
  static std::shared_ptr<KeptGradient> make(const c10::intrusive_ptr<WeightWork>& work, at::TensorList tables,
                                            const at::TensorOptions& options) {
    int64_t rows = 0;
    for (const at::Tensor& table : tables) rows += table.requires_grad() ? table.size(0) : 0;
    const std::vector<int64_t> sizes{rows, tables[0].size(1)};
    auto slot = work ? work->slot() : nullptr;
    at::Tensor all = slot ? slot->borrow(sizes, options) : at::empty(sizes, options);
    if (!all.defined() && tables.size() > 1) {
      slot = nullptr;
      all = at::empty(sizes, options);
    }
    if (!all.defined()) return nullptr;
    return std::shared_ptr<KeptGradient>(new KeptGradient(std::move(slot), all, tables));
  }
  ~KeptGradient() {
    if (slot_) slot_->give_back();
  }
  KeptGradient(const KeptGradient&) = delete;
  KeptGradient& operator=(const KeptGradient&) = delete;

  // One per table, undefined for a table that needs no gradient.
  const std::vector<at::Tensor>& dweights() const { return dweights_; }

 private:
  KeptGradient(std::shared_ptr<TemporarySlot> slot, const at::Tensor& all, at::TensorList tables)
      : slot_(std::move(slot)), dweights_(tables.size()) {
    int64_t begin = 0;
    for (std::size_t i = 0; i < tables.size(); ++i) {
      if (!tables[i].requires_grad()) continue;
      dweights_[i] = all.narrow(0, begin, tables[i].size(0));
      begin += tables[i].size(0);
    }
  }
  std::shared_ptr<TemporarySlot> slot_;
  std::vector<at::Tensor> dweights_;
};

at::Tensor spread(const at::Tensor& compact, const at::Tensor& index, int64_t count) {
  at::Tensor all = at::zeros({count, compact.size(1)}, compact.options());
  return all.index_copy_(0, index, compact);
}

// Undefined stays undefined.
at::Tensor detached(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.detach() : tensor;
}

std::vector<at::Tensor> detached(at::TensorList tables) {
  std::vector<at::Tensor> values;
  for (const at::Tensor& table : tables) values.push_back(table.detach());
  return values;
}

void run(const at::Tensor& hidden, at::TensorList tables, const at::Tensor& bias, const ValidTokens& valid,
         const CrossEntropyWanted& wanted, std::optional<SharedVocabulary>& shared) {
  if (hidden.size(0) == 0 && wanted.beta == 0) {
    for (const at::Tensor& dweight : wanted.dweights) {
      if (dweight.defined()) dweight.zero_();
    }
  }
  if (hidden.size(0) == 0 && wanted.dbias.defined()) wanted.dbias.zero_();
  const int64_t rows = vocabulary_rows(tables);
  const HeldLogits held =
      held_logits(place_of(hidden), {.tokens = hidden.size(0),
                                     .hidden_size = hidden.size(1),
                                     .vocabulary = shared ? shared->part.vocab_size : rows,
                                     .rows = rows,
                                     .bytes = static_cast<int64_t>(hidden.element_size()),
                                     .of_part = shared.has_value(),
                                     .bias = bias.defined(),
                                     .gradient = wanted.gradient()});
  if (held.by_columns) {
    run_columns(hidden, tables, valid, wanted, held);
  } else {
    run_blocks(hidden, tables, bias, valid, wanted, shared ? &*shared : nullptr, held);
  }
}

// Inputs: hidden, tables, bias (may be undefined). Saved: compact hidden, index, labels, dhidden (when made), tables,
// bias.
class CrossEntropyNode : public BackwardNode {
 public:
  std::string name() const override { return "d9d::linear_cross_entropy"; }
  void release_variables() override {
    BackwardNode::release_variables();
    kept.reset();
    shared.reset();
    dbias.reset();
  }
  int64_t tokens = 0;
  std::size_t num_tables = 0;
  std::shared_ptr<KeptGradient> kept;
  std::optional<SharedVocabulary> shared;
  at::Tensor dbias;  // of the bias, for an upstream gradient of one; undefined without

 protected:
  Gradients backward(Gradients grads) override {
    Gradients result(2 + num_tables);
    if (!grads[0].defined()) return result;
    const at::Tensor hidden = saved(0), dhidden_one = saved(3);
    const ValidTokens valid{saved(1), saved(2)};
    const at::Tensor scale = at::index_select(grads[0], 0, valid.index).to(sum_dtype(hidden.scalar_type()));
    if (wants(0))
      result[0] = spread(dhidden_one.mul(scale.unsqueeze(1)).to(hidden.scalar_type()), valid.index, tokens);
    const bool uniform = (kept || dbias.defined()) && is_uniform(grads[0], scale);
    const at::Tensor factor =
        uniform && scale.numel() > 0 ? scale.narrow(0, 0, 1) : at::ones({1}, scale.options());
    if (dbias.defined()) add_bias(hidden, valid, scale, uniform ? factor : at::Tensor(), result);
    if (kept && uniform) {
      add_kept(factor, result);
    } else if (num_tables == 1) {
      add_later(hidden, valid, scale, result);
    } else {
      add_now(hidden, valid, scale, result);
    }
    kept.reset();
    return result;
  }

 private:
  at::Tensor table(std::size_t index) { return saved(4 + index); }
  at::Tensor bias() { return saved(4 + num_tables); }
  std::vector<at::Tensor> tables() {
    std::vector<at::Tensor> all;
    for (std::size_t i = 0; i < num_tables; ++i) all.push_back(detached(table(i)));
    return all;
  }

  // Whether all tokens have the same upstream gradient. That of a sum or a mean is one number expanded by
  // a stride of 0, which is known without reading it.
  static bool is_uniform(const at::Tensor& grad, const at::Tensor& scale) {
    return grad.stride(0) == 0 || run_op(&OpTable::uniform_value, scale).has_value();
  }

  void add_kept(const at::Tensor& factor, Gradients& result) {
    for (std::size_t i = 0; i < num_tables; ++i) {
      const auto copy = [kept = kept, i, factor](const at::Tensor& into, double beta) {
        run_op(&OpTable::add_scaled, kept->dweights()[i], factor, into, beta);
      };
      result[1 + i] = weight_gradient(1 + i, table(i), copy);
    }
  }
  void add_later(const at::Tensor& hidden, const ValidTokens& valid, const at::Tensor& scale,
                 Gradients& result) {
    const at::Tensor weight = table(0), of_logits = detached(bias());
    const auto compute = [=, shared = shared](const at::Tensor& into, double beta) mutable {
      run(hidden, weight.detach(), of_logits, valid, {{}, {}, {into}, beta, scale}, shared);
    };
    result[1] = weight_gradient(1, weight, compute, /*reads=*/true);
  }
  // Computes the gradients during backward, when the values of all tables are available.
  void add_now(const at::Tensor& hidden, const ValidTokens& valid, const at::Tensor& scale,
               Gradients& result) {
    const std::vector<at::Tensor> values = tables();
    std::vector<at::Tensor> dweights;
    for (std::size_t i = 0; i < num_tables; ++i)
      dweights.push_back(wants(1 + i) ? at::empty(values[i].sizes(), scale.options()) : at::Tensor());
    const CrossEntropyWanted wanted{{}, {}, dweights, 0, scale};
    if (!wanted.gradient()) return;
    run(hidden, values, detached(bias()), valid, wanted, shared);
    for (std::size_t i = 0; i < num_tables; ++i)
      result[1 + i] = weight_gradient(1 + i, table(i), dweights[i]);
  }
  // `factor`: the upstream gradient of every token; undefined: they differ, and the blocks are computed again.
  void add_bias(const at::Tensor& hidden, const ValidTokens& valid, const at::Tensor& scale,
                const at::Tensor& factor, Gradients& result) {
    const std::size_t input = 1 + num_tables;
    if (factor.defined()) {
      const auto add = [one = dbias, factor](const at::Tensor& into, double beta) {
        run_op(&OpTable::add_scaled, one, factor, into, beta);
      };
      result[input] = weight_gradient(input, bias(), add);
      return;
    }
    const at::Tensor sum = at::empty(dbias.sizes(), dbias.options());
    run(hidden, tables(), detached(bias()), valid, {.scale = scale, .dbias = sum}, shared);
    result[input] = weight_gradient(input, bias(), sum);
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

void check_bias(const at::Tensor& bias, const at::Tensor& hidden, int64_t rows) {
  TORCH_CHECK(!bias.defined() ||
                  (bias.dim() == 1 && bias.size(0) == rows && bias.scalar_type() == hidden.scalar_type()),
              "linear_cross_entropy of ", rows, " rows and hidden ", hidden.scalar_type(), " with a bias ",
              bias.sizes(), " ", bias.scalar_type(), ": expected a number for each row, of that dtype");
}

at::Tensor loss_of(const at::Tensor& hidden, at::TensorList tables, const at::Tensor& labels,
                   int64_t ignore_index, const at::Tensor& bias, std::optional<SharedVocabulary> shared) {
  TORCH_CHECK(!tables.empty(), "linear_cross_entropy needs at least one table");
  for (const at::Tensor& table : tables) check(hidden, table, labels);
  check_bias(bias, hidden, vocabulary_rows(tables));
  std::vector<at::Tensor> inputs{hidden};
  inputs.insert(inputs.end(), tables.begin(), tables.end());
  inputs.push_back(bias);
  const auto node = node_for<CrossEntropyNode>(inputs);
  const auto sums = hidden.options().requires_grad(false).dtype(sum_dtype(hidden.scalar_type()));
  at::Tensor loss = at::zeros({hidden.size(0)}, sums);
  BelowAutograd below;
  const ValidTokens valid = run_op(&OpTable::valid_tokens, labels.contiguous(), ignore_index,
                                   shared ? shared->part.vocab_size : vocabulary_rows(tables));
  const int64_t count = valid.index.size(0);
  const at::Tensor compact =
      count == hidden.size(0) ? as_rows(hidden.detach()) : at::index_select(hidden.detach(), 0, valid.index);
  CrossEntropyWanted wanted{.loss = at::empty({count}, sums)};
  if (shared) shared->softmax = at::empty({2, count}, sums);
  if (node && hidden.requires_grad()) wanted.dhidden = at::empty(compact.sizes(), sums);
  const auto trains = [](const at::Tensor& table) { return table.requires_grad(); };
  if (node && std::any_of(tables.begin(), tables.end(), trains)) {
    node->kept = KeptGradient::make(WeightWork::current(), tables, sums);
    if (node->kept) wanted.dweights = node->kept->dweights();
  }
  if (node && bias.defined() && bias.requires_grad()) wanted.dbias = at::empty(bias.sizes(), sums);
  run(compact, detached(tables), detached(bias), valid, wanted, shared);
  loss.index_copy_(0, valid.index, wanted.loss);
  if (node) {
    node->tokens = hidden.size(0);
    node->num_tables = tables.size();
    node->dbias = wanted.dbias;
    node->shared = std::move(shared);
    inputs[0] = compact;
    inputs.insert(inputs.begin() + 1, {valid.index, valid.labels, wanted.dhidden});
    node->save(inputs);
    torch::autograd::set_history(loss, node);
  }
  return loss;
}

}  // namespace

at::Tensor linear_cross_entropy(const at::Tensor& hidden, at::TensorList tables, const at::Tensor& labels,
                                int64_t ignore_index, const at::Tensor& bias) {
  return loss_of(hidden, tables, labels, ignore_index, bias, {});
}

at::Tensor linear_cross_entropy_of_part(const at::Tensor& hidden, at::TensorList tables,
                                        const at::Tensor& labels, const VocabularyPart& part,
                                        int64_t ignore_index, const at::Tensor& bias) {
  const int64_t rows = vocabulary_rows(tables);
  TORCH_CHECK(part.first >= 0 && rows > 0 && part.first + rows <= part.vocab_size, "linear_cross_entropy of ",
              rows, " rows from ", part.first, " of a vocabulary of ", part.vocab_size);
  return loss_of(hidden, tables, labels, ignore_index, bias, SharedVocabulary{part, {}});
}

}  // namespace d9d::kernels
