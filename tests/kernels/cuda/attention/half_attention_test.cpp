// Attention in bfloat16, forward and backward, against its definition in fp64 with the gradients of torch's autograd:
// on a GPU that of a library, on the emulated grid the composed one.
#include <ATen/Context.h>
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>
#include <limits>

#include "kernels/ops/backend.hpp"
#include "kernels/ops/table.hpp"
#include "tests/kernels/cuda/under_test.hpp"
#include "tests/support/gradcheck.hpp"

namespace d9d::test {
namespace {

using kernels::AttentionBlock;
using kernels::AttentionBlockGradients;
using kernels::AttentionMask;
using kernels::VisibleKeys;

constexpr int64_t no_limit = AttentionMask::unlimited;
// Of the largest value: probabilities and gradients of scores are rounded to bfloat16 before they are factors, results
// after that, and those of query heads that share a key head once more before they are added.
constexpr double of_rounded_factors = 1.0 / 64, of_fp32 = 1e-5;

struct AttentionShape {
  int64_t batch, queries, keys, key_heads, group, dim;
  AttentionMask mask;
  int64_t value_dim = dim;
};

struct HeadsOfAttention {
  at::Tensor q, k, v, grad;
  double scale;
};

// Parts of longer rows, as views of a joined projection are. Scores are far enough apart that few keys have weight.
HeadsOfAttention heads_of(const AttentionShape& s) {
  const auto part = [&](int64_t length, int64_t heads, int64_t dim, std::uint64_t seed) {
    return values({s.batch, length, heads + 1, dim}, seed).mul(3).to(at::kBFloat16).narrow(2, 1, heads);
  };
  const int64_t heads = s.key_heads * s.group;
  return {part(s.queries, heads, s.dim, 1), part(s.keys, s.key_heads, s.dim, 2),
          part(s.keys, s.key_heads, s.value_dim, 3), part(s.queries, heads, s.value_dim, 4),
          1 / std::sqrt(static_cast<double>(s.dim))};
}

// True where a query does not see a key, [Sq, Sk].
at::Tensor hidden_by(const AttentionMask& mask, int64_t queries, int64_t keys) {
  const at::Tensor earlier = at::arange(queries).add(mask.offset).unsqueeze(1) - at::arange(keys);
  return (earlier > mask.before).logical_or(-earlier > mask.after);
}

struct Attended {
  AttentionBlock block;
  AttentionBlockGradients gradients;
};

// `hidden` [.., Sq, Sk] as booleans.
Attended by_definition(const HeadsOfAttention& in, const at::Tensor& hidden) {
  const auto leaf = [](const at::Tensor& x) { return x.to(at::kDouble).requires_grad_(true); };
  const at::Tensor q = leaf(in.q), k = leaf(in.k), v = leaf(in.v);
  const auto by_head = [&](const at::Tensor& x) {
    return x.repeat_interleave(q.size(2) / x.size(2), 2).transpose(1, 2);
  };
  const at::Tensor scores = at::matmul(by_head(q), by_head(k).transpose(2, 3))
                                .mul(in.scale)
                                .masked_fill(hidden, -std::numeric_limits<double>::infinity());
  const at::Tensor out = at::matmul(scores.softmax(-1), by_head(v)).transpose(1, 2);
  const auto gradients = torch::autograd::grad({out}, {q, k, v}, {in.grad.to(at::kDouble)});
  return {{out.detach(), scores.detach().logsumexp(-1)}, {gradients[0], gradients[1], gradients[2]}};
}

HeadsOfAttention moved_there(const HeadsOfAttention& in) {
  return {there(in.q), there(in.k), there(in.v), there(in.grad), in.scale};
}

AttentionBlock forward(const HeadsOfAttention& in, const AttentionMask& mask, at::ScalarType dtype,
                       const VisibleKeys& visible = {}) {
  return table_under_test().attention_block.function()(in.q, in.k, in.v, mask, in.scale, dtype, visible, {});
}
AttentionBlockGradients backward(const HeadsOfAttention& in, const AttentionBlock& of,
                                 const AttentionMask& mask, at::ScalarType dtype,
                                 const VisibleKeys& visible = {}) {
  return table_under_test().attention_block_backward.function()(in.grad, in.q, in.k, in.v, of, mask, in.scale,
                                                                dtype, visible, {});
}
Attended attend(const HeadsOfAttention& in, const AttentionMask& mask, const VisibleKeys& visible = {}) {
  const AttentionBlock block = forward(in, mask, at::kBFloat16, visible);
  return {block, backward(in, block, mask, at::kBFloat16, visible)};
}

void expect_attended(const Attended& given, const Attended& expected, at::ScalarType dtype = at::kBFloat16) {
  EXPECT_EQ(given.block.out.scalar_type(), dtype);
  expect_close(given.block.out.cpu(), expected.block.out, of_rounded_factors, "out");
  expect_close(given.block.lse.cpu(), expected.block.lse, of_fp32, "lse");
  expect_close(given.gradients.dq.cpu(), expected.gradients.dq, of_rounded_factors, "dq");
  expect_close(given.gradients.dk.cpu(), expected.gradients.dk, of_rounded_factors, "dk");
  expect_close(given.gradients.dv.cpu(), expected.gradients.dv, of_rounded_factors, "dv");
}

bool on_a_gpu() {
  static const bool gpu = there(values({1}, 0)).is_cuda();
  return gpu;
}
// Where the host emulates the grid, a small part is enough: it computes all of it.
using Numbers = std::vector<int64_t>;
Numbers of_place(const Numbers& on_gpu, const Numbers& emulated) {
  return on_a_gpu() ? on_gpu : emulated;
}
// With cuDNN where it can, and without: there is a library besides it.
template <class F>
void for_libraries(F&& attend) {
  for (const int64_t cudnn : of_place({1, 0}, {1})) {
    SCOPED_TRACE(cudnn != 0 ? "with cuDNN" : "without cuDNN");
    at::globalContext().setSDPUseCuDNN(cudnn != 0);
    attend();
  }
  at::globalContext().setSDPUseCuDNN(true);
}

// `first` of VisibleKeys, undefined or [B, S].
void expect_attention(const AttentionShape& s, const at::Tensor& first = {}) {
  SCOPED_TRACE(testing::Message() << s.queries << " x " << s.keys << ", heads " << s.key_heads << " x "
                                  << s.group << " of " << s.dim << " and " << s.value_dim << ", before "
                                  << s.mask.before << ", after " << s.mask.after << ", offset "
                                  << s.mask.offset << (first.defined() ? ", documents" : ""));
  const HeadsOfAttention in = heads_of(s);
  at::Tensor hidden = hidden_by(s.mask, s.queries, s.keys);
  if (first.defined()) hidden = hidden.logical_or(at::arange(s.keys) < first.unsqueeze(2)).unsqueeze(1);
  const VisibleKeys visible{first.defined() ? there(first) : first};
  const Attended expected = by_definition(in, hidden);
  for_libraries([&] { expect_attended(attend(moved_there(in), s.mask, visible), expected); });
}

Numbers widths() {
  return of_place({64, 128, 256}, {16});
}

TEST_F(CudaOps, AttentionInBfloat16IsThatOfItsDefinition) {
  for (const int64_t dim : widths()) {
    for (const int64_t group : of_place({1, 2, 8}, {2})) {
      for (const int64_t length : of_place({1, 127, 128, 129, 1000, 1024}, {1, 129})) {
        for (const AttentionMask& mask :
             {AttentionMask{no_limit, no_limit, 0}, {no_limit, 0, 0}, {100, 0, 0}}) {
          const int64_t few = length > 129 || group == 8 ? 1 : 2;
          expect_attention({few, length, length, few, group, dim, mask});
        }
      }
    }
  }
}

// Blocks as ranks that share a sequence ask for them: all earlier keys, the band's last keys, a window that reaches
// into earlier keys, and one that ends before the last key.
TEST_F(CudaOps, AttentionInBfloat16TakesQueriesAndKeysOfDifferentLengths) {
  for (const int64_t dim : widths()) {
    expect_attention({2, 96, 200, 2, 2, dim, {no_limit, no_limit, 0}});
    expect_attention({1, 200, 96, 2, 2, dim, {no_limit, no_limit, 0}});
    expect_attention({2, 128, 256, 2, 2, dim, {no_limit, no_limit, 0}});
    expect_attention({2, 96, 200, 2, 2, dim, {no_limit, 0, 104}});
    expect_attention({1, 96, 200, 2, 1, dim, {70, 0, 104}});
    expect_attention({1, 96, 128, 2, 1, dim, {150, no_limit, 128}});
    expect_attention({1, 96, 200, 1, 2, dim, {80, 5, 90}});
  }
}

// On a GPU a call that no library takes is refused.
struct OnlyLibraries {
  OnlyLibraries() {
    if (on_a_gpu()) kernels::choose_backends({.attention = kernels::AttentionBackend::library});
  }
  ~OnlyLibraries() { kernels::choose_backends({}); }
};

// Latent attention has values narrower than keys.
TEST_F(CudaOps, AttentionInBfloat16TakesValuesOfAnotherWidthThanKeys) {
  const OnlyLibraries only;
  const std::pair<int64_t, int64_t> of_keys_and_values[] = {{24, 16}, {192, 128}, {64, 128}};
  for (const auto& [dim, value_dim] : of_keys_and_values) {
    if (dim > 24 && !on_a_gpu()) continue;
    for (const AttentionMask& mask : {AttentionMask{no_limit, no_limit, 0}, {no_limit, 0, 0}, {40, 0, 0}})
      expect_attention({2, 129, 129, 2, 2, dim, mask, value_dim});
  }
}

// The starts of documents of these lengths, one row.
at::Tensor starts_of(const Numbers& lengths) {
  std::vector<int64_t> starts;
  for (const int64_t length : lengths)
    starts.insert(starts.end(), static_cast<std::size_t>(length), std::ssize(starts));
  return at::tensor(starts, at::kLong);
}

TEST_F(CudaOps, AttentionInBfloat16KeepsToTheDocumentsOfARow) {
  const OnlyLibraries only;
  const at::Tensor few = at::stack({starts_of({5, 1, 60, 63}), starts_of({129})}),
                   many = at::stack({starts_of({300, 1, 127, 572}), starts_of(Numbers(1000, 1))});
  for (const int64_t dim : widths()) {
    for (const AttentionMask& mask : {AttentionMask{no_limit, 0, 0}, {40, 0, 0}}) {
      expect_attention({2, 129, 129, 2, 2, dim, mask}, few);
      for (const int64_t length : of_place({1000}, {}))
        expect_attention({2, length, length, 1, 4, dim, mask}, many);
    }
    expect_attention({2, 129, 129, 2, 1, dim, {no_limit, 0, 0}, dim / 2}, few);
  }
}

struct BlockOfKeys {
  HeadsOfAttention heads;
  AttentionMask mask;
};

// Attention over blocks that follow each other.
Attended merged(const std::vector<BlockOfKeys>& blocks) {
  const AttentionBlock whole = forward(blocks[0].heads, blocks[0].mask, at::kFloat);
  for (std::size_t i = 1; i < blocks.size(); ++i) {
    table_under_test().merge_attention_block.function()(whole,
                                                        forward(blocks[i].heads, blocks[i].mask, at::kFloat));
  }
  at::Tensor dq;
  std::vector<at::Tensor> dk, dv;
  for (const BlockOfKeys& block : blocks) {
    const AttentionBlockGradients share = backward(block.heads, whole, block.mask, at::kFloat);
    dq = dq.defined() ? dq + share.dq : share.dq;
    dk.push_back(share.dk);
    dv.push_back(share.dv);
  }
  return {whole, {dq, at::cat(dk, 1), at::cat(dv, 1)}};
}

// The earlier keys in two blocks, and the queries' own under a causal mask.
TEST_F(CudaOps, BlocksOfAttentionInBfloat16AreMergedToTheWhole) {
  for (const int64_t dim : widths()) {
    const AttentionShape s{2, 128, 200 + 128, 2, 2, dim, {no_limit, 0, 200}};
    const HeadsOfAttention in = heads_of(s), all = moved_there(in);
    const auto block_of = [&](int64_t key, int64_t keys) {
      return HeadsOfAttention{all.q, all.k.narrow(1, key, keys), all.v.narrow(1, key, keys), all.grad,
                              all.scale};
    };
    const std::vector<BlockOfKeys> blocks{{block_of(0, 128), {no_limit, no_limit, 0}},
                                          {block_of(128, 72), {no_limit, no_limit, 0}},
                                          {block_of(200, 128), {no_limit, 0, 0}}};
    const Attended expected = by_definition(in, hidden_by(s.mask, s.queries, s.keys));

    for_libraries([&] { expect_attended(merged(blocks), expected, at::kFloat); });
  }
}

}  // namespace
}  // namespace d9d::test
