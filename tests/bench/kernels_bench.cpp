// Speed of the operator library beside the same work composed from ATen ops, on the sizes of the three
// workloads. One thread; rates are over the CPU time of that thread, so that a busy neighbour counts less.
//   kernels_bench --benchmark_filter='Gemm|Model'

#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <benchmark/benchmark.h>

#include <cmath>

#include "kernels/activation.hpp"
#include "kernels/attention/attention.hpp"
#include "kernels/attention/delta_rule.hpp"
#include "kernels/attention/rope.hpp"
#include "kernels/attention/short_convolution.hpp"
#include "kernels/cross_entropy.hpp"
#include "kernels/embedding.hpp"
#include "kernels/graph/weight_work.hpp"
#include "kernels/linear.hpp"
#include "kernels/matmul.hpp"
#include "kernels/moe.hpp"
#include "kernels/norm.hpp"
#include "kernels/optimizer/optimizer.hpp"

namespace {

namespace ops = d9d::kernels;
using benchmark::Counter;
using benchmark::State;

struct Workload {
  const char* name;
  int64_t hidden, layers, heads, kv_heads, dim, experts, top_k, inner, vocabulary, batch, length;
  int64_t tokens() const { return batch * length; }
  // Matrix work of a microbatch, forward and backward, as a step needs it.
  double flops() const {
    const int64_t attention = hidden * dim * (2 * heads + 2 * kv_heads);
    const int64_t active =
        layers * (attention + top_k * 3 * hidden * inner + (experts > 1 ? hidden * experts : 0));
    const double scores =
        12.0 * static_cast<double>(layers * batch * heads * dim * length * (length + 1) / 2);
    return 6.0 * static_cast<double>((active + hidden * vocabulary) * tokens()) + scores;
  }
};

constexpr Workload workloads[] = {
    {"tiny_moe", 256, 4, 8, 2, 32, 8, 2, 256, 4096, 2, 256},
    {"small_moe", 512, 8, 8, 4, 64, 16, 4, 384, 16384, 1, 512},
    {"small_dense", 512, 8, 8, 4, 64, 1, 1, 1536, 16384, 1, 512},
};

at::Tensor random(at::IntArrayRef sizes, double scale = 1) {
  return (at::rand(sizes) - 0.5).mul_(2 * scale);
}
at::Tensor leaf(at::IntArrayRef sizes, double scale = 1) {
  return random(sizes, scale).requires_grad_(true);
}

void report(State& state, double flops, double bytes) {
  if (flops > 0) state.counters["GFLOP/s"] = Counter(flops * 1e-9, Counter::kIsIterationInvariantRate);
  if (bytes > 0) state.counters["GB/s"] = Counter(bytes * 1e-9, Counter::kIsIterationInvariantRate);
}

// Forward and backward of f, whose gradients land in the leaves it uses.
template <class F>
void step(State& state, F&& f, std::initializer_list<at::Tensor> leaves, double flops, double bytes = 0) {
  const auto work = c10::make_intrusive<ops::WeightWork>();
  for (auto input : leaves) input.mutable_grad() = at::zeros_like(input);
  at::Tensor upstream;
  for (auto _ : state) {
    const ops::WeightWork::Scope scope(work);
    const at::Tensor out = f();
    if (!upstream.defined()) upstream = random(out.sizes());
    out.backward(upstream);
  }
  report(state, flops, bytes);
}

// A transformer of the workload's shape from the library's ops, parameters and gradients in two flat buffers.
class Model {
 public:
  explicit Model(const Workload& w) : w_(w) {
    const int64_t q = w.heads * w.dim, kv = w.kv_heads * w.dim;
    shapes_ = {{w.vocabulary, w.hidden}, {w.hidden}, {w.vocabulary, w.hidden}};
    for (int64_t i = 0; i < w.layers; ++i) {
      const auto expert = [&](int64_t out, int64_t in) {
        return w.experts > 1 ? std::vector<int64_t>{w.experts, out, in} : std::vector<int64_t>{out, in};
      };
      for (const std::vector<int64_t>& shape : std::vector<std::vector<int64_t>>{{w.hidden},
                                                                                 {q, w.hidden},
                                                                                 {kv, w.hidden},
                                                                                 {kv, w.hidden},
                                                                                 {w.dim},
                                                                                 {w.dim},
                                                                                 {w.hidden, q},
                                                                                 {w.hidden},
                                                                                 {w.experts, w.hidden},
                                                                                 expert(w.inner, w.hidden),
                                                                                 expert(w.inner, w.hidden),
                                                                                 expert(w.hidden, w.inner)}) {
        shapes_.push_back(shape);
      }
    }
    int64_t total = 0;
    for (const auto& shape : shapes_) total += c10::multiply_integers(shape);
    data = random({total}, 0.03);
    grad = at::zeros({total});
    int64_t offset = 0;
    for (const auto& shape : shapes_) {
      const int64_t count = c10::multiply_integers(shape);
      parameters_.push_back(data.narrow(0, offset, count).view(shape).detach().requires_grad_(true));
      if (shape.size() == 1) parameters_.back().detach().fill_(1);
      parameters_.back().mutable_grad() = grad.narrow(0, offset, count).view(shape);
      offset += count;
    }
    const auto angle = random({w.length, w.dim / 2}, 3);
    cos_ = at::cat({angle, angle}, -1).cos();
    sin_ = at::cat({angle, angle}, -1).sin();
  }

