#include "runtime/job/job_length.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "runtime/base/count.hpp"
#include "runtime/base/error.hpp"

namespace d9d {
namespace {

// Synthetic data has no end, so no epochs. Those of a mixture are counted in its samples.
Epochs epochs_of(const DataConfig& data) {
  return std::visit(
      [](const auto& source) {
        if constexpr (requires { source.epochs; }) return source.epochs;
        if constexpr (requires { source.parts; }) return Epochs{.count = 1};
        return Epochs{.count = std::nullopt};
      },
      data);
}

std::uint64_t samples_left(std::uint64_t end, const JobPosition& at) {
  return end - std::min(end, at.sample);
}

// The last number of the steps that the rest of the data gives.
std::uint64_t given_steps(const JobConfig& job, std::uint64_t end, const JobPosition& at) {
  const auto batch = static_cast<std::uint64_t>(job.trainer.batching.global_batch_size);
  return at.steps + steps_of(samples_left(end, at), batch, job.inference || !job.trainer.batching.drop_last);
}

// How it was found that a job which goes on has `given` steps.
std::string told_count(const JobPosition& at, std::uint64_t end, std::uint64_t batch) {
  return fmt::format("{} {} done with {}, and the other {} are {} at {} a step", counted(at.steps, "step"),
                     at.steps == 1 ? "is" : "are", counted(at.sample, "sample"), samples_left(end, at),
                     counted(samples_left(end, at) / batch, "whole step"), batch);
}

// The same of a job that goes on, where the steps before may have taken other numbers of samples.
[[noreturn]] void refuse_rest(const JobConfig& job, std::uint64_t samples, std::uint64_t end,
                              std::uint64_t wanted, const JobPosition& at) {
  const auto batch = static_cast<std::uint64_t>(job.trainer.batching.global_batch_size);
  const std::uint64_t given = given_steps(job, end, at);
  const bool mixture = std::holds_alternative<MixtureDataConfig>(job.data);
  const std::uint64_t epochs = ((wanted - at.steps) * batch + at.sample + samples - 1) / samples;
  throw Error(ErrorKind::input,
              fmt::format("trainer.schedule.total_steps = {}, but the data gives {}: {}. Set total_steps to "
                          "{}, or {}",
                          wanted, counted(given, "step"), told_count(at, end, batch), given,
                          mixture ? std::string("give the parts of the mixture more epochs")
                                  : fmt::format("data.epochs to {} (or to as_needed)", epochs)));
}

// `data.epochs` is counted: it gives `given` whole steps, `wanted` are more.
[[noreturn]] void refuse(const JobConfig& job, std::uint64_t samples, std::uint64_t given,
                         std::uint64_t wanted) {
  const auto batch = static_cast<std::uint64_t>(job.trainer.batching.global_batch_size);
  D9D_REQUIRE(
      !std::holds_alternative<MixtureDataConfig>(job.data),
      "trainer.schedule.total_steps = {}, but the mixture gives {}: a step takes {} samples, and after {} "
      "one of data.parts has read all its epochs. Set total_steps to {}, or give that part more epochs (or "
      "as_needed)",
      wanted, counted(given, "step"), batch, samples, given);
  const auto epochs = static_cast<std::uint64_t>(*epochs_of(job.data).count);
  const std::uint64_t needed = (wanted * batch + samples - 1) / samples;
  throw Error(
      ErrorKind::input,
      fmt::format(
          "trainer.schedule.total_steps = {}, but the data gives {} in {}: it has {}, a step takes {}. "
          "Set total_steps to {}, or data.epochs to {} (or to as_needed) to read the data again",
          wanted, counted(given, "step"), counted(epochs, "epoch"), counted(samples, "sample"), batch, given,
          needed));
}

}  // namespace

std::uint64_t steps_of(std::uint64_t samples, std::uint64_t batch, bool keeps_last) {
  return samples / batch + (keeps_last && samples % batch > 0 ? 1 : 0);
}

std::optional<std::uint64_t> end_of_data(const DataConfig& data, std::optional<std::uint64_t> num_samples) {
  const Epochs epochs = epochs_of(data);
  if (!num_samples || !epochs.count) return std::nullopt;
  std::uint64_t end = 0;
  const bool overflow = __builtin_mul_overflow(*num_samples, static_cast<std::uint64_t>(*epochs.count), &end);
  return overflow ? std::numeric_limits<std::uint64_t>::max() : end;
}

std::uint64_t job_steps(const JobConfig& job, std::optional<std::uint64_t> num_samples,
                        const JobPosition& at) {
  const auto& wanted = job.trainer.schedule.total_steps;
  const auto end = end_of_data(job.data, num_samples);
  if (!end) {
    D9D_REQUIRE(wanted,
                "trainer.schedule.total_steps is missing and the data never ends{}; give the number of steps",
                num_samples ? " (data.epochs is as_needed)" : "");
    return static_cast<std::uint64_t>(*wanted);
  }
  const auto batch = static_cast<std::uint64_t>(job.trainer.batching.global_batch_size);
  const std::uint64_t given = given_steps(job, *end, at);
  D9D_REQUIRE(
      given > 0,
      "the data has {}, expected at least trainer.batching.global_batch_size = {}; lower that, or raise "
      "data.epochs",
      counted(*end, "sample"), batch);
  if (!wanted) return given;
  if (static_cast<std::uint64_t>(*wanted) > given) {
    if (at.steps > 0) refuse_rest(job, *num_samples, *end, static_cast<std::uint64_t>(*wanted), at);
    refuse(job, *num_samples, given, static_cast<std::uint64_t>(*wanted));
  }
  return static_cast<std::uint64_t>(*wanted);
}

std::uint64_t samples_left_out(const JobConfig& job, std::optional<std::uint64_t> num_samples,
                               std::uint64_t steps, const JobPosition& at) {
  const auto end = end_of_data(job.data, num_samples);
  const auto batch = static_cast<std::uint64_t>(job.trainer.batching.global_batch_size);
  if (job.inference || !end || steps < at.steps) return 0;
  const std::uint64_t taken = at.sample + (steps - at.steps) * batch;
  return *end <= taken || *end - taken >= batch ? 0 : *end - taken;
}

std::uint64_t inference_steps(const JobConfig& job, std::optional<std::uint64_t> num_samples,
                              const JobPosition& at) {
  const auto& wanted = job.trainer.schedule.total_steps;
  const auto end = end_of_data(job.data, num_samples);
  D9D_REQUIRE(end || wanted,
              "inference.schedule.total_steps is missing and the data never ends; give the number of steps");
  const auto batch = static_cast<std::uint64_t>(job.trainer.batching.global_batch_size);
  if (!end) return static_cast<std::uint64_t>(*wanted);
  const std::uint64_t given = given_steps(job, *end, at);
  const std::uint64_t steps = wanted ? static_cast<std::uint64_t>(*wanted) : given;
  D9D_REQUIRE(
      steps <= given,
      "inference.schedule.total_steps = {}, but the data gives {} ({}, {} in a step); leave it out, or give "
      "at most {}",
      steps, counted(given, "step"), counted(*end, "sample"), batch, given);
  return steps;
}

std::uint64_t last_step_of(const JobConfig& job, std::optional<std::uint64_t> num_samples,
                           const JobPosition& at) {
  return job.inference ? inference_steps(job, num_samples, at) : job_steps(job, num_samples, at);
}

std::uint64_t evaluation_batches(const JobConfig& job, std::optional<std::uint64_t> num_samples) {
  const EvaluationConfig& evaluation = *job.evaluation;
  const auto end = end_of_data(evaluation.data, num_samples);
  const auto batch = static_cast<std::uint64_t>(job.trainer.batching.global_batch_size);
  if (!end) {
    D9D_REQUIRE(evaluation.batches,
                "evaluation.batches is missing and its data never ends{}; give the number of batches",
                num_samples ? " (evaluation.data.epochs is as_needed)" : "");
    return static_cast<std::uint64_t>(*evaluation.batches);
  }
  const std::uint64_t given = steps_of(*end, batch, /*keeps_last=*/true);
  const std::uint64_t wanted = evaluation.batches ? static_cast<std::uint64_t>(*evaluation.batches) : given;
  D9D_REQUIRE(
      wanted > 0 && wanted <= given,
      "evaluation.batches = {}, but evaluation.data gives {} ({}, {} in a batch); leave it out, or give "
      "at most {}",
      wanted, given, counted(*end, "sample"), batch, given);
  return wanted;
}

}  // namespace d9d
