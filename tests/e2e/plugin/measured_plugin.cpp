// A plugin for metrics_test: a task whose metrics depend on the data alone, so that the test can compute them, and a
// metric of its own.
#include <boost/describe/class.hpp>

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "runtime/base/config/decode.hpp"
#include "runtime/metric/aggregation.hpp"
#include "runtime/metric/auroc.hpp"
#include "runtime/metric/confusion_builder.hpp"
#include "runtime/plugin/registry.hpp"
#include "runtime/task/causal_lm_task.hpp"
#include "runtime/task/metric_values.hpp"
#include "runtime/task/rank_context.hpp"
#include "runtime/task/rank_events.hpp"
#include "runtime/train/gradient/gradient_hook.hpp"
#include "tests/runtime/metric/sink/one_pixel.hpp"

namespace measured {

struct MeasuredConfig {
  std::string leave_out;  // a metric not to declare
  bool shows = false;     // of each step a text, a number and a picture of the first microbatch on rank 0
  bool anywhere = false;  // updates metrics in every callback, also between two phases
};
BOOST_DESCRIBE_STRUCT(MeasuredConfig, (), (leave_out, shows, anywhere))

namespace {

constexpr std::int64_t num_classes = 4;
constexpr double vocabulary_size = 512;

// Mean and standard deviation: three sums, and two results.
class Spread final : public d9d::Metric {
 public:
  void update(double value) {
    state_[0] += 1;
    state_[1] += value;
    state_[2] += value * value;
  }
  std::vector<d9d::ReduceOp> layout() const override { return {3, d9d::ReduceOp::sum}; }
  std::vector<double> state() const override { return {state_.begin(), state_.end()}; }
  void load(std::span<const double> state) override { std::copy(state.begin(), state.end(), state_.begin()); }
  d9d::MetricValues compute(std::span<const double> state) const override {
    const double mean = state[1] / state[0];
    return {{"mean", mean}, {"deviation", std::sqrt(state[2] / state[0] - mean * mean)}};
  }
  void reset() override { state_ = {}; }

 private:
  std::array<double, 3> state_{};
};

using d9d::Accumulator;
using d9d::BinaryAuroc;
using d9d::Compose;
using d9d::ConfusionMatrix;
using d9d::ConfusionMatrixBuilder;
using d9d::WeightedMean;

class MeasuredTask final : public d9d::TrainTask {
 public:
  explicit MeasuredTask(const MeasuredConfig& config)
      : leave_out_(config.leave_out), shows_(config.shows), anywhere_(config.anywhere) {}

  std::vector<d9d::StepPhase> phases() const override {
    if (!anywhere_) return {};
    return {{"look", d9d::PhaseKind::forward, 0}, {"learn", d9d::PhaseKind::train, 0}};
  }
  void register_events(d9d::RankEvents& events) override {
    if (!anywhere_) return;
    events.on<d9d::events::StepPre>("measured", [this](const auto&) { count_one("begun"); });
    events.on<d9d::events::StepPost>("measured", [this](const auto&) { count_one("ended"); });
  }
  void begin(const d9d::RankContext& context) override {
    count_ = context.count;
    if (shows_ && context.rank == context.world_size - 1) record_ = context.record;
  }
  void finalize() override {
    if (record_) record_({1, "shown/end", d9d::TextRecord{"all steps are done"}});
  }

  d9d::ForwardInputs build_forward_inputs(const d9d::MicrobatchContext& context) const override {
    d9d::ForwardInputs inputs = inner_.build_forward_inputs(context);
    inputs.state["ids"] = context.batch.at("input_ids");
    inputs.state["classes"] = context.batch.at("labels");
    if (context.phase == 1) add_ids("built", context.batch.at("input_ids"), context.metrics);
    return inputs;
  }
  void carry(const d9d::LossContext& context, d9d::TensorMap& /*carried*/) const override {
    add_ids("carried", context.state.at("ids"), context.metrics);
  }
  d9d::Loss compute_loss(const d9d::LossContext& context) const override {
    add_ids("lost", context.state.at("ids"), context.metrics);
    return inner_.compute_loss(context);
  }

