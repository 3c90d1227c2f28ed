// Buffers in checkpoints; parameters and optimizer state are also compared by tests/e2e/going_on/resume_test.cpp.
#include "runtime/rank/state/training_state.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <gmock/gmock.h>

#include <cmath>

#include "runtime/base/error.hpp"
#include "runtime/comm/communicator.hpp"
#include "runtime/mesh/plan.hpp"
#include "runtime/nn/plan/replicate.hpp"
#include "runtime/rank/state/rank_buffers.hpp"
#include "runtime/rank/state/shard_files.hpp"
#include "runtime/state/checkpoint/checkpoint_commit.hpp"
#include "runtime/state/checkpoint/checkpoint_reader.hpp"
#include "runtime/state/tensor_file/slice_view.hpp"
#include "tests/runtime/rank/buffers_of.hpp"
#include "tests/support/error_of.hpp"
#include "tests/support/temporary_folder.hpp"

namespace d9d {
namespace {

using testing::HasSubstr;

struct Given {
  std::string name;
  at::Tensor value;  // of the whole tensor
  int tensor_parallel_dim = Placement::replicated;
};

std::vector<Given> trained_buffers() {
  return {{"mean", at::tensor({0.1F, -NAN, -0.0F})},
          {"batches", at::tensor({std::int64_t{1} << 60}).squeeze(0)},
          {"seen", at::tensor({1, 0, 1, 1, 0}).to(at::kBool)},
          {"half", at::tensor({0.3, 7.0, 1e9}).to(at::kBFloat16)},
          {"rows", at::tensor({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}).to(at::kShort).view({5, 2}), 0}};
}

bool same_bits(const at::Tensor& a, const at::Tensor& b) {
  const auto bytes = [](const at::Tensor& tensor) { return tensor.contiguous().view({-1}).view(at::kByte); };
  return a.scalar_type() == b.scalar_type() && a.sizes() == b.sizes() && at::equal(bytes(a), bytes(b));
}

// What a rank of a mesh has: a parameter, and its blocks of the buffers.
class Rank {
 public:
  Rank(const DeviceMeshParameters& mesh, int rank, const std::vector<Given>& given)
      : plan_(mesh, {mesh.world_size()}), buffers_(plan_.domains(), rank, no_communicators) {
    const Mesh& dense = plan_.domains().mesh_for(dense_domain);
    StageParameters parameters{{"weight", at::ones({4}).requires_grad_(), Layout::local({4}), {}}};
    parallelize_replicate(parameters, dense, dense_axes(), rank);
    flat_ = std::make_unique<FlatParameters>(std::move(parameters), FlatOptions{});
    optimizer_ = make_optimizer(SgdOptions{.lr = 1}, *flat_);
    std::vector<StageBuffer> held;
    for (const Given& whole : given) {
      const Placement placement{whole.tensor_parallel_dim};
      const Layout layout(whole.value.sizes().vec(), {axis_of(dense, "tp", rank, placement)});
      held.push_back({whole.name, slice_view(whole.value, layout.local_slice()).clone(), layout});
    }
    module_ = std::make_shared<test::BuffersOnly>(std::move(held));
    buffers_.add(module_);
  }

  void write(Disk& disk, const std::string& folder, int rank, std::vector<ShardReport>& reports) {
    TensorTable table(1);
    SnapshotCopies copies(cpu_device());
    const Ticket ticket = snapshot_training_state(*optimizer_, buffers_.all(), copies, table);
    if (!ticket) return;
    const std::string file = "rank-" + std::to_string(rank);
    reports.push_back(shard_report_from_json(write_shard_file(disk, table, folder, file, ticket)));
  }
  std::uint64_t load(const Disk& disk, const std::string& checkpoint) {
    return load_training_state(disk, checkpoint, *optimizer_, buffers_.all());
  }
  const at::Tensor& buffer(std::size_t index) const { return module_->held[index].tensor; }
  Slice slice(std::size_t index) const { return module_->held[index].layout->local_slice(); }

