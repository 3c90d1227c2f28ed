#include "kernels/graph/saving_place.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/randn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <memory>
#include <vector>

#include "kernels/linear.hpp"
#include "kernels/norm.hpp"
#include "tests/support/error_of.hpp"

namespace d9d::kernels {
namespace {

// Keeps a copy of what is not a leaf.
class Copies final : public SavingPlace {
 public:
  std::unique_ptr<SavedElsewhere> take(const at::Tensor& tensor) override {
    struct Copy final : SavedElsewhere {
      explicit Copy(at::Tensor of, int& asked) : copy(std::move(of)), asked(asked) {}
      at::Tensor get() override {
        ++asked;
        return copy;
      }
      const at::Tensor copy;
      int& asked;
    };
    if (!tensor.defined() || tensor.is_leaf()) return nullptr;
    ++taken;
    return std::make_unique<Copy>(tensor.detach().clone(), asked);
  }
  int taken = 0, asked = 0;
};

struct NormedLinear {
  at::Tensor x = at::randn({6, 8}).requires_grad_(), weight = at::randn({8}).requires_grad_(),
             matrix = at::randn({4, 8}).requires_grad_();
  at::Tensor loss() const { return kernels::linear(rms_norm(x * 2, weight, 1e-6), matrix).square().sum(); }
  std::vector<at::Tensor> gradients(const at::Tensor& of) const {
    return torch::autograd::grad({of}, {x, weight, matrix});
  }
};

TEST(SavingPlace, GivesBackWhatNodesSavedInItsScope) {
  const NormedLinear model;
  const std::vector<at::Tensor> expected = model.gradients(model.loss());
  Copies copies;
  EXPECT_EQ(SavingPlace::current(), nullptr);

  const at::Tensor loss = [&] {
    const SavingPlace::Scope scope(&copies);
    EXPECT_EQ(SavingPlace::current(), &copies);
    return model.loss();
  }();
  const std::vector<at::Tensor> gradients = model.gradients(loss);

  EXPECT_EQ(SavingPlace::current(), nullptr);
  EXPECT_GT(copies.taken, 1);
  EXPECT_GE(copies.asked, copies.taken);
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_TRUE(gradients[i].equal(expected[i])) << i;
}

TEST(SavingPlace, IsLeftWhenTheGraphIsFreed) {
  const NormedLinear model;
  Copies copies;
  at::Tensor normed;
  {
    const SavingPlace::Scope scope(&copies);
    normed = rms_norm(model.x * 2, model.weight, 1e-6);
  }
  const auto backward = [&] { torch::autograd::grad({normed.sum()}, {model.weight}); };
  backward();

  EXPECT_THAT(test::error_of<c10::Error>(backward), testing::HasSubstr("a second time"));
}

}  // namespace
}  // namespace d9d::kernels
