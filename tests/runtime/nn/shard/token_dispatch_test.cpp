// Tokens that travel to experts and back, against all experts in one place.
#include "runtime/nn/shard/token_dispatch.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/tensor.h>
#include <c10/core/AutogradState.h>
#include <c10/core/DeviceGuard.h>
#include <gtest/gtest.h>

#include <functional>

#include "kernels/memory/chosen_rows.hpp"
#include "kernels/moe.hpp"
#include "runtime/comm/communicator.hpp"
#include "runtime/comm/factory.hpp"
#include "runtime/comm/shared_memory/single.hpp"
#include "runtime/device/device.hpp"
#include "runtime/device/host_waits.hpp"
#include "runtime/devices/delayed/delayed_device.hpp"
#include "runtime/family/qwen3/config.hpp"
#include "runtime/nn/block/feed_forward.hpp"
#include "runtime/nn/model/build_options.hpp"
#include "runtime/nn/model/causal_lm.hpp"
#include "runtime/nn/model/initial_weights.hpp"
#include "runtime/nn/plan/causal_lm_plan.hpp"
#include "tests/runtime/nn/waves.hpp"
#include "tests/support/in_threads.hpp"
#include "tests/support/parallel_world.hpp"

namespace d9d::test {
namespace {

constexpr int rank_count = 3;
constexpr std::int64_t expert_count = 6;
constexpr std::int64_t model_width = 4;

void run_ranks(int ranks, const std::function<void(int, const CommunicatorFactory&)>& work,
               DeviceCollectives::Kind devices = DeviceCollectives::Kind::none) {
  const Plan plan({.data_parallel_replicate = ranks, .expert_parallel = ranks}, {ranks});
  SharedMemoryHub hub;
  const CommunicatorFactory factory(plan, hub, nullptr,
                                    {.timeout = std::chrono::seconds(20), .devices = {.kind = devices}});
  in_threads(ranks, [&](int rank) { work(rank, factory); });
}

struct Layer {
  at::Tensor x, probs, experts;
  at::Tensor gate = waves({expert_count, 5, model_width}, 1), up = waves({expert_count, 5, model_width}, 2),
             down = waves({expert_count, model_width, 5}, 3);
};

// Rank 1 has no tokens of its own, and nobody wants experts 2 and 3, which it holds.
Layer layer_of_tokens(int rank) {
  const std::int64_t tokens = rank == 1 ? 0 : 3;
  Layer layer{waves({tokens, model_width}, 10 * rank), waves({tokens, 2}, 20 + rank).abs(), {}};
  layer.experts = at::tensor({0, 1, 5, 0, 1, 4}, at::kLong).view({3, 2}).narrow(0, 0, tokens).contiguous();
  layer.x.requires_grad_();
  layer.probs.requires_grad_();
  return layer;
}

at::Tensor experts_of(const Layer& layer, int first, int count, const DispatchedTokens& at_experts) {
  const auto mine = [&](const at::Tensor& weight) { return weight.narrow(0, first, count).contiguous(); };
  return kernels::moe_experts(at_experts.x, at_experts.probs, at_experts.experts, mine(layer.gate),
                              mine(layer.up), mine(layer.down));
}

TEST(TokenDispatch, ComputesWhatOneRankWithAllExpertsDoes) {
  run_ranks(rank_count, [](int rank, const CommunicatorFactory& factory) {
    const SharedCommunicator group = factory.open(rank, expert_domain, {"ep_shard"}, "experts");
    const Layer apart = layer_of_tokens(rank), together = layer_of_tokens(rank);

    const DispatchedTokens here =
        dispatch_tokens(apart.x, apart.probs, plan_tokens(apart.experts, expert_count, group), group);
    const at::Tensor y = return_tokens(experts_of(apart, 2 * rank, 2, here), here.route, group);
    const at::Tensor expected = kernels::moe_experts(together.x, together.probs, together.experts,
                                                     together.gate, together.up, together.down);
    y.backward(waves(y.sizes(), rank));
    expected.backward(waves(y.sizes(), rank));

    EXPECT_TRUE(at::allclose(y, expected, 1e-12, 1e-12)) << rank;
    EXPECT_TRUE(at::allclose(apart.x.grad(), together.x.grad(), 1e-12, 1e-12)) << rank;
    EXPECT_TRUE(at::allclose(apart.probs.grad(), together.probs.grad(), 1e-12, 1e-12)) << rank;
  });
}

TEST(TokenDispatch, SendsATokenOnceToEachRankOfItsExperts) {
  run_ranks(rank_count, [](int rank, const CommunicatorFactory& factory) {
    const SharedCommunicator group = factory.open(rank, expert_domain, {"ep_shard"}, "experts");
    const Layer layer = layer_of_tokens(rank);

    const DispatchedTokens here =
        dispatch_tokens(layer.x, layer.probs, plan_tokens(layer.experts, expert_count, group), group);

    // Tokens choose (0, 1), (5, 0) and (1, 4): all want rank 0, two want rank 2.
    const std::vector<std::int64_t> sent{3, 0, 2};
    const std::vector<std::int64_t> none{0, 0, 0};
    const std::int64_t arriving = sent[static_cast<std::size_t>(rank)];
    EXPECT_EQ(here.route.send_rows, rank == 1 ? none : sent);
    EXPECT_EQ(here.route.receive_rows, (std::vector<std::int64_t>{arriving, 0, arriving}));
    EXPECT_EQ(here.x.size(0), 2 * arriving);
  });
}

TEST(TokenDispatch, IsAsExactInHalfPrecisionAsOneRankIs) {
  run_ranks(rank_count, [](int rank, const CommunicatorFactory& factory) {
    const SharedCommunicator group = factory.open(rank, expert_domain, {"ep_shard"}, "experts");
    Layer layer = layer_of_tokens(0);
    for (at::Tensor* tensor : {&layer.x, &layer.gate, &layer.up, &layer.down}) {
      *tensor = tensor->detach().to(at::kBFloat16);
    }
    layer.probs = layer.probs.detach().to(at::kFloat);

    const DispatchedTokens here =
        dispatch_tokens(layer.x, layer.probs, plan_tokens(layer.experts, expert_count, group), group);
    const at::Tensor y = return_tokens(experts_of(layer, 2 * rank, 2, here), here.route, group);
    const at::Tensor expected =
        kernels::moe_experts(layer.x, layer.probs, layer.experts, layer.gate, layer.up, layer.down);

    EXPECT_EQ(y.scalar_type(), at::kBFloat16);
    EXPECT_TRUE(at::allclose(y.to(at::kFloat), expected.to(at::kFloat), 2e-2, 2e-2));
  });
}

// Rank 1 sends and gets nothing there, too (uccl#898, sgl-kernel-npu#69, Mooncake#2592).
TEST(TokenDispatch, OnDevicesComputesWhatOneRankWithAllExpertsDoes) {
  run_ranks(
      rank_count,
      [](int rank, const CommunicatorFactory& factory) {
        const SharedCommunicator group = factory.open(rank, expert_domain, {"ep_shard"}, "experts");
        const at::Device place = delayed_device(rank)->place();
        const c10::OptionalDeviceGuard guard(place);
        c10::AutogradState::get_tls_state().set_multithreading_enabled(
            false);  // as in ranks; the thread ends here
        Layer apart = layer_of_tokens(rank), together = layer_of_tokens(rank);
        for (at::Tensor* tensor :
             {&apart.x, &apart.probs, &apart.experts, &apart.gate, &apart.up, &apart.down})
          *tensor = tensor->detach().to(place);
        apart.x.requires_grad_();
        apart.probs.requires_grad_();

        const DispatchedTokens here =
            dispatch_tokens(apart.x, apart.probs, plan_tokens(apart.experts, expert_count, group), group);
        const at::Tensor y = return_tokens(experts_of(apart, 2 * rank, 2, here), here.route, group);
        const at::Tensor expected = kernels::moe_experts(together.x, together.probs, together.experts,
                                                         together.gate, together.up, together.down);
        y.backward(waves(y.sizes(), rank).to(place));
        expected.backward(waves(y.sizes(), rank));

        EXPECT_TRUE(at::allclose(y.cpu(), expected, 1e-12, 1e-12)) << rank;
        EXPECT_TRUE(at::allclose(apart.x.grad().cpu(), together.x.grad(), 1e-12, 1e-12)) << rank;
        EXPECT_TRUE(at::allclose(apart.probs.grad().cpu(), together.probs.grad(), 1e-12, 1e-12)) << rank;
      },
      DeviceCollectives::Kind::local);
}

// What comes between the two halves is given to the device before its host waits.
TEST(TokenDispatch, OnADeviceWaitsOnceAndNotForItsPlan) {
  const auto device = delayed_device(0);
  const SharedCommunicator group = std::make_shared<SingleCommunicator>("ep");
  const Layer layer = layer_of_tokens(0);
  const auto there = [&](const at::Tensor& tensor) { return tensor.detach().to(device->place()); };
  const at::Tensor x = there(layer.x), probs = there(layer.probs), experts = there(layer.experts);
  HostWaits::take();

  TokenPlan plan = plan_tokens(experts, expert_count, group);
  const bool waited = !HostWaits::take().empty();
  const DispatchedTokens here = dispatch_tokens(x, probs, std::move(plan), group);
  const HostWaits::Counts waits = HostWaits::take();

  EXPECT_FALSE(waited);
  EXPECT_EQ(waits, (HostWaits::Counts{{{"", "counts of tokens"}, 1}}));
  EXPECT_EQ(kernels::count_rows(here.experts, expert_count), 6);
  EXPECT_TRUE(here.x.cpu().equal(layer.x.detach()));
  EXPECT_TRUE(here.experts.cpu().equal(layer.experts));
}

// Of each rank: what the plan made of a model of four experts, after a step with checkpointing.
void with_trained_ranks(const std::function<void(int rank, CausalLm&, StageParameters&)>& look) {
  const Qwen3Config config = tiny_qwen3(Qwen3Kind::moe);
  const TensorMap batch = tiny_batch(config, 2, 8);
  const Plan plan({.data_parallel_replicate = 2, .expert_parallel = 2}, {2});
  run_ranks(2, [&](int rank, const CommunicatorFactory& factory) {
    const auto open = [&](const auto& domain, const auto& axes, const auto& use) {
      return SharedCommunicator(factory.open(rank, domain, axes, use));
    };
    StageGroups groups(plan.domains(), rank, open);
    const auto stage = config.build_stage({}, {.checkpoint_activations = true});
    auto& model = dynamic_cast<CausalLm&>(*stage);
    StageParameters parameters = parallelize_causal_lm(model, groups, {});
    draw_initial_weights(parameters, 1);
    const auto out = model.forward({{"input_ids", batch.at("input_ids")}}, {{"labels", batch.at("labels")}});
    out.at("cross_entropy").sum().backward();
    look(rank, model, parameters);
  });
}

TEST(ExpertParallelLayer, CountsItsOwnTokensOnceWhateverIsComputedAgain) {
  with_trained_ranks([](int, CausalLm& model, StageParameters&) {
    for (const auto& [index, layer] : model.layers()) {
      EXPECT_EQ(
          dynamic_cast<MixtureOfExperts&>(layer->feed_forward()).expert_tokens().sum().item<std::int64_t>(),
          2 * 8 * 2)
          << index;
    }
  });
}

TEST(ExpertParallelLayer, HoldsItsBlockOfTheExpertsAndAllOfTheRouter) {
  with_trained_ranks([](int rank, CausalLm& model, StageParameters& parameters) {
    const at::Tensor up = model.layers().at(0)->feed_forward().experts()->expert_weights()[1];
    const Layout& layout = parameter_of(parameters, up).layout;

    EXPECT_EQ(up.sizes(), (at::IntArrayRef{2, 24, 32}));
    EXPECT_EQ(layout.local_slice().begin, (std::vector<std::int64_t>{2 * rank, 0, 0}));
    EXPECT_EQ(layout.shard_axes(), (std::vector<std::string>{"ep_shard"}));
    EXPECT_EQ(layout.axes().back().name, "ep_replicate");
    const at::Tensor router = model.named_parameters()["model.layers.0.mlp.gate.weight"];
    EXPECT_EQ(parameter_of(parameters, router).layout.replicate_axes(),
              (std::vector<std::string>{"dp_replicate"}));
  });
}

// With a router and a dispatch that share a count, with one that the experts' order gives, and with neither.
TEST(ExpertLayer, OnADeviceCountsChoicesAsTheCpuDoes) {
  const MoeOptions options{
      .hidden_size = 8, .intermediate_size = 6, .num_experts = 5, .top_k = 2, .router_sums = true};
  const at::Tensor x = waves({2, 30, 8}, 4).to(at::kFloat), mask = waves({2, 30}, 5).gt(0.2);
  const auto forward = [&](const std::shared_ptr<Device>& device, bool spread, bool masked) {
    ParameterMaker make(at::kFloat, device->place(), 0.5F);
    MixtureOfExperts block(make, options);
    draw_initial_weights(make.parameters(), 3);
    if (spread) block.spread_experts(std::make_shared<SingleCommunicator>("ep"));
    std::vector<at::Tensor> results;
    for (const bool recompute : {false, true}) {
      const at::Tensor y =
          block.forward(x.to(device->place()), recompute, masked ? mask.to(device->place()) : at::Tensor());
      results.insert(results.end(), {y.detach().cpu(), block.take_router_sums().detach().cpu()});
    }
    results.push_back(block.expert_tokens().cpu());
    return results;
  };

  for (const bool masked : {false, true}) {
    const auto expected = forward(cpu_device(), false, masked);
    const std::int64_t counted = masked ? mask.sum().item<std::int64_t>() : mask.numel();
    EXPECT_EQ(expected.back().sum().item<std::int64_t>(), 2 * counted) << "once, not when computed again";
    for (const bool spread : {false, true}) {
      for (const auto& device : {cpu_device(), delayed_device(0)}) {
        const auto made = forward(device, spread, masked);
        for (std::size_t i = 0; i < made.size(); ++i)
          EXPECT_TRUE(made[i].equal(expected[i])) << i << ", mask " << masked << ", spread " << spread;
      }
    }
  }
}

}  // namespace
}  // namespace d9d::test
