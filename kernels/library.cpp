#include "kernels/library.hpp"

#include <torch/library.h>

#include "kernels/activation.hpp"
#include "kernels/attention.hpp"
#include "kernels/cross_entropy.hpp"
#include "kernels/embedding.hpp"
#include "kernels/linear.hpp"
#include "kernels/moe.hpp"
#include "kernels/norm.hpp"
#include "kernels/optimizer.hpp"
#include "kernels/rope.hpp"

namespace d9d::kernels {
namespace {

RopeStyle style_of(bool interleaved) {
  return interleaved ? RopeStyle::interleaved : RopeStyle::half;
}

void add_dense(torch::Library& library) {
  library.def("linear(Tensor x, Tensor weight, Tensor? bias=None) -> Tensor", linear);
  library.def("linear_multi(Tensor x, Tensor[] weights) -> Tensor[]",
              [](const at::Tensor& x, at::TensorList weights) { return linear_multi(x, weights); });
  library.def("rms_norm(Tensor x, Tensor weight, float eps, bool zero_centered=False) -> Tensor", rms_norm);
  library.def("add_rms_norm(Tensor x, Tensor residual, Tensor weight, float eps) -> (Tensor, Tensor)",
              add_rms_norm);
  library.def("silu_mul(Tensor gate, Tensor up) -> Tensor", silu_mul);
  library.def("embedding(Tensor ids, Tensor weight) -> Tensor", embedding);
  library.def(
      "linear_cross_entropy(Tensor hidden, Tensor weight, Tensor labels, int ignore_index=-100) -> Tensor",
      linear_cross_entropy);
}

void add_attention(torch::Library& library) {
  library.def("rope(Tensor q, Tensor k, Tensor cos, Tensor sin, bool interleaved=False) -> (Tensor, Tensor)",
              [](const at::Tensor& q, const at::Tensor& k, const at::Tensor& cos, const at::Tensor& sin,
                 bool interleaved) { return rope(q, k, cos, sin, style_of(interleaved)); });
  library.def(
      "qk_norm_rope(Tensor q, Tensor k, Tensor q_weight, Tensor k_weight, float eps, Tensor cos, Tensor sin, "
      "bool interleaved=False) -> (Tensor, Tensor)",
      [](const at::Tensor& q, const at::Tensor& k, const at::Tensor& q_weight, const at::Tensor& k_weight,
         double eps, const at::Tensor& cos, const at::Tensor& sin, bool interleaved) {
        return qk_norm_rope(q, k, q_weight, k_weight, eps, cos, sin, style_of(interleaved));
      });
  library.def("attention(Tensor q, Tensor k, Tensor v, bool causal, float scale) -> Tensor", attention);
}

void add_experts(torch::Library& library) {
  library.def("moe_router(Tensor logits, int top_k, bool renormalise) -> (Tensor, Tensor)", moe_router);
  library.def("moe_permute(Tensor x, Tensor experts, int num_experts) -> (Tensor, Tensor, Tensor)",
              moe_permute);
  library.def("moe_unpermute(Tensor rows, Tensor probs, Tensor map) -> Tensor", moe_unpermute);
  library.def("grouped_linear(Tensor rows, Tensor weight, Tensor offsets) -> Tensor", grouped_linear);
  library.def(
      "moe_experts(Tensor x, Tensor probs, Tensor experts, Tensor gate, Tensor up, Tensor down) -> Tensor",
      moe_experts);
}

void add_optimizer(torch::Library& library) {
  library.def(
      "adamw_step(Tensor(a!) param, Tensor(b!) grad, Tensor(c!) exp_avg, Tensor(d!) exp_avg_sq, float lr, "
      "float beta1, "
      "float beta2, float eps, float weight_decay, int step, float grad_scale=1.0, bool zero_grad=False) -> "
      "()",
      [](const at::Tensor& param, const at::Tensor& grad, const at::Tensor& exp_avg,
         const at::Tensor& exp_avg_sq, double lr, double beta1, double beta2, double eps, double weight_decay,
         int64_t step, double grad_scale, bool zero_grad) {
        adamw_step(param, grad, exp_avg, exp_avg_sq,
                   {lr, beta1, beta2, eps, weight_decay, step, grad_scale, zero_grad});
      });
  library.def("sum_of_squares(Tensor tensor) -> float", sum_of_squares);
}

}  // namespace

struct OperatorLibrary::Impl {
  torch::Library library{torch::Library::DEF, "d9d", std::nullopt, __FILE__, __LINE__};
};

OperatorLibrary::OperatorLibrary() : impl_(std::make_unique<Impl>()) {
  add_dense(impl_->library);
  add_attention(impl_->library);
  add_experts(impl_->library);
  add_optimizer(impl_->library);
}

OperatorLibrary::~OperatorLibrary() = default;

}  // namespace d9d::kernels
