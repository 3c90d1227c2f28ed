#include <ATen/TensorOperators.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>

#include <fstream>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>

#include "runtime/train/optimizer/optimizer.hpp"
#include "tests/runtime/train/stage_of.hpp"

namespace d9d {
namespace {

at::Tensor tensor_of(const nlohmann::json& numbers, const std::vector<std::int64_t>& shape) {
  return at::tensor(numbers.get<std::vector<float>>()).view(shape);
}

MuonOptions options_of(const nlohmann::json& json) {
  MuonOptions options{.lr = json.at("lr"), .weight_decay = json.at("weight_decay")};
  options.momentum = json.value("momentum", options.momentum);
  options.nesterov = json.value("nesterov", options.nesterov);
  options.newton_schulz_steps = json.value("ns_steps", options.newton_schulz_steps);
  if (json.value("adjust_lr_fn", "original") == "match_rms_adamw") options.scale = MuonScale::match_rms_adamw;
  return options;
}

at::Tensor state_named(const Optimizer& optimizer, const std::string& kind, const std::string& name) {
  for (const StateEntry& entry : optimizer.state_entries())
    if (entry.kind == kind && entry.name == name) return entry.tensor;
  ADD_FAILURE() << "no " << kind << " of " << name;
  return {};
}

void expect_close(const at::Tensor& got, const at::Tensor& expected, const std::string& what) {
  const double distance = (got - expected).abs().max().item<double>();
  EXPECT_LT(distance, 1e-5 * expected.abs().max().item<double>()) << what;
}

std::vector<StageParameter> stage_of(const std::map<std::string, ParameterRole>& roles) {
  std::vector<StageParameter> stage;
  for (const auto& [name, role] : roles) {
    stage.push_back(make_parameter(name, {6, 4}));
    stage.back().role = role;
  }
  return stage;
}

TEST(Muon, MakesTheStepsOfTorch) {
  std::ifstream file(D9D_SOURCE_DIR "/tests/golden/optimizer/expect.muon.json");
  const auto golden = nlohmann::json::parse(file);
  ASSERT_EQ(golden.at("cases").size(), 5U);
  for (const auto& one : golden.at("cases")) {
    const std::string name = one.at("name");
    const auto shape = one.at("shape").get<std::vector<std::int64_t>>();
    const std::vector<StageParameter> stage{make_parameter("hidden.weight", shape)};
    stage[0].tensor.detach().copy_(tensor_of(one.at("start"), shape));
    const FlatParameters flat(stage, {});
    const auto optimizer = make_optimizer(options_of(one.at("options")), flat);

    for (const auto& gradient : one.at("gradients")) {
      stage[0].tensor.mutable_grad().copy_(tensor_of(gradient, shape) * 4);
      optimizer->step({.grad = 0.25});
    }

    expect_close(stage[0].tensor.detach(), tensor_of(one.at("end"), shape), name);
    expect_close(state_named(*optimizer, "momentum_buffer", "hidden.weight"),
                 tensor_of(one.at("momentum"), shape), name);
    EXPECT_EQ(stage[0].tensor.grad().abs().max().item<float>(), 0);
  }
}

// The parameters of a small model on rank `rank` of 8: replicas, shards of tensor parallelism and of FSDP, experts on
// four ranks with their shards on two. The last three are AdamW's.
std::vector<StageParameter> stage_on(int rank) {
  const LayoutAxis dp = replicated("dp_replicate", 2, rank / 4);
  const LayoutAxis whole = replicated("tp", 2, rank % 2);
  const auto fsdp = [&](int dim) { return sharded("dp_cp_shard", 2, rank / 2 % 2, dim); };
  const auto tp = [&](int dim) { return sharded("tp", 2, rank % 2, dim); };
  const auto experts = [&](std::vector<std::int64_t> shape) {
    return Layout(std::move(shape),
                  {sharded("ep_shard", 4, rank / 2, 0), sharded("ep_replicate", 2, rank % 2, 0)});
  };
  return {make_parameter("layers.0.q.weight", Layout({10, 8}, {tp(0), dp, fsdp(0)}), at::kFloat),
          make_parameter("layers.0.o.weight", Layout({8, 10}, {tp(1), dp, fsdp(0)}), at::kFloat),
          make_parameter("layers.0.gate.weight", Layout({3, 8}, {whole, dp, fsdp(0)}), at::kFloat),
          make_parameter("layers.0.experts.up", experts({5, 6, 8}), at::kFloat),
          make_parameter("embed_tokens.weight", Layout({12, 8}, {whole, dp, fsdp(0)}), at::kFloat),
          make_parameter("layers.0.norm.weight", Layout({8}, {whole, dp, fsdp(0)}), at::kFloat),
          make_parameter("layers.0.shared_gate.weight", Layout({1, 8}, {whole, dp, fsdp(0)}), at::kFloat)};
}

// The same on one rank.
std::vector<StageParameter> stage_alone() {
  std::vector<StageParameter> stage;
  for (const StageParameter& parameter : stage_on(0))
    stage.push_back(make_parameter(parameter.name, parameter.layout.global_shape()));
  return stage;
}

void train(const std::vector<StageParameter>& stage, Optimizer& optimizer) {
  for (int step = 1; step <= 3; ++step) {
    for (const StageParameter& parameter : stage) {
      const at::Tensor global = wave(parameter.name, parameter.layout.global_shape(), 10.0 * step);
      parameter.tensor.mutable_grad().copy_(block_of(global, parameter.layout.local_slice()));
    }
    optimizer.step({.grad = 0.5});
  }
}

TEST(Muon, GivesTheSameOnEveryPlacementAndReplicasTheSameBits) {
  const MuonOptions options{.lr = 0.02, .adamw_lr = 0.01};
  const auto alone = stage_alone();
  const FlatParameters flat_alone(alone, {});
  const auto reference = make_optimizer(options, flat_alone);
  train(alone, *reference);
  std::mutex mutex;
  std::map<std::string, at::Tensor> blocks;  // by name and slice

  on_ranks(8, [&](int rank, const std::shared_ptr<Communicator>& group) {
    const auto stage = stage_on(rank);
    const FlatParameters flat(stage, {.bucket_bytes = 200});
    const auto optimizer =
        make_optimizer(options, flat, {.open = [&](const std::vector<std::string>&) { return group; }});
    train(stage, *optimizer);
    const std::lock_guard lock(mutex);
    for (std::size_t i = 0; i < stage.size(); ++i) {
      const Slice slice = stage[i].layout.local_slice();
      if (slice.num_elements() == 0) continue;
      const at::Tensor own = stage[i].tensor.detach();
      EXPECT_TRUE(at::allclose(own, block_of(alone[i].tensor.detach(), slice), 1e-5, 1e-6)) << stage[i].name;
      const auto [same, is_new] = blocks.try_emplace(
          stage[i].name + "/" + std::to_string(slice.begin[0]) + "/" + std::to_string(slice.begin.back()),
          own);
      EXPECT_TRUE(is_new || at::equal(same->second, own)) << "replicas differ in " << stage[i].name;
    }
  });

  EXPECT_FALSE(at::equal(alone[0].tensor, stage_alone()[0].tensor));
}

TEST(Muon, LeavesVectorsAndWhatTheJobNamesToAdamW) {
  const auto stage = stage_alone();
  const FlatParameters flat(stage, {});
  std::map<std::string, std::set<std::string>> kinds;
  for (const StateEntry& entry :
       make_optimizer(MuonOptions{.lr = 1, .adamw_for = std::vector<std::string>{"*embed*", "*.o.*"}}, flat)
           ->state_entries())
    kinds[entry.name].insert(entry.kind);

  const std::set<std::string> muon{"param", "momentum_buffer"};
  const std::set<std::string> adamw{"param", "exp_avg", "exp_avg_sq"};
  EXPECT_EQ(kinds["layers.0.q.weight"], muon);
  EXPECT_EQ(kinds["layers.0.experts.up"], muon);
  for (const char* name :
       {"layers.0.o.weight", "embed_tokens.weight", "layers.0.norm.weight", "layers.0.shared_gate.weight"})
    EXPECT_EQ(kinds[name], adamw) << name;
  EXPECT_EQ(kinds.size(), stage.size());
}

// Both a head that is not called so, and a matrix inside that is.
TEST(Muon, LeavesTheEndsOfAModelToAdamWWhateverTheyAreCalled) {
  auto stage = stage_of({{"score.weight", ParameterRole::output},
                         {"wte.weight", ParameterRole::embedding},
                         {"multihead.q.weight", ParameterRole::inside},
                         {"experts.up.bias", ParameterRole::vectors},
                         {"lm_head.weight", ParameterRole::unsaid},
                         {"embedding", ParameterRole::unsaid},
                         {"mix.weight", ParameterRole::unsaid}});
  const FlatParameters flat(stage, {});
  const auto by_muon = [&](const MuonOptions& options) {
    std::set<std::string> names;
    for (const StateEntry& entry : make_optimizer(options, flat)->state_entries())
      if (entry.kind == "momentum_buffer") names.insert(entry.name);
    return names;
  };

  EXPECT_EQ(by_muon({.lr = 1}), (std::set<std::string>{"multihead.q.weight", "mix.weight"}));
  EXPECT_EQ(by_muon({.lr = 1, .adamw_for = std::vector<std::string>{"*head*", "mix*"}}),
            (std::set<std::string>{"score.weight", "wte.weight", "embedding"}))
      << "a bias for each expert is no matrix";
}

// What AdamW updates is what it would be in a job with AdamW alone.
TEST(Muon, UpdatesAllOthersAsAdamWDoes) {
  const auto mixed = stage_alone();
  const auto plain = stage_alone();
  const FlatParameters flat_mixed(mixed, {});
  const FlatParameters flat_plain(plain, {});
  const std::vector<ParameterRule> rules{{.match = "*norm*", .weight_decay = 0, .lr_multiplier = 0.5}};
  const auto muon = make_optimizer(MuonOptions{.lr = 0.02, .adamw_lr = 0.01, .rules = rules}, flat_mixed);
  const auto adamw = make_optimizer(
      AdamWOptions{.lr = 0.01, .betas = {0.9, 0.95}, .weight_decay = 0.1, .rules = rules}, flat_plain);

  train(mixed, *muon);
  train(plain, *adamw);

  for (std::size_t i = 4; i < mixed.size(); ++i)
    EXPECT_TRUE(at::allclose(mixed[i].tensor, plain[i].tensor, 1e-6, 1e-7)) << mixed[i].name;
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_FALSE(at::equal(mixed[i].tensor, plain[i].tensor)) << mixed[i].name;
}

}  // namespace
}  // namespace d9d
