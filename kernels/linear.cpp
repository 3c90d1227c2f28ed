#include "kernels/linear.hpp"

#include <ATen/ops/empty.h>

#include <utility>

#include "kernels/graph/kept_results.hpp"
#include "kernels/graph/node.hpp"
#include "kernels/matmul.hpp"
#include "kernels/rows.hpp"

namespace d9d::kernels {
namespace {

bool follow_each_other(at::TensorList matrices) {
  for (std::size_t i = 0; i < matrices.size(); ++i) {
    const auto& matrix = matrices[i];
    if (!matrix.defined() || !matrix.is_contiguous()) return false;
    if (i == 0) continue;
    const auto& before = matrices[i - 1];
    if (!before.storage().is_alias_of(matrix.storage()) || before.scalar_type() != matrix.scalar_type() ||
        before.storage_offset() + before.numel() != matrix.storage_offset()) {
      return false;
    }
  }
  return true;
}

// Returns one matrix that covers weights which follow each other in memory.
at::Tensor joined(at::TensorList matrices, int64_t rows) {
  const auto& first = matrices[0];
  return first.detach().as_strided({rows, first.size(1)}, {first.size(1), 1}, first.storage_offset());
}

int64_t total_rows(at::TensorList matrices) {
  int64_t rows = 0;
  for (const auto& matrix : matrices) rows += matrix.size(0);
  return rows;
}

std::vector<int64_t> with_last(at::IntArrayRef sizes, int64_t last) {
  auto result = sizes.vec();
  result.back() = last;
  return result;
}

// scale a b, in a's dtype.
at::Tensor scaled_product(const at::Tensor& a, const at::Tensor& b, double scale) {
  const at::Tensor product = at::empty({a.size(0), b.size(1)}, a.options().requires_grad(false));
  matmul(product, a, b);
  return scale == 1 ? product : product.mul_(scale);
}

// Inputs: x, weights, biases, then a and b of each term. Saved: x, weights, then a, b and scale x a^T of each term.
class LinearNode : public BackwardNode {
 public:
  std::string name() const override { return "d9d::linear"; }
  bool runs_in_halves() const override { return true; }
  std::size_t num_weights = 0;
  std::vector<at::Tensor> biases;  // not saved: only the gradient buffers of leaves are needed
  struct Term {
    std::size_t weight;  // index of the weight to whose product it is added
    double scale;
  };
  std::vector<Term> terms;

 protected:
  Gradients backward(Gradients grads) override {
    const at::Tensor x = saved(0), x_rows = as_rows(x);
    std::vector<at::Tensor> weights, rows;
    for (std::size_t i = 0; i < num_weights; ++i) {
      weights.push_back(saved(1 + i));
      rows.push_back(grads[i].defined() ? as_rows(grads[i]) : at::Tensor());
    }
    Gradients result(first_term() + 2 * terms.size());
    at::Tensor into;  // the gradient of x
    if (wants(0)) {
      result[0] = at::empty(x.sizes(), x.options().requires_grad(false));
      into = result[0].view({-1, x.size(-1)});
    }
    // Decided here for all: gradients that are side by side (of gate and up, of q, k and v) are one matrix.
    const at::Tensor all = num_weights > 1 ? joined_columns(rows) : at::Tensor();
    if (into.defined()) gradient_of_x(into, rows, all, weights);
    if (all.defined() && all_direct(weights)) {
      gradients_of_weights(weights, rows, all, x_rows);
    } else {
      for (std::size_t i = 0; i < num_weights; ++i) {
        if (!rows[i].defined()) continue;
        result[1 + i] = weight_gradient(1 + i, weights[i],
                                        [grad = rows[i], x_rows](const at::Tensor& sum, double before) {
                                          matmul(sum, grad.t(), x_rows, before);
                                        });
      }
    }
    for (std::size_t i = 0; i < biases.size(); ++i) {
      if (!rows[i].defined() || !biases[i].defined()) continue;
      result[1 + num_weights + i] = bias_gradient(1 + num_weights + i, biases[i], rows[i]);
    }
    for (std::size_t i = 0; i < terms.size(); ++i) {
      if (rows[terms[i].weight].defined()) term_gradients(i, rows[terms[i].weight], x_rows, into, result);
    }
    return result;
  }

 private:
  // `all`: `grads` as one matrix, or undefined.
  static void gradient_of_x(const at::Tensor& into, at::TensorList grads, const at::Tensor& all,
                            at::TensorList weights) {
    if (all.defined() && follow_each_other(weights)) return matmul(into, all, joined(weights, all.size(1)));
    double beta = 0;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      if (grads[i].defined()) matmul(into, grads[i], weights[i], std::exchange(beta, 1));
    }
  }

  // Whether weight work adds up the gradients of all weights.
  bool all_direct(at::TensorList weights) const {
    for (std::size_t i = 0; i < weights.size(); ++i) {
      if (!wants(1 + i) || !is_direct(weights[i])) return false;
    }
    return true;
  }

  // Where their sums lie is known when the work runs: a unit that is sharded gets memory for them before.
  void gradients_of_weights(const std::vector<at::Tensor>& weights, const std::vector<at::Tensor>& grads,
                            const at::Tensor& all, const at::Tensor& x) {
    work_->submit(weights, [weights, grads, all, x] {
      std::vector<at::Tensor> sums;
      for (const at::Tensor& weight : weights) sums.push_back(weight.grad());
      if (follow_each_other(sums)) return matmul(joined(sums, all.size(1)), all.t(), x, 1);
      for (std::size_t i = 0; i < sums.size(); ++i) matmul(sums[i], grads[i].t(), x, 1);
    });
  }

  std::size_t first_term() const { return 1 + num_weights + biases.size(); }

