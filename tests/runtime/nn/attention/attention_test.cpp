#include "runtime/nn/attention/attention.hpp"

#include <gmock/gmock.h>

#include "runtime/base/error.hpp"

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

  try {
    block.make_cache({2, 8});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input);
    EXPECT_THAT(error.what(), testing::HasSubstr("cannot generate; implement make_cache and forward_cached"));
  }
}

}  // namespace
}  // namespace d9d::test
