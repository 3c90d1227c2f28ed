// Both halves of a backward through torch's own ops give the gradients of a whole one, to the bit; and the work
// on weights is done in the second.
#include "kernels/graph/split_backward.hpp"

#include <ATen/Functions.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>

#include "kernels/linear.hpp"
#include "tests/support/gradcheck.hpp"

namespace d9d {
namespace {

using kernels::WeightWork;
using test::Tensors;
using test::values;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using Forward = std::function<Tensors(const at::Tensor& x)>;

constexpr std::int64_t width = 6;

struct UsersGain : torch::autograd::Function<UsersGain> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& gain) {
    context->save_for_backward({x, gain});
    return x * gain;
  }
  static variable_list backward(AutogradContext* context, variable_list grads) {
    const variable_list saved = context->get_saved_variables();
    return {grads[0] * saved[1], (grads[0] * saved[0]).sum(0)};
  }
};

class SplitBackward : public testing::Test {
 protected:
  at::Tensor weight(at::IntArrayRef sizes, bool has_buffer = false) {
    at::Tensor tensor = values(sizes, 10 + weights_.size()).requires_grad_();
    if (has_buffer) tensor.mutable_grad() = at::zeros_like(tensor);
    weights_.push_back(tensor);
    return tensor;
  }
  // A module with the values of this fixture.
  template <class Module>
  Module filled(Module module) {
    module->to(at::kDouble);
    for (at::Tensor parameter : module->parameters()) {
      parameter.detach().copy_(values(parameter.sizes(), 10 + weights_.size()));
      weights_.push_back(parameter);
    }
    return module;
  }
  torch::nn::Linear linear() { return filled(torch::nn::Linear(width, width)); }

  void run(const Forward& forward, WeightWork::Mode mode, bool wants_inputs = true) {
    for (const at::Tensor& weight : weights_) {
      if (weight.grad().defined()) weight.grad().zero_();
    }
    work_ = c10::make_intrusive<WeightWork>(mode);
    auto leaves = std::make_shared<WeightWork::Leaves>();
    for (const at::Tensor& weight : weights_) leaves->insert(weight.unsafeGetTensorImpl());
    work_->set_leaves(std::move(leaves));
    x_ = values({4, width}, 1).requires_grad_(wants_inputs);
    const WeightWork::Scope scope(work_);
    std::vector<kernels::BackwardRoot> roots;
    for (const at::Tensor& y : forward(x_))
      roots.push_back(
          {torch::autograd::impl::gradient_edge(y), values(y.sizes(), 2 + static_cast<int>(roots.size()))});
    kernels::run_backward(roots, wants_inputs ? Tensors{x_} : Tensors(), work_.get());
  }
  void run_second_half() {
    work_->set_mode(WeightWork::Mode::now);
    work_->run_queued();
  }
  // Clears them.
  Tensors take_gradients() {
    Tensors gradients;
    for (at::Tensor& weight : weights_) {
      gradients.push_back(weight.grad().defined() ? weight.grad().clone() : at::Tensor());
      if (!has_buffer(weight)) weight.mutable_grad() = at::Tensor();
    }
    return gradients;
  }
  static bool has_buffer(const at::Tensor& weight) { return weight.dim() == 2 && weight.size(0) == 5; }

  // `early`: how many weights, the last ones of the fixture, have their gradients after the first half already.
  void expect_splits(const Forward& forward, std::size_t early = 0, bool wants_inputs = true) {
    run(forward, WeightWork::Mode::now, wants_inputs);
    const at::Tensor input_gradient = x_.grad();
    const Tensors expected = take_gradients();

    run(forward, WeightWork::Mode::deferred, wants_inputs);

    EXPECT_TRUE(!wants_inputs || x_.grad().equal(input_gradient));
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      const at::Tensor& gradient = weights_[i].grad();
      const bool is_there = gradient.defined() && gradient.abs().sum().item<double>() > 0;
      EXPECT_EQ(is_there, i >= weights_.size() - early) << "weight " << i << " after the first half";
    }
    run_second_half();
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      ASSERT_TRUE(weights_[i].grad().defined()) << "weight " << i;
      EXPECT_TRUE(weights_[i].grad().equal(expected[i])) << "weight " << i;
      EXPECT_GT(expected[i].abs().sum().item<double>(), 0) << "weight " << i;
    }
    EXPECT_EQ(work_->pending(), 0U);
  }

  Tensors weights_;
  at::Tensor x_;
  c10::intrusive_ptr<WeightWork> work_;
};

TEST_F(SplitBackward, LeavesTheWeightsOfTorchsModulesToTheSecondHalf) {
  auto norm = filled(torch::nn::LayerNorm(torch::nn::LayerNormOptions({width})));
  auto first = linear(), second = linear();
  const at::Tensor gain = weight({width}), kernel = weight({width, width, 1});

  expect_splits([&](const at::Tensor& x) -> Tensors {
    const at::Tensor h = at::gelu(first(norm(x).view({2, 2, width}))) * gain;
    const at::Tensor y = at::conv1d(second(h).transpose(1, 2), kernel).transpose(1, 2).reshape({4, width});
    return {x + y};
  });
}

TEST_F(SplitBackward, AddsUpModulesThatAreUsedSeveralTimes) {
  auto shared = linear();
  const at::Tensor gain = weight({width});

  expect_splits([&](const at::Tensor& x) -> Tensors {
    const at::Tensor h = at::tanh(shared(at::tanh(shared(x * gain)))) * gain;
    return {shared(h) + h, (h * gain).sum()};
  });
}

