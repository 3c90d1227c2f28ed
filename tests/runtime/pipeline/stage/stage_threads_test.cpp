#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "runtime/pipeline/order/program_cursor.hpp"
#include "tests/runtime/pipeline/toy_stages.hpp"

namespace d9d::test {
namespace {

struct Message {
  bool gradient;
  int stage;
  int microbatch;
  Ticket ticket;
};

class Inbox {
 public:
  void put(Message message) {
    const std::lock_guard lock(mutex_);
    messages_.push_back(message);
    arrived_.notify_one();
  }
  Message take() {
    std::unique_lock lock(mutex_);
    arrived_.wait(lock, [&] { return !messages_.empty(); });
    const Message message = messages_.front();
    messages_.pop_front();
    return message;
  }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<Message> messages_;
};

// What the RankExecutor does on its thread, with inboxes instead of actors.
class RankThread {
 public:
  RankThread(int rank, const PipelineProgram& program, TensorTable& table, std::vector<Inbox>& inboxes)
      : rank_(rank), program_(program), inboxes_(inboxes) {
    const int num_stages = program.topology.num_stages();
    for (const int stage : program.topology.stages_of(rank)) {
      StageCoreOptions options;
      options.module = modules_[stage] = std::make_shared<ToyStage>(stage, num_stages);
      options.stage = stage;
      options.num_stages = num_stages;
      options.compute_loss = toy_loss;
      cores_[stage] = std::make_unique<StageCore>(std::move(options), table);
    }
  }

  void run() {
    at::set_num_threads(1);
    for (const auto& [stage, core] : cores_) core->begin_step(1, toy_microbatches(program_.num_microbatches));
    ProgramCursor cursor(rank_);
    cursor.start(std::make_shared<const PipelineProgram>(program_));
    while (!cursor.done()) {
      const auto instruction =
          cursor.advance([&](const Action& action) { return cores_.at(action.stage)->ready(action); }, 0);
      if (!instruction) {
        receive(inboxes_[static_cast<std::size_t>(rank_)].take());
        continue;
      }
      for (const Action& action : instruction->parts) send(action, cores_.at(action.stage)->run(action));
    }
    for (const auto& [stage, core] : cores_) loss_sum_ += core->finish_step().loss_sum;
  }

  double loss_sum() const { return loss_sum_; }
  std::map<int, std::shared_ptr<ToyStage>>& modules() { return modules_; }

 private:
  void receive(const Message& message) {
    StageCore& core = *cores_.at(message.stage);
    message.gradient ? core.put_gradient(message.microbatch, message.ticket)
                     : core.put_activation(message.microbatch, message.ticket);
  }
  void send(const Action& action, const ActionResult& result) {
    const auto put = [&](Message m) {
      inboxes_[static_cast<std::size_t>(program_.topology.rank_of(m.stage))].put(m);
    };
    if (result.activation) put({false, action.stage + 1, action.microbatch, result.activation});
    if (result.gradient) put({true, action.stage - 1, action.microbatch, result.gradient});
  }

  const int rank_;
  const PipelineProgram& program_;
  std::vector<Inbox>& inboxes_;
  std::map<int, std::shared_ptr<ToyStage>> modules_;
  std::map<int, std::unique_ptr<StageCore>> cores_;
  double loss_sum_ = 0;
};

TEST(StageThreads, GiveTheSequentialGradientsWithAThreadPerRank) {
  for (const ScheduleConfig& config :
       {ScheduleConfig(OneFOneBSchedule{2, true}), ScheduleConfig(DualPipeVSchedule{})}) {
    const PipelineProgram program = build_program(config, 4, 16);
    TensorTable table(512);
    std::vector<Inbox> inboxes(4);
    std::vector<RankThread> ranks;
    for (int rank = 0; rank < 4; ++rank) ranks.emplace_back(rank, program, table, inboxes);

    std::vector<std::thread> threads;
    for (RankThread& rank : ranks) threads.emplace_back([&] { rank.run(); });
    for (std::thread& thread : threads) thread.join();

    const ToyResult expected = toy_sequential(8, 16);
    double loss_sum = 0;
    for (RankThread& rank : ranks) {
      loss_sum += rank.loss_sum();
      for (const auto& [stage, module] : rank.modules()) {
        for (const StageParameter& p : module->parameters()) {
          if (!p.tensor.requires_grad()) continue;
          EXPECT_LT((p.tensor.grad() - expected.gradients.at(p.name)).abs().max().item<double>(), 1e-12)
              << p.name;
        }
      }
    }
    EXPECT_EQ(loss_sum, expected.loss_sum);
    EXPECT_EQ(table.in_use(), 0U);
  }
}

}  // namespace
}  // namespace d9d::test
