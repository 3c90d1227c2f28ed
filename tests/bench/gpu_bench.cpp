// Speed of CUDA's ops beside torch's own in the same call, and beside what the GPU can do at all: a copy, a product.
//   gpu_bench [NAME]    only ops whose name contains NAME. Needs a GPU.
// Times are of a queue of calls, so that what a launch costs the host does not count while the GPU is busy.
#include <ATen/Context.h>
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <string>

#include "kernels/copy_pieces.hpp"
#include "kernels/memory/host_values.hpp"
#include "kernels/run_op.hpp"
#include "runtime/comm/device_plugin.hpp"
#include "runtime/device/device.hpp"

namespace {

using d9d::kernels::OpTable;
using d9d::kernels::run_op;
using d9d::kernels::VisibleKeys;
using Call = std::function<void()>;

constexpr int64_t num_tokens = 16384, hidden_size = 2048;

class Bench {
 public:
  Bench(d9d::Device& device, std::string only) : device_(device), only_(std::move(only)) {}

  // One line: ours, the rate, its share of the ceiling, torch's time where it has the op, and how much faster ours is.
  // `bytes` are read and written; where flops are given, they are what counts.
  void line(const std::string& name, double bytes, double flops, const Call& ours, const Call& torchs) {
    if (name.find(only_) == std::string::npos) return;
    const double seconds = time(ours), peer = torchs ? time_of_peer(torchs) : 0;
    const double rate = (flops > 0 ? flops : bytes) / seconds, ceiling = flops > 0 ? product_ : copy_;
    fmt::print("{:<34} {:>9.1f} us  {:>8.1f} {}  {:>5.1f} %", name, seconds * 1e6,
               rate / (flops > 0 ? 1e12 : 1e9), flops > 0 ? "TFLOP/s" : "GB/s   ", 100 * rate / ceiling);
    if (torchs && peer == 0) {
      fmt::print("  torch refuses\n");
    } else if (torchs) {
      fmt::print("  torch {:>9.1f} us  {:>5.2f} x\n", peer * 1e6, peer / seconds);
    } else {
      fmt::print("\n");
    }
    std::fflush(stdout);
  }

  void measure_ceilings(const at::TensorOptions& bf16) {
    const at::Tensor from = at::ones({int64_t{1} << 29}, bf16), to = at::empty_like(from);
    copy_ = 2.0 * static_cast<double>(from.nbytes()) / time([&] { to.copy_(from); });
    const at::Tensor a = at::randn({8192, 8192}, bf16), c = at::empty_like(a);
    product_ = 2.0 * 8192 * 8192 * 8192 / time([&] { at::mm_out(const_cast<at::Tensor&>(c), a, a); });
    fmt::print("ceilings: copy {:.0f} GB/s (read and written), bf16 product {:.0f} TFLOP/s\n", copy_ / 1e9,
               product_ / 1e12);
  }

 private:
  // 0 where torch does not take the call on this GPU.
  double time_of_peer(const Call& call) {
    try {
      return time(call);
    } catch (const c10::Error&) {
      return 0;
    }
  }
  // Seconds of a call: the least of five queues of at least 20 ms each.
  double time(const Call& call) {
    const auto queue = [&](int calls) {
      const auto begin = std::chrono::steady_clock::now();
      for (int i = 0; i < calls; ++i) call();
      device_.record(d9d::StreamRole::compute).wait("gpu_bench");
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    };
    queue(3);
    int calls = 1;
    while (queue(calls) < 0.02 && calls < 4096) calls *= 2;
    double least = queue(calls);
    for (int i = 0; i < 4; ++i) least = std::min(least, queue(calls));
    return least / calls;
  }

