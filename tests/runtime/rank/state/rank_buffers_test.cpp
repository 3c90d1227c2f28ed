#include "runtime/rank/state/rank_buffers.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "runtime/base/error.hpp"
#include "runtime/nn/shard/placing.hpp"
#include "tests/runtime/rank/buffers_of.hpp"
#include "tests/runtime/rank/ranks_of_mesh.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using test::BuffersOnly;
using test::on_each_rank;
using test::RankOfMesh;
using testing::HasSubstr;

RankBuffers buffers_of(const RankOfMesh& my, std::vector<StageBuffer> held) {
  RankBuffers buffers(my.domains, my.rank, my.open);
  buffers.add(std::make_shared<BuffersOnly>(std::move(held)));
  return buffers;
}

Layout rows_over(const RankOfMesh& my, std::int64_t size, const std::string& domain,
                 const std::string& axis) {
  return Layout({size}, {axis_of(my.domains.mesh_for(domain), axis, my.rank, Placement::shard(0))});
}

at::Tensor rank_values(int rank, std::vector<std::int64_t> shape, at::ScalarType dtype = at::kFloat) {
  return at::full(shape, 10 * rank + 1, at::TensorOptions(dtype));
}

TEST(RankBuffers, AllReplicasGetTheBitsOfTheFirst) {
  on_each_rank({.data_parallel_replicate = 2, .data_parallel_shard = 2}, [](const RankOfMesh& my) {
    at::Tensor mean = rank_values(my.rank, {3});
    mean[1] = my.rank == 0 ? NAN : 7;
    // Sizes that no wider type divides, and a tensor with gaps.
    const at::Tensor flags = at::full({5}, my.rank == 0, at::kBool);
    const at::Tensor count = rank_values(my.rank, {}, at::kLong);
    const at::Tensor half = rank_values(my.rank, {3}, at::kBFloat16);
    const at::Tensor gaps = rank_values(my.rank, {4, 3}).t();
    RankBuffers buffers =
        buffers_of(my, {{"flags", flags}, {"mean", mean}, {"count", count}, {"half", half}, {"gaps", gaps}});

    buffers.make_equal();

    EXPECT_TRUE(flags.all().item<bool>()) << my.rank;
    EXPECT_TRUE(std::isnan(mean[1].item<float>())) << my.rank;
    EXPECT_EQ(mean[2].item<float>(), 1) << my.rank;
    EXPECT_EQ(count.item<std::int64_t>(), 1) << my.rank;
    EXPECT_TRUE(at::equal(half, rank_values(0, {3}, at::kBFloat16))) << my.rank;
    EXPECT_TRUE(at::equal(gaps, rank_values(0, {3, 4}))) << my.rank;
  });
}

TEST(RankBuffers, StagesAndShardsKeepTheirs) {
  const DeviceMeshParameters mesh{.pipeline_parallel = 2, .data_parallel_replicate = 2, .tensor_parallel = 2};
  on_each_rank(mesh, [](const RankOfMesh& my) {
    const Layout rows = rows_over(my, 5, dense_domain, "tp");
    const at::Tensor block = rank_values(my.rank, rows.local_slice().shape());
    const at::Tensor whole = rank_values(my.rank, {2});
    RankBuffers buffers = buffers_of(my, {{"rows", block, rows}, {"whole", whole}});

    buffers.make_equal();

    const int first_of_stage = my.rank / 4 * 4;
    EXPECT_TRUE(at::equal(whole, rank_values(first_of_stage, {2}))) << my.rank;
    EXPECT_TRUE(at::equal(block, rank_values(first_of_stage + my.rank % 2, block.sizes().vec()))) << my.rank;
  });
}

TEST(RankBuffers, AreSplitAndReplicatedAsParametersAre) {
  const DeviceMeshParameters mesh{.data_parallel_replicate = 2, .tensor_parallel = 2, .expert_parallel = 2};
  std::vector<int> writers_of_whole(4), writers_of_rows(4), writers_of_experts(4);
  on_each_rank(mesh, [&](const RankOfMesh& my) {
    const RankBuffers buffers =
        buffers_of(my, {{"whole", at::zeros({4})},
                        {"rows", at::zeros({2}), rows_over(my, 4, dense_domain, "tp")},
                        {"experts", at::zeros({2}), rows_over(my, 4, expert_domain, "ep_shard")},
                        {"nothing", at::zeros({0, 3})}});

    const std::vector<StageBuffer> all = buffers.all();

    ASSERT_EQ(all.size(), 3U) << "what has no element is left out";
    const auto own = static_cast<std::size_t>(my.rank);
    writers_of_whole[own] = all[0].layout->is_writer();
    writers_of_rows[own] = all[1].layout->is_writer();
    writers_of_experts[own] = all[2].layout->is_writer();
  });
  EXPECT_THAT(writers_of_whole, testing::ElementsAre(1, 0, 0, 0));
  EXPECT_THAT(writers_of_rows, testing::ElementsAre(1, 1, 0, 0));
  EXPECT_EQ(std::count(writers_of_experts.begin(), writers_of_experts.end(), 1), 2);
}

TEST(RankBuffers, ANewTensorTakesThePlaceOfTheOld) {
  on_each_rank({}, [](const RankOfMesh& my) {
    const auto module = std::make_shared<BuffersOnly>(std::vector<StageBuffer>{{"mean", at::zeros({2})}});
    RankBuffers buffers(my.domains, my.rank, my.open);
    buffers.add(module);

    module->held[0].tensor = module->held[0].tensor + 1;

    EXPECT_EQ(buffers.all().at(0).tensor.sum().item<float>(), 2);
  });
}

TEST(RankBuffers, WhatCannotBeSavedIsRefusedByName) {
  on_each_rank({.tensor_parallel = 2}, [](const RankOfMesh& my) {
    const auto error_of = [&](std::vector<StageBuffer> held) -> std::string {
      return test::error_of([&] { buffers_of(my, std::move(held)).all(); }, ErrorKind::input);
    };

    EXPECT_THAT(error_of({{"", at::zeros({1})}}), HasSubstr("has no name"));
    EXPECT_THAT(error_of({{"mean", {}}}), HasSubstr("buffer mean of the model has no tensor"));
    EXPECT_THAT(error_of({{"mean", at::zeros({1})}, {"mean", at::zeros({1})}}),
                HasSubstr("two buffers of the model are called mean"));
    EXPECT_THAT(
        error_of({{"phase", at::zeros({1}, at::kComplexFloat)}}),
        HasSubstr("buffer phase of the model: a state file cannot hold the element type ComplexFloat"));
    EXPECT_THAT(
        error_of({{"mean", at::zeros({4}), rows_over(my, 4, dense_domain, "tp")}}),
        HasSubstr("buffer mean of the model has the shape [4] on this rank, but its layout says [2]"));
  });
}

}  // namespace
}  // namespace d9d