 private:
  static std::shared_ptr<Communicator> no_communicators(const std::string&, const std::vector<std::string>&,
                                                        const std::string&) {
    throw std::logic_error("a checkpoint needs no collective");
  }
  const Plan plan_;
  RankBuffers buffers_;
  std::unique_ptr<FlatParameters> flat_;
  std::unique_ptr<Optimizer> optimizer_;
  std::shared_ptr<test::BuffersOnly> module_;
};

class TrainingState : public testing::Test {
 protected:
  std::string save(const DeviceMeshParameters& mesh, const std::vector<Given>& given) {
    const std::string temporary = folder_ / temporary_name(3, "abc"), name = folder_ / checkpoint_name(3);
    std::vector<ShardReport> reports;
    for (int rank = 0; rank < mesh.world_size(); ++rank)
      Rank(mesh, rank, given).write(disk_, temporary, rank, reports);
    Manifest manifest;
    manifest.step = 3;
    commit_checkpoint(disk_, temporary, name, with_reports(manifest, reports));
    return name;
  }
  static std::vector<Given> untrained_buffers() {
    std::vector<Given> untrained = trained_buffers();
    for (Given& each : untrained) each.value = at::zeros_like(each.value);
    return untrained;
  }
  std::string error_of(const std::vector<Given>& model, const std::string& checkpoint) {
    return test::error_of([&] { Rank({}, 0, model).load(disk_, checkpoint); }, ErrorKind::input);
  }

  test::TemporaryFolder folder_;
  PosixDisk disk_;
};

const std::vector<DeviceMeshParameters>& some_meshes() {
  static const std::vector<DeviceMeshParameters> meshes{
      {},
      {.data_parallel_replicate = 2},
      {.data_parallel_shard = 2},
      {.tensor_parallel = 2},
      {.data_parallel_replicate = 2, .tensor_parallel = 3},
  };
  return meshes;
}

TEST_F(TrainingState, BuffersOfAnyMeshAreRestoredBitForBitOnAnyOther) {
  const std::vector<Given> trained = trained_buffers();
  for (const DeviceMeshParameters& before : some_meshes()) {
    const std::string checkpoint = save(before, trained);
    for (const DeviceMeshParameters& after : some_meshes()) {
      std::uint64_t taken = 0;
      for (int rank = 0; rank < after.world_size(); ++rank) {
        Rank resumed(after, rank, untrained_buffers());
        taken += resumed.load(disk_, checkpoint);
        for (std::size_t i = 0; i < trained.size(); ++i) {
          EXPECT_TRUE(same_bits(resumed.buffer(i), slice_view(trained[i].value, resumed.slice(i))))
              << trained[i].name;
        }
      }
      EXPECT_EQ(taken, trained.size() + 1) << "each tensor is counted by one rank";
    }
  }
}

TEST_F(TrainingState, ABufferIsWrittenOnce) {
  const auto reader = CheckpointReader::open(
      disk_, save({.data_parallel_replicate = 2, .tensor_parallel = 2}, trained_buffers()));

  std::map<std::string, int> parts;
  for (const ManifestEntry& entry : reader->manifest().entries) ++parts[entry.kind + " " + entry.name];

  EXPECT_THAT(parts, testing::UnorderedElementsAre(
                         testing::Pair("param weight", 1), testing::Pair("buffer mean", 1),
                         testing::Pair("buffer batches", 1), testing::Pair("buffer seen", 1),
                         testing::Pair("buffer half", 1), testing::Pair("buffer rows", 2)));
}

TEST_F(TrainingState, ABufferThatTheCheckpointLacksOrHasOtherwiseIsRefusedByName) {
  const std::string checkpoint = save({}, trained_buffers());
  std::vector<Given> more = trained_buffers(), larger = more, narrower = more;
  more.push_back({"deviation", at::ones({3})});
  larger[0].value = at::ones({4});
  narrower[1].value = narrower[1].value.to(at::kInt);

  EXPECT_THAT(error_of(more, checkpoint),
              HasSubstr("has no buffer deviation: it was written by a job with another model"));
  EXPECT_THAT(error_of(larger, checkpoint),
              HasSubstr("holds buffer mean in the shape [3], the model has [4]"));
  EXPECT_THAT(error_of(narrower, checkpoint),
              HasSubstr("holds buffer batches as int64, the model has it as int32"));
}

}  // namespace
}  // namespace d9d
