// MOD-31 and MOD-54: what was chosen is what runs, with the same numbers.
#include "kernels/ops/backend.hpp"

#include <ATen/Functions.h>
#include <ATen/record_function.h>
#include <gmock/gmock.h>

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>

#include "kernels/attention/attention.hpp"
#include "kernels/cpu/isa.hpp"
#include "kernels/moe.hpp"
#include "tests/support/error_of.hpp"
#include "tests/support/gradcheck.hpp"

namespace d9d::test {
namespace {

using kernels::AttentionBackend;
using kernels::Backends;
using kernels::GroupedBackend;
using testing::HasSubstr;

class Chosen {
 public:
  explicit Chosen(const Backends& backends) { kernels::choose_backends(backends); }
  ~Chosen() { kernels::choose_backends(before_); }

 private:
  const Backends before_ = kernels::backends();
};

std::atomic<int> library_calls{0};

// Calls of torch's own attention and of its products, on any thread, while `act` runs.
int library_calls_in(const std::function<void()>& act) {
  library_calls = 0;
  const auto count = [](const at::RecordFunction& call) -> std::unique_ptr<at::ObserverContext> {
    const std::string name = call.name();
    library_calls +=
        name == "aten::mm" || name.starts_with("aten::_scaled_dot_product_flash_attention_for_cpu");
    return nullptr;
  };
  const auto handle = at::addGlobalCallback(at::RecordFunctionCallback(count));
  act();
  at::removeCallback(handle);
  return library_calls;
}

bool has_avx512() {
  return kernels::isa_of_this_machine() >= kernels::Isa::avx512;
}

Tensors attend(const Tensors& in) {
  return {kernels::attention(in[0], in[1], in[2], kernels::causal_mask, 0.25)};
}

Tensors reference_attend(const Tensors& in) {
  const at::Tensor later = at::ones({in[0].size(1), in[1].size(1)}, at::kBool).triu(1);
  const at::Tensor scores = at::matmul(in[0].transpose(1, 2), in[1].transpose(1, 2).transpose(2, 3)) * 0.25;
  const at::Tensor seen = scores.masked_fill(later, -std::numeric_limits<double>::infinity());
  return {at::matmul(seen.softmax(-1), in[2].transpose(1, 2)).transpose(1, 2)};
}

Tensors heads() {
  return {values({2, 33, 3, 16}, 1) * 3, values({2, 33, 3, 16}, 2) * 3, values({2, 33, 3, 16}, 3)};
}

TEST(AttentionBackends, OfTheLibraryComputesTheSame) {
  const Chosen library({.attention = AttentionBackend::library});

  const int calls =
      library_calls_in([] { expect_matches_in_every_dtype(attend, reference_attend, heads()); });

  EXPECT_EQ(calls, 6);  // forward and backward of three types
}

TEST(AttentionBackends, OfOurOwnLoopsDoesNotCallTheLibrary) {
  if (!has_avx512()) GTEST_SKIP() << "the loops need AVX-512";
  const Chosen own({.attention = AttentionBackend::own});

  EXPECT_EQ(library_calls_in([] { expect_matches(attend, reference_attend, heads(), at::kFloat); }), 0);
  EXPECT_THAT(test::error_of<c10::Error>([] { attend(heads()); }),
              HasSubstr("`own` needs AVX-512, float32 or bfloat16"));
}

// MOD-30.
TEST(AttentionBackends, ThatTheCpuLacksAreRefused) {
  const Chosen composed({.attention = AttentionBackend::composed});

  EXPECT_THAT(test::error_of<c10::Error>([] { attend(heads()); }),
              HasSubstr("the CPU has no backend `composed`"));
}

at::Tensor routes() {
  return integers({40, 2}, 5, 3);
}

// In x, probs, gate, up, down.
Tensors run_experts(const Tensors& in) {
  const at::Tensor probs = in[1].scalar_type() == at::kBFloat16 ? in[1].to(at::kFloat) : in[1];
  return {kernels::moe_experts(in[0], probs, routes(), in[2], in[3], in[4])};
}

Tensors reference_experts_of(const Tensors& in) {
  at::Tensor y = at::zeros_like(in[0]);
  for (std::int64_t e = 0; e < in[2].size(0); ++e) {
    const at::Tensor hidden = at::silu(at::linear(in[0], in[2][e])) * at::linear(in[0], in[3][e]);
    y = y + (in[1] * routes().eq(e)).sum(1, true) * at::linear(hidden, in[4][e]);
  }
  return {y};
}

Tensors experts_in() {
  return {values({40, 16}, 1), values({40, 2}, 2), values({5, 24, 16}, 3), values({5, 24, 16}, 4),
          values({5, 16, 24}, 5)};
}

TEST(GroupedBackends, ExpertByExpertComputesTheSameByTheLibrary) {
  const Chosen one_by_one({.grouped_product = GroupedBackend::expert_by_expert});

  const int calls =
      library_calls_in([] { expect_matches(run_experts, reference_experts_of, experts_in(), at::kFloat); });

  EXPECT_GE(calls, 9 * 5);  // of each expert three products forward, six backward; the reference's are others
  expect_matches_in_every_dtype(run_experts, reference_experts_of, experts_in());
}

TEST(GroupedBackends, OfOurOwnDoesNotCallTheLibrary) {
  if (!has_avx512()) GTEST_SKIP() << "without AVX-512 own products are the library's";
  const Chosen own({.grouped_product = GroupedBackend::own});
  Tensors in = experts_in();
  for (at::Tensor& tensor : in) tensor = tensor.to(at::kFloat);

  EXPECT_EQ(library_calls_in([&] { run_experts(in); }), 0);
}

TEST(GroupedBackends, ThatTheCpuLacksAreRefused) {
  const Chosen library({.grouped_product = GroupedBackend::library});

  EXPECT_THAT(test::error_of<c10::Error>([] { run_experts(experts_in()); }),
              HasSubstr("the CPU has no backend `library`"));
}

TEST(Backends, AreReadFromTheEnvironment) {
  EXPECT_EQ(kernels::backends_of_environment(), Backends());
  ::setenv("D9D_ATTENTION", "library", 1);
  ::setenv("D9D_GROUPED_PRODUCT", "expert_by_expert", 1);
  const Backends given = kernels::backends_of_environment();
  ::setenv("D9D_ATTENTION", "eager", 1);
  const std::string refusal =
      test::error_of<std::invalid_argument>([] { kernels::backends_of_environment(); });
  ::unsetenv("D9D_ATTENTION");
  ::unsetenv("D9D_GROUPED_PRODUCT");

  EXPECT_EQ(given, (Backends{AttentionBackend::library, GroupedBackend::expert_by_expert}));
  EXPECT_EQ(refusal, "D9D_ATTENTION is \"eager\", expected one of auto, own, library, composed");
}

}  // namespace
}  // namespace d9d::test