  at::Tensor loss(const at::Tensor& ids, const at::Tensor& labels) const {
    at::Tensor x = ops::embedding(ids, parameters_[0]);
    at::Tensor branch;
    for (int64_t i = 0; i < w_.layers; ++i) std::tie(x, branch) = layer(x, branch, &parameters_[3 + 12 * i]);
    const auto normed = std::get<0>(ops::add_rms_norm(branch, x, parameters_[1], 1e-6));
    return ops::linear_cross_entropy(normed.view({-1, w_.hidden}), parameters_[2], labels.view({-1})).sum();
  }

  at::Tensor data, grad;

 private:
  // The residual stream before and the branch to add to it -> the same after this layer.
  std::tuple<at::Tensor, at::Tensor> layer(at::Tensor x, const at::Tensor& branch,
                                           const at::Tensor* p) const {
    at::Tensor normed;
    if (branch.defined()) {
      std::tie(normed, x) = ops::add_rms_norm(branch, x, p[0], 1e-6);
    } else {
      normed = ops::rms_norm(x, p[0], 1e-6);
    }
    const auto qkv = ops::linear_multi(normed, {p[1], p[2], p[3]});
    const auto heads = [&](const at::Tensor& t) {
      return t.view({w_.batch, w_.length, t.size(-1) / w_.dim, w_.dim});
    };
    const auto [q, k, v] =
        ops::qk_norm_rope({heads(qkv[0]), heads(qkv[1]), heads(qkv[2])}, p[4], p[5], 1e-6, cos_, sin_);
    const auto mixed = ops::attention(q, k, v, ops::causal_mask, 1 / std::sqrt(static_cast<double>(w_.dim)));
    const auto attended = ops::linear(mixed.view({w_.batch, w_.length, -1}), p[6]);
    std::tie(normed, x) = ops::add_rms_norm(attended, x, p[7], 1e-6);
    if (w_.experts == 1) {
      const auto both = ops::linear_multi(normed, {p[9], p[10]});
      return {x, ops::linear(ops::silu_mul(both[0], both[1]), p[11])};
    }
    const auto rows = normed.view({-1, w_.hidden});
    const auto [probs, experts] = ops::moe_router(ops::linear(rows, p[8]), {w_.top_k, true});
    return {x, ops::moe_experts(rows, probs, experts, p[9], p[10], p[11]).view(x.sizes())};
  }

  Workload w_;
  std::vector<std::vector<int64_t>> shapes_;
  std::vector<at::Tensor> parameters_;
  at::Tensor cos_, sin_;
};

void model_step(State& state, const Workload& w) {
  const Model model(w);
  const auto ids = at::randint(0, w.vocabulary, {w.batch, w.length}, at::kLong);
  const auto work = c10::make_intrusive<ops::WeightWork>();
  for (auto _ : state) {
    const ops::WeightWork::Scope scope(work);
    model.loss(ids, ids).backward();
  }
  report(state, w.flops(), 0);
  state.counters["tokens/s"] = Counter(static_cast<double>(w.tokens()), Counter::kIsIterationInvariantRate);
}

void add_models() {
  for (const Workload& w : workloads) {
    benchmark::RegisterBenchmark((std::string("Model/") + w.name).c_str(), model_step, w)
        ->Unit(benchmark::kMillisecond);
  }
}

void add_gemms() {
  const int64_t sizes[][3] = {{512, 256, 256},  {512, 512, 512},   {512, 384, 512},   {512, 1536, 512},
                              {512, 512, 1536}, {128, 256, 256},   {128, 384, 512},   {512, 8, 256},
                              {256, 4096, 256}, {256, 16384, 512}, {2048, 2048, 2048}};
  for (const auto& s : sizes) {
    const int64_t m = s[0], n = s[1], k = s[2];
    for (const bool ours : {true, false}) {
      const auto name = "Gemm/" + std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k);
      benchmark::RegisterBenchmark((name + (ours ? "/d9d" : "/aten")).c_str(), [=](State& state) {
        const auto a = random({m, k}), b = random({n, k});
        auto c = at::empty({m, n});
        for (auto _ : state) {
          if (ours) {
            ops::matmul(c, a, b.t());
          } else {
            at::mm_out(c, a, b.t());
          }
        }
        report(state, 2.0 * static_cast<double>(m * n * k), 0);
      });
    }
  }
}

