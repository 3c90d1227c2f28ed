#include "actors/cli/view/data_views.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <ostream>

#include "actors/cli/job_options.hpp"
#include "runtime/base/count.hpp"
#include "runtime/base/error.hpp"
#include "runtime/data/loading_rate.hpp"
#include "runtime/data/sample_stream.hpp"
#include "runtime/job/model_tokenizer.hpp"
#include "runtime/job/rule/context_rules.hpp"
#include "runtime/plugin/builtins.hpp"
#include "runtime/plugin/plugin_library.hpp"
#include "runtime/state/disk/disk.hpp"
#include "runtime/tokenizer/tokenizer.hpp"

namespace d9d {
namespace {

constexpr std::int64_t samples_max = 1'000'000;
constexpr std::size_t ids_shown = 200;

// The tokenizer of the texts, or else that of the model's folder.
std::optional<Tokenizer> tokenizer_of(const JobConfig& job) {
  if (const auto text = text_tokens_of(job)) return Tokenizer::from_file(text->tokenizer);
  const auto file = tokenizer_of_model(job);
  return file ? std::optional(Tokenizer::from_file(*file)) : std::nullopt;
}

void show_sample(std::uint64_t index, const Sample& sample, const std::optional<Tokenizer>& tokenizer,
                 Console& console) {
  const auto labels =
      std::ranges::count_if(sample.labels, [](std::int64_t id) { return id != ignored_label; });
  const std::size_t shown = std::min(sample.input_ids.size(), ids_shown);
  const std::vector<std::int32_t> ids(sample.input_ids.begin(),
                                      sample.input_ids.begin() + static_cast<std::ptrdiff_t>(shown));
  const char* more = shown < sample.input_ids.size() ? " ..." : "";
  const auto filled = std::ranges::count(sample.token_mask, false);
  const std::string tokens = counted(std::ssize(sample.input_ids) - filled, "token");
  console.out << fmt::format("\nsample {}: {}{}, {} of them with a label\nids   {}{}\n", index, tokens,
                             filled > 0 ? fmt::format(" filled up to {}", sample.input_ids.size()) : "",
                             labels, fmt::join(ids, " "), more);
  if (tokenizer) console.out << fmt::format("text  {}{}\n", tokenizer->decode(ids, false), more);
}

constexpr double rate_seconds_max = 3600;

// Measures one loader; every data rank has its own.
void show_rate(const LoadedJob& loaded, const Registry& registry, const SampleSource& source, double seconds,
               Console& console) {
  const JobConfig& job = loaded.job;
  const BatchingConfig& batching = job.trainer.batching;
  BatchMaths maths =
      batch_maths(batching.global_batch_size, batching.microbatch_size, job.mesh.data_parallel());
  if (batching.cut_to_longest) maths.cut_unit = sequence_unit(job);
  const auto collation = make_collation(registry, job);
  const LoadingRate rate = loading_rate(source, maths, collation.get(),
                                        std::chrono::milliseconds(static_cast<std::int64_t>(1000 * seconds)));
  console.out << fmt::format("\none loader makes {:.3f} M tokens/s: {} in {:.2f} s\n",
                             1e-6 * rate.tokens_per_second(), counted(rate.tokens, "token"), rate.seconds);
  if (rate.tokens == 0) return;
  console.out << fmt::format("{:.1f} % of them have a label\n",
                             100.0 * static_cast<double>(rate.counted) / static_cast<double>(rate.tokens));
}

}  // namespace

int peek_samples(const Arguments& arguments, Console& console) {
  const LoadedJob loaded = load_job(arguments.positional()[1], arguments.values("--set"));
  for (const std::string& warning : loaded.warnings) console.err << "warning: " << warning << "\n";
  PosixDisk disk;
  Registry registry = builtin_registry(loaded, disk);
  for (const std::string& plugin : loaded.job.plugins) load_plugin(plugin, registry);
  const JobConfig& job = loaded.job;
  const auto source = make_source(registry, job.data, loaded,
                                  job.inference ? labels_for(job, *make_inference_task(registry, job, 0))
                                                : labels_for(job, *make_task(registry, job)));
  const auto all = source->num_samples();
  console.out << (all ? counted(*all, "sample") : std::string("samples without end"))
              << fmt::format(" of {}\n", counted(source->sequence_length(), "token"));
  const std::optional<Tokenizer> tokenizer = tokenizer_of(loaded.job);
  const auto asked = static_cast<std::uint64_t>(arguments.integer("--samples", 0, samples_max).value_or(2));
  D9D_REQUIRE(!source->is_rollouts(),
              "data: the source makes its samples of texts that the model writes while it trains, so there "
              "is none to show before; run the job for a step (trainer.schedule.total_steps: 1)");
  const auto stream = source->open_stream();  // null: the samples have numbers
  if (stream) stream->begin({});
  for (std::uint64_t i = 0; i < std::min(asked, all.value_or(asked)); ++i) {
    const auto sample = stream ? stream->next() : source->at(i);
    if (!sample) break;
    show_sample(i, *sample, tokenizer, console);
  }
  if (const auto seconds = arguments.number("--rate")) {
    D9D_REQUIRE(*seconds > 0 && *seconds <= rate_seconds_max,
                "--rate {}: expected seconds, above 0, at most {}", *seconds, rate_seconds_max);
    show_rate(loaded, registry, *source, *seconds, console);
  }
  return 0;
}

int show_tokens(const Arguments& arguments, Console& console) {
  D9D_REQUIRE(
      arguments.positional().size() == 3,
      "data tokenize: expected a tokenizer (or a model's folder) and a text; quote a text with blanks");
  const std::string& where = arguments.positional()[1];
  const std::string file = tokenizer_file(where).string();
  const Tokenizer tokenizer = Tokenizer::from_file(file);
  const auto ids = tokenizer.encode(arguments.positional()[2], true);
  console.out << fmt::format("{} of {}, whose ids are below {}\n", counted(ids.size(), "token"), file,
                             tokenizer.vocab_size());
  for (const std::int32_t id : ids) {
    console.out << fmt::format("{:>8}  {}\n", id, tokenizer.token_text(id).value_or("?"));
  }
  console.out << fmt::format("decoded: {}\n", tokenizer.decode(ids, true));
  return 0;
}

}  // namespace d9d
