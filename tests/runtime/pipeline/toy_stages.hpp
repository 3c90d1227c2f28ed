#pragma once
// A small model in stages and a single-threaded world that runs them: every message waits in one bag, and a
// seed decides which arrives next. fp64, so that sums in another order differ by 1e-16.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/base/rng.hpp"
#include "runtime/pipeline/order/action_cursor.hpp"
#include "runtime/pipeline/program/build_program.hpp"
#include "runtime/pipeline/stage/stage_core.hpp"
#include "runtime/tensor/tensor_parcel.hpp"

namespace d9d::test {

constexpr std::int64_t toy_width = 6;

struct ToyOptions {
  bool frozen = false;  // no parameter of the stage is trained
};

// Layer norm of ordinary ops (scale, shift), then a residual through kernels::linear whose weight is used
// twice, times a frozen vector. `sometimes` is used in microbatches with shared["flag"] != 0, `unused` never.
class ToyStage final : public StageModule {
 public:
  ToyStage(int stage, int num_stages, ToyOptions options = {});
  TensorMap forward(const TensorMap& inputs, const TensorMap& shared) override;
  std::vector<StageParameter> parameters() override { return parameters_; }
  void set_training(bool training) override { training_ = training; }

  at::Tensor gradient(const std::string& short_name) const;
  bool training() const { return training_; }

 private:
  const at::Tensor& at(const std::string& short_name) const;
  const int stage_;
  const bool last_;
  bool training_ = true;
  std::vector<StageParameter> parameters_;
};

// Microbatches of different sizes: 1 + index % 3 rows.
std::vector<MicrobatchTensors> toy_microbatches(int count);
// Mean squared error against state["target"]; the weight is the number of rows + 0.5.
StageLoss toy_loss(const LastStageOutputs& outputs);

// Gradients by "stage.name", and the sums, of a plain loop over the microbatches.
struct ToyResult {
  std::map<std::string, at::Tensor> gradients;
  double loss_sum = 0;
  double weight_sum = 0;
};
ToyResult toy_sequential(int num_stages, int microbatches);

class ToyWorld final : private GradientObserver {
 public:
  ToyWorld(const ScheduleConfig& schedule, int ranks, std::uint64_t seed, bool training = true,
           CursorOrder order = CursorOrder::static_);

  void run_step(int microbatches);

  ToyResult result() const { return result_; }
  std::size_t tickets_in_use() const { return table_.in_use(); }
  // What ran on each rank in the last step.
  std::vector<std::string> history() const { return history_; }
  const PipelineProgram& program() const { return *program_; }
  // Shapes of the outputs seen without training, by microbatch.
  const std::map<int, std::vector<std::int64_t>>& consumed() const { return consumed_; }
  // "stage.name" of completed parameters, and their gradient as it was then.
  const std::vector<std::pair<std::string, at::Tensor>>& completed() const { return completed_; }

 private:
  struct Message {
    bool gradient;
    int stage;
    int microbatch;
    Ticket ticket;
  };
  void send(const Action& action, const ActionResult& result);
  void gradient_complete(int stage, std::size_t parameter, bool last) override;
  bool advance(int rank);
  void deliver(std::size_t index);
  bool done() const;
  std::uint64_t draw(std::uint64_t bound) { return random_.below(draws_++, bound); }

  TensorTable table_{1024};
  ProgramCache programs_;
  std::shared_ptr<const PipelineProgram> program_;
  std::vector<std::shared_ptr<ToyStage>> modules_;
  std::vector<std::unique_ptr<StageCore>> cores_;
  std::vector<std::unique_ptr<ActionCursor>> cursors_;
  double now_ = 0;  // of the cursors: a second for every turn
  std::vector<Message> bag_;
  std::vector<std::string> history_;
  std::map<int, std::vector<std::int64_t>> consumed_;
  std::vector<std::pair<std::string, at::Tensor>> completed_;
  ToyResult result_;
  RandomStream random_;
  std::uint64_t draws_ = 0;
  std::uint64_t step_ = 0;
};

}  // namespace d9d::test
