// Reference PIPE-14: parts of a composed action on two streams of a device, joined by events alone.
#include "runtime/pipeline/lane/stage_streams.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <optional>
#include <set>

#include "runtime/base/error.hpp"
#include "runtime/device/host_waits.hpp"
#include "runtime/device/work_name.hpp"
#include "runtime/devices/delayed/delayed_device.hpp"
#include "runtime/devices/delayed/device_time.hpp"
#include "runtime/devices/delayed/machine.hpp"
#include "runtime/devices/delayed/stream_waits.hpp"
#include "runtime/pipeline/lane/overlap.hpp"
#include "runtime/pipeline/stage/handed_tensors.hpp"
#include "runtime/pipeline/stage/stage_core.hpp"
#include "runtime/tensor/tensor_parcel.hpp"

namespace d9d {
namespace {

constexpr std::int64_t ms = 1'000'000;

class StageStreamsTest : public testing::Test {
 protected:
  ~StageStreamsTest() override {
    delayed::plant({});
    delayed::StreamWaits::restart();
    // Behind an access that no event orders no device of the process may go on.
    for (int device = 0; device < 4; ++device) delayed::machine(device).reseed(1);
  }
  // Each stage adds to a tensor of its own what was made before; the sum of both is made behind them.
  float sum_of_both_parts() {
    const at::Tensor given = at::full({64}, 1.0, on_device());
    std::vector<at::Tensor> made{at::Tensor(), at::Tensor()};
    {
      const StageStreams::Fork fork(streams_, both_);
      for (const Action& part : both_.parts) {
        const StreamScope scope(*device_, streams_.stream_of(part.stage));
        const WorkName work(to_string(part));
        made[part.stage == 1 ? 1 : 0] = given.add(part.stage);
        device_->use(given, device_->current_stream());
      }
    }
    const WorkName work("behind");
    const at::Tensor sum = made[0].add(made[1]);
    for (const at::Tensor& part : made) device_->use(part, StreamRole::compute);
    made.clear();
    return sum.cpu()[0].item<float>();
  }
  at::TensorOptions on_device() const { return at::TensorOptions(at::kFloat).device(device_->place()); }

  const std::shared_ptr<Device> device_ = delayed_device(0);
  const StageStreams streams_{device_, {1, 2}};
  const Instruction both_ = parse_instruction("1F3|2B1");
};

TEST_F(StageStreamsTest, GiveEverySecondStageAStreamBeside) {
  const StageStreams three(device_, {0, 4, 8});

  EXPECT_EQ(streams_.stream_of(1), StreamRole::compute);
  EXPECT_EQ(streams_.stream_of(2), StreamRole::compute_beside);
  EXPECT_EQ(three.stream_of(8), StreamRole::compute);
  EXPECT_THROW(static_cast<void>(streams_.stream_of(0)), Error);
  EXPECT_THROW(StageStreams(cpu_device(), {0, 1}), Error);
}

TEST_F(StageStreamsTest, AreForkedAndJoinedWithoutAHostThatWaits) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    delayed::machine(0).reseed(seed);
    HostWaits::take();
    EXPECT_EQ(sum_of_both_parts(), 5) << "seed " << seed;
    EXPECT_EQ(HostWaits::take().size(), 1U) << "for the sum";
  }
}

// A planted slip: the order check names it, in whatever order the work would have run.
TEST_F(StageStreamsTest, WithoutForkOrJoinAreFoundOut) {
  for (const char* place : {"delayed: compute_beside waits for delayed: compute in fork",
                            "delayed: compute waits for delayed: compute_beside in join"}) {
    delayed::machine(0).reseed(1);
    delayed::StreamWaits::restart(place);
    EXPECT_THROW(sum_of_both_parts(), Error) << place;
    EXPECT_TRUE(delayed::StreamWaits::left_out()) << place;
  }
}

TEST_F(StageStreamsTest, AreJoinedBehindAPartThatThrows) {
  at::Tensor made;
  try {
    const StageStreams::Fork fork(streams_, both_);
    const StreamScope scope(*device_, streams_.stream_of(2));
    made = at::full({8}, 2.0, on_device());
    throw std::runtime_error("a part");
  } catch (const std::runtime_error&) {
  }

  EXPECT_EQ(device_->current_stream(), StreamRole::compute);
  EXPECT_EQ(made.add(1).cpu()[0].item<float>(), 3);
}

TEST_F(StageStreamsTest, OfStagesOnComputeAloneAreNotForked) {
  delayed::StreamWaits::restart();
  { const StageStreams::Fork fork(streams_, parse_instruction("1F0")); }
  EXPECT_EQ(delayed::StreamWaits::count(), 0U);
}

