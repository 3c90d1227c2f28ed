#include "actors/tracker.hpp"

#include <cmath>
#include <utility>

#include "actors/notes/recorded_value.hpp"
#include "messages/lists.hpp"
#include "runtime/base/count.hpp"
#include "runtime/base/error.hpp"
#include "runtime/base/log.hpp"
#include "runtime/metric/shown/own_names.hpp"
#include "runtime/metric/sink/picture_file.hpp"

namespace d9d {

Tracker::Tracker(World& world, TrackerOptions options)
    : Actor(world), options_(std::move(options)), ledger_(options_.resumed_step) {}

void Tracker::behavior(Handlers& handlers) {
  handlers.on(this, &Tracker::step_finished);
  handlers.on(this, &Tracker::evaluation_finished);
  handlers.on(this, &Tracker::metric_values);
  handlers.on(this, &Tracker::record_value);
  handlers.on(this, &Tracker::flush_tracker);
}

void Tracker::started() {
  runs_ = options_.open_runs();
}

void Tracker::stop() {
  if (options_.hide) options_.hide();
  for (const auto step : {&TrackerRun::begin_close, &TrackerRun::close}) {
    for (auto& run : runs_) {
      try {
        ((*run).*step)();
      } catch (const Error& error) {
        // Not an error of the job: the model itself is trained and saved.
        log::warn("{}", error.what());
      }
    }
  }
  finish();
}

void Tracker::write(const std::string& name, std::uint64_t step, const TrackerValue& value,
                    const PointContext& context) {
  for (auto& run : runs_) run->write({name, static_cast<std::int64_t>(step), context}, value);
}

void Tracker::step_finished(wire::StepFinished::Reader message) {
  const std::uint64_t step = message.getStep();
  const double seconds = message.getStepSeconds();
  const double rate = seconds > 0 ? static_cast<double>(message.getTokens()) / seconds : 0;
  if (!message.getInference()) {
    write("loss", step, Scalar{message.getLoss()});
    write("grad_norm", step, Scalar{message.getGradNorm()});
    write("lr", step, Scalar{message.getLearningRate()});
  }
  write("tokens", step, Scalar{static_cast<double>(message.getTokens()), true});
  write("tokens_per_second", step, Scalar{rate});
  write("step_seconds", step, Scalar{seconds});
  write_flops(step, seconds > 0 ? message.getFlops() / seconds : 0);
  write("time", step, Scalar{.value = message.getWallTime(), .is_time = true});
  if (options_.memory_bytes)
    write("memory_bytes", step, Scalar{static_cast<double>(options_.memory_bytes()), true});
  if (message.getSkippedSteps() > 0)
    write("skipped_steps", step, Scalar{static_cast<double>(message.getSkippedSteps()), true});
  write_progress_of_data(message);
  for (auto& run : runs_) run->end_step(static_cast<std::int64_t>(step));
  if (options_.show) {
    const auto left = static_cast<double>(message.getTotalSteps() - step);
    options_.show({.step = static_cast<std::int64_t>(step),
                   .total_steps = static_cast<std::int64_t>(message.getTotalSteps()),
                   .loss = message.getLoss(),
                   .lr = message.getLearningRate(),
                   .grad_norm = message.getGradNorm(),
                   .tokens_per_second = rate,
                   .seconds_left = seconds * left});
  }
  if (options_.says_what_is_shown)
    tell<wire::StepShown>({Role::trainer, 0}, [&](wire::StepShown::Builder shown) { shown.setStep(step); });
  ledger_.finished(step, message.getMetricsFollow());
  answer_when_complete();
}

void Tracker::write_flops(std::uint64_t step, double rate) {
  if (!options_.flops) return;
  write("flops_per_second", step, Scalar{rate});
  write("mfu", step, Scalar{rate / options_.flops->peak});
  if (std::exchange(options_.flops->is_measured, false))
    write("measured_peak", step, Scalar{options_.flops->peak});
}

void Tracker::write_progress_of_data(wire::StepFinished::Reader message) {
  write("tokens_total", message.getStep(), Scalar{static_cast<double>(message.getTokensTotal()), true});
  if (!std::exchange(asked_epoch_, true) && options_.samples_per_epoch) {
    samples_per_epoch_ = options_.samples_per_epoch();
  }
  if (!samples_per_epoch_) return;
  const double epochs =
      static_cast<double>(message.getNextSample()) / static_cast<double>(*samples_per_epoch_);
  write("epoch", message.getStep(), Scalar{epochs});
}

void Tracker::evaluation_finished(wire::EvaluationFinished::Reader message) {
  const std::uint64_t step = message.getStep();
  const bool counts = message.getWeight() > 0;
  if (counts) write("evaluation/loss", step, Scalar{message.getLoss()});
  write("evaluation/tokens", step, Scalar{static_cast<double>(message.getTokens()), true});
  write("evaluation/seconds", step, Scalar{message.getSeconds()});
  for (auto& run : runs_) run->end_step(static_cast<std::int64_t>(step));
  const std::string tokens = counted(message.getTokens(), "token");
  if (counts) {
    log::info("evaluation after step {}: loss {:.4f} of {} in {:.1f} s", step, message.getLoss(), tokens,
              message.getSeconds());
  } else {
    log::warn(
        "evaluation after step {}: no label of its {} counts, so it has no loss; look at evaluation.data",
        step, tokens);
  }
  ledger_.evaluated(step);
  answer_when_complete();
}

void Tracker::metric_values(wire::MetricValues::Reader message) {
  const std::string prefix = message.getEvaluation() ? "evaluation/metrics/" : "metrics/";
  // Read once: each call counts the whole list against the limit on what a reader may visit.
  const auto names = message.getNames();
  const auto values = message.getValues();
  for (unsigned i = 0; i < names.size(); ++i) {
    if (message.getEvaluation() && std::isnan(values[i])) continue;  // a metric that only training updates
    write(prefix + std::string(names[i]), message.getStep(), Scalar{values[i]});
  }
  const auto histograms = message.getHistograms();
  std::vector<std::string> all;
  for (unsigned i = 0; i < names.size(); ++i) all.push_back(prefix + std::string(names[i]));
  for (const auto histogram : histograms) all.push_back(prefix + std::string(histogram.getName()));
  warn_of_repeated(all);
  for (const auto histogram : histograms) {
    write(prefix + std::string(histogram.getName()), message.getStep(),
          Histogram{.counts = to_vector<double>(histogram.getCounts()),
                    .edges = to_vector<double>(histogram.getEdges())});
  }
  if (names.size() > 0 || histograms.size() > 0) {
    for (auto& run : runs_) run->end_step(static_cast<std::int64_t>(message.getStep()));
  }
  ledger_.metrics(message.getStep(), message.getEvaluation());
  answer_when_complete();
}

// Once for each name.
void Tracker::warn_of_repeated(const std::vector<std::string>& names) {
  std::set<std::string> seen;
  for (const std::string& name : names) {
    if (seen.insert(name).second || !repeated_.insert(name).second) continue;
    log::warn(
        "two values of the metrics are called \"{}\": only the last one is kept; give each value of "
        "compute() and each histogram a name of its own",
        name);
  }
}

// A value from a Trainer is one that the task shows.
std::string Tracker::name_shown(const std::string& name, const PointContext& context) {
  const bool is_actor = sender().role == Role::user;
  if (!is_actor && (sender().role != Role::trainer || name == "roll_backs")) return name;
  const std::string flat = flat_name({name, 0, context});
  if (!is_name_of_the_job(flat)) return name;
  const std::string piece = !is_actor ? options_.task
                            : sender().index < options_.actor_names.size()
                                ? options_.actor_names[sender().index]
                                : to_string(sender());
  std::string shown = piece + "/" + name;
  if (put_beside_.insert(shown).second)
    log::warn("{} shows \"{}\", which is a number of the job itself: it is shown as \"{}\"", piece, flat,
              flat_name({shown, 0, context}));
  return shown;
}

void Tracker::record_value(wire::RecordValue::Reader message) {
  const PointContext context = context_of(message);
  const std::string name = name_shown(message.getName(), context);
  const std::uint64_t step = message.getStep();
  switch (message.which()) {
    case wire::RecordValue::NUMBER:
      write(name, step, Scalar{message.getNumber()}, context);
      break;
    case wire::RecordValue::TEXT:
      write(name, step, TextRecord{message.getText()}, context);
      break;
    case wire::RecordValue::PICTURE: {
      const auto bytes = message.getPicture().asChars();
      Picture picture{std::string(bytes.begin(), bytes.end())};
      if (!size_of_png(picture.png)) {
        return log::warn("{} of step {} is no PNG file; it is left out of the trackers", name, step);
      }
      write(name, step, picture, context);
    }
  }
  for (auto& run : runs_) run->end_step(static_cast<std::int64_t>(step));
}

void Tracker::flush_tracker(wire::FlushTracker::Reader message) {
  questions_.push_back({message.getStep(), sender()});
  answer_when_complete();
}

// Answers only when all numbers up to the step are written, so a commit or the end of the job loses none.
void Tracker::answer_when_complete() {
  std::erase_if(questions_, [&](const Question& question) {
    if (!ledger_.complete(question.step)) return false;
    for (auto& run : runs_) run->flush();
    tell<wire::TrackerFlushed>(
        question.asker, [&](wire::TrackerFlushed::Builder flushed) { flushed.setStep(question.step); });
    return true;
  });
}

}  // namespace d9d
