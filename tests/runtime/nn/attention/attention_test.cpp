#include "runtime/nn/attention/attention.hpp"

#include <gmock/gmock.h>

#include "runtime/base/error.hpp"
#include "tests/support/error_of.hpp"

namespace d9d::test {
namespace {

class Forgetful final : public Attention {
 public:
  at::Tensor forward(const at::Tensor& x, const at::Tensor& /*cos*/, const at::Tensor& /*sin*/,
                     const at::Tensor& /*starts*/) const override {
    return x;
  }
  void shard(TensorParallel& /*tensor*/, const ActivationShards& /*tokens*/) override {}
  std::int64_t num_heads() const override { return 1; }
  void set_core(std::shared_ptr<const AttentionCore> /*core*/) override {}
};

TEST(Attention, WithoutACacheSaysThatItCannotGenerate) {
  const Forgetful block;

  EXPECT_THAT(error_of(
                  [&] {
                    block.make_cache({2, 8});
                  },
                  ErrorKind::input),
              testing::HasSubstr("cannot generate; implement make_cache and forward_cached"));
}

}  // namespace
}  // namespace d9d::test