TEST_F(StageStreamsTest, ComputeAtTheSameTime) {
  delayed::machine(0).finish();
  const auto took = [&](bool forked) {
    delayed::plant({.cost = [](const delayed::Given& given) { return given.work ? ms : 0; },
                    .host_ns = [] { return 5000 * ms; }});
    const Event begun = device_->record_time(StreamRole::compute);
    {
      std::optional<StageStreams::Fork> fork;
      if (forked) fork.emplace(streams_, both_);
      for (const Action& part : both_.parts) {
        std::optional<StreamScope> scope;
        if (forked) scope.emplace(*device_, streams_.stream_of(part.stage));
        const WorkName work(to_string(part));
        at::Tensor x = at::zeros({8}, on_device());
        for (int i = 0; i < 10; ++i) x.add_(1);
      }
    }
    const Event done = device_->record_time(StreamRole::compute);
    done.wait("a test");
    return done.reached_ns() - begun.reached_ns();
  };

  EXPECT_EQ(2 * took(true), took(false));
}

// Memory goes back to the stream that made it, whose later part of the same action would get it while the other part
// still reads (record_stream; torchrec#4231 has the like).
TEST_F(StageStreamsTest, KeepWhatOneStageHandsToTheOther) {
  TensorTable table(4);
  const auto run = [&](bool told) {
    delayed::machine(0).reseed(3);
    const WorkName step("2F0");
    Ticket ticket = hand_over(table, {{"x", at::full({64}, 1.0, on_device())}}, *device_);
    at::Tensor twice, next;
    {
      const StageStreams::Fork fork(streams_, both_);
      {
        const StreamScope scope(*device_, streams_.stream_of(2));
        TensorMap taken;
        if (told) {
          taken = take_over(table, ticket, *device_);
        } else {
          const auto parcel = table.take_as<TensorParcel>(ticket);
          device_->wait(parcel->filled);
          taken = parcel->tensors;
        }
        twice = taken.at("x").mul(2);
      }
      const StreamScope scope(*device_, streams_.stream_of(1));
      next = at::full({64}, 9.0, on_device());  // where x was, if nobody says that it is read
    }
    return twice.cpu()[0].item<float>() + next.cpu()[0].item<float>();
  };

  EXPECT_EQ(run(true), 11);
  EXPECT_THROW(run(false), Error);
}

// A layer of torch's own ops, whose gradients torch's own nodes add up.
class Scaled final : public StageModule {
 public:
  explicit Scaled(const at::TensorOptions& options) : weight_(at::full({4}, 2.0, options)) {
    weight_.requires_grad_(true);
    weight_.mutable_grad() = at::zeros({4}, options);
  }
  TensorMap forward(const TensorMap& inputs, const TensorMap& /*shared*/) override {
    return {{"x", inputs.at("x").mul(weight_)}};
  }
  std::vector<StageParameter> parameters() override { return {{.name = "weight", .tensor = weight_}}; }
  void set_training(bool) override {}

 private:
  at::Tensor weight_;
};

// Nodes that add to gradients stay on the stream on which they were made, when the core was (pytorch#137483): so the
// pass makes each core on its stage's stream.
TEST_F(StageStreamsTest, AddToGradientsWhereTheCoreWasMade) {
  TensorTable table(4);
  for (const StreamRole made_on : {StreamRole::compute_beside, StreamRole::compute}) {
    StageCoreOptions options{.module = std::make_shared<Scaled>(on_device()), .device = device_};
    options.compute_loss = [](const LastStageOutputs& outputs) {
      return StageLoss{outputs.outputs.at("x").sum(), 1};
    };
    std::optional<StageCore> core;
    {
      const StreamScope scope(*device_, made_on);
      core.emplace(options, table);
    }
    core->begin_step(1, {{.inputs = {{"x", at::full({4}, 3.0, on_device())}}}});
    device_->finish();
    device_->note_kernels(true);
    for (const char* action : {"0F0", "0B0"}) {
      const StageStreams::Fork fork(streams_, both_);
      const StreamScope scope(*device_, StreamRole::compute_beside);
      core->run(parse_action(action));
    }
    device_->finish();
    device_->note_kernels(false);
    std::set<StreamRole> seen;
    for (const KernelRun& kernel : device_->take_kernels()) seen.insert(kernel.stream);

    EXPECT_EQ(seen, (std::set<StreamRole>{made_on, StreamRole::compute_beside}));
    EXPECT_EQ(core->finish_step().loss_sum, 24);
  }
}

TEST(Overlap, IsOfCpusUnlessSomebodyAsksForIt) {
  EXPECT_TRUE(overlaps(Overlap::auto_, true));
  EXPECT_FALSE(overlaps(Overlap::auto_, false));
  for (const bool on_cpu : {true, false}) {
    EXPECT_TRUE(overlaps(Overlap::always, on_cpu));
    EXPECT_FALSE(overlaps(Overlap::never, on_cpu));
  }
}

}  // namespace
}  // namespace d9d
