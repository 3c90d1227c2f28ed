// How many kernels a layer starts: those of our ops by the emulated grid, and torch's own, one for each that reads or
// writes memory. Products, which are a library's, are counted apart.
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/gt.h>
#include <ATen/ops/zeros_like.h>
#include <ATen/record_function.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "kernels/attention/attention.hpp"
#include "kernels/attention/rope.hpp"
#include "kernels/graph/weight_work.hpp"
#include "kernels/linear.hpp"
#include "kernels/moe/choice_counts.hpp"
#include "kernels/ops/every_op.hpp"
#include "kernels/run_op.hpp"
#include "runtime/comm/shared_memory/single.hpp"
#include "runtime/device/work_name.hpp"
#include "runtime/devices/delayed/delayed_device.hpp"
#include "runtime/devices/delayed/machine.hpp"
#include "runtime/devices/delayed/op_table.hpp"
#include "runtime/nn/attention/gated_delta_net.hpp"
#include "runtime/nn/block/feed_forward.hpp"
#include "runtime/nn/model/initial_weights.hpp"
#include "tests/kernels/cuda/emulated/scheduler.hpp"
#include "tests/kernels/cuda/same_as_cpu.hpp"
#include "tests/support/gradcheck.hpp"

namespace d9d::test {
namespace {

using kernels::OpTable;
using Counts = std::map<std::string, int>;  // by op, and by torch's op inside of it

Counts& counted() {
  static Counts counts;
  return counts;
}

bool is_product(const std::string& name) {
  const std::string op = name.substr(name.rfind(' ') + 1);
  return op == "matmul" || op == "aten::mm" || op == "aten::bmm" || op == "aten::addmm" ||
         op == "aten::baddbmm_";
}

// Torch's ops that start no kernel themselves.
bool starts_none(const std::string& name) {
  static const std::set<std::string> names{"aten::empty",
                                           "aten::empty_strided",
                                           "aten::empty_like",
                                           "aten::new_empty",
                                           "aten::view",
                                           "aten::_unsafe_view",
                                           "aten::reshape",
                                           "aten::_reshape_alias",
                                           "aten::expand",
                                           "aten::permute",
                                           "aten::transpose",
                                           "aten::t",
                                           "aten::narrow",
                                           "aten::slice",
                                           "aten::select",
                                           "aten::unsqueeze",
                                           "aten::squeeze",
                                           "aten::unflatten",
                                           "aten::flatten",
                                           "aten::as_strided",
                                           "aten::alias",
                                           "aten::detach",
                                           "aten::to",
                                           "aten::contiguous",
                                           "aten::resolve_conj",
                                           "aten::resolve_neg",
                                           "aten::expand_as",
                                           "aten::view_as",
                                           "aten::is_nonzero",
                                           "aten::set_",
                                           "aten::chunk",
                                           "aten::split",
                                           "aten::split_with_sizes",
                                           "aten::result_type",
                                           "aten::resize_",
                                           "aten::reshape_as",
                                           "aten::unsafe_split",
                                           "aten::numel"};
  return names.count(name) != 0;
}

// Whether an op of our table runs, its name, and how many calls of torch's are within each other, innermost last.
struct Running {
  std::string op;
  std::vector<bool> starts;  // for each call of torch's that runs: whether one inside of it starts a kernel
  int in_products = 0;       // the CPU's copies for them are not a GPU's
};
Running& running() {
  static Running now;
  return now;
}

std::unique_ptr<at::ObserverContext> begin_torch(const at::RecordFunction& call) {
  Running& now = running();
  if (now.op.empty()) return nullptr;
  if (is_product(call.name())) ++now.in_products;
  now.starts.push_back(false);
  return nullptr;
}

void end_torch(const at::RecordFunction& call, at::ObserverContext* /*none*/) {
  Running& now = running();
  if (now.op.empty() || now.starts.empty()) return;
  if (is_product(call.name())) --now.in_products;
  const bool inside = now.starts.back();
  const bool own = now.in_products == 0 && !inside && !starts_none(call.name());
  now.starts.pop_back();
  if (own) ++counted()[now.op + " " + call.name()];
  if ((inside || own) && !now.starts.empty()) now.starts.back() = true;
}

// An op of the table under test, or of the CPU's, that counts what it starts.
template <auto op>
struct Counting;
template <class Group, class Result, class... Parameters, kernels::Op<Result(Parameters...)> Group::*op>
struct Counting<op> {
  static Result call(Parameters... arguments) {
    const std::string name = (kernels::op_detail::names.*op).name();
    const auto own = (table_under_test().*op).function();
    if (own == nullptr) {
      ++counted()[name];
      return (kernels::op_detail::table_of("test", {}).*op).function()(arguments...);
    }
    struct Within {
      std::string name;
      std::uint64_t before = cuda::emulated::launches();
      explicit Within(const std::string& of) : name(of) { running() = {of, {}, 0}; }
      ~Within() {
        running() = {};
        counted()[name] += static_cast<int>(cuda::emulated::launches() - before);
      }
    };
    const Within within(name);
    return own(arguments...);
  }
};

// What the delayed device ran since the last call.
Counts counts_of_run() {
  delayed::machine(0).finish();
  Counts result = std::exchange(counted(), {});
  for (const delayed::RanPiece& piece : delayed::machine(0).ran().take())
    if (std::string(piece.op).starts_with("aten::")) ++result[piece.op];
  return result;
}

int kernels_in(const Counts& counts) {
  int sum = 0;
  for (const auto& [name, count] : counts) sum += is_product(name) ? 0 : count;
  return sum;
}

std::string told(const Counts& counts) {
  std::string text;
  for (const auto& [name, count] : counts) text += "  " + std::to_string(count) + " " + name + "\n";
  return text;
}

// While it lives, kernels of device 0 are counted. A block is made with `make`.
class Launches : public ::testing::Test {
 protected:
  Launches() {
    kernels::for_each_op([&]<auto op>() { table_.*op = &Counting<op>::call; });
    delayed::use_host_table(&table_);
    callback_ = at::addGlobalCallback(at::RecordFunctionCallback(begin_torch, end_torch));
    choose_run(0);
    delayed::machine(0).reseed(1);
    delayed::machine(0).ran().note(true);
  }
  ~Launches() override {
    delayed::machine(0).ran().note(false);
    at::removeCallback(callback_);
    delayed::use_host_table(nullptr);
  }

