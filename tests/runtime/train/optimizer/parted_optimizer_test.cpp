#include "runtime/train/optimizer/parted_optimizer.hpp"

#include <ATen/ops/equal.h>
#include <gmock/gmock.h>

#include "tests/runtime/train/stage_of.hpp"

namespace d9d {
namespace {

using testing::ElementsAre;
using testing::SizeIs;
using testing::UnorderedElementsAre;

// Of a GAN: update 0 moves the critic, update 1 the maker, update 2 both.
std::vector<int> moved_in(const std::string& name) {
  if (name.starts_with("critic")) return {0, 2};
  return {1, 2};
}
std::vector<StageParameter> both_networks() {
  return {make_parameter("critic.a.weight", {5, 3}), make_parameter("maker.a.weight", {7, 3}),
          make_parameter("critic.b.weight", {3, 3}), make_parameter("maker.b.weight", {2})};
}
std::vector<StageParameter> only(const std::string& network) {
  std::vector<StageParameter> parameters = both_networks();
  std::erase_if(parameters, [&](const StageParameter& each) { return !each.name.starts_with(network); });
  return parameters;
}
void put_gradients(const std::vector<StageParameter>& stage, double salt) {
  for (const StageParameter& parameter : stage)
    parameter.tensor.mutable_grad().copy_(wave(parameter.name, parameter.layout.global_shape(), salt));
}
std::unique_ptr<Optimizer> adam(const FlatParameters& parameters) {
  return make_optimizer(AdamWOptions{.lr = 0.1, .rules = {}}, parameters);
}

TEST(PartedOptimizer, MovesInEachUpdateWhatAnOptimizerOfItsOwnWouldMove) {
  const auto stage = both_networks();
  const FlatParameters flat(stage, {.moved_in = moved_in});
  const auto optimizer = make_parted_optimizer(flat, 3, adam);
  const auto critic = only("critic"), maker = only("maker");
  const FlatParameters flat_critic(critic, {}), flat_maker(maker, {});
  const auto of_critic = adam(flat_critic), of_maker = adam(flat_maker);

  for (int step = 0; step < 4; ++step) {
    for (const int update : {0, 1, 2}) {
      const double salt = 10 * step + update;
      put_gradients(stage, salt);
      flat.zero_grad_outside(update);
      optimizer->step({.update = update});
      if (update != 1) {
        put_gradients(critic, salt);
        of_critic->step({});
      }
      if (update == 0) continue;
      put_gradients(maker, salt);
      of_maker->step({});
    }
  }

  EXPECT_TRUE(at::equal(stage[0].tensor, critic[0].tensor));
  EXPECT_TRUE(at::equal(stage[2].tensor, critic[1].tensor));
  EXPECT_TRUE(at::equal(stage[1].tensor, maker[0].tensor));
  EXPECT_TRUE(at::equal(stage[3].tensor, maker[1].tensor));
}

TEST(PartedOptimizer, GoesOnFromItsStateWithACountOfEachPart) {
  const auto stage = both_networks(), other = both_networks();
  const FlatParameters flat(stage, {.moved_in = moved_in}), resumed(other, {.moved_in = moved_in});
  const auto optimizer = make_parted_optimizer(flat, 3, adam);
  for (const int update : {0, 1, 2, 0, 2}) {  // two steps; update 1 of the second was skipped
    put_gradients(stage, update);
    flat.zero_grad_outside(update);
    optimizer->step({.update = update});
  }

  const auto next = make_parted_optimizer(resumed, 3, adam);
  const auto saved = optimizer->state_entries(), loaded = next->state_entries();
  ASSERT_THAT(saved, SizeIs(4 * 3)) << "a parameter and two moments each";
  for (std::size_t i = 0; i < saved.size(); ++i) load_values(loaded[i], saved_values(saved[i]));
  next->resume(2, {0, 1, 0});

  EXPECT_EQ(next->step_count(), 5);
  for (const auto& [parameters, made] : {std::pair{&stage, optimizer.get()}, {&other, next.get()}}) {
    put_gradients(*parameters, 7);
    made->step({.update = 2});
  }
  for (std::size_t i = 0; i < stage.size(); ++i)
    EXPECT_TRUE(at::equal(stage[i].tensor, other[i].tensor)) << i;
}

TEST(PartedOptimizer, IsNoneWhereEachUpdateMovesAll) {
  const auto stage = both_networks();
  const FlatParameters flat(stage, {.moved_in = [](const std::string&) { return std::vector<int>{0, 1}; }});
  int made = 0;

  make_parted_optimizer(flat, 2, [&](const FlatParameters& parameters) {
    ++made;
    EXPECT_EQ(&parameters, &flat);
    return adam(parameters);
  });

  EXPECT_EQ(made, 1);
}

TEST(PartedOptimizer, HasFrozenParametersOnce) {
  auto stage = both_networks();
  stage[0].tensor.requires_grad_(false);
  const FlatParameters flat(stage, {.moved_in = moved_in});

  const auto optimizer = make_parted_optimizer(flat, 3, adam);

  std::vector<std::string> parameters, frozen;
  for (const StateEntry& entry : optimizer->state_entries()) {
    if (entry.kind == "param") parameters.push_back(entry.name);
    if (entry.frozen) frozen.push_back(entry.name);
  }
  EXPECT_THAT(parameters,
              UnorderedElementsAre("critic.a.weight", "critic.b.weight", "maker.a.weight", "maker.b.weight"));
  EXPECT_THAT(frozen, ElementsAre("critic.a.weight"));
}

}  // namespace
}  // namespace d9d
