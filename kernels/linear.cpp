#include "kernels/linear.hpp"

#include <ATen/ops/empty.h>

#include "kernels/matmul.hpp"
#include "kernels/node.hpp"
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

// One matrix over weights that follow each other.
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

// Saved: x, then the weights. Inputs: x, weights, biases.
class LinearNode : public BackwardNode {
 public:
  std::string name() const override { return "d9d::linear"; }
  bool runs_in_halves() const override { return true; }
  std::size_t num_weights = 0;
  std::vector<at::Tensor> biases;  // leaves only matter for their gradient buffers

 protected:
  Gradients backward(Gradients grads) override {
    const at::Tensor x = saved(0);
    std::vector<at::Tensor> weights, rows;
    for (std::size_t i = 0; i < num_weights; ++i) {
      weights.push_back(saved(1 + i));
      rows.push_back(grads[i].defined() ? as_rows(grads[i]) : at::Tensor());
    }
    Gradients result(1 + num_weights + biases.size());
    if (wants(0)) result[0] = input_gradient(x, weights, rows);
    const at::Tensor x_rows = as_rows(x);
    for (std::size_t i = 0; i < num_weights; ++i) {
      if (!rows[i].defined()) continue;
      result[1 + i] =
          weight_gradient(1 + i, weights[i], [grad = rows[i], x_rows](const at::Tensor& into, double beta) {
            matmul(into, grad.t(), x_rows, beta);
          });
    }
    for (std::size_t i = 0; i < biases.size(); ++i) {
      if (!rows[i].defined() || !biases[i].defined()) continue;
      result[1 + num_weights + i] = bias_gradient(1 + num_weights + i, biases[i], rows[i]);
    }
    return result;
  }

 private:
  at::Tensor input_gradient(const at::Tensor& x, at::TensorList weights, at::TensorList grads) {
    at::Tensor gradient = at::empty(x.sizes(), x.options().requires_grad(false));
    const at::Tensor into = gradient.view({-1, x.size(-1)});
    double beta = 0;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      if (!grads[i].defined()) continue;
      matmul(into, grads[i], weights[i], beta);
      beta = 1;
    }
    return gradient;
  }

  at::Tensor bias_gradient(std::size_t input, const at::Tensor& bias, const at::Tensor& grad) {
    return weight_gradient(input, bias, [grad](const at::Tensor& into, double beta) {
      const at::Tensor sum = grad.sum(0, false, sum_dtype(grad.scalar_type()));
      beta == 0 ? into.copy_(sum) : into.add_(sum);
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

}  // namespace

std::vector<at::Tensor> linear_multi(const at::Tensor& x, at::TensorList weights, at::TensorList biases) {
  TORCH_CHECK(!weights.empty(), "linear_multi needs at least one weight");
  TORCH_CHECK(biases.empty() || biases.size() == weights.size(), "linear_multi got ", weights.size(),
              " weights and ", biases.size(), " biases; give as many biases as weights, or none");
  for (const auto& weight : weights) {
    TORCH_CHECK(weight.dim() == 2 && weight.size(1) == x.size(-1), "linear of x ", x.sizes(), " with weight ",
                weight.sizes(), ": expected a weight [N, ", x.size(-1), "]");
  }
  std::vector<at::Tensor> inputs{x};
  inputs.insert(inputs.end(), weights.begin(), weights.end());
  inputs.insert(inputs.end(), biases.begin(), biases.end());
  const auto node = node_for<LinearNode>(inputs);
  std::vector<at::Tensor> results;
  {
    BelowAutograd below;
    results = products(x, weights);
    for (std::size_t i = 0; i < biases.size(); ++i) {
      if (biases[i].defined()) results[i].add_(biases[i]);
    }
  }
  if (node) {
    node->num_weights = weights.size();
    node->biases = biases.vec();
    node->save(at::TensorList(inputs).slice(0, 1 + weights.size()));
    for (const auto& result : results) torch::autograd::set_history(result, node);
  }
  return results;
}

at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const std::optional<at::Tensor>& bias) {
  return linear_multi(x, {weight}, bias && bias->defined() ? at::TensorList(*bias) : at::TensorList())[0];
}

}  // namespace d9d::kernels