  void draw() {
    draw_initial_weights(make_.parameters(), 3);
    for (const StageParameter& parameter : make_.parameters())
      parameter.tensor.mutable_grad() = at::zeros_like(parameter.tensor, at::kFloat);
  }
  static at::Tensor there(const at::Tensor& tensor) { return tensor.to(delayed_device(0)->place()); }

  OpTable table_;
  at::CallbackHandle callback_{};
  const WorkName name_{"test"};
  ParameterMaker make_{at::kBFloat16, delayed_device(0)->place(), 0.5F};
};

TEST_F(Launches, OfAGatedDeltaNetAreFew) {
  GatedDeltaNet block(make_, {.hidden_size = 32,
                              .num_key_heads = 2,
                              .num_value_heads = 4,
                              .key_head_dim = 8,
                              .value_head_dim = 8,
                              .taps = 4,
                              .norm_eps = 1e-6});
  draw();
  const at::Tensor x = there(values({2, 150, 32}, 1, at::kBFloat16)).requires_grad_();
  counts_of_run();

  const kernels::WeightWork::Scope scope(c10::make_intrusive<kernels::WeightWork>());
  const at::Tensor y = block.forward(x, {}, {});
  const Counts forward = counts_of_run();
  const at::Tensor dy = at::zeros_like(y);
  counts_of_run();
  y.backward(dy);
  const Counts backward = counts_of_run();

  EXPECT_LE(kernels_in(forward), 10) << told(forward);
  EXPECT_LE(kernels_in(backward), 20) << told(backward);
}

// Queries, keys and values as attention makes them of x. Where their weights follow each other, the gradients of x and
// of the weights are a product each, for one launch more, which puts the values' gradient beside the others.
class LaunchesOfAProjection : public Launches {
 protected:
  Counts of_backward(bool side_by_side) {
    std::vector<at::Tensor> weights;
    const at::Tensor all = there(values({64 + 32 + 32, 48}, 1, at::kBFloat16)),
                     sums = there(values({64 + 32 + 32, 48}, 2, at::kFloat));
    for (const auto& [begin, rows] : {std::pair(0, 64), std::pair(64, 32), std::pair(96, 32)}) {
      const auto part = [&, begin, rows](const at::Tensor& matrix) {
        return side_by_side ? matrix.narrow(0, begin, rows) : matrix.narrow(0, begin, rows).clone();
      };
      weights.push_back(part(all).detach().requires_grad_());
      weights.back().mutable_grad() = part(sums);
    }
    for (const int seed : {3, 4}) {
      weights.push_back(there(values({16}, seed, at::kBFloat16)).requires_grad_());
      weights.back().mutable_grad() = at::zeros_like(weights.back(), at::kFloat);
    }
    const at::Tensor x = there(values({2, 50, 48}, 5, at::kBFloat16)).requires_grad_(),
                     cos = there(values({50, 16}, 6, at::kFloat)),
                     sin = there(values({50, 16}, 7, at::kFloat)),
                     up = there(values({2, 50, 4, 16}, 8, at::kBFloat16));
    const kernels::WeightWork::Scope scope(c10::make_intrusive<kernels::WeightWork>());
    const auto rows = kernels::linear_multi(x, {weights[0], weights[1], weights[2]});
    const auto heads = [&](int i) { return rows[i].unflatten(-1, {-1, 16}); };
    const auto [q, k, v] =
        kernels::qk_norm_rope({heads(0), heads(1), heads(2)}, weights[3], weights[4], 1e-6, cos, sin);
    const at::Tensor mixed = kernels::attention(q, k, v, kernels::causal_mask, 0.25);
    counts_of_run();
    mixed.backward(up);
    const Counts counts = counts_of_run();
    gradients_ = {x.grad().cpu()};
    for (const at::Tensor& weight : weights) gradients_.push_back(weight.grad().cpu());
    counts_of_run();
    return counts;
  }
  std::vector<at::Tensor> gradients_;  // of x and of the weights, after of_backward()
};

TEST_F(LaunchesOfAProjection, ForItsGradientsAreAProductEach) {
  const Counts apart = of_backward(false);
  const std::vector<at::Tensor> expected = gradients_;
  const Counts side_by_side = of_backward(true);

  EXPECT_EQ(apart.at("matmul"), 3 + 3) << told(apart);
  EXPECT_EQ(side_by_side.at("matmul"), 1 + 1) << told(side_by_side);
  EXPECT_EQ(kernels_in(side_by_side), kernels_in(apart) + 1) << told(side_by_side) << "beside\n"
                                                             << told(apart);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double of_terms =
        i == 0 ? closeness_of(at::kBFloat16).relative * expected[0].abs().max().item<double>() : 0;
    expect_close(gradients_[i], expected[i], {1, of_terms}, "gradient " + std::to_string(i));
  }
}

// A layer that trains counts how often each expert was chosen. What puts the choices in order has counted them, or
// nobody; so counting costs no order of its own, whose launches are four.
class LaunchesOfExperts : public Launches {
 protected:
  LaunchesOfExperts()
      : block_(make_, {.hidden_size = 32, .intermediate_size = 16, .num_experts = 8, .top_k = 2}) {
    draw();
    counts_of_run();
  }
  Counts of_forward(bool training, const at::Tensor& token_mask = {}) {
    const c10::NoGradGuard no_gradients;
    block_.train(training);
    block_.forward(x_, false, token_mask);
    return counts_of_run();
  }
  int of_counting(const at::Tensor& token_mask = {}) {
    of_forward(true);  // the counts come to the device
    const Counts trained = of_forward(true, token_mask), evaluated = of_forward(false);
    const int more = kernels_in(trained) - kernels_in(evaluated);
    EXPECT_GT(kernels_in(evaluated), 10) << told(evaluated);
    EXPECT_LT(more, 8) << told(trained);
    return more;
  }

