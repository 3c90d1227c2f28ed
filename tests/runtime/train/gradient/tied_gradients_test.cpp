// Weights that the first and the last stage share: both copies get the sum of the gradients and the same updates.
#include "runtime/train/gradient/tied_gradients.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/equal.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <array>

#include "runtime/tensor/tied.hpp"
#include "runtime/train/gradient/gradient_norm.hpp"
#include "runtime/train/optimizer/optimizer.hpp"
#include "tests/runtime/train/stage_of.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using testing::HasSubstr;

constexpr const char* table_names[] = {"embed.words.weight", "embed.special.weight"};

StageParameter tied_table(int index, int copy, at::ScalarType dtype) {
  return make_parameter(table_names[index], Layout({40 + 30 * index, 8}, {axis_of_tied_copy(copy)}), dtype);
}

// Two tables among other parameters: before them on the last stage, after them on the first.
std::vector<StageParameter> tied_stage(int copy, at::ScalarType dtype = at::kFloat) {
  std::vector<StageParameter> stage{tied_table(0, copy, dtype), tied_table(1, copy, dtype)};
  const StageParameter other = make_parameter("other.weight", Layout::local({5}), dtype);
  stage.insert(copy == 0 ? stage.end() : stage.begin(), other);
  return stage;
}

at::Tensor gradient_of(const std::string& name, const at::Tensor& like, double salt) {
  return wave(name, like.sizes().vec(), salt).to(like.scalar_type());
}

void give_gradients(const std::vector<StageParameter>& stage, double salt) {
  for (const StageParameter& parameter : stage)
    parameter.tensor.grad().copy_(gradient_of(parameter.name, parameter.tensor, salt));
}

std::shared_ptr<Communicator> no_other() {
  ADD_FAILURE() << "there is no other rank";
  return nullptr;
}

const StageParameter& named(const std::vector<StageParameter>& stage, const std::string& name) {
  const auto found = std::find_if(stage.begin(), stage.end(),
                                  [&](const StageParameter& parameter) { return parameter.name == name; });
  return *found;
}

void expect_sums(const std::vector<StageParameter>& stage, double own_salt) {
  for (const char* name : table_names) {
    const at::Tensor& tensor = named(stage, name).tensor;
    const at::Tensor sum =
        gradient_of(name, tensor, 1).to(at::kFloat) + gradient_of(name, tensor, 2).to(at::kFloat);
    EXPECT_TRUE(at::equal(tensor.grad(), sum)) << name;  // of bfloat16 not rounded to it
  }
  const at::Tensor& other = named(stage, "other.weight").tensor;
  EXPECT_TRUE(at::equal(other.grad(), gradient_of("other.weight", other, own_salt)));
}

TEST(TiedGradients, AreAddedUpBetweenTwoRanks) {
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
    on_ranks(2, [&](int rank, const std::shared_ptr<Communicator>& group) {
      const FlatParameters flat(tied_stage(rank, dtype), {});
      const TiedGradients tied(flat, [&] { return group; });
      give_gradients(flat.parameters(), rank + 1);

      tied.sum();

      expect_sums(flat.parameters(), rank + 1);
    });
  }
}

TEST(TiedGradients, AreAddedUpOnARankThatHasBothStages) {
  std::vector<StageParameter> both = tied_stage(0);
  const std::vector<StageParameter> last = tied_stage(1);
  both.insert(both.end(), last.begin(), last.end());
  const FlatParameters flat(both, {});
  const TiedGradients tied(flat, no_other);
  const auto stage_at = [&](std::size_t begin) {
    const auto first = flat.parameters().begin() + static_cast<std::ptrdiff_t>(begin);
    return std::vector<StageParameter>(first, first + 3);
  };
  give_gradients(stage_at(0), 1);
  give_gradients(stage_at(3), 2);

  tied.sum();

  expect_sums(stage_at(0), 1);
  expect_sums(stage_at(3), 2);
}

TEST(TiedGradients, OfFrozenWeightsNeedNothing) {
  const std::vector<StageParameter> stage = tied_stage(1);
  for (const StageParameter& parameter : stage) parameter.tensor.requires_grad_(false);
  const FlatParameters flat(stage, {});

  TiedGradients(flat, no_other).sum();

  EXPECT_TRUE(flat.families().empty());
}

TEST(TiedGradients, RefusesCopiesThatAreNotAlike) {
  std::vector<StageParameter> both = tied_stage(0);
  both.push_back(tied_table(0, 1, at::kFloat));
  const FlatParameters flat(both, {});

  const std::string error = test::error_of([&] { TiedGradients(flat, no_other); });

  EXPECT_THAT(error, HasSubstr("the first and the last stage share weights that differ"));
}

// Updates on two ranks whose stages have other parameters beside the tables: the same bits, whatever the optimizer.
TEST(TiedGradients, LeadToTheSameBitsInBothCopies) {
  const std::vector<OptimizerOptions> optimizers{
      AdamWOptions{.lr = 0.1}, SgdOptions{.lr = 0.1, .momentum = 0.9},
      MuonOptions{.lr = 0.1, .adamw_for = std::vector<std::string>()}, StochasticAdamWOptions{.lr = 0.1}};
  for (const OptimizerOptions& options : optimizers) {
    const bool in_half = std::holds_alternative<StochasticAdamWOptions>(options);
    std::array<std::vector<at::Tensor>, 2> tables;
    on_ranks(2, [&](int rank, const std::shared_ptr<Communicator>& group) {
      const FlatParameters flat(tied_stage(rank, in_half ? at::kBFloat16 : at::kFloat), {});
      const TiedGradients tied(flat, [&] { return group; });
      const auto optimizer = make_optimizer(options, flat, {.seed = 3, .open = {}});
      for (int step = 0; step < 3; ++step) {
        give_gradients(flat.parameters(), 10 * step + rank);
        tied.sum();
        optimizer->step({.lr_multiplier = 1, .grad = 0.5});
      }
      for (const char* name : table_names)
        tables[static_cast<std::size_t>(rank)].push_back(
            named(flat.parameters(), name).tensor.detach().clone());
    });

    for (std::size_t i = 0; i < 2; ++i) {
      EXPECT_TRUE(at::equal(tables[0][i], tables[1][i])) << table_names[i];
      const StageParameter start = tied_table(static_cast<int>(i), 0, tables[0][i].scalar_type());
      EXPECT_FALSE(at::equal(tables[0][i], start.tensor)) << table_names[i];
    }
  }
}

// The shares of both ranks are those of one gradient.
TEST(TiedGradients, CountOnceInTheNorm) {
  std::array<double, 2> shares{};
  double expected = 0;
  on_ranks(2, [&](int rank, const std::shared_ptr<Communicator>& group) {
    const FlatParameters flat(tied_stage(rank), {});
    give_gradients(flat.parameters(), rank + 1);
    TiedGradients(flat, [&] { return group; }).sum();
    for (const GradientBucket& bucket : flat.buckets())
      if (bucket.tied) shares[static_cast<std::size_t>(rank)] += share_of_norm(bucket, NormType::l2);
    if (rank > 0) return;
    for (const char* name : table_names) {
      const double norm = named(flat.parameters(), name).tensor.grad().to(at::kDouble).norm().item<double>();
      expected += norm * norm;
    }
  });

  EXPECT_NEAR(shares[0] + shares[1], expected, 1e-6 * expected);
  EXPECT_GT(std::min(shares[0], shares[1]), 0.1 * expected);
}

}  // namespace
}  // namespace d9d