template <class F>
void add(const Workload& w, const char* op, F f) {
  benchmark::RegisterBenchmark((std::string(op) + "/" + w.name).c_str(), f)->Unit(benchmark::kMicrosecond);
}

at::Tensor aten_norm(const at::Tensor& x, const at::Tensor& weight) {
  return x * (x.pow(2).mean(-1, true) + 1e-6).rsqrt() * weight;
}

void add_elementwise(const Workload& w) {
  const double bytes = 4.0 * static_cast<double>(w.tokens() * w.hidden);
  add(w, "RmsNorm/d9d", [=](State& state) {
    const auto x = leaf({w.tokens(), w.hidden}), weight = leaf({w.hidden});
    step(
        state, [&] { return ops::rms_norm(x, weight, 1e-6); }, {weight}, 0, 5 * bytes);
  });
  add(w, "RmsNorm/aten", [=](State& state) {
    const auto x = leaf({w.tokens(), w.hidden}), weight = leaf({w.hidden});
    step(
        state, [&] { return aten_norm(x, weight); }, {weight}, 0, 5 * bytes);
  });
  const int64_t rows = w.tokens() * w.top_k;
  const double inner = 4.0 * static_cast<double>(rows * w.inner);
  add(w, "SiluMul/d9d", [=](State& state) {
    const auto gate = leaf({rows, w.inner}), up = leaf({rows, w.inner});
    step(
        state, [&] { return ops::silu_mul(gate, up); }, {}, 0, 8 * inner);
  });
  add(w, "SiluMul/aten", [=](State& state) {
    const auto gate = leaf({rows, w.inner}), up = leaf({rows, w.inner});
    step(
        state, [&] { return at::silu(gate) * up; }, {}, 0, 8 * inner);
  });
  add(w, "QkNormRope/d9d", [=](State& state) {
    const auto q = leaf({w.batch, w.length, w.heads, w.dim}),
               k = leaf({w.batch, w.length, w.kv_heads, w.dim});
    const auto a = leaf({w.dim}), b = leaf({w.dim}), angle = random({w.length, w.dim});
    const auto cos = angle.cos(), sin = angle.sin();
    step(
        state, [&] { return std::get<0>(ops::qk_norm_rope(q, k, a, b, 1e-6, cos, sin)); }, {a, b}, 0,
        5 * 4.0 * static_cast<double>(q.numel() + k.numel()));
  });
}

void add_attention(const Workload& w) {
  const double flops = 12.0 * static_cast<double>(w.batch * w.heads * w.dim * w.length * (w.length + 1) / 2);
  const double scale = 1 / std::sqrt(static_cast<double>(w.dim));
  for (const bool ours : {true, false}) {
    add(w, ours ? "Attention/d9d" : "Attention/aten", [=](State& state) {
      const auto q = leaf({w.batch, w.length, w.heads, w.dim}),
                 k = leaf({w.batch, w.length, w.kv_heads, w.dim});
      const auto v = leaf({w.batch, w.length, w.kv_heads, w.dim});
      const auto aten = [&] {
        const auto group = w.heads / w.kv_heads;
        return at::scaled_dot_product_attention(
            q.transpose(1, 2), k.repeat_interleave(group, 2).transpose(1, 2),
            v.repeat_interleave(group, 2).transpose(1, 2), {}, 0, true, scale);
      };
      step(
          state, [&] { return ours ? ops::attention(q, k, v, ops::causal_mask, scale) : aten(); }, {}, flops);
    });
  }
}

// The same with a learned bias by distance, and with one of every query and key.
void add_biased_attention(const Workload& w) {
  const double flops = 12.0 * static_cast<double>(w.batch * w.heads * w.dim * w.length * (w.length + 1) / 2);
  const double scale = 1 / std::sqrt(static_cast<double>(w.dim));
  for (const bool by_distance : {true, false}) {
    add(w, by_distance ? "Attention/distances" : "Attention/biases", [=](State& state) {
      const auto q = leaf({w.batch, w.length, w.heads, w.dim}),
                 k = leaf({w.batch, w.length, w.kv_heads, w.dim}),
                 v = leaf({w.batch, w.length, w.kv_heads, w.dim});
      const auto bias =
          by_distance ? leaf({1, w.heads, 1, 2 * w.length - 1}) : leaf({1, w.heads, w.length, w.length});
      step(
          state,
          [&] {
            return ops::attention(q, k, v, ops::causal_mask, scale, {}, {}, {bias, by_distance});
          },
          {}, flops);
    });
  }
}