  // Adds the term's gradient to `into`, that of x, if it is defined.
  void term_gradients(std::size_t term, const at::Tensor& grad, const at::Tensor& x, const at::Tensor& into,
                      Gradients& result) {
    const std::size_t input = first_term() + 2 * term, first = 1 + num_weights + 3 * term;
    const at::Tensor a = saved(first), b = saved(first + 1), low = saved(first + 2);
    result[input + 1] = weight_gradient(
        input + 1, b, [grad, low](const at::Tensor& sum, double beta) { matmul(sum, grad.t(), low, beta); });
    if (!into.defined() && !wants(input)) return;
    const at::Tensor dlow = scaled_product(grad, b, terms[term].scale);
    if (into.defined()) matmul(into, dlow, a, 1);
    result[input] = weight_gradient(
        input, a, [dlow, x](const at::Tensor& sum, double beta) { matmul(sum, dlow.t(), x, beta); });
  }

  at::Tensor bias_gradient(std::size_t input, const at::Tensor& bias, const at::Tensor& grad) {
    return weight_gradient(input, bias, [grad](const at::Tensor& into, double beta) {
      put(grad.sum(0, false, sum_dtype(grad.scalar_type())), into, beta);
    });
  }
};

std::vector<at::Tensor> products(const at::Tensor& x, at::TensorList weights) {
  const at::Tensor rows = as_rows(x);
  const auto options = x.options().requires_grad(false);
  std::vector<at::Tensor> results;
  if (weights.size() > 1 && follow_each_other(weights)) {
    const int64_t width = total_rows(weights);
    const at::Tensor all = at::empty(with_last(x.sizes(), width), options);
    matmul(all.view({-1, width}), rows, joined(weights, width).t());
    int64_t column = 0;
    for (const auto& weight : weights) {
      results.push_back(all.narrow(-1, column, weight.size(0)));
      column += weight.size(0);
    }
    return results;
  }
  for (const auto& weight : weights) {
    results.push_back(at::empty(with_last(x.sizes(), weight.size(0)), options));
    matmul(results.back().view({-1, weight.size(0)}), rows, weight.t());
  }
  return results;
}

Results with_terms(Results results, at::TensorList biases, const std::vector<LowRankTerm>& terms,
                   at::TensorList lows) {
  for (std::size_t i = 0; i < biases.size(); ++i) {
    if (biases[i].defined()) results[i].add_(biases[i]);
  }
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const at::Tensor& b = terms[i].b;
    if (lows[i].defined()) matmul(results[i].view({-1, b.size(0)}), lows[i], b.t(), 1);
  }
  return results;
}

void check_shapes(const at::Tensor& x, at::TensorList weights, at::TensorList biases,
                  const std::vector<LowRankTerm>& terms) {
  TORCH_CHECK(!weights.empty(), "linear_multi needs at least one weight");
  TORCH_CHECK(biases.empty() || biases.size() == weights.size(), "linear_multi got ", weights.size(),
              " weights and ", biases.size(), " biases; give as many biases as weights, or none");
  TORCH_CHECK(terms.empty() || terms.size() == weights.size(), "linear_multi got ", weights.size(),
              " weights and ", terms.size(), " terms of low rank; give as many as weights, or none");
  for (const auto& weight : weights) {
    TORCH_CHECK(weight.dim() == 2 && weight.size(1) == x.size(-1), "linear of x ", x.sizes(), " with weight ",
                weight.sizes(), ": expected a weight [N, ", x.size(-1), "]");
  }
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const auto& [a, b, scale] = terms[i];
    if (!a.defined()) continue;
    const int64_t n = weights[i].size(0), k = weights[i].size(1);
    TORCH_CHECK(a.dim() == 2 && b.dim() == 2 && a.size(1) == k && b.size(0) == n && a.size(0) == b.size(1),
                "linear of a weight ", weights[i].sizes(), " with a term of low rank ", a.sizes(), ", ",
                b.sizes(), ": expected [r, ", k, "] and [", n, ", r]");
  }
}

}  // namespace

std::vector<at::Tensor> linear_multi(const at::Tensor& x, at::TensorList weights, at::TensorList biases,
                                     const std::vector<LowRankTerm>& terms) {
  check_shapes(x, weights, biases, terms);
  std::vector<at::Tensor> inputs{x};
  inputs.insert(inputs.end(), weights.begin(), weights.end());
  std::vector<at::Tensor> saved = inputs;
  inputs.insert(inputs.end(), biases.begin(), biases.end());
  for (const LowRankTerm& term : terms) {
    if (term.a.defined()) inputs.insert(inputs.end(), {term.a, term.b});
  }
  const auto node = node_for<LinearNode>(inputs);
  std::vector<at::Tensor> results;
  {
    BelowAutograd below;
    std::vector<at::Tensor> lows(terms.size());
    for (std::size_t i = 0; i < terms.size(); ++i) {
      const auto& [a, b, scale] = terms[i];
      if (!a.defined()) continue;
      lows[i] = scaled_product(as_rows(x), a.t(), scale);
      if (!node) continue;
      saved.insert(saved.end(), {a, b, lows[i]});
      node->terms.push_back({i, scale});
    }
    results = run_once("d9d::linear", {KeptKind::linear}, x,
                       [&] { return with_terms(products(x, weights), biases, terms, lows); });
  }
  if (node) {
    node->num_weights = weights.size();
    node->biases = biases.vec();
    node->save(saved);
    for (const auto& result : results) torch::autograd::set_history(result, node);
  }
  return results;
}

at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const std::optional<at::Tensor>& bias,
                  const LowRankTerm& term) {
  const auto biases = bias && bias->defined() ? at::TensorList(*bias) : at::TensorList();
  return linear_multi(x, {weight}, biases, {term})[0];
}

}  // namespace d9d::kernels