  const at::Tensor x_ = there(values({2, 50, 32}, 1, at::kBFloat16));
  const at::Tensor mask_ = there(values({2, 50}, 2, at::kFloat).gt(0));
  MixtureOfExperts block_;
};

TEST_F(LaunchesOfExperts, ACountOfChoicesIsFour) {
  const at::Tensor experts = there(values({100, 2}, 1, at::kFloat).gt(0).to(at::kLong));
  counts_of_run();

  kernels::choice_counts(experts, 8);

  EXPECT_EQ(kernels_in(counts_of_run()), 4);
}

TEST_F(LaunchesOfExperts, OfOneRankCountByTheirOrder) {
  EXPECT_EQ(of_counting(), 2) << "a difference, and the sum over steps";
  EXPECT_EQ(of_counting(mask_), 4 + 3) << "of tokens that count, with their mask and its negation";
}

TEST_F(LaunchesOfExperts, OfSeveralRanksCountOnceForRouterAndDispatch) {
  block_.spread_experts(std::make_shared<SingleCommunicator>("ep"));

  EXPECT_EQ(of_counting(), 1) << "the sum over steps; the plan of tokens counts anyway";
  EXPECT_EQ(of_counting(mask_), 4) << "negation, sum with ids, both halves, and the sum over steps";
}

}  // namespace
}  // namespace d9d::test