// With heads as wide as the workload's; what a chunk of 64 tokens multiplies, backward three times forward.
void add_delta_rule(const Workload& w) {
  const double chunk = 64, dim = static_cast<double>(w.dim);
  const double flops = 8.0 * static_cast<double>(w.tokens() * w.heads) * (3 * dim * dim + chunk * 5 * dim);
  add(w, "DeltaRule/d9d", [=](State& state) {
    const auto heads = [&] { return leaf({w.batch, w.length, w.heads, w.dim}); };
    const auto q = heads(), k = heads(), v = heads();
    const auto decay = leaf({w.batch, w.length, w.heads}).detach().abs().neg().requires_grad_(true);
    const auto beta = leaf({w.batch, w.length, w.heads}).detach().sigmoid().requires_grad_(true);
    step(
        state, [&] { return ops::gated_delta_rule(q, k, v, decay, beta, {.scale = 1, .normalise = true}); },
        {}, flops);
  });
  add(w, "ShortConvolution/d9d", [=](State& state) {
    const auto x = leaf({w.batch, w.length, w.heads, w.dim}), weight = leaf({w.heads * w.dim, 1, 4});
    step(
        state, [&] { return ops::short_convolution(x, weight, 0); }, {weight}, 0,
        6 * 4.0 * static_cast<double>(x.numel()));
  });
}

void add_head(const Workload& w) {
  const double flops = 6.0 * static_cast<double>(w.tokens() * w.hidden * w.vocabulary);
  for (const bool ours : {true, false}) {
    add(w, ours ? "CrossEntropy/d9d" : "CrossEntropy/aten", [=](State& state) {
      const auto x = leaf({w.tokens(), w.hidden}), weight = leaf({w.vocabulary, w.hidden}, 0.03);
      const auto labels = at::randint(0, w.vocabulary, {w.tokens()}, at::kLong);
      step(
          state,
          [&] {
            return ours ? ops::linear_cross_entropy(x, weight, labels).sum()
                        : at::cross_entropy_loss(at::linear(x, weight), labels, {}, at::Reduction::Sum);
          },
          {weight}, flops);
    });
  }
}

void add_experts(const Workload& w) {
  if (w.experts == 1) return;
  add(w, "MoeExperts/d9d", [=](State& state) {
    const auto x = leaf({w.tokens(), w.hidden}), logits = leaf({w.tokens(), w.experts});
    const auto gate = leaf({w.experts, w.inner, w.hidden}, 0.03),
               up = leaf({w.experts, w.inner, w.hidden}, 0.03);
    const auto down = leaf({w.experts, w.hidden, w.inner}, 0.03);
    const auto [probs, experts] = ops::moe_router(logits.detach(), {w.top_k, true});
    const auto weights = probs.detach().requires_grad_(true);
    const auto chosen = experts;
    step(
        state, [&] { return ops::moe_experts(x, weights, chosen, gate, up, down); }, {gate, up, down},
        18.0 * static_cast<double>(w.tokens() * w.top_k * w.hidden * w.inner));
  });
}

void add_optimizer() {
  benchmark::RegisterBenchmark("AdamW/d9d", [](State& state) {
    const int64_t count = int64_t{1} << 24;
    const auto p = random({count}), g = random({count}), m = at::zeros({count}), v = at::zeros({count});
    ops::AdamWSettings settings{
        .lr = 1e-4, .beta1 = 0.9, .beta2 = 0.95, .eps = 1e-8, .weight_decay = 0.1, .step = 1};
    settings.zero_grad = true;
    for (auto _ : state) ops::adamw_step(p, g, m, v, settings);
    report(state, 0, 32.0 * static_cast<double>(count));
  });
  benchmark::RegisterBenchmark("SumOfSquares/d9d", [](State& state) {
    const auto g = random({int64_t{1} << 24});
    for (auto _ : state) benchmark::DoNotOptimize(ops::sum_of_squares(g));
    report(state, 0, 4.0 * static_cast<double>(g.numel()));
  });
}

}  // namespace

int main(int argc, char** argv) {
  at::set_num_threads(1);
  benchmark::Initialize(&argc, argv);
  add_gemms();
  for (const Workload& w : workloads) {
    add_elementwise(w);
    add_attention(w);
    add_biased_attention(w);
    add_delta_rule(w);
    add_head(w);
    add_experts(w);
  }
  add_optimizer();
  add_models();
  benchmark::RunSpecifiedBenchmarks();
}