  void create_metrics(Compose& metrics) const override {
    const auto matrix = [] { return ConfusionMatrixBuilder().multiclass(num_classes); };
    if (leave_out_ != "auroc") metrics.add("auroc", std::make_unique<BinaryAuroc>());
    metrics.add("accuracy", matrix().accuracy().micro().build());
    metrics.add("precision", matrix().precision().macro().build());
    metrics.add("recall", matrix().recall().macro().build());
    metrics.add("f1", matrix().f1().per_class().build());
    metrics.add("mean", std::make_unique<WeightedMean>());
    metrics.add("sum", std::make_unique<Accumulator>(d9d::ReduceOp::sum));
    metrics.add("smallest", std::make_unique<Accumulator>(d9d::ReduceOp::min));
    metrics.add("largest", std::make_unique<Accumulator>(d9d::ReduceOp::max));
    metrics.add("spread", std::make_unique<Spread>());
    if (!anywhere_) return;
    for (const char* name : {"built", "carried", "lost", "begun", "ended"})
      metrics.add(name, std::make_unique<Accumulator>(d9d::ReduceOp::sum));
  }

  void update_metrics(const d9d::LossContext& context, Compose& metrics) const override {
    const std::vector<double> ids = d9d::numbers_of(context.state.at("ids"));
    const std::vector<std::int64_t> classes = d9d::integers_of(context.state.at("classes"));
    std::vector<double> probabilities, scores;
    std::vector<std::int64_t> positive;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      probabilities.push_back((ids[i] + 0.5) / vocabulary_size);
      positive.push_back(classes[i] >= num_classes / 2);
      for (std::int64_t c = 0; c < num_classes; ++c) scores.push_back(std::fmod(ids[i], num_classes) == c);
      for (const char* name : {"sum", "smallest", "largest"}) metrics.get<Accumulator>(name).update(ids[i]);
      metrics.get<WeightedMean>("mean").update(ids[i]);
      metrics.get<Spread>("spread").update(ids[i]);
    }
    if (leave_out_ != "auroc") metrics.get<BinaryAuroc>("auroc").update(probabilities, positive);
    for (const char* name : {"accuracy", "precision", "recall", "f1"})
      metrics.get<ConfusionMatrix>(name).update(scores, classes);
    if (record_ && context.microbatch == 0) {
      record_({context.step, "shown/text",
               d9d::TextRecord{fmt::format("step {} ends with {}", context.step, ids.back())}});
      record_({context.step, "shown/number", ids.back()});
      record_({context.step, "shown/picture", d9d::Picture{d9d::test::png_of_one_pixel()}});
    }
    if (leave_out_ == "everything") metrics.get<WeightedMean>("undeclared").update(1);
  }

 private:
  void add_ids(const char* name, const at::Tensor& ids, Compose* metrics) const {
    if (!anywhere_) return;
    for (const double id : d9d::numbers_of(ids)) metrics->get<Accumulator>(name).update(id);
  }
  void count_one(const char* name) const {
    count_([name](Compose& metrics) { metrics.get<Accumulator>(name).update(1); });
  }

  const d9d::CausalLmTask inner_;
  const std::string leave_out_;
  const bool shows_;
  const bool anywhere_;
  std::function<void(const std::function<void(Compose&)>&)> count_;
  std::function<void(d9d::TaskRecord)> record_;
};

class MeasuredHook final : public d9d::GradientHook {
 public:
  void create_metrics(Compose& metrics) const override {
    metrics.add("hooked", std::make_unique<Accumulator>(d9d::ReduceOp::sum));
  }
  d9d::HookVerdict gradients_reduced(const d9d::GradientContext& context) override {
    context.metrics->get<Accumulator>("hooked").update(1);
    return d9d::HookVerdict::update;
  }
};

}  // namespace
}  // namespace measured

extern "C" void d9d_register(d9d::Registry& registry) {
  registry.add_task("measured", [](const d9d::config::Section& section) {
    return std::make_shared<measured::MeasuredTask>(d9d::config::decode<measured::MeasuredConfig>(section));
  });
  registry.add_gradient_hook(
      "measured", [](const d9d::config::Section&) { return std::make_shared<measured::MeasuredHook>(); });
}
