#include "actors/metric_collector.hpp"

#include "actors/notes/reduce_operation.hpp"
#include "messages/lists.hpp"
#include "runtime/base/error.hpp"
#include "runtime/base/log.hpp"
#include "runtime/base/shortened.hpp"

namespace d9d {

MetricCollector::MetricCollector(World& world, MetricCollectorOptions options)
    : Actor(world), options_(std::move(options)) {
  set_rank(options_.rank);
}

void MetricCollector::behavior(Handlers& handlers) {
  handlers.on(this, &MetricCollector::metrics_taken);
  handlers.on(this, &MetricCollector::values_reduced);
  handlers.on(this, &MetricCollector::sleep);
}

void MetricCollector::started() {
  options_.create(training_.metrics);
  options_.create_evaluation(evaluation_.metrics);
  for (Counted* const each : {&training_, &evaluation_}) {
    each->layout = each->metrics.layout();
    // Metrics are numbers for people, so training goes on when a plugin's metric fails.
    each->metrics.leave_out_failures([this](const std::string& metric, const std::string& what) {
      log::warn("the metric \"{}\" threw in step {}: {}. It is left out from here on; training goes on",
                metric, step(), shortened(what));
    });
  }
}

void MetricCollector::metrics_taken(wire::MetricsTaken::Reader message) {
  const bool evaluation = message.getEvaluation();
  const std::vector<ReduceOp>& layout = counted(evaluation).layout;
  if (layout.empty()) return report(message.getStep(), evaluation, {}, {});
  collections_.push_back(
      {message.getStep(), evaluation, pack_state(layout, to_vector<double>(message.getState()))});
  if (collections_.size() == 1) reduce(collections_.front().packed.sums, false);
}

void MetricCollector::reduce(const std::vector<double>& values, bool maxima) {
  tell<wire::ReduceValues>(options_.collective, [&](wire::ReduceValues::Builder message) {
    message.setOrder(next_order_++);
    message.setStep(collections_.front().step);
    message.setOperation(reduce_operations.to_wire(maxima ? ReduceOp::max : ReduceOp::sum));
    fill_list(message.initValues(static_cast<unsigned>(values.size())), values);
  });
}

void MetricCollector::values_reduced(wire::ValuesReduced::Reader message) {
  PackedState& packed = collections_.front().packed;
  // Each collection makes two reductions, first sums, then maxima: even numbers are sums.
  const bool were_sums = message.getOrder() % 2 == 0;
  (were_sums ? packed.sums : packed.maxima) = to_vector<double>(message.getValues());
  // Both reductions run even when one list is empty, so that all ranks make the same requests
  // in the same order.
  if (were_sums) return reduce(packed.maxima, true);
  finish_collection();
}

void MetricCollector::finish_collection() {
  const Collection done = std::move(collections_.front());
  collections_.erase(collections_.begin());
  if (!collections_.empty()) reduce(collections_.front().packed.sums, false);
  sleep_when_idle();
  if (options_.rank != 0) return;
  set_step(done.step);
  const Counted& kind = counted(done.evaluation);
  const std::vector<double> state = unpack_state(kind.layout, done.packed);
  report(done.step, done.evaluation, kind.metrics.compute(state), kind.metrics.histograms(state));
}

void MetricCollector::sleep(wire::Sleep::Reader message) {
  sleep_after_ = message.getStep();
  sleep_when_idle();
}

// The collective may be closed only when no reduction is under way.
void MetricCollector::sleep_when_idle() {
  if (!sleep_after_ || !collections_.empty()) return;
  tell<wire::Slept>({Role::trainer, static_cast<std::uint64_t>(options_.rank)},
                    [&](wire::Slept::Builder slept) { slept.setStep(*sleep_after_); });
  sleep_after_.reset();
}

void MetricCollector::report(std::uint64_t step, bool evaluation, const MetricValues& values,
                             const std::vector<NamedHistogram>& histograms) {
  if (options_.rank != 0) return;
  const auto fill = [&](wire::MetricValues::Builder message) {
    message.setStep(step);
    message.setEvaluation(evaluation);
    auto names = message.initNames(static_cast<unsigned>(values.size()));
    auto numbers = message.initValues(static_cast<unsigned>(values.size()));
    for (unsigned i = 0; i < names.size(); ++i) {
      names.set(i, values[i].first);
      numbers.set(i, values[i].second);
    }
    auto spread = message.initHistograms(static_cast<unsigned>(histograms.size()));
    for (unsigned i = 0; i < spread.size(); ++i) {
      const NamedHistogram& histogram = histograms[i];
      spread[i].setName(histogram.name);
      fill_list(spread[i].initEdges(static_cast<unsigned>(histogram.edges.size())), histogram.edges);
      fill_list(spread[i].initCounts(static_cast<unsigned>(histogram.counts.size())), histogram.counts);
    }
  };
  tell<wire::MetricValues>({Role::tracker, 0}, fill);
  if (evaluation) tell<wire::MetricValues>({Role::trainer, 0}, fill);
}

}  // namespace d9d