TEST_F(SplitBackward, LeavesWhatIsComputedFromWeightsAloneToTheSecondHalf) {
  const at::Tensor direction = weight({width, width}), length = weight({width, 1}),
                   prompt = weight({4, width});
  auto encoder = linear();

  expect_splits([&](const at::Tensor& x) -> Tensors {
    const at::Tensor normed = direction * (length / direction.norm(2, {1}, true));
    const at::Tensor own_kernels = kernels::linear(at::linear(x, normed), normed);
    return {own_kernels + encoder(at::tanh(prompt)), encoder(prompt)};
  });
}

TEST_F(SplitBackward, TakesTheQueuedWorkOfOurOpsAlong) {
  const at::Tensor ours = weight({5, width}, /*has_buffer=*/true);
  auto theirs = linear();

  expect_splits([&](const at::Tensor& x) -> Tensors {
    const at::Tensor h = kernels::linear(at::tanh(theirs(x)), ours);
    return {at::linear(h, ours.t()), kernels::linear(x, ours)};
  });
}

TEST_F(SplitBackward, LeavesAllToTheSecondHalfWhereNoInputWantsAGradient) {
  auto first = linear(), second = linear();

  expect_splits([&](const at::Tensor& x) -> Tensors { return {second(at::tanh(first(x)))}; }, /*early=*/0,
                /*wants_inputs=*/false);
}

// Such a function computes all its gradients whatever is asked for: to run it twice would cost more than it gains.
TEST_F(SplitBackward, TrainsWeightsOfUsersFunctionsInTheFirstHalf) {
  auto module = linear();
  const at::Tensor gain = weight({width});

  expect_splits([&](const at::Tensor& x) -> Tensors { return {module(UsersGain::apply(module(x), gain))}; },
                /*early=*/1);
}

TEST_F(SplitBackward, TrainsWeightsWrittenIntoViewsInTheFirstHalf) {
  auto module = linear();
  const at::Tensor row = weight({width});

  expect_splits(
      [&](const at::Tensor& x) -> Tensors {
        at::Tensor h = module(x);
        h.select(0, 1).mul_(row);
        return {module(h)};
      },
      /*early=*/1);
}

TEST_F(SplitBackward, DoesNotLeaveToLaterWhatNobodyToldItOf) {
  auto module = linear();
  const at::Tensor stranger = values({width}, 30).requires_grad_();

  run([&](const at::Tensor& x) -> Tensors { return {module(x) * stranger}; }, WeightWork::Mode::deferred);

  EXPECT_TRUE(stranger.grad().defined());
  EXPECT_FALSE(weights_[0].grad().defined());
  run_second_half();
  EXPECT_TRUE(weights_[0].grad().defined());
}

TEST_F(SplitBackward, CallsHooksOnActivationsOnce) {
  auto first = linear(), second = linear();
  int calls = 0;

  expect_splits([&](const at::Tensor& x) -> Tensors {
    const at::Tensor h = first(x);
    h.register_hook([&](const at::Tensor& gradient) { return ++calls, gradient * 0.5; });
    return {second(h)};
  });

  EXPECT_EQ(calls, 2) << "one in the whole backward, one in that of two halves";
}

// A model may keep a view of a weight: its node is part of the graph of every microbatch.
TEST_F(SplitBackward, LeavesNothingBehindOnNodesThatOutliveTheGraph) {
  const at::Tensor matrix = weight({width, width}), transposed = matrix.t();

  for (int microbatch = 0; microbatch < 2; ++microbatch) {
    expect_splits(
        [&](const at::Tensor& x) -> Tensors { return {at::tanh(x.mm(transposed)).mm(transposed)}; });
    take_gradients();
  }

  EXPECT_TRUE(transposed.grad_fn()->pre_hooks().empty());
  EXPECT_TRUE(transposed.grad_fn()->post_hooks().empty());
}

class SplitBackwardMemory : public SplitBackward {
 protected:
  // Whether somebody still holds what was put into it.
  struct Watched {
    explicit Watched(const at::Tensor& tensor) : impl(tensor.getIntrusivePtr()) {}
    bool is_held() const { return impl.use_count() > 0; }
    c10::weak_intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl> impl;
  };
  // Both are saved: by the linear module, and by the tanh that no weight needs.
  void run_first_half() {
    auto first = linear(), second = linear();
    run(
        [&](const at::Tensor& x) -> Tensors {
          const at::Tensor normed = at::sin(first(x));
          const at::Tensor product = second(normed);
          for_weights_ = std::make_unique<Watched>(normed);
          for_inputs_ = std::make_unique<Watched>(product);
          return {at::cos(product)};
        },
        WeightWork::Mode::deferred);
  }

  std::unique_ptr<Watched> for_weights_, for_inputs_;
};

TEST_F(SplitBackwardMemory, IsFreedAsEachHalfIsDone) {
  run_first_half();

  EXPECT_FALSE(for_inputs_->is_held());
  EXPECT_TRUE(for_weights_->is_held());
  run_second_half();
  EXPECT_FALSE(for_weights_->is_held());
}

TEST_F(SplitBackwardMemory, IsFreedWhenTheSecondHalfIsAbandoned) {
  run_first_half();

  work_->discard();

  EXPECT_FALSE(for_weights_->is_held());
}

}  // namespace
}  // namespace d9d
