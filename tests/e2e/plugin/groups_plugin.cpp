// A plugin for groups_test, live_model_test and trackers_test: a task that talks to those of other ranks, along every
// axis of the mesh; and one that reads and saves the model while it trains.
#include <fmt/format.h>

#include <fstream>
#include <optional>

#include "runtime/base/error.hpp"
#include "runtime/base/log.hpp"
#include "runtime/plugin/registry.hpp"
#include "runtime/task/causal_lm_task.hpp"
#include "runtime/task/rank_context.hpp"
#include "runtime/task/rank_events.hpp"

namespace groups {
namespace {

class TalkingTask final : public d9d::TrainTask {
 public:
  TalkingTask(const d9d::PieceContext& context, int failing_rank)
      : made_for_(context), failing_rank_(failing_rank) {}

  void begin(const d9d::RankContext& context) override {
    nlohmann::json said;
    for (const std::string axis : {"world", "pp", "dp", "tp", "dp_replicate"}) {
      const d9d::RankGroup group = context.group({axis});
      for (const auto& other : group.all_gather_object(context.rank)) said[axis].push_back(other);
    }
    const d9d::RankGroup stage = context.group({"dp", "tp"});
    said["stage"] = stage.all_gather_object(context.rank);
    const d9d::RankGroup world = context.group({"world"});
    world.first_then_others(
        [&] { std::ofstream(folder() + "/order.txt", std::ios::app) << context.rank << "\n"; });
    const d9d::RankGroup host = context.group({"host"});
    said["host"] = host.all_gather_object(context.rank);
    host.first_then_others([&] {
      D9D_REQUIRE(context.rank != failing_rank_, "the archive is damaged");
      std::ofstream(fmt::format("{}/host-of-{}.txt", folder(), context.placement.node), std::ios::app)
          << context.rank << "\n";
    });
    D9D_REQUIRE(made_for_.run == context.run && made_for_.mesh == context.mesh, "a factory of another job");
    context.record({.step = 1,
                    .name = "talkers",
                    .value = static_cast<double>(world.size()),
                    .context = {{"subset", "begin"}}});
    said["run"] = context.run;
    said["seed"] = context.seed;
    said["device"] = context.device;
    std::ofstream(folder() + "/rank-" + std::to_string(context.rank) + ".json") << said;
    replicas_.emplace(context.group({"dp"}));
  }

  d9d::ForwardInputs build_forward_inputs(const d9d::MicrobatchContext& context) const override {
    return inner_.build_forward_inputs(context);
  }
  // The same weight on all replicas, by their own agreement.
  d9d::Loss compute_loss(const d9d::LossContext& context) const override {
    d9d::Loss loss = inner_.compute_loss(context);
    loss.weight = replicas_->all_reduce(loss.weight) / replicas_->size();
    return loss;
  }

 private:
  static std::string folder() { return "said"; }
  const d9d::PieceContext made_for_;
  const int failing_rank_;
  const d9d::CausalLmTask inner_;
  std::optional<d9d::RankGroup> replicas_;
};

// Saves the model after its second step as `live`, and what it reads of the parameters as live/sums-RANK.json.
class SavingTask final : public d9d::TrainTask {
 public:
  explicit SavingTask(std::string folder) : folder_(std::move(folder)) {}

  void begin(const d9d::RankContext& context) override {
    rank_ = context.rank;
    model_ = context.model();
  }
  void register_events(d9d::RankEvents& events) override {
    events.on<d9d::events::StepPost>(
        "saving",
        [this](const d9d::events::StepPost& step) {
          if (step.step == 2) save();
        },
        d9d::OnThrow::ends_job);
  }
  d9d::ForwardInputs build_forward_inputs(const d9d::MicrobatchContext& context) const override {
    return inner_.build_forward_inputs(context);
  }
  d9d::Loss compute_loss(const d9d::LossContext& context) const override {
    return inner_.compute_loss(context);
  }

 private:
  void save() const {
    nlohmann::json sums = nlohmann::json::object();
    for (const std::string& name : model_->parameters())
      sums[name] = model_->full_tensor(name).to(at::kDouble).sum().item<double>();
    model_->save(folder_);
    std::ofstream(fmt::format("{}/sums-{}.json", folder_, rank_)) << sums;
    try {
      model_->full_tensor("model.nothing");
    } catch (const d9d::Error& error) {
      d9d::log::info("{}", error.what());
    }
  }

  const std::string folder_;
  const d9d::CausalLmTask inner_;
  int rank_ = 0;
  std::shared_ptr<d9d::LiveModel> model_;
};

}  // namespace
}  // namespace groups

extern "C" void d9d_register(d9d::Registry& registry) {
  for (const auto& [name, failing_rank] : {std::pair{"talking", -1}, std::pair{"failing", 2}}) {
    registry.add_task(name, [failing_rank](const d9d::config::Section&, const d9d::PieceContext& context) {
      return std::make_shared<groups::TalkingTask>(context, failing_rank);
    });
  }
  for (const auto& [name, folder] :
       {std::pair{"saving", "live"}, std::pair{"saving_nowhere", "job.yaml/live"}}) {
    registry.add_task(name, [folder](const d9d::config::Section&, const d9d::PieceContext&) {
      return std::make_shared<groups::SavingTask>(folder);
    });
  }
}
