#include "runtime/nn/model/activation_offload.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/randn.h>
#include <gmock/gmock.h>
#include <torch/csrc/autograd/variable.h>

#include "kernels/graph/split_backward.hpp"
#include "kernels/linear.hpp"
#include "kernels/norm.hpp"
#include "runtime/device/host_waits.hpp"
#include "runtime/device/upload.hpp"
#include "runtime/devices/delayed/delayed_device.hpp"
#include "runtime/devices/delayed/machine.hpp"

namespace d9d {
namespace {

using ::testing::IsEmpty;

constexpr int index = 7;
constexpr std::int64_t layers = 6, tokens = 512, width = 32;
constexpr std::size_t bytes = tokens * width * sizeof(float);  // of an activation

// Layers that save their input, the normed input and its product.
class OffloadOf : public ::testing::Test {
 protected:
  OffloadOf() : x_(upload(at::randn({tokens, width}), *device_).requires_grad_()) {
    for (std::int64_t layer = 0; layer < layers; ++layer) {
      weights_.push_back(upload(at::randn({width}), *device_).requires_grad_());
      weights_.push_back(upload(at::randn({width, width}) / 6, *device_).requires_grad_());
    }
    device_->finish();
  }
  ~OffloadOf() override { delayed::machine(index).reseed(1); }

  std::size_t in_use() const { return delayed::machine(index).memory().bytes_in_use(); }
  at::Tensor layer(const at::Tensor& x, std::size_t number) const {
    const at::Tensor& matrix = weights_[2 * number + 1];
    const at::Tensor normed = kernels::rms_norm(x, weights_[2 * number], 1e-6);
    return kernels::linear(kernels::rms_norm(kernels::linear(normed, matrix), weights_[2 * number], 1e-6),
                           matrix);
  }
  // The first `offloaded` layers by the offload, if there is one.
  at::Tensor forward(ActivationOffload* offload, std::size_t offloaded = layers) const {
    at::Tensor hidden = x_ * 2;
    if (offload != nullptr) offload->begin_microbatch();
    for (std::size_t number = 0; number < layers; ++number) {
      if (offload == nullptr || number >= offloaded) {
        hidden = layer(hidden, number);
        if (offload != nullptr) offload->let_go();
        continue;
      }
      const auto pass = offload->begin_layer({weights_[2 * number], weights_[2 * number + 1]});
      {
        const kernels::SavingPlace::Scope place(pass.get());
        hidden = layer(hidden, number);
      }
      hidden = Unit{pass}.leave({hidden}, false)[0];
    }
    return hidden.sum();
  }
  // As a stage computes them (kernels/graph/split_backward.hpp): on this thread.
  std::vector<at::Tensor> gradients(const at::Tensor& loss) {
    weights_.push_back(x_);
    for (at::Tensor& leaf : weights_) leaf.mutable_grad() = at::Tensor();
    kernels::run_backward({{torch::autograd::impl::gradient_edge(loss), at::ones_like(loss)}}, weights_,
                          nullptr);
    std::vector<at::Tensor> found;
    for (const at::Tensor& leaf : weights_) found.push_back(leaf.grad());
    weights_.pop_back();
    return found;
  }
  static void expect_equal(const std::vector<at::Tensor>& one, const std::vector<at::Tensor>& other) {
    ASSERT_EQ(one.size(), other.size());
    for (std::size_t i = 0; i < one.size(); ++i) EXPECT_TRUE(one[i].cpu().equal(other[i].cpu())) << i;
  }

  const std::shared_ptr<Device> device_ = delayed_device(index);
  at::Tensor x_;
  std::vector<at::Tensor> weights_;
};

TEST_F(OffloadOf, LayersGivesTheSameBitsInEveryOrderAndNoHostWaits) {
  const std::vector<at::Tensor> expected = gradients(forward(nullptr));
  ActivationOffload offload(device_->place());
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    delayed::machine(index).reseed(seed);
    HostWaits::take();

    const at::Tensor first = forward(&offload), second = forward(&offload, 3);
    const auto of_second = gradients(second), of_first = gradients(first);  // of an older microbatch

    EXPECT_THAT(HostWaits::take(), IsEmpty());
    expect_equal(of_first, expected);
    expect_equal(of_second, expected);
  }
}

TEST_F(OffloadOf, LayersLeavesTheDeviceWithThoseOfOne) {
  const std::size_t before = in_use();
  std::size_t kept = 0;
  {
    const at::Tensor loss = forward(nullptr);
    kept = in_use() - before;
  }
  ActivationOffload offload(device_->place());

  const at::Tensor loss = forward(&offload);

  EXPECT_LT(in_use() - before, kept / 3) << "of " << kept;
  offload.let_go();
  EXPECT_LT(in_use() - before, 3 * bytes) << "the input's double and what no layer saves";
  gradients(loss);
}

TEST_F(OffloadOf, LayersTellsOfAWaitThatIsMissing) {
  ActivationOffload offload(device_->place());
  const auto pass = offload.begin_layer({});
  const at::Tensor saved = x_ * 2;
  auto elsewhere = pass->take(saved);
  ASSERT_NE(elsewhere, nullptr);
  pass->after_forward(false);

  EXPECT_THROW(saved.mul_(2), std::exception) << "while its copy leaves";
}

TEST_F(OffloadOf, LayersLeavesWhatIsNotTheirs) {
  ActivationOffload offload(device_->place());
  const at::Tensor table = x_ * 1, small = x_.narrow(0, 0, 2) * 1,
                   numbers = upload(at::arange(4096), *device_);
  const auto pass = offload.begin_layer({table});

  EXPECT_EQ(pass->take({}), nullptr);
  EXPECT_EQ(pass->take(x_), nullptr) << "a leaf";
  EXPECT_EQ(pass->take(table), nullptr);
  EXPECT_EQ(pass->take(table.view({-1})), nullptr) << "of the same storage";
  EXPECT_EQ(pass->take(small), nullptr);
  EXPECT_EQ(pass->take(numbers), nullptr);
  EXPECT_EQ(pass->take(at::randn({64, 64})), nullptr) << "of the host";
}

}  // namespace
}  // namespace d9d