  d9d::Device& device_;
  const std::string only_;
  double copy_ = 1, product_ = 1;
};

double bytes_of(std::initializer_list<at::Tensor> tensors) {
  double bytes = 0;
  for (const at::Tensor& tensor : tensors)
    bytes += static_cast<double>(tensor.numel() * tensor.element_size());
  return bytes;
}

void norms(Bench& bench, const at::TensorOptions& bf16) {
  const at::Tensor x = at::randn({num_tokens, hidden_size}, bf16), residual = at::randn_like(x),
                   dy = at::randn_like(x);
  const at::Tensor weight = at::ones({hidden_size}, bf16);
  const at::Tensor inverse = at::ones({num_tokens}, bf16.dtype(at::kFloat));
  bench.line(
      "rms_norm", bytes_of({x, x}), 0, [&] { run_op(&OpTable::rms_norm, x, at::Tensor(), weight, 1e-6, 0); },
      [&] { at::rms_norm(x, {hidden_size}, weight, 1e-6); });
  bench.line(
      "add + rms_norm", bytes_of({x, x, x, x}), 0,
      [&] { run_op(&OpTable::rms_norm, x, residual, weight, 1e-6, 0); },
      [&] { at::rms_norm(x + residual, {hidden_size}, weight, 1e-6); });
  for (const bool with_dweight : {false, true}) {
    bench.line(with_dweight ? "rms_norm_backward" : "rms_norm_backward, x only", bytes_of({x, dy, x, x}), 0,
               [&, with_dweight] {
                 run_op(&OpTable::rms_norm_backward, dy, x, weight, 0, inverse, residual, with_dweight);
               },
               {});
  }
}

void heads(Bench& bench, const at::TensorOptions& bf16) {
  const at::Tensor x = at::randn({4, 4096, 16, 128}, bf16), dy = at::randn_like(x), dx = at::empty_like(x),
                   weight = at::ones({128}, bf16);
  const at::Tensor cos = at::ones({4096, 128}, bf16.dtype(at::kFloat)), sin = at::zeros_like(cos);
  const auto half = d9d::kernels::RopeStyle::half;
  const at::Tensor inverse = at::ones({4, 4096, 16}, cos.options());
  bench.line("norm + rope", bytes_of({x, x}), 0,
             [&] {
               run_op(&OpTable::rope, x, weight, 1e-6, 0, {cos, sin}, half);
             },
             {});
  bench.line("norm + rope, backward", bytes_of({x, x, x}), 0,
             [&] {
               run_op(&OpTable::rope_backward, dx, dy, x, weight, 0, inverse, {cos, sin}, half);
             },
             {});
}

void elementwise(Bench& bench, const at::TensorOptions& bf16) {
  const at::Tensor both = at::randn({num_tokens, 2 * 6144}, bf16);
  const at::Tensor gate = both.narrow(1, 0, 6144), up = both.narrow(1, 6144, 6144);
  const at::Tensor dout = at::randn({num_tokens, 6144}, bf16);
  bench.line(
      "silu_mul", bytes_of({gate, up, dout}), 0, [&] { run_op(&OpTable::silu_mul, gate, up); },
      [&] { at::silu(gate).mul_(up); });
  bench.line("silu_mul_backward", bytes_of({gate, up, dout, gate, up}), 0,
             [&] { run_op(&OpTable::silu_mul_backward, dout, gate, up); }, {});
}

void vocabulary(Bench& bench, const at::TensorOptions& bf16) {
  const int64_t words = 151936;
  const at::Tensor weight = at::randn({words, hidden_size}, bf16),
                   ids = at::randint(words, {num_tokens}, bf16.dtype(at::kLong));
  const at::Tensor grad = at::randn({num_tokens, hidden_size}, bf16),
                   into = at::zeros({words, hidden_size}, bf16.dtype(at::kFloat));
  bench.line(
      "embedding_dw", bytes_of({grad, grad, grad, grad, grad}), 0,
      [&] { run_op(&OpTable::embedding_dw, grad, ids, into, 1); },
      [&] { at::embedding_dense_backward(grad, ids, words, -1, false); });
  const at::Tensor logits = at::randn({2048, 32768}, into.options()),
                   labels = at::randint(32768, {2048}, ids.options());
  const at::Tensor loss = at::empty({2048}, into.options()), rounded = at::empty(logits.sizes(), bf16);
  bench.line(
      "cross_entropy of logits", bytes_of({logits, logits, rounded}), 0,
      [&] { run_op(&OpTable::cross_entropy, logits, labels, true, rounded, loss); },
      [&] { at::log_softmax(logits, 1); });
}

struct Heads {
  int64_t batch, length, heads, key_heads, width, value_width;
};

// Forward and backward, and torch's forward by cuDNN, which takes grouped heads when they are repeated.
void attention_of(Bench& bench, const at::TensorOptions& bf16, const std::string& name, const Heads& h,
                  const d9d::kernels::VisibleKeys& visible, double visible_share) {
  const at::Tensor q = at::randn({h.batch, h.length, h.heads, h.width}, bf16),
                   k = at::randn({h.batch, h.length, h.key_heads, h.width}, bf16),
                   v = at::randn({h.batch, h.length, h.key_heads, h.value_width}, bf16),
                   grad = at::randn({h.batch, h.length, h.heads, h.value_width}, bf16);
  const auto mask = d9d::kernels::causal_mask;
  const auto pairs = static_cast<double>(h.batch * h.heads * h.length * h.length);
  const double flops = visible_share * pairs * static_cast<double>(h.width + h.value_width);
  const auto heads_of = [&](const at::Tensor& x) {
    return x.repeat_interleave(h.heads / x.size(2), 2).transpose(1, 2);
  };
  const at::Tensor wide_q = heads_of(q), wide_k = heads_of(k), wide_v = heads_of(v);
  const Call torchs = [&] {
    at::_scaled_dot_product_cudnn_attention(wide_q, wide_k, wide_v, {}, true, 0, true, false, 0.088);
  };
  const auto forward = [&] {
    return run_op(&OpTable::attention_block, q, k, v, mask, 0.088, at::kBFloat16, visible, {});
  };
  bench.line(name, 0, flops, forward, visible.any() ? Call() : torchs);
  const auto block = forward();
  bench.line(name + ", backward", 0, 2.5 * flops,
             [&] {
               run_op(&OpTable::attention_block_backward, grad, q, k, v, block, mask, 0.088, at::kBFloat16,
                      visible, {});
             },
             {});
}

void attention(Bench& bench, const at::TensorOptions& bf16) {
  constexpr Heads grouped{4, 4096, 16, 8, 128, 128};
  attention_of(bench, bf16, "attention (torch: cuDNN)", grouped, {}, 1);
  at::globalContext().setSDPUseCuDNN(false);
  attention_of(bench, bf16, "attention by FlashAttention 2", grouped, {}, 1);
  at::globalContext().setSDPUseCuDNN(true);
  const at::Tensor starts = at::arange(4096).div(512, "floor").mul(512).expand({4, 4096}).contiguous();
  const at::Tensor there = starts.to(bf16.device());
  d9d::kernels::keep_host_values(there, starts);
  attention_of(bench, bf16, "attention, documents of 512", grouped, {there, {}}, 1.0 / 8);
  attention_of(bench, bf16, "attention, heads of 192 and 128", {4, 4096, 16, 16, 192, 128}, {}, 1);
}

void products(Bench& bench, const at::TensorOptions& bf16) {
  const at::Tensor x = at::randn({num_tokens, hidden_size}, bf16), dy = at::randn({num_tokens, 6144}, bf16);
  const at::Tensor into = at::zeros({6144, hidden_size}, bf16.dtype(at::kFloat));
  const double flops = 2.0 * num_tokens * hidden_size * 6144;
  bench.line(
      "weight gradient into fp32", 0, flops, [&] { run_op(&OpTable::matmul, into, dy.t(), x, 1); },
      [&] { at::mm(dy.t(), x); });
}

void experts(Bench& bench, const at::TensorOptions& bf16) {
  const auto fp32 = bf16.dtype(at::kFloat);
  const at::Tensor logits = at::randn({num_tokens, 128}, bf16),
                   x = at::randn({num_tokens, hidden_size}, bf16);
  const d9d::kernels::RouterRule rule{.top_k = 8, .renormalise = true};
  bench.line(
      "moe_router 128, 8", bytes_of({logits, logits, logits}), 0,
      [&] { run_op(&OpTable::moe_router, logits, at::Tensor(), rule); },
      [&] { at::softmax(logits, 1, at::kFloat).topk(8, 1); });
  const auto routing = run_op(&OpTable::moe_router, logits, at::Tensor(), rule);
  bench.line(
      "expert_order", bytes_of({routing.experts, routing.experts}), 0,
      [&] { run_op(&OpTable::expert_order, routing.experts, 128); },
      [&] { at::argsort(routing.experts.flatten(), true); });
  bench.line("choice_owners 8", bytes_of({routing.experts, routing.experts}), 0,
             [&] { run_op(&OpTable::choice_owners, routing.experts, 16); }, {});
  const auto order = run_op(&OpTable::expert_order, routing.experts, 128);
  const at::Tensor rows = run_op(&OpTable::spread_rows, x, order.map, at::Tensor(), routing.experts.numel());
  bench.line("spread_rows", bytes_of({x, rows}), 0,
             [&] { run_op(&OpTable::spread_rows, x, order.map, at::Tensor(), routing.experts.numel()); }, {});
  bench.line("combine_rows", bytes_of({x, rows}), 0,
             [&] { run_op(&OpTable::combine_rows, rows, order.map, routing.probs); }, {});
  const at::Tensor weight = at::randn({128, 768, hidden_size}, bf16),
                   out = at::empty({rows.size(0), 768}, bf16);
  const double flops = 2.0 * static_cast<double>(rows.size(0)) * 768 * hidden_size;
  bench.line("grouped_product", 0, flops,
             [&] { run_op(&OpTable::grouped_product, out, rows, weight, order.offsets, true); }, {});
  const at::Tensor into = at::zeros(weight.sizes(), fp32);
  bench.line("grouped_dw", 0, flops, [&] { run_op(&OpTable::grouped_dw, into, out, rows, order.offsets, 1); },
             {});
}

// A layer of gated delta nets of Qwen3-Next, in chunks of 64. FLOPs of a token and value head: scores of keys and
// queries, T [V, K], what is read from and written to the state, P V'.
void recurrences(Bench& bench, const at::TensorOptions& bf16) {
  constexpr int64_t sequences = 4, length = num_tokens / sequences, key_heads = 16, value_heads = 32,
                    width = 128, chunk = 64;
  const auto heads = [&](int64_t count) { return at::randn({sequences, length, count, width}, bf16); };
  const at::Tensor q = heads(key_heads), k = heads(key_heads), v = heads(value_heads),
                   dy = heads(value_heads);
  const at::Tensor decay = at::randn({sequences, length, value_heads}, bf16.dtype(at::kFloat)).abs().neg(),
                   beta = decay.sigmoid();
  const d9d::kernels::DeltaRuleOptions options{
      .scale = 1 / std::sqrt(128.0), .normalise = true, .chunk = chunk};
  const double flops = 2.0 * num_tokens * value_heads * width * (5 * chunk + 3 * width);
  bench.line("delta_rule", bytes_of({q, k, v, v}), flops,
             [&] { run_op(&OpTable::delta_rule, q, k, v, decay, beta, options); }, {});
  bench.line("delta_rule_backward", bytes_of({q, k, v, dy, q, k, v}), 3 * flops,
             [&] { run_op(&OpTable::delta_rule_backward, dy, q, k, v, decay, beta, options); }, {});
}

void optimizers(Bench& bench, const at::TensorOptions& bf16) {
  std::vector<at::Tensor> buffers;
  for (int i = 0; i < 4; ++i) buffers.push_back(at::zeros({int64_t{1} << 27}, bf16.dtype(at::kFloat)));
  const at::Tensor &param = buffers[0], &grad = buffers[1], &m = buffers[2], &v = buffers[3],
                   step = at::ones({}, param.options());
  bench.line(
      "adamw_step", bytes_of({param, grad, m, v, param, m, v}), 0,
      [&] {
        run_op(&OpTable::adamw_step, param, grad, m, v, {1e-3, 0.9, 0.95, 1e-8, 0.1, 1});
      },
      [&] {
        at::_fused_adamw_({param}, {grad}, {m}, {v}, {}, {step}, 1e-3, 0.9, 0.95, 0.1, 1e-8, false, false);
      });
  bench.line(
      "sum_of_squares", bytes_of({grad}), 0, [&] { run_op(&OpTable::sum_of_squares, grad); },
      [&] { at::linalg_vector_norm(grad).item(); });
}

// A layer of Qwen3-1.7B as 8 ranks gathered it, put together; torch: a copy_ for each piece.
void shards(Bench& bench, const at::TensorOptions& bf16) {
  constexpr int64_t ranks = 8, head = 128, inner = 6144;
  const int64_t lengths[] = {hidden_size * hidden_size,
                             hidden_size * hidden_size / 2,
                             hidden_size * hidden_size / 2,
                             hidden_size * hidden_size,
                             head,
                             head,
                             hidden_size,
                             hidden_size,
                             hidden_size * inner,
                             hidden_size * inner,
                             hidden_size * inner};
  int64_t whole = 0;
  for (const int64_t length : lengths) whole += length;
  d9d::kernels::CopiedPieces pieces;
  int64_t begin = 0;
  for (const int64_t length : lengths) {
    const int64_t count = length / ranks;
    for (int64_t rank = 0; rank < ranks; ++rank)
      pieces.push_back({begin + rank * count, rank * (whole / ranks) + begin / ranks, count});
    begin += length;
  }
  const at::Tensor from = at::randn({whole}, bf16), to = at::empty_like(from);
  bench.line(
      "copy_pieces, 88 of a layer", bytes_of({from, to}), 0,
      [&] { d9d::kernels::copy_pieces(to, from, pieces); },
      [&] {
        for (const auto& piece : pieces)
          to.narrow(0, piece.to, piece.count).copy_(from.narrow(0, piece.from, piece.count));
      });
}

}  // namespace

int main(int argc, char** argv) try {
  const d9d::DevicePlugin plugin(d9d::DeviceLibrary::cuda);
  const auto device = plugin.device(0);
  const auto bf16 = at::TensorOptions(at::kBFloat16).device(device->place());
  Bench bench(*device, argc > 1 ? argv[1] : "");
  bench.measure_ceilings(bf16);
  for (const auto part :
       {norms, heads, elementwise, vocabulary, attention, products, experts, recurrences, optimizers, shards})
    part(bench, bf16);
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "gpu_bench: %s\n", error.what());
  return 1;
}
