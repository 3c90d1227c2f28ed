#include "actors/job/run/sources.hpp"

#include <algorithm>

#include "runtime/base/count.hpp"
#include "runtime/base/error.hpp"
#include "runtime/data/sample_source.hpp"
#include "runtime/data/source/text/token_recipe.hpp"
#include "runtime/family/family_model.hpp"
#include "runtime/job/job_length.hpp"
#include "runtime/job/job_paths.hpp"
#include "runtime/job/rule/context_rules.hpp"
#include "runtime/plugin/builtins.hpp"
#include "runtime/resume/schedule_steps.hpp"
#include "runtime/state/checkpoint/checkpoint_commit.hpp"
#include "runtime/state/checkpoint/manifest.hpp"
#include "runtime/train/lr/phase_texts.hpp"

namespace d9d {
namespace {

void look_through_ids(const SampleSource& source, PreparedJob& prepared) {
  const auto scanned = source.scan_ids({});
  if (!scanned || scanned->samples == scanned->all) return;
  prepared.warnings.push_back(
      fmt::format("data: only the first {} of {} were looked through for ids beyond the vocabulary and other "
                  "mistakes; the others are looked at when their step comes",
                  scanned->samples, counted(scanned->all, scanned->unit)));
}

// Warns if the job ends within a phase of its learning rate. Only for jobs whose length the data says: of
// the others load_job() has warned.
void warn_of_cut_phase(const JobConfig& job, std::int64_t steps, PreparedJob& prepared) {
  const auto& scheduler = job.lr_scheduler;
  if (!scheduler || std::holds_alternative<config::Named>(*scheduler) || job.trainer.schedule.total_steps)
    return;
  if (const auto cut = cut_phase(build_lr(as_phases(*scheduler, steps), steps), steps))
    prepared.warnings.push_back("lr_scheduler: " + *cut);
}

// Looks at the first thousand samples, because a part of a mixture may have samples of several lengths.
void require_lengths(const JobConfig& job, const SampleSource& source) {
  if (!job.trainer.batching.cut_to_longest) return;
  for (std::uint64_t i = 0; i < std::min<std::uint64_t>(source.num_samples().value_or(1000), 1000); ++i) {
    if (source.sort_key(i)) return;
  }
  throw Error(
      ErrorKind::input,
      fmt::format("{}.batching.cut_to_longest: the samples of this source all have one length; leave it "
                  "out, or have samples of several lengths (samples: document, or a source of your own "
                  "with sort_key())",
                  job.inference ? "inference" : "trainer"));
}

// Texts are written between steps of training, token after token.
void require_rollouts(const LoadedJob& loaded, const SampleSource& source) {
  if (!source.is_rollouts()) return;
  static constexpr const char* writes = "data: the model writes the source's texts while it trains";
  D9D_REQUIRE(!loaded.job.inference,
              "{}, and this job infers; take the task generation and a source of prompts", writes);
  D9D_REQUIRE(!loaded.model || loaded.model->causal,
              "{}, and this model, whose tokens see those after them, writes none; take a causal one",
              writes);
  D9D_REQUIRE(loaded.job.mesh.context_parallel() == 1,
              "{}, and ranks that share sequences cannot; set the mesh's context_parallel degrees to 1",
              writes);
}

// Where a start goes on. A guess by the sizes of the newest checkpoint's files: the start itself reads
// their contents, and computes the length of the job again.
struct Beginning {
  JobPosition at{};
  std::string state{};   // JSON of the checkpoint
  bool is_known = true;  // false: only node 0 knows
};
Beginning next_beginning(const Disk& disk, const JobConfig& job) {
  try {
    for (const FoundCheckpoint& found : find_checkpoints(disk, checkpoint_dir(job).string())) {
      if (damage_of(disk, found, Check::sizes)) continue;
      const Manifest manifest = read_manifest(disk, found.path);
      return {{manifest.step, manifest.data_cursor}, manifest.extra};
    }
  } catch (const Error&) {
    // The start reads the same folder and says what is wrong.
  }
  return {};
}

void open_data(const LoadedJob& loaded, const Beginning& beginning,
               const std::shared_ptr<SharedCorpora>& share, PreparedJob& prepared, Findings& findings) {
  const bool open = findings.attempt("", [&] {
    prepared.source =
        make_source(prepared.registry, loaded.job.data, loaded, prepared.labels, SourceUse::of_job, share);
  });
  if (!open) return;
  const SampleSource& source = *prepared.source;
  findings.attempt("", [&] { require_sequence(loaded.job, loaded.model.get(), source.sequence_length()); });
  findings.attempt("", [&] { require_rollouts(loaded, source); });
  findings.attempt("", [&] { require_lengths(loaded.job, source); });
  findings.attempt("", [&] { look_through_ids(source, prepared); });
  findings.attempt("", [&] {
    prepared.num_samples = source.num_samples();
    prepared.end_sample = end_of_data(loaded.job.data, prepared.num_samples);
    if (!beginning.is_known) return;
    prepared.total_steps = last_step_of(loaded.job, prepared.num_samples, beginning.at);
    prepared.left_out =
        samples_left_out(loaded.job, prepared.num_samples, prepared.total_steps, beginning.at);
    // Some phases of a learning rate are checked only now, because they need the length of the job.
    if (!prepared.lr_schedule) return;
    const std::uint64_t steps = ScheduleSteps(loaded.job, prepared.num_samples, beginning.at,
                                              first_batch_of(beginning.state, loaded.job))
                                    .total();
    step_multiplier(*prepared.lr_schedule, steps);
    warn_of_cut_phase(loaded.job, static_cast<std::int64_t>(steps), prepared);
  });
}

void open_evaluation(const LoadedJob& loaded, const std::shared_ptr<SharedCorpora>& share,
                     PreparedJob& prepared, Findings& findings) {
  if (!loaded.job.evaluation) return;
  findings.attempt("evaluation", [&] {
    const auto source = make_source(prepared.registry, loaded.job.evaluation->data, loaded, prepared.labels,
                                    SourceUse::evaluation, share);
    require_sequence(loaded.job, loaded.model.get(), source->sequence_length());
    D9D_REQUIRE(!source->is_rollouts(),
                "data: the model writes the source's texts between steps of training, of which an evaluation "
                "has none; take another source, or count what you want to see as metrics of the task");
    source->scan_ids({});
    prepared.evaluation_batches = evaluation_batches(loaded.job, source->num_samples());
    prepared.evaluation_end = end_of_data(loaded.job.evaluation->data, source->num_samples());
    prepared.evaluation_source = source;
  });
}

}  // namespace

void open_sources(const LoadedJob& loaded, const RunOptions& options, Disk& disk, PreparedJob& prepared,
                  Findings& findings) {
  const auto share = std::make_shared<SharedCorpora>();
  Beginning beginning = options.fresh || options.join ? Beginning{} : next_beginning(disk, loaded.job);
  beginning.is_known = !options.join;
  open_data(loaded, beginning, share, prepared, findings);
  open_evaluation(loaded, share, prepared, findings);
  if (!prepared.source || options.join) return;
  findings.attempt("",
                   [&] { prepared.tokenizer = tokenizer_files_of(disk, loaded.job, loaded.model.get()); });
}

}  // namespace d9d
